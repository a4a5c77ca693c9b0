//! Reading values from MessagePack.

use rmp::Marker;
use rmp::decode::{RmpRead, ValueReadError, bytes::Bytes, bytes::BytesReadError, read_marker};
use zarr_json::{Number, ValueMemory};
use zarr_plugin_kit::json_items;
use zarr_spec::{CodecError, Object, Value};

/// Reads `encoded` as exactly one value, nested to at most `depth` levels.
pub(crate) fn document(encoded: &[u8], depth: usize) -> Result<Value, CodecError> {
    let mut memory = ValueMemory::of_documents(json_items::counted_size(encoded.len()));
    let mut encoded = Bytes::new(encoded);
    let document = value(&mut encoded, depth, &mut memory)?;
    match encoded.remaining_slice().len() {
        0 => Ok(document),
        more => Err(CodecError::corrupt(format!("{more} bytes follow the value"))),
    }
}

fn value(encoded: &mut Bytes<'_>, depth: usize, memory: &mut ValueMemory) -> Result<Value, CodecError> {
    let marker = read_marker(encoded).map_err(|_| ends())?;
    Ok(match marker {
        Marker::Null => Value::Null,
        Marker::True => Value::Bool(true),
        Marker::False => Value::Bool(false),
        Marker::FixPos(number) => integer(number),
        Marker::FixNeg(number) => integer(number),
        Marker::U8 => integer(read(encoded.read_data_u8())?),
        Marker::U16 => integer(read(encoded.read_data_u16())?),
        Marker::U32 => integer(read(encoded.read_data_u32())?),
        Marker::U64 => integer(read(encoded.read_data_u64())?),
        Marker::I8 => integer(read(encoded.read_data_i8())?),
        Marker::I16 => integer(read(encoded.read_data_i16())?),
        Marker::I32 => integer(read(encoded.read_data_i32())?),
        Marker::I64 => integer(read(encoded.read_data_i64())?),
        Marker::F32 => real(f64::from(read(encoded.read_data_f32())?))?,
        Marker::F64 => real(read(encoded.read_data_f64())?)?,
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
            memory.string(text(encoded, marker)?).map_err(CodecError::corrupt)?
        }
        Marker::FixArray(length) => list(u32::from(length), encoded, depth, memory)?,
        Marker::Array16 => list(u32::from(read(encoded.read_data_u16())?), encoded, depth, memory)?,
        Marker::Array32 => list(read(encoded.read_data_u32())?, encoded, depth, memory)?,
        Marker::FixMap(length) => map(u32::from(length), encoded, depth, memory)?,
        Marker::Map16 => map(u32::from(read(encoded.read_data_u16())?), encoded, depth, memory)?,
        Marker::Map32 => map(read(encoded.read_data_u32())?, encoded, depth, memory)?,
        other => return Err(CodecError::corrupt(format!("{other:?} cannot be represented in JSON"))),
    })
}

/// Reads a list. Does not reserve memory for the declared length; each item takes at least a byte, which
/// bounds the result.
fn list(
    length: u32,
    encoded: &mut Bytes<'_>,
    depth: usize,
    memory: &mut ValueMemory,
) -> Result<Value, CodecError> {
    let depth = deeper(depth)?;
    let mut items = Vec::new();
    for _ in 0..length {
        let item = value(encoded, depth, memory)?;
        memory.push(&mut items, item).map_err(CodecError::corrupt)?;
    }
    memory.array(items).map_err(CodecError::corrupt)
}

/// Reads a map. If a name occurs twice, the last member counts.
fn map(
    length: u32,
    encoded: &mut Bytes<'_>,
    depth: usize,
    memory: &mut ValueMemory,
) -> Result<Value, CodecError> {
    let depth = deeper(depth)?;
    let mut members = Object::new();
    for _ in 0..length {
        let marker = read_marker(encoded).map_err(|_| ends())?;
        let name = text(encoded, marker)?;
        let value = value(encoded, depth, memory)?;
        match members.get_mut(&name) {
            Some(first) => *first = value,
            None => memory.append(&mut members, &name, value).map_err(CodecError::corrupt)?,
        }
    }
    memory.object(members).map_err(CodecError::corrupt)
}

fn deeper(depth: usize) -> Result<usize, CodecError> {
    depth.checked_sub(1).ok_or_else(|| CodecError::corrupt("items are nested too deeply"))
}

fn text(encoded: &mut Bytes<'_>, marker: Marker) -> Result<String, CodecError> {
    let length = match marker {
        Marker::FixStr(length) => u32::from(length),
        Marker::Str8 => u32::from(read(encoded.read_data_u8())?),
        Marker::Str16 => u32::from(read(encoded.read_data_u16())?),
        Marker::Str32 => read(encoded.read_data_u32())?,
        other => return Err(CodecError::corrupt(format!("a name is {other:?}; expected text"))),
    };
    let length = usize::try_from(length).map_err(|_| ends())?;
    let rest = encoded.remaining_slice();
    let (text, rest) = rest.split_at_checked(length).ok_or_else(ends)?;
    *encoded = Bytes::new(rest);
    let text =
        str::from_utf8(text).map_err(|error| CodecError::corrupt(format!("text is not UTF-8: {error}")))?;
    Ok(text.to_owned())
}

fn integer(number: impl Into<Number>) -> Value {
    Value::Number(number.into())
}

/// Represents NaN and infinities like Python's `json`.
fn real(number: f64) -> Result<Value, CodecError> {
    match Number::from_f64(number) {
        Some(number) => Ok(Value::Number(number)),
        None if number.is_nan() => item("NaN"),
        None if number > 0.0 => item("Infinity"),
        None => item("-Infinity"),
    }
}

fn item(token: &str) -> Result<Value, CodecError> {
    json_items::item(token.as_bytes()).map_err(CodecError::corrupt)
}

fn read<T>(result: Result<T, ValueReadError<BytesReadError>>) -> Result<T, CodecError> {
    result.map_err(|_| ends())
}

fn ends() -> CodecError {
    CodecError::corrupt("the bytes end within a value")
}
