//! Converts failures of a guest to errors.

use zarr_plugin::{Failure, abi};
use zarr_spec::CodecError;

/// Returns the failure of a guest that was stopped and must not be used again.
pub(crate) fn trapped(message: impl Into<String>) -> Failure {
    Failure::new(abi::PANICKED, message)
}

/// Returns the error of a call, which is about the chunk or about the plugin.
///
/// [`abi::INTERNAL`] means that the plugin cannot encode the chunk. During decoding, it means a fault of the plugin.
pub(crate) fn codec_error(failure: Failure, origin: &str, is_encoding: bool) -> CodecError {
    let by_origin = format!("{origin}: {}", failure.message);
    match failure.status {
        abi::BAD_CONFIGURATION => CodecError::configuration(by_origin),
        abi::UNSUPPORTED => CodecError::Unsupported(by_origin),
        abi::CORRUPT => CodecError::Corrupt(by_origin.into()),
        abi::PANICKED | abi::CANCELLED | abi::IO | Failure::BROKEN => fault(failure, origin),
        _ if is_encoding => CodecError::Encode(by_origin.into()),
        _ => fault(failure, origin),
    }
}

fn fault(failure: Failure, origin: &str) -> CodecError {
    CodecError::Plugin { plugin: origin.to_owned(), message: failure.message }
}
