//! What all plugins have in common: identifiers, an origin, and what they are created from.

use std::fmt;

use serde::de::DeserializeOwned;
use zarr_json::{DeError, DeFault, Value, printable, schema};

use crate::format::{Format, Invalid, Mode, Reading};
use crate::registry::Registry;

/// The names of a plugin, per format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identifiers {
    /// v3 draft: a URI that ends in `/MAJOR.MINOR`.
    pub uri: Option<&'static str>,
    /// Final v3, and the draft where it has plain names.
    pub name: &'static str,
    /// v2.
    pub id: Option<&'static str>,
    /// Further names and URIs that v3 and the draft read and never write.
    pub aliases: &'static [&'static str],
}

impl Identifiers {
    /// The name in final v3 alone.
    #[must_use]
    pub const fn name(name: &'static str) -> Self {
        Self { uri: None, name, id: None, aliases: &[] }
    }

    /// What `format` calls the plugin when a document is written.
    #[must_use]
    pub fn in_format(&self, format: Format) -> Option<&'static str> {
        match format {
            Format::V2 => self.id,
            Format::V3Draft => self.uri,
            Format::V3 => (!self.name.is_empty()).then_some(self.name),
        }
    }
}

/// The crate that a plugin comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Its package name.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Origin {
    /// Added by hand, with `Registry::register`.
    pub const UNKNOWN: Self = Self { package: "(registered by hand)", version: "" };
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(self.package))?;
        if self.version.is_empty() { Ok(()) } else { write!(f, " {}", printable(self.version)) }
    }
}

/// Defines what makes the extensions of a plugin: a function of a crate that is linked, or what stands for one in a
/// library that was loaded. It is called like a function: `(plugin.create)(…)`.
macro_rules! maker {
    ($(#[$doc:meta])* $maker:ident, $function:ty, $called:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub enum $maker {
            /// Of a crate that is linked.
            Linked($function),
            /// Of a library that was loaded, and stays as long as the program.
            Loaded(&'static $called),
        }

        impl $maker {
            /// Tells one from another in this run of the program.
            #[must_use]
            pub fn address(&self) -> usize {
                match self {
                    Self::Linked(function) => *function as usize,
                    Self::Loaded(closure) => std::ptr::from_ref(*closure).cast::<()>() as usize,
                }
            }
        }

        impl std::ops::Deref for $maker {
            type Target = $called;

            fn deref(&self) -> &Self::Target {
                match self {
                    Self::Linked(function) => function,
                    Self::Loaded(closure) => *closure,
                }
            }
        }

        impl std::fmt::Debug for $maker {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    Self::Linked(_) => "Linked(..)",
                    Self::Loaded(_) => "Loaded(..)",
                })
            }
        }
    };
}

pub(crate) use maker;

