//! Arguments for creating extensions.

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{ByteOrder, Creation, Format, Reading, Registry};

/// Returns the arguments for creating the extension that a document of `format` names.
pub(crate) fn creation<'d>(
    format: Format,
    document: &'d ExtensionDocument,
    registry: &'d Registry,
    reading: &'d Reading,
) -> Creation<'d> {
    Creation {
        format,
        identifier: &document.identifier,
        configuration: &document.configuration,
        type_name: document.type_name.as_ref(),
        registry,
        reading,
    }
}

/// Returns the byte order of stored elements: the order in the v3 `bytes` codec, otherwise the one that the data type
/// declares.
pub(crate) fn stored_order(codecs: &[ExtensionDocument], declared: &ByteOrder) -> ByteOrder {
    let endian = codecs.iter().find_map(|codec| codec.configuration.as_object()?.get("endian")?.as_str());
    match endian {
        Some("big") => ByteOrder::Big,
        Some(_) => ByteOrder::Little,
        None => declared.clone(),
    }
}
