//! The rules about chunks of more than 1 MiB.

use zarr_spec::{ArrayRepresentation, Mode, Reading};

use super::round_trips::same_bytes;
use super::{CodecOnTrial, CodecRule, DECODES_ONLY, Use};
use crate::suite::attempt::is_thorough;
use crate::suite::elements::{Sample, moderate, samples};
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[(
    Rule {
        id: "codec-large-chunks",
        level: Level::L2,
        sentence: "Chunks of more than 1 MiB decode to the same number of bytes, and to the same bytes if the codec is \
                   lossless.",
        source: "D3-CODEC-04",
        since: "0.1",
    },
    large_chunks,
)];

/// The minimum size of a large chunk in bytes: 1 MiB, plus a few bytes that do not fill a block.
const LARGE: usize = (1 << 20) + 13;

/// The number of elements in a large chunk of elements of variable size.
const LARGE_COUNT: u64 = 20_000;

fn large_chunks(trial: &CodecOnTrial, cases: &mut Cases) {
    if trial.decodes_only() {
        cases.skip(DECODES_ONLY);
        return;
    }
    for used in large_uses(trial, cases) {
        for sample in chosen(&used) {
            let result = used.encoded(&sample).and_then(|encoded| {
                let decoded = used.decoded(&encoded, sample.bytes.len())?;
                match used.loses_nothing() {
                    true => same_bytes(&decoded, &sample.bytes),
                    false => same_size(&decoded, &sample.bytes),
                }
            });
            cases.check(format!("{used}, {}", sample.label), result);
        }
    }
}

/// Returns the samples for large chunks. A ramp compresses well and noise does not; other samples add little. Lossy
/// codecs need to accept only moderate numbers.
fn chosen(used: &Use<'_>) -> Vec<Sample> {
    if !used.loses_nothing() {
        return moderate(&used.array).into_iter().collect();
    }
    let mut samples = samples(&used.array);
    samples.retain(|sample| match sample.label {
        "a ramp" => is_thorough(),
        label => ["noise", "elements of many lengths"].contains(&label),
    });
    samples
}

fn same_size(is: &[u8], was: &[u8]) -> Result<(), String> {
    let what = || format!("{} bytes decoded to {} bytes", was.len(), is.len());
    (is.len() == was.len()).then_some(()).ok_or_else(what)
}

/// Returns uses with large chunks, of the first example that does not fix the shape of its chunks. Thorough runs use
/// all such examples, each with its first and its last data type.
pub(super) fn large_uses(trial: &CodecOnTrial, cases: &mut Cases) -> Vec<Use<'static>> {
    let mut uses = Vec::new();
    for example in trial.examples() {
        if !example.shape.is_empty() {
            cases.skip("the examples declare the shape of their chunks");
            continue;
        }
        let Ok(document) = trial.document(example) else { continue };
        let mut arrays: Vec<_> = trial.elements(example, cases).into_iter().filter_map(large).collect();
        if arrays.len() > 2 {
            arrays.drain(1..arrays.len() - 1);
        }
        arrays.truncate(if is_thorough() { 2 } else { 1 });
        for array in arrays {
            let reading = Reading::new(Mode::Strict);
            if let Ok(codec) = trial.create(example, &document, &array, &reading)
                && Use::computes(&codec)
            {
                uses.push(Use { example, array, codec, given: None });
            }
        }
        if !uses.is_empty() && !is_thorough() {
            break;
        }
    }
    uses
}

/// Returns the array with a single dimension that is large enough.
fn large(array: ArrayRepresentation) -> Option<ArrayRepresentation> {
    let count = match array.data_type.elements().size() {
        Some(0) => return None,
        Some(size) => LARGE.div_ceil(size) as u64,
        None => LARGE_COUNT,
    };
    Some(array.with_shape(vec![count]))
}
