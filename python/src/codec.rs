//! Single codecs, for the pipelines of zarr-python and for numcodecs, which call codecs one by one.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zarr_kit::spec::codec::{Checksum, Codec, CodecError};
use zarr_kit::spec::data_type::DataTypeDocument;
use zarr_kit::spec::host::pipeline::intermediate_limit;
use zarr_kit::spec::host::registry::ExtensionPoint;
use zarr_kit::spec::{ArrayRepresentation, Creation, Output, Reading, Registry, Representation, Size};
use zarr_kit::{CATALOGUE, Format, Mode};

use crate::calls::detached;
use crate::context::{ContextOptions, context};
use crate::creation::format_named;
use crate::elements::Source;
use crate::failure::raise;
use crate::json;

/// A codec that was created for one chunk, or without knowledge of an array.
#[pyclass(frozen, name = "Codec", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct CodecHandle {
    codec: Codec,
    name: String,
    /// Whether the codec depends on a chunk, but was created without one. Then only its kind is known.
    needs_chunk: bool,
    /// The maximum size of a result whose size is not declared.
    memory: u64,
}

/// The chunk that a codec is created for.
#[derive(Debug, FromPyObject)]
pub(crate) enum Chunk {
    /// Its size in bytes.
    Bytes(u64),
    /// The name of its data type in v3, and its shape.
    Elements(String, Vec<u64>),
}

impl Chunk {
    fn representation(&self, registry: &Registry) -> Option<Representation> {
        match self {
            Self::Bytes(size) => Some(Representation::Bytes(Size::Exact(*size))),
            Self::Elements(name, shape) => small_array(registry, name, shape),
        }
    }
}

/// A codec, and whether it depends on a chunk that was not known.
struct Created {
    codec: Codec,
    needs_chunk: bool,
}

/// Data types and shapes that a codec is tried with, because its kind is known only after it was created. The last shape
/// is that of an image in colors.
const TRIED_TYPES: [&str; 7] = ["uint8", "float32", "int32", "float64", "bool", "string", "zarr-kit.json"];
const TRIED_SHAPES: [&[u64]; 7] =
    [&[1], &[1, 1], &[1, 1, 1], &[1, 1, 1, 1], &[1, 1, 1, 1, 1], &[], &[2, 2, 3]];

#[pymethods]
impl CodecHandle {
    /// Creates the codec `name` of `format` with a configuration, which is a JSON text, for `chunk`. Codecs that depend
    /// on the chunk have only their kind without it.
    #[staticmethod]
    #[pyo3(signature = (name, configuration, format, chunk=None))]
    fn open(name: &str, configuration: &str, format: &str, chunk: Option<Chunk>) -> PyResult<Self> {
        let configuration = json::value(configuration)?;
        let options = ContextOptions { is_strict: false, stores_empty_chunks: false, threads: Some(1) };
        let context = context(options)?;
        let reading = Reading::new(Mode::Lenient);
        let creation =
            Creation::new(name, &configuration, format_named(format)?, context.registry(), &reading);
        let created = created(&creation, context.registry(), chunk.as_ref());
        let Created { codec, needs_chunk } = created.map_err(|error| failed(name, &error))?;
        Ok(Self { codec, name: name.to_owned(), needs_chunk, memory: context.limits().memory })
    }

    /// Returns `array-to-array`, `array-to-bytes` or `bytes-to-bytes`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.codec {
            Codec::Permutation(_) | Codec::ArrayToArray(_) => "array-to-array",
            Codec::Checksum(_) | Codec::BytesToBytes(_) => "bytes-to-bytes",
            _ => "array-to-bytes",
        }
    }

    /// Returns whether the codec depends on the chunk, but was created without one.
    #[getter]
    fn needs_chunk(&self) -> bool {
        self.needs_chunk
    }

    /// Encodes bytes.
    fn encode<'py>(&self, py: Python<'py>, decoded: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let decoded = Source::new(decoded)?;
        self.run(py, None, |output| match &self.codec {
            Codec::BytesToBytes(codec) => codec.encode(decoded.bytes(), output),
            Codec::Checksum(checksum) => add_checksum(&**checksum, decoded.bytes(), output),
            _ => Err(not_for_bytes()),
        })
    }

    /// Decodes bytes. `declared` is the size of the chunk in the metadata document, if it is known; the result may be
    /// larger only by a limited amount.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        encoded: &Bound<'py, PyAny>,
        declared: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let encoded = Source::new(encoded)?;
        self.run(py, declared, |output| match &self.codec {
            Codec::BytesToBytes(codec) => codec.decode(encoded.bytes(), output),
            Codec::Checksum(checksum) => remove_checksum(&**checksum, encoded.bytes(), output),
            _ => Err(not_for_bytes()),
        })
    }
}

impl CodecHandle {
    fn run<'py>(
        &self,
        py: Python<'py>,
        declared: Option<u64>,
        work: impl Sync + Fn(&mut Output<'static>) -> Result<(), CodecError>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if self.needs_chunk {
            return Err(raise("NotSupportedError", &without_chunk(&self.name)));
        }
        let limit = declared.map_or(self.memory, intermediate_limit).min(self.memory);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let bytes = detached(py, || {
            let mut output = Output::at_most(limit);
            work(&mut output).map(|()| output.into_written())
        })?;
        bytes.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| failed(&self.name, &error))
    }
}

/// Returns the names of the codecs of this build in documents of `format`, without those that are URIs.
#[pyfunction]
pub(crate) fn codec_names(format: &str) -> PyResult<Vec<&'static str>> {
    let format = format_named(format)?;
    let registry = linked()?;
    let reading = Reading::new(Mode::Lenient);
    let names = names_of(ExtensionPoint::Codec);
    Ok(names.filter(|name| registry.codecs().find(format, name, &reading).is_ok()).collect())
}

