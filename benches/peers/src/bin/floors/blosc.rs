//! The two functions of C-Blosc.

#![expect(
    unsafe_code,
    reason = "C-Blosc does not have a safe interface that decodes to memory of the caller"
)]

use std::ffi::{CStr, c_int};

use blosc_src::{blosc_compress_ctx, blosc_decompress_ctx};
use zarr_peers::Failure;

/// Shuffles the bytes of elements. The library chooses the block size.
const SHUFFLE: c_int = 1;

/// Parameters of the compression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blosc {
    pub(crate) compressor: &'static CStr,
    pub(crate) level: c_int,
    /// The size of an element in bytes.
    pub(crate) item: usize,
}

/// Encodes to the beginning of `encoded` and returns the number of written bytes.
pub(crate) fn encode(blosc: Blosc, decoded: &[u8], encoded: &mut [u8]) -> Result<usize, Failure> {
    // SAFETY: both pointers come from slices with the passed lengths, which do not overlap, and the name
    // ends in NUL. The library reads `decoded.len()` and writes at most `encoded.len()` bytes.
    let size = unsafe {
        blosc_compress_ctx(
            blosc.level,
            SHUFFLE,
            blosc.item,
            decoded.len(),
            decoded.as_ptr().cast(),
            encoded.as_mut_ptr().cast(),
            encoded.len(),
            blosc.compressor.as_ptr(),
            0,
            1,
        )
    };
    usize::try_from(size).ok().filter(|&size| size > 0).ok_or_else(|| format!("blosc answered {size}").into())
}

/// Decodes the output of [`encode`], which must fill `decoded`.
pub(crate) fn decode(encoded: &[u8], decoded: &mut [u8]) -> Result<(), Failure> {
    // SAFETY: this program created `encoded`, so the header states its actual length, and the library does not read
    // past it. The library writes at most `decoded.len()` bytes. The slices do not overlap.
    let size = unsafe {
        blosc_decompress_ctx(encoded.as_ptr().cast(), decoded.as_mut_ptr().cast(), decoded.len(), 1)
    };
    if usize::try_from(size) == Ok(decoded.len()) {
        return Ok(());
    }
    Err(format!("blosc answered {size}").into())
}
