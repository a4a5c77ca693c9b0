//! Holds the plugin to the rules of its kind.

zarr_conformance::conformance_tests!(outside_sqlite);
