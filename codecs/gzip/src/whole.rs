//! The calls into libdeflate, which sees all of a deflate stream and all of what it stands for at once.

#![expect(unsafe_code, reason = "the safe interface does not tell where a stream ends")]

use std::ffi::c_int;
use std::ptr::NonNull;

use libdeflate_sys::{
    libdeflate_alloc_compressor, libdeflate_alloc_decompressor, libdeflate_compressor, libdeflate_crc32,
    libdeflate_decompressor, libdeflate_deflate_compress, libdeflate_deflate_compress_bound,
    libdeflate_deflate_decompress_ex, libdeflate_free_compressor, libdeflate_free_decompressor,
    libdeflate_result_LIBDEFLATE_SUCCESS,
};

/// Memory for compressing at one level.
#[derive(Debug)]
pub(crate) struct Compressor(NonNull<libdeflate_compressor>);

impl Compressor {
    /// At `level`, from 0 to 9. `None` where there is no memory for it.
    pub(crate) fn new(level: u32) -> Option<Self> {
        let level = c_int::try_from(level).ok()?;
        // SAFETY: the call has no conditions; for a level that there is none of it answers with NULL.
        NonNull::new(unsafe { libdeflate_alloc_compressor(level) }).map(Self)
    }

    /// Bytes that always suffice for the stream of `size` bytes.
    pub(crate) fn bound(&mut self, size: usize) -> usize {
        // SAFETY: the compressor is a live one.
        unsafe { libdeflate_deflate_compress_bound(self.0.as_ptr(), size) }
    }

    /// Compresses to the beginning of `encoded`; the number of bytes there, or `None` where they are too few.
    pub(crate) fn compress(&mut self, decoded: &[u8], encoded: &mut [u8]) -> Option<usize> {
        // SAFETY: the compressor is a live one that nobody else has, since `self` is borrowed mutably; pointers and
        // lengths come from slices that do not overlap.
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
        // SAFETY: the compressor came from the library and is given back once.
        unsafe { libdeflate_free_compressor(self.0.as_ptr()) }
    }
}

// SAFETY: a compressor is memory without ties to a thread.
unsafe impl Send for Compressor {}

/// Memory for decompressing.
#[derive(Debug)]
pub(crate) struct Decompressor(NonNull<libdeflate_decompressor>);

impl Decompressor {
    /// `None` where there is no memory for it.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: the call has no conditions.
        NonNull::new(unsafe { libdeflate_alloc_decompressor() }).map(Self)
    }

    /// Decompresses the stream that `encoded` starts with to the beginning of `decoded`; the sizes of both. `None`
    /// where the stream is not valid or the memory too small.
    pub(crate) fn decompress(&mut self, encoded: &[u8], decoded: &mut [u8]) -> Option<(usize, usize)> {
        let mut read = 0;
        let mut written = 0;
        // SAFETY: the decompressor is a live one that nobody else has, since `self` is borrowed mutably; pointers and
        // lengths come from slices that do not overlap, and both sizes are written to alone.
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
        // SAFETY: the decompressor came from the library and is given back once.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

// SAFETY: a decompressor is memory without ties to a thread.
unsafe impl Send for Decompressor {}

/// The CRC-32 of `bytes`.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: pointer and length come from one slice.
    unsafe { libdeflate_crc32(0, bytes.as_ptr().cast(), bytes.len()) }
}
