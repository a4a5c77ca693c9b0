//! Runs the shared conformance suite for chunk key encodings on `default`.

zarr_conformance::conformance_tests!(zarr_key_encoding_default);
