//! JSON between Python and the engine, as text.

use pyo3::PyResult;
use zarr_kit::json::{ParseOptions, parse, to_item};
use zarr_kit::spec::{Object, Value};

use crate::failure::raise;

/// Parses a JSON text from Python.
pub(crate) fn value(text: &str) -> PyResult<Value> {
    let parsed = parse(text.as_bytes(), &ParseOptions::default());
    Ok(parsed.map_err(|error| raise("InvalidInputError", &error.to_string()))?.value)
}

/// Parses a JSON object from Python.
pub(crate) fn object(text: &str) -> PyResult<Object> {
    match value(text)? {
        Value::Object(object) => Ok(object),
        other => Err(raise("InvalidInputError", &format!("expected an object, found {}", other.kind_name()))),
    }
}

/// Writes an object for Python, which also reads `NaN` and infinities.
pub(crate) fn text(object: &Object) -> String {
    to_item(&Value::Object(object.clone()))
}

/// Writes a string.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
