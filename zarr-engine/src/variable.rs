//! Elements of variable size: `n + 1` native `u64` offsets, then the payload.

use zarr_spec::pipeline::Layout;
use zarr_spec::{ArrayRepresentation, CodecError};

use crate::plan::Combination;
use crate::shape::for_each_index;

const OFFSET: usize = size_of::<u64>();

/// The elements of a chunk or an array, in C order or another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable<'a> {
    offsets: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Variable<'a> {
    /// The elements of `array` in `bytes`.
    ///
    /// # Errors
    ///
    /// When the offsets are not as many, do not begin at 0, fall, or do not end where the payload does.
    pub(crate) fn parse(bytes: &'a [u8], array: &ArrayRepresentation) -> Result<Self, CodecError> {
        let count = array.element_count().ok_or_else(|| CodecError::corrupt("too many elements"))?;
        let table = count.checked_add(1).and_then(|entries| entries.checked_mul(OFFSET));
        let Some((offsets, payload)) = table.and_then(|table| bytes.split_at_checked(table)) else {
            return Err(CodecError::corrupt(format!(
                "{} bytes have no room for {count} offsets",
                bytes.len()
            )));
        };
        let mut last = 0;
        for (number, entry) in offsets.chunks_exact(OFFSET).enumerate() {
            let offset = read(entry);
            if offset < last || (number == 0 && offset != 0) {
                return Err(CodecError::corrupt(format!(
                    "offset {number} of {count} elements is {offset} after {last}"
                )));
            }
            last = offset;
        }
        if last != payload.len() as u64 {
            return Err(CodecError::corrupt(format!("offsets end at {last} of {} bytes", payload.len())));
        }
        Ok(Self { offsets, payload })
    }

    /// How many elements there are in `bytes`, if these are offsets and a payload: only one number of offsets ends
    /// where the payload does.
    pub(crate) fn count_in(bytes: &[u8]) -> Option<usize> {
        let mut last = 0;
        for (count, entry) in bytes.chunks_exact(OFFSET).enumerate() {
            let (offset, payload) = (read(entry), bytes.len() - (count + 1) * OFFSET);
            if offset == payload as u64 {
                return Some(count);
            }
            if offset < last || offset > payload as u64 {
                return None;
            }
            last = offset;
        }
        None
    }

    /// The element at this position.
    pub(crate) fn element(&self, position: usize) -> &'a [u8] {
        let start = position * OFFSET;
        let offset = |at: usize| usize::try_from(read(&self.offsets[at..at + OFFSET])).unwrap_or(usize::MAX);
        &self.payload[offset(start)..offset(start + OFFSET)]
    }

    /// From `layout` to C order when `decoding`, else back.
    pub(crate) fn reordered(
        &self,
        array: &ArrayRepresentation,
        layout: &Layout,
        decoding: bool,
    ) -> Result<Vec<u8>, CodecError> {
        let mut assembly = Assembly::new(array)?;
        for_each_index(&array.shape, |position, index| {
            let there = index.iter().zip(&layout.strides).map(|(i, stride)| i * stride).sum();
            let (from, to) = if decoding { (there, position) } else { (position, there) };
            assembly.put(to, self.element(from));
        });
        assembly.finish()
    }
}

/// Calls `visit` with the place of each element of a strided box, in the cell and in the result, counted in elements.
pub(crate) fn each_element(
    combination: &Combination,
    layout: &Layout,
    strides: &[usize],
    mut visit: impl FnMut(usize, usize),
) {
    let counts: Vec<u64> = combination.runs().iter().map(|run| run.count as u64).collect();
    for_each_index(&counts, |_, index| {
        let (mut from, mut to) = (0, 0);
        for (dimension, (run, &number)) in combination.runs().iter().zip(index).enumerate() {
            let element = run.start.wrapping_add_signed(run.step.wrapping_mul(number as i64));
            from += usize::try_from(element).unwrap_or(usize::MAX).saturating_mul(layout.strides[dimension]);
            to += (run.out + number) * strides[dimension];
        }
        visit(from, to);
    });
}

fn read(entry: &[u8]) -> u64 {
    entry.try_into().map_or(0, u64::from_ne_bytes)
}

/// Elements that come together in any order; those that never come are the fill value.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// Start and size in `payload`; `None` is the fill value.
    places: Vec<Option<(usize, usize)>>,
    payload: Vec<u8>,
    fill: Vec<u8>,
}

impl Assembly {
    /// Room for the elements of `array`.
    pub(crate) fn new(array: &ArrayRepresentation) -> Result<Self, CodecError> {
        let count = array.element_count().ok_or_else(|| CodecError::corrupt("too many elements"))?;
        Self::with_count(count, array.fill_value.bytes())
    }

    /// Room for so many elements.
    pub(crate) fn with_count(count: usize, fill: &[u8]) -> Result<Self, CodecError> {
        let mut places = Vec::new();
        places.try_reserve_exact(count).map_err(CodecError::corrupt)?;
        places.resize(count, None);
        Ok(Self { places, payload: Vec::new(), fill: fill.to_vec() })
    }

    /// Puts an element at its position; the last one that came stays.
    pub(crate) fn put(&mut self, position: usize, element: &[u8]) {
        self.places[position] = Some((self.payload.len(), element.len()));
        self.payload.extend_from_slice(element);
    }

    /// Makes an element the fill value again.
    pub(crate) fn clear(&mut self, position: usize) {
        self.places[position] = None;
    }

    /// The element at a position, as it is now.
    pub(crate) fn element(&self, position: usize) -> &[u8] {
        self.places[position].map_or(&self.fill, |(start, size)| &self.payload[start..start + size])
    }

    /// Offsets and payload.
    pub(crate) fn finish(&self) -> Result<Vec<u8>, CodecError> {
        let mut size = 0usize;
        for position in 0..self.places.len() {
            size = size.checked_add(self.element(position).len()).ok_or_else(too_large)?;
        }
        let table = self.places.len().checked_add(1).and_then(|entries| entries.checked_mul(OFFSET));
        let size = table.and_then(|table| table.checked_add(size)).ok_or_else(too_large)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(CodecError::corrupt)?;
        let mut offset = 0u64;
        bytes.extend_from_slice(&offset.to_ne_bytes());
        for position in 0..self.places.len() {
            offset += self.element(position).len() as u64;
            bytes.extend_from_slice(&offset.to_ne_bytes());
        }
        for position in 0..self.places.len() {
            bytes.extend_from_slice(self.element(position));
        }
        Ok(bytes)
    }
}

fn too_large() -> CodecError {
    CodecError::corrupt("elements are too large for this machine")
}
