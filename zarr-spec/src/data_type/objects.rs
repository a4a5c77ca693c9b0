//! Data types of variable size: v2 has objects and a codec, the draft an extension, final v3 a name.

use zarr_json::Value;

use super::{DataTypeDocument, DataTypeError};
use crate::creation::Creation;
use crate::format::{Format, Invalid};
use crate::plugin::Identifiers;

/// What the formats call a data type that v2 has as objects. None of its documents has a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectNames {
    /// Final v3.
    pub name: &'static str,
    /// v2: `O/` and the id of the codec that turns objects into bytes.
    pub id: &'static str,
    /// v3 draft: the URI of the extension.
    pub uri: &'static str,
    /// v3 draft: the `type` of the extension.
    pub type_name: &'static str,
    /// Further names that v3 reads and never writes.
    pub aliases: &'static [&'static str],
}

impl ObjectNames {
    /// The names that a plugin is registered by.
    #[must_use]
    pub const fn identifiers(&self) -> Identifiers {
        Identifiers { uri: Some(self.uri), name: Some(self.name), id: Some(self.id), aliases: self.aliases }
    }

    /// Refuses a document that has one of the names and does not fit.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::InvalidConfiguration`].
    pub fn check(&self, creation: &Creation<'_>) -> Result<(), DataTypeError> {
        let fits = match (creation.format, creation.type_name) {
            (_, Some(name)) => name.as_str() == Some(self.type_name),
            // Objects of the draft's first generation, whose codec is known.
            (Format::V3Draft, None) => creation.identifier.starts_with("O/"),
            _ => true,
        };
        if !fits {
            let Self { uri, type_name, .. } = self;
            return Err(Invalid::new(format!("the draft has extension `{uri}`, type `{type_name}`")).into());
        }
        match creation.configuration {
            Value::Object(members) if !members.is_empty() => {
                Err(Invalid::new("the data type has no configuration").into())
            }
            _ => Ok(()),
        }
    }

    /// The type as a document of `format` names it.
    #[must_use]
    pub fn document(&self, format: Format) -> DataTypeDocument {
        match format {
            Format::V2 => DataTypeDocument {
                json: Value::from("|O"),
                configuration: Value::from("|O"),
                ..DataTypeDocument::named(self.id)
            },
            Format::V3Draft => DataTypeDocument {
                json: [("extension", self.uri), ("type", self.type_name)].into_iter().collect(),
                type_name: Some(Value::from(self.type_name)),
                ..DataTypeDocument::named(self.uri)
            },
            Format::V3 => DataTypeDocument::named(self.name),
        }
    }
}
