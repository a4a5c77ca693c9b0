//! Bindings to C-Blosc, restricted to functions that do not share state between threads.

#![expect(
    unsafe_code,
    reason = "C-Blosc does not have a safe interface that decodes to memory of the caller"
)]

use std::ffi::{CStr, c_int};

use blosc_src::{blosc_cbuffer_validate, blosc_compress_ctx, blosc_decompress_ctx};

use crate::{Settings, Shuffle};

/// Compresses to the start of `encoded`. Returns the number of bytes there, or the status of the library if it fails.
pub(crate) fn compress(
    compressor: &CStr,
    settings: &Settings,
    decoded: &[u8],
    encoded: &mut [u8],
) -> Result<usize, c_int> {
    let shuffle = match settings.shuffle {
        Shuffle::None => 0,
        Shuffle::Byte => 1,
        Shuffle::Bit => 2,
    };
    // SAFETY: both pointers come from slices of the given lengths, which do not overlap, and the name ends in
    // NUL. The library reads `decoded.len()` and writes at most `encoded.len()` bytes.
    let answer = unsafe {
        blosc_compress_ctx(
            c_int::from(settings.level),
            shuffle,
            settings.typesize,
            decoded.len(),
            decoded.as_ptr().cast(),
            encoded.as_mut_ptr().cast(),
            encoded.len(),
            compressor.as_ptr(),
            settings.blocksize,
            1,
        )
    };
    size(answer, encoded.len())
}

/// Decompresses to the start of `decoded`. Returns the number of bytes there, or the status of the library if it fails.
pub(crate) fn decompress(encoded: &[u8], decoded: &mut [u8]) -> Result<usize, c_int> {
    if !is_whole(encoded) {
        return Err(-1);
    }
    // SAFETY: the header was validated above, so the library does not read past `encoded`. It writes at most
    // `decoded.len()` bytes, and the slices do not overlap.
    let answer = unsafe {
        blosc_decompress_ctx(encoded.as_ptr().cast(), decoded.as_mut_ptr().cast(), decoded.len(), 1)
    };
    size(answer, decoded.len())
}

/// Returns whether the header is valid, and the size in it is the size of `encoded`.
fn is_whole(encoded: &[u8]) -> bool {
    let mut size = 0;
    // SAFETY: the pointer comes from a slice of the given length, and the function writes only to `size`.
    let answer = unsafe { blosc_cbuffer_validate(encoded.as_ptr().cast(), encoded.len(), &raw mut size) };
    answer == 0
}

fn size(answer: c_int, limit: usize) -> Result<usize, c_int> {
    usize::try_from(answer).ok().filter(|&size| size <= limit).ok_or(answer)
}
