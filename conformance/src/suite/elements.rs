//! Test elements for every data type, unusual ones first.

use zarr_spec::data_type::Kind;
use zarr_spec::{ArrayRepresentation, DataType, Elements, Mode};

use crate::items;

/// The elements of a whole array, in C order and native byte order.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// The special property of the elements.
    pub(super) label: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// Returns several ways to fill an array, or an empty list if the suite cannot generate elements of the type.
pub(super) fn samples(array: &ArrayRepresentation) -> Vec<Sample> {
    let Some(count) = array.element_count() else { return Vec::new() };
    let data_type = &*array.data_type;
    let Elements::Fixed { size, .. } = data_type.elements() else {
        return variable(data_type, count);
    };
    let kind = data_type.kind();
    let made = [
        ("the fill value", array.fill_value.bytes().repeat(count)),
        ("a ramp", numbered(count, size, kind, |number| number)),
        ("extremes", extremes(count, size, kind)),
        ("noise", noise(count * size)),
        ("all bits set", vec![0xff; count * size]),
    ];
    made.into_iter().filter_map(|(label, bytes)| settled(data_type, label, bytes)).collect()
}

/// Returns numbers of moderate size, for which a lossy codec must meet its error bound.
pub(super) fn moderate(array: &ArrayRepresentation) -> Option<Sample> {
    let count = array.element_count()?;
    let data_type = &*array.data_type;
    let size = data_type.elements().size()?;
    let bytes = numbered(count, size, data_type.kind(), |number| (number * 7 + 3) % 101);
    settled(data_type, "numbers from 0 to 100", bytes)
}

/// Settles the bytes, if they are elements of the type.
fn settled(data_type: &dyn DataType, label: &'static str, mut bytes: Vec<u8>) -> Option<Sample> {
    data_type.settle(&mut bytes, Mode::Lenient).ok()?;
    data_type.check(&bytes).ok()?;
    Some(Sample { label, bytes })
}

fn variable(data_type: &dyn DataType, count: usize) -> Vec<Sample> {
    let may_be = payloads(data_type);
    let of = |label, pick: &dyn Fn(usize) -> usize| {
        let chosen: Vec<&[u8]> = (0..count).map(|number| &*may_be[pick(number) % may_be.len()]).collect();
        Sample { label, bytes: items(&chosen) }
    };
    if may_be.is_empty() {
        return Vec::new();
    }
    vec![of("one repeated element", &|_| 0), of("elements of many lengths", &|number| number)]
}

/// Returns single elements of several sizes, if the type allows them.
pub(crate) fn payloads(data_type: &dyn DataType) -> Vec<Vec<u8>> {
    if let Some(there) = data_type.optional() {
        let there = payloads(&**there).into_iter().map(|element| [&[1][..], &element].concat());
        return [vec![]].into_iter().chain(there).collect();
    }
    if let Some(size) = data_type.elements().size() {
        let bytes = extremes(4, size, data_type.kind());
        let extremes = settled(data_type, "extremes", bytes).map_or_else(Vec::new, |sample| sample.bytes);
        return extremes.chunks(size.max(1)).map(<[u8]>::to_vec).collect();
    }
    let long = "long ".repeat(50);
    let texts = ["", "a", "null", "[1,\"é\"]", "{\"a\":1}", "日本語", "0", "\"\"", "true", &long];
    let elements = texts.iter().map(|text| text.as_bytes().to_vec());
    elements.filter(|element| data_type.check(element).is_ok()).collect()
}

/// Returns the payloads of `count` elements of variable size.
pub(super) fn pieces(bytes: &[u8], count: usize) -> Vec<Vec<u8>> {
    let (offsets, payload) = bytes.split_at((count + 1) * 8);
    let ends: Vec<usize> = offsets
        .as_chunks::<8>()
        .0
        .iter()
        .map(|offset| usize::try_from(u64::from_ne_bytes(*offset)).unwrap_or(usize::MAX))
        .collect();
    ends.windows(2).map(|pair| payload[pair[0]..pair[1]].to_vec()).collect()
}

/// Returns `value(0)`, `value(1)` and so on as numbers of a kind; as plain bits if the elements are not numbers.
fn numbered(count: usize, size: usize, kind: Option<Kind>, value: impl Fn(u32) -> u32) -> Vec<u8> {
    let numbers = (0..count).map(|number| value(u32::try_from(number).unwrap_or(u32::MAX)));
    numbers.flat_map(|number| element(f64::from(number), u64::from(number), size, kind)).collect()
}

