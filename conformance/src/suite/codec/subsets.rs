//! The rule for codecs that decode subsets of an array.

use std::ops::Range;

use zarr_spec::codec::{DecodeSubset, EncodedRanges};
use zarr_spec::{ArrayRepresentation, ArraySubset, Codec, CodecError, Output};

use super::round_trips::same_bytes;
use super::{CodecOnTrial, CodecRule, Use, answer};
use crate::codecs::Random;
use crate::suite::attempt::{placement, record, shown};
use crate::suite::guarded::{Input, Memory};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[(
    Rule {
        id: "codec-subset",
        level: Level::L4,
        sentence: "Decoding a subset gives the same elements as decoding the whole array, from only the bytes that the \
                   codec requests, or an error if some of these bytes are missing.",
        source: "`zarr_spec::codec::DecodeSubset`",
        since: "0.1",
    },
    subset,
)];

/// The number of random subsets of each array.
const RANDOM_SUBSETS: usize = 8;

/// An encoded array, and its elements.
struct Encoded<'a> {
    codec: &'a dyn DecodeSubset,
    array: &'a ArrayRepresentation,
    bytes: &'a [u8],
    decoded: &'a [u8],
    element_size: usize,
}

fn subset(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        let codec = match &used.codec {
            Codec::ArrayToBytes(codec) => codec.subsets(),
            _ => None,
        };
        let Some((codec, element_size)) = codec.zip(used.array.data_type.elements().size()) else {
            cases.skip("the codec does not decode subsets of these elements");
            continue;
        };
        for sample in used.samples() {
            let Ok(bytes) = used.encoded(&sample) else { continue };
            let result = used.decoded(&bytes, usize::MAX).and_then(|decoded| {
                let array = &used.array;
                let encoded = Encoded { codec, array, bytes: &bytes, decoded: &decoded, element_size };
                encoded.check(&used)
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

impl Encoded<'_> {
    fn check(&self, used: &Use<'_>) -> Result<(), String> {
        for subset in subsets(&self.array.shape) {
            record(|| {
                format!("decoding {subset} of {} with {used}{}", shown(self.bytes), placement().note())
            });
            answer(|| Ok(self.check_subset(&subset).err().unwrap_or_default().into_bytes()))
                .and_then(|found| match found {
                    Ok(message) if message.is_empty() => Ok(()),
                    Ok(message) => Err(String::from_utf8_lossy(&message).into_owned()),
                    Err(error) => Err(error.to_string()),
                })
                .map_err(|what| format!("subset {subset}: {what}"))?;
        }
        Ok(())
    }

    fn check_subset(&self, subset: &ArraySubset) -> Result<(), String> {
        let size = self.bytes.len() as u64;
        let index = self.codec.index_range(self.array).map_err(|error| error.to_string())?;
        let index = self.slice(&index.map_or(0..0, |range| range.within(size)));
        let ranges = self.codec.ranges(self.array, subset, index).map_err(|error| error.to_string())?;
        let is_ascending = ranges.is_sorted_by(|one, next| one.end <= next.start);
        if !is_ascending || ranges.iter().any(|range| range.is_empty() || range.end > size) {
            return Err(format!(
                "requests {ranges:?} of {size} bytes, which are not ascending ranges of these"
            ));
        }
        let wanted = self.elements_of(subset);
        let decoded = self.decode(subset, index, &ranges, wanted.len())?;
        same_bytes(&decoded.map_err(|error| error.to_string())?, &wanted)?;
        let mut shorter = ranges;
        let Some(last) = shorter.last_mut() else { return Ok(()) };
        last.end -= 1;
        match self.decode(subset, index, &shorter, wanted.len())? {
            Err(CodecError::Corrupt(_)) => Ok(()),
            Err(error) => Err(format!("expected `Corrupt` if the last byte is missing, got {error:?}")),
            Ok(_) => Err("decoding succeeds without the last requested byte".to_owned()),
        }
    }

    /// Decodes a subset from only the bytes in `ranges`, after other bytes in the output. The outer error reports a
    /// violation of the contract.
    fn decode(
        &self,
        subset: &ArraySubset,
        index: &[u8],
        ranges: &[Range<u64>],
        size: usize,
    ) -> Result<Result<Vec<u8>, CodecError>, String> {
        let index = Input::of(index);
        let inputs: Vec<_> = ranges.iter().map(|range| (range.start, Input::of(self.slice(range)))).collect();
        let parts = inputs.iter().map(|(offset, bytes)| (*offset, &**bytes)).collect();
        let mut memory = Memory::of(size + 3, 0);
        let mut output = Output::to(&mut memory);
        output.put(&[0xa5; 3]).map_err(|error| error.to_string())?;
        let encoded = EncodedRanges::new(&index, parts);
        if let Err(error) = self.codec.decode_subset(self.array, subset, &encoded, &mut output) {
            return Ok(Err(error));
        }
        let written = output.written().len() - 3;
        same_bytes(&memory[..3], &[0xa5; 3])?;
        match written == size {
            true => Ok(Ok(memory[3..3 + size].to_vec())),
            false => Err(format!("{written} bytes were written instead of {size}")),
        }
    }

    fn slice(&self, range: &Range<u64>) -> &[u8] {
        let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        self.bytes.get(place(range.start)..place(range.end)).unwrap_or_default()
    }

    /// Returns the elements of a subset in C order, one by one.
    fn elements_of(&self, subset: &ArraySubset) -> Vec<u8> {
        let elements = self.decoded.chunks(self.element_size.max(1)).enumerate();
        let is_inside = |number: usize| {
            let mut rest = number as u64;
            let dimensions = self.array.shape.iter().zip(subset.ranges()).rev();
            dimensions.fold(true, |is_inside, (length, range)| {
                let position = rest % length;
                rest /= length;
                is_inside && range.contains(&position)
            })
        };
        elements.filter(|(number, _)| is_inside(*number)).flat_map(|(_, element)| element).copied().collect()
    }
}

/// Returns the whole array, single elements at its ends, and random boxes.
fn subsets(shape: &[u64]) -> Vec<ArraySubset> {
    let mut random = Random::default();
    let first = shape.iter().map(|_| 0..1).collect();
    let last = shape.iter().map(|&length| length - 1..length).collect();
    let mut subsets = vec![ArraySubset::whole(shape), ArraySubset::new(first), ArraySubset::new(last)];
    for _ in 0..RANDOM_SUBSETS {
        let mut below = |limit: u64| random.below(usize::try_from(limit).unwrap_or(usize::MAX)) as u64;
        let mut range = |&length: &u64| {
            let start = below(length);
            start..start + 1 + below(length - start)
        };
        subsets.push(ArraySubset::new(shape.iter().map(&mut range).collect()));
    }
    subsets
}
