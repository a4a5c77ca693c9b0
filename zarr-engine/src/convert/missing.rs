//! Missing elements as xarray defines them: by the fill value in v2, and by the attribute `_FillValue` in v3.
//!
//! Source: `FillValueCoder` and `ZarrStore.open_store_variable` in `xarray/backends/zarr.py` of xarray 2026.9.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zarr_metadata::ArrayMetadata;
use zarr_spec::data_type::FillContext;
use zarr_spec::{ByteOrder, DataType, FillValue, Format, Mode, Reading, Registry, Value};

use super::ConversionLoss;
use super::members::NAMES_ATTRIBUTE;

const MISSING_ATTRIBUTE: &str = "_FillValue";

/// Changes the metadata of a copy between v2 and v3 so that xarray finds the same missing elements as in `source`.
///
/// This applies to arrays with dimension names and to zero-dimensional arrays. Elements do not change.
/// `stores_every_chunk` returns whether all chunks of the source are stored: only then may the copy get a different
/// fill value. It is called only if the result matters.
///
/// Returns a loss if xarray will interpret elements of the copy differently.
///
/// # Errors
///
/// The errors of `stores_every_chunk`.
pub fn keep_missing_elements<E>(
    source: &ArrayMetadata,
    copy: &mut ArrayMetadata,
    registry: &Registry,
    stores_every_chunk: impl FnOnce() -> Result<bool, E>,
) -> Result<Option<ConversionLoss>, E> {
    let is_scalar = source.shape.is_empty();
    match (source.format, copy.format) {
        (Format::V2, Format::V3) if copy.dimension_names.is_some() => Ok(to_attribute(source, copy)),
        (Format::V3, Format::V2) if source.dimension_names.is_some() || is_scalar => {
            if is_scalar && !copy.attributes.contains(NAMES_ATTRIBUTE) {
                copy.attributes.insert(NAMES_ATTRIBUTE, Value::Array(Vec::new()));
            }
            to_fill_value(source, copy, registry, stores_every_chunk)
        }
        _ => Ok(None),
    }
}

/// Converts from v2, where elements equal to the fill value are missing, to v3.
fn to_attribute(source: &ArrayMetadata, copy: &mut ArrayMetadata) -> Option<ConversionLoss> {
    let is_null = source.fill_value.is_null();
    let missing = if is_null { source.attributes.get(MISSING_ATTRIBUTE)? } else { &copy.fill_value };
    if let Some(attribute) = encoded(type_name(copy), missing) {
        copy.attributes.insert(MISSING_ATTRIBUTE, attribute);
        return None;
    }
    let is_same = is_null || is_missing_itself(missing);
    (!is_same).then(|| {
        changed(format!(
            "xarray reads elements that equal {missing} as missing in v2; in v3 it does so only for numbers and booleans"
        ))
    })
}

/// Converts from v3, where elements equal to the attribute are missing, to v2.
fn to_fill_value<E>(
    source: &ArrayMetadata,
    copy: &mut ArrayMetadata,
    registry: &Registry,
    stores_every_chunk: impl FnOnce() -> Result<bool, E>,
) -> Result<Option<ConversionLoss>, E> {
    let Some(elements) = Elements::of(source, registry) else { return Ok(None) };
    let Some(fill) = elements.parse(&source.fill_value) else { return Ok(None) };
    // If the fill value of v2 is null, readers use the default of the data type.
    let is_default = fill == elements.data_type.default_fill_value();
    let attribute = source.attributes.get(MISSING_ATTRIBUTE);
    let Some(missing) = attribute.and_then(|attribute| decoded(type_name(source), attribute)) else {
        return without_missing(source, copy, is_default, stores_every_chunk);
    };
    let element = elements.parse(&missing);
    if let Some(value) = element.as_ref().and_then(|element| elements.in_v2(element))
        && (element == Some(fill) || stores_every_chunk()?)
    {
        copy.fill_value = value;
        copy.attributes.remove(MISSING_ATTRIBUTE);
        return Ok(None);
    }
    // If the fill value is null, xarray uses the attribute of v2 unchanged.
    let has_plain_form = missing.as_number().is_some() || missing.as_bool().is_some();
    if is_default && (has_plain_form || is_missing_itself(&missing)) {
        copy.fill_value = Value::Null;
        copy.attributes.remove(MISSING_ATTRIBUTE);
        if has_plain_form {
            copy.attributes.insert(MISSING_ATTRIBUTE, missing);
        }
        return Ok(None);
    }
    let after = &copy.fill_value;
    Ok(Some(changed(format!(
        "xarray will read elements that equal {after} as missing instead of those that equal {missing}"
    ))))
}

/// Converts an array without missing elements. The copy must not have a fill value that xarray would interpret as
/// missing.
fn without_missing<E>(
    source: &ArrayMetadata,
    copy: &mut ArrayMetadata,
    is_default: bool,
    stores_every_chunk: impl FnOnce() -> Result<bool, E>,
) -> Result<Option<ConversionLoss>, E> {
    if is_missing_itself(&source.fill_value) {
        return Ok(None);
    }
    if is_default || stores_every_chunk()? {
        copy.fill_value = Value::Null;
        return Ok(None);
    }
    let after = &copy.fill_value;
    Ok(Some(changed(format!(
        "xarray will read elements that equal {after} as missing, because it interprets fill values of v2 as missing"
    ))))
}