/// Returns the names of the data types of this build in documents of `format`, without those that are URIs.
#[pyfunction]
pub(crate) fn data_type_names(format: &str) -> PyResult<Vec<&'static str>> {
    let format = format_named(format)?;
    let registry = linked()?;
    let reading = Reading::new(Mode::Lenient);
    let names = names_of(ExtensionPoint::DataType);
    Ok(names.filter(|name| registry.data_types().find(format, name, &reading).is_ok()).collect())
}

pub(crate) fn linked() -> PyResult<Registry> {
    Registry::linked().map_err(|error| raise("PluginError", &error.to_string()))
}

fn names_of(point: ExtensionPoint) -> impl Iterator<Item = &'static str> {
    let entries = CATALOGUE.iter().filter(move |entry| entry.point == point);
    entries.flat_map(|entry| entry.identifiers.iter().copied()).filter(|name| !name.contains(':'))
}

/// Creates the codec for any bytes, or else for `chunk`, or else for the first of several arrays that it supports. If it
/// supports none, returns the error for the first array, because most codecs that refuse bytes convert elements.
fn created(
    creation: &Creation<'_>,
    registry: &Registry,
    chunk: Option<&Chunk>,
) -> Result<Created, CodecError> {
    if let Ok(codec) = registry.codec(creation, &Representation::Bytes(Size::Unknown)) {
        return Ok(Created { codec, needs_chunk: false });
    }
    if let Some(chunk) = chunk.and_then(|chunk| chunk.representation(registry)) {
        return Ok(Created { codec: registry.codec(creation, &chunk)?, needs_chunk: false });
    }
    let mut refusal = None;
    let names = TRIED_TYPES.into_iter().chain(data_types_of_package(creation, registry));
    let tried = names.flat_map(|name| TRIED_SHAPES.map(|shape| (name, shape)));
    for (name, shape) in tried {
        let Some(array) = small_array(registry, name, shape) else { continue };
        match registry.codec(creation, &array) {
            Ok(codec) => {
                let needs_chunk = matches!(codec, Codec::BytesToBytes(_) | Codec::Checksum(_));
                return Ok(Created { codec, needs_chunk });
            }
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal.unwrap_or_else(|| CodecError::Unsupported("this build does not have data types".to_owned())))
}

/// Returns the names of the data types that the package of a codec has. A plugin may have a codec for only these.
fn data_types_of_package(creation: &Creation<'_>, registry: &Registry) -> Vec<&'static str> {
    let codec = registry.codecs().find(creation.format, creation.identifier, creation.reading);
    let Ok(origin) = codec.map(|codec| codec.origin) else { return Vec::new() };
    let data_types = registry.data_types().iter().filter(|data_type| data_type.origin == origin);
    data_types.filter_map(|data_type| data_type.identifiers.name).collect()
}

/// Returns an array of a data type of v3 and a shape.
pub(crate) fn small_array(registry: &Registry, name: &str, shape: &[u64]) -> Option<Representation> {
    let document = DataTypeDocument::named(name);
    let created = registry.data_type(Format::V3, &document, &Reading::new(Mode::Lenient)).ok()?;
    let (data_type, byte_order) = created;
    let fill_value = data_type.default_fill_value();
    Some(Representation::Array(
        ArrayRepresentation::new(shape.to_vec(), data_type, fill_value).with_byte_order(byte_order),
    ))
}

fn add_checksum(checksum: &dyn Checksum, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
    let mut sum = vec![0; checksum.size()];
    checksum.checksum(decoded, &mut sum)?;
    let parts = if checksum.at_start() { [&sum, decoded] } else { [decoded, &sum] };
    parts.into_iter().try_for_each(|part| Ok(encoded.put(part)?))
}

fn remove_checksum(
    checksum: &dyn Checksum,
    encoded: &[u8],
    decoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let size = checksum.size();
    let Some(rest) = encoded.len().checked_sub(size) else {
        return Err(CodecError::corrupt(format!("{} bytes are shorter than the checksum", encoded.len())));
    };
    let (bytes, stored) = if checksum.at_start() {
        (&encoded[size..], &encoded[..size])
    } else {
        (&encoded[..rest], &encoded[rest..])
    };
    let mut sum = vec![0; size];
    checksum.checksum(bytes, &mut sum)?;
    if sum != stored {
        return Err(CodecError::corrupt("the checksum does not match the bytes"));
    }
    Ok(decoded.put(bytes)?)
}

/// Returns the reason why a codec of zarr-python or numcodecs is not used without a chunk.
fn without_chunk(name: &str) -> String {
    format!(
        "codec `{name}`: its encoded bytes do not contain the size of the chunk, and the caller does not pass it: read the \
         array with zarr_kit.open, or set `codec_pipeline.path` of zarr-python to zarr_kit.CodecPipeline"
    )
}

fn not_for_bytes() -> CodecError {
    CodecError::Unsupported("it converts elements, not bytes".to_owned())
}

pub(crate) fn failed(name: &str, error: &CodecError) -> PyErr {
    let class = match error {
        CodecError::InvalidConfiguration(_) => "InvalidInputError",
        CodecError::Unsupported(_) | CodecError::Inner(_) => "NotUnderstoodError",
        CodecError::Encode(_) => "ElementsError",
        CodecError::Corrupt(_) | CodecError::TooLarge(_) => "DamagedError",
        CodecError::OutOfMemory { .. } => "OutOfMemoryError",
        CodecError::Plugin { .. } => "PluginError",
        _ => "ZarrError",
    };
    raise(class, &format!("codec `{name}`: {error}"))
}
