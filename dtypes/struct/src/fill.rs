//! Fill values of structures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zarr_spec::data_type::{Field, FillContext};
use zarr_spec::{ByteOrder, DataTypeError, DataTypeResult, Format, Object, Value};

use crate::{Structure, is_big, size_of};

/// Parses an element, in native byte order.
pub(crate) fn parse(
    structure: &Structure,
    json: &Value,
    context: &FillContext<'_>,
) -> DataTypeResult<Vec<u8>> {
    match (json, context.format) {
        (Value::String(text), Format::V2 | Format::V3Draft) => from_base64(structure, text, context),
        (Value::String(text), Format::V3) if structure.is_old => from_base64(structure, text, context),
        (Value::Object(members), Format::V3 | Format::V3Draft) => from_object(structure, members, context),
        (_, Format::V2) => Err(wrong(format!("{json} is not the Base64 of a structure"))),
        _ => Err(wrong(format!("{json} is not an object with a member for each field"))),
    }
}

/// Writes a form that is read as the same bytes.
pub(crate) fn to_json(
    structure: &Structure,
    element: &[u8],
    format: Format,
    order: &ByteOrder,
) -> DataTypeResult<Value> {
    match format {
        Format::V2 | Format::V3Draft => {
            let mut stored = element.to_vec();
            reorder(structure, order, &mut stored);
            Ok(Value::from(STANDARD.encode(stored)))
        }
        Format::V3 => {
            let member = |(field, order): (&Field, &ByteOrder)| {
                let part = &element[field.offset..][..size_of(field)];
                if field.name.is_empty() || !field.shape.is_empty() {
                    return Err(wrong("v3 cannot represent padding and sub-arrays".to_owned()));
                }
                Ok((field.name.clone(), field.data_type.fill_value_json(part, format, order)?))
            };
            let orders = structure.field_orders(order);
            structure.fields.iter().zip(&orders).map(member).collect::<Result<Object, _>>().map(Value::Object)
        }
    }
}

fn wrong(what: String) -> DataTypeError {
    DataTypeError::FillValue(what)
}

/// Decodes the stored bytes of an element. Readers of v2 agree on padding with zeros and on truncating.
fn from_base64(structure: &Structure, text: &str, context: &FillContext<'_>) -> DataTypeResult<Vec<u8>> {
    let bytes = STANDARD.decode(text).map_err(|error| wrong(format!("\"{text}\" is not Base64: {error}")))?;
    if bytes.len() != structure.size {
        let what = format!("fill value \"{text}\" has {} bytes; expected {}", bytes.len(), structure.size);
        match context.format {
            Format::V2 => context.reading.tolerate(what).map_err(|invalid| wrong(invalid.to_string()))?,
            Format::V3 | Format::V3Draft => return Err(wrong(what)),
        }
    }
    let mut element = bytes;
    element.resize(structure.size, 0);
    reorder(structure, context.byte_order, &mut element);
    Ok(element)
}

/// Converts between native byte order and the stored `order`, in both directions.
fn reorder(structure: &Structure, order: &ByteOrder, element: &mut [u8]) {
    let native = cfg!(target_endian = "big");
    for (number, unit) in structure.units.iter().enumerate() {
        if is_big(order, number) != native {
            element[unit.offset..][..unit.size].reverse();
        }
    }
}

/// Reads an object with exactly one member for each field.
fn from_object(
    structure: &Structure,
    members: &Object,
    context: &FillContext<'_>,
) -> DataTypeResult<Vec<u8>> {
    let known = |name: &str| structure.named_fields().any(|field| field.name == name);
    if let Some(unknown) = members.keys().find(|name| !known(name)) {
        return Err(wrong(format!("unknown field `{unknown}`")));
    }
    let mut element = vec![0; structure.size];
    for (field, order) in structure.fields.iter().zip(&structure.field_orders(context.byte_order)) {
        if field.name.is_empty() {
            continue;
        }
        if !field.shape.is_empty() {
            return Err(wrong(format!("field `{}` is an array; use Base64 for the fill value", field.name)));
        }
        let json =
            members.get(&field.name).ok_or_else(|| wrong(format!("field `{}` is missing", field.name)))?;
        let inner = context.with_byte_order(order);
        let part = field.data_type.fill_value(json, &inner).map_err(|error| {
            let what = match error {
                DataTypeError::FillValue(what) => what,
                other => other.to_string(),
            };
            wrong(format!("field `{}`: {what}", field.name))
        })?;
        element[field.offset..][..size_of(field)].copy_from_slice(part.bytes());
    }
    Ok(element)
}
