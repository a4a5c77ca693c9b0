//! Elements of variable size: `n + 1` native `u64` offsets, then the payload.

use zarr_spec::pipeline::Layout;
use zarr_spec::{ArrayRepresentation, CodecError};

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

fn read(entry: &[u8]) -> u64 {
    entry.try_into().map_or(0, u64::from_ne_bytes)
}

/// Calls `visit` with the position in C order and the index of every element.
pub(crate) fn for_each_index(shape: &[u64], mut visit: impl FnMut(usize, &[usize])) {
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0usize; shape.len()];
    let mut position = 0;
    loop {
        visit(position, &index);
        position += 1;
        let advanced = (0..shape.len()).rev().find(|&dimension| {
            index[dimension] += 1;
            let carry = index[dimension] as u64 == shape[dimension];
            if carry {
                index[dimension] = 0;
            }
            !carry
        });
        if advanced.is_none() {
            return;
        }
    }
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

    /// The element at a position, as it is now.
    pub(crate) fn element(&self, position: usize) -> &[u8] {
        self.places[position].map_or(&self.fill, |(start, size)| &self.payload[start..start + size])
    }

    /// Offsets and payload.
    pub(crate) fn finish(&self) -> Result<Vec<u8>, CodecError> {
        let mut size = 0usize;
        for position in 0..self.places.len() {
            size = size
                .checked_add(self.element(position).len())
                .ok_or_else(|| CodecError::corrupt("too large"))?;
        }
        let table = (self.places.len() + 1) * OFFSET;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(table + size).map_err(CodecError::corrupt)?;
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
