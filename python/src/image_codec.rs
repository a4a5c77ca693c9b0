//! Codecs of images for numcodecs, which passes an encoded chunk without its data type and its shape.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zarr_kit::spec::codec::{ArrayToBytesCodec, Codec, CodecError};
use zarr_kit::spec::{ArrayRepresentation, Creation, Output, Reading, Representation};
use zarr_kit::{Format, Limits, Mode};

use crate::calls::detached;
use crate::codec::{failed, linked, small_array};
use crate::elements::Source;
use crate::failure::raise;
use crate::images::described;
use crate::json;

/// Encodes the elements of an array, in native byte order, with the codec `name` of v2. `array` is the name of the data
/// type, and the shape.
#[pyfunction]
pub(crate) fn encode_image<'py>(
    name: &str,
    configuration: &str,
    array: (String, Vec<u64>),
    elements: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = elements.py();
    let elements = Source::new(elements)?;
    let image = ImageCodec::open(name, configuration, &array.0, &array.1)?;
    image.run(py, |output| image.codec.encode(&image.array, elements.bytes(), output))
}

/// Decodes an image whose header describes its elements, with the codec `name` of v2. Returns the elements in native
/// byte order, the name of their data type, and their shape.
#[pyfunction]
pub(crate) fn decode_image<'py>(
    name: &str,
    configuration: &str,
    encoded: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, &'static str, Vec<u64>)> {
    let py = encoded.py();
    let encoded = Source::new(encoded)?;
    let mut refusal = None;
    for form in described(encoded.bytes()) {
        let image = ImageCodec::open(name, configuration, form.data_type, &form.shape)?;
        match image.run(py, |output| image.codec.decode(&image.array, encoded.bytes(), output)) {
            Ok(elements) => return Ok((elements, form.data_type, form.shape)),
            Err(error) => refusal = Some(error),
        }
    }
    let unknown =
        || format!("codec `{name}`: the bytes are not an image whose header describes its elements");
    Err(refusal.unwrap_or_else(|| raise("DamagedError", &unknown())))
}

/// A codec for images of one data type and one shape.
struct ImageCodec<'n> {
    name: &'n str,
    codec: Arc<dyn ArrayToBytesCodec>,
    array: ArrayRepresentation,
}

impl<'n> ImageCodec<'n> {
    fn open(name: &'n str, configuration: &str, data_type: &str, shape: &[u64]) -> PyResult<Self> {
        let configuration = json::value(configuration)?;
        let registry = linked()?;
        let array = small_array(&registry, data_type, shape);
        let Some(Representation::Array(array)) = array else {
            return Err(raise("ElementsError", &format!("codec `{name}`: elements of type {data_type}")));
        };
        let reading = Reading::new(Mode::Lenient);
        let creation = Creation::new(name, &configuration, Format::V2, &registry, &reading);
        match registry.codec(&creation, &Representation::Array(array.clone())) {
            Ok(Codec::ArrayToBytes(codec)) => Ok(Self { name, codec, array }),
            Ok(_) => Err(raise("NotUnderstoodError", &format!("codec `{name}` is not a codec for images"))),
            Err(error) => Err(failed(name, &error)),
        }
    }

    fn run<'py>(
        &self,
        py: Python<'py>,
        work: impl Sync + Fn(&mut Output<'static>) -> Result<(), CodecError>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let limit = usize::try_from(Limits::default().memory).unwrap_or(usize::MAX);
        let bytes = detached(py, || {
            let mut output = Output::at_most(limit);
            work(&mut output).map(|()| output.into_written())
        })?;
        bytes.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| failed(self.name, &error))
    }
}
