//! Bindings to the LZ4 library that C-Blosc is built with.

#![expect(unsafe_code, reason = "liblz4 does not have a safe interface")]

use std::ffi::c_int;

use lz4_sys::{LZ4_compress_HC, LZ4_compress_fast, LZ4_decompress_safe};

/// Compresses to the start of `encoded`. Returns the number of bytes there, or `None` if there is not enough
/// space. A higher `acceleration`, from 1, is faster and produces more bytes.
pub(crate) fn compress(decoded: &[u8], encoded: &mut [u8], acceleration: c_int) -> Option<usize> {
    let decoded_size = c_int::try_from(decoded.len()).ok()?;
    let room = c_int::try_from(encoded.len()).ok()?;
    // SAFETY: pointers and sizes come from slices that do not overlap.
    let size = unsafe {
        LZ4_compress_fast(
            decoded.as_ptr().cast(),
            encoded.as_mut_ptr().cast(),
            decoded_size,
            room,
            acceleration,
        )
    };
    usize::try_from(size).ok().filter(|size| (1..=encoded.len()).contains(size))
}

/// Like [`compress`]; a higher `level` compresses better.
pub(crate) fn compress_hc(decoded: &[u8], encoded: &mut [u8], level: c_int) -> Option<usize> {
    let decoded_size = c_int::try_from(decoded.len()).ok()?;
    let room = c_int::try_from(encoded.len()).ok()?;
    // SAFETY: pointers and sizes come from slices that do not overlap.
    let size = unsafe {
        LZ4_compress_HC(decoded.as_ptr().cast(), encoded.as_mut_ptr().cast(), decoded_size, room, level)
    };
    usize::try_from(size).ok().filter(|size| (1..=encoded.len()).contains(size))
}

/// Decompresses to the start of `decoded`. Returns the number of bytes there, or `None` if the stream is invalid.
pub(crate) fn decompress(encoded: &[u8], decoded: &mut [u8]) -> Option<usize> {
    let encoded_size = c_int::try_from(encoded.len()).ok()?;
    let room = c_int::try_from(decoded.len()).ok()?;
    // SAFETY: pointers and sizes come from slices that do not overlap.
    let size = unsafe {
        LZ4_decompress_safe(encoded.as_ptr().cast(), decoded.as_mut_ptr().cast(), encoded_size, room)
    };
    usize::try_from(size).ok().filter(|&size| size <= decoded.len())
}
