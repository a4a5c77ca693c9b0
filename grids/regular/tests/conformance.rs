//! Runs the shared conformance suite for chunk grids on `regular`.

zarr_conformance::conformance_tests!(zarr_grid_regular);
