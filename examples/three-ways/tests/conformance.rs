//! `example.runs` as a crate, against everything that codecs are held to.

zarr_conformance::conformance_tests!(zarr_example_three_ways);
