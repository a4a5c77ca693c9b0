//! Jobs: the units of encoding and storing.

use zarr_spec::host::pipeline::Pipeline;

use super::parallel::StartedEncoding;
use crate::plan::Piece;
use crate::reader::exact_size;
use crate::stored::Needing;
use crate::variable::Variable;

/// The elements to write, in C order.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Fixed(FixedElements<'a>),
    Variable(Variable<'a>),
}

#[derive(Clone, Copy)]
pub(crate) struct FixedElements<'a> {
    pub(crate) bytes: &'a [u8],
    /// The size of an element in bytes.
    pub(crate) size: usize,
}

impl Source<'_> {
    /// Returns the size of all elements in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Fixed(elements) => elements.bytes.len(),
            Self::Variable(elements) => elements.size(),
        }
    }
}

/// The elements to write to one chunk: a piece of the selection. The dimensions are in the order of the chunk.
#[derive(Clone, Copy)]
pub(super) struct ChunkElements<'p> {
    pub(super) piece: &'p Piece<'p>,
    pub(super) source: Source<'p>,
    /// The strides of the source in elements, per dimension of the chunk.
    pub(super) strides: &'p [usize],
}

pub(super) struct Job<'j> {
    pub(super) chunk: &'j [u64],
    pub(super) pipeline: &'j Pipeline,
    pub(super) elements: &'j ChunkElements<'j>,
    /// Whether the written elements replace all elements of the chunk that may hold data, so that its old value is not
    /// needed.
    pub(super) is_whole: bool,
    /// Whether some elements of the chunk inside of the array are not written.
    pub(super) is_part: bool,
    /// The encoding of a shard's inner chunks on several threads, if used.
    pub(super) parallel: Option<StartedEncoding<'j>>,
}

impl<'j> Job<'j> {
    /// Returns the chunk with the size of its stored value in bytes, if known; 0 if the whole chunk is written.
    pub(super) fn needing(&self) -> Needing<'j> {
        let Self { chunk, pipeline, is_whole, .. } = *self;
        Needing { chunk, pipeline, encoded: if is_whole { Some(0) } else { exact_size(pipeline) } }
    }
}
