//! Chunk key encodings: the part of a key that names a chunk inside its array.

use std::fmt::Debug;
use std::sync::Arc;

use crate::BoxError;
use crate::creation::Creation;
use crate::format::Invalid;
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Plugin, PluginKind};

/// Converts chunk indices to the last part of a key, and back.
///
/// Different indices have different keys. Source: "Chunk key encoding" in the Zarr v3 core specification, and
/// the chunk identifiers of the draft.
pub trait ChunkKeyEncoding: Debug + Send + Sync {
    /// Appends the key of the chunk at `chunk_index` to `key`. The indices are those of
    /// [`crate::grid::ChunkGrid::key_index`]. Never called for a number of dimensions that [`Self::decode`] refuses.
    fn encode(&self, chunk_index: &[u64], key: &mut String);

    /// Returns the chunk that `key` names in a grid of `rank` dimensions; `None` if it is not the key of a chunk.
    ///
    /// # Errors
    ///
    /// If this cannot be determined: callers must not treat the error as `None`. Every key is an error if the encoding
    /// does not support grids of `rank` dimensions.
    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError>;
}

/// Appends one index in ASCII decimal, the form that [`decode_index`] parses.
pub fn encode_index(mut index: u64, key: &mut String) {
    // `write!` takes several times as long, which is noticeable for small chunks.
    let mut digits = ['0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = char::from(b'0' + u8::try_from(index % 10).unwrap_or(0));
        index /= 10;
        if index == 0 {
            break;
        }
    }
    key.extend(&digits[start..]);
}

/// Parses one index in ASCII decimal, without sign or leading zeros, as in all formats.
#[must_use]
pub fn decode_index(text: &str) -> Option<u64> {
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    canonical.then(|| text.parse().ok()).flatten()
}

/// Parses one index per dimension, at least one, with a separator between them.
#[must_use]
pub fn decode_indices(text: &str, separator: char, rank: usize) -> Option<Vec<u64>> {
    let index: Vec<u64> = text.split(separator).map(decode_index).collect::<Option<_>>()?;
    (index.len() == rank).then_some(index)
}

/// A chunk key encoding that a program knows.
///
/// The chunk identifiers of the draft and the chunk keys of v2 are such encodings too.
pub type ChunkKeyEncodingPlugin = Plugin<dyn ChunkKeyEncoding>;

impl PluginKind for dyn ChunkKeyEncoding {
    type Create = dyn Fn(&Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::ChunkKeyEncoding;
}

inventory::collect!(ChunkKeyEncodingPlugin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_round_trip() {
        for index in [0, 7, 10, 99, 1_000_000, u64::MAX] {
            let mut key = "c/".to_owned();
            encode_index(index, &mut key);
            assert_eq!(key, format!("c/{index}"));
            assert_eq!(decode_index(&key[2..]), Some(index));
        }
    }
}
