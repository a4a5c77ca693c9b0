//! Plugins: their names, their origin, their constructor, and how they are registered.

use std::fmt;

use serde::de::DeserializeOwned;
use zarr_json::{Object, Value, printable};

use crate::about::{About, Example};
use crate::codec::{Codec, CodecError};
use crate::creation::Creation;
use crate::format::Format;
use crate::host::registry::ExtensionPoint;
use crate::representation::Representation;

/// The names of a plugin, per format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identifiers {
    /// v3 draft: a URI that ends in `/MAJOR.MINOR`.
    pub uri: Option<&'static str>,
    /// Final v3, and the draft where it has plain names. A `*` at the end stands for a number: `r*` for `r16`.
    pub name: Option<&'static str>,
    /// v2.
    pub id: Option<&'static str>,
    /// Further names and URIs that v3 and the draft read and never write.
    pub aliases: &'static [&'static str],
}

impl Identifiers {
    /// The name in final v3 alone.
    #[must_use]
    pub const fn name(name: &'static str) -> Self {
        Self { uri: None, name: Some(name), id: None, aliases: &[] }
    }

    /// Returns a name for messages: the one of v3, v2 or the draft, whichever exists first.
    #[must_use]
    pub fn any(&self) -> &'static str {
        self.name.or(self.id).or(self.uri).unwrap_or_default()
    }

    /// What `format` calls the plugin when a document is written.
    #[must_use]
    pub fn in_format(&self, format: Format) -> Option<&'static str> {
        match format {
            Format::V2 => self.id,
            Format::V3Draft => self.uri,
            Format::V3 => self.name,
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

/// A kind of plugin, named by what its plugins create.
pub trait Kind: 'static {
    /// The function that creates it, a `dyn Fn`.
    type Create: ?Sized + Send + Sync + 'static;

    /// The extension point that the plugins belong to.
    const POINT: ExtensionPoint;
}

/// Rewrites the configuration of a codec for another format.
pub type TranslateCodec =
    dyn Fn(&Creation<'_>, &Representation, Format) -> Result<Object, CodecError> + Send + Sync;

/// A plugin that a program knows.
///
/// Each kind has an alias, such as [`CodecPlugin`](crate::CodecPlugin).
pub struct Plugin<K: Kind + ?Sized> {
    /// Its names.
    pub identifiers: Identifiers,
    /// Creates what the plugin is for from an entry of a document.
    pub create: &'static K::Create,
    /// For a codec, rewrites a configuration for another format. `None`: it is the same in every format.
    pub translate: Option<&'static TranslateCodec>,
    /// What documentation, schemas and tests need.
    pub about: About,
    /// The crate it comes from.
    pub origin: Origin,
}

impl<K: Kind + ?Sized> Plugin<K> {
    /// A plugin of these names.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: &'static K::Create) -> Self {
        Self { identifiers, create, translate: None, about: About::NOTHING, origin: Origin::UNKNOWN }
    }

    /// Adds one sentence on what the plugin does, and examples of its use.
    #[must_use]
    pub const fn about(self, summary: &'static str, examples: &'static [Example]) -> Self {
        Self { about: self.about.described(summary, examples), ..self }
    }

    /// Adds the struct that [`Creation::parse`] reads configurations into. Their schema follows from it.
    #[must_use]
    pub const fn configuration<T: DeserializeOwned>(self) -> Self {
        Self { about: self.about.with_configurations::<T>(), ..self }
    }

    /// Adds the struct for configurations of one format.
    #[must_use]
    pub const fn configuration_in<T: DeserializeOwned>(self, format: Format) -> Self {
        Self { about: self.about.with_configuration::<T>(format), ..self }
    }

    /// Adds the crate that the plugin comes from. [`register!`](crate::register) calls it.
    #[must_use]
    pub const fn from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }
}

impl Plugin<Codec> {
    /// Adds a function that rewrites configurations, for codecs whose configuration differs by format.
    #[must_use]
    pub const fn translated_by(self, translate: &'static TranslateCodec) -> Self {
        Self { translate: Some(translate), ..self }
    }

    /// Returns the configuration that documents of `format` have for the codec that `creation` is for.
    ///
    /// # Errors
    ///
    /// The error of the plugin.
    pub fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        format: Format,
    ) -> Result<Object, CodecError> {
        match (self.translate, creation.configuration) {
            (Some(translate), _) => translate(creation, decoded, format),
            (None, Value::Object(members)) => Ok(members.clone()),
            (None, _) => Ok(Object::new()),
        }
    }
}

impl<K: Kind + ?Sized> Clone for Plugin<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kind + ?Sized> Copy for Plugin<K> {}

impl<K: Kind + ?Sized> fmt::Debug for Plugin<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Plugin");
        debug.field("point", &K::POINT).field("identifiers", &self.identifiers);
        debug.field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Registers a plugin of this crate, so that every program that links the crate knows it.
///
/// The documentation of this crate has an [example](crate).
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
