//! Chunk memory layouts of the draft, and the `order` of v2: how the elements of a chunk follow one another.

use crate::codec::{Codec, CodecError};
use crate::plugin::{Creation, Identifiers, Origin};

/// Makes the layout of chunks with a number of dimensions: a [`Codec::Permutation`], or a [`Codec::ArrayToArray`]
/// that moves elements about.
pub type CreateMemoryLayout = fn(&Creation<'_>, usize) -> Result<Codec, CodecError>;

/// A chunk memory layout that a program knows.
#[derive(Debug, Clone, Copy)]
pub struct MemoryLayoutPlugin {
    /// Its names.
    pub identifiers: Identifiers,
    /// Makes one from a document.
    pub create: CreateMemoryLayout,
    /// The crate it comes from.
    pub origin: Origin,
}

impl MemoryLayoutPlugin {
    /// A chunk memory layout of these names.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: CreateMemoryLayout) -> Self {
        Self { identifiers, create, origin: Origin::UNKNOWN }
    }

    /// With the crate it comes from; [`crate::register!`] fills it in.
    #[must_use]
    pub const fn from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }
}

crate::inventory::collect!(MemoryLayoutPlugin);
