//! Runs the shared conformance suite for stores on `lmdb`.

zarr_conformance::conformance_tests!(zarr_store_lmdb);
