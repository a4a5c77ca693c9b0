//! Chunk memory layouts of the draft, and the `order` of v2: how the elements of a chunk follow one another.

use crate::about::{About, says_what_it_is};
use crate::codec::{Codec, CodecError};
use crate::plugin::{Creation, Identifiers, Origin, maker};

/// Makes the layout of chunks with a number of dimensions: a [`Codec::Permutation`], or a [`Codec::ArrayToArray`]
/// that moves elements about.
pub type CreateMemoryLayout = fn(&Creation<'_>, usize) -> Result<Codec, CodecError>;

maker! {
    /// Makes layouts as [`CreateMemoryLayout`] does.
    MemoryLayoutMaker,
    CreateMemoryLayout,
    dyn Fn(&Creation<'_>, usize) -> Result<Codec, CodecError> + Send + Sync
}

/// A chunk memory layout that a program knows.
#[derive(Debug, Clone, Copy)]
pub struct MemoryLayoutPlugin {
    /// Its names.
    pub identifiers: Identifiers,
    /// Makes one from a document.
    pub create: MemoryLayoutMaker,
    /// What it says of itself.
    pub about: About,
    /// The crate it comes from.
    pub origin: Origin,
}

impl MemoryLayoutPlugin {
    /// A chunk memory layout of these names.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: CreateMemoryLayout) -> Self {
        Self {
            identifiers,
            create: MemoryLayoutMaker::Linked(create),
            about: About::NOTHING,
            origin: Origin::UNKNOWN,
        }
    }
}

says_what_it_is!(MemoryLayoutPlugin);

crate::inventory::collect!(MemoryLayoutPlugin);
