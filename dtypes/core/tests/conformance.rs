//! Runs the shared conformance suite for data types on the core data types.

zarr_conformance::conformance_tests!(zarr_dtype_core);
