//! The arguments of plugin constructors, and parsing of configurations.

use std::fmt::Debug;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use zarr_json::{DeError, DeFault, Value, did_you_mean, schema, similar};

use crate::codec::{Codec, CodecResult};
use crate::data_type::{Created, DataTypeDocument, DataTypeError};
use crate::extension::ExtensionDocument;
use crate::format::{Format, Invalid, Mode, Reading};
use crate::host::registry::Unknown;
use crate::key_encoding::ChunkKeyEncoding;
use crate::representation::Representation;

/// Creates codecs, data types and chunk key encodings by name, for plugins that contain other plugins.
///
/// [`Registry`](crate::Registry) implements it.
pub trait Resolve: Debug + Send + Sync {
    /// Returns the data type that a document names, and the byte order that the document declares.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::Unknown`], and the error of the plugin.
    fn data_type(
        &self,
        format: Format,
        document: &DataTypeDocument,
        reading: &Reading,
    ) -> Result<Created, DataTypeError>;

    /// Returns the codec for `creation`, created for the output of the preceding codecs.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`](crate::CodecError::Unsupported) if it is unknown, and the error of the plugin.
    fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec>;

    /// Returns the name and configuration of the codec for `creation` in documents of `to`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`](crate::CodecError::Unsupported) if the codec is unknown or the format does not have an identifier for it,
    /// and the error of the plugin.
    fn translated_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> CodecResult<ExtensionDocument>;

    /// Returns the chunk key encoding for `creation`.
    ///
    /// # Errors
    ///
    /// If it is unknown, and the error of the plugin.
    fn chunk_key_encoding(&self, creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid>;

    /// Returns the error for an unknown codec identifier of `format`.
    fn unknown_codec(&self, format: Format, identifier: &str) -> Option<Unknown>;

    /// Returns whether unknown codecs and data types are requested from another program.
    fn has_fallback(&self) -> bool;
}

/// The entry of a metadata document from which a plugin is created.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Creation<'a> {
    /// The format of the document.
    pub format: Format,
    /// The name in the document, one of the plugin's identifiers.
    pub identifier: &'a str,
    /// The `configuration` object; in v2 the object without its `id`. [`Value::Null`] if it is missing.
    pub configuration: &'a Value,
    /// The `type` of an extension of the draft, which selects a data type, grid or layout of that extension.
    pub type_name: Option<&'a Value>,
    /// Creates the plugins that the configuration names.
    pub registry: &'a dyn Resolve,
    /// The mode, and the receiver of warnings.
    pub reading: &'a Reading,
}

impl<'a> Creation<'a> {
    /// Creates an entry without `type`.
    #[must_use]
    pub const fn new(
        identifier: &'a str,
        configuration: &'a Value,
        format: Format,
        registry: &'a dyn Resolve,
        reading: &'a Reading,
    ) -> Self {
        Self { format, identifier, configuration, type_name: None, registry, reading }
    }

    /// Creates the arguments for `document`, an entry of a metadata document of `format`.
    #[must_use]
    pub fn of(
        document: &'a ExtensionDocument,
        format: Format,
        registry: &'a dyn Resolve,
        reading: &'a Reading,
    ) -> Self {
        let entry = Self::new(&document.identifier, &document.configuration, format, registry, reading);
        entry.with_type_name(document.type_name.as_ref())
    }

    /// Creates the arguments for `document`, an entry in the configuration of this entry.
    #[must_use]
    pub fn inner(&self, document: &'a ExtensionDocument) -> Self {
        Self::of(document, self.format, self.registry, self.reading)
    }

    /// Replaces the identifier.
    #[must_use]
    pub const fn with_identifier(self, identifier: &'a str) -> Self {
        Self { identifier, ..self }
    }

    /// Replaces the configuration.
    #[must_use]
    pub const fn with_configuration(self, configuration: &'a Value) -> Self {
        Self { configuration, ..self }
    }

    /// Replaces the `type` of an extension of the draft.
    #[must_use]
    pub const fn with_type_name(self, type_name: Option<&'a Value>) -> Self {
        Self { type_name, ..self }
    }

    /// Replaces the registry that creates the inner plugins.
    #[must_use]
    pub const fn with_registry(self, registry: &'a dyn Resolve) -> Self {
        Self { registry, ..self }
    }

