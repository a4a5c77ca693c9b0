//! Single members of a document in each format.

use std::fmt::Display;

use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::host::registry::Unknown;
use zarr_spec::{
    ByteOrder, DataType, DataTypeError, Format, Invalid, Mode, Object, Reading, Registry, Value,
};

use crate::error::{Error, MissingPlugins, NotInFormat};

/// The attribute in which v2 users store dimension names.
pub(super) const NAMES_ATTRIBUTE: &str = "_ARRAY_DIMENSIONS";

/// The extension of the draft for dimension names.
const NAMES_EXTENSION: &str = "https://zarr-kit.example/spec/extensions/dimension-names/1.0";

pub(crate) fn invalid(member: &str, reason: impl Display) -> Error {
    Invalid::new(format!("`{member}`: {reason}")).into()
}

pub(crate) fn missing_plugins(member: &str, missing: Vec<Unknown>, reason: impl Display) -> Error {
    MissingPlugins { message: format!("`{member}`: {reason}"), missing }.into()
}

pub(crate) fn unknown(member: &str, unknown: Unknown) -> Error {
    missing_plugins(member, vec![unknown.clone()], unknown)
}

pub(crate) fn not_in_format(format: Format, reason: impl Into<String>) -> Error {
    NotInFormat { format, reason: reason.into() }.into()
}

pub(crate) fn data_type_document(
    data_type: &dyn DataType,
    format: Format,
    order: &ByteOrder,
) -> Result<DataTypeDocument, Error> {
    data_type.document(format, order).map_err(|error| match error {
        DataTypeError::NotInFormat { name, format, hint } => {
            not_in_format(format, format!("data type {name}{hint}"))
        }
        error => error.into(),
    })
}

/// Returns the document of the regular grid, which every format supports.
pub(crate) fn regular_grid(chunk_shape: &[u64]) -> ExtensionDocument {
    let chunk_shape: Value = chunk_shape.iter().copied().collect();
    ExtensionDocument::new("regular", [("chunk_shape", chunk_shape)].into_iter().collect())
}

/// Returns the standard chunk key encoding of a format, with this separator or the default one.
pub(crate) fn key_encoding(format: Format, separator: Option<&str>) -> ExtensionDocument {
    let (identifier, default) = match format {
        Format::V2 => ("v2", "."),
        Format::V3Draft | Format::V3 => ("default", "/"),
    };
    let configuration = [("separator", separator.unwrap_or(default))].into_iter().collect();
    ExtensionDocument::new(identifier, configuration)
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PlacedNames {
    pub(crate) member: Option<Vec<Option<String>>>,
    pub(crate) extension: Option<ExtensionDocument>,
}

/// Assigns dimension names to the member of v3, to the extension of the draft if there is a plugin for it, or else to
/// an attribute.
pub(crate) fn place_dimension_names(
    format: Format,
    registry: &Registry,
    rank: usize,
    names: Option<Vec<Option<String>>>,
    attributes: &mut Object,
) -> PlacedNames {
    if format == Format::V3 {
        let member = names.or_else(|| {
            let names = names_of(attributes.get(NAMES_ATTRIBUTE)?).filter(|names| names.len() == rank)?;
            attributes.remove(NAMES_ATTRIBUTE);
            Some(names)
        });
        return PlacedNames { member, extension: None };
    }
    let Some(names) = names else { return PlacedNames::default() };
    let names: Value = names.into_iter().map(|name| name.map_or(Value::Null, Value::from)).collect();
    let reading = Reading::new(Mode::Lenient);
    if format == Format::V3Draft && registry.extensions().find(format, NAMES_EXTENSION, &reading).is_ok() {
        let configuration = [("names", names)].into_iter().collect();
        // Readers may ignore the names, because elements do not depend on them.
        let extension = ExtensionDocument::new(NAMES_EXTENSION, configuration).with_must_understand(false);
        return PlacedNames { member: None, extension: Some(extension) };
    }
    if !attributes.contains(NAMES_ATTRIBUTE) {
        attributes.insert(NAMES_ATTRIBUTE, names);
    }
    PlacedNames::default()
}

fn names_of(attribute: &Value) -> Option<Vec<Option<String>>> {
    let name = |value: &Value| match value {
        Value::Null => Some(None),
        value => Some(Some(value.as_str()?.to_owned())),
    };
    attribute.as_array()?.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(
        format: Format,
        rank: usize,
        names: Option<Vec<Option<String>>>,
        attributes: &mut Object,
    ) -> Option<Vec<Option<String>>> {
        let placed = place_dimension_names(format, &Registry::empty(), rank, names, attributes);
        assert_eq!(placed.extension, None, "no plugin for the extension");
        placed.member
    }

    #[test]
    fn converts_dimension_names_to_an_attribute_and_back() {
        let names = Some(vec![Some("x".to_owned()), None]);
        let mut attributes = Object::new();
        assert_eq!(place(Format::V2, 2, names.clone(), &mut attributes), None);
        assert_eq!(attributes.to_string(), r#"{"_ARRAY_DIMENSIONS":["x",null]}"#);
        assert_eq!(place(Format::V3, 3, None, &mut attributes.clone()), None);
        assert_eq!(place(Format::V3, 2, None, &mut attributes), names);
        assert!(attributes.is_empty());
    }

    #[test]
    fn keeps_an_attribute_that_is_not_a_list_of_names() {
        let mut attributes = Object::new();
        attributes.insert(NAMES_ATTRIBUTE, "x");
        assert_eq!(place(Format::V3, 1, None, &mut attributes), None);
        let names = Some(vec![Some("y".to_owned())]);
        assert_eq!(place(Format::V3Draft, 1, names, &mut attributes), None);
        assert_eq!(attributes.get(NAMES_ATTRIBUTE), Some(&"x".into()));
    }
}
