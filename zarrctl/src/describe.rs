//! Descriptions of nodes, including unreadable ones.

use zarr_kit::metadata::ArrayMetadata;
use zarr_kit::metadata::draft::EntryPoint;
use zarr_kit::spec::codec::Codec;
use zarr_kit::spec::extension::ExtensionDocument;
use zarr_kit::spec::format;
use zarr_kit::spec::grid::ChunkGrid;
use zarr_kit::spec::host::registry::Table;
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::spec::{ByteOrder, CodecChain, Value};
use zarr_kit::{Array, Format, Hierarchy, Mode, Registry};

/// One part of an array's metadata that a plugin serves.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The member of the document, such as `codecs`.
    pub(crate) member: &'static str,
    pub(crate) identifier: String,
    /// The configuration; null if it is missing.
    pub(crate) configuration: Value,
    /// Package and version of the plugin, or why it is missing.
    pub(crate) plugin: Result<String, String>,
    /// A shorter name if the identifier is a URI; for a data type, the name in messages.
    pub(crate) name: String,
    /// Nested parts: the codecs of a shard.
    pub(crate) inner: Vec<Part>,
}

#[derive(Debug)]
pub(crate) struct Describer<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) format: Format,
    pub(crate) mode: Mode,
}

impl<'a> Describer<'a> {
    pub(crate) fn of(hierarchy: &'a Hierarchy) -> Self {
        let context = hierarchy.context();
        Self { registry: context.registry(), format: hierarchy.format(), mode: context.mode() }
    }
}

impl Describer<'_> {
    pub(crate) fn parts(&self, metadata: &ArrayMetadata, array: Option<&Array>) -> Vec<Part> {
        let registry = self.registry;
        let mut parts = vec![
            self.data_type(metadata),
            self.part("chunk_grid", registry.chunk_grids(), &metadata.chunk_grid),
        ];
        let layout = metadata.memory_layout.as_ref();
        parts
            .extend(layout.map(|layout| self.part("chunk_memory_layout", registry.memory_layouts(), layout)));
        let mut codecs: Vec<_> =
            metadata.codecs.iter().map(|codec| self.part("codecs", registry.codecs(), codec)).collect();
        if let Some(array) = array {
            self.describe_shards(&mut codecs, array.codecs());
        }
        parts.extend(codecs);
        parts.push(self.part(
            "chunk_key_encoding",
            registry.chunk_key_encodings(),
            &metadata.chunk_key_encoding,
        ));
        let transformers = metadata.storage_transformers.iter();
        parts
            .extend(transformers.map(|document| {
                self.part("storage_transformers", registry.storage_transformers(), document)
            }));
        let extensions = metadata.extensions.iter();
        parts.extend(extensions.map(|document| self.part("extensions", registry.extensions(), document)));
        parts
    }

    pub(crate) fn hierarchy_parts(&self, entry_point: &EntryPoint) -> Vec<Part> {
        let encodings = self.registry.metadata_encodings();
        let mut parts = vec![self.part("metadata_encoding", encodings, &entry_point.metadata_encoding)];
        let extensions = entry_point.extensions.iter();
        parts.extend(
            extensions
                .map(|document| self.part("hierarchy_extensions", self.registry.extensions(), document)),
        );
        parts
    }

    fn describe_shards(&self, codecs: &mut [Part], chain: &CodecChain) {
        let links = chain.links().iter().filter(|link| link.document.is_some());
        for (part, link) in codecs.iter_mut().zip(links) {
            if let Codec::Shard(shard) = &link.codec {
                part.inner = self.chain(&shard.inner_codecs);
            }
        }
    }

    fn chain(&self, chain: &CodecChain) -> Vec<Part> {
        let documents = chain.links().iter().filter_map(|link| link.document.as_ref());
        let mut parts: Vec<_> =
            documents.map(|document| self.part("codecs", self.registry.codecs(), document)).collect();
        self.describe_shards(&mut parts, chain);
        parts
    }

    /// Returns the short names of the bytes-to-bytes codecs, including those inside shards.
    pub(crate) fn compressors(&self, chain: &CodecChain) -> Vec<String> {
        let names = chain.links().iter().flat_map(|link| match (&link.codec, &link.document) {
            (Codec::Shard(shard), _) => self.compressors(&shard.inner_codecs),
            (Codec::BytesToBytes(_), Some(document)) => {
                vec![self.part("codecs", self.registry.codecs(), document).name]
            }
            _ => Vec::new(),
        });
        names.collect()
    }

    fn data_type(&self, metadata: &ArrayMetadata) -> Part {
        let document = &metadata.data_type;
        let reading = format::Reading::new(self.mode);
        let found = self.registry.data_type_plugin(self.format, document, &reading);
        let created = self.registry.data_type(self.format, document, &reading);
        let name =
            created.map_or_else(|_| document.json.to_string(), |(created, _)| created.name().into_owned());
        Part {
            member: "data_type",
            identifier: document.json.as_str().map_or_else(|| document.json.to_string(), ToOwned::to_owned),
            configuration: document.configuration.clone(),
            plugin: found.map(|plugin| plugin.origin.to_string()).map_err(|unknown| unknown.to_string()),
            name,
            inner: Vec::new(),
        }
    }

    fn part<K: PluginKind + ?Sized>(
        &self,
        member: &'static str,
        table: &Table<K>,
        document: &ExtensionDocument,
    ) -> Part {
        let reading = format::Reading::new(self.mode);
        let found = table.find(self.format, &document.identifier, &reading);
        Part {
            member,
            identifier: document.identifier.clone(),
            configuration: document.configuration.clone(),
            name: short_name(
                &document.identifier,
                found.as_ref().ok().and_then(|plugin| plugin.identifiers.name),
            ),
            plugin: found.map(|plugin| plugin.origin.to_string()).map_err(|unknown| unknown.to_string()),
            inner: Vec::new(),
        }
    }
}

