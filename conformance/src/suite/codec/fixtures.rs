//! Bytes written by other programs, which a codec must decode.

use std::sync::LazyLock;

mod table;

pub use table::{FixtureError, fixtures_in};
use zarr_metadata::parse_entry;
use zarr_spec::codec::RunChain as _;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{Codec, CodecChain, Example, Format, Loss, Mode, Output, Reading, Registry};

use super::{CodecOnTrial, CodecRule, Use, suite_of};
use crate::chains::StepByStep;
use crate::hex;
use crate::suite::attempt::record;
use crate::suite::codec::round_trips::{near, same_bytes};
use crate::suite::tried::{OnTrial as _, text, value, with_stand_ins};
use crate::suite::{Cases, Level, Rule, Suite};

const FIXTURES: Rule = Rule {
    id: "codec-fixtures",
    level: Level::L3,
    sentence: "Chunks from other programs and from standards decode to the expected elements.",
    source: "each fixture names its source",
    since: "0.1",
};

pub(super) const RULES: &[CodecRule] = &[(FIXTURES, |trial, cases| {
    let has_own = check(trial, &OF_OTHERS, cases);
    let has_given = check(trial, trial.fixtures, cases);
    if has_own || has_given {
        return;
    }
    match trial.decodes_only() {
        true => cases.check(
            "no chunks",
            Err("a codec that only decodes needs chunks of other programs: pass some as `fixtures` of \
                 `conformance_tests!`, or to zarrctl as `--fixtures FOLDER`"
                .to_owned()),
        ),
        false => cases.skip(
            "no chunk from another program or standard is known for this codec, so its bytes and their order are \
             unchecked; pass some as `fixtures` of `conformance_tests!`, or to zarrctl as `--fixtures FOLDER`",
        ),
    }
})];

/// A chunk encoded by another program.
#[derive(Debug, Clone, Copy)]
pub struct Fixture {
    /// The document of the codec, with one data type and the shape of the chunk.
    pub example: Example,
    /// The elements in hexadecimal digits, as in the memory of a little-endian machine.
    pub decoded: &'static str,
    /// The encoded bytes in hexadecimal digits.
    pub encoded: &'static str,
    /// The program and its version, or the standard and its section.
    pub source: &'static str,
}

/// Chunks encoded by other programs, one per line, for any codec with these names.
/// `conformance/interop/python/fixtures.py` prints them and documents the columns.
const TABLE: &str = include_str!("fixtures.tsv");

/// The rows of [`TABLE`].
#[expect(clippy::expect_used, reason = "the table is part of a test")]
static OF_OTHERS: LazyLock<Vec<Fixture>> =
    LazyLock::new(|| table::rows(TABLE, None).expect("the table of the suite"));

/// Adds `fixtures` to the codec suites in `suites`, each to the codec that it names.
pub fn add_fixtures(registry: &Registry, fixtures: &'static [Fixture], suites: &mut [Suite]) {
    let registry = with_stand_ins(registry);
    for &plugin in registry.codecs().iter() {
        let trial = CodecOnTrial { fixtures, ..CodecOnTrial::new(plugin, &registry) };
        let subject = trial.subject();
        if let Some(suite) = suites.iter_mut().find(|suite| suite.subject == subject) {
            *suite = suite_of(trial);
        }
    }
}

/// Returns a use of the codec for each of its fixtures. A fixture that is invalid breaks another rule.
pub(super) fn uses(trial: &CodecOnTrial, cases: &mut Cases) -> Vec<Use<'static>> {
    let mut uses = Vec::new();
    for fixture in OF_OTHERS.iter().chain(trial.fixtures) {
        let reading = Reading::new(Mode::Strict);
        let example = &fixture.example;
        let Ok(document) = document_of(fixture, &reading) else { continue };
        if !is_for(trial, fixture, &document) {
            continue;
        }
        for array in trial.arrays(example, cases) {
            if let Ok(codec) = trial.create(example, &document, &array, &reading) {
                uses.push(Use { example, array, codec, given: Some(fixture) });
            }
        }
    }
    uses
}

