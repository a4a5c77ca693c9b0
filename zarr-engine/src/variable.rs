//! Elements of variable size: `n + 1` native `u64` offsets, followed by the payload.

use zarr_spec::host::pipeline::Layout;
use zarr_spec::{ArrayRepresentation, CodecError};

use crate::plan::StridedBox;
use crate::shape::for_each_index;

const OFFSET: usize = size_of::<u64>();

/// The elements of a chunk or an array, in any order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable<'a> {
    offsets: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Variable<'a> {
    /// Parses the elements of `array`. Fails if the number of offsets is wrong, or if they do not start at 0, descend,
    /// or do not end at the end of the payload.
    pub(crate) fn parse(bytes: &'a [u8], array: &ArrayRepresentation) -> Result<Self, CodecError> {
        let count = array.element_count().ok_or_else(|| CodecError::corrupt("too many elements"))?;
        let table = count.checked_add(1).and_then(|entries| entries.checked_mul(OFFSET));
        let Some((offsets, payload)) = table.and_then(|table| bytes.split_at_checked(table)) else {
            return Err(CodecError::corrupt(format!(
                "{} bytes are too few for {count} offsets",
                bytes.len()
            )));
        };
        let (entries, _) = offsets.as_chunks::<OFFSET>();
        let mut last = 0;
        let mut are_rising = entries.first() == Some(&[0; OFFSET]);
        // The loop has no early exit, so that the compiler can vectorize it.
        for &entry in entries {
            let offset = u64::from_ne_bytes(entry);
            are_rising &= last <= offset;
            last = offset;
        }
        if !are_rising {
            return Err(CodecError::corrupt(wrong_offset(entries)));
        }
        if last != payload.len() as u64 {
            return Err(CodecError::corrupt(format!("offsets end at {last} of {} bytes", payload.len())));
        }
        Ok(Self { offsets, payload })
    }

    /// Returns the number of elements in `bytes`, if these are offsets and a payload. The number is unambiguous: the
    /// last offset is the size of the payload, and with each further offset the offsets grow and the payload shrinks.
    pub(crate) fn count_in(bytes: &[u8]) -> Option<usize> {
        let mut last = 0;
        for (count, entry) in bytes.chunks_exact(OFFSET).enumerate() {
            let offset = read(entry);
            let payload = bytes.len() - (count + 1) * OFFSET;
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

    /// Returns the size of offsets and payload in bytes.
    pub(crate) fn size(&self) -> usize {
        self.offsets.len() + self.payload.len()
    }

    pub(crate) fn element(&self, position: usize) -> &'a [u8] {
        &self.payload[self.offset(position)..self.offset(position + 1)]
    }

    /// Returns the bytes of consecutive elements, and their offset in the payload.
    fn run(&self, from: usize, count: usize) -> (usize, &'a [u8]) {
        let start = self.offset(from);
        (start, &self.payload[start..self.offset(from + count)])
    }

    fn offset(&self, position: usize) -> usize {
        let at = position * OFFSET;
        usize::try_from(read(&self.offsets[at..at + OFFSET])).unwrap_or(usize::MAX)
    }

    /// Returns the total size in bytes of offsets and payload of the given runs: each has a first position and a number
    /// of elements.
    pub(crate) fn size_of_runs(&self, runs: &[(usize, usize)]) -> Option<usize> {
        let sizes = runs.iter().map(|&(from, count)| count * OFFSET + self.run(from, count).1.len());
        sizes.chain([OFFSET]).try_fold(0usize, usize::checked_add)
    }

    /// Writes the offsets and payload of these runs, in order, to memory of exactly their size.
    pub(crate) fn copy_runs(&self, runs: &[(usize, usize)], target: &mut [u8]) {
        let count: usize = runs.iter().map(|(_, count)| count).sum();
        let (offsets, payload) = target.split_at_mut((count + 1) * OFFSET);
        let (offsets, _) = offsets.as_chunks_mut::<OFFSET>();
        offsets[0] = [0; OFFSET];
        let mut position = 1;
        let mut end = 0;
        for &(from, count) in runs {
            let (first, run) = self.run(from, count);
            payload[end..end + run.len()].copy_from_slice(run);
            let (ends, _) =
                self.offsets[(from + 1) * OFFSET..(from + count + 1) * OFFSET].as_chunks::<OFFSET>();
            for (to, &entry) in offsets[position..position + count].iter_mut().zip(ends) {
                *to = (u64::from_ne_bytes(entry) - first as u64 + end as u64).to_ne_bytes();
            }
            position += count;
            end += run.len();
        }
    }

    /// Reorders the elements from `layout` to C order if `decoding`, otherwise from C order to `layout`.
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

/// Calls `visit` for each run of elements of a strided box, with its position in the chunk, its position in the result,
/// and its length, all in elements.
pub(crate) fn each_run(
    strided_box: &StridedBox,
    layout: &Layout,
    strides: &[usize],
    mut visit: impl FnMut(usize, usize, usize),
) {
    let mut counts: Vec<u64> = strided_box.runs().iter().map(|run| run.count as u64).collect();
    let mut length = 1;
    // Elements along the last dimension that are contiguous on both sides form one run.
    if let (Some(run), Some(count), Some(1), Some(1)) =
        (strided_box.runs().last(), counts.last_mut(), layout.strides.last(), strides.last())
        && run.step == 1
    {
        length = run.count;
        *count = 1;
    }
    for_each_index(&counts, |_, index| {
        let mut from = 0;
        let mut to = 0;
        for (dimension, (run, &number)) in strided_box.runs().iter().zip(index).enumerate() {
            let element = run.start.wrapping_add_signed(run.step.wrapping_mul(number as i64));
            from += usize::try_from(element).unwrap_or(usize::MAX).saturating_mul(layout.strides[dimension]);
            to += (run.out + number) * strides[dimension];
        }
        visit(from, to, length);
    });
}

fn wrong_offset(entries: &[[u8; OFFSET]]) -> String {
    let mut last = 0;
    let count = entries.len() - 1;
    for (number, &entry) in entries.iter().enumerate() {
        let offset = u64::from_ne_bytes(entry);
        if offset < last || (number == 0 && offset != 0) {
            return format!("offset {number} of {count} elements is {offset} after {last}");
        }
        last = offset;
    }
    format!("offsets of {count} elements are not ascending")
}

/// Returns the offsets of elements of these sizes, in a `Vec` with capacity for the elements.
pub(crate) fn with_offsets(
    count: usize,
    sizes: impl Iterator<Item = usize> + Clone,
) -> Result<Vec<u8>, CodecError> {
    let size = sizes.clone().try_fold(0usize, usize::checked_add).ok_or_else(too_large)?;
    let table = count.checked_add(1).and_then(|entries| entries.checked_mul(OFFSET));
    let size = table.and_then(|table| table.checked_add(size)).ok_or_else(too_large)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(CodecError::corrupt)?;
    let mut offset = 0u64;
    bytes.extend_from_slice(&offset.to_ne_bytes());
    for size in sizes {
        offset += size as u64;
        bytes.extend_from_slice(&offset.to_ne_bytes());
    }
    Ok(bytes)
}

fn read(entry: &[u8]) -> u64 {
    entry.try_into().map_or(0, u64::from_ne_bytes)
}

/// Collects elements of variable size in any order. Positions that are never set hold the fill value.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// The start and end of each element in `payload`; [`FILL`] for the fill value.
    places: Vec<(usize, usize)>,
    payload: Vec<u8>,
    fill: Vec<u8>,
}

