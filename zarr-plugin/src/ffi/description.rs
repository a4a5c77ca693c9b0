//! The description of a data type and its documents, as JSON that one side writes and the other reads.

use std::sync::Arc;

use zarr_spec::data_type::{DataTypeDocument, Field, Kind, MAX_ELEMENT_SIZE};
use zarr_spec::{DataType, Elements, Object, Unit, Units, Value, json};

use crate::abi;

const KINDS: [(Kind, u32); 6] = [
    (Kind::Bool, abi::KIND_BOOL),
    (Kind::Int, abi::KIND_INT),
    (Kind::UInt, abi::KIND_UINT),
    (Kind::Float, abi::KIND_FLOAT),
    (Kind::BFloat, abi::KIND_BFLOAT),
    (Kind::Complex, abi::KIND_COMPLEX),
];

/// Returns the number of a kind of elements.
#[must_use]
pub fn kind_number(kind: Option<Kind>) -> u32 {
    let found = kind.and_then(|kind| KINDS.into_iter().find(|(known, _)| *known == kind));
    found.map_or(abi::KIND_OPAQUE, |(_, number)| number)
}

pub(crate) fn kind_of(number: u64) -> Option<Kind> {
    KINDS.into_iter().find(|(_, known)| u64::from(*known) == number).map(|(kind, _)| kind)
}

pub(crate) fn description(data_type: &dyn DataType) -> Value {
    let mut members = Object::new();
    members.insert("name", data_type.name().as_ref());
    members.insert("kind", u64::from(kind_number(data_type.kind())));
    match data_type.elements() {
        Elements::Variable => {
            members.insert("size", Value::Null);
        }
        Elements::Fixed { size, units } => {
            members.insert("size", size as u64);
            match units {
                Units::Uniform(unit) => members.insert("unit_size", unit as u64),
                Units::Fields(units) => members.insert(
                    "units",
                    units
                        .iter()
                        .map(|unit| json!([(unit.offset as u64), (unit.size as u64)]))
                        .collect::<Vec<_>>(),
                ),
            };
        }
    }
    members.insert("default_fill_value", bytes_json(data_type.default_fill_value().bytes()));
    members.insert("settles", data_type.settles());
    members.insert("may_omit_byte_order", data_type.may_omit_byte_order());
    if let Some(fields) = data_type.fields() {
        members.insert("fields", fields.iter().map(field_json).collect::<Vec<_>>());
    }
    if data_type.optional().is_some() {
        members.insert("optional", true);
    }
    Value::Object(members)
}

fn field_json(field: &Field) -> Value {
    let shape: Vec<Value> = field.shape.iter().map(|&length| Value::from(length as u64)).collect();
    json!({"name": (field.name.as_str()), "shape": (Value::Array(shape)), "offset": (field.offset as u64)})
}

pub(crate) fn bytes_json(bytes: &[u8]) -> Value {
    bytes.iter().map(|&byte| u64::from(byte)).collect::<Vec<u64>>().into_iter().collect()
}

pub(crate) fn bytes_of(json: &Value) -> Option<Vec<u8>> {
    json.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
}

pub(crate) fn document_json(document: &DataTypeDocument) -> Value {
    let mut members = Object::new();
    members.insert("identifier", document.identifier.as_str());
    members.insert("json", document.json.clone());
    members.insert("configuration", document.configuration.clone());
    members.insert("type", document.type_name.clone().unwrap_or(Value::Null));
    members.insert("fallback", document.fallback.iter().map(document_json).collect::<Vec<_>>());
    Value::Object(members)
}

pub(crate) fn elements_of(members: &Object) -> Option<Elements> {
    let size = match members.get("size")? {
        Value::Null => return Some(Elements::Variable),
        size => number(size).filter(|&size| size <= MAX_ELEMENT_SIZE)?,
    };
    let units = match (members.get("unit_size"), members.get("units")) {
        (Some(unit), None) => {
            Units::Uniform(number(unit).filter(|&unit| unit > 0 && size.is_multiple_of(unit))?)
        }
        (None, Some(units)) => {
            let unit = |unit: &Value| match unit.as_array()? {
                [offset, length] => {
                    let unit = Unit { offset: number(offset)?, size: number(length)? };
                    (unit.offset.checked_add(unit.size)? <= size).then_some(unit)
                }
                _ => None,
            };
            let units: Option<Vec<Unit>> = units.as_array()?.iter().map(unit).collect();
            Units::Fields(units?.into())
        }
        _ => return None,
    };
    Some(Elements::Fixed { size, units })
}

/// Reads a field of a structure with `size` bytes.
pub(crate) fn field_of(json: &Value, data_type: Arc<dyn DataType>, size: usize) -> Option<Field> {
    let members = json.as_object()?;
    let shape: Vec<usize> = match members.get("shape") {
        Some(shape) => shape.as_array()?.iter().map(number).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    let name = members.get("name")?.as_str()?.to_owned();
    let offset = number(members.get("offset")?)?;
    let bytes =
        shape.iter().try_fold(data_type.elements().size()?, |bytes, &length| bytes.checked_mul(length));
    (offset.checked_add(bytes?)? <= size).then_some(Field::new(name, data_type, shape, offset))
}

fn number(json: &Value) -> Option<usize> {
    usize::try_from(json.as_u64()?).ok()
}

pub(crate) fn document_of(json: &Value) -> Option<DataTypeDocument> {
    let members = json.as_object()?;
    let fallback: Option<Vec<_>> = match members.get("fallback") {
        Some(fallback) => fallback.as_array()?.iter().map(document_of).collect(),
        None => Some(Vec::new()),
    };
    let mut document = DataTypeDocument::named(members.get("identifier")?.as_str()?);
    document.json = members.get("json")?.clone();
    document.configuration = members.get("configuration").cloned().unwrap_or(Value::Null);
    document.type_name = members.get("type").filter(|name| !name.is_null()).cloned();
    document.fallback = fallback?;
    Some(document)
}