/// Returns the identifier. If it is a URI, returns the plugin's name, which is shorter.
fn short_name(identifier: &str, name: Option<&str>) -> String {
    let short = name.filter(|name| identifier.contains(':') && !name.is_empty());
    short.unwrap_or(identifier).to_owned()
}

/// Returns the short names of an array's codecs: `transpose, bytes, zstd`.
pub(crate) fn codec_names(parts: &[Part]) -> String {
    let codecs = parts.iter().filter(|part| part.member == "codecs");
    let names = codecs.map(|part| match part.inner.is_empty() {
        true => part.name.clone(),
        false => format!("{}({})", part.name, codec_names(&part.inner)),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Formats a shape: `2 × 3`, or `()` for an array without dimensions.
pub(crate) fn shape(lengths: &[u64]) -> String {
    if lengths.is_empty() {
        return "()".to_owned();
    }
    lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
}

/// Returns the product, or `None` if it overflows.
pub(crate) fn product(lengths: &[u64]) -> Option<u64> {
    match lengths.contains(&0) {
        true => Some(0),
        false => lengths.iter().try_fold(1u64, |product, length| product.checked_mul(*length)),
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stored {
    pub(crate) chunks: u64,
    /// Number of chunks in the grid; `None` if it overflows.
    pub(crate) all: Option<u64>,
    /// Bytes of the stored chunks.
    pub(crate) size: u64,
    /// Bytes of all elements; `None` for elements of variable size, or if it overflows.
    pub(crate) raw: Option<u64>,
}

impl Stored {
    /// Reads the sizes of all stored chunks. After each chunk, calls `each(1, count)`, where `count` is the number of
    /// stored chunks.
    pub(crate) fn of(array: &Array, mut each: impl FnMut(u64, u64)) -> Result<Self, zarr_kit::Error> {
        let indices = array.stored_chunks()?;
        let mut sizes = Vec::new();
        for index in &indices {
            sizes.push(array.chunk_size(index)?.unwrap_or(0));
            each(1, indices.len() as u64);
        }
        let element = array.data_type().elements().size();
        Ok(Self::from_sizes(&sizes, array.chunk_grid(), array.shape(), element))
    }

    /// Computes the statistics from the sizes of the stored chunks, and the size of an element if it is
    /// fixed.
    pub(crate) fn from_sizes(
        sizes: &[u64],
        grid: &dyn ChunkGrid,
        shape: &[u64],
        element: Option<usize>,
    ) -> Self {
        Self {
            chunks: sizes.len() as u64,
            all: product(grid.grid_shape()),
            size: sizes.iter().fold(0, |sum, size| sum.saturating_add(*size)),
            raw: element.and_then(|element| product(shape)?.checked_mul(element as u64)),
        }
    }

    pub(crate) fn ratio(&self) -> Option<f64> {
        let raw = self.raw.filter(|&raw| raw > 0 && self.size > 0)?;
        Some(crate::terminal::ratio(raw, self.size))
    }
}

/// Returns the shape of a chunk, or of the largest chunk if their shapes differ.
pub(crate) fn chunk_shape(array: &Array) -> Vec<u64> {
    let grid = array.chunk_grid();
    grid.chunk_shape().map_or_else(|| grid.largest_chunk(), <[u64]>::to_vec)
}

/// Formats the shape of the chunks, with "up to" if their shapes differ.
pub(crate) fn chunk_size(grid: &dyn ChunkGrid) -> String {
    match grid.chunk_shape() {
        Some(lengths) => shape(lengths),
        None => format!("up to {}", shape(&grid.largest_chunk())),
    }
}

/// Returns the name of the data type; for a fallback, also the unknown type in the document.
pub(crate) fn type_name(array: &Array) -> String {
    let name = array.data_type().name();
    match array.fallback() {
        Some(fallback) => format!("{name} (fallback of {})", fallback.unknown),
        None => name.into_owned(),
    }
}

pub(crate) fn problems(error: &zarr_kit::Error) -> Vec<String> {
    match error {
        zarr_kit::Error::NotUnderstood(error) => error.problems.iter().map(ToString::to_string).collect(),
        error => vec![crate::failure::chain(error)],
    }
}

/// Returns the byte order of elements in chunks. It matters for fill values that are written as the bytes of
/// an element.
pub(crate) fn stored_order(chain: &CodecChain) -> ByteOrder {
    let order = chain.links().iter().find_map(|link| match &link.codec {
        Codec::Binary(order) => Some(order.clone()),
        Codec::Shard(shard) => Some(stored_order(&shard.inner_codecs)),
        _ => None,
    });
    order.unwrap_or_default()
}
