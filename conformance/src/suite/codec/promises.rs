//! What the engine relies on to be fast.

use zarr_spec::chain::inner_grid_shape;
use zarr_spec::{Codec, Output, Size};

use super::round_trips::same_bytes;
use super::{CodecOnTrial, CodecRule};
use crate::suite::elements::samples;
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[
    (
        Rule {
            id: "codec-value",
            level: Level::L1,
            sentence: "A permutation has every dimension once, and inner chunks divide their shard.",
            source: "`zarr_spec::Codec::Permutation`, `zarr_spec::codec::Shard::inner_shape`",
            since: "0.1",
        },
        value,
    ),
    (
        Rule {
            id: "codec-exact-destination",
            level: Level::L4,
            sentence: "Decoding into memory of exactly the size of the chunk gives what decoding into a growing buffer \
                       gives, and leaves what lies before it.",
            source: "`zarr_spec::Output`",
            since: "0.1",
        },
        exact_destination,
    ),
    (
        Rule {
            id: "codec-size",
            level: Level::L4,
            sentence: "The encoded bytes are as many as the codec says beforehand, or at most as many.",
            source: "`BytesToBytesCodec::encoded_size`; V3-SHARD-06",
            since: "0.1",
        },
        size,
    ),
];

fn value(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.uses(cases) {
        match &used.codec {
            Codec::Permutation(order) => {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                let is_one = sorted.into_iter().eq(0..used.array.shape.len());
                cases.holds(&used, is_one, || format!("{order:?} is no permutation of its dimensions"));
            }
            Codec::Shard(shard) => {
                let divided = inner_grid_shape(&used.array.shape, &shard.inner_shape);
                cases.check(&used, divided.map(drop).map_err(|error| error.to_string()));
            }
            _ => cases.skip("the codec computes something"),
        }
    }
}

fn exact_destination(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        for sample in samples(&used.array) {
            let Ok(encoded) = used.encoded(&sample) else { continue };
            let result = used.decoded(&encoded, sample.bytes.len()).and_then(|grown| {
                // As if the chunk came after others in one output.
                let mut memory = vec![0xa5; grown.len() + 3];
                let mut output = Output::to(&mut memory);
                output.put(&[0xa5; 3]).map_err(|error| error.to_string())?;
                used.decode_to(&encoded, &mut output).map_err(|error| error.to_string())?;
                let rest = output.remaining();
                if rest > 0 {
                    return Err(format!("{rest} bytes were not written"));
                }
                same_bytes(&memory[..3], &[0xa5; 3])?;
                same_bytes(&memory[3..], &grown)
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
        for sample in samples(&used.array) {
            let Ok(encoded) = used.encoded(&sample) else { continue };
            let is = encoded.len() as u64;
            let holds = match promised {
                Size::Exact(size) => is == size,
                Size::AtMost(size) => is <= size,
                Size::Unknown => continue,
            };
            cases.holds(format!("{used}, {}", sample.label), holds, || {
                format!("{is} bytes, and {promised:?} before")
            });
        }
    }
}
