//! Streams of PackBits: literals, and runs of one byte.
//!
//! A byte `n` from 0 to 127 is followed by `n + 1` literals. After a byte `n` from 129 to 255, the next byte is
//! repeated `257 − n` times. The byte 128 has no meaning.

use zarr_spec::{CodecError, CodecResult, Output};

/// Maximum number of literals, and of repetitions.
const MAX_RUN: usize = 128;

/// Number of equal bytes that end literals. Ending the literals for a shorter run would not save a byte.
const MIN_RUN: usize = 3;

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
    let mut literals = 0;
    while let Some(&byte) = rest.get(literals) {
        let count = rest[literals..].iter().take(MAX_RUN).take_while(|&&other| other == byte).count();
        // Two equal bytes are a run only if no literals precede them. Otherwise, ending the literals would cost
        // the byte that the run saves.
        if count < MIN_RUN && (count < 2 || literals > 0) {
            literals += count;
            continue;
        }
        put_literals(&rest[..literals], encoded)?;
        encoded.put(&[low_byte(257 - count), byte])?;
        rest = &rest[literals + count..];
        literals = 0;
    }
    put_literals(rest, encoded)
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
