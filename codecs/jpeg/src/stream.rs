//! The parts of images that the configuration contains, because they are the same for all chunks.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

const START: &[u8] = b"\xff\xd8";
const SCAN: &[u8] = b"\xff\xda";
const END: &[u8] = b"\xff\xd9";

/// The parts of images that the configuration contains.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tables: Vec<u8>,
    pub(crate) header: Vec<u8>,
}

/// Decodes a member from base64; empty if it is missing.
pub(crate) fn shared(member: &str, text: Option<&str>) -> CodecResult<Vec<u8>> {
    let bytes = STANDARD.decode(text.unwrap_or_default());
    bytes.map_err(|error| CodecError::configuration(format!("`{member}` is not base64: {error}")))
}

/// Returns whether an end marker follows the last scan. The check is needed, because the decoder fills in missing
/// pixels instead of failing.
pub(crate) fn is_complete(image: &[u8]) -> bool {
    let last = |marker: &[u8]| image.windows(2).rposition(|bytes| bytes == marker);
    last(END) > last(SCAN)
}

impl Shared {
    /// Adds the header and the tables of the configuration to the image of a chunk.
    pub(crate) fn completed<'e>(&self, encoded: &'e [u8]) -> CodecResult<Cow<'e, [u8]>> {
        let image = match self.header.is_empty() {
            true => Cow::Borrowed(encoded),
            false => Cow::Owned([&self.header, encoded, END].concat()),
        };
        let tables = self.tables.strip_prefix(START).unwrap_or(&self.tables);
        let tables = tables.strip_suffix(END).unwrap_or(tables);
        if tables.is_empty() {
            return Ok(image);
        }
        let rest = image.strip_prefix(START);
        let rest = rest.ok_or_else(|| CodecError::corrupt("the chunk does not begin like an image"))?;
        Ok(Cow::Owned([START, tables, rest].concat()))
    }
}
