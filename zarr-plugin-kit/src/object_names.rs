//! Data types of variable size: objects with a codec in v2, an extension in the draft, a name in final v3.

use zarr_json::Value;
use zarr_spec::data_type::{DataTypeDocument, DataTypeResult};
use zarr_spec::{Creation, Format, Identifiers, Invalid};

/// The names of a data type that v2 represents as objects. Its documents never have a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectNames {
    /// The name in final v3.
    pub name: &'static str,
    /// The id in v2: `O/` and the id of the codec of the objects.
    pub id: &'static str,
    /// The URI of the extension in the v3 draft.
    pub uri: &'static str,
    /// The `type` of the extension in the v3 draft.
    pub type_name: &'static str,
    /// Additional names that v3 reads, but never writes.
    pub aliases: &'static [&'static str],
}

impl ObjectNames {
    /// Returns the identifiers for registering the plugin.
    #[must_use]
    pub const fn identifiers(&self) -> Identifiers {
        Identifiers::name(self.name).with_id(self.id).with_uri(self.uri).with_aliases(self.aliases)
    }

    /// Refuses an invalid document with one of the names.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::InvalidConfiguration`](zarr_spec::DataTypeError::InvalidConfiguration).
    pub fn check(&self, creation: &Creation<'_>) -> DataTypeResult<()> {
        let fits = match (creation.format, creation.type_name) {
            // In v2 and in the draft's first generation, the identifier of objects names their codec. A type, if there
            // is one, is the `dtype`, which may have any value.
            _ if creation.identifier.starts_with("O/") => true,
            (_, Some(name)) => name.as_str() == Some(self.type_name),
            (Format::V3Draft, None) => false,
            _ => true,
        };
        if !fits {
            let Self { uri, type_name, .. } = self;
            return Err(Invalid::new(format!("expected extension `{uri}` with type `{type_name}`")).into());
        }
        match creation.configuration {
            Value::Object(members) if !members.is_empty() => {
                Err(Invalid::new("`configuration` is not allowed for this data type").into())
            }
            _ => Ok(()),
        }
    }

    /// Writes the type for a document of `format`.
    #[must_use]
    pub fn document(&self, format: Format) -> DataTypeDocument {
        match format {
            Format::V2 => DataTypeDocument::in_v2(self.id, Value::from("|O")),
            Format::V3Draft => DataTypeDocument::in_draft(self.uri, Value::from(self.type_name), None),
            Format::V3 => DataTypeDocument::named(self.name),
        }
    }
}
