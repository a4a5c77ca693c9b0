//! Runs every plugin through the suite of its kind.

zarr_conformance::conformance_tests!(all of zarr_kit);
