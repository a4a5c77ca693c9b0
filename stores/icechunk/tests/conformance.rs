//! Runs the shared conformance suite for stores on `icechunk`.

use zarr_kit as _;

zarr_conformance::conformance_tests!(zarr_store_icechunk);
