//! `bz2` against everything that codecs are held to.

zarr_conformance::conformance_tests!(zarr_codec_bz2);
