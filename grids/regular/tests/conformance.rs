//! `regular` against everything that chunk grids are held to.

zarr_conformance::conformance_tests!(zarr_grid_regular);