    /// Parses the configuration as `T`, a struct with the members that the plugin knows. A missing
    /// configuration counts as `{}`.
    ///
    /// # Errors
    ///
    /// For an unknown or missing member, and a value of the wrong kind. The message contains the member, the value and
    /// the expectation. In v2, unknown members are ignored with a warning, except in strict mode (V2-PIPE-07).
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        let empty = Value::Object(zarr_json::Object::new());
        let configuration = if self.configuration.is_null() { &empty } else { self.configuration };
        let Some(members) = configuration.as_object() else {
            return Err(Invalid::new(format!(
                "`configuration` is {}; expected an object",
                configuration.kind_name()
            )));
        };
        let known = schema::members_of::<T>();
        let unknown: Vec<&str> = match known {
            Some(known) => members.keys().filter(|name| !known.contains(name)).collect(),
            None => Vec::new(),
        };
        if unknown.is_empty() {
            return zarr_json::from_value(configuration)
                .map_err(|error| self.refused::<T>(configuration, error));
        }
        let known = known.unwrap_or_default();
        let what = unknown_member(unknown[0], known);
        if self.format != Format::V2 || self.reading.mode() == Mode::Strict {
            return Err(Invalid::new(what));
        }
        self.reading.warn(format!("`{}`: {what}; it is ignored", self.identifier));
        let rest = members.iter().filter(|(name, _)| known.contains(name));
        let rest: zarr_json::Object = rest.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        zarr_json::from_value(&Value::Object(rest)).map_err(|error| self.refused::<T>(configuration, error))
    }

    /// Describes the wrong member, its value and the expectation.
    fn refused<T: DeserializeOwned>(&self, configuration: &Value, error: DeError) -> Invalid {
        let (mut place, found) = self.place(configuration, &error.path);
        let expected = |path: &str| schema::expectation(&schema::of::<T>(), path);
        let found = found.map_or_else(String::new, shortened);
        let mut member = |name: &str| {
            if !place.is_empty() {
                place.push('.');
            }
            place.push_str(name);
            std::mem::take(&mut place)
        };
        Invalid::new(match error.fault {
            DeFault::Missing(name) => match expected(&format!("{}/{name}", error.path)) {
                Some(expected) => format!("`{}` is missing; expected {expected}", member(name)),
                None => format!("`{}` is missing", member(name)),
            },
            DeFault::Unknown { name, known } => unknown_member(&member(&name), known),
            DeFault::Wrong { expected: in_words } => {
                format!("`{place}` is {found}, not {}", expected(&error.path).unwrap_or(in_words))
            }
            DeFault::Other if error.path.is_empty() => error.message,
            DeFault::Other => format!("`{place}` is {found}: {}", error.message),
        })
    }

    /// Returns the value at a JSON pointer of the configuration, and its path for messages:
    /// `configuration.codecs[1].level`, or `codecs[1].level` in v2, which does not have a member `configuration`.
    fn place<'v>(&self, configuration: &'v Value, path: &str) -> (String, Option<&'v Value>) {
        let start = if self.format == Format::V2 { String::new() } else { "configuration".to_owned() };
        path.split('/').skip(1).fold((start, Some(configuration)), |(place, value), step| match value {
            Some(Value::Array(items)) => {
                let item = step.parse().ok().and_then(|position: usize| items.get(position));
                (format!("{place}[{step}]"), item)
            }
            _ => {
                let name = step.replace("~1", "/").replace("~0", "~");
                let value = value.and_then(|value| value.as_object()?.get(&name));
                let dot = if place.is_empty() { "" } else { "." };
                (format!("{place}{dot}{name}"), value)
            }
        })
    }
}

fn unknown_member(name: &str, known: &[&str]) -> String {
    match known {
        [] => format!("unknown member `{name}` (expected no members)"),
        [one] => format!("unknown member `{name}` (expected {one})"),
        _ => {
            let last = name.rsplit('.').next().unwrap_or_default();
            let hint = did_you_mean(&similar(last, known.iter().copied()));
            format!("unknown member `{name}`{hint}; expected one of {}", known.join(", "))
        }
    }
}

/// Shortens a value for a message.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Maximum number of characters of a value in a message.
const SHOWN: usize = 60;
