//! Creates the plugins that the metadata of an array name.

use std::fmt;
use std::sync::Arc;

use zarr_metadata::ArrayMetadata;
use zarr_spec::codec::Shard;
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::extension::{ExtensionDocument, ExtensionPlace};
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin};
use zarr_spec::host::chain::{ChainCreation, ChainProblem};
use zarr_spec::host::registry::{ExtensionPoint, Table, Unknown};
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::plugin::{Plugin, PluginKind};
use zarr_spec::store::Store;
use zarr_spec::transformer::{ShardingTransformer, StorageTransformer};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecChain, Creation, DataType, FillValue, Format, Mode, Prefix,
    Reading, Registry, Representation, Value, printable,
};

use crate::byte_order::stored_order;
use crate::context::{Context, FallbackPolicy};
use crate::error::Problem;
use crate::grid::Grid;

/// The plugin instances that read and write an array.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub(crate) grid: Arc<Grid>,
    /// The grid in the document. It differs from `grid` if a transformer combines its chunks into shards.
    pub(crate) named_grid: Arc<Grid>,
    pub(crate) key_encoding: Arc<dyn ChunkKeyEncoding>,
    pub(crate) chain: CodecChain,
    /// The name of the first codec that can only decode. If there is one, elements cannot be written.
    pub(crate) decode_only: Option<Box<DecodeOnly>>,
    pub(crate) chunk: ArrayRepresentation,
    /// Whether the fill value is undefined. Then zeros replace it.
    pub(crate) fill_is_undefined: bool,
    pub(crate) fallback: Option<UsedFallback>,
    pub(crate) store: Arc<dyn Store>,
    /// The dimension names from an extension. They take precedence over the names in the document.
    pub(crate) extension_names: Option<Vec<Option<String>>>,
}

/// An unknown data type and the fallback that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsedFallback {
    /// The type in the document.
    pub unknown: String,
    /// The name of the fallback type.
    pub used: String,
}

impl fmt::Display for UsedFallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = printable(&self.used);
        let unknown = printable(&self.unknown);
        write!(f, "{used} stands in for {unknown}, which is not known")
    }
}

/// Creates every extension of `metadata`. The error has all problems with the metadata.
pub(crate) fn resolve(
    context: &Context,
    metadata: &ArrayMetadata,
    store: Arc<dyn Store>,
    chunks: &Prefix,
    reading: &Reading,
) -> Result<Resolved, Vec<Problem>> {
    let mut resolving = Resolving { context, metadata, reading, problems: Vec::new() };
    let data_type = resolving.data_type();
    let grid = resolving.grid();
    let key_encoding = resolving.key_encoding();
    let (store, sharding) = resolving.transformers(store, chunks);
    let extension_names = resolving.extensions();
    let fill = data_type.as_ref().and_then(|created| resolving.fill_value(created));
    let layout = resolving.memory_layout(data_type.as_ref());
    let chunk = match (&data_type, &grid, &fill) {
        (Some(created), Some(grid), Some((fill_value, _))) => {
            let data_type = Arc::clone(&created.data_type);
            let chunk = ArrayRepresentation::new(grid.largest_chunk(), data_type, fill_value.clone());
            Some(chunk.with_byte_order(created.byte_order.clone()))
        }
        _ => None,
    };
    let chain = match &chunk {
        Some(chunk) => resolving.chain(layout, chunk),
        None => {
            resolving.unknown_codecs();
            None
        }
    };
    let named_grid = grid.clone();
    let (grid, chunk, chain) = match (grid, chunk, chain, sharding) {
        (Some(grid), Some(chunk), Some(chain), Some(sharding)) => {
            resolving.shards(&grid, &chunk, chain, sharding)
        }
        (grid, chunk, chain, _) => (grid, chunk, chain),
    };
    let problems = resolving.problems;
    match (grid.zip(named_grid), key_encoding, chain, chunk, fill, data_type) {
        (Some(grids), Some(key_encoding), Some(chain), Some(chunk), Some((_, undefined)), Some(created))
            if problems.is_empty() =>
        {
            let (grid, named_grid) = grids;
            Ok(Resolved {
                grid,
                named_grid,
                key_encoding,
                decode_only: decode_only(&context.registry, metadata.format, &chain).map(Box::new),
                chain,
                chunk,
                fill_is_undefined: undefined,
                fallback: created.fallback,
                store,
                extension_names,
            })
        }
        _ => Err(problems),
    }
}

