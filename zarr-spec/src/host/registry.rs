//! The registry: the linked and manually added plugins that a program knows.

use std::fmt;
use std::sync::Arc;

use zarr_json::{Value, did_you_mean, printable, similar};

use crate::codec::{Codec, CodecError, CodecPlugin, CodecResult};
use crate::creation::{Creation, Resolve};
use crate::data_type::{Created, DataType, DataTypeDocument, DataTypeError, DataTypePlugin};
use crate::extension::{Extension, ExtensionDocument};
use crate::format::{Format, Invalid, Mode, Reading};
use crate::grid::ChunkGrid;
use crate::key_encoding::ChunkKeyEncoding;
use crate::layout::MemoryLayout;
use crate::metadata_encoding::MetadataEncoding;
use crate::plugin::{Origin, Plugin, PluginKind};
use crate::representation::Representation;
use crate::store::StorePlugin;
use crate::transformer::StorageTransformer;

mod choice;
mod known;
mod names;
mod point;
mod table;

use choice::Excluded;
pub use known::KnownIdentifiers;
pub use names::{split_version, stands_for};
pub use point::ExtensionPoint;
use table::Missing;
pub use table::Table;

/// An identifier that is unknown to this program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{point} `{}` is {}{}",
    printable(.identifier), printable(.known_elsewhere.as_deref().unwrap_or("unknown")), did_you_mean(.similar)
)]
#[non_exhaustive]
pub struct Unknown {
    /// The extension point.
    pub point: ExtensionPoint,
    /// The identifier in the document.
    pub identifier: String,
    /// The end of the message after "is": "not in this build; …" with the feature that provides the plugin, or the
    /// reason why the identifier cannot be used. `None` if nothing is known.
    pub known_elsewhere: Option<String>,
    /// The feature that adds the plugin to the program, if known.
    pub feature: Option<Feature>,
    /// Identifiers that the document may mean, if `identifier` is a typing error.
    pub similar: Vec<&'static str>,
}

/// A feature of a crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Feature {
    /// The feature.
    pub name: &'static str,
    /// The crate that has the feature.
    pub package: &'static str,
}

/// Two plugins with the same identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{point} `{}` is in both {first} and {second}", printable(.identifier))]
#[non_exhaustive]
pub struct DuplicateIdentifier {
    /// The extension point of both plugins.
    pub point: ExtensionPoint,
    /// The name, URI or id.
    pub identifier: String,
    /// The crate that registered the identifier first.
    pub first: Origin,
    /// The crate that registered the identifier later.
    pub second: Origin,
}

/// A feature of an umbrella crate that provides a plugin, even if the feature is off.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CatalogueEntry {
    /// The extension point.
    pub point: ExtensionPoint,
    /// All identifiers in all formats. A `*` at the end matches a number. For a store: its type, and the
    /// schemes of its URLs with their `:`; a single `:` matches paths.
    pub identifiers: &'static [&'static str],
    /// The feature that provides the plugin.
    pub feature: &'static str,
    /// The crate that has the feature.
    pub package: &'static str,
}

impl CatalogueEntry {
    /// Creates the entry of the plugin with these identifiers, which `feature` of `package` provides.
    #[must_use]
    pub const fn new(
        point: ExtensionPoint,
        identifiers: &'static [&'static str],
        feature: &'static str,
        package: &'static str,
    ) -> Self {
        Self { point, identifiers, feature, package }
    }
}

inventory::collect!(CatalogueEntry);

/// The plugins that a program knows.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    codecs: Table<Codec>,
    data_types: Table<dyn DataType>,
    chunk_grids: Table<dyn ChunkGrid>,
    chunk_key_encodings: Table<dyn ChunkKeyEncoding>,
    memory_layouts: Table<MemoryLayout>,
    metadata_encodings: Table<dyn MetadataEncoding>,
    storage_transformers: Table<StorageTransformer>,
    extensions: Table<dyn Extension>,
    stores: Vec<StorePlugin>,
    missing_stores: Missing,
    fallback: Option<Arc<dyn FallbackResolver>>,
}

/// A kind of plugin for which a [`Registry`] has a table.
pub trait Registered: PluginKind {
    /// Returns the table of this kind.
    #[doc(hidden)]
    fn table(registry: &mut Registry) -> &mut Table<Self>;
}

