//! Writing structures as documents.

use zarr_spec::data_type::{DataTypeDocument, Field};
use zarr_spec::{ByteOrder, DataType, DataTypeError, DataTypeResult, Format, Value};

use crate::{Structure, URI};

pub(crate) fn write(
    structure: &Structure,
    format: Format,
    order: &ByteOrder,
) -> DataTypeResult<DataTypeDocument> {
    let refuse = |hint: &str| {
        let name = structure.name().into_owned();
        Err(DataTypeError::NotInFormat { name, format, hint: format!("; {hint}") })
    };
    if structure.size == 0 {
        return refuse("a structure needs at least one field of at least one byte");
    }
    match format {
        Format::V2 => {
            let fields = list(structure, format, order)?;
            Ok(DataTypeDocument::in_v2("struct", Value::Array(fields)))
        }
        Format::V3Draft => {
            let type_name = Value::Array(list(structure, format, order)?);
            let raw = format!("r{}", structure.size * 8);
            Ok(DataTypeDocument::in_draft(URI, type_name, Some(&raw)))
        }
        Format::V3 if structure.fields.iter().any(|field| !field.shape.is_empty()) => {
            refuse("its fields cannot be arrays")
        }
        Format::V3 if structure.fields.iter().any(|field| field.name.is_empty()) => {
            refuse("all its fields need a name, so padding is not possible")
        }
        Format::V3 => {
            let fields: Value = structure.fields.iter().map(v3_field).collect::<Result<Vec<_>, _>>()?.into();
            Ok(DataTypeDocument::configured("struct", [("fields", fields)].into_iter().collect()))
        }
    }
}

fn v3_field(field: &Field) -> DataTypeResult<Value> {
    let data_type = field.data_type.document(Format::V3, &ByteOrder::Little)?.json;
    Ok([("name", Value::from(field.name.as_str())), ("data_type", data_type)].into_iter().collect())
}

/// Returns `[name, type]` or `[name, type, shape]` for each field.
fn list(structure: &Structure, format: Format, order: &ByteOrder) -> DataTypeResult<Vec<Value>> {
    let orders = structure.field_orders(order);
    structure
        .fields
        .iter()
        .zip(&orders)
        .map(|(field, order)| {
            let data_type = list_type(field.data_type.as_ref(), format, order)?;
            let mut entry = vec![Value::from(field.name.as_str()), data_type];
            if !field.shape.is_empty() {
                entry.push(field.shape.iter().copied().collect());
            }
            Ok(Value::Array(entry))
        })
        .collect()
}

/// Returns the type of a field in a list. In the draft, the name of a core type does not declare a byte order, but the
/// typestring of v2 does, and readers accept it too.
fn list_type(data_type: &dyn DataType, format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
    let document = data_type.document(format, order)?;
    if format == Format::V2 {
        return Ok(document.json);
    }
    match (document.type_name, &document.json) {
        // A nested structure is written as its list.
        (Some(list @ Value::Array(_)), _) if document.identifier == URI => Ok(list),
        (None, Value::String(_)) if *order == ByteOrder::Big => {
            Ok(data_type.document(Format::V2, order)?.json)
        }
        _ => Ok(document.json),
    }
}
