//! The plugins that a program knows: a plain value, collected from what is linked or added by hand.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::about::About;
use crate::codec::{Codec, CodecError, CodecPlugin};
use crate::data_type::{Created, DataTypeDocument, DataTypeError, DataTypePlugin};
use crate::extension::{ExtensionDocument, ExtensionPlugin};
use crate::format::{Format, Mode, Reading};
use crate::grid::ChunkGridPlugin;
use crate::json::Value;
use crate::key_encoding::ChunkKeyEncodingPlugin;
use crate::layout::MemoryLayoutPlugin;
use crate::metadata_encoding::MetadataEncodingPlugin;
use crate::plugin::{Creation, Identifiers, Origin};
use crate::printable::printable;
use crate::representation::Representation;
use crate::store::StorePlugin;
use crate::transformer::StorageTransformerPlugin;

mod names;
mod point;
mod table;

pub use names::{split_version, stands_for};
pub use point::ExtensionPoint;
pub use table::Table;
use table::{hint, not_in_this_build};

/// An identifier that no plugin of this program has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{point} `{}` is {}", printable(.identifier), printable(.known_elsewhere.as_deref().unwrap_or("unknown")))]
pub struct Unknown {
    /// What it would have been.
    pub point: ExtensionPoint,
    /// As it stands in the document.
    pub identifier: String,
    /// "not in this build; …", if somebody has it; or why nobody has.
    pub known_elsewhere: Option<String>,
}

/// Two plugins that claim one identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{point} `{}` is in both {first} and {second}", printable(.identifier))]
pub struct DuplicateIdentifier {
    /// What both are.
    pub point: ExtensionPoint,
    /// The name, URI or id.
    pub identifier: String,
    /// The crate that had it.
    pub first: Origin,
    /// The crate that came later.
    pub second: Origin,
}

/// Who else has a plugin: what an umbrella crate says of its features, also of those that are off.
#[derive(Debug, Clone, Copy)]
pub struct CatalogueEntry {
    /// What it is.
    pub point: ExtensionPoint,
    /// All its identifiers, in all formats. A `*` at the end stands for a number. Of a store: its type, and the
    /// schemes of its URLs with their `:`; a `:` alone stands for paths.
    pub identifiers: &'static [&'static str],
    /// The feature that brings it.
    pub feature: &'static str,
    /// The crate that has the feature.
    pub package: &'static str,
}

crate::inventory::collect!(CatalogueEntry);

/// What every kind of plugin has.
pub trait Plugin: Copy + fmt::Debug {
    /// The kind.
    const POINT: ExtensionPoint;

    /// Its names.
    fn identifiers(&self) -> &Identifiers;

    /// What it says of itself.
    fn about(&self) -> &About;

    /// The crate it comes from.
    fn origin(&self) -> Origin;

    /// Adds it to `registry`.
    ///
    /// # Errors
    ///
    /// If one of its identifiers is taken.
    fn add_to(self, registry: &mut Registry) -> Result<(), DuplicateIdentifier>;
}

macro_rules! plugins {
    ($($plugin:ty, $point:ident, $table:ident;)*) => {$(
        impl Plugin for $plugin {
            const POINT: ExtensionPoint = ExtensionPoint::$point;

            fn identifiers(&self) -> &Identifiers {
                &self.identifiers
            }

            fn about(&self) -> &About {
                &self.about
            }

            fn origin(&self) -> Origin {
                self.origin
            }

            fn add_to(self, registry: &mut Registry) -> Result<(), DuplicateIdentifier> {
                registry.$table.add(self)
            }
        }
    )*};
}

plugins! {
    CodecPlugin, Codec, codecs;
    DataTypePlugin, DataType, data_types;
    ChunkGridPlugin, ChunkGrid, chunk_grids;
    ChunkKeyEncodingPlugin, ChunkKeyEncoding, chunk_key_encodings;
    MemoryLayoutPlugin, MemoryLayout, memory_layouts;
    MetadataEncodingPlugin, MetadataEncoding, metadata_encodings;
    StorageTransformerPlugin, StorageTransformer, storage_transformers;
    ExtensionPlugin, GenericExtension, extensions;
}

