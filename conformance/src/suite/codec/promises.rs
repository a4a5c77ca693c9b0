//! The rules that the engine's speed depends on.

use std::ops::Range;

use zarr_spec::codec::{BytesToBytesCodec, InParts, PartSource, PartTarget};
use zarr_spec::host::chain::inner_grid_shape;
use zarr_spec::{Codec, CodecError, LimitExceeded, Output, Size};

use super::robustness::{PLACES, largest};
use super::round_trips::same_bytes;
use super::{CodecOnTrial, CodecRule, Use, answer};
use crate::codecs::Random;
use crate::suite::attempt::{placement, record, shown};
use crate::suite::guarded::{Input, Memory};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[
    (
        Rule {
            id: "codec-value",
            level: Level::L1,
            sentence: "A permutation contains every dimension once, and inner chunks divide their shard evenly.",
            source: "`zarr_spec::Codec::Permutation`, `zarr_spec::codec::Shard::inner_shape`",
            since: "0.1",
        },
        value,
    ),
    (
        Rule {
            id: "codec-exact-destination",
            level: Level::L4,
            sentence: "Decoding into memory of exactly the chunk's size gives the same bytes as decoding into a growing buffer, \
                       and does not change the memory before and after it.",
            source: "`zarr_spec::Output`",
            since: "0.1",
        },
        exact_destination,
    ),
    (
        Rule {
            id: "codec-size",
            level: Level::L4,
            sentence: "The size of the encoded bytes matches the declared size, or does not exceed the declared maximum.",
            source: "`BytesToBytesCodec::encoded_size`; V3-SHARD-06",
            since: "0.1",
        },
        size,
    ),
    (
        Rule {
            id: "codec-range",
            level: Level::L4,
            sentence: "Decoding a range gives the same bytes as decoding the whole chunk, or an error if the input is \
                       truncated or the range is out of bounds.",
            source: "`BytesToBytesCodec::decode_range`",
            since: "0.1",
        },
        range,
    ),
    (
        Rule {
            id: "codec-parts",
            level: Level::L4,
            sentence: "Encoding and decoding in parts gives the same bytes as in one call, and the same inputs are errors.",
            source: "`zarr_spec::codec::InParts`",
            since: "0.1",
        },
        parts,
    ),
];

fn value(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.uses(cases) {
        match &used.codec {
            Codec::Permutation(order) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                let is_one = sorted.into_iter().eq(0..used.array.shape.len());
                cases.holds(&used, is_one, || format!("{order:?} is not a permutation of its dimensions"));
            }
            Codec::Shard(shard) => {
                let divided = inner_grid_shape(&used.array.shape, &shard.inner_shape);
                cases.check(&used, divided.map(drop).map_err(|error| error.to_string()));
            }
            _ => cases.skip("the codec computes something"),
        }
    }
}

/// The number of bytes after the output memory, which reveal whether code in C writes past the end. A guard page
/// replaces them.
const BEHIND: usize = 64;