macro_rules! registered {
    ($($kind:ty: $table:ident, $doc:literal;)*) => {
        $(impl Registered for $kind {
            fn table(registry: &mut Registry) -> &mut Table<Self> {
                &mut registry.$table
            }
        })*

        impl Registry {
            /// Adds the plugins of all kinds that are linked into the program, without those that are excluded.
            fn add_linked(&mut self, excluded: &[Excluded]) -> Result<(), DuplicateIdentifier> {
                $(for plugin in inventory::iter::<Plugin<$kind>> {
                    let is_it = |excluded: &Excluded| {
                        excluded.is_plugin(<$kind>::POINT, &plugin.identifiers, plugin.origin)
                    };
                    if !excluded.iter().any(is_it) {
                        self.$table.add(*plugin)?;
                    }
                })*
                Ok(())
            }

            /// Returns the information about missing plugins.
            fn missing(&mut self, point: ExtensionPoint) -> &mut Missing {
                match point {
                    $(<$kind>::POINT => &mut self.$table.missing,)*
                    _ => &mut self.missing_stores,
                }
            }

            $(
                #[doc = $doc]
                #[must_use]
                pub fn $table(&self) -> &Table<$kind> {
                    &self.$table
                }
            )*
        }
    };
}

registered! {
    Codec: codecs, "Returns all codecs.";
    dyn DataType: data_types, "Returns all data types.";
    dyn ChunkGrid: chunk_grids, "Returns all chunk grids.";
    dyn ChunkKeyEncoding: chunk_key_encodings, "Returns all chunk key encodings.";
    MemoryLayout: memory_layouts, "Returns all chunk memory layouts.";
    dyn MetadataEncoding: metadata_encodings, "Returns all metadata encodings.";
    StorageTransformer: storage_transformers, "Returns all storage transformers.";
    dyn Extension: extensions, "Returns all generic extensions.";
}

/// Creates codecs and data types that are missing from a registry. A loaded plugin uses it to access the
/// plugins of the program.
///
/// `creation` is the same as for a plugin of the registry.
pub trait FallbackResolver: fmt::Debug + Send + Sync {
    /// Creates a codec for the output of the preceding codecs.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if it is unknown; the errors of its plugin.
    fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec>;

    /// Translates the document of a codec to the format `to`.
    ///
    /// # Errors
    ///
    /// Those of [`FallbackResolver::codec`], and [`CodecError::Unsupported`] if the format `to` does not have the
    /// codec.
    fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> CodecResult<ExtensionDocument>;

    /// Creates a data type.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::Unknown`] if it is unknown; the errors of its plugin.
    fn data_type(&self, creation: &Creation<'_>) -> Result<Created, DataTypeError>;
}

impl Registry {
    /// Creates a registry without plugins.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates a registry with every plugin that is linked into this program.
    ///
    /// # Errors
    ///
    /// [`DuplicateIdentifier`]: plugins are registered in no particular order, so neither has precedence. The
    /// program can choose one with [`Registry::linked_with`].
    pub fn linked() -> Result<Self, DuplicateIdentifier> {
        Self::linked_without(&[])
    }

    fn linked_without(excluded: &[Excluded]) -> Result<Self, DuplicateIdentifier> {
        let mut registry = Self::empty();
        for entry in inventory::iter::<CatalogueEntry> {
            registry.add_catalogue_entry(*entry);
        }
        registry.add_linked(excluded)?;
        for plugin in inventory::iter::<StorePlugin> {
            let is_it = |excluded: &Excluded| excluded.is_store(plugin.name, plugin.schemes, plugin.origin);
            if !excluded.iter().any(is_it) {
                registry.register_store(*plugin)?;
            }
        }
        Ok(registry)
    }

    /// Returns a copy that uses `fallback` for codecs and data types that are missing.
    #[must_use]
    pub fn with_fallback(&self, fallback: Arc<dyn FallbackResolver>) -> Self {
        Self { fallback: Some(fallback), ..self.clone() }
    }

    /// Adds a plugin manually.
    ///
    /// # Errors
    ///
    /// [`DuplicateIdentifier`], which names both crates.
    pub fn register<K: Registered + ?Sized>(&mut self, plugin: Plugin<K>) -> Result<(), DuplicateIdentifier> {
        K::table(self).add(plugin)
    }