/// A codec that cannot encode the chunks of an array.
#[derive(Debug, Clone)]
pub(crate) struct DecodeOnly {
    pub(crate) codec: String,
    /// The chunks, if the codec encodes others.
    chunks: Option<String>,
}

impl fmt::Display for DecodeOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { codec, chunks } = self;
        write!(f, "codec `{codec}` only decodes")?;
        chunks.iter().try_for_each(|chunks| write!(f, " {chunks}"))
    }
}

/// Returns the first codec of `chain` that can only decode its chunks, including codecs inside of other codecs.
fn decode_only(registry: &Registry, format: Format, chain: &CodecChain) -> Option<DecodeOnly> {
    let reading = Reading::new(Mode::Lenient);
    chain.links().iter().find_map(|link| {
        if let Some(document) = &link.document {
            let codec = document.identifier.clone();
            let plugin = registry.codecs().find(format, &codec, &reading);
            if plugin.is_ok_and(|plugin| plugin.about.decodes_only) {
                return Some(DecodeOnly { codec, chunks: None });
            }
            if let (Codec::ArrayToBytes(inner), Representation::Array(array)) = (&link.codec, &link.decoded)
                && !inner.encodes(array)
            {
                let chunks = format!("`{}` in chunks of shape {:?}", array.data_type.name(), array.shape);
                return Some(DecodeOnly { codec, chunks: Some(chunks) });
            }
        }
        let inner = match &link.codec {
            Codec::Shard(shard) => vec![&shard.inner_codecs, &shard.index_codecs],
            Codec::Composite(codec) => codec.chains(),
            _ => Vec::new(),
        };
        inner.into_iter().find_map(|chain| decode_only(registry, format, chain))
    })
}

struct CreatedType {
    data_type: Arc<dyn DataType>,
    byte_order: ByteOrder,
    fallback: Option<UsedFallback>,
}

struct Resolving<'a> {
    context: &'a Context,
    metadata: &'a ArrayMetadata,
    reading: &'a Reading,
    problems: Vec<Problem>,
}

impl<'a> Resolving<'a> {
    fn data_type(&mut self) -> Option<CreatedType> {
        let document = &self.metadata.data_type;
        // The extension may be known although its `type` is not (D3-DTX-03).
        let (mut problem, may_fall_back) = match self.try_type(document) {
            Ok(created) => return Some(created),
            Err(TypeProblem::Unknown(unknown)) => (Problem::unknown("data_type", unknown), true),
            Err(TypeProblem::Refused(reason)) => (Problem::new("data_type", reason), true),
            Err(TypeProblem::Sizes(reason)) => (Problem::new("data_type", reason), false),
        };
        if !may_fall_back || document.fallback.is_empty() {
            self.problems.push(problem);
            return None;
        }
        let Some(created) = self.first_known(&document.fallback) else {
            problem.reason.push_str(", and none of its fallbacks is known");
            self.problems.push(problem);
            return None;
        };
        let used = created.data_type.name().into_owned();
        let what = format!("{}; its fallback {used} is used instead", problem.reason);
        match self.context.fallback {
            FallbackPolicy::Deny => {
                let more = format!("; it has the fallback {used}, which is used only when asked for");
                problem.reason.push_str(&more);
                self.problems.push(problem);
                return None;
            }
            FallbackPolicy::Warn => self.reading.warn(what),
            FallbackPolicy::Allow => {}
        }
        let fallback = Some(UsedFallback { unknown: document.json.to_string(), used });
        Some(CreatedType { fallback, ..created })
    }

    /// Returns the first known type of a list. The fallbacks of an unknown type come before the next type of the list.
    fn first_known(&self, fallback: &[DataTypeDocument]) -> Option<CreatedType> {
        let known =
            |one: &DataTypeDocument| self.try_type(one).ok().or_else(|| self.first_known(&one.fallback));
        fallback.iter().find_map(known)
    }

