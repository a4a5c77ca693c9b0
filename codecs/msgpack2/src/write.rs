//! Writing values as MessagePack.

use rmp::encode::{
    ValueWriteError, write_array_len, write_bool, write_f32, write_f64, write_map_len, write_nil, write_sint,
    write_str_len, write_uint,
};
use zarr_spec::Number;
use zarr_spec::{CodecError, Output, Value};

use crate::Msgpack2;

pub(crate) fn value(codec: Msgpack2, encoded: &mut Output<'_>, value: &Value) -> Result<(), CodecError> {
    match value {
        Value::Null => write_nil(encoded).map_err(CodecError::encode),
        Value::Bool(truth) => write_bool(encoded, *truth).map_err(CodecError::encode),
        Value::Number(number) => self::number(codec, encoded, number),
        Value::String(text) => self::text(codec, encoded, text),
        Value::Array(items) => {
            written(write_array_len(encoded, length(items.len())?))?;
            items.iter().try_for_each(|item| self::value(codec, encoded, item))
        }
        Value::Object(members) => {
            written(write_map_len(encoded, length(members.len())?))?;
            members.iter().try_for_each(|(name, member)| {
                text(codec, encoded, name)?;
                self::value(codec, encoded, member)
            })
        }
    }
}

fn number(codec: Msgpack2, encoded: &mut Output<'_>, number: &Number) -> Result<(), CodecError> {
    let no_form = || CodecError::encode(format!("MessagePack cannot represent the number {number}"));
    if number.is_integer() {
        return match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => written(write_uint(encoded, number)),
            (None, Some(number)) => written(write_sint(encoded, number)),
            (None, None) => Err(no_form()),
        };
    }
    // A number such as 1e999 is finite in JSON, but becomes infinite as a float, and is refused. `Infinity` is written.
    let fits = |is_finite: bool| is_finite || !number.is_finite_token();
    if codec.use_single_float {
        let single = number.as_f32().filter(|single| fits(single.is_finite())).ok_or_else(no_form)?;
        return written(write_f32(encoded, single));
    }
    let double = number.as_f64().filter(|double| fits(double.is_finite())).ok_or_else(no_form)?;
    written(write_f64(encoded, double))
}

fn text(codec: Msgpack2, encoded: &mut Output<'_>, text: &str) -> Result<(), CodecError> {
    match u8::try_from(text.len()) {
        Ok(length @ 32..) if !codec.use_bin_type => encoded.put(&[0xda, 0, length])?,
        _ => written(write_str_len(encoded, length(text.len())?).map(drop))?,
    }
    Ok(encoded.put(text.as_bytes())?)
}

fn length(length: usize) -> Result<u32, CodecError> {
    u32::try_from(length)
        .map_err(|_| CodecError::encode("more than 2^32 - 1 items, members or bytes of text"))
}

/// Preserves an error of [`Output`].
fn written<T>(result: Result<T, ValueWriteError>) -> Result<(), CodecError> {
    let inside = |error| match error {
        ValueWriteError::InvalidMarkerWrite(error) | ValueWriteError::InvalidDataWrite(error) => error,
    };
    result.map(drop).map_err(|error| CodecError::encode(inside(error)))
}
