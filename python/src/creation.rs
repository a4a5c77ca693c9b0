//! Descriptions of new arrays, from JSON.

use pyo3::PyResult;
use zarr_kit::spec::{Invalid, Object, Value};
use zarr_kit::{ArrayBuilder, Format};

use crate::failure::raise;

/// Returns the format that Python names.
pub(crate) fn format_named(name: &str) -> PyResult<Format> {
    name.parse().map_err(|error: Invalid| invalid(&error.to_string()))
}

/// Returns the builder of the array that `description` describes. Its fill value may also be given as the bytes of an
/// element.
pub(crate) fn array_builder(description: &Object, fill_value: Option<&[u8]>) -> PyResult<ArrayBuilder> {
    let shape = lengths(description, "shape")?.ok_or_else(|| invalid("`shape` is missing"))?;
    let data_type = member(description, "data_type").ok_or_else(|| invalid("`data_type` is missing"))?;
    let mut builder = ArrayBuilder::new(shape, data_type.clone());
    if let Some(chunks) = lengths(description, "chunks")? {
        builder = builder.chunks(chunks);
    }
    if let Some(shards) = lengths(description, "shards")? {
        builder = builder.shards(shards);
    }
    if let Some(fill) = member(description, "fill_value") {
        builder = builder.fill_value(fill.clone());
    }
    if member(description, "fill_is_undefined").and_then(Value::as_bool) == Some(true) {
        builder = builder.fill_value(Value::Null);
    }
    if let Some(element) = fill_value {
        builder = builder.fill_element(element);
    }
    builder = with_codecs(builder, description)?;
    if member(description, "only_filters").and_then(Value::as_bool) == Some(true) {
        builder = builder.without_compressor();
    }
    builder = with_names(builder, description)?;
    if let Some(order) = text(description, "order")? {
        builder = builder.order(order.parse().map_err(|error: Invalid| invalid(&error.to_string()))?);
    }
    if let Some(separator) = text(description, "separator")? {
        builder = builder.separator(separator);
    }
    if let Some(encoding) = member(description, "chunk_key_encoding") {
        builder = builder.chunk_key_encoding(encoding.clone());
    }
    if let Some(grid) = member(description, "chunk_grid") {
        builder = builder.chunk_grid(grid.clone());
    }
    if let Some(attributes) = member(description, "attributes") {
        builder = builder.attributes(attributes.clone());
    }
    Ok(builder)
}

/// Adds the codecs from a list of pairs of an identifier and a configuration. An empty list means no codecs.
fn with_codecs(builder: ArrayBuilder, description: &Object) -> PyResult<ArrayBuilder> {
    let Some(codecs) = member(description, "codecs") else { return Ok(builder) };
    let codecs = codecs.as_array().ok_or_else(|| invalid("`codecs` is not a list"))?;
    codecs.iter().try_fold(builder.uncompressed(), |builder, codec| match codec.as_array() {
        Some([Value::String(name), configuration]) => {
            Ok(builder.codec((name.to_string(), configuration.clone())))
        }
        _ => Err(invalid("a codec is not a pair of an identifier and a configuration")),
    })
}

fn with_names(builder: ArrayBuilder, description: &Object) -> PyResult<ArrayBuilder> {
    let Some(names) = member(description, "dimension_names") else { return Ok(builder) };
    let names = names.as_array().ok_or_else(|| invalid("`dimension_names` is not a list"))?;
    let names: Vec<Option<String>> = names.iter().map(|name| name.as_str().map(str::to_owned)).collect();
    Ok(builder.dimension_names(names))
}

fn member<'d>(description: &'d Object, name: &str) -> Option<&'d Value> {
    description.get(name).filter(|value| !value.is_null())
}

fn lengths(description: &Object, name: &str) -> PyResult<Option<Vec<u64>>> {
    let Some(list) = member(description, name) else { return Ok(None) };
    let lengths = list.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
    match lengths {
        Some(lengths) => Ok(Some(lengths)),
        None => Err(invalid(&format!("`{name}` is {list} (expected a list of lengths)"))),
    }
}

fn text(description: &Object, name: &str) -> PyResult<Option<String>> {
    match member(description, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        Some(other) => Err(invalid(&format!("`{name}` is {other} (expected text)"))),
    }
}

fn invalid(reason: &str) -> pyo3::PyErr {
    raise("InvalidInputError", reason)
}