/// The place of an element that holds the fill value. No payload is that large.
const FILL: (usize, usize) = (usize::MAX, usize::MAX);

impl Assembly {
    pub(crate) fn new(array: &ArrayRepresentation) -> Result<Self, CodecError> {
        let count = array.element_count().ok_or_else(|| CodecError::corrupt("too many elements"))?;
        Self::with_count(count, array.fill_value.bytes())
    }

    pub(crate) fn with_count(count: usize, fill: &[u8]) -> Result<Self, CodecError> {
        let mut places = Vec::new();
        places.try_reserve_exact(count).map_err(CodecError::corrupt)?;
        places.resize(count, FILL);
        Ok(Self { places, payload: Vec::new(), fill: fill.to_vec() })
    }

    /// Sets the element at a position. The last call wins.
    pub(crate) fn put(&mut self, position: usize, element: &[u8]) {
        let start = self.payload.len();
        self.payload.extend_from_slice(element);
        self.places[position] = (start, self.payload.len());
    }

    /// Sets `count` elements, starting at `position`, to the `elements` starting at `from`.
    pub(crate) fn put_run(&mut self, position: usize, elements: &Variable<'_>, from: usize, count: usize) {
        let (first, run) = elements.run(from, count);
        let before = self.payload.len();
        self.payload.extend_from_slice(run);
        let mut start = before;
        for (number, place) in self.places[position..position + count].iter_mut().enumerate() {
            let end = before + (elements.offset(from + number + 1) - first);
            *place = (start, end);
            start = end;
        }
    }

    pub(crate) fn clear(&mut self, position: usize, count: usize) {
        self.places[position..position + count].fill(FILL);
    }

    pub(crate) fn element(&self, position: usize) -> &[u8] {
        self.bytes(self.places[position])
    }

    fn bytes(&self, place: (usize, usize)) -> &[u8] {
        if place == FILL { &self.fill } else { &self.payload[place.0..place.1] }
    }

    pub(crate) fn finish(&self) -> Result<Vec<u8>, CodecError> {
        let sizes = self.places.iter().map(|&place| match place {
            FILL => self.fill.len(),
            (start, end) => end - start,
        });
        let mut bytes = with_offsets(self.places.len(), sizes)?;
        // Elements that are contiguous in the payload are copied together.
        let is_next = |one: &(usize, usize), other: &(usize, usize)| one.1 == other.0 && *other != FILL;
        for run in self.places.chunk_by(is_next) {
            if let (Some(&first), Some(&last)) = (run.first(), run.last()) {
                bytes.extend_from_slice(self.bytes((first.0, last.1)));
            }
        }
        Ok(bytes)
    }
}

fn too_large() -> CodecError {
    CodecError::corrupt("elements are too large for this machine")
}
