//! One dimension of the grid.

use crate::Lengths;

/// One dimension of the grid.
pub(crate) struct Axis {
    /// The runs that contain elements of the array.
    pub(crate) runs: Vec<Run>,
    /// The number of chunks that contain elements of the array.
    pub(crate) count: u64,
    /// The largest length at which a chunk is stored.
    pub(crate) largest: u64,
}

/// Consecutive chunks of one length, which are stored at one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// The number of the first chunk.
    pub(crate) chunk: u64,
    /// The index of the first element of the first chunk.
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// The number of elements that are stored after those of a chunk.
    pub(crate) padding: u64,
}

/// A number of chunks of one length, which are stored at the length `encoded`.
#[derive(Debug, Clone, Copy)]
struct Chunks {
    length: u64,
    encoded: u64,
    count: u64,
}

impl Axis {
    /// Divides `array` elements. The error describes what is wrong.
    pub(crate) fn new(array: u64, lengths: &Lengths, encoded: Option<&Lengths>) -> Result<Self, String> {
        let listed = listed(array, lengths)?;
        let chunks = match encoded {
            None => listed.iter().map(|&(length, count)| Chunks { length, encoded: length, count }).collect(),
            Some(encoded) => stored_at(&listed, encoded)?,
        };
        let mut runs = Vec::<Run>::new();
        let mut chunk = 0u64;
        let mut end = 0u64;
        for &Chunks { length, encoded, count } in &chunks {
            if end < array {
                let padding = encoded - length;
                if runs.last().is_none_or(|run| (run.length, run.padding) != (length, padding)) {
                    runs.push(Run { chunk, start: end, length, padding });
                }
                // An array ends at `u64::MAX` at most, so a larger end of the chunks may saturate.
                end = length.checked_mul(count).and_then(|more| end.checked_add(more)).unwrap_or(u64::MAX);
                chunk = chunk.saturating_add(count);
            }
        }
        if end < array {
            return Err(format!("the chunks end at {end}, but the array at {array}"));
        }
        // Without elements there are no chunks, but codecs still need a length.
        let first = chunks.first().map_or(1, |chunks| chunks.encoded);
        let largest = runs.iter().map(|run| run.length + run.padding).max().unwrap_or(first);
        let count = match (runs.last(), array.checked_sub(1)) {
            (Some(run), Some(last)) => run.chunk + (last - run.start) / run.length + 1,
            _ => 0,
        };
        Ok(Self { runs, count, largest })
    }
}

/// Returns the lengths of all chunks with their counts, including chunks after the end of the array.
fn listed(array: u64, lengths: &Lengths) -> Result<Vec<(u64, u64)>, String> {
    match lengths {
        Lengths::Every(0) => Err("a chunk has length 0".to_owned()),
        Lengths::Every(length) => Ok(vec![(*length, array.div_ceil(*length))]),
        Lengths::Listed(listed) => match listed.iter().find(|&&(length, count)| length == 0 || count == 0) {
            Some((length, count)) => {
                Err(format!("{count} chunks of {length} elements do not contain elements"))
            }
            None => Ok(listed.clone()),
        },
    }
}

/// Combines the lengths of chunks with the lengths at which they are stored.
fn stored_at(listed: &[(u64, u64)], encoded: &Lengths) -> Result<Vec<Chunks>, String> {
    let chunks = match encoded {
        Lengths::Every(encoded) => {
            listed.iter().map(|&(length, count)| Chunks { length, encoded: *encoded, count }).collect()
        }
        Lengths::Listed(_) => paired(listed, &self::listed(0, encoded)?)?,
    };
    let mut number = 0u64;
    for Chunks { length, encoded, count } in &chunks {
        if encoded < length {
            return Err(format!("chunk {number} has length {length}, but its encoded length is {encoded}"));
        }
        number = number.saturating_add(*count);
    }
    Ok(chunks)
}

/// Combines two lists of lengths with their counts.
fn paired(listed: &[(u64, u64)], encoded: &[(u64, u64)]) -> Result<Vec<Chunks>, String> {
    let count = |list: &[(u64, u64)]| list.iter().map(|&(_, count)| u128::from(count)).sum::<u128>();
    let wanted = count(listed);
    let given = count(encoded);
    if given != wanted {
        return Err(format!("there are {given} encoded lengths for {wanted} chunks"));
    }
    let mut chunks = Vec::with_capacity(listed.len() + encoded.len());
    let mut encoded = encoded.iter().copied();
    let mut current = (0, 0);
    for &(length, count) in listed {
        let mut left = count;
        while left > 0 {
            if current.1 == 0 {
                current = encoded.next().unwrap_or((length, left));
            }
            let both = left.min(current.1);
            chunks.push(Chunks { length, encoded: current.0, count: both });
            left -= both;
            current.1 -= both;
        }
    }
    Ok(chunks)
}
