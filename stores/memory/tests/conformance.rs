//! Runs the shared conformance suite for stores on `memory`.

zarr_conformance::conformance_tests!(zarr_store_memory);
