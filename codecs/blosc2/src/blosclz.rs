//! Streams of BloscLZ, a variant of FastLZ.
//!
//! A stream is a sequence of literals and references. Each begins with a control byte; the first one is of literals.
//!
//! A control byte `n` below 32 is followed by `n + 1` literals.
//!
//! Other control bytes begin a reference. Their upper 3 bits are the length minus 2. If these are 7, the next byte is
//! added to the length, and further bytes as long as the one before is 255. The lower 5 bits and the byte that follows
//! are the distance minus 1. If all 13 bits are set, two more bytes are the distance minus 8192.

/// The largest distance of the short form, in bytes.
const FAR: usize = 8192;

/// Decodes `stream` to `decoded`. Returns the decoded size, or `None` if the stream is not valid.
pub(crate) fn decompress(stream: &[u8], decoded: &mut [u8]) -> Option<usize> {
    let mut rest = stream;
    let mut at = 0;
    let mut control = usize::from(next(&mut rest)? & 31);
    loop {
        if control < 32 {
            let (literals, after) = rest.split_at_checked(control + 1)?;
            decoded.get_mut(at..at + literals.len())?.copy_from_slice(literals);
            at += literals.len();
            rest = after;
        } else {
            let (distance, length) = reference(control, &mut rest)?;
            let from = at.checked_sub(distance)?;
            let end = at.checked_add(length).filter(|&end| end <= decoded.len())?;
            if distance >= length {
                decoded.copy_within(from..from + length, at);
            } else {
                (at..end).for_each(|place| decoded[place] = decoded[place - distance]);
            }
            at = end;
        }
        match next(&mut rest) {
            Some(byte) => control = byte.into(),
            None => return Some(at),
        }
    }
}

/// Reads the rest of a reference: its distance and its length.
fn reference(control: usize, rest: &mut &[u8]) -> Option<(usize, usize)> {
    let mut length = (control >> 5) + 2;
    if control >> 5 == 7 {
        loop {
            let more = next(rest)?;
            length = length.checked_add(more.into())?;
            if more != 255 {
                break;
            }
        }
    }
    let high = control & 31;
    let low = usize::from(next(rest)?);
    if high == 31 && low == 255 {
        let (far, after) = rest.split_first_chunk::<2>()?;
        *rest = after;
        return Some((usize::from(u16::from_be_bytes(*far)) + FAR, length));
    }
    Some(((high << 8 | low) + 1, length))
}

fn next(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}