/// The plugins that a program knows.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    codecs: Table<CodecPlugin>,
    data_types: Table<DataTypePlugin>,
    chunk_grids: Table<ChunkGridPlugin>,
    chunk_key_encodings: Table<ChunkKeyEncodingPlugin>,
    memory_layouts: Table<MemoryLayoutPlugin>,
    metadata_encodings: Table<MetadataEncodingPlugin>,
    storage_transformers: Table<StorageTransformerPlugin>,
    extensions: Table<ExtensionPlugin>,
    stores: Vec<StorePlugin>,
    store_catalogue: Vec<CatalogueEntry>,
    store_hints: HashMap<String, String>,
    fallback: Option<Arc<dyn FallbackResolver>>,
}

/// Creates codecs and data types that are missing from a registry. The registry of a loaded plugin uses the plugins of the
/// program that loaded it.
///
/// `creation` is the same as for a plugin of the registry.
pub trait FallbackResolver: fmt::Debug + Send + Sync {
    /// Creates a codec for what the codecs before it produce.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if it is unknown; the errors of its plugin.
    fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError>;

    /// Translates the document of a codec to the format `to`.
    ///
    /// # Errors
    ///
    /// As [`FallbackResolver::codec`]; also if that format does not have the codec.
    fn translate(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> Result<ExtensionDocument, CodecError>;

    /// Creates a data type.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::Unknown`] if it is unknown; the errors of its plugin.
    fn data_type(&self, creation: &Creation<'_>) -> Result<Created, DataTypeError>;
}

impl Registry {
    /// Without plugins.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// With every plugin that is linked into this program.
    ///
    /// # Errors
    ///
    /// [`DuplicateIdentifier`]: registration has no order, so neither of the two could be preferred.
    pub fn linked() -> Result<Self, DuplicateIdentifier> {
        let mut registry = Self::empty();
        for entry in inventory::iter::<CatalogueEntry> {
            registry.add_catalogue_entry(*entry);
        }
        inventory::iter::<CodecPlugin>.into_iter().try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<DataTypePlugin>.into_iter().try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<ChunkGridPlugin>.into_iter().try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<ChunkKeyEncodingPlugin>
            .into_iter()
            .try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<MemoryLayoutPlugin>
            .into_iter()
            .try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<MetadataEncodingPlugin>
            .into_iter()
            .try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<StorageTransformerPlugin>
            .into_iter()
            .try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<ExtensionPlugin>.into_iter().try_for_each(|plugin| registry.register(*plugin))?;
        inventory::iter::<StorePlugin>.into_iter().try_for_each(|plugin| registry.register_store(*plugin))?;
        Ok(registry)
    }

    /// Returns a copy that uses `fallback` for codecs and data types that are missing.
    #[must_use]
    pub fn with_fallback(&self, fallback: Arc<dyn FallbackResolver>) -> Self {
        Self { fallback: Some(fallback), ..self.clone() }
    }

    /// Adds a plugin by hand.
    ///
    /// # Errors
    ///
    /// [`DuplicateIdentifier`], naming both crates.
    pub fn register(&mut self, plugin: impl Plugin) -> Result<(), DuplicateIdentifier> {
        plugin.add_to(self)
    }

    /// Adds a store by hand.
    ///
    /// # Errors
    ///
    /// [`DuplicateIdentifier`] for a type or URL scheme that is taken.
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

    /// Says where plugins can be had that are not here.
    pub fn add_catalogue_entry(&mut self, entry: CatalogueEntry) {
        let catalogue = match entry.point {
            ExtensionPoint::Codec => &mut self.codecs.catalogue,
            ExtensionPoint::DataType => &mut self.data_types.catalogue,
            ExtensionPoint::ChunkGrid => &mut self.chunk_grids.catalogue,
            ExtensionPoint::ChunkKeyEncoding => &mut self.chunk_key_encodings.catalogue,
            ExtensionPoint::MemoryLayout => &mut self.memory_layouts.catalogue,
            ExtensionPoint::MetadataEncoding => &mut self.metadata_encodings.catalogue,
            ExtensionPoint::StorageTransformer => &mut self.storage_transformers.catalogue,
            ExtensionPoint::GenericExtension => &mut self.extensions.catalogue,
            ExtensionPoint::Store => &mut self.store_catalogue,
        };
        catalogue.push(entry);
    }

    /// Says what is known of an identifier that no plugin here has: a clause that goes on after "is". Of a store it is the
    /// type, or a scheme with its `:`.
    pub fn add_hint(&mut self, point: ExtensionPoint, identifier: &str, clause: &str) {
        let hints = match point {
            ExtensionPoint::Codec => &mut self.codecs.hints,
            ExtensionPoint::DataType => &mut self.data_types.hints,
            ExtensionPoint::ChunkGrid => &mut self.chunk_grids.hints,
            ExtensionPoint::ChunkKeyEncoding => &mut self.chunk_key_encodings.hints,
            ExtensionPoint::MemoryLayout => &mut self.memory_layouts.hints,
            ExtensionPoint::MetadataEncoding => &mut self.metadata_encodings.hints,
            ExtensionPoint::StorageTransformer => &mut self.storage_transformers.hints,
            ExtensionPoint::GenericExtension => &mut self.extensions.hints,
            ExtensionPoint::Store => &mut self.store_hints,
        };
        hints.entry(identifier.to_owned()).or_insert_with(|| clause.to_owned());
    }

    /// All codecs.
    #[must_use]
    pub fn codecs(&self) -> &Table<CodecPlugin> {
        &self.codecs
    }

    /// All data types.
    #[must_use]
    pub fn data_types(&self) -> &Table<DataTypePlugin> {
        &self.data_types
    }

    /// All chunk grids.
    #[must_use]
    pub fn chunk_grids(&self) -> &Table<ChunkGridPlugin> {
        &self.chunk_grids
    }

    /// All chunk key encodings.
    #[must_use]
    pub fn chunk_key_encodings(&self) -> &Table<ChunkKeyEncodingPlugin> {
        &self.chunk_key_encodings
    }

    /// All chunk memory layouts.
    #[must_use]
    pub fn memory_layouts(&self) -> &Table<MemoryLayoutPlugin> {
        &self.memory_layouts
    }

    /// All metadata encodings.
    #[must_use]
    pub fn metadata_encodings(&self) -> &Table<MetadataEncodingPlugin> {
        &self.metadata_encodings
    }

    /// All storage transformers.
    #[must_use]
    pub fn storage_transformers(&self) -> &Table<StorageTransformerPlugin> {
        &self.storage_transformers
    }

    /// All generic extensions.
    #[must_use]
    pub fn extensions(&self) -> &Table<ExtensionPlugin> {
        &self.extensions
    }

    /// All stores.
    #[must_use]
    pub fn stores(&self) -> &[StorePlugin] {
        &self.stores
    }

    /// What to say of a type of stores, or of a scheme with its `:`, that no store here has.
    #[must_use]
    pub fn unknown_store(&self, identifier: &str) -> Unknown {
        Unknown {
            point: ExtensionPoint::Store,
            identifier: identifier.to_owned(),
            known_elsewhere: hint(&self.store_hints, identifier)
                .or_else(|| not_in_this_build(&self.store_catalogue, identifier)),
        }
    }

    /// The plugin that serves a data type, by exact name, URI rule or pattern. Names such as `<f8`, which the
    /// draft had before `float64`, lead to the type that v2 calls so.
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
                    .find(|plugin| stands_for(plugin.identifiers.name, &document.identifier))
                    .ok_or(unknown),
            }
        })
    }

    /// What documents of `format` call a plugin of this registry, where they name plugins of its kind: in the draft a
    /// plain name, if its text brings the plugin itself.
    #[must_use]
    pub fn name_in<P: Plugin>(&self, plugin: &P, format: Format) -> Option<&'static str> {
        let identifiers = plugin.identifiers();
        if !P::POINT.is_named_in(format) {
            return None;
        }
        let own = identifiers.in_format(format);
        if own.is_some() || format != Format::V3Draft || identifiers.name.is_empty() {
            return own;
        }
        let is_plain = match P::POINT {
            ExtensionPoint::Codec => false,
            ExtensionPoint::DataType => {
                // Of names by a pattern, such as `r*`, one stands for all.
                let document = DataTypeDocument::named(&identifiers.name.replace('*', "16"));
                self.data_type(format, &document, &Reading::new(Mode::Strict)).is_ok()
            }
            _ => true,
        };
        is_plain.then_some(identifiers.name)
    }

    /// The data type that a document names, and the byte order that the document declares.
    ///
    /// # Errors
    ///
    /// [`DataTypeError::Unknown`], and whatever the type says of the document.
    pub fn data_type(
        &self,
        format: Format,
        document: &DataTypeDocument,
        reading: &Reading,
    ) -> Result<Created, DataTypeError> {
        let creation = Creation {
            format,
            identifier: &document.identifier,
            configuration: &document.configuration,
            type_name: document.type_name.as_ref(),
            registry: self,
            reading,
        };
        match (self.data_type_plugin(format, document, reading), &self.fallback) {
            (Ok(plugin), _) => (plugin.create)(&creation),
            (Err(_), Some(fallback)) => fallback.data_type(&creation),
            (Err(unknown), None) => Err(DataTypeError::Unknown(unknown.to_string())),
        }
    }

    /// The codec that `creation` is for, made for what the codecs before it leave.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if it is unknown, and what its plugin says.
    pub fn codec(&self, creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
        let found = self.codecs.find(creation.format, creation.identifier, creation.reading);
        self.codec_of(found, creation, decoded)
    }

    /// As [`Registry::codec`], of a plugin that was looked for already.
    pub(crate) fn codec_of(
        &self,
        found: Result<&CodecPlugin, Unknown>,
        creation: &Creation<'_>,
        decoded: &Representation,
    ) -> Result<Codec, CodecError> {
        match (found, &self.fallback) {
            (Ok(plugin), _) => (plugin.create)(creation, decoded),
            (Err(_), Some(fallback)) => fallback.codec(creation, decoded),
            (Err(unknown), None) => Err(CodecError::Unsupported(unknown.to_string())),
        }
    }

    /// What documents of `to` call the codec that `creation` is for, and its configuration there.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if it is unknown or has no identifier there, and what its plugin says.
    pub fn translated_codec(
        &self,
        creation: &Creation<'_>,
        decoded: &Representation,
        to: Format,
    ) -> Result<ExtensionDocument, CodecError> {
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
        let configuration = Value::Object((plugin.translate)(creation, decoded, to)?);
        let mut names = plugin.identifiers.aliases.iter().filter(|alias| !alias.contains(':'));
        let name = match to {
            Format::V3 if !self.accepts(plugin, preferred, &configuration, decoded) => {
                names.find(|name| self.accepts(plugin, name, &configuration, decoded)).copied()
            }
            _ => None,
        };
        Ok(ExtensionDocument::new(name.unwrap_or(preferred), configuration))
    }

    /// Whether a strict reader of v3 accepts a codec by this name.
    fn accepts(
        &self,
        plugin: &CodecPlugin,
        identifier: &str,
        configuration: &Value,
        decoded: &Representation,
    ) -> bool {
        let creation = Creation {
            format: Format::V3,
            identifier,
            configuration,
            type_name: None,
            registry: self,
            reading: &Reading::new(Mode::Strict),
        };
        (plugin.create)(&creation, decoded).is_ok()
    }

    /// Whether somebody else is asked for what is not here.
    pub(crate) fn has_fallback(&self) -> bool {
        self.fallback.is_some()
    }
}

/// Whether a document of v3 keeps the name of a codec although its plugin prefers another one: names of numcodecs and
/// registered names mean the same codec, and not every reader knows both.
fn keeps_name(plugin: &CodecPlugin, creation: &Creation<'_>, preferred: &str, to: Format) -> bool {
    let given = creation.identifier;
    let is_of_numcodecs = |name: &str| name.starts_with("numcodecs.");
    (creation.format, to) == (Format::V3, Format::V3)
        && given != preferred
        && is_of_numcodecs(given) != is_of_numcodecs(preferred)
        && plugin.identifiers.aliases.contains(&given)
        && !given.contains(':')
}
