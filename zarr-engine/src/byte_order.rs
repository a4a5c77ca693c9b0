//! The byte order of stored elements.

use zarr_spec::ByteOrder;
use zarr_spec::extension::ExtensionDocument;

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
