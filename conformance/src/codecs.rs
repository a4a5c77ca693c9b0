//! What every codec is held to.

use std::fmt::Write as _;

use zarr_spec::{ArrayRepresentation, Codec, CodecError, Output};

use crate::chains::StepByStep;

/// Encodes with whatever kind of codec it is. The values among them (permutations, byte order, shards) have no code
/// of their own to run.
///
/// # Errors
///
/// What the codec says; [`CodecError::Unsupported`] for a kind that computes nothing.
pub fn encode(codec: &Codec, array: &ArrayRepresentation, decoded: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut encoded = Output::at_most(usize::MAX);
    match codec {
        Codec::ArrayToArray(codec) => codec.encode(array, decoded, &mut encoded)?,
        Codec::ArrayToBytes(codec) => codec.encode(array, decoded, &mut encoded)?,
        Codec::Composite(codec) => codec.encode(array, decoded, &mut encoded, &mut StepByStep)?,
        Codec::BytesToBytes(codec) => codec.encode(decoded, &mut encoded)?,
        _ => return Err(CodecError::Unsupported("this kind of codec computes nothing".to_owned())),
    }
    Ok(encoded.into_written())
}

/// Decodes to at most `limit` bytes with whatever kind of codec it is.
///
/// # Errors
///
/// As [`encode`].
pub fn decode(
    codec: &Codec,
    array: &ArrayRepresentation,
    encoded: &[u8],
    limit: usize,
) -> Result<Vec<u8>, CodecError> {
    let mut decoded = Output::at_most(limit);
    match codec {
        Codec::ArrayToArray(codec) => codec.decode(array, encoded, &mut decoded)?,
        Codec::ArrayToBytes(codec) => codec.decode(array, encoded, &mut decoded)?,
        Codec::Composite(codec) => codec.decode(array, encoded, &mut decoded, &mut StepByStep)?,
        Codec::BytesToBytes(codec) => codec.decode(encoded, &mut decoded)?,
        _ => return Err(CodecError::Unsupported("this kind of codec computes nothing".to_owned())),
    }
    Ok(decoded.into_written())
}

/// What an array becomes.
///
/// # Panics
///
/// If the codec makes no array of it.
#[must_use]
pub fn encoded_side(codec: &Codec, decoded: &ArrayRepresentation) -> ArrayRepresentation {
    match codec {
        Codec::ArrayToArray(codec) => match codec.encoded(decoded) {
            Ok(encoded) => encoded,
            Err(error) => panic!("{error}"),
        },
        other => panic!("{other:?} makes no array"),
    }
}

/// Checks a codec that loses nothing on one chunk: what was encoded decodes to the same bytes, into a buffer and
/// into an exact destination, and refuses a destination that is one byte short; cutting or flipping the encoded
/// bytes never panics and never produces more than the limit.
///
/// # Errors
///
/// Everything that the codec got wrong, one line each.
pub fn check_lossless(codec: &Codec, array: &ArrayRepresentation, decoded: &[u8]) -> Result<(), String> {
    let mut wrong = String::new();
    let mut complain = |what: String| writeln!(wrong, "{what}").unwrap_or_default();
    let encoded = match encode(codec, array, decoded) {
        Ok(encoded) => encoded,
        Err(error) => return Err(format!("encoding {} bytes: {error}", decoded.len())),
    };
    match decode(codec, array, &encoded, decoded.len()) {
        Ok(again) if again == decoded => {}
        Ok(again) => complain(format!("{} bytes came back as {} other ones", decoded.len(), again.len())),
        Err(error) => complain(format!("decoding what was encoded: {error}")),
    }
    if let Some(short) = decoded.len().checked_sub(1) {
        match decode(codec, array, &encoded, short) {
            Err(_) => {}
            Ok(_) => complain(format!("{short} bytes of room were enough for {}", decoded.len())),
        }
    }
    for len in (0..encoded.len()).step_by(encoded.len() / 16 + 1) {
        if let Ok(bytes) = decode(codec, array, &encoded[..len], decoded.len())
            && bytes.len() > decoded.len()
        {
            complain(format!("cut to {len} bytes it decodes to {}", bytes.len()));
        }
    }
    for place in (0..encoded.len()).step_by(encoded.len() / 32 + 1) {
        let mut flipped = encoded.clone();
        flipped[place] ^= 0x55;
        if let Ok(bytes) = decode(codec, array, &flipped, decoded.len())
            && bytes.len() > decoded.len()
        {
            complain(format!("with byte {place} flipped it decodes to {}", bytes.len()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// Decodes `rounds` damaged variants of `encoded`: bytes changed, cut off, put in or repeated. Nothing may panic,
/// pass `limit`, or fail with anything but [`CodecError::Corrupt`] and [`CodecError::TooLarge`].
///
/// # Errors
///
/// The first variant that the codec got wrong.
pub fn check_damaged(
    codec: &Codec,
    array: &ArrayRepresentation,
    encoded: &[u8],
    limit: usize,
    rounds: u32,
) -> Result<(), String> {
    let mut random = Random::default();
    for round in 0..rounds {
        let mut damaged = encoded.to_vec();
        for _ in 0..=random.below(3) {
            random.damage(&mut damaged);
        }
        match decode(codec, array, &damaged, limit) {
            Ok(bytes) if bytes.len() <= limit => {}
            Err(CodecError::Corrupt(_) | CodecError::TooLarge(_)) => {}
            Ok(bytes) => {
                return Err(format!("round {round}: {} bytes of at most {limit} came out", bytes.len()));
            }
            Err(error) => return Err(format!("round {round}: {damaged:02x?} is called: {error:?}")),
        }
    }
    Ok(())
}

/// Xorshift: the same numbers in every run.
pub(crate) struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit.max(1)
    }

    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>) {
        let place = self.below(bytes.len());
        let byte = self.below(256).to_le_bytes()[0];
        match self.below(6) {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, byte),
            2 => {
                let end = bytes.len().min(place + self.below(16));
                bytes.extend_from_within(place.min(end)..end);
            }
            3 if !bytes.is_empty() => bytes[place] ^= 1 << (byte % 8),
            _ if !bytes.is_empty() => bytes[place] = byte,
            _ => bytes.push(byte),
        }
    }
}
