//! What every codec is held to, of whatever kind.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::registry::{DuplicateIdentifier, ExtensionPoint};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Loss, Mode, Output,
    Reading, Registry, Representation, Size, json,
};

use super::elements::Sample;
use super::{Cases, Rule, Subject, Suite, Trial};

mod documents;
mod promises;
mod robustness;
mod round_trips;

type CodecRule = (Rule, fn(&CodecOnTrial, &mut Cases));

/// Types that a codec is tried with which says of an example that it takes any.
const ANY_TYPES: [&str; 7] = ["uint8", "int16", "uint32", "int64", "float32", "float64", "complex128"];

/// Shapes of chunks for examples that fit any: without dimensions, one element, odd and even, more than one vector.
const ANY_SHAPES: [&[u64]; 6] = [&[], &[1], &[7], &[4, 6], &[3, 1, 5], &[33, 65]];

/// A codec, and what is tried with it.
struct CodecOnTrial {
    plugin: CodecPlugin,
    registry: Registry,
}

/// One example for an array of one type and shape.
struct Use<'a> {
    example: &'a Example,
    array: ArrayRepresentation,
    codec: Codec,
}

impl fmt::Display for Use<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Example { format, document, .. } = self.example;
        write!(f, "{document} in {format}, {} {:?}", self.array.data_type.name(), self.array.shape)
    }
}

/// What a codec did that it is held to account for: its answer, or a panic.
type Answer = Result<Result<Vec<u8>, CodecError>, String>;

pub(super) fn add(registry: &Registry, suites: &mut Vec<Suite>) {
    for &plugin in registry.codecs().iter() {
        let trial = Arc::new(CodecOnTrial { plugin, registry: with_stand_ins(registry) });
        let groups = [documents::RULES, round_trips::RULES, robustness::RULES, promises::RULES];
        let trials = groups.into_iter().flatten().map(|(rule, check)| {
            let trial = Arc::clone(&trial);
            Trial::new(rule, move |cases| check(&trial, cases))
        });
        suites.push(Suite { subject: Subject::of(&plugin), trials: trials.collect() });
    }
}

/// The registry, and plain numbers in place of the types that no linked crate has.
fn with_stand_ins(registry: &Registry) -> Registry {
    let mut registry = registry.clone();
    for &plugin in crate::types::PLUGINS {
        // What a linked crate has is better than what stands in for it.
        let (Ok(()) | Err(DuplicateIdentifier { .. })) = registry.register(plugin);
    }
    registry
}

impl CodecOnTrial {
    fn examples(&self) -> &'static [Example] {
        self.plugin.about.examples
    }

    /// What the document of an example says.
    fn document(&self, example: &Example) -> Result<ExtensionDocument, String> {
        let parsed = json::parse(example.document.as_bytes(), &json::ParseOptions::default());
        let value = parsed.map_err(|error| format!("{}: {error}", example.document))?.value;
        let reading = Reading::new(Mode::Strict);
        zarr_spec::metadata::parse_entry(ExtensionPoint::Codec, example.format, &value, &[4, 6], &reading)
            .map_err(|error| error.to_string())
    }

    /// The codec of a document for an array, and the warnings that came up.
    fn create(
        &self,
        format: Format,
        document: &ExtensionDocument,
        array: &ArrayRepresentation,
        mode: Mode,
    ) -> Result<(Codec, Vec<String>), CodecError> {
        let reading = Reading::new(mode);
        let decoded = Representation::Array(array.clone());
        let codec = (self.plugin.create)(&self.creation(format, document, &reading), &decoded)?;
        Ok((codec, reading.take_warnings()))
    }

    fn creation<'a>(
        &'a self,
        format: Format,
        document: &'a ExtensionDocument,
        reading: &'a Reading,
    ) -> Creation<'a> {
        Creation {
            format,
            identifier: &document.identifier,
            configuration: &document.configuration,
            type_name: document.type_name.as_ref(),
            registry: &self.registry,
            reading,
        }
    }

    /// The arrays that an example is for: its types, or some, in its shape, or in some. The error names a type that is
    /// not linked.
    fn arrays(&self, example: &Example) -> Vec<Result<ArrayRepresentation, String>> {
        let types = if example.data_types.is_empty() { &ANY_TYPES[..] } else { example.data_types };
        let one = [example.shape];
        let shapes = if example.shape.is_empty() { &ANY_SHAPES[..] } else { &one };
        let of_type = |name: &&str| {
            let data_type = self.registry.data_type(
                Format::V3,
                &DataTypeDocument::named(name),
                &Reading::new(Mode::Strict),
            );
            let data_type = data_type.map_err(|error| format!("data type `{name}`: {error}"));
            let arrays = shapes.iter().map(move |shape| match &data_type {
                Ok((data_type, byte_order)) => Ok(ArrayRepresentation {
                    shape: shape.to_vec(),
                    fill_value: data_type.default_fill_value(),
                    data_type: Arc::clone(data_type),
                    byte_order: byte_order.clone(),
                }),
                Err(error) => Err(error.clone()),
            });
            arrays.collect::<Vec<_>>()
        };
        types.iter().flat_map(of_type).collect()
    }

    /// Every use that can be made of the examples. What cannot be created is a failure of another rule.
    fn uses(&self, cases: &mut Cases) -> Vec<Use<'static>> {
        let mut uses = Vec::new();
        for example in self.examples() {
            let Ok(document) = self.document(example) else { continue };
            for array in self.arrays(example) {
                match array {
                    Err(reason) => cases.skip(reason),
                    Ok(array) => {
                        if let Ok((codec, _)) = self.create(example.format, &document, &array, Mode::Strict) {
                            uses.push(Use { example, array, codec });
                        }
                    }
                }
            }
        }
        uses
    }

    /// The uses of codecs that compute something themselves.
    fn computing(&self, cases: &mut Cases) -> Vec<Use<'static>> {
        let mut uses = self.uses(cases);
        uses.retain(|used| match used.codec {
            Codec::ArrayToArray(_) | Codec::ArrayToBytes(_) | Codec::BytesToBytes(_) => true,
            Codec::Checksum(_) => {
                cases.skip("a checksum is verified by the engine");
                false
            }
            _ => {
                cases.skip("the engine does what this codec says");
                false
            }
        });
        uses
    }
}

