//! Codecs of the Python packages numcodecs and imagecodecs, which a program enables by name.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zarr_kit::Registry;
use zarr_kit::spec::codec::{ArrayToBytesCodec, BytesToBytesCodec, Codec, CodecError, CodecPlugin};
use zarr_kit::spec::{
    ArrayRepresentation, ByteOrder, Creation, Identifiers, Origin, Output, Representation, Size, Value,
};

use crate::context::change_registry;
use crate::data_type::description;
use crate::elements::copy_bytes;
use crate::failure::raise;

/// Adds the codec `name` to the codecs of the nodes that are opened later. `open` returns a codec object for a
/// configuration as a JSON text.
#[pyfunction]
pub(crate) fn add_codec(name: String, open: Py<PyAny>) -> PyResult<()> {
    change_registry(|registry| register(registry, name, open))
}

/// Registers a codec. It remains registered until the process ends, so its name and its functions are leaked.
fn register(registry: &mut Registry, name: String, open: Py<PyAny>) -> PyResult<()> {
    let name: &'static str = name.leak();
    let alias: &'static str = format!("numcodecs.{name}").leak();
    let aliases: &'static [&'static str] = vec![alias].leak();
    let identifiers = Identifiers::name(name).with_id(name).with_aliases(aliases);
    let create = move |creation: &Creation<'_>, decoded: &Representation| {
        let configuration = match creation.configuration {
            Value::Null => "{}".to_owned(),
            configuration => configuration.to_string(),
        };
        let codec = Python::attach(|py| open.call1(py, (configuration,)));
        let codec = Arc::new(PythonCodec {
            name,
            codec: codec.map_err(|error| CodecError::configuration(error.to_string()))?,
        });
        Ok(match decoded {
            Representation::Array(_) => Codec::ArrayToBytes(codec),
            Representation::Bytes(_) => Codec::BytesToBytes(codec),
        })
    };
    let plugin = CodecPlugin::new(identifiers, Box::leak(Box::new(create)));
    let plugin = plugin.from(Origin::new("the Python package numcodecs", ""));
    registry.register(plugin).map_err(|error| raise("InvalidInputError", &error.to_string()))
}

/// A codec object of Python with the methods `encode` and `decode`.
#[derive(Debug)]
struct PythonCodec {
    name: &'static str,
    codec: Py<PyAny>,
}

impl PythonCodec {
    /// Appends the bytes that `method` returns for `bytes`. These are the elements of `array`, or any bytes if it is
    /// `None`.
    fn call(
        &self,
        method: &str,
        array: Option<&ArrayRepresentation>,
        bytes: &[u8],
        output: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let result = Python::attach(|py| {
            let argument = PyBytes::new(py, bytes);
            let described = array.map(|array| described(py, array)).transpose()?;
            let returned = self.codec.call_method1(py, method, (argument, described))?;
            copy_bytes(returned.bind(py))
        });
        let bytes = result.map_err(|error| {
            let message = error.to_string();
            CodecError::Plugin { plugin: format!("codec {} of numcodecs", self.name), message }
        })?;
        Ok(output.put(&bytes)?)
    }
}

/// Returns the shape, the data type, and whether the byte order is big endian.
fn described<'py>(py: Python<'py>, array: &ArrayRepresentation) -> PyResult<Bound<'py, PyAny>> {
    let data_type = description(py, &*array.data_type)?;
    let is_big_endian = array.byte_order == ByteOrder::Big;
    Ok((array.shape.clone(), data_type, is_big_endian).into_pyobject(py)?.into_any())
}

impl BytesToBytesCodec for PythonCodec {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.call("encode", None, decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.call("decode", None, encoded, decoded)
    }
}

impl ArrayToBytesCodec for PythonCodec {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        match array.data_type.elements().size() {
            Some(_) => Ok(Size::Unknown),
            None => Err(CodecError::Unsupported(format!(
                "codec `{}` of numcodecs: elements of a variable size are not supported",
                self.name
            ))),
        }
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        self.call("encode", Some(array), decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        self.call("decode", Some(array), encoded, decoded)
    }
}