    fn try_type(&self, document: &DataTypeDocument) -> Result<CreatedType, TypeProblem> {
        let registry = &self.context.registry;
        let format = self.metadata.format;
        registry.data_type_plugin(format, document, self.reading).map_err(TypeProblem::Unknown)?;
        let created = registry.data_type(format, document, self.reading);
        let (data_type, byte_order) = created.map_err(|error| TypeProblem::Refused(error.to_string()))?;
        self.check_fallback_sizes(document, &*data_type).map_err(TypeProblem::Sizes)?;
        Ok(CreatedType { data_type, byte_order, fallback: None })
    }

    /// Checks that fallbacks have the same size as the type that they replace, if both sizes are known (D3-DTX-09).
    fn check_fallback_sizes(
        &self,
        document: &DataTypeDocument,
        data_type: &dyn DataType,
    ) -> Result<(), String> {
        let Some(size) = data_type.elements().size() else { return Ok(()) };
        for fallback in &document.fallback {
            let quiet = Reading::new(Mode::Lenient);
            let Ok((other, _)) = self.context.registry.data_type(self.metadata.format, fallback, &quiet)
            else {
                continue;
            };
            if let Some(other_size) = other.elements().size()
                && other_size != size
            {
                return Err(format!(
                    "{} has {size} bytes, but its fallback {} has {other_size}",
                    data_type.name(),
                    other.name()
                ));
            }
        }
        Ok(())
    }

    fn fill_value(&mut self, created: &CreatedType) -> Option<(FillValue, bool)> {
        let json = &self.metadata.fill_value;
        if json.is_null() && self.metadata.format != Format::V3 {
            return Some((created.data_type.default_fill_value(), true));
        }
        let order = stored_order(&self.metadata.codecs, &created.byte_order);
        let context = FillContext::new(self.metadata.format, self.reading).with_byte_order(&order);
        match created.data_type.fill_value(json, &context) {
            Ok(fill_value) => Some((fill_value, false)),
            // The fill value belongs to the unknown type, so it is undefined for the fallback (D3-DTX-11).
            Err(_) if created.fallback.is_some() => Some((created.data_type.default_fill_value(), true)),
            Err(error) => {
                self.problems.push(Problem::new("fill_value", error));
                None
            }
        }
    }

    fn grid(&mut self) -> Option<Arc<Grid>> {
        let table = self.context.registry.chunk_grids();
        let plugin = self.find(table, &self.metadata.chunk_grid, "chunk_grid")?;
        let grid = (plugin.create)(&self.creation(&self.metadata.chunk_grid), &self.metadata.shape);
        let grid = self.note("chunk_grid", grid)?;
        let grid = self.checked(grid, plugin);
        self.note("chunk_grid", grid)
    }

    fn checked(&self, grid: Arc<dyn ChunkGrid>, plugin: &ChunkGridPlugin) -> Result<Arc<Grid>, String> {
        let ChunkGridPlugin { origin, .. } = plugin;
        let name = format!("chunk grid `{}` of {origin}", self.metadata.chunk_grid.identifier);
        Grid::new(grid, &name, &self.metadata.shape).map(Arc::new)
    }

    fn key_encoding(&mut self) -> Option<Arc<dyn ChunkKeyEncoding>> {
        let table = self.context.registry.chunk_key_encodings();
        let create = self.find(table, &self.metadata.chunk_key_encoding, "chunk_key_encoding")?.create;
        let encoding = create(&self.creation(&self.metadata.chunk_key_encoding));
        let encoding = self.note("chunk_key_encoding", encoding)?;
        // If the encoding does not support this number of dimensions, it returns the error for any key.
        let supported = encoding.decode("", self.metadata.shape.len());
        self.note("chunk_key_encoding", supported)?;
        Some(encoding)
    }

    /// Creates the memory layout; returns `None` if there is none.
    fn memory_layout(&mut self, created: Option<&CreatedType>) -> Option<Codec> {
        let place = if self.metadata.format == Format::V2 { "order" } else { "chunk_memory_layout" };
        let document = self.metadata.memory_layout.as_ref()?;
        // The draft defines its layouts for elements of fixed size. `C` has no effect and is allowed anyway.
        if self.metadata.format == Format::V3Draft
            && document.identifier == "F"
            && created.is_some_and(|created| created.data_type.elements().size().is_none())
        {
            self.problems.push(Problem::new(place, "layout `F` requires elements of fixed size"));
            return None;
        }
        let create = self.find(self.context.registry.memory_layouts(), document, place)?.create;
        let layout = create(&self.creation(document), self.metadata.shape.len());
        self.note(place, layout)
    }

