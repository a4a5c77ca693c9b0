//! The compressors of the streams, with scratch memory that is reused for all streams.

use std::ffi::c_int;

use libdeflater::Decompressor;
use snap::raw::{Decoder, Encoder, max_compress_len};
use zstd::zstd_safe::{CCtx, DCtx, max_c_level};

use crate::{Compressor, lz4};

/// The numbers of the inner formats, in the flags of a header.
pub(crate) mod number {
    pub(crate) const BLOSCLZ: u8 = 0;
    pub(crate) const LZ4: u8 = 1;
    pub(crate) const SNAPPY: u8 = 2;
    pub(crate) const ZLIB: u8 = 3;
    pub(crate) const ZSTD: u8 = 4;
}

/// The version of every inner format, in the second byte of a header.
pub(crate) const VERSION: u8 = 1;

/// Returns the maximum decoded size of a compressed stream of `size` bytes. The size of an uncompressed stream is its
/// decoded size.
pub(crate) fn largest_decoded_size(number: u8, size: usize) -> usize {
    match number {
        // Each byte that continues a length adds at most 255.
        number::BLOSCLZ | number::LZ4 => size.saturating_mul(255),
        // A copy of at most 64 bytes takes three bytes.
        number::SNAPPY => size.saturating_mul(22),
        // A copy of at most 258 bytes takes two bits.
        number::ZLIB => size.saturating_mul(1032),
        // A block of at most 128 KiB takes three bytes or more.
        number::ZSTD => (size / 3).saturating_mul(1 << 17).max(size),
        _ => size,
    }
}

/// Compressors, each created when it is first needed.
pub(crate) struct Compressors {
    snappy: Encoder,
    /// The output of Snappy, whose encoder needs more space than a stream may take.
    roomy: Vec<u8>,
    zstd: Option<CCtx<'static>>,
}

impl Compressors {
    pub(crate) fn new() -> Self {
        Self { snappy: Encoder::new(), roomy: Vec::new(), zstd: None }
    }

    /// Returns the number of the inner format of `compressor`, unless C-Blosc has to encode the whole buffer.
    pub(crate) fn number(compressor: Compressor) -> Option<u8> {
        match compressor {
            Compressor::Lz4 | Compressor::Lz4Hc => Some(number::LZ4),
            Compressor::Snappy => Some(number::SNAPPY),
            Compressor::Zstd => Some(number::ZSTD),
            Compressor::BloscLz | Compressor::Zlib => None,
        }
    }

    /// Compresses one stream to the start of `encoded`, with the parameters that C-Blosc uses for `level`. Returns the
    /// encoded size, or `None` if `encoded` is too small or this crate does not call the compressor.
    pub(crate) fn compress(
        &mut self,
        compressor: Compressor,
        level: u8,
        decoded: &[u8],
        encoded: &mut [u8],
    ) -> Option<usize> {
        let level = c_int::from(level);
        match compressor {
            Compressor::Lz4 => lz4::compress(decoded, encoded, 10 - level),
            Compressor::Lz4Hc => lz4::compress_hc(decoded, encoded, level),
            Compressor::Snappy => {
                self.roomy.resize(max_compress_len(decoded.len()), 0);
                let size = self.snappy.compress(decoded, &mut self.roomy).ok()?;
                encoded.get_mut(..size)?.copy_from_slice(self.roomy.get(..size)?);
                Some(size)
            }
            Compressor::Zstd => {
                let level = if level < 9 { level * 2 - 1 } else { max_c_level() };
                self.zstd.get_or_insert_with(CCtx::create).compress(encoded, decoded, level).ok()
            }
            Compressor::BloscLz | Compressor::Zlib => None,
        }
    }
}

/// Decompressors, each created when it is first needed.
pub(crate) struct Decompressors {
    snappy: Decoder,
    zlib: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
}

impl Decompressors {
    pub(crate) fn new() -> Self {
        Self { snappy: Decoder::new(), zlib: None, zstd: None }
    }

    /// Returns whether this crate decompresses the inner format. Otherwise C-Blosc has to decode the whole buffer.
    pub(crate) fn knows(number: u8) -> bool {
        matches!(number, number::LZ4 | number::SNAPPY | number::ZLIB | number::ZSTD)
    }

    /// Decodes one stream to all of `decoded`. Returns whether it succeeded.
    pub(crate) fn decompress(&mut self, number: u8, encoded: &[u8], decoded: &mut [u8]) -> bool {
        let size = match number {
            number::LZ4 => lz4::decompress(encoded, decoded),
            number::SNAPPY => self.snappy.decompress(encoded, decoded).ok(),
            number::ZLIB => {
                self.zlib.get_or_insert_with(Decompressor::new).zlib_decompress(encoded, decoded).ok()
            }
            number::ZSTD => self.zstd.get_or_insert_with(DCtx::create).decompress(decoded, encoded).ok(),
            _ => None,
        };
        size == Some(decoded.len())
    }
}
