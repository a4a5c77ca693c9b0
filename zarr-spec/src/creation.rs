//! What constructors of plugins receive, and how they read configurations.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use zarr_json::{DeError, DeFault, Value, schema};

use crate::codec::{Codec, CodecError};
use crate::data_type::{Created, DataTypeDocument, DataTypeError};
use crate::extension::ExtensionDocument;
use crate::format::{Format, Invalid, Mode, Reading};
use crate::host::registry::Unknown;
use crate::representation::Representation;

/// Creates codecs and data types by name, for plugins that contain other plugins.
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

    /// Returns the codec that `creation` is for, created for what the codecs before it leave.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if it is unknown, and the error of the plugin.
    fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError>;

    /// Returns how documents of `to` name and configure the codec that `creation` is for.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if it is unknown or that format has no identifier for it, and the error of the plugin.
    fn translated_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> Result<ExtensionDocument, CodecError>;

    /// Returns the error for a codec identifier of `format` that no plugin here has.
    fn unknown_codec(&self, format: Format, identifier: &str) -> Option<Unknown>;

    /// Whether codecs and data types that no plugin here has are requested from another program.
    fn has_fallback(&self) -> bool;
}

/// What a plugin is created from: one entry of a metadata document.
#[derive(Debug, Clone, Copy)]
pub struct Creation<'a> {
    /// The format of the document.
    pub format: Format,
    /// The name that the document uses, one of the plugin's identifiers.
    pub identifier: &'a str,
    /// The `configuration` object; in v2 the object without its `id`. [`Value::Null`] when there is none.
    pub configuration: &'a Value,
    /// The draft's `type` of an extension: a data type, grid or layout of that extension.
    pub type_name: Option<&'a Value>,
    /// Creates other plugins, for plugins that contain some.
    pub registry: &'a dyn Resolve,
    /// The mode, and where warnings go.
    pub reading: &'a Reading,
}

impl Creation<'_> {
    /// The configuration as `T`, a struct of the members that the plugin knows. None is the same as `{}`.
    ///
    /// # Errors
    ///
    /// For a member that `T` does not have, a missing one, and a value of the wrong kind: with the member, the value and
    /// what is expected. v2 ignores unknown members with a warning, unless it is read strictly (V2-PIPE-07).
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        let empty = Value::Object(zarr_json::Object::new());
        let configuration = if self.configuration.is_null() { &empty } else { self.configuration };
        let Some(members) = configuration.as_object() else {
            return Err(Invalid::new(format!(
                "configuration is {}, not an object",
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

    /// Says which member is wrong, what it is, and what is expected.
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
                Some(expected) => format!("`{}` is missing, {expected}", member(name)),
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

    /// What is at a JSON pointer of the configuration, and the place in words: `configuration.codecs[1].level`, in v2,
    /// which has no member of that name, `codecs[1].level`.
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
        [] => format!("unknown member `{name}`; there are none"),
        _ => format!("unknown member `{name}` (expected {})", known.join(", ")),
    }
}

/// The start of a value, enough to know it again.
fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The most characters of a value that stand in a message.
const SHOWN: usize = 60;
