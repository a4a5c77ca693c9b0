//! Codecs as values, for [`ArrayBuilder::codec`](crate::ArrayBuilder::codec).
//!
//! ```
//! # #[cfg(all(feature = "codec-crc32c", feature = "codec-zstd"))]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use zarr_kit::ArrayBuilder;
//! use zarr_kit::codecs::{Crc32c, Zstd};
//!
//! let builder = ArrayBuilder::new([4], "uint8").codec(Zstd::new(3, false)?).codec(Crc32c::at_end());
//! # let by_name = ArrayBuilder::new([4], "uint8").codec(("zstd", [("level", 3.into()), ("checksum", zarr_kit::spec::Value::from(false))]));
//! # assert_eq!(builder, by_name.codec("crc32c"));
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "codec-crc32c", feature = "codec-zstd")))]
//! # fn main() {}
//! ```

#[cfg(feature = "codec-adler32")]
pub use zarr_codec_adler32::Adler32;
#[cfg(feature = "codec-astype")]
pub use zarr_codec_astype::AsType;
#[cfg(feature = "codec-base64")]
pub use zarr_codec_base64::Base64;
#[cfg(feature = "codec-bitround")]
pub use zarr_codec_bitround::BitRound;
#[cfg(feature = "codec-blosc")]
pub use zarr_codec_blosc::{Blosc, Compressor as BloscCompressor, Shuffle as BloscShuffle};
#[cfg(feature = "codec-brotli")]
pub use zarr_codec_brotli::{Brotli, BrotliMode};
#[cfg(feature = "codec-bz2")]
pub use zarr_codec_bz2::Bz2;
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
#[cfg(feature = "codec-gzip")]
pub use zarr_codec_gzip::Gzip;
#[cfg(feature = "codec-imagecodecs-delta")]
pub use zarr_codec_imagecodecs_delta::ImagecodecsDelta;
#[cfg(feature = "codec-lz4")]
pub use zarr_codec_lz4::Lz4;
#[cfg(feature = "codec-quantize")]
pub use zarr_codec_quantize::Quantize;
#[cfg(feature = "codec-shuffle")]
pub use zarr_codec_shuffle::Shuffle;
#[cfg(feature = "codec-vlen-bytes")]
pub use zarr_codec_vlen_bytes::VlenBytes;
#[cfg(feature = "codec-vlen-utf8")]
pub use zarr_codec_vlen_utf8::VlenUtf8;
#[cfg(feature = "codec-zlib")]
pub use zarr_codec_zlib::Zlib;
#[cfg(feature = "codec-zstd")]
pub use zarr_codec_zstd::Zstd;
