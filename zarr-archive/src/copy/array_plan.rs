//! The plan of the copy of one array.

use std::fmt;

use zarr_metadata::ArrayMetadata;
use zarr_spec::NodePath;

use super::passes::Passes;
use super::source::Source;
use super::text;

/// How the elements of an array are copied.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Encoded chunks are copied unchanged.
    Encoded,
    /// Elements are decoded and encoded.
    Decoded(Passes),
}

/// The copy of one array.
#[derive(Debug)]
#[non_exhaustive]
pub struct ArrayPlan {
    /// The path in the copy.
    pub path: NodePath,
    /// Elements of the array per dimension.
    pub shape: Vec<u64>,
    /// Elements per dimension of a chunk of the source, or of its largest chunk.
    pub source_chunk: Vec<u64>,
    /// Elements per dimension of a chunk of the copy, or of a shard if there are shards.
    pub chunk: Vec<u64>,
    /// The size of all elements in bytes.
    pub size: u64,
    /// How elements are copied.
    pub method: Method,
    pub(crate) source: Source,
    /// If encoded chunks are copied: the index of the source chunk that becomes the first chunk of the copy.
    pub(crate) first_chunk: Vec<u64>,
    /// The size in bytes of the elements in all chunks that are read.
    pub(crate) size_of_chunks: u64,
    pub(crate) metadata: ArrayMetadata,
    /// Whether an interrupted copy has completed the array.
    pub(crate) is_complete: bool,
}

impl ArrayPlan {
    /// Returns the number of passes over the array.
    #[must_use]
    pub fn passes(&self) -> u64 {
        match &self.method {
            Method::Encoded => 1,
            Method::Decoded(passes) => passes.count(),
        }
    }

    /// Returns the size in bytes of the elements that all passes decode, or that are copied as encoded chunks. A chunk
    /// that is decoded counts in full even if only a part of it is selected.
    #[must_use]
    pub fn read_size(&self) -> u64 {
        match &self.method {
            Method::Encoded => self.size,
            Method::Decoded(Passes::One(pass)) => times(self.size_of_chunks, pass.reads),
            Method::Decoded(Passes::Two(two)) => {
                let first = times(self.size_of_chunks, two.first.reads);
                first.saturating_add(times(self.size, two.second.reads))
            }
        }
    }

    /// Returns the size in bytes of the elements that all passes write.
    #[must_use]
    pub fn written_size(&self) -> u64 {
        self.size.saturating_mul(self.passes())
    }

    /// Returns the bytes that the intermediate array takes in the destination.
    #[must_use]
    pub fn temporary_size(&self) -> u64 {
        if self.passes() > 1 { self.size } else { 0 }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is for people, and casts of floats saturate"
)]
fn times(size: u64, reads: f64) -> u64 {
    (size as f64 * reads) as u64
}

/// Prints how the array is copied, one property per line.
impl fmt::Display for ArrayPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = zarr_spec::printable(&self.path).to_string();
        let size = text::size(self.size);
        let of_all = match self.source.is_whole() {
            true => String::new(),
            false => format!(" of {}", text::shape(self.source.array.shape())),
        };
        writeln!(f, "{path}  {}{of_all}, {size}", text::shape(&self.shape))?;
        let Method::Decoded(passes) = &self.method else {
            return writeln!(f, "  copies the encoded chunks");
        };
        let from = text::shape(&self.source_chunk);
        match self.source_chunk == self.chunk {
            true => writeln!(f, "  chunks  {from} as before, decoded and encoded again")?,
            false => writeln!(f, "  chunks  {from} to {}", text::shape(&self.chunk))?,
        }
        writeln!(f, "  passes  {passes}")?;
        if passes.count() > 1 {
            writeln!(f, "  space   {size} in the destination, until the array is complete")?;
        }
        Ok(())
    }
}
