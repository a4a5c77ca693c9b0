//! Streams of PackBits: literals, and runs of one byte.
//!
//! A byte `n` from 0 to 127 is followed by `n + 1` literals. After a byte `n` from 129 to 255, the next byte is
//! repeated `257 − n` times. The byte 128 has no meaning.

use zarr_spec::{CodecError, CodecResult, Output};

/// Maximum number of literals, and of repetitions.
const MAX_RUN: usize = 128;

/// A part of a stream.
enum Part<'s> {
    Literals(&'s [u8]),
    Run { byte: u8, count: usize },
}

impl Part<'_> {
    fn size(&self) -> usize {
        match self {
            Self::Literals(literals) => literals.len(),
            Self::Run { count, .. } => *count,
        }
    }
}

/// Returns the number of bytes that `stream` decodes to.
pub(crate) fn decoded_size(stream: &[u8]) -> CodecResult<usize> {
    let mut rest = stream;
    let mut size = 0;
    while let Some(part) = next_part(&mut rest)? {
        size += part.size();
    }
    Ok(size)
}

/// Decodes `stream` to all of `decoded`, which has the size that [`decoded_size`] returned.
pub(crate) fn decode(stream: &[u8], decoded: &mut [u8]) -> CodecResult {
    let mut rest = stream;
    let mut at = 0;
    while let Some(part) = next_part(&mut rest)? {
        let target = &mut decoded[at..at + part.size()];
        at += target.len();
        match part {
            Part::Literals(literals) => target.copy_from_slice(literals),
            Part::Run { byte, .. } => target.fill(byte),
        }
    }
    Ok(())
}

/// Removes the first part from `rest`. Returns `None` at the end.
fn next_part<'s>(rest: &mut &'s [u8]) -> CodecResult<Option<Part<'s>>> {
    let truncated = || CodecError::corrupt("the stream ends within a run");
    loop {
        let Some((&control, after)) = rest.split_first() else { return Ok(None) };
        *rest = after;
        let control = usize::from(control);
        if control < MAX_RUN {
            let (literals, after) = rest.split_at_checked(control + 1).ok_or_else(truncated)?;
            *rest = after;
            return Ok(Some(Part::Literals(literals)));
        }
        if control > MAX_RUN {
            let (&byte, after) = rest.split_first().ok_or_else(truncated)?;
            *rest = after;
            return Ok(Some(Part::Run { byte, count: 257 - control }));
        }
    }
}

/// Appends the stream of `decoded`.
pub(crate) fn encode(decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    let mut rest = decoded;
    while let Some(&byte) = rest.first() {
        let count = run_length(rest, byte);
        // Two equal bytes are a run only if no literals precede them. Otherwise, ending the literals would cost the
        // byte that the run saves.
        if count > 1 {
            encoded.put(&[low_byte(257 - count), byte])?;
            rest = &rest[count..];
            continue;
        }
        let (literals, after) = rest.split_at(next_run(rest));
        put_literals(literals, encoded)?;
        rest = after;
    }
    Ok(())
}

/// Returns the number of bytes at the start of `bytes` that equal `byte`, and at most [`MAX_RUN`].
fn run_length(bytes: &[u8], byte: u8) -> usize {
    let bytes = &bytes[..bytes.len().min(MAX_RUN)];
    let groups = bytes.as_chunks().0.iter().take_while(|group| **group == [byte; 8]).count();
    let count = 8 * groups;
    count + bytes[count..].iter().take_while(|&&other| other == byte).count()
}

/// Returns the position of the first three equal bytes, or the number of bytes if there are none.
fn next_run(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(group) = bytes[at..].first_chunk::<10>() {
        let [first, second, third] =
            [0, 1, 2].map(|from| group[from..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)));
        if let Some(place) = lowest_zero((first ^ second) | (first ^ third)) {
            return at + place;
        }
        at += 8;
    }
    let run = bytes[at..].windows(3).position(|bytes| bytes[0] == bytes[1] && bytes[0] == bytes[2]);
    run.map_or(bytes.len(), |place| at + place)
}

/// Returns the position of the lowest byte of `number` that is 0.
fn lowest_zero(number: u64) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // Bytes above the lowest zero may be marked without being zero, but not bytes below it.
    let marks = number.wrapping_sub(ONES) & !number & (ONES << 7);
    (marks != 0).then_some(marks.trailing_zeros() as usize / 8)
}

fn put_literals(literals: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    for literals in literals.chunks(MAX_RUN) {
        encoded.put(&[low_byte(literals.len() - 1)])?;
        encoded.put(literals)?;
    }
    Ok(())
}

/// Returns the least significant byte of `number`.
fn low_byte(number: usize) -> u8 {
    number.to_le_bytes()[0]
}
