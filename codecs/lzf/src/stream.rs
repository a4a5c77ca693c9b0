//! Streams of LZF: runs of literals, and references to earlier bytes.
//!
//! A control byte `n` below 32 is followed by `n + 1` literals.
//!
//! Other control bytes begin a reference. Their upper 3 bits are the length minus 2; if these are 7, the next byte is
//! added to the length. The lower 5 bits, followed by the 8 bits of the last byte, are the distance minus 1.

use zarr_spec::{CodecError, CodecResult, Output};

/// Maximum number of literals in a run.
const MAX_RUN: usize = 32;

/// Number of bytes of the shortest and of the longest reference.
const MIN_LENGTH: usize = 3;
const MAX_LENGTH: usize = 264;

/// Maximum distance of a reference in bytes.
const MAX_DISTANCE: usize = 1 << 13;

/// Number of entries of the table of earlier positions, as a power of two.
const TABLE_BITS: u32 = 14;

/// A part of a stream.
enum Part<'s> {
    Literals(&'s [u8]),
    Reference { distance: usize, length: usize },
}

/// Returns the number of bytes that `stream` decodes to.
pub(crate) fn decoded_size(stream: &[u8]) -> CodecResult<usize> {
    let mut rest = stream;
    let mut size = 0;
    while let Some(part) = next_part(&mut rest)? {
        size += match part {
            Part::Literals(literals) => literals.len(),
            Part::Reference { distance, .. } if distance > size => {
                return Err(CodecError::corrupt("a reference begins before the first byte"));
            }
            Part::Reference { length, .. } => length,
        };
    }
    Ok(size)
}

/// Decodes `stream` to all of `decoded`, which has the size that [`decoded_size`] returned.
pub(crate) fn decode(stream: &[u8], decoded: &mut [u8]) -> CodecResult {
    let mut rest = stream;
    let mut at = 0;
    while let Some(part) = next_part(&mut rest)? {
        match part {
            Part::Literals(literals) => {
                decoded[at..at + literals.len()].copy_from_slice(literals);
                at += literals.len();
            }
            Part::Reference { distance, length } => {
                repeat(decoded, at, distance, length);
                at += length;
            }
        }
    }
    Ok(())
}

/// Copies `length` bytes from `distance` before `at` to `at`. The two may overlap.
fn repeat(decoded: &mut [u8], at: usize, distance: usize, length: usize) {
    if distance >= length {
        decoded.copy_within(at - distance..at - distance + length, at);
        return;
    }
    for place in at..at + length {
        decoded[place] = decoded[place - distance];
    }
}

/// Removes the first part from `rest`. Returns `None` at the end.
fn next_part<'s>(rest: &mut &'s [u8]) -> CodecResult<Option<Part<'s>>> {
    let Some(control) = next_byte(rest) else { return Ok(None) };
    let truncated = || CodecError::corrupt("the stream ends within a run or a reference");
    let control = usize::from(control);
    if control < MAX_RUN {
        let (literals, after) = rest.split_at_checked(control + 1).ok_or_else(truncated)?;
        *rest = after;
        return Ok(Some(Part::Literals(literals)));
    }
    let more = if control >> 5 == 7 { usize::from(next_byte(rest).ok_or_else(truncated)?) } else { 0 };
    let low = usize::from(next_byte(rest).ok_or_else(truncated)?);
    let distance = ((control & 0x1f) << 8 | low) + 1;
    Ok(Some(Part::Reference { distance, length: (control >> 5) + 2 + more }))
}

fn next_byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// Appends the stream of `decoded`.
pub(crate) fn encode(decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    // The last position of each group of bytes, plus one; 0 for a group that was not seen.
    let mut table = vec![0; 1 << TABLE_BITS];
    let mut written = 0;
    let mut at = 0;
    while let Some(group) = decoded[at..].first_chunk::<MIN_LENGTH>() {
        let entry = &mut table[place_in_table(*group)];
        let seen = std::mem::replace(entry, at + 1);
        let Some(length) = seen.checked_sub(1).and_then(|seen| matching(decoded, seen, at)) else {
            at += 1;
            continue;
        };
        put_literals(&decoded[written..at], encoded)?;
        put_reference(at + 1 - seen, length, encoded)?;
        at += length;
        written = at;
    }
    put_literals(&decoded[written..], encoded)
}

/// Returns the number of equal bytes at `seen` and at the later position `at`, if they can be a reference.
fn matching(decoded: &[u8], seen: usize, at: usize) -> Option<usize> {
    let later = &decoded[at..decoded.len().min(at + MAX_LENGTH)];
    let length = later.iter().zip(&decoded[seen..]).take_while(|(later, earlier)| later == earlier).count();
    (at - seen <= MAX_DISTANCE && length >= MIN_LENGTH).then_some(length)
}

fn place_in_table([first, second, third]: [u8; MIN_LENGTH]) -> usize {
    let group = u32::from_le_bytes([first, second, third, 0]);
    let hash = group.wrapping_mul(0x9e37_79b1) >> (u32::BITS - TABLE_BITS);
    usize::try_from(hash).unwrap_or(0)
}

fn put_literals(literals: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    for run in literals.chunks(MAX_RUN) {
        encoded.put(&[low_byte(run.len() - 1)])?;
        encoded.put(run)?;
    }
    Ok(())
}

/// Appends a reference of at least [`MIN_LENGTH`] bytes.
fn put_reference(distance: usize, length: usize, encoded: &mut Output<'_>) -> CodecResult {
    let distance = distance - 1;
    let length = length - 2;
    let high = low_byte(distance >> 8);
    if length < 7 {
        encoded.put(&[low_byte(length << 5) | high])?;
    } else {
        encoded.put(&[7 << 5 | high, low_byte(length - 7)])?;
    }
    encoded.put(&[low_byte(distance)])?;
    Ok(())
}

/// Returns the least significant byte of `number`.
fn low_byte(number: usize) -> u8 {
    number.to_le_bytes()[0]
}