    /// Returns the store wrapped in transformers, and the transformer that combines chunks into shards, if there is
    /// one.
    fn transformers(
        &mut self,
        mut store: Arc<dyn Store>,
        chunks: &Prefix,
    ) -> (Arc<dyn Store>, Option<ShardingTransformer>) {
        let mut sharding = None;
        for (position, document) in self.metadata.storage_transformers.iter().enumerate().rev() {
            let place = format!("storage_transformers[{position}]");
            let table = self.context.registry.storage_transformers();
            if self.may_skip(table, document) {
                continue;
            }
            let Some(plugin) = self.find(table, document, &place) else { continue };
            let transformer = (plugin.create)(&self.creation(document), &self.metadata.shape);
            match self.note(&place, transformer) {
                Some(StorageTransformer::Wrap(transformer)) => store = transformer.wrap(store, chunks),
                Some(StorageTransformer::Shard(transformer)) if position == 0 => sharding = Some(transformer),
                Some(StorageTransformer::Shard(_)) => {
                    let reason = "a sharding transformer must be the first, nearest to the array: \
                                  others would be between chunks and their shards";
                    self.problems.push(Problem::new(place, reason));
                }
                None => {}
            }
        }
        (store, sharding)
    }

    fn shards(
        &mut self,
        grid: &Grid,
        chunk: &ArrayRepresentation,
        inner_codecs: CodecChain,
        sharding: ShardingTransformer,
    ) -> (Option<Arc<Grid>>, Option<ArrayRepresentation>, Option<CodecChain>) {
        let grid = self.grid_of_shards(grid, &sharding.chunks_per_shard);
        let Some(grid) = self.note("storage_transformers[0]", grid) else { return (None, None, None) };
        let shard = chunk.clone().with_shape(grid.largest_chunk());
        let shard_codec = Shard::new(chunk.shape.clone(), inner_codecs, sharding.index_codecs);
        let codec = Codec::Shard(Arc::new(shard_codec));
        let chain = self.chain_of(Some(codec), &[], &shard);
        (Some(grid), Some(shard), chain)
    }

    /// Returns the same kind of grid, with chunk lengths multiplied by `chunks_per_shard`.
    fn grid_of_shards(&self, grid: &Grid, chunks_per_shard: &[u64]) -> Result<Arc<Grid>, String> {
        let Some(chunk_shape) = grid.chunk_shape() else {
            return Err("only a grid with chunks of equal shape can be sharded".to_owned());
        };
        let lengths = chunk_shape.iter().zip(chunks_per_shard);
        let shape: Option<Vec<u64>> = lengths.map(|(chunk, count)| chunk.checked_mul(*count)).collect();
        let shape = shape.ok_or_else(|| format!("a shard of {chunks_per_shard:?} chunks is too large"))?;
        let mut document = self.metadata.chunk_grid.clone();
        if let Some(members) = document.configuration.as_object_mut() {
            members.insert("chunk_shape", shape.iter().copied().collect::<Value>());
        }
        let found = self.context.registry.chunk_grids().find(
            self.metadata.format,
            &document.identifier,
            self.reading,
        );
        let plugin = found.map_err(|unknown| unknown.to_string())?;
        let creation = self.creation(&self.metadata.chunk_grid).with_configuration(&document.configuration);
        let grid = (plugin.create)(&creation, &self.metadata.shape).map_err(|error| error.to_string())?;
        if grid.chunk_shape() != Some(&shape) {
            return Err("the chunk grid does not define its chunk shape in `chunk_shape`".to_owned());
        }
        self.checked(grid, plugin)
    }

    /// Applies generic extensions. Returns the dimension names of the first extension that has any.
    fn extensions(&mut self) -> Option<Vec<Option<String>>> {
        let mut names = None;
        for (position, document) in self.metadata.extensions.iter().enumerate() {
            let place = format!("extensions[{position}]");
            let table = self.context.registry.extensions();
            if self.may_skip(table, document) {
                continue;
            }
            let Some(plugin) = self.find(table, document, &place) else { continue };
            let created =
                (plugin.create)(&self.creation(document), ExtensionPlace::Array(&self.metadata.shape));
            if let Some(extension) = self.note(&place, created) {
                names = names.or_else(|| extension.dimension_names().map(<[_]>::to_vec));
            }
        }
        names
    }