/// Registers a plugin of this crate, so that every program that links the crate knows it.
///
/// A whole codec:
///
/// ```
/// use std::sync::Arc;
///
/// use zarr_spec::codec::{BytesToBytesCodec, Codec, CodecError, CodecPlugin};
/// use zarr_spec::{Creation, Example, Identifiers, Output, Representation};
///
/// zarr_spec::register!(
///     CodecPlugin::new(Identifiers::name("example.xor"), create)
///         .configuration::<Xor>()
///         .about("Combines each byte with a key by exclusive or.", EXAMPLES)
/// );
///
/// const EXAMPLES: &[Example] =
///     &[Example::v3(r#"{"name": "example.xor", "configuration": {"key": 170}}"#)];
///
/// #[derive(Debug, serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Xor {
///     key: u8,
/// }
///
/// impl BytesToBytesCodec for Xor {
///     fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
///         decoded.iter().try_for_each(|byte| Ok(encoded.put(&[byte ^ self.key])?))
///     }
///
///     fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
///         self.encode(encoded, decoded)
///     }
/// }
///
/// fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
///     Ok(Codec::BytesToBytes(Arc::new(creation.parse::<Xor>()?)))
/// }
/// # fn main() {
/// # let registry = zarr_spec::Registry::linked().unwrap();
/// # assert_eq!(registry.codecs().iter().map(|codec| codec.identifiers.name).collect::<Vec<_>>(), ["example.xor"]);
/// # }
/// ```
#[macro_export]
macro_rules! register {
    ($plugin:expr) => {
        $crate::inventory::submit! {
            $plugin.from($crate::Origin {
                package: env!("CARGO_PKG_NAME"),
                version: env!("CARGO_PKG_VERSION"),
            })
        }
    };
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
    /// For plugins that hold other plugins.
    pub registry: &'a Registry,
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
        _ => format!("unknown member `{name}`; there are {}", known.join(", ")),
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Location {
        Start,
        End,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Filter {
        level: Level,
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "i64")]
    struct Level;

    impl TryFrom<i64> for Level {
        type Error = String;

        fn try_from(level: i64) -> Result<Self, String> {
            (0..=9).contains(&level).then_some(Self).ok_or_else(|| "levels go from 0 to 9".to_owned())
        }
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Configuration {
        size: u8,
        location: Option<Location>,
        #[serde(default)]
        filters: Vec<Filter>,
    }

    fn error(format: Format, configuration: &str) -> String {
        let configuration =
            zarr_json::parse(configuration.as_bytes(), &zarr_json::ParseOptions::default()).unwrap();
        let (registry, reading) = (Registry::empty(), Reading::new(Mode::Strict));
        let creation = Creation {
            format,
            identifier: "x",
            configuration: &configuration.value,
            type_name: None,
            registry: &registry,
            reading: &reading,
        };
        creation.parse::<Configuration>().unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_the_member_the_value_and_what_is_expected() {
        let v3 = |configuration: &str| error(Format::V3, configuration);
        assert_eq!(v3("{}"), "`configuration.size` is missing, an integer from 0 to 255");
        for wrong in ["256", "-1", "1.0", "\"1\"", "null", "[]", "{}"] {
            let message = format!("`configuration.size` is {wrong}, not an integer from 0 to 255");
            assert_eq!(v3(&format!("{{\"size\": {wrong}}}")), message);
        }
        assert_eq!(
            v3(r#"{"size": 1, "location": "middle"}"#),
            r#"`configuration.location` is "middle", not one of "start", "end", null"#
        );
        assert_eq!(
            v3(r#"{"size": 1, "location": 7}"#),
            r#"`configuration.location` is 7, not one of "start", "end", null"#
        );
        assert_eq!(v3(r#"{"size": 1, "filters": {}}"#), "`configuration.filters` is {}, not an array");
        assert_eq!(
            v3(r#"{"size": 1, "filters": [{"level": 3}, 4]}"#),
            "`configuration.filters[1]` is 4, not an object"
        );
        assert_eq!(
            v3(r#"{"size": 1, "filters": [{"level": 3}, {}]}"#),
            "`configuration.filters[1].level` is missing, an integer from 0 to 9"
        );
        assert_eq!(
            v3(r#"{"size": 1, "filters": [{"level": 3}, {"level": "x"}]}"#),
            "`configuration.filters[1].level` is \"x\", not an integer from 0 to 9"
        );
        assert_eq!(
            v3(r#"{"size": 1, "filters": [{"level": 10}]}"#),
            "`configuration.filters[0].level` is 10: levels go from 0 to 9"
        );
        assert_eq!(
            v3(r#"{"size": 1, "filters": [{"level": 1, "more": 2}]}"#),
            "unknown member `configuration.filters[0].more`; there are level"
        );
        assert_eq!(
            v3(r#"{"size": 1, "more": 2}"#),
            "unknown member `more`; there are size, location, filters"
        );
        assert_eq!(v3("7"), "configuration is a number, not an object");
    }

    #[test]
    fn a_long_value_is_cut_and_v2_has_no_member_called_configuration() {
        let long = format!("{{\"size\": \"{}\"}}", "é".repeat(100));
        let cut = format!("`size` is \"{}…, not an integer from 0 to 255", "é".repeat(59));
        assert_eq!(error(Format::V2, &long), cut);
        assert_eq!(error(Format::V2, "{}"), "`size` is missing, an integer from 0 to 255");
    }
}
