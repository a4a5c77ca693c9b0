//! Runs the shared conformance suite for codecs on `example.runs`, linked as a crate.

zarr_conformance::conformance_tests!(zarr_example_three_ways);