fn element(float: f64, bits: u64, size: usize, kind: Option<Kind>) -> Vec<u8> {
    match (kind, size) {
        (Some(Kind::Float), 8) => float.to_ne_bytes().to_vec(),
        #[expect(clippy::cast_possible_truncation, reason = "rounding is intended")]
        (Some(Kind::Float), 4) => (float as f32).to_ne_bytes().to_vec(),
        (Some(Kind::Float), 2) => half::f16::from_f64(float).to_ne_bytes().to_vec(),
        // A bfloat16 is the upper half of a binary32.
        #[expect(clippy::cast_possible_truncation, reason = "rounding is intended")]
        (Some(Kind::BFloat), 2) => upper_half((float as f32).to_bits()),
        (Some(Kind::Complex), _) if size.is_multiple_of(2) => {
            let part = |float| element(float, bits, size / 2, Some(Kind::Float));
            [part(float), part(-float)].concat()
        }
        (Some(Kind::Bool), _) => vec![u8::from(bits & 1 == 1); size],
        _ => {
            let little = bits.to_le_bytes().into_iter().chain(std::iter::repeat(0)).take(size);
            let mut bytes: Vec<u8> = little.collect();
            if cfg!(target_endian = "big") {
                bytes.reverse();
            }
            bytes
        }
    }
}

fn upper_half(bits: u32) -> Vec<u8> {
    u16::try_from(bits >> 16).unwrap_or_default().to_ne_bytes().to_vec()
}

/// Returns extreme values and their neighbors: NaNs with payloads, both zeros, infinities, subnormal numbers.
fn extremes(count: usize, size: usize, kind: Option<Kind>) -> Vec<u8> {
    let patterns: Vec<Vec<u8>> = match (kind, size) {
        (Some(Kind::Float), 8) => [
            f64::from_bits(0x7ff8_0000_0000_0001),
            f64::from_bits(0xfff0_dead_beef_0001),
            -0.0,
            0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
        ]
        .map(|float| float.to_bits().to_ne_bytes().to_vec())
        .to_vec(),
        (Some(Kind::Float), 4) => {
            [0x7fc0_0001u32, 0xff80_beef, 0x8000_0000, 0, 0x7f80_0000, 0xff80_0000, 0x7f7f_ffff, 1]
                .map(|bits| bits.to_ne_bytes().to_vec())
                .to_vec()
        }
        (Some(Kind::Float), 2) => [0x7e01u16, 0xfc01, 0x8000, 0, 0x7c00, 0xfc00, 0x7bff, 1]
            .map(|bits| bits.to_ne_bytes().to_vec())
            .to_vec(),
        (Some(Kind::BFloat), 2) => [0x7fc1u16, 0xff81, 0x8000, 0, 0x7f80, 0xff80, 0x7f7f, 1]
            .map(|bits| bits.to_ne_bytes().to_vec())
            .to_vec(),
        (Some(Kind::Complex), _) if size.is_multiple_of(2) => {
            let parts = extremes(10, size / 2, Some(Kind::Float));
            parts.chunks(size / 2).zip(parts.chunks(size / 2).rev()).map(|(a, b)| [a, b].concat()).collect()
        }
        _ => {
            let highest = |first: u8, rest: u8| {
                let mut bytes = vec![rest; size];
                if let Some(last) =
                    if cfg!(target_endian = "big") { bytes.first_mut() } else { bytes.last_mut() }
                {
                    *last = first;
                }
                bytes
            };
            vec![highest(0x7f, 0xff), highest(0x80, 0), highest(0xff, 0xff), highest(0, 0), highest(0x80, 1)]
        }
    };
    patterns.iter().cycle().take(count).flatten().copied().collect()
}

/// Returns pseudorandom bytes (xorshift), the same in every run.
pub(super) fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{array, types};

    #[test]
    fn samples_fill_the_array_and_are_not_all_the_same() {
        for number in [types::UINT8, types::INT16, types::FLOAT32, types::FLOAT64, types::COMPLEX64] {
            let array = array(&[3, 5], number);
            let samples = samples(&array);
            assert_eq!(samples.len(), 5, "{number:?}");
            assert!(samples.iter().all(|sample| sample.bytes.len() == 15 * number.size()));
            assert_ne!(samples[1].bytes, samples[2].bytes);
        }
    }

    #[test]
    fn extremes_of_floats_keep_their_payloads() {
        let samples = samples(&array(&[10], types::FLOAT64));
        let extremes = &samples.iter().find(|sample| sample.label == "extremes").unwrap().bytes;
        assert_eq!(extremes[..8], 0x7ff8_0000_0000_0001_u64.to_ne_bytes());
        assert_eq!(extremes[16..24], (-0.0_f64).to_ne_bytes());
    }

    /// Codecs of booleans get only the bytes 0 and 1: another byte would decode as 1, which is not the codec's fault.
    #[test]
    fn samples_of_booleans_are_zero_or_one() {
        let samples = samples(&array(&[10], types::BOOL));
        assert_eq!(samples.len(), 5);
        assert!(samples.iter().all(|sample| sample.bytes.iter().all(|byte| *byte <= 1)), "{samples:?}");
    }

    #[test]
    fn arrays_without_elements_have_samples_without_bytes() {
        assert!(samples(&array(&[0, 4], types::INT32)).iter().all(|sample| sample.bytes.is_empty()));
    }
}