fn changed(reason: String) -> ConversionLoss {
    ConversionLoss { member: "fill_value".to_owned(), reason }
}

fn is_missing_itself(value: &Value) -> bool {
    matches!(value.as_str(), Some("NaN" | "NaT"))
}

struct Elements {
    data_type: Arc<dyn DataType>,
    reading: Reading,
}

impl Elements {
    fn of(source: &ArrayMetadata, registry: &Registry) -> Option<Self> {
        let reading = Reading::new(Mode::Lenient);
        let (data_type, _) = registry.data_type(source.format, &source.data_type, &reading).ok()?;
        Some(Self { data_type, reading })
    }

    fn parse(&self, json: &Value) -> Option<FillValue> {
        let context = FillContext::new(Format::V3, &self.reading);
        self.data_type.fill_value(json, &context).ok()
    }

    fn in_v2(&self, element: &FillValue) -> Option<Value> {
        self.data_type.fill_value_json(element.bytes(), Format::V2, &ByteOrder::Little).ok()
    }
}

fn type_name(array: &ArrayMetadata) -> &str {
    &array.data_type.identifier
}

/// Returns the v3 attribute for a fill value of a document; `None` if xarray cannot represent it.
fn encoded(data_type: &str, value: &Value) -> Option<Value> {
    match data_type {
        "bool" => value.as_bool().map(Value::from),
        "float16" | "float32" | "float64" => float_in_base64(data_type, value),
        "complex64" => parts(value, |part| float_in_base64("float32", part)),
        "complex128" => parts(value, |part| float_in_base64("float64", part)),
        _ if is_integer(data_type) => value.as_number().cloned().map(Value::from),
        _ => None,
    }
}

fn decoded(data_type: &str, attribute: &Value) -> Option<Value> {
    match data_type {
        "bool" => attribute.as_bool().map(Value::from),
        "float16" | "float32" | "float64" => float_of_base64(attribute),
        "complex64" | "complex128" => parts(attribute, float_of_base64),
        "string" => attribute.as_str().map(Value::from),
        _ if is_integer(data_type) => attribute.as_number().cloned().map(Value::from),
        _ => None,
    }
}

fn is_integer(data_type: &str) -> bool {
    let bits = data_type.strip_prefix('u').unwrap_or(data_type).strip_prefix("int");
    matches!(bits, Some("8" | "16" | "32" | "64"))
}

fn parts(value: &Value, part: impl Fn(&Value) -> Option<Value>) -> Option<Value> {
    match value.as_array()? {
        [real, imaginary] => Some([part(real)?, part(imaginary)?].into_iter().collect()),
        _ => None,
    }
}

/// Encodes the nearest float of `data_type` as a little-endian `float64` in base64.
fn float_in_base64(data_type: &str, value: &Value) -> Option<Value> {
    let float = match value {
        Value::Number(number) => match data_type {
            "float16" => half::f16::from_f64(number.as_f64()?).to_f64(),
            "float32" => f64::from(number.as_f32()?),
            _ => number.as_f64()?,
        },
        Value::String(text) => match text.as_str() {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            text if text == "NaN" || text.starts_with("0x") => f64::NAN,
            _ => return None,
        },
        _ => return None,
    };
    Some(Value::from(STANDARD.encode(float.to_le_bytes())))
}

fn float_of_base64(attribute: &Value) -> Option<Value> {
    let bytes = STANDARD.decode(attribute.as_str()?).ok()?;
    Some(Value::from(f64::from_le_bytes(bytes.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `FillValueCoder.encode` of xarray 2026.9.
    #[test]
    fn encodes_floats_as_xarray_does() {
        for (data_type, value, attribute) in [
            ("float32", Value::from("NaN"), "AAAAAAAA+H8="),
            ("float64", Value::from(-999.5), "AAAAAAA8j8A="),
            ("float32", Value::from(0.1f32), "AAAAoJmZuT8="),
            ("float16", Value::from(1), "AAAAAAAA8D8="),
        ] {
            let encoded = encoded(data_type, &value).unwrap();
            assert_eq!(encoded.as_str(), Some(attribute), "{data_type} {value}");
        }
        assert_eq!(decoded("float64", &"AAAAAAA8j8A=".into()), Some(Value::from(-999.5)));
        assert_eq!(decoded("float32", &"AAAAAAAA+H8=".into()), Some(Value::from("NaN")));
        for wrong in ["", "AAAA", "no base64"] {
            assert_eq!(decoded("float32", &wrong.into()), None, "{wrong}");
        }
    }

    #[test]
    fn integers_and_booleans_are_unchanged() {
        assert_eq!(encoded("int16", &Value::from(-32768)), Some(Value::from(-32768)));
        assert_eq!(encoded("bool", &Value::from(false)), Some(Value::from(false)));
        assert_eq!(encoded("uint64", &Value::from(u64::MAX)), Some(Value::from(u64::MAX)));
        assert_eq!(encoded("string", &Value::from("")), None);
        assert_eq!(encoded("int4", &Value::from(1)), None);
    }
}
