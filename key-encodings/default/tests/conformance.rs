//! `default` against everything that chunk key encodings are held to.

zarr_conformance::conformance_tests!(zarr_key_encoding_default);
