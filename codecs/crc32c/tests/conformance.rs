//! `crc32c` against everything that codecs are held to.

zarr_conformance::conformance_tests!(zarr_codec_crc32c);
