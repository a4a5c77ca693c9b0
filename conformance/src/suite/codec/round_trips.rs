//! The rules about round trips and about the loss that examples declare.

use zarr_plugin_kit::numbers::{AnyNumber, Number, Operand, cast_each};
use zarr_spec::Loss;

use super::{CodecOnTrial, CodecRule, DECODES_ONLY, Use};
use crate::suite::elements::{Sample, moderate};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[
    (
        Rule {
            id: "codec-round-trip",
            level: Level::L1,
            sentence: "Losslessly encoded elements decode to the same bits, including NaN payloads and negative zeros.",
            source: "D3-CODEC-04",
            since: "0.1",
        },
        round_trip,
    ),
    (
        Rule {
            id: "codec-loss",
            level: Level::L1,
            sentence: "The loss of every element is within the bound that the example declares.",
            source: "`zarr_spec::Loss`",
            since: "0.1",
        },
        loss,
    ),
    (
        Rule {
            id: "codec-loses-once",
            level: Level::L1,
            sentence: "Encoding and decoding the output of a lossy codec again does not change it.",
            source: "`zarr_spec::Loss`",
            since: "0.1",
        },
        loses_once,
    ),
];

fn round_trip(trial: &CodecOnTrial, cases: &mut Cases) {
    if trial.decodes_only() {
        cases.skip(DECODES_ONLY);
        return;
    }
    for used in trial.computing(cases) {
        if !used.loses_nothing() {
            cases.skip("the examples are lossy");
            continue;
        }
        for sample in used.samples() {
            let result = used.encoded(&sample).and_then(|encoded| {
                let decoded = used.decoded(&encoded, sample.bytes.len())?;
                same_bytes(&decoded, &sample.bytes)
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

/// Compares bytes and reports the first difference.
pub(super) fn same_bytes(is: &[u8], wanted: &[u8]) -> Result<(), String> {
    if is == wanted {
        return Ok(());
    }
    if is.len() != wanted.len() {
        return Err(format!("{} bytes decoded to {} bytes", wanted.len(), is.len()));
    }
    let place = is.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or_default();
    Err(format!("byte {place} is {:#04x}, expected {:#04x}", is[place], wanted[place]))
}

fn loss(trial: &CodecOnTrial, cases: &mut Cases) {
    if trial.decodes_only() {
        cases.skip(DECODES_ONLY);
        return;
    }
    for used in trial.computing(cases) {
        let (bound, is_relative) = match used.example.loss {
            Loss::Absolute(bound) => (bound, false),
            Loss::Relative(bound) => (bound, true),
            Loss::Nothing | Loss::Unbounded => {
                cases.skip("the examples do not declare a bound of loss");
                continue;
            }
        };
        let Some(sample) = moderate(&used.array) else { continue };
        let result = back_twice(&used, &sample).and_then(|(decoded, _)| {
            near(
                &used,
                &sample.bytes,
                &decoded,
                |before| if is_relative { bound * before.abs() } else { bound },
            )
        });
        cases.check(format!("{used}, {}", sample.label), result);
    }
}

/// Checks that each number differs from the wanted number `x` by at most `bound(x)`.
pub(super) fn near(
    used: &Use<'_>,
    wanted: &[u8],
    decoded: &[u8],
    bound: impl Fn(f64) -> f64,
) -> Result<(), String> {
    let before = reals(used, wanted)?;
    let after = reals(used, decoded)?;
    if before.len() != after.len() {
        return Err(format!("{} numbers decoded to {}", before.len(), after.len()));
    }
    for (number, (before, after)) in before.iter().zip(&after).enumerate() {
        let is_near = (before - after).abs() <= bound(*before);
        if !is_near {
            return Err(format!("number {number} changed from {before} to {after}"));
        }
    }
    Ok(())
}

fn loses_once(trial: &CodecOnTrial, cases: &mut Cases) {
    if trial.decodes_only() {
        cases.skip(DECODES_ONLY);
        return;
    }
    for used in trial.computing(cases) {
        if used.loses_nothing() {
            cases.skip("the examples are lossless");
            continue;
        }
        let Some(sample) = moderate(&used.array) else { continue };
        let result = back_twice(&used, &sample).and_then(|(once, twice)| same_bytes(&twice, &once));
        cases.check(format!("{used}, {}", sample.label), result);
    }
}

/// Returns the elements after one round trip and after two.
fn back_twice(used: &Use<'_>, sample: &Sample) -> Result<(Vec<u8>, Vec<u8>), String> {
    let size = sample.bytes.len();
    let once = used.decoded(&used.encoded(sample)?, size)?;
    let again = Sample { label: "the decoded elements", bytes: once.clone() };
    let twice = used.decoded(&used.encoded(&again)?, size)?;
    Ok((once, twice))
}

/// Returns the elements as real numbers, both parts for complex numbers.
fn reals(used: &Use<'_>, bytes: &[u8]) -> Result<Vec<f64>, String> {
    let data_type = &*used.array.data_type;
    let unknown = || format!("the suite cannot convert data type {} to numbers", data_type.name());
    let (AnyNumber::Number(number) | AnyNumber::Narrow(number, _)) =
        <AnyNumber as Operand>::of(data_type).ok_or_else(unknown)?
    else {
        let (elements, _none) = bytes.as_chunks::<2>();
        // A bfloat16 is the upper half of the bits of a binary32.
        let widened = elements.iter().map(|element| u32::from(u16::from_ne_bytes(*element)) << 16);
        return Ok(widened.map(|bits| f64::from(f32::from_bits(bits))).collect());
    };
    let mut complex = vec![0; bytes.len() / number.size() * Number::C128.size()];
    cast_each((number, bytes), (Number::C128, &mut complex));
    let (parts, _none) = complex.as_chunks::<8>();
    Ok(parts.iter().map(|part| f64::from_ne_bytes(*part)).collect())
}
