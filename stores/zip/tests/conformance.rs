//! `zip` against everything that stores are held to.

zarr_conformance::conformance_tests!(zarr_store_zip);