    /// Adds a store manually.
    ///
    /// # Errors
    ///
    /// [`DuplicateIdentifier`] if its type or a URL scheme is already registered.
    pub fn register_store(&mut self, plugin: StorePlugin) -> Result<(), DuplicateIdentifier> {
        for store in &self.stores {
            let scheme = store.schemes.iter().find(|scheme| plugin.schemes.contains(scheme));
            let same = (store.name == plugin.name).then_some(&plugin.name).or(scheme);
            if let Some(identifier) = same {
                return Err(DuplicateIdentifier {
                    point: ExtensionPoint::Store,
                    identifier: (*identifier).to_owned(),
                    first: store.origin,
                    second: plugin.origin,
                });
            }
        }
        self.stores.push(plugin);
        Ok(())
    }

    /// Adds information about where a missing plugin is available.
    pub fn add_catalogue_entry(&mut self, entry: CatalogueEntry) {
        self.missing(entry.point).catalogue.push(entry);
    }

    /// Adds information about an unknown identifier: the clause that follows "is" in the message. The identifier of a
    /// store is its type, or a scheme with its `:`.
    pub fn add_hint(&mut self, point: ExtensionPoint, identifier: &str, clause: &str) {
        let hints = &mut self.missing(point).hints;
        hints.entry(identifier.to_owned()).or_insert_with(|| clause.to_owned());
    }

    /// Returns all stores.
    #[must_use]
    pub fn stores(&self) -> &[StorePlugin] {
        &self.stores
    }

    /// Returns the error for an unknown type of stores, or an unknown scheme with its `:`.
    #[must_use]
    pub fn unknown_store(&self, identifier: &str) -> Unknown {
        let elsewhere = || known::known_elsewhere(ExtensionPoint::Store, identifier);
        Unknown {
            point: ExtensionPoint::Store,
            identifier: identifier.to_owned(),
            known_elsewhere: self.missing_stores.clause(identifier).or_else(elsewhere),
            feature: self.missing_stores.feature(identifier),
            similar: similar(identifier, self.stores.iter().map(|store| store.name)),
        }
    }

    /// Returns the plugin of a data type, found by exact name, URI rule or pattern. Names such as `<f8`, which
    /// the draft used before `float64`, select the type with this name in v2.
    ///
    /// # Errors
    ///
    /// [`Unknown`].
    pub fn data_type_plugin(
        &self,
        format: Format,
        document: &DataTypeDocument,
        reading: &Reading,
    ) -> Result<&DataTypePlugin, Unknown> {
        let found = self.data_types.find(format, &document.identifier, reading);
        found.or_else(|unknown| {
            let index = self.data_types.ids.get(document.identifier.as_str());
            match (format, index) {
                (Format::V3Draft, Some(&index)) => Ok(&self.data_types.plugins[index]),
                (Format::V2, _) => Err(unknown),
                _ => self
                    .data_types
                    .iter()
                    .find(|plugin| {
                        plugin.identifiers.name.is_some_and(|name| stands_for(name, &document.identifier))
                    })
                    .ok_or(unknown),
            }
        })
    }

    /// Returns the name that documents of `format` have for a plugin of this registry; `None` if they cannot name it.
    /// In the draft, this is a plain name for a plugin that the core specification defines.
    #[must_use]
    pub fn name_in<K: PluginKind + ?Sized>(
        &self,
        plugin: &Plugin<K>,
        format: Format,
    ) -> Option<&'static str> {
        if !K::POINT.is_named_in(format) {
            return None;
        }
        let own = plugin.identifiers.in_format(format);
        if own.is_some() || format != Format::V3Draft {
            return own;
        }
        plugin.identifiers.name.filter(|name| match K::POINT {
            ExtensionPoint::Codec => false,
            ExtensionPoint::DataType => {
                // One name represents all names of a pattern such as `r*`.
                let document = DataTypeDocument::named(&name.replace('*', "16"));
                self.data_type(format, &document, &Reading::new(Mode::Strict)).is_ok()
            }
            _ => true,
        })
    }

    /// Returns the data type that a document names, and the byte order that the document declares.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::Unknown`], and the error of the plugin.
    pub fn data_type(
        &self,
        format: Format,
        document: &DataTypeDocument,
        reading: &Reading,
    ) -> Result<Created, DataTypeError> {
        let creation = Creation::new(&document.identifier, &document.configuration, format, self, reading)
            .with_type_name(document.type_name.as_ref());
        match (self.data_type_plugin(format, document, reading), &self.fallback) {
            (Ok(plugin), _) => (plugin.create)(&creation),
            (Err(_), Some(fallback)) => fallback.data_type(&creation),
            (Err(unknown), None) => Err(DataTypeError::Unknown(unknown.to_string())),
        }
    }

