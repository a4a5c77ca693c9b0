//! Encoding values as MessagePack objects.

use rmp::encode::{self, ValueWriteError};
use zarr_spec::Number;
use zarr_spec::{BoxError, Invalid, Value};

use crate::NUMBER_TEXT;

pub(crate) fn document(value: &Value) -> Result<Vec<u8>, BoxError> {
    let mut bytes = Vec::new();
    object(value, &mut bytes)?;
    Ok(bytes)
}

fn object(value: &Value, bytes: &mut Vec<u8>) -> Result<(), BoxError> {
    match value {
        Value::Null => encode::write_nil(bytes)?,
        Value::Bool(value) => encode::write_bool(bytes, *value)?,
        Value::Number(number) => self::number(number, bytes)?,
        Value::String(string) => text(string, bytes)?,
        Value::Array(elements) => {
            encode::write_array_len(bytes, length(elements.len())?)?;
            elements.iter().try_for_each(|element| object(element, bytes))?;
        }
        Value::Object(members) => {
            encode::write_map_len(bytes, length(members.len())?)?;
            for (name, value) in members.iter() {
                text(name, bytes)?;
                object(value, bytes)?;
            }
        }
    }
    Ok(())
}

fn text(text: &str, bytes: &mut Vec<u8>) -> Result<(), BoxError> {
    length(text.len())?;
    Ok(encode::write_str(bytes, text)?)
}

fn number(number: &Number, bytes: &mut Vec<u8>) -> Result<(), BoxError> {
    let text = number.text();
    if !number.is_finite_token() {
        return Err(Invalid::new(format!("`{text}` is not a JSON number and cannot be written")).into());
    }
    let is_integer = number.is_integer() && text != "-0";
    match (number.as_u64(), number.as_i64()) {
        (Some(value), _) if is_integer => encode::write_uint(bytes, value).map(drop).map_err(boxed),
        (_, Some(value)) if is_integer => encode::write_sint(bytes, value).map(drop).map_err(boxed),
        _ => match number.as_f64().filter(|value| Number::from_f64(*value).as_ref() == Some(number)) {
            Some(value) => encode::write_f64(bytes, value).map_err(boxed),
            None => {
                encode::write_ext_meta(bytes, length(text.len())?, NUMBER_TEXT)?;
                bytes.extend(text.as_bytes());
                Ok(())
            }
        },
    }
}

fn boxed(error: ValueWriteError) -> BoxError {
    error.into()
}

fn length(length: usize) -> Result<u32, Invalid> {
    u32::try_from(length)
        .map_err(|_| Invalid::new(format!("the length {length} exceeds the limit of MessagePack")))
}
