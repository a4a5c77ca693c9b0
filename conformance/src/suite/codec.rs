//! The rules for codecs of every kind.

use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{
    About, ArrayRepresentation, Codec, CodecError, CodecPlugin, Example, Format, Identifiers, Loss, Mode,
    Output, Reading, Registry, Representation, Size, Value,
};

use super::attempt::{placement, record, shown};
use super::elements::{Sample, samples};
use super::guarded::{Input, written};
use super::tried::{Makes, OnTrial, RuleOf, Tried, suite};
use super::{Cases, Subject, Suite};
use crate::chains::{StepByStep, with_checksum, without_checksum};
use crate::hex;

mod chains;
mod claims;
mod documents;
mod fixtures;
pub(super) mod fuzzed;
mod hostile;
mod large;
mod leaks;
mod promises;
mod robustness;
mod round_trips;
mod subsets;
mod threads;

pub use fixtures::{Fixture, FixtureError, add_fixtures, fixtures_in};
pub(super) use hostile::Hostile;

/// A codec under test.
pub(super) struct CodecOnTrial {
    tried: Tried<Codec>,
    /// Chunks that other programs encoded, in addition to the suite's own table.
    fixtures: &'static [Fixture],
}

type CodecRule = RuleOf<CodecOnTrial>;

/// Why a rule about encoding does not apply to a codec.
const DECODES_ONLY: &str = "the codec only decodes";

/// An example, for an array of one data type and shape.
struct Use<'a> {
    example: &'a Example,
    array: ArrayRepresentation,
    codec: Codec,
    /// For a codec that only decodes: a chunk that another program encoded, in place of the codec's own output.
    given: Option<&'static Fixture>,
}

impl fmt::Display for Use<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Example { format, document, .. } = self.example;
        write!(f, "{document} in {format}, {} {:?}", self.array.data_type.name(), self.array.shape)
    }
}

/// The result of calling a codec: its result, or the message of a panic.
type Answer = Result<Result<Vec<u8>, CodecError>, String>;

pub(super) fn add(registry: &Arc<Registry>, suites: &mut Vec<Suite>) {
    for &plugin in registry.codecs().iter() {
        suites.push(suite_of(CodecOnTrial::new(plugin, registry)));
    }
}

fn suite_of(on_trial: CodecOnTrial) -> Suite {
    let groups = [
        documents::RULES,
        round_trips::RULES,
        chains::RULES,
        large::RULES,
        robustness::RULES,
        threads::RULES,
        leaks::RULES,
        fixtures::RULES,
        promises::RULES,
        subsets::RULES,
    ];
    suite(on_trial, &groups)
}

impl Deref for CodecOnTrial {
    type Target = Tried<Codec>;

    fn deref(&self) -> &Self::Target {
        &self.tried
    }
}

impl OnTrial for CodecOnTrial {
    fn subject(&self) -> Subject {
        self.tried.subject()
    }

    fn identifiers(&self) -> Identifiers {
        self.tried.identifiers()
    }

    fn about(&self) -> &About {
        self.tried.about()
    }

    fn formats(&self) -> Vec<Format> {
        self.tried.formats()
    }

    fn make(
        &self,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        cases: &mut Cases,
    ) -> Result<(), String> {
        self.tried.make(example, entry, reading, cases)
    }
}

impl Makes for Codec {
    fn make(
        tried: &Tried<Codec>,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        cases: &mut Cases,
    ) -> Result<(), String> {
        let document = tried.parse(example, entry, reading)?;
        for array in tried.arrays(example, cases) {
            let created = tried.create(example, &document, &array, reading);
            let name = array.data_type.name();
            let shape = &array.shape;
            created.map_err(|error| format!("for {name} {shape:?}: {error}"))?;
        }
        Ok(())
    }
}

impl Tried<Codec> {
    /// Creates the codec of a document for an array, or for the bytes of an array.
    fn create(
        &self,
        example: &Example,
        document: &ExtensionDocument,
        array: &ArrayRepresentation,
        reading: &Reading,
    ) -> Result<Codec, CodecError> {
        let creation = self.creation(example.format, document, reading);
        let of_array = (self.plugin.create)(&creation, &Representation::Array(array.clone()));
        of_array.or_else(|error| {
            (self.plugin.create)(&creation, &Representation::Bytes(array.size())).map_err(|_| error)
        })
    }

    fn decodes_only(&self) -> bool {
        self.plugin.about.decodes_only
    }
}

impl CodecOnTrial {
    pub(super) fn new(plugin: CodecPlugin, registry: &Arc<Registry>) -> Self {
        Self { tried: Tried { plugin, registry: Arc::clone(registry) }, fixtures: &[] }
    }

    /// Returns all uses of the examples. A use that cannot be created is left out here and breaks another rule.
    fn uses(&self, cases: &mut Cases) -> Vec<Use<'static>> {
        let mut uses = Vec::new();
        for example in self.examples() {
            let Ok(document) = self.document(example) else { continue };
            for array in self.arrays(example, cases) {
                let reading = Reading::new(Mode::Strict);
                if let Ok(codec) = self.create(example, &document, &array, &reading) {
                    if matches!(&codec, Codec::ArrayToBytes(codec) if !codec.encodes(&array)) {
                        cases.skip("the codec only decodes such chunks");
                        continue;
                    }
                    uses.push(Use { example, array, codec, given: None });
                }
            }
        }
        uses
    }

    /// Returns the uses of codecs that compute something, including those with inner chains and checksums. For a
    /// codec that only decodes, each use has a chunk of another program.
    fn computing(&self, cases: &mut Cases) -> Vec<Use<'static>> {
        let mut uses = if self.decodes_only() { fixtures::uses(self, cases) } else { self.uses(cases) };
        uses.retain(|used| {
            let computes = Use::computes(&used.codec);
            if !computes {
                cases.skip("the engine applies this codec itself");
            }
            computes
        });
        uses
    }
}

