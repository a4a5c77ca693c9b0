//! Conversion between elements and planes, which hold one bit of all elements of a block.

use zarr_plugin_kit::planes;
use zarr_spec::CodecError;

/// The size of a default block in bytes, unless it would have too few elements.
const DEFAULT_SIZE: usize = 8192;

/// The least number of elements of a default block.
const LEAST_DEFAULT: usize = 128;

/// The division of a chunk into blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) item_size: usize,
    /// The number of elements of a block, a multiple of 8.
    block_count: usize,
}

impl Blocks {
    /// Creates blocks of `block_count` elements of `item_size` bytes; 0 is the default number.
    pub(crate) fn new(item_size: usize, block_count: usize) -> Result<Self, CodecError> {
        if item_size == 0 {
            return Err(CodecError::configuration("`itemsize` is 0; expected at least 1"));
        }
        if !block_count.is_multiple_of(8) {
            return Err(CodecError::configuration(format!(
                "`blocksize` is {block_count}; expected a multiple of 8"
            )));
        }
        Ok(Self { item_size, block_count: if block_count == 0 { default(item_size) } else { block_count } })
    }

    /// Returns the number of elements of a block; 0 if it is the default, as in a configuration.
    pub(crate) fn declared(self) -> usize {
        if self.block_count == default(self.item_size) { 0 } else { self.block_count }
    }

    /// Checks that `size` bytes are whole elements.
    pub(crate) fn check(self, size: usize) -> Result<(), String> {
        if size.is_multiple_of(self.item_size) {
            return Ok(());
        }
        Err(format!("{size} bytes are not a multiple of the element size {}", self.item_size))
    }

    /// Writes the planes of `elements` to `planes`. Both have the same size, a multiple of the element size.
    pub(crate) fn split(self, elements: &[u8], planes: &mut [u8]) {
        let mut scratch = Vec::new();
        self.each_block(elements, planes, |elements, planes| {
            planes::split_bits(self.item_size, elements, planes, &mut scratch);
        });
    }

    /// Inverts [`Blocks::split`].
    pub(crate) fn join(self, planes: &[u8], elements: &mut [u8]) {
        let mut scratch = Vec::new();
        self.each_block(planes, elements, |planes, elements| {
            planes::with_planes(planes.len() / self.item_size, planes, |planes| {
                planes::join_bits(planes, elements, &mut scratch);
            });
        });
    }

    /// Calls `convert` for each block, and copies the elements after the last block.
    fn each_block(self, from: &[u8], to: &mut [u8], mut convert: impl FnMut(&[u8], &mut [u8])) {
        let whole = from.len() / (8 * self.item_size) * (8 * self.item_size);
        let block_size = self.block_count.saturating_mul(self.item_size);
        let blocks = from[..whole].chunks(block_size).zip(to[..whole].chunks_mut(block_size));
        blocks.for_each(|(from, to)| convert(from, to));
        to[whole..].copy_from_slice(&from[whole..]);
    }
}

/// Returns the default number of elements of a block.
fn default(item_size: usize) -> usize {
    (DEFAULT_SIZE / item_size / 8 * 8).max(LEAST_DEFAULT)
}
