//! Tests the plugin against the rules for stores.

zarr_conformance::conformance_tests!(outside_sqlite);
