//! Entries of documents that name an extension, and their interpretation by the plugins of this build.

use std::sync::Arc;

use zarr_kit::spec::data_type::DataTypeDocument;
use zarr_kit::spec::extension::{Extension, ExtensionPlace};
use zarr_kit::spec::grid::ChunkGrid;
use zarr_kit::spec::host::chain::ChainCreation;
use zarr_kit::spec::metadata_encoding::MetadataEncoding;
use zarr_kit::spec::{
    About, ArrayRepresentation, Codec, CodecChain, Creation, DataType, Identifiers, Object, Reading,
    Representation, Value,
};
use zarr_kit::{Format, Mode, Registry};

use super::page::{Page, parsed};

/// All plugins of the umbrella crate, and a strict reading of documents.
#[derive(Debug)]
pub(crate) struct Linked {
    registry: Registry,
    pub(crate) reading: Reading,
}

/// An entry of a document that names an extension.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) format: Format,
    identifier: String,
    /// The object as it appears in the document.
    pub(crate) object: Object,
    /// The configuration; in v2 the object without its `id`.
    pub(crate) configuration: Value,
}

impl Entry {
    /// Returns every entry of `document` that has one of these identifiers.
    pub(crate) fn all(identifiers: &Identifiers, document: &Value) -> Vec<Self> {
        match document {
            Value::Array(list) => list.iter().flat_map(|inner| Self::all(identifiers, inner)).collect(),
            Value::Object(object) => {
                let inner = object.values().flat_map(|inner| Self::all(identifiers, inner));
                Self::of(identifiers, object).into_iter().chain(inner).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of(identifiers: &Identifiers, object: &Object) -> Option<Self> {
        let text = |member| object.get(member).and_then(Value::as_str);
        let v3 = |name: &&str| {
            !name.is_empty() && (Some(*name) == identifiers.name || identifiers.aliases.contains(name))
        };
        let uri = |text: &&str| Some(*text) == identifiers.uri;
        let (format, identifier) = None
            .or_else(|| Some((Format::V3Draft, text("extension").filter(uri)?)))
            .or_else(|| Some((Format::V3Draft, text("type").filter(uri)?)))
            .or_else(|| Some((Format::V3, text("name").filter(|name| uri(name) || v3(name))?)))
            .or_else(|| Some((Format::V2, text("id").filter(|id| Some(*id) == identifiers.id)?)))?;
        let configuration = match format {
            Format::V2 => {
                Value::Object(object.clone().into_iter().filter(|(name, _)| name != "id").collect())
            }
            _ => object.get("configuration").cloned().unwrap_or_else(|| Value::Object(Object::new())),
        };
        Some(Self { format, identifier: identifier.to_owned(), object: object.clone(), configuration })
    }

    /// Checks whether the schema of a page applies to the form of this entry.
    pub(crate) fn is_described(&self, page: &Page) -> bool {
        page.is_about_the_configuration() || self.format == Format::V3Draft
    }

    /// Returns the part of the entry that the schema of a page describes.
    pub(crate) fn described(&self, page: &Page) -> Value {
        match page.is_about_the_configuration() {
            true => self.configuration.clone(),
            false => Value::Object(self.object.clone()),
        }
    }

    /// Returns a copy with an additional member in the part that the schema describes.
    pub(crate) fn with(&self, page: &Page, name: &str, value: &Value) -> Self {
        let mut changed = self.clone();
        match page.kind() {
            _ if page.is_about_the_configuration() => {
                let mut members = self.configuration.as_object().unwrap().clone();
                members.insert(name, value.clone());
                changed.configuration = Value::Object(members);
            }
            "data-types" => {
                changed.object.insert(name, value.clone());
            }
            // The plugin only sees the configuration of these entries, not their other members.
            _ => {
                let members: Object = [(name.to_owned(), value.clone())].into_iter().collect();
                changed.configuration = Value::Object(members);
                changed.object.insert("configuration", changed.configuration.clone());
            }
        }
        changed
    }

    /// Returns a copy without one member of the configuration.
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut members = self.configuration.as_object().unwrap().clone();
        members.remove(name);
        Self { configuration: Value::Object(members), ..self.clone() }
    }
}

impl Linked {
    pub(crate) fn new() -> Self {
        Self { registry: Registry::linked().unwrap(), reading: Reading::new(Mode::Strict) }
    }

    /// Returns the identifiers of the extension that a page describes.
    pub(crate) fn identifiers(&self, page: &Page) -> Identifiers {
        self.described_by(page).0
    }

    /// Returns the example documents of the plugin.
    pub(crate) fn examples(&self, page: &Page) -> Vec<&'static str> {
        self.about(page).examples.iter().map(|example| example.document).collect()
    }

    /// Returns the plugin's documentation of itself.
    pub(crate) fn about(&self, page: &Page) -> About {
        self.described_by(page).1
    }

    fn described_by(&self, page: &Page) -> (Identifiers, About) {
        macro_rules! found {
            ($table:ident) => {{
                let found = self.registry.$table().find(Format::V3Draft, &page.uri, &self.reading).unwrap();
                (found.identifiers, found.about)
            }};
        }
        match page.kind() {
            "codecs" => found!(codecs),
            "data-types" => found!(data_types),
            "extensions" => found!(extensions),
            "grids" => found!(chunk_grids),
            "layouts" => found!(memory_layouts),
            "metadata-encodings" => found!(metadata_encodings),
            other => panic!("{}: unknown extension point {other}", page.name),
        }
    }

    fn creation<'c>(&'c self, entry: &'c Entry) -> Creation<'c> {
        let has_type = entry.object.contains("extension");
        Creation::new(&entry.identifier, &entry.configuration, entry.format, &self.registry, &self.reading)
            .with_type_name(entry.object.get("type").filter(|_| has_type))
    }

    pub(crate) fn codec(&self, entry: &Entry, decoded: &Representation) -> Result<Codec, String> {
        let plugin = self.registry.codecs().find(entry.format, &entry.identifier, &self.reading);
        (plugin.unwrap().create)(&self.creation(entry), decoded).map_err(|error| error.to_string())
    }

    /// Creates a chain that consists of this codec.
    pub(crate) fn chain(&self, codec: &Codec, array: &ArrayRepresentation) -> CodecChain {
        // v2 writes elements in little endian unless a codec specifies the order.
        let creation = ChainCreation::new(Format::V2, &self.registry, &self.reading);
        CodecChain::create(&creation, Some(codec.clone()), &[], array).unwrap()
    }

    pub(crate) fn layout(&self, entry: &Entry, rank: usize) -> Result<Codec, String> {
        let plugin = self.registry.memory_layouts().find(entry.format, &entry.identifier, &self.reading);
        (plugin.unwrap().create)(&self.creation(entry), rank).map_err(|error| error.to_string())
    }

    pub(crate) fn grid(&self, entry: &Entry, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, String> {
        let plugin = self.registry.chunk_grids().find(entry.format, &entry.identifier, &self.reading);
        (plugin.unwrap().create)(&self.creation(entry), shape).map_err(|error| error.to_string())
    }

    pub(crate) fn extension(
        &self,
        entry: &Entry,
        shape: Option<&[u64]>,
    ) -> Result<Arc<dyn Extension>, String> {
        let plugin = self.registry.extensions().find(entry.format, &entry.identifier, &self.reading);
        let place = shape.map_or(ExtensionPlace::EntryPoint, ExtensionPlace::Array);
        (plugin.unwrap().create)(&self.creation(entry), place).map_err(|error| error.to_string())
    }

    pub(crate) fn metadata_encoding(&self, entry: &Entry) -> Result<Arc<dyn MetadataEncoding>, String> {
        let plugin = self.registry.metadata_encodings().find(entry.format, &entry.identifier, &self.reading);
        (plugin.unwrap().create)(&self.creation(entry)).map_err(|error| error.to_string())
    }

    /// Creates the data type of an entry of the draft.
    pub(crate) fn data_type(&self, entry: &Entry) -> Result<Arc<dyn DataType>, String> {
        let document = DataTypeDocument::draft(&Value::Object(entry.object.clone()), &self.reading)
            .map_err(|error| error.to_string())?;
        self.any_data_type(Format::V3Draft, &document)
    }

    /// Creates a data type from its name in final v3 or from its JSON object.
    pub(crate) fn data_type_of_v3(&self, text: &str) -> Arc<dyn DataType> {
        let document = match text.starts_with('{') {
            true => DataTypeDocument::v3(&parsed(text), &self.reading).unwrap(),
            false => DataTypeDocument::named(text),
        };
        self.any_data_type(Format::V3, &document).unwrap()
    }

    fn any_data_type(
        &self,
        format: Format,
        document: &DataTypeDocument,
    ) -> Result<Arc<dyn DataType>, String> {
        let created = self.registry.data_type(format, document, &self.reading);
        created.map(|(data_type, _order)| data_type).map_err(|error| error.to_string())
    }

    /// Returns the entry for a member of a list of codecs.
    pub(crate) fn codec_entry(&self, document: &Value) -> Entry {
        let plugins = self.registry.codecs().iter();
        let entries = plugins.filter_map(|plugin| Entry::of(&plugin.identifiers, document.as_object()?));
        entries.into_iter().next().unwrap()
    }
}
