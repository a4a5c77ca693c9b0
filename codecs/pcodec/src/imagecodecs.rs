//! The codec under the name `imagecodecs_pcodec`, with the configuration of imagecodecs.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::{array, typestrings};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object,
    Representation, Value,
};

use crate::{Pcodec, numbers};

const NAME: &str = "imagecodecs_pcodec";

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name(NAME).with_id(NAME).with_aliases(&["numcodecs.imagecodecs_pcodec"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses numbers with pco.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_pcodec"}"#)
        .with_data_types(&["int16", "uint32", "int64", "float16", "float32", "float64"]),
    Example::v3(r#"{"name": "imagecodecs_pcodec", "configuration": {"level": 12, "pagesize": 8}}"#)
        .with_data_types(&["int16", "uint32", "int64", "float16", "float32", "float64"]),
    Example::v2(
        r#"{"id": "imagecodecs_pcodec", "shape": [4, 6], "dtype": "<i2", "level": null, "pagesize": null}"#,
    )
    .with_data_types(&["int16"])
    .with_shape(&[4, 6]),
];

/// The configuration of imagecodecs. In v2, and in v3 as `numcodecs.imagecodecs_pcodec`, `shape` and `dtype` are required
/// and repeat the shape and the data type of the chunk.
#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    shape: Option<Vec<u64>>,
    dtype: Option<String>,
    level: Option<usize>,
    pagesize: Option<usize>,
}

impl ImagecodecsConfiguration {
    fn codec(&self) -> Result<Pcodec, CodecError> {
        let codec = Pcodec::new(self.level.unwrap_or(8))?;
        match self.pagesize {
            Some(size) => codec.with_page_size(size),
            None => Ok(codec),
        }
    }

    fn check_repeated(&self, creation: &Creation<'_>, array: &ArrayRepresentation) -> Result<(), CodecError> {
        if creation.format == Format::V3 && creation.identifier == NAME {
            return Ok(());
        }
        let (Some(shape), Some(dtype)) = (&self.shape, &self.dtype) else {
            return Err(CodecError::configuration(
                "`shape` or `dtype` is missing; expected those of the chunk",
            ));
        };
        if *shape != array.shape {
            let expected = &array.shape;
            return Err(CodecError::configuration(format!(
                "`shape` is {shape:?}, but the chunk has shape {expected:?}"
            )));
        }
        let (dtype, order) = typestrings::data_type(creation, "dtype", dtype)?;
        typestrings::check_same(creation, "dtype", &*dtype, &order, array)
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let configuration: ImagecodecsConfiguration = creation.parse()?;
    let array = array(decoded)?;
    configuration.check_repeated(creation, array)?;
    if numbers::numbers(array)?.is_of_zarrs {
        let name = array.data_type.name();
        return Err(CodecError::Unsupported(format!("imagecodecs does not compress data type `{name}`")));
    }
    Ok(Codec::ArrayToBytes(Arc::new(configuration.codec()?)))
}

/// Writes the members that imagecodecs writes in format `to`.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> Result<Object, CodecError> {
    let configuration: ImagecodecsConfiguration = creation.parse()?;
    let array = array(decoded)?;
    configuration.check_repeated(creation, array)?;
    configuration.codec()?;
    let mut members = Object::new();
    if to == Format::V2 {
        members.insert("shape", array.shape.iter().map(|&size| Value::from(size)).collect::<Value>());
        let (name, dtype) = typestrings::member("dtype", array, to)?;
        members.insert(name, dtype);
    }
    for (name, value) in [("level", configuration.level), ("pagesize", configuration.pagesize)] {
        if let Some(value) = value {
            members.insert(name, value);
        }
    }
    Ok(members)
}
