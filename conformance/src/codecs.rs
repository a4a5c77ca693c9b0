//! Checks that apply to every codec.

use std::fmt::Write as _;

use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation};

use crate::array;
use crate::chains::StepByStep;
use crate::linked::create;
use crate::types::Number;

/// Creates the linked codec `name` in strict mode, for chunks of a shape and a data type. The configuration is JSON
/// text; an empty string means no configuration.
///
/// # Errors
///
/// The error of the plugin.
///
/// # Panics
///
/// As [`create`].
pub fn created(
    format: Format,
    name: &str,
    configuration: &str,
    chunk: (&[u64], Number),
) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(array(chunk.0, chunk.1));
    create(format, name, configuration, Mode::Strict, &decoded).map(|created| created.codec)
}

/// Decodes a chunk of a shape and a data type to at most 1 MiB with the codec `name` of v3.
///
/// # Errors
///
/// As [`created`] and [`decode`].
///
/// # Panics
///
/// As [`create`].
pub fn decoded(
    name: &str,
    encoded: &[u8],
    configuration: &str,
    chunk: (&[u64], Number),
) -> Result<Vec<u8>, CodecError> {
    let codec = created(Format::V3, name, configuration, chunk)?;
    decode(&codec, &array(chunk.0, chunk.1), encoded, 1 << 20)
}

/// Encodes with a codec of any kind that computes something. Other kinds (permutations, byte order, shards) have no
/// code to run.
///
/// # Errors
///
/// The error of the codec; [`CodecError::Unsupported`] for a kind that computes nothing.
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

/// Decodes to at most `limit` bytes with a codec of any kind that computes something.
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

/// Returns the array that the codec produces from `decoded`.
///
/// # Panics
///
/// If the codec does not produce an array.
#[must_use]
pub fn encoded_side(codec: &Codec, decoded: &ArrayRepresentation) -> ArrayRepresentation {
    match codec {
        Codec::ArrayToArray(codec) => match codec.encoded(decoded) {
            Ok(encoded) => encoded,
            Err(error) => panic!("{error}"),
        },
        other => panic!("{other:?} does not produce an array"),
    }
}

/// Checks that a lossless codec decodes one encoded chunk to `decoded`, and that decoding fails if the output is one
/// byte too short. Truncated input and input with flipped bits must never cause a panic or output beyond the limit.
///
/// # Errors
///
/// All violations, one per line.
pub fn check_lossless(codec: &Codec, array: &ArrayRepresentation, decoded: &[u8]) -> Result<(), String> {
    let mut wrong = String::new();
    let mut complain = |what: String| writeln!(wrong, "{what}").unwrap_or_default();
    let encoded = match encode(codec, array, decoded) {
        Ok(encoded) => encoded,
        Err(error) => return Err(format!("encoding {} bytes: {error}", decoded.len())),
    };
    match decode(codec, array, &encoded, decoded.len()) {
        Ok(again) if again == decoded => {}
        Ok(again) => complain(format!("{} bytes decoded to {} different bytes", decoded.len(), again.len())),
        Err(error) => complain(format!("decoding the encoded bytes: {error}")),
    }
    if let Some(short) = decoded.len().checked_sub(1) {
        match decode(codec, array, &encoded, short) {
            Err(_) => {}
            Ok(_) => complain(format!("an output of {short} bytes was enough for {}", decoded.len())),
        }
    }
    for len in (0..encoded.len()).step_by(encoded.len() / 16 + 1) {
        if let Ok(bytes) = decode(codec, array, &encoded[..len], decoded.len())
            && bytes.len() > decoded.len()
        {
            complain(format!("truncated to {len} bytes, it decodes to {}", bytes.len()));
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

/// Decodes `rounds` damaged variants of `encoded`, with bytes changed, truncated, inserted or repeated. Decoding must
/// not panic, exceed `limit`, or fail with an error other than [`CodecError::Corrupt`] or [`CodecError::TooLarge`].
///
/// # Errors
///
/// The first variant that the codec handles incorrectly.
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
                return Err(format!(
                    "round {round}: {} bytes were decoded, although the limit is {limit}",
                    bytes.len()
                ));
            }
            Err(error) => return Err(format!("round {round}: {damaged:02x?} fails with {error:?}")),
        }
    }
    Ok(())
}

/// A pseudorandom generator (xorshift) that generates the same numbers in every run.
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
