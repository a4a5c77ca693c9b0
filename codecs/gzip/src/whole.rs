//! Bindings to libdeflate, which processes a whole deflate stream in one call.

#![expect(unsafe_code, reason = "the safe interface does not report where a stream ends")]

use std::ffi::c_int;
use std::ptr::NonNull;

use libdeflate_sys::{
    libdeflate_alloc_compressor, libdeflate_alloc_decompressor, libdeflate_compressor, libdeflate_crc32,
    libdeflate_decompressor, libdeflate_deflate_compress, libdeflate_deflate_compress_bound,
    libdeflate_deflate_decompress_ex, libdeflate_free_compressor, libdeflate_free_decompressor,
    libdeflate_result_LIBDEFLATE_SUCCESS,
};

/// A compressor for one level.
#[derive(Debug)]
pub(crate) struct Compressor(NonNull<libdeflate_compressor>);

impl Compressor {
    /// Creates a compressor for `level`, 0 to 9. `None` if the allocation fails.
    pub(crate) fn new(level: u32) -> Option<Self> {
        let level = c_int::try_from(level).ok()?;
        // SAFETY: the function has no preconditions; it returns NULL for an invalid level.
        NonNull::new(unsafe { libdeflate_alloc_compressor(level) }).map(Self)
    }

    /// Returns the maximum size of the stream of `size` bytes.
    pub(crate) fn bound(&mut self, size: usize) -> usize {
        // SAFETY: the compressor is live.
        unsafe { libdeflate_deflate_compress_bound(self.0.as_ptr(), size) }
    }

    /// Compresses to the start of `encoded`. Returns the number of bytes there, or `None` if there is not
    /// enough space.
    pub(crate) fn compress(&mut self, decoded: &[u8], encoded: &mut [u8]) -> Option<usize> {
        // SAFETY: the compressor is live and, since `self` is borrowed mutably, not used elsewhere. Pointers
        // and lengths come from slices that do not overlap.
        let size = unsafe {
            libdeflate_deflate_compress(
                self.0.as_ptr(),
                decoded.as_ptr().cast(),
                decoded.len(),
                encoded.as_mut_ptr().cast(),
                encoded.len(),
            )
        };
        (1..=encoded.len()).contains(&size).then_some(size)
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: the compressor came from the library and is freed only here.
        unsafe { libdeflate_free_compressor(self.0.as_ptr()) }
    }
}

// SAFETY: a compressor is memory that is not bound to a thread.
unsafe impl Send for Compressor {}

/// A decompressor.
#[derive(Debug)]
pub(crate) struct Decompressor(NonNull<libdeflate_decompressor>);

impl Decompressor {
    /// Creates a decompressor. `None` if the allocation fails.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: the function has no preconditions.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(Self)
    }

    /// Decompresses the first stream of `encoded` to the start of `decoded`. Returns the sizes of both, or
    /// `None` if the stream is invalid or `decoded` is too small.
    pub(crate) fn decompress(&mut self, encoded: &[u8], decoded: &mut [u8]) -> Option<(usize, usize)> {
        let mut read = 0;
        let mut written = 0;
        // SAFETY: the decompressor is live and, since `self` is borrowed mutably, not used elsewhere. Pointers and
        // lengths come from slices that do not overlap. Besides `decoded`, the function writes only to `read` and
        // `written`.
        let result = unsafe {
            libdeflate_deflate_decompress_ex(
                self.0.as_ptr(),
                encoded.as_ptr().cast(),
                encoded.len(),
                decoded.as_mut_ptr().cast(),
                decoded.len(),
                &raw mut read,
                &raw mut written,
            )
        };
        let is_whole = result == libdeflate_result_LIBDEFLATE_SUCCESS;
        (is_whole && read <= encoded.len() && written <= decoded.len()).then_some((read, written))
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: the decompressor came from the library and is freed only here.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

// SAFETY: a decompressor is memory that is not bound to a thread.
unsafe impl Send for Decompressor {}

/// Returns the CRC-32 of `bytes`.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: pointer and length come from the same slice.
    unsafe { libdeflate_crc32(0, bytes.as_ptr().cast(), bytes.len()) }
}
