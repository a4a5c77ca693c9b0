//! Creates codecs from the linked plugins by their identifiers, as a metadata document would.

use zarr_json::ParseOptions;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::host::pipeline::{Pipeline, Swap};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecChain, CodecError, CodecPlugin, Format, Mode, Reading, Registry,
    Representation, Value,
};

use crate::creation;

/// A codec and the warnings from its creation.
#[derive(Debug)]
pub struct Created {
    /// The codec.
    pub codec: Codec,
    /// The warnings, in the order of their occurrence.
    pub warnings: Vec<String>,
}

/// Creates the codec `identifier` of `format`. The configuration is JSON text; an empty string means no
/// configuration.
///
/// # Errors
///
/// The error of the plugin.
///
/// # Panics
///
/// If not exactly one linked plugin has the identifier, or the text is not JSON.
pub fn create(
    format: Format,
    identifier: &str,
    configuration: &str,
    mode: Mode,
    decoded: &Representation,
) -> Result<Created, CodecError> {
    let plugin = plugin(format, identifier);
    creation(format, identifier, configuration, mode, |creation| {
        let codec = (plugin.create)(creation, decoded)?;
        Ok(Created { codec, warnings: creation.reading.take_warnings() })
    })
}

/// Returns the identifier and the configuration, as JSON text, of the codec in format `to`.
///
/// # Errors
///
/// The error of the plugin.
///
/// # Panics
///
/// If not exactly one linked plugin has the identifier, or the text is not JSON.
#[expect(clippy::expect_used, reason = "a failure fails the calling test")]
pub fn translate(
    format: Format,
    identifier: &str,
    configuration: &str,
    decoded: &Representation,
    to: Format,
) -> Result<(Option<&'static str>, String), CodecError> {
    let plugin = plugin(format, identifier);
    creation(format, identifier, configuration, Mode::Lenient, |creation| {
        let configuration = plugin.translate(creation, decoded, to)?;
        let text = zarr_json::to_vec(&Value::Object(configuration)).expect("JSON can be written");
        Ok((plugin.identifiers.in_format(to), String::from_utf8(text).expect("JSON is UTF-8")))
    })
}

/// Returns the stored bytes of `array` after a chain of codecs that compute nothing (permutations and byte orders).
/// Each codec is given by identifier and configuration. `elements` are in C order and native byte order.
///
/// This applies [`zarr_spec::host::pipeline::Layout`] literally, one element at a time.
///
/// # Errors
///
/// If the chain cannot be created.
///
/// # Panics
///
/// If a codec computes something, or if `elements` do not match `array`.
#[expect(clippy::expect_used, reason = "part of a test")]
pub fn stored(
    format: Format,
    codecs: &[(&str, &str)],
    array: &ArrayRepresentation,
    elements: &[u8],
) -> Result<Vec<u8>, String> {
    let mut registry = crate::registry();
    for plugin in Registry::linked().expect("identifiers are unique").codecs().iter() {
        registry.register(*plugin).expect("identifiers are unique");
    }
    let documents: Vec<_> = codecs
        .iter()
        .map(|(identifier, configuration)| {
            let parsed = zarr_json::parse(configuration.as_bytes(), &ParseOptions::default());
            ExtensionDocument::new(*identifier, parsed.map_or(Value::Null, |parsed| parsed.value))
        })
        .collect();
    let reading = Reading::new(Mode::Lenient);
    let creation = ChainCreation::new(format, &registry, &reading);
    let chain = CodecChain::create(&creation, None, &documents, array).map_err(|error| error.to_string())?;
    let pipeline = chain.resolve(array).map_err(|error| error.to_string())?;
    assert!(pipeline.steps.is_empty(), "these codecs compute something");
    Ok(placed(&pipeline, elements))
}

fn placed(pipeline: &Pipeline, elements: &[u8]) -> Vec<u8> {
    let count = pipeline.array.element_count().unwrap_or_default();
    let size = elements.len() / count.max(1);
    let mut stored = vec![0; elements.len()];
    for (number, element) in elements.chunks(size.max(1)).enumerate() {
        let mut element = element.to_vec();
        match &pipeline.layout.swap {
            Swap::None => {}
            Swap::Uniform(unit) => element.chunks_mut(*unit).for_each(<[u8]>::reverse),
            Swap::Units(units) => {
                units.iter().for_each(|unit| element[unit.offset..unit.offset + unit.size].reverse());
            }
        }
        let mut rest = number as u64;
        let mut place = 0;
        for (length, stride) in pipeline.array.shape.iter().zip(&pipeline.layout.strides).rev() {
            place += usize::try_from(rest % length).unwrap_or(usize::MAX) * stride;
            rest /= length;
        }
        stored[place * size..(place + 1) * size].copy_from_slice(&element);
    }
    stored
}

#[expect(clippy::expect_used, reason = "part of a test")]
fn plugin(format: Format, identifier: &str) -> CodecPlugin {
    let registry = Registry::linked().expect("identifiers are unique");
    let reading = Reading::new(Mode::Strict);
    *registry.codecs().find(format, identifier, &reading).expect("a linked plugin has the identifier")
}
