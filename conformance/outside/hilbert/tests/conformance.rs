//! Tests the plugin against the rules for memory layouts.

zarr_conformance::conformance_tests!(outside_hilbert);
