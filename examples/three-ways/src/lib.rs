//! The codec `example.runs` as a crate, which compiles and wraps `runs.c`.
//!
//! Bytes to bytes: run-length encoding of elements of `width` bytes (1, 2, 4 or 8; 1 by default). The README
//! describes how to build a library or a WebAssembly module from the same source.

#![expect(unsafe_code, reason = "the codec is written in C")]

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, LimitExceeded, Output, Representation,
    Size,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("example.runs"), &create)
        .configuration::<RunsConfiguration>()
        .about("Stores runs of equal elements as a number and one element.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "example.runs"}"#).with_data_types(&["uint8"]),
    Example::v3(r#"{"name": "example.runs", "configuration": {"width": 4}}"#),
];

/// The functions of `runs.h`. `from` points to `len` bytes. `to` points to space for the number of bytes that the
/// preceding function returns. For `runs_decode`, the last run must be complete.
mod c {
    unsafe extern "C" {
        pub(super) fn runs_encoded_size(from: *const u8, len: usize, width: usize) -> usize;
        pub(super) fn runs_encode(from: *const u8, len: usize, width: usize, to: *mut u8);
        pub(super) fn runs_decoded_size(from: *const u8, len: usize, width: usize) -> usize;
        pub(super) fn runs_decode(from: *const u8, len: usize, width: usize, to: *mut u8);
    }
}

/// Run-length encoding of elements of 1, 2, 4 or 8 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Runs {
    width: usize,
}

impl Runs {
    /// Creates the codec for elements of `width` bytes.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] unless `width` is 1, 2, 4 or 8.
    pub fn new(width: usize) -> Result<Self, CodecError> {
        if !matches!(width, 1 | 2 | 4 | 8) {
            return Err(CodecError::configuration(format!("`width` is {width}; expected 1, 2, 4 or 8")));
        }
        Ok(Self { width })
    }
}

impl BytesToBytesCodec for Runs {
    /// Returns the maximum: each element may be a separate run.
    fn encoded_size(&self, decoded: Size) -> Size {
        match decoded {
            Size::Exact(bytes) | Size::AtMost(bytes) => {
                bytes.checked_add(bytes / self.width as u64).map_or(Size::Unknown, Size::AtMost)
            }
            Size::Unknown => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        // SAFETY: pointer and length come from the same slice.
        let size = unsafe { c::runs_encoded_size(decoded.as_ptr(), decoded.len(), self.width) };
        if size == usize::MAX {
            return Err(LimitExceeded { limit: encoded.remaining() }.into());
        }
        let there = encoded.spare(size)?;
        // SAFETY: pointer and length come from the same slice, and `there` has space for the `size` bytes that are
        // written.
        unsafe { c::runs_encode(decoded.as_ptr(), decoded.len(), self.width, there.as_mut_ptr()) };
        encoded.advance(size);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        // SAFETY: pointer and length come from the same slice.
        let size = unsafe { c::runs_decoded_size(encoded.as_ptr(), encoded.len(), self.width) };
        if size == usize::MAX {
            return Err(CodecError::corrupt("the last run is truncated"));
        }
        let there = decoded.spare(size)?;
        // SAFETY: pointer and length come from the same slice, no run is truncated, and `there` has space for the
        // `size` bytes that are written.
        unsafe { c::runs_decode(encoded.as_ptr(), encoded.len(), self.width, there.as_mut_ptr()) };
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunsConfiguration {
    #[serde(default = "one")]
    width: usize,
}

fn one() -> usize {
    1
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    let RunsConfiguration { width } = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Runs::new(width)?)))
}
