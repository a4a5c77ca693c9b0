//! The stores of this crate against everything that plugins are held to; `tests/it.rs` holds them to the rules for stores.

zarr_conformance::conformance_tests!(zarr_store_object_store);
