//! Tests the plugin against the rules for chunk grids.

zarr_conformance::conformance_tests!(outside_months);
