//! Tests the plugin against the rules for codecs.

zarr_conformance::conformance_tests!(outside_xor);
