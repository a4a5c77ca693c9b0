//! Codecs as values, for [`ArrayBuilder::codec`](crate::ArrayBuilder::codec).
//!
//! ```
//! # #[cfg(feature = "full")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use zarr_kit::codecs::*;
//! use zarr_kit::data_types::{CoreType, Text};
//! use zarr_kit::{ArrayBuilder, json};
//!
//! let builder = ArrayBuilder::new([4], "uint8").codec(Zstd::new(3, false)?).codec(Crc32c::at_end());
//! # let by_name = ArrayBuilder::new([4], "uint8").codec(("zstd", json!({"level": 3, "checksum": false})));
//! # assert_eq!(builder, by_name.codec("crc32c"));
//!
//! // From elements to elements.
//! let builder = ArrayBuilder::new([400, 600], "int32")
//!     .codec(Delta::new(&CoreType::Int32, Arc::new(CoreType::Int16))?)
//!     .codec(Transpose::new([1, 0])?)
//!     .codec(Reshape::new([ReshapeDimension::Of(vec![0, 1])])?);
//! let builder = ArrayBuilder::new([400], "string")
//!     .codec(Categorize::new(["land", "sea"], &Text, Arc::new(CoreType::UInt8))?);
//!
//! // From elements to bytes.
//! let builder = ArrayBuilder::new([400, 600], "float32")
//!     .codec(Zfp::new(ZfpMode::FixedAccuracy { tolerance: 0.01 })?);
//! let builder = ArrayBuilder::new([400, 600], "float32").codec(Pcodec::new(8)?);
//! let builder = ArrayBuilder::new([400, 600], "uint8").codec(Png::new(6)?);
//! let builder = ArrayBuilder::new([400], "int16")
//!     .codec(PackBits::new(&CoreType::Int16, PaddingEncoding::None, Some(0), Some(11))?);
//!
//! // From bytes to bytes.
//! let xz = LzmaConfiguration { preset: Some(9), ..LzmaConfiguration::default() };
//! let builder = ArrayBuilder::new([400], "int16").codec(Bytes::big_endian()).codec(Lzma::new(&xz)?);
//! let builder = ArrayBuilder::new([400], "int16").codec(Bitshuffle::new(2, 0)?).codec(Lz4::new());
//!
//! // A parameter out of its range is an error.
//! assert!(Zstd::new(50, false).is_err());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "full"))]
//! # fn main() {}
//! ```
//!
//! Codecs that contain codecs (`conditional`, `n5_default`, `zarrs.optional`) are given by name with a configuration,
//! whose inner codecs have the form of final v3. [`ArrayBuilder::shards`](crate::ArrayBuilder::shards) adds
//! `sharding_indexed`.

