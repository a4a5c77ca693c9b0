//! The shared conformance suite for `example.runs` as a crate.

zarr_conformance::conformance_tests!(zarr_example_three_ways);
