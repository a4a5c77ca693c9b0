//! `core` against everything that data types are held to.

zarr_conformance::conformance_tests!(zarr_dtype_core);
