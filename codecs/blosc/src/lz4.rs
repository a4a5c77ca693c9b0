//! The calls into LZ4, the one that C-Blosc is built with.

#![expect(unsafe_code, reason = "liblz4 has no safe interface")]

use std::ffi::c_int;

use lz4_sys::{LZ4_compress_HC, LZ4_compress_fast, LZ4_decompress_safe};

/// Compresses to the beginning of `encoded`; the number of bytes there, or `None` where they are too few. A greater
/// `acceleration` is faster and makes more bytes; 1 is the least.
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

/// As [`compress`], with more effort at a higher `level`.
pub(crate) fn compress_hc(decoded: &[u8], encoded: &mut [u8], level: c_int) -> Option<usize> {
    let decoded_size = c_int::try_from(decoded.len()).ok()?;
    let room = c_int::try_from(encoded.len()).ok()?;
    // SAFETY: pointers and sizes come from slices that do not overlap.
    let size = unsafe {
        LZ4_compress_HC(decoded.as_ptr().cast(), encoded.as_mut_ptr().cast(), decoded_size, room, level)
    };
    usize::try_from(size).ok().filter(|size| (1..=encoded.len()).contains(size))
}

/// Decompresses to the beginning of `decoded`; the number of bytes there, or `None` for a stream that is not valid.
pub(crate) fn decompress(encoded: &[u8], decoded: &mut [u8]) -> Option<usize> {
    let encoded_size = c_int::try_from(encoded.len()).ok()?;
    let room = c_int::try_from(decoded.len()).ok()?;
    // SAFETY: pointers and sizes come from slices that do not overlap.
    let size = unsafe {
        LZ4_decompress_safe(encoded.as_ptr().cast(), decoded.as_mut_ptr().cast(), encoded_size, room)
    };
    usize::try_from(size).ok().filter(|&size| size <= decoded.len())
}
