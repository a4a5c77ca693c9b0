//! Tests the plugins against the rules for data types and codecs.

zarr_conformance::conformance_tests!(outside_twelve_bits);
