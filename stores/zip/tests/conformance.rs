//! Runs the shared conformance suite for stores on `zip`.

zarr_conformance::conformance_tests!(zarr_store_zip);
