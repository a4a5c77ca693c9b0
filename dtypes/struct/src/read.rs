//! Reading structures from documents.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::data_type::{Created, DataTypeDocument};
use zarr_spec::{Creation, DataTypeError, DataTypeResult, Format, Invalid, Value};

use crate::{Member, OLD_NAME, Structure};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StructConfiguration {
    fields: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldDocument {
    name: String,
    data_type: Value,
}

pub(crate) fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let list = match creation.format {
        Format::V2 => Some(creation.configuration),
        Format::V3Draft => creation.type_name,
        Format::V3 => return from_v3(creation),
    };
    let list = list.and_then(Value::as_array).ok_or_else(|| {
        let what = list.map_or("missing", Value::kind_name);
        Invalid::new(format!("the type of a structure is {what}; expected a list of fields"))
    })?;
    if let (Format::V3Draft, [lone]) = (creation.format, list)
        && let Some([Value::String(name), typestring @ Value::String(_)]) = lone.as_array()
        && name.is_empty()
    {
        // The first generation of the draft writes plain raw bytes in this form (DX-A-18).
        return list_type(typestring, creation);
    }
    let members: Vec<Member> =
        list.iter().map(|field| list_member(field, creation)).collect::<Result<_, _>>()?;
    created(Structure::new(members)?)
}

fn created(structure: Structure) -> DataTypeResult<Created> {
    let order = structure.byte_order().clone();
    Ok((Arc::new(structure), order))
}

/// Reads `[name, type]` or `[name, type, shape]`.
fn list_member(field: &Value, creation: &Creation<'_>) -> DataTypeResult<Member> {
    let wrong =
        || Invalid::new(format!("{field} is not a field; expected a name, a type and optionally a shape"));
    let (name, data_type, shape) = match field.as_array() {
        Some([Value::String(name), data_type]) => (name, data_type, None),
        Some([Value::String(name), data_type, shape]) => (name, data_type, Some(shape)),
        _ => return Err(wrong().into()),
    };
    let shape = shape.map(|shape| sub_array(shape, creation)).transpose()?.unwrap_or_default();
    let (data_type, order) = list_type(data_type, creation).map_err(|error| in_field(name, error))?;
    Ok(Member { name: name.clone(), data_type, order, shape })
}

/// Reads a list of lengths; a single length may stand without a list (V2-STRUCT-09).
fn sub_array(shape: &Value, creation: &Creation<'_>) -> Result<Vec<usize>, Invalid> {
    let length = |value: &Value| {
        let length = value.as_u64().and_then(|length| usize::try_from(length).ok());
        length.ok_or_else(|| Invalid::new(format!("{value} is not a valid length of a sub-array")))
    };
    match shape {
        Value::Array(lengths) => lengths.iter().map(length).collect(),
        Value::Number(_) => {
            let lengths = vec![length(shape)?];
            creation.reading.tolerate(format!("the shape {shape} of a sub-array is not a list"))?;
            Ok(lengths)
        }
        other => {
            Err(Invalid::new(format!("the shape of a sub-array is {}; expected a list", other.kind_name())))
        }
    }
}

/// Reads the type of a field in a list. In the draft it may be an identifier of the draft or a typestring
/// (DX-DT-11); byte strings do not have a byte order there, as in `S3` (DX-DT-09).
fn list_type(data_type: &Value, creation: &Creation<'_>) -> DataTypeResult<Created> {
    let size = data_type
        .as_str()
        .filter(|_| creation.format == Format::V3Draft)
        .and_then(|text| text.strip_prefix('S'));
    if let Some(size) = size {
        return list_type(&Value::from(format!("|S{size}")), creation);
    }
    let is_typestring = data_type.as_str().is_some_and(|text| text.starts_with(['<', '>', '|']));
    let (format, document) = match creation.format {
        Format::V3Draft if data_type.as_array().is_some() => {
            // A nested structure, of the same extension.
            return create(&creation.with_type_name(Some(data_type)));
        }
        Format::V3Draft if !is_typestring => {
            (Format::V3Draft, DataTypeDocument::draft(data_type, creation.reading)?)
        }
        _ => (Format::V2, DataTypeDocument::v2(data_type, None, creation.reading)?),
    };
    creation.registry.data_type(format, &document, creation.reading)
}

fn from_v3(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let is_old = creation.identifier == OLD_NAME;
    let StructConfiguration { fields } = creation.parse()?;
    if fields.is_empty() {
        return Err(Invalid::new("`fields` is empty").into());
    }
    let members: Vec<Member> =
        fields.iter().map(|field| v3_member(field, is_old, creation)).collect::<Result<_, _>>()?;
    created(Structure { is_old, ..Structure::new(members)? })
}

/// Reads an object for `struct` and a pair for `structured`. Tolerates the other form (EX-STRUCT-10).
fn v3_member(field: &Value, is_old: bool, creation: &Creation<'_>) -> DataTypeResult<Member> {
    let is_pair = field.as_array().is_some();
    let FieldDocument { name, data_type } = match field {
        Value::Array(pair) => match &pair[..] {
            [Value::String(name), data_type] => {
                FieldDocument { name: name.clone(), data_type: data_type.clone() }
            }
            _ => return Err(Invalid::new(format!("{field} is not a pair of a name and a data type")).into()),
        },
        object => zarr_json::from_value(object)
            .map_err(|error| Invalid::new(format!("{object} is not a field: {error}")))?,
    };
    if name.is_empty() {
        return Err(Invalid::new("a field has an empty name").into());
    }
    if is_pair != is_old {
        let form = if is_pair { "a pair" } else { "an object" };
        creation.reading.tolerate(format!("field `{name}` of `{}` is {form}", creation.identifier))?;
    }
    let document = DataTypeDocument::v3(&data_type, creation.reading).map_err(DataTypeError::from);
    let made = document
        .and_then(|document| creation.registry.data_type(creation.format, &document, creation.reading));
    let (data_type, order) = made.map_err(|error| in_field(&name, error))?;
    Ok(Member { name, data_type, order, shape: Vec::new() })
}

/// Adds the name of the field to an error.
fn in_field(name: &str, error: DataTypeError) -> DataTypeError {
    match error {
        DataTypeError::InvalidConfiguration(what) => Invalid::new(format!("field `{name}`: {what}")).into(),
        DataTypeError::Unknown(what) => DataTypeError::Unknown(format!("{what} (field `{name}`)")),
        other => other,
    }
}