    fn chain(&mut self, layout: Option<Codec>, chunk: &ArrayRepresentation) -> Option<CodecChain> {
        self.chain_of(layout, &self.metadata.codecs, chunk)
    }

    /// Creates the codec chain that encodes `chunk`: `first`, then `codecs`.
    fn chain_of(
        &mut self,
        first: Option<Codec>,
        codecs: &[ExtensionDocument],
        chunk: &ArrayRepresentation,
    ) -> Option<CodecChain> {
        let limit = isize::MAX.unsigned_abs() as u64;
        let size = chunk.size().limit();
        let is_uncountable = size.is_none() && chunk.data_type.elements().size().is_some();
        if is_uncountable || size.is_some_and(|size| size > limit) {
            let size = size.map_or("too many".to_owned(), |size| size.to_string());
            let reason = format!("a chunk has {size} bytes, and the limit is {limit}");
            self.problems.push(Problem::new("chunk_grid", reason));
            return None;
        }
        let creation = ChainCreation::new(self.metadata.format, &*self.context.registry, self.reading);
        let chain = match CodecChain::create(&creation, first, codecs, chunk) {
            Ok(chain) => chain,
            Err(error) => {
                let problems = error.problems.into_iter().map(|problem| match problem {
                    ChainProblem::Unknown { position, unknown } => {
                        Problem::unknown(self.codec_place(position), unknown)
                    }
                    ChainProblem::Codec { position, identifier, source } => {
                        let reason = format!("codec `{identifier}`: {source}");
                        let missing = source.unknown().into_iter().cloned().collect();
                        Problem { missing, ..Problem::new(self.codec_place(position), reason) }
                    }
                    problem => Problem::new("codecs", problem),
                });
                let problems: Vec<_> = problems.collect();
                self.problems.extend(problems);
                return None;
            }
        };
        if let Err(error) = chain.resolve(chunk) {
            self.problems.push(Problem::new("codecs", error));
            return None;
        }
        Some(chain)
    }

    /// Reports unknown codecs if the chain cannot be created for another reason.
    fn unknown_codecs(&mut self) {
        let table = self.context.registry.codecs();
        for (position, document) in self.metadata.codecs.iter().enumerate() {
            if let Err(unknown) = table.find(self.metadata.format, &document.identifier, self.reading) {
                self.problems.push(Problem::unknown(self.codec_place(position), unknown));
            }
        }
    }

    /// Returns the member of the document that contains the codec at this position.
    fn codec_place(&self, position: usize) -> String {
        if self.metadata.format != Format::V2 {
            return format!("codecs[{position}]");
        }
        if self.metadata.has_compressor && position + 1 == self.metadata.codecs.len() {
            return "compressor".to_owned();
        }
        format!("filters[{position}]")
    }

    fn may_skip<K: PluginKind + ?Sized>(&self, table: &Table<K>, document: &ExtensionDocument) -> bool {
        let skippable = !document.must_understand
            && (K::POINT == ExtensionPoint::GenericExtension || self.metadata.format == Format::V3);
        skippable && table.find(self.metadata.format, &document.identifier, self.reading).is_err()
    }

    fn find<'t, K: PluginKind + ?Sized>(
        &mut self,
        table: &'t Table<K>,
        document: &ExtensionDocument,
        place: &str,
    ) -> Option<&'t Plugin<K>> {
        let found: Result<&Plugin<K>, Unknown> =
            table.find(self.metadata.format, &document.identifier, self.reading);
        match found {
            Ok(plugin) => Some(plugin),
            Err(unknown) => {
                self.problems.push(Problem::unknown(place, unknown));
                None
            }
        }
    }

    fn note<T, E: ToString>(&mut self, place: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.problems.push(Problem::new(place, error.to_string()))).ok()
    }

    fn creation(&self, document: &'a ExtensionDocument) -> Creation<'a> {
        Creation::of(document, self.metadata.format, &*self.context.registry, self.reading)
    }
}

enum TypeProblem {
    Unknown(Unknown),
    Refused(String),
    Sizes(String),
}
