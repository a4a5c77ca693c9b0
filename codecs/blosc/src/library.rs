//! The calls into C-Blosc. Only those that share no state between threads.

#![expect(unsafe_code, reason = "C-Blosc has no safe interface that decodes to memory of the caller's")]

use std::ffi::{CStr, c_int};

use blosc_src::{blosc_cbuffer_validate, blosc_compress_ctx, blosc_decompress_ctx};

/// How the library is to compress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters {
    pub(crate) compressor: &'static CStr,
    pub(crate) level: u8,
    pub(crate) shuffle: u8,
    pub(crate) typesize: usize,
    pub(crate) blocksize: usize,
}

/// Compresses to the beginning of `encoded`; the number of bytes there, or what the library answered instead.
pub(crate) fn compress(parameters: Parameters, decoded: &[u8], encoded: &mut [u8]) -> Result<usize, c_int> {
    // SAFETY: both pointers come from slices with the lengths that are given, which do not overlap, and the name
    // ends in NUL. The library reads `decoded.len()` and writes at most `encoded.len()` bytes.
    let answer = unsafe {
        blosc_compress_ctx(
            c_int::from(parameters.level),
            c_int::from(parameters.shuffle),
            parameters.typesize,
            decoded.len(),
            decoded.as_ptr().cast(),
            encoded.as_mut_ptr().cast(),
            encoded.len(),
            parameters.compressor.as_ptr(),
            parameters.blocksize,
            1,
        )
    };
    size(answer, encoded.len())
}

/// The decoded size of a buffer that can be given to [`decompress`]: its header says how long it is.
pub(crate) fn decoded_size(encoded: &[u8]) -> Option<usize> {
    let mut size = 0;
    // SAFETY: the pointer comes from a slice with the length that is given, and `size` is written to alone.
    let answer = unsafe { blosc_cbuffer_validate(encoded.as_ptr().cast(), encoded.len(), &raw mut size) };
    (answer == 0).then_some(size)
}

/// Decompresses to the beginning of `decoded`; the number of bytes there, or what the library answered instead.
///
/// `encoded` was accepted by [`decoded_size`]; any other is refused.
pub(crate) fn decompress(encoded: &[u8], decoded: &mut [u8]) -> Result<usize, c_int> {
    if decoded_size(encoded).is_none() {
        return Err(-1);
    }
    // SAFETY: the header was validated above, after which the library reads no further than `encoded` and writes
    // at most `decoded.len()` bytes; the slices do not overlap.
    let answer = unsafe {
        blosc_decompress_ctx(encoded.as_ptr().cast(), decoded.as_mut_ptr().cast(), decoded.len(), 1)
    };
    size(answer, decoded.len())
}

fn size(answer: c_int, limit: usize) -> Result<usize, c_int> {
    usize::try_from(answer).ok().filter(|&size| size <= limit).ok_or(answer)
}