impl Use<'_> {
    /// Checks whether the codec has functions to encode and decode.
    fn computes(codec: &Codec) -> bool {
        matches!(
            codec,
            Codec::ArrayToArray(_)
                | Codec::ArrayToBytes(_)
                | Codec::Composite(_)
                | Codec::BytesToBytes(_)
                | Codec::Checksum(_)
        )
    }

    /// Encodes into a growing buffer. The outer error is the message of a panic.
    fn encode(&self, decoded: &[u8]) -> Answer {
        self.record("encoding", decoded);
        answer(|| {
            let input = Input::of(decoded);
            written(usize::MAX, |encoded| self.encode_to(&input, encoded))
        })
    }

    fn encode_to(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        match &self.codec {
            Codec::ArrayToArray(codec) => codec.encode(&self.array, decoded, encoded),
            Codec::ArrayToBytes(codec) => codec.encode(&self.array, decoded, encoded),
            Codec::Composite(codec) => codec.encode(&self.array, decoded, encoded, &mut StepByStep),
            Codec::BytesToBytes(codec) => codec.encode(decoded, encoded),
            Codec::Checksum(checksum) => with_checksum(&**checksum, decoded, encoded),
            _ => Err(CodecError::Unsupported("this kind of codec computes nothing".to_owned())),
        }
    }

    /// Decodes into a buffer that grows to at most `limit` bytes. The outer error is the message of a panic.
    fn decode(&self, encoded: &[u8], limit: usize) -> Answer {
        self.record("decoding", encoded);
        answer(|| {
            let input = Input::of(encoded);
            written(limit, |decoded| self.decode_to(&input, decoded))
        })
    }

    /// Records the next operation on `bytes`.
    fn record(&self, action: &str, bytes: &[u8]) {
        record(|| format!("{action} {} with {self}{}", shown(bytes), placement().note()));
    }

    fn decode_to(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        match &self.codec {
            Codec::ArrayToArray(codec) => codec.decode(&self.array, encoded, decoded),
            Codec::ArrayToBytes(codec) => codec.decode(&self.array, encoded, decoded),
            Codec::Composite(codec) => codec.decode(&self.array, encoded, decoded, &mut StepByStep),
            Codec::BytesToBytes(codec) => codec.decode(encoded, decoded),
            Codec::Checksum(checksum) => without_checksum(&**checksum, encoded, decoded),
            _ => Ok(()),
        }
    }

    /// Returns elements that the codec must accept. For a codec that only decodes, these are the elements of the chunk
    /// of another program.
    fn samples(&self) -> Vec<Sample> {
        match self.given {
            Some(fixture) => {
                vec![Sample { label: "a chunk of another program", bytes: hex(fixture.decoded) }]
            }
            None => samples(&self.array),
        }
    }

    /// Encodes elements that the codec must accept. For a codec that only decodes, returns the chunk of another
    /// program.
    fn encoded(&self, sample: &Sample) -> Result<Vec<u8>, String> {
        if let Some(fixture) = self.given {
            return Ok(hex(fixture.encoded));
        }
        match self.encode(&sample.bytes) {
            Ok(Ok(encoded)) => Ok(encoded),
            Ok(Err(error)) => Err(format!("encoding {}: {error}", sample.label)),
            Err(panic) => Err(format!("encoding {}: {panic}", sample.label)),
        }
    }

    /// Decodes encoded bytes that the codec must accept.
    fn decoded(&self, encoded: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        match self.decode(encoded, limit) {
            Ok(Ok(decoded)) => Ok(decoded),
            Ok(Err(error)) => Err(format!("decoding the encoded bytes: {error}")),
            Err(panic) => Err(format!("decoding the encoded bytes: {panic}")),
        }
    }

    fn loses_nothing(&self) -> bool {
        self.example.loss == Loss::Nothing
    }

    /// Returns the declared size of the encoded array in bytes.
    fn promised(&self) -> Result<Size, CodecError> {
        match &self.codec {
            Codec::ArrayToArray(codec) => Ok(codec.encoded(&self.array)?.size()),
            Codec::ArrayToBytes(codec) => codec.encoded_size(&self.array),
            Codec::Composite(codec) => codec.encoded_size(&self.array),
            Codec::BytesToBytes(codec) => Ok(codec.encoded_size(self.array.size())),
            Codec::Checksum(checksum) => Ok(match self.array.size() {
                Size::Exact(size) => Size::Exact(size.saturating_add(checksum.size() as u64)),
                Size::AtMost(size) => Size::AtMost(size.saturating_add(checksum.size() as u64)),
                Size::Unknown => Size::Unknown,
            }),
            _ => Ok(Size::Unknown),
        }
    }
}

fn answer(run: impl FnOnce() -> Result<Vec<u8>, CodecError>) -> Answer {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| super::panic_text(&*panic))
}
