//! Runs the shared conformance suite for plugins on these stores; `tests/it.rs` runs the rules for stores.

zarr_conformance::conformance_tests!(zarr_store_object_store);