    /// Returns the codec for `creation`, created for the output of the preceding codecs.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if it is unknown, and the error of the plugin.
    pub fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
        let found = self.codecs.find(creation.format, creation.identifier, creation.reading);
        match (found, &self.fallback) {
            (Ok(plugin), _) => (plugin.create)(creation, decoded),
            (Err(_), Some(fallback)) => fallback.codec(creation, decoded),
            (Err(unknown), None) => Err(CodecError::Unsupported(unknown.to_string())),
        }
    }

    /// Returns the name and configuration of the codec for `creation` in documents of `to`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the codec is unknown or does not have an identifier in the format `to`, and the
    /// error of the plugin.
    pub fn translated_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> CodecResult<ExtensionDocument> {
        let found = self.codecs.find(creation.format, creation.identifier, creation.reading);
        let plugin = match (found, &self.fallback) {
            (Ok(plugin), _) => plugin,
            (Err(_), Some(fallback)) => return fallback.translate(creation, decoded, to),
            (Err(unknown), None) => return Err(CodecError::Unsupported(unknown.to_string())),
        };
        let preferred = plugin.identifiers.in_format(to).ok_or_else(|| {
            CodecError::Unsupported(format!("{to} has no identifier for codec `{}`", creation.identifier))
        })?;
        if keeps_name(plugin, creation, preferred, to)
            && self.accepts(plugin, creation.identifier, creation.configuration, decoded)
        {
            return Ok(ExtensionDocument::new(creation.identifier, creation.configuration.clone()));
        }
        let configuration = Value::Object(plugin.translate(creation, decoded, to)?);
        let mut names = plugin.identifiers.aliases.iter().filter(|alias| !alias.contains(':'));
        let name = match to {
            Format::V3 if !self.accepts(plugin, preferred, &configuration, decoded) => {
                names.find(|name| self.accepts(plugin, name, &configuration, decoded)).copied()
            }
            _ => None,
        };
        Ok(ExtensionDocument::new(name.unwrap_or(preferred), configuration))
    }

    /// Returns whether a strict reader of v3 accepts a codec under this name.
    fn accepts(
        &self,
        plugin: &CodecPlugin,
        identifier: &str,
        configuration: &Value,
        decoded: &Representation,
    ) -> bool {
        let reading = Reading::new(Mode::Strict);
        let creation = Creation::new(identifier, configuration, Format::V3, self, &reading);
        (plugin.create)(&creation, decoded).is_ok()
    }
}

impl Resolve for Registry {
    fn data_type(
        &self,
        format: Format,
        document: &DataTypeDocument,
        reading: &Reading,
    ) -> Result<Created, DataTypeError> {
        self.data_type(format, document, reading)
    }

    fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
        self.codec(creation, decoded)
    }

    fn translated_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> CodecResult<ExtensionDocument> {
        self.translated_codec(creation, decoded, to)
    }

    fn chunk_key_encoding(&self, creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
        let found = self.chunk_key_encodings.find(creation.format, creation.identifier, creation.reading);
        let plugin = found.map_err(|unknown| Invalid::new(unknown.to_string()))?;
        (plugin.create)(creation)
    }

    fn unknown_codec(&self, format: Format, identifier: &str) -> Option<Unknown> {
        // The caller that creates the codec receives the warnings.
        self.codecs.find(format, identifier, &Reading::default()).err()
    }

    fn has_fallback(&self) -> bool {
        self.fallback.is_some()
    }
}

/// Returns whether a document of v3 preserves the name of a codec although its plugin prefers another one:
/// names of one program, such as `numcodecs.zlib`, and registered or proposed names mean the same codec, and some
/// readers know only one of them.
fn keeps_name(plugin: &CodecPlugin, creation: &Creation<'_>, preferred: &str, to: Format) -> bool {
    let given = creation.identifier;
    let is_of_program = |name: &str| name.contains('.');
    (creation.format, to) == (Format::V3, Format::V3)
        && given != preferred
        && is_of_program(given) != is_of_program(preferred)
        && plugin.identifiers.aliases.contains(&given)
        && !given.contains(':')
}
