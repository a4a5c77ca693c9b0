//! Runs the conformance suite for the plugin.

zarr_conformance::conformance_tests!({{crate}});
