//! What all plugins have in common: identifiers, an origin, and what they are created from.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::de::value::Error as ProbeError;
use serde::de::{self, Visitor};

use crate::format::{Format, Invalid, Mode, Reading};
use crate::json::{self, Value};
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
        f.write_str(self.package)?;
        if self.version.is_empty() { Ok(()) } else { write!(f, " {}", self.version) }
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
    /// For a member that `T` does not have, a missing one, and a value of the wrong kind. v2 ignores unknown
    /// members with a warning, unless it is read strictly (V2-PIPE-07).
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        let empty = Value::Object(json::Object::new());
        let configuration = if self.configuration.is_null() { &empty } else { self.configuration };
        let Some(members) = configuration.as_object() else {
            return Err(Invalid::new(format!(
                "configuration is {}, not an object",
                configuration.kind_name()
            )));
        };
        let known = field_names::<T>();
        let unknown: Vec<&str> = match known {
            Some(known) => members.keys().filter(|name| !known.contains(name)).collect(),
            None => Vec::new(),
        };
        if unknown.is_empty() {
            return json::from_value(configuration).map_err(|error| Invalid::new(error.to_string()));
        }
        let known = known.unwrap_or_default();
        let what = match known {
            [] => format!("unknown member `{}`; there are none", unknown[0]),
            _ => format!("unknown member `{}`; there are {}", unknown[0], known.join(", ")),
        };
        if self.format != Format::V2 || self.reading.mode() == Mode::Strict {
            return Err(Invalid::new(what));
        }
        self.reading.warn(format!("`{}`: {what}; it is ignored", self.identifier));
        let rest = members.iter().filter(|(name, _)| known.contains(name));
        let rest: json::Object = rest.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        json::from_value(&Value::Object(rest)).map_err(|error| Invalid::new(error.to_string()))
    }
}

/// The members that the struct `T` has, if it is one.
fn field_names<'de, T: de::Deserialize<'de>>() -> Option<&'static [&'static str]> {
    let mut names = None;
    // The result is an error by construction: only the question that serde asks is of interest.
    let _asked: Result<T, ProbeError> = T::deserialize(Probe(&mut names));
    names
}

struct Probe<'p>(&'p mut Option<&'static [&'static str]>);

impl<'de> de::Deserializer<'de> for Probe<'_> {
    type Error = ProbeError;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, ProbeError> {
        Err(de::Error::custom("only structs are asked for their members"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        *self.0 = Some(fields);
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
