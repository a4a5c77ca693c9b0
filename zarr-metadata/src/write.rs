//! Helpers for writing documents of all formats.

use zarr_json::{Object, Value};

use super::DocumentError;
use super::members::wrong;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::Format;

pub(super) fn members<V: Into<Value>, const N: usize>(members: [(&str, V); N]) -> Value {
    members.into_iter().collect()
}

/// Refuses metadata with identifiers of another format.
pub(super) fn check_format(found: Format, wanted: Format) -> Result<(), DocumentError> {
    if found == wanted {
        return Ok(());
    }
    Err(DocumentError::document(format!(
        "metadata of {found} cannot be written as {wanted}; convert it first"
    )))
}

/// Refuses metadata with one of `members`, which the format does not have. Each entry is a name and whether the
/// metadata has it.
pub(super) fn refuse_members(format: &str, members: &[(&str, bool)]) -> Result<(), DocumentError> {
    match members.iter().find(|&&(_, is_there)| is_there) {
        Some(&(member, _)) => Err(DocumentError::member(member, format!("is not supported by {format}"))),
        None => Ok(()),
    }
}

/// Adds members that were ignored when the document was read.
pub(super) fn add_ignored(document: &mut Object, ignored: &Object) -> Result<(), DocumentError> {
    for (name, value) in ignored {
        if document.insert(name, value.clone()).is_some() {
            return Err(DocumentError::member(name, "cannot be both ignored and known"));
        }
    }
    Ok(())
}

pub(super) fn regular_chunk_shape(grid: &ExtensionDocument, format: Format) -> Result<&Value, DocumentError> {
    if grid.identifier != "regular" {
        let reason = format!("{format} does not support the chunk grid `{}`", grid.identifier);
        return Err(DocumentError::member("chunk_grid", reason));
    }
    let configuration = &only_configuration("chunk_grid", grid, &["chunk_shape"])?.configuration;
    let chunk_shape = configuration.as_object().and_then(|members| members.get("chunk_shape"));
    chunk_shape.ok_or_else(|| DocumentError::member("chunk_grid.chunk_shape", "is missing"))
}

/// Returns the separator of `encoding`. Refuses encodings other than `identifier`, the only one that the format has.
pub(super) fn separator(
    encoding: &ExtensionDocument,
    identifier: &str,
    default: &str,
) -> Result<String, DocumentError> {
    const MEMBER: &str = "chunk_key_encoding";
    if encoding.identifier != identifier {
        let reason = format!("is `{}`; this format supports only `{identifier}`", encoding.identifier);
        return Err(DocumentError::member(MEMBER, reason));
    }
    let configuration = &only_configuration(MEMBER, encoding, &["separator"])?.configuration;
    match configuration.as_object().and_then(|members| members.get("separator")) {
        None => Ok(default.to_owned()),
        Some(Value::String(separator)) => Ok(separator.clone()),
        Some(other) => Err(wrong("chunk_key_encoding.separator", other, "a string")),
    }
}

/// Refuses an entry that has a `type`, or members other than `parameters` in its configuration: the format cannot
/// express them.
pub(super) fn only_configuration<'e>(
    member: &str,
    entry: &'e ExtensionDocument,
    parameters: &[&str],
) -> Result<&'e ExtensionDocument, DocumentError> {
    if entry.type_name.is_some() {
        return Err(DocumentError::member(format!("{member}.type"), "is not supported by this format"));
    }
    let unknown = match &entry.configuration {
        Value::Null => None,
        Value::Object(members) => members.keys().find(|name| !parameters.contains(name)),
        other => return Err(wrong(&format!("{member}.configuration"), other, "an object")),
    };
    match unknown {
        Some(name) => {
            Err(DocumentError::member(format!("{member}.{name}"), "is not supported by this format"))
        }
        None => Ok(entry),
    }
}
