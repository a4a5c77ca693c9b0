//! Runs the shared conformance suite for stores on `redb`.

zarr_conformance::conformance_tests!(zarr_store_redb);
