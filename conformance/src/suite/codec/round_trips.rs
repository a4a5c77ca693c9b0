//! What goes in comes out, or as much of it as the example says.

use zarr_plugin_kit::numbers::{AnyNumber, Number, Operand, cast_each};
use zarr_spec::Loss;

use super::{CodecOnTrial, CodecRule, Use};
use crate::suite::elements::{Sample, moderate, samples};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[
    (
        Rule {
            id: "codec-round-trip",
            level: Level::L1,
            sentence: "What was encoded without loss decodes to the same bits, NaN payloads and negative zeros \
                       included.",
            source: "D3-CODEC-04",
            since: "0.1",
        },
        round_trip,
    ),
    (
        Rule {
            id: "codec-loss",
            level: Level::L1,
            sentence: "What an example says about loss is true: no element comes back farther off.",
            source: "`zarr_spec::Loss`",
            since: "0.1",
        },
        loss,
    ),
    (
        Rule {
            id: "codec-loses-once",
            level: Level::L1,
            sentence: "What came back from a lossy codec comes back the same from then on.",
            source: "`zarr_spec::Loss`",
            since: "0.1",
        },
        loses_once,
    ),
];

fn round_trip(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        if !used.loses_nothing() {
            cases.skip("the examples are lossy");
            continue;
        }
        for sample in samples(&used.array) {
            let result = used.encoded(&sample).and_then(|encoded| {
                let decoded = used.decoded(&encoded, sample.bytes.len())?;
                same_bytes(&decoded, &sample.bytes)
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

/// Says where bytes differ.
pub(super) fn same_bytes(is: &[u8], wanted: &[u8]) -> Result<(), String> {
    if is == wanted {
        return Ok(());
    }
    if is.len() != wanted.len() {
        return Err(format!("{} bytes came back as {}", wanted.len(), is.len()));
    }
    let place = is.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or_default();
    Err(format!("byte {place} is {:#04x} and was {:#04x}", is[place], wanted[place]))
}

fn loss(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        let (bound, is_relative) = match used.example.loss {
            Loss::Absolute(bound) => (bound, false),
            Loss::Relative(bound) => (bound, true),
            Loss::Nothing | Loss::Unbounded => {
                cases.skip("the examples have no bound of loss");
                continue;
            }
        };
        let Some(sample) = moderate(&used.array) else { continue };
        let result = back_twice(&used, &sample).and_then(|(decoded, _)| {
            let before = reals(&used, &sample.bytes)?;
            let after = reals(&used, &decoded)?;
            if before.len() != after.len() {
                return Err(format!("{} numbers came back as {}", before.len(), after.len()));
            }
            for (number, (before, after)) in before.iter().zip(&after).enumerate() {
                let may = if is_relative { bound * before.abs() } else { bound };
                let is_near = (before - after).abs() <= may;
                if !is_near {
                    return Err(format!("number {number} was {before} and came back as {after}"));
                }
            }
            Ok(())
        });
        cases.check(format!("{used}, {}", sample.label), result);
    }
}

fn loses_once(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        if used.loses_nothing() {
            cases.skip("the examples lose nothing");
            continue;
        }
        let Some(sample) = moderate(&used.array) else { continue };
        let result = back_twice(&used, &sample).and_then(|(once, twice)| same_bytes(&twice, &once));
        cases.check(format!("{used}, {}", sample.label), result);
    }
}

/// What comes back, and what comes back of that.
fn back_twice(used: &Use<'_>, sample: &Sample) -> Result<(Vec<u8>, Vec<u8>), String> {
    let size = sample.bytes.len();
    let once = used.decoded(&used.encoded(sample)?, size)?;
    let again = Sample { label: "what came back", bytes: once.clone() };
    let twice = used.decoded(&used.encoded(&again)?, size)?;
    Ok((once, twice))
}

/// Elements as real numbers; of complex ones both parts.
fn reals(used: &Use<'_>, bytes: &[u8]) -> Result<Vec<f64>, String> {
    let data_type = &*used.array.data_type;
    let unknown = || format!("nobody here knows the numbers of data type {}", data_type.name());
    let (AnyNumber::Number(number) | AnyNumber::Narrow(number, _)) =
        <AnyNumber as Operand>::of(data_type).ok_or_else(unknown)?
    else {
        let (elements, _none) = bytes.as_chunks::<2>();
        // The upper half of the bits of a binary32.
        let widened = elements.iter().map(|element| u32::from(u16::from_ne_bytes(*element)) << 16);
        return Ok(widened.map(|bits| f64::from(f32::from_bits(bits))).collect());
    };
    let mut complex = vec![0; bytes.len() / number.size() * Number::C128.size()];
    cast_each((number, bytes), (Number::C128, &mut complex));
    let (parts, _none) = complex.as_chunks::<8>();
    Ok(parts.iter().map(|part| f64::from_ne_bytes(*part)).collect())
}
