//! The rules about running the chains inside a codec.

use std::ptr;

use zarr_spec::codec::{CompositeCodec, RunChain};
use zarr_spec::{ArrayRepresentation, Codec, CodecChain, CodecError, Output};

use super::{CodecOnTrial, CodecRule, Use, answer};
use crate::chains::StepByStep;
use crate::suite::elements::Sample;
use crate::suite::{Cases, Level, Rule};

pub(super) const RULES: &[CodecRule] = &[(
    Rule {
        id: "codec-chains",
        level: Level::L1,
        sentence: "A codec runs only the chains that `chains` returns, not copies of them.",
        source: "`CompositeCodec::chains`",
        since: "0.1",
    },
    chains,
)];

fn chains(trial: &CodecOnTrial, cases: &mut Cases) {
    for used in trial.computing(cases) {
        let Codec::Composite(codec) = &used.codec else {
            cases.skip("the codec has no chains");
            continue;
        };
        for sample in used.samples() {
            let holds = used.runs_what_it_names(&**codec, &sample);
            cases.holds(format!("{used}, {}", sample.label), holds, || {
                "it runs a chain that `chains` does not return".to_owned()
            });
        }
    }
}

impl Use<'_> {
    /// Checks that encoding and decoding run only the declared chains. An error in either breaks another rule.
    fn runs_what_it_names(&self, codec: &dyn CompositeCodec, sample: &Sample) -> bool {
        let mut chains = Named { chains: codec.chains(), has_run_another: false };
        let encoded = answer(|| {
            let mut encoded = Output::at_most(usize::MAX);
            codec.encode(&self.array, &sample.bytes, &mut encoded, &mut chains)?;
            Ok(encoded.into_written())
        });
        if let Ok(Ok(encoded)) = encoded {
            let _the_elements = answer(|| {
                let mut decoded = Output::at_most(sample.bytes.len());
                codec.decode(&self.array, &encoded, &mut decoded, &mut chains)?;
                Ok(Vec::new())
            });
        }
        !chains.has_run_another
    }
}

/// Runs any chain, and detects chains that were not declared. Chains are compared by address, as a plugin library
/// does when it tells the host which chain to run.
struct Named<'a> {
    chains: Vec<&'a CodecChain>,
    has_run_another: bool,
}

impl Named<'_> {
    fn look_at(&mut self, chain: &CodecChain) {
        self.has_run_another |= !self.chains.iter().any(|named| ptr::eq(*named, chain));
    }
}

impl RunChain for Named<'_> {
    fn encode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        self.look_at(chain);
        StepByStep.encode(chain, array, decoded, encoded)
    }

    fn decode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        self.look_at(chain);
        StepByStep.decode(chain, array, encoded, decoded)
    }
}