impl CodecOnTrial {
    /// Returns how much the elements of a codec that only decodes may differ from those of other decoders: the loss
    /// of the codec's first example for this data type.
    fn difference(&self, fixture: &Example) -> Option<f64> {
        let mut own = self.examples().iter().filter(|_| self.decodes_only());
        let own = own.find(|own| {
            let types = own.data_types;
            own.format == fixture.format && (types.is_empty() || types.contains(&fixture.data_types[0]))
        });
        match own?.loss {
            Loss::Absolute(bound) => Some(bound),
            _ => None,
        }
    }
}

fn document_of(fixture: &Fixture, reading: &Reading) -> Result<ExtensionDocument, String> {
    let Example { format, document, shape, .. } = fixture.example;
    let entry = value(document)?;
    parse_entry(ExtensionPoint::Codec, format, &entry, shape, reading).map_err(text)
}

fn is_for(trial: &CodecOnTrial, fixture: &Fixture, document: &ExtensionDocument) -> bool {
    trial.plugin.identifiers.in_format(fixture.example.format) == Some(&document.identifier)
}

/// Checks the codec against its fixtures. Returns false if there are none for this codec.
fn check(trial: &CodecOnTrial, fixtures: &[Fixture], cases: &mut Cases) -> bool {
    let mut is_any = false;
    for fixture in fixtures {
        let reading = Reading::new(Mode::Strict);
        let document = match document_of(fixture, &reading) {
            Ok(document) => document,
            Err(error) => {
                cases.check(fixture.source, Err(error));
                continue;
            }
        };
        if !is_for(trial, fixture, &document) {
            continue;
        }
        is_any = true;
        for array in trial.arrays(&fixture.example, cases) {
            record(|| format!("decoding a chunk of {} with {}", fixture.source, fixture.example.document));
            let wanted = hex(fixture.decoded);
            let created = trial.create(&fixture.example, &document, &array, &reading).map_err(text);
            let used = created.map(|codec| {
                let example = &fixture.example;
                Use { example, array, codec, given: None }
            });
            let result = used.and_then(|used| {
                let decoded = decoded(trial, &used, &hex(fixture.encoded), wanted.len())?;
                match trial.difference(&fixture.example) {
                    Some(bound) => near(&used, &wanted, &decoded, |_| bound),
                    None => same_bytes(&decoded, &wanted),
                }
            });
            let Example { document, data_types, shape, .. } = fixture.example;
            cases.check(format!("{document}, {data_types:?} {shape:?}, of {}", fixture.source), result);
        }
    }
    is_any
}