impl Use<'_> {
    /// Encodes into a buffer that grows. The error is a panic.
    fn encode(&self, decoded: &[u8]) -> Answer {
        answer(|| {
            let mut encoded = Output::at_most(usize::MAX);
            match &self.codec {
                Codec::ArrayToArray(codec) => codec.encode(&self.array, decoded, &mut encoded)?,
                Codec::ArrayToBytes(codec) => codec.encode(&self.array, decoded, &mut encoded)?,
                Codec::BytesToBytes(codec) => codec.encode(decoded, &mut encoded)?,
                _ => {}
            }
            Ok(encoded.into_written())
        })
    }

    /// Decodes into a buffer that grows to at most `limit` bytes. The error is a panic.
    fn decode(&self, encoded: &[u8], limit: usize) -> Answer {
        answer(|| {
            let mut decoded = Output::at_most(limit);
            self.decode_to(encoded, &mut decoded)?;
            Ok(decoded.into_written())
        })
    }

    fn decode_to(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        match &self.codec {
            Codec::ArrayToArray(codec) => codec.decode(&self.array, encoded, decoded),
            Codec::ArrayToBytes(codec) => codec.decode(&self.array, encoded, decoded),
            Codec::BytesToBytes(codec) => codec.decode(encoded, decoded),
            _ => Ok(()),
        }
    }

    /// Encodes elements that the codec has to take.
    fn encoded(&self, sample: &Sample) -> Result<Vec<u8>, String> {
        match self.encode(&sample.bytes) {
            Ok(Ok(encoded)) => Ok(encoded),
            Ok(Err(error)) => Err(format!("encoding {}: {error}", sample.label)),
            Err(panic) => Err(format!("encoding {}: {panic}", sample.label)),
        }
    }

    /// Decodes what the codec wrote itself.
    fn decoded(&self, encoded: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        match self.decode(encoded, limit) {
            Ok(Ok(decoded)) => Ok(decoded),
            Ok(Err(error)) => Err(format!("decoding what was encoded: {error}")),
            Err(panic) => Err(format!("decoding what was encoded: {panic}")),
        }
    }

    fn loses_nothing(&self) -> bool {
        self.example.loss == Loss::Nothing
    }

    /// Bytes that the encoded side of the array has, as far as the codec knows beforehand.
    fn promised(&self) -> Result<Size, CodecError> {
        match &self.codec {
            Codec::ArrayToArray(codec) => Ok(codec.encoded(&self.array)?.size()),
            Codec::ArrayToBytes(codec) => codec.encoded_size(&self.array),
            Codec::BytesToBytes(codec) => Ok(codec.encoded_size(self.array.size())),
            _ => Ok(Size::Unknown),
        }
    }
}

fn answer(run: impl FnOnce() -> Result<Vec<u8>, CodecError>) -> Answer {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| super::panic_text(&*panic))
}
