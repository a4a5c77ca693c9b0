//! Bytes written by other programs, which a codec must decode.

use std::sync::{Arc, LazyLock};

mod table;

pub use table::{FixtureError, fixtures_in};
use zarr_metadata::parse_entry;
use zarr_spec::codec::RunChain as _;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{Codec, CodecChain, Example, Format, Mode, Output, Reading, Registry};

use super::{CodecOnTrial, CodecRule, Use};
use crate::chains::StepByStep;
use crate::hex;
use crate::suite::attempt::record;
use crate::suite::codec::round_trips::same_bytes;
use crate::suite::tried::{OnTrial as _, Tried, text, value, with_stand_ins};
use crate::suite::{Cases, Level, Rule, Suite};

const FIXTURES: Rule = Rule {
    id: "codec-fixtures",
    level: Level::L3,
    sentence: "Chunks from other programs and from standards decode to the expected elements.",
    source: "each fixture names its source",
    since: "0.1",
};

pub(super) const RULES: &[CodecRule] = &[(FIXTURES, |trial, cases| {
    if !check(trial, &OF_OTHERS, cases) {
        cases.skip(
            "no chunk from another program or standard is known for this codec, so its bytes and their order are \
             unchecked; pass some as `fixtures` of `conformance_tests!`, or to zarrctl as `--fixtures FOLDER`",
        );
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
        let trial = Tried { plugin, registry: Arc::clone(&registry) };
        let subject = trial.subject();
        let suite = suites.iter_mut().find(|suite| suite.subject == subject);
        let rule =
            suite.and_then(|suite| suite.trials.iter_mut().find(|trial| trial.rule().id == FIXTURES.id));
        if let Some(rule) = rule {
            rule.also(move |cases| {
                check(&trial, fixtures, cases);
            });
        }
    }
}

/// Checks the codec against its fixtures. Returns false if there are none for this codec.
fn check(trial: &CodecOnTrial, fixtures: &[Fixture], cases: &mut Cases) -> bool {
    let mut is_any = false;
    for fixture in fixtures {
        let reading = Reading::new(Mode::Strict);
        let Example { format, document, shape, .. } = fixture.example;
        let parsed = value(document).and_then(|entry| {
            parse_entry(ExtensionPoint::Codec, format, &entry, shape, &reading).map_err(text)
        });
        let document = match parsed {
            Ok(document) => document,
            Err(error) => {
                cases.check(fixture.source, Err(error));
                continue;
            }
        };
        if trial.plugin.identifiers.in_format(format) != Some(&document.identifier) {
            continue;
        }
        is_any = true;
        for array in trial.arrays(&fixture.example, cases) {
            record(|| format!("decoding a chunk of {} with {}", fixture.source, fixture.example.document));
            let wanted = hex(fixture.decoded);
            let created = trial.create(&fixture.example, &document, &array, &reading).map_err(text);
            let used = created.map(|codec| Use { example: &fixture.example, array, codec });
            let result = used.and_then(|used| {
                let decoded = decoded(trial, &used, &hex(fixture.encoded), wanted.len())?;
                same_bytes(&decoded, &wanted)
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
    use zarr_spec::{Codec, CodecPlugin, Identifiers};

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
}