fn exact_destination(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        for sample in used.samples() {
            let Ok(encoded) = used.encoded(&sample) else { continue };
            let result = used.decoded(&encoded, sample.bytes.len()).and_then(|grown| {
                // Simulates a chunk that lies between others in one output.
                let end = grown.len() + 3;
                let input = Input::of(&encoded);
                let mut memory = Memory::of(end, BEHIND);
                used.record("decoding into memory of the exact size", &encoded);
                let mut output = Output::to(&mut memory[..end]);
                output.put(&[0xa5; 3]).map_err(|error| error.to_string())?;
                used.decode_to(&input, &mut output).map_err(|error| error.to_string())?;
                let rest = output.remaining();
                if rest > 0 {
                    return Err(format!("{rest} bytes were not written"));
                }
                if memory[end..].iter().any(|byte| *byte != 0xa5) {
                    return Err("bytes after the output memory have changed".to_owned());
                }
                same_bytes(&memory[..3], &[0xa5; 3])?;
                same_bytes(&memory[3..end], &grown)
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

fn size(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        let promised = match used.promised() {
            Ok(promised) => promised,
            Err(error) => {
                cases.check(&used, Err(error.to_string()));
                continue;
            }
        };
        if promised == Size::Unknown {
            cases.skip("the size depends on the elements");
            continue;
        }
        for sample in used.samples() {
            let Ok(encoded) = used.encoded(&sample) else { continue };
            let is = encoded.len() as u64;
            let holds = match promised {
                Size::Exact(size) => is == size,
                Size::AtMost(size) => is <= size,
                Size::Unknown => continue,
            };
            cases.holds(format!("{used}, {}", sample.label), holds, || {
                format!("encoded to {is} bytes, but declared {promised:?}")
            });
        }
    }
}

fn range(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        let Codec::BytesToBytes(codec) = &used.codec else {
            cases.skip("only bytes-to-bytes codecs decode ranges");
            continue;
        };
        for sample in used.samples() {
            let Ok(encoded) = used.encoded(&sample) else { continue };
            let result = used.decoded(&encoded, usize::MAX).and_then(|whole| {
                ranges(whole.len()).into_iter().try_for_each(|range| {
                    right_in(&**codec, &encoded, &whole, &range)
                        .map_err(|what| format!("bytes {range:?} of {}: {what}", whole.len()))
                })
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

fn parts(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in largest(trial, cases) {
        let in_parts = match &used.codec {
            Codec::BytesToBytes(codec) => codec.in_parts(),
            _ => None,
        };
        let Some(codec) = in_parts else {
            cases.skip("the codec does not work in parts");
            continue;
        };
        for sample in used.samples() {
            let Ok(encoded) = used.encoded(&sample) else { continue };
            let same = same_in_parts(codec, &encoded, &sample.bytes)
                .and_then(|()| same_of_damaged(&used, codec, &encoded, sample.bytes.len()));
            cases.check(format!("{used}, {}", sample.label), same);
        }
    }
}

/// Checks that encoding in parts and decoding in parts give the same bytes as one call, if the codec declares part
/// sizes.
pub(super) fn same_in_parts(codec: &dyn InParts, encoded: &[u8], whole: &[u8]) -> Result<(), String> {
    if let Some(part) = codec.part_size(whole.len()) {
        let mut output = Output::at_most(usize::MAX);
        let done = codec.encode_parts(&mut Divided { bytes: whole, part }, &mut output);
        done.map_err(|error| format!("encoding in parts: {error}"))?;
        same_bytes(output.written(), encoded)?;
    }
    if let Some(decoded) = decoded_in_parts(codec, encoded, whole.len()) {
        same_bytes(&decoded.map_err(|error| format!("decoding in parts: {error}"))?, whole)?;
    }
    Ok(())
}

/// Decodes a chunk of `size` bytes in parts, if the codec supports that for these bytes. Parts larger than the chunk
/// are never used.
pub(super) fn decoded_in_parts(
    codec: &dyn InParts,
    encoded: &[u8],
    size: usize,
) -> Option<Result<Vec<u8>, CodecError>> {
    let part = codec.decoded_part_size(encoded).filter(|part| (1..=size).contains(part))?;
    let mut gathered = Gathered { size, part, written: Vec::new() };
    Some(codec.decode_parts(encoded, &mut gathered).map(|()| gathered.written))
}

/// Checks that damaged or truncated bytes decode to the same result in parts and in one call. `size` is the size of
/// the elements in bytes.
fn same_of_damaged(used: &Use<'_>, codec: &dyn InParts, encoded: &[u8], size: usize) -> Result<(), String> {
    let mut random = Random::default();
    (0..PLACES).try_for_each(|round| {
        let mut bytes = encoded.to_vec();
        match round % 4 {
            0 => bytes.truncate(encoded.len() * round / PLACES),
            // Flips a bit near the start, where a header may determine how the rest is decoded.
            1 => bytes.iter_mut().skip(round / 2).take(1).for_each(|byte| *byte ^= 1 << (round / 4)),
            times => (0..times).for_each(|_| random.damage(&mut bytes)),
        }
        let mut is_in_parts = true;
        let in_parts = answer(|| {
            let decoded = decoded_in_parts(codec, &bytes, size);
            is_in_parts = decoded.is_some();
            decoded.unwrap_or_else(|| Ok(Vec::new()))
        })?;
        if !is_in_parts {
            return Ok(());
        }
        let all = |decoded: Result<Vec<u8>, _>| decoded.ok().filter(|decoded| decoded.len() == size);
        match (all(used.decode(&bytes, size)?), all(in_parts)) {
            (Some(at_once), Some(in_parts)) => same_bytes(&in_parts, &at_once),
            (None, None) => Ok(()),
            (None, Some(_)) => Err("decoding in one call fails, but in parts succeeds".to_owned()),
            (Some(_), None) => Err("decoding in one call succeeds, but in parts fails".to_owned()),
        }
        .map_err(|what| format!("decoding in parts, damaged in round {round}: {what}"))
    })
}

/// A source of parts of a fixed size.
struct Divided<'a> {
    bytes: &'a [u8],
    part: usize,
}

impl PartSource for Divided<'_> {
    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn read(&mut self, start: usize, part: &mut [u8]) -> Result<(), CodecError> {
        if !is_part(self.part, start, part.len(), self.bytes.len()) {
            return Err(CodecError::encode(no_part(self.part, start, part.len())));
        }
        part.copy_from_slice(&self.bytes[start..start + part.len()]);
        Ok(())
    }
}

/// A target for a chunk of `size` bytes in parts of a fixed size.
struct Gathered {
    size: usize,
    part: usize,
    written: Vec<u8>,
}

impl PartTarget for Gathered {
    fn write(&mut self, part: &[u8]) -> Result<(), CodecError> {
        let start = self.written.len();
        if part.len() > self.size - start {
            return Err(CodecError::TooLarge(LimitExceeded { limit: self.size }));
        }
        if !is_part(self.part, start, part.len(), self.size) {
            return Err(CodecError::corrupt(no_part(self.part, start, part.len())));
        }
        self.written.extend_from_slice(part);
        Ok(())
    }
}

/// Checks whether the `size` bytes from `start` on are one of the parts of `part` bytes that make up `all` bytes.
fn is_part(part: usize, start: usize, size: usize, all: usize) -> bool {
    let rest = all.saturating_sub(start);
    start.checked_rem(part) == Some(0) && size == part.min(rest)
}

fn no_part(part: usize, start: usize, size: usize) -> String {
    format!("{size} bytes at offset {start} are not a part of {part} bytes")
}

/// Returns ranges that are empty, whole, at the start, at the end and in the middle.
fn ranges(size: usize) -> Vec<Range<usize>> {
    let places = [0, 1, size / 8, size / 3, size / 2, size - size / 8, size.saturating_sub(1), size];
    let all = places.iter().flat_map(|&start| places.map(|end| start..end));
    all.filter(|range| range.start <= range.end && range.end <= size).collect()
}

/// Checks that a range decodes to the same range of `whole` after other bytes in the output, that truncated input does
/// not decode to wrong bytes, and that a range past the end is an error.
fn right_in(
    codec: &dyn BytesToBytesCodec,
    encoded: &[u8],
    whole: &[u8],
    range: &Range<usize>,
) -> Result<(), String> {
    let part = decoded_in(codec, encoded, range.clone(), whole.len())?;
    same_bytes(&part.map_err(|error| error.to_string())?, &whole[range.clone()])?;
    let past = range.start..whole.len() + 1;
    if !matches!(decoded_in(codec, encoded, past, whole.len())?, Err(CodecError::Corrupt(_))) {
        return Err("a range one byte past the end is not reported as corrupt".to_owned());
    }
    for cut in [0, encoded.len() / 3, encoded.len() / 2, encoded.len().saturating_sub(1)] {
        let cut = &encoded[..cut];
        let Ok(part) = decoded_in(codec, cut, range.clone(), whole.len())? else { continue };
        // If the format has no end marker, truncated input is valid.
        let mut shorter = Output::at_most(whole.len());
        let shorter = codec.decode(cut, &mut shorter).is_ok().then(|| shorter.into_written());
        let is_of_shorter = shorter.is_some_and(|shorter| shorter.get(range.clone()) == Some(&part[..]));
        if part != whole[range.clone()] && !is_of_shorter {
            return Err(format!(
                "truncated to {} of {} bytes, decoding succeeds with wrong bytes",
                cut.len(),
                encoded.len()
            ));
        }
    }
    Ok(())
}

/// Decodes a range after other bytes in the output. The outer error reports a violation of the contract.
fn decoded_in(
    codec: &dyn BytesToBytesCodec,
    encoded: &[u8],
    range: Range<usize>,
    size: usize,
) -> Result<Result<Vec<u8>, CodecError>, String> {
    record(|| format!("decoding the range {range:?} of {}{}", shown(encoded), placement().note()));
    let input = Input::of(encoded);
    let mut memory = Memory::of(size + 3, 0);
    let mut output = Output::to(&mut memory);
    output.put(&[0xa5; 3]).map_err(|error| error.to_string())?;
    if let Err(error) = codec.decode_range(&input, range.clone(), &mut output) {
        return Ok(Err(error));
    }
    let written = output.written().len() - 3;
    same_bytes(&memory[..3], &[0xa5; 3])?;
    let part = memory[3..3 + written].get(range);
    part.map(|part| Ok(part.to_vec())).ok_or_else(|| format!("only {written} bytes were written"))
}