#[cfg(feature = "codec-adler32")]
pub use zarr_codec_adler32::Adler32;
#[cfg(feature = "codec-astype")]
pub use zarr_codec_astype::AsType;
#[cfg(feature = "codec-base64")]
pub use zarr_codec_base64::Base64;
#[cfg(feature = "codec-bitround")]
pub use zarr_codec_bitround::BitRound;
#[cfg(feature = "codec-bitshuffle")]
pub use zarr_codec_bitshuffle::{Bitshuffle, BitshuffleElements};
#[cfg(feature = "codec-blosc")]
pub use zarr_codec_blosc::{Blosc, Compressor as BloscCompressor, Shuffle as BloscShuffle};
#[cfg(feature = "codec-brotli")]
pub use zarr_codec_brotli::{Brotli, BrotliMode};
#[cfg(feature = "codec-bytes")]
pub use zarr_codec_bytes::Bytes;
#[cfg(feature = "codec-bz2")]
pub use zarr_codec_bz2::Bz2;
#[cfg(feature = "codec-cast-value")]
pub use zarr_codec_cast_value::{CastValue, OutOfRange, Rounding};
#[cfg(feature = "codec-categorize")]
pub use zarr_codec_categorize::Categorize;
#[cfg(feature = "codec-crc32")]
pub use zarr_codec_crc32::Crc32;
#[cfg(feature = "codec-crc32c")]
pub use zarr_codec_crc32c::Crc32c;
#[cfg(feature = "codec-delta")]
pub use zarr_codec_delta::Delta;
#[cfg(feature = "codec-fixedscaleoffset")]
pub use zarr_codec_fixedscaleoffset::{FixedScaleOffset, Parameter};
#[cfg(feature = "codec-fletcher32")]
pub use zarr_codec_fletcher32::Fletcher32;
#[cfg(feature = "codec-floatpred")]
pub use zarr_codec_floatpred::Floatpred;
#[cfg(feature = "codec-gdeflate")]
pub use zarr_codec_gdeflate::Gdeflate;
#[cfg(feature = "codec-gzip")]
pub use zarr_codec_gzip::Gzip;
#[cfg(feature = "codec-imagecodecs-delta")]
pub use zarr_codec_imagecodecs_delta::ImagecodecsDelta;
#[cfg(feature = "codec-imagecodecs-packbits")]
pub use zarr_codec_imagecodecs_packbits::ImagecodecsPackbits;
#[cfg(feature = "codec-jenkins-lookup3")]
pub use zarr_codec_jenkins_lookup3::JenkinsLookup3;
#[cfg(feature = "codec-jpegxl")]
pub use zarr_codec_jpegxl::Jpegxl;
#[cfg(feature = "codec-json2")]
pub use zarr_codec_json2::Json2;
#[cfg(feature = "codec-lerc")]
pub use zarr_codec_lerc::Lerc;
#[cfg(feature = "codec-lz4")]
pub use zarr_codec_lz4::Lz4;
#[cfg(feature = "codec-lz4f")]
pub use zarr_codec_lz4f::Lz4f;
#[cfg(feature = "codec-lz4h5")]
pub use zarr_codec_lz4h5::Lz4h5;
#[cfg(feature = "codec-lzf")]
pub use zarr_codec_lzf::Lzf;
#[cfg(feature = "codec-lzma")]
pub use zarr_codec_lzma::{Filter as LzmaFilter, Lzma, LzmaConfiguration};
#[cfg(feature = "codec-lzw")]
pub use zarr_codec_lzw::Lzw;
#[cfg(feature = "codec-msgpack2")]
pub use zarr_codec_msgpack2::Msgpack2;
#[cfg(feature = "codec-n5-lz4")]
pub use zarr_codec_n5_lz4::N5Lz4;
#[cfg(feature = "codec-packbits")]
pub use zarr_codec_packbits::{PackBits, PackBooleans, PaddingEncoding};
#[cfg(feature = "codec-pcodec")]
pub use zarr_codec_pcodec::{Differences as PcodecDifferences, Pcodec};
#[cfg(feature = "codec-png")]
pub use zarr_codec_png::Png;
#[cfg(feature = "codec-quantize")]
pub use zarr_codec_quantize::Quantize;
#[cfg(feature = "codec-reshape")]
pub use zarr_codec_reshape::{Dimension as ReshapeDimension, Reshape};
#[cfg(feature = "codec-scale-offset")]
pub use zarr_codec_scale_offset::ScaleOffset;
#[cfg(feature = "codec-shuffle")]
pub use zarr_codec_shuffle::Shuffle;
#[cfg(feature = "codec-snappy")]
pub use zarr_codec_snappy::Snappy;
#[cfg(feature = "codec-squeeze")]
pub use zarr_codec_squeeze::Squeeze;
#[cfg(feature = "codec-szip")]
pub use zarr_codec_szip::{Aec, Szip};
#[cfg(feature = "codec-transpose")]
pub use zarr_codec_transpose::Transpose;
#[cfg(feature = "codec-vlen-bytes")]
pub use zarr_codec_vlen_bytes::VlenBytes;
#[cfg(feature = "codec-vlen-ndarray")]
pub use zarr_codec_vlen_ndarray::VlenNdarray;
#[cfg(feature = "codec-vlen-utf8")]
pub use zarr_codec_vlen_utf8::VlenUtf8;
#[cfg(feature = "codec-vlen-v2")]
pub use zarr_codec_vlen_v2::VlenV2;
#[cfg(feature = "codec-wavpack")]
pub use zarr_codec_wavpack::Wavpack;
#[cfg(feature = "codec-webp")]
pub use zarr_codec_webp::Webp;
#[cfg(feature = "codec-zfp")]
pub use zarr_codec_zfp::{Zfp, ZfpMode, Zfpy};
#[cfg(feature = "codec-zlib")]
pub use zarr_codec_zlib::Zlib;
#[cfg(feature = "codec-zstd")]
pub use zarr_codec_zstd::Zstd;
