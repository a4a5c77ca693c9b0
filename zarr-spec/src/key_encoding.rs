//! Chunk key encodings: the part of a key that names a chunk inside its array.

use std::fmt::Debug;
use std::sync::Arc;

use crate::about::{About, says_what_it_is};
use crate::format::Invalid;
use crate::plugin::{Creation, Identifiers, Origin, maker};

/// Turns chunk indices into the last part of a key, and back.
///
/// Different indices have different keys. Source: "Chunk key encoding" in the Zarr v3 core specification, and
/// the draft's chunk identifiers.
pub trait ChunkKeyEncoding: Debug + Send + Sync {
    /// Appends the key of the chunk at `chunk_index` to `key`. The indices are those that the chunk grid has for keys:
    /// [`crate::grid::ChunkGrid::key_index`].
    fn encode(&self, chunk_index: &[u64], key: &mut String);

    /// The chunk that `key` names in a grid of `rank` dimensions; `None` if it is no key of a chunk.
    fn decode(&self, key: &str, rank: usize) -> Option<Vec<u64>>;
}

/// One index in ASCII decimal, without sign or leading zeros, as all formats have it.
#[must_use]
pub fn decode_index(text: &str) -> Option<u64> {
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    canonical.then(|| text.parse().ok()).flatten()
}

/// Makes a chunk key encoding.
pub type CreateChunkKeyEncoding = fn(&Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid>;

maker! {
    /// Makes key encodings as [`CreateChunkKeyEncoding`] does.
    ChunkKeyEncodingMaker,
    CreateChunkKeyEncoding,
    dyn Fn(&Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> + Send + Sync
}

/// A chunk key encoding that a program knows.
#[derive(Debug, Clone, Copy)]
pub struct ChunkKeyEncodingPlugin {
    /// Its names. The draft's chunk identifiers and the keys of v2 are looked up in the same way.
    pub identifiers: Identifiers,
    /// Makes one from a document.
    pub create: ChunkKeyEncodingMaker,
    /// What it says of itself.
    pub about: About,
    /// The crate it comes from.
    pub origin: Origin,
}

impl ChunkKeyEncodingPlugin {
    /// A chunk key encoding of these names.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: CreateChunkKeyEncoding) -> Self {
        Self {
            identifiers,
            create: ChunkKeyEncodingMaker::Linked(create),
            about: About::NOTHING,
            origin: Origin::UNKNOWN,
        }
    }
}

says_what_it_is!(ChunkKeyEncodingPlugin);

crate::inventory::collect!(ChunkKeyEncodingPlugin);
