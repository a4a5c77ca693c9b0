//! Plugins: their names, their origin, their constructor, and their registration.

use std::fmt;

use serde::de::DeserializeOwned;
use zarr_json::{Object, Value, printable};

use crate::about::{About, Example};
use crate::codec::{Codec, CodecResult};
use crate::creation::Creation;
use crate::format::Format;
use crate::host::registry::ExtensionPoint;
use crate::representation::Representation;

/// The names of a plugin, per format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Identifiers {
    /// The URI in the v3 draft, which ends in `/MAJOR.MINOR`.
    pub uri: Option<&'static str>,
    /// The name in final v3, and in the draft if it uses plain names. A `*` at the end matches a number: `r*`
    /// matches `r16`.
    pub name: Option<&'static str>,
    /// The id in v2.
    pub id: Option<&'static str>,
    /// Additional names and URIs that v3 and the draft read, but never write.
    pub aliases: &'static [&'static str],
}

impl Identifiers {
    /// Creates identifiers with only a name in final v3.
    #[must_use]
    pub const fn name(name: &'static str) -> Self {
        Self { uri: None, name: Some(name), id: None, aliases: &[] }
    }

    /// Creates identifiers with only an id in v2.
    #[must_use]
    pub const fn id(id: &'static str) -> Self {
        Self { uri: None, name: None, id: Some(id), aliases: &[] }
    }

    /// Creates identifiers with only a URI in the v3 draft.
    #[must_use]
    pub const fn uri(uri: &'static str) -> Self {
        Self { uri: Some(uri), name: None, id: None, aliases: &[] }
    }

    /// Adds an id in v2.
    #[must_use]
    pub const fn with_id(self, id: &'static str) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Adds a URI in the v3 draft, which ends in `/MAJOR.MINOR`.
    #[must_use]
    pub const fn with_uri(self, uri: &'static str) -> Self {
        Self { uri: Some(uri), ..self }
    }

    /// Adds names and URIs that v3 and the draft read, but never write.
    #[must_use]
    pub const fn with_aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Returns a name for messages: the first that exists of the names in v3, v2 and the draft.
    #[must_use]
    pub fn any(&self) -> &'static str {
        self.name.or(self.id).or(self.uri).unwrap_or_default()
    }

    /// Returns the identifier for writing documents of `format`.
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
#[non_exhaustive]
pub struct Origin {
    /// The name of the package.
    pub package: &'static str,
    /// The version of the package.
    pub version: &'static str,
}

impl Origin {
    /// Creates the origin of a plugin in a version of a package.
    #[must_use]
    pub const fn new(package: &'static str, version: &'static str) -> Self {
        Self { package, version }
    }

    /// A plugin that was added with `Registry::register`.
    pub const UNKNOWN: Self = Self { package: "(registered manually)", version: "" };
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(self.package))?;
        if self.version.is_empty() { Ok(()) } else { write!(f, " {}", printable(self.version)) }
    }
}

/// A kind of plugin, named after the result of its constructor.
pub trait PluginKind: 'static {
    /// The type of the constructor, a `dyn Fn`.
    type Create: ?Sized + Send + Sync + 'static;

    /// The extension point of the plugins.
    const POINT: ExtensionPoint;
}

/// Rewrites the configuration of a codec for another format.
pub type TranslateCodec = dyn Fn(&Creation<'_>, &Representation, Format) -> CodecResult<Object> + Send + Sync;

/// A plugin that a program knows.
///
/// Each kind has an alias, such as [`CodecPlugin`](crate::CodecPlugin).
#[non_exhaustive]
pub struct Plugin<K: PluginKind + ?Sized> {
    /// The identifiers.
    pub identifiers: Identifiers,
    /// Creates an instance from an entry of a document.
    pub create: &'static K::Create,
    /// For a codec, rewrites a configuration for another format. `None` if it is the same in every format.
    pub translate: Option<&'static TranslateCodec>,
    /// The description for documentation, schemas and tests.
    pub about: About,
    /// The crate that provides the plugin.
    pub origin: Origin,
}

impl<K: PluginKind + ?Sized> Plugin<K> {
    /// Creates a plugin with these identifiers.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: &'static K::Create) -> Self {
        Self { identifiers, create, translate: None, about: About::NOTHING, origin: Origin::UNKNOWN }
    }

    /// Adds one sentence about the purpose of the plugin, and examples of its use.
    #[must_use]
    pub const fn about(self, summary: &'static str, examples: &'static [Example]) -> Self {
        Self { about: self.about.described(summary, examples), ..self }
    }

    /// Replaces the description.
    #[must_use]
    pub const fn with_about(self, about: About) -> Self {
        Self { about, ..self }
    }

    /// Adds the struct into which [`Creation::parse`] parses configurations. Their schema is derived from it.
    #[must_use]
    pub const fn configuration<T: DeserializeOwned>(self) -> Self {
        Self { about: self.about.with_configurations::<T>(), ..self }
    }

    /// Adds the struct for configurations of one format.
    #[must_use]
    pub const fn configuration_in<T: DeserializeOwned>(self, format: Format) -> Self {
        Self { about: self.about.with_configuration::<T>(format), ..self }
    }

    /// Adds the crate that provides the plugin. [`register!`](crate::register) calls it.
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

    /// Declares that the codec only decodes. Programs read arrays with it, but they neither create such arrays
    /// nor write elements to them. `encode` returns [`CodecError::decodes_only`](crate::CodecError::decodes_only).
    ///
    /// Conformance suites require chunks that another program encoded, and check that the codec decodes them.
    #[must_use]
    pub const fn decodes_only(self) -> Self {
        Self { about: self.about.with_decodes_only(true), ..self }
    }

    /// Returns the configuration of the codec for `creation` in documents of `format`.
    ///
    /// # Errors
    ///
    /// The error of the plugin.
    pub fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        format: Format,
    ) -> CodecResult<Object> {
        match (self.translate, creation.configuration) {
            (Some(translate), _) => translate(creation, decoded, format),
            (None, Value::Object(members)) => Ok(members.clone()),
            (None, _) => Ok(Object::new()),
        }
    }
}

impl<K: PluginKind + ?Sized> Clone for Plugin<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: PluginKind + ?Sized> Copy for Plugin<K> {}

impl<K: PluginKind + ?Sized> fmt::Debug for Plugin<K> {
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
            $plugin.from($crate::Origin::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")))
        }
    };
}