/// Decodes `encoded` with the codec. If the engine applies the codec itself, a chain with only this codec decodes the
/// bytes.
fn decoded(trial: &CodecOnTrial, used: &Use<'_>, encoded: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let (Codec::Permutation(_) | Codec::Binary(_)) = used.codec else { return used.decoded(encoded, limit) };
    let reading = Reading::new(Mode::Strict);
    // v2 stores little-endian elements if no codec declares otherwise.
    let creation = ChainCreation::new(Format::V2, &*trial.registry, &reading);
    let chain = CodecChain::create(&creation, Some(used.codec.clone()), &[], &used.array).map_err(text)?;
    let mut decoded = Output::at_most(limit);
    StepByStep.decode(&chain, &used.array, encoded, &mut decoded).map_err(text)?;
    Ok(decoded.into_written())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_spec::codec::BytesToBytesCodec;
    use zarr_spec::{Codec, CodecError, CodecPlugin, CodecResult, Identifiers};

    use super::*;
    use crate::suite::{Verdict, suites_of};

    const SUM: Example = Example::v3(r#""sum""#).with_data_types(&["uint8"]).with_shape(&[2]);
    const GIVEN: &[Fixture] = &[
        Fixture { example: SUM, decoded: "0102", encoded: "0102 03", source: "right" },
        Fixture { example: SUM, decoded: "0103", encoded: "0102 03", source: "other elements" },
        Fixture { example: SUM, decoded: "0102", encoded: "0102 04", source: "another sum" },
        Fixture { example: Example::v3("{}"), decoded: "", encoded: "", source: "no document" },
    ];

    #[derive(Debug)]
    struct Sum;

    impl zarr_spec::codec::Checksum for Sum {
        fn size(&self) -> usize {
            1
        }

        fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), zarr_spec::CodecError> {
            checksum[0] = bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte));
            Ok(())
        }
    }

    /// Returns the sources of the fixtures that [`Sum`] fails to decode if it has these identifiers.
    fn failed(identifiers: Identifiers, given: &'static [Fixture]) -> Vec<String> {
        let mut registry = Registry::empty();
        let sum = CodecPlugin::new(identifiers, &|_, _| Ok(Codec::Checksum(Arc::new(Sum))));
        registry.register(sum).unwrap();
        let mut suites = suites_of(&registry);
        add_fixtures(&registry, given, &mut suites);
        let rule = suites[0].trials.iter().find(|trial| trial.rule().id == FIXTURES.id).unwrap();
        let verdict = rule.run().verdict;
        let Verdict::Failed(failures) = verdict else { panic!("{verdict:?}") };
        failures.iter().map(|failure| failure.case.rsplit(", of ").next().unwrap().to_owned()).collect()
    }

    #[test]
    fn fixtures_with_wrong_elements_are_failures() {
        let failed = failed(Identifiers::name("sum"), GIVEN);
        assert_eq!(failed, ["other elements", "another sum", "no document"]);
    }

    #[test]
    fn codecs_with_known_names_are_checked_against_the_table() {
        let identifiers = Identifiers::name("crc32c").with_id("crc32c");
        assert_eq!(failed(identifiers, &[]), ["numcodecs 0.17.1"; 4]);
    }

    /// A codec that requires a zero before the decoded bytes, and panics if the zero is missing.
    #[derive(Debug)]
    struct Careless;

    impl BytesToBytesCodec for Careless {
        fn encode(&self, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
            Err(CodecError::decodes_only())
        }

        fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
            assert_eq!(encoded[0], 0, "a zero");
            Ok(decoded.put(&encoded[1..])?)
        }
    }

    const CARELESS: &[Fixture] = &[Fixture {
        example: Example::v3(r#""careless""#).with_data_types(&["uint8"]).with_shape(&[2]),
        decoded: "0102",
        encoded: "00 0102",
        source: "by hand",
    }];

    /// Returns the verdict about [`Careless`] for each rule.
    fn verdict(given: &'static [Fixture], rule: &str) -> Verdict {
        let mut registry = Registry::empty();
        let careless = CodecPlugin::new(Identifiers::name("careless"), &|_, _| {
            Ok(Codec::BytesToBytes(Arc::new(Careless)))
        });
        registry.register(careless.decodes_only()).unwrap();
        let mut suites = suites_of(&registry);
        add_fixtures(&registry, given, &mut suites);
        suites[0].trials.iter().find(|trial| trial.rule().id == rule).unwrap().run().verdict
    }

    #[test]
    fn a_codec_that_only_decodes_needs_fixtures() {
        assert!(matches!(verdict(&[], FIXTURES.id), Verdict::Failed(_)));
        assert!(matches!(verdict(CARELESS, FIXTURES.id), Verdict::Passed { .. }));
    }

    #[test]
    fn fixtures_replace_the_chunks_that_a_codec_cannot_encode() {
        for rule in ["codec-limit", "codec-exact-destination", "codec-threads"] {
            assert!(matches!(verdict(CARELESS, rule), Verdict::Passed { .. }), "{rule}");
        }
        for rule in ["codec-truncated", "codec-damaged", "codec-foreign"] {
            assert!(matches!(verdict(CARELESS, rule), Verdict::Failed(_)), "{rule}");
        }
        for rule in [
            "codec-round-trip",
            "codec-loss",
            "codec-loses-once",
            "codec-deterministic",
            "codec-large-chunks",
        ] {
            assert!(matches!(verdict(CARELESS, rule), Verdict::Skipped(_)), "{rule}");
        }
    }
}
