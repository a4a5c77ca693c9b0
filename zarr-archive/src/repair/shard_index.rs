//! Rebuilds the index of a shard whose inner chunks are intact.
//!
//! An index is rebuilt only if the result is certain. Either only the checksum is wrong: the entries cover the inner
//! chunks without gaps. Or one entry is wrong: a single value of this entry fills the gap, and the index then has the
//! stored checksum. In both cases, every inner chunk can be decoded.

use std::ops::Range;
use std::sync::Arc;

use zarr_engine::{Array, Error};
use zarr_spec::codec::{Checksum, Shard};
use zarr_spec::{ByteOrder, Codec, Size};

/// The size of an entry in bytes: offset and size.
const ENTRY: usize = 16;

/// The maximum number of entries of an index in which one wrong entry is searched for. The search tries each entry.
const MAX_ENTRIES: usize = 1024;

/// The entry of a missing inner chunk.
const MISSING: [u8; ENTRY] = [0xff; ENTRY];

/// Returns the value of the shard with a rebuilt index; `None` if the rebuilt index is not certain, or if the stored
/// index is not damaged.
pub(super) fn rebuilt(array: &Array, chunk: &[u64]) -> Result<Option<Vec<u8>>, Error> {
    let Some(shard) = array.codecs().shard() else { return Ok(None) };
    let Some(value) = array.read_encoded_chunk(chunk)? else { return Ok(None) };
    let Some(index) = Index::of(shard, &value) else { return Ok(None) };
    if index.has_valid_checksum() {
        return Ok(None);
    }
    for candidate in [index.with_other_entry(), index.with_other_checksum()].into_iter().flatten() {
        let mut repaired = value.to_vec();
        repaired[index.place.clone()].copy_from_slice(&candidate);
        if array.decode_chunk(chunk, Some(&repaired)).is_ok() {
            return Ok(Some(repaired));
        }
    }
    Ok(None)
}

/// A stored index with a checksum at its end.
struct Index<'a> {
    /// The place of the index in the shard.
    place: Range<usize>,
    /// The place of the inner chunks in the shard.
    data: Range<u64>,
    entries: &'a [u8],
    stored: &'a [u8],
    checksum: Arc<dyn Checksum>,
}

impl<'a> Index<'a> {
    /// Returns the index, if its codecs are little-endian numbers and a checksum.
    fn of(shard: &Shard, value: &'a [u8]) -> Option<Self> {
        let Size::Exact(size) = shard.index_codecs.encoded_size() else { return None };
        let size = usize::try_from(size).ok().filter(|size| *size <= value.len())?;
        let [binary, last] = shard.index_codecs.links() else { return None };
        let (Codec::Binary(ByteOrder::Little), Codec::Checksum(checksum)) = (&binary.codec, &last.codec)
        else {
            return None;
        };
        if checksum.at_start() {
            return None;
        }
        let place = match shard.index_at_start {
            true => 0..size,
            false => value.len() - size..value.len(),
        };
        let data = match shard.index_at_start {
            true => size as u64..value.len() as u64,
            false => 0..(value.len() - size) as u64,
        };
        let (entries, stored) = value[place.clone()].split_at_checked(size.checked_sub(checksum.size())?)?;
        Some(Self { place, data, entries, stored, checksum: Arc::clone(checksum) })
    }

    fn checksum_of(&self, entries: &[u8]) -> Option<Vec<u8>> {
        let mut checksum = vec![0; self.checksum.size()];
        self.checksum.checksum(entries, &mut checksum).ok()?;
        Some(checksum)
    }

    fn has_valid_checksum(&self) -> bool {
        self.checksum_of(self.entries).as_deref() == Some(self.stored)
    }

    /// Returns the index with a new checksum, if its entries cover the bytes of the inner chunks without gaps or
    /// overlaps.
    fn with_other_checksum(&self) -> Option<Vec<u8>> {
        let ranges = ranges_of(self.entries)?;
        gaps(&self.data, ranges).filter(Vec::is_empty)?;
        Some([self.entries, &self.checksum_of(self.entries)?].concat())
    }

    /// Returns the index with one entry replaced, so that its entries leave no gap and match the stored checksum.
    fn with_other_entry(&self) -> Option<Vec<u8>> {
        let count = self.entries.len() / ENTRY;
        (0..count).filter(|_| count <= MAX_ENTRIES).find_map(|number| {
            let place = number * ENTRY..(number + 1) * ENTRY;
            let mut others = self.entries.to_vec();
            others[place.clone()].copy_from_slice(&MISSING);
            let entry = match &gaps(&self.data, ranges_of(&others)?)?[..] {
                [] => MISSING,
                [gap] => {
                    let mut entry = MISSING;
                    entry[..8].copy_from_slice(&gap.start.to_le_bytes());
                    entry[8..].copy_from_slice(&(gap.end - gap.start).to_le_bytes());
                    entry
                }
                _ => return None,
            };
            others[place].copy_from_slice(&entry);
            (self.checksum_of(&others)?.as_slice() == self.stored)
                .then(|| [&others[..], self.stored].concat())
        })
    }
}

/// Returns the places of the inner chunks that are not missing, sorted; `None` for an impossible entry.
fn ranges_of(entries: &[u8]) -> Option<Vec<Range<u64>>> {
    let (entries, _) = entries.as_chunks::<ENTRY>();
    let mut ranges = Vec::new();
    for entry in entries.iter().filter(|entry| **entry != MISSING) {
        let offset = u64::from_le_bytes(*entry.first_chunk()?);
        let size = u64::from_le_bytes(*entry.last_chunk()?);
        ranges.push(offset..offset.checked_add(size)?);
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    Some(ranges)
}

/// Returns the parts of `data` that no range covers; `None` if ranges overlap or leave `data`.
fn gaps(data: &Range<u64>, ranges: Vec<Range<u64>>) -> Option<Vec<Range<u64>>> {
    let mut gaps = Vec::new();
    let mut end = data.start;
    for range in ranges {
        if range.start < end || range.end > data.end {
            return None;
        }
        if range.start > end {
            gaps.push(end..range.start);
        }
        end = range.end;
    }
    if end < data.end {
        gaps.push(end..data.end);
    }
    Some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_and_overlaps_refused() {
        assert_eq!(gaps(&(0..10), vec![0..4, 4..10]), Some(vec![]));
        assert_eq!(gaps(&(0..10), vec![1..4, 6..9]), Some(vec![0..1, 4..6, 9..10]));
        assert_eq!(gaps(&(0..10), vec![0..5, 4..10]), None);
        assert_eq!(gaps(&(0..10), vec![0..5, 5..11]), None);
    }
}
