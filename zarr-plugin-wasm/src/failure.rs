//! What a failure of a guest means for a caller.

use zarr_plugin::{Failure, abi};
use zarr_spec::CodecError;

/// The guest was stopped. It is not used again.
pub(crate) fn trapped(message: impl Into<String>) -> Failure {
    Failure::new(abi::PANICKED, message)
}

/// The error of a call: what it means for the chunk, or that the plugin itself is at fault.
///
/// [`abi::INTERNAL`] is how a plugin reports that it cannot encode a chunk; while it decodes, it is a fault of the
/// plugin.
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
