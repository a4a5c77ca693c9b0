//! Conversion of metadata between formats.
//!
//! The elements stay the same. Chunks are decoded and encoded again, so that codecs may differ and shards may be split.

mod grid;
mod losses;
mod members;
mod missing;
mod problems;
mod recipe;
mod sharding;

use std::sync::Arc;

use zarr_metadata::{ArrayMetadata, draft};
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::extension::{Extension, ExtensionDocument, ExtensionPlace};
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecChain, Creation, DataType, FillValue, Format, Mode, Reading,
    Registry, Value,
};

use crate::byte_order::stored_order;
use crate::error::Error;

pub use losses::{ConversionLoss, conversion_losses};
pub(crate) use members::{
    data_type_document, invalid, key_encoding, missing_plugins, not_in_format, place_dimension_names,
    regular_grid, unknown,
};
pub use missing::keep_missing_elements;
pub use problems::conversion_problems;
pub(crate) use problems::with_each_once;
pub(crate) use recipe::{
    BYTES, Recipe, RecipeStep, SourceCodec, Translated, reversal, rewritten_codecs, steps_of,
    translate_codec, translate_recipe, untranslatable_steps,
};
pub(crate) use sharding::{little_endian, sharding};

/// Converts metadata to `target`. The result describes an array with the same elements and stays as close to `source`
/// as possible.
///
/// The byte order, the order of dimensions, codecs, separator, fill value and attributes are preserved, and the chunk
/// grid if `target` supports it. Shards of the draft become shards of v3; the reverse requires a plain index at the end
/// of the shard. Other information that `target` cannot represent is dropped or expressed differently, as long as
/// elements do not depend on it: see [`conversion_losses`].
///
/// # Errors
///
/// [`Error::Invalid`], which names an invalid member; [`Error::MissingPlugins`], which names a member with an unknown
/// plugin; [`Error::NotInFormat`], which names what `target` does not support; [`Error::DataType`] for a fill value
/// that `target` cannot represent.
pub fn convert_metadata(
    source: &ArrayMetadata,
    target: Format,
    registry: &Registry,
) -> Result<ArrayMetadata, Error> {
    let conversion = Conversion { source, target, registry, reading: &Reading::new(Mode::Lenient) };
    // Arrays of the draft may belong to generation A, which is never written: their metadata change even if the format
    // stays the same.
    if source.format == target && (target != Format::V3Draft || draft::array_document(source).is_ok()) {
        return conversion.strictly();
    }
    let chunks = conversion.converted_chunks()?;
    let ConvertedChunks { data_type, translated, .. } = &chunks;
    let names = conversion.dimension_names()?;
    let mut attributes = source.attributes.clone();
    let names = place_dimension_names(target, registry, source.shape.len(), names, &mut attributes);
    let document = data_type_document(&**data_type, target, &translated.byte_order)?;
    let grid = conversion.converted_grid(&chunks)?;
    let key_encoding = key_encoding(target, conversion.separator().as_deref());
    let mut metadata = ArrayMetadata::new(target, source.shape.clone(), document, grid, key_encoding);
    metadata.fill_value = conversion.converted_fill_value(&chunks)?;
    metadata.memory_layout = chunks.translated.memory_layout;
    metadata.codecs = chunks.translated.codecs;
    metadata.has_compressor = chunks.translated.has_compressor;
    metadata.storage_transformers = chunks.storage_transformers;
    metadata.attributes = attributes;
    metadata.dimension_names = names.member;
    metadata.extensions.extend(names.extension);
    Ok(metadata)
}

struct ConvertedChunks {
    data_type: Arc<dyn DataType>,
    /// The fill value; `None` if it is undefined.
    fill_value: Option<FillValue>,
    shape: Vec<u64>,
    keeps_shape: bool,
    translated: Translated,
    order: ByteOrder,
    storage_transformers: Vec<ExtensionDocument>,
}

impl Conversion<'_> {
    fn converted_chunks(&self) -> Result<ConvertedChunks, Error> {
        let Self { source, target, registry, .. } = *self;
        let array = self.chunk()?;
        let chain = self.chain(&array)?;
        let steps = steps_of(source.format, registry, &chain)?;
        let fill_value = self.is_fill_defined().then(|| array.fill_value.clone());
        let mut recipe = Recipe { array, steps };
        let decoded_shape = recipe.array.shape.clone();
        let per_shard = match target {
            Format::V2 => None,
            Format::V3 => self.chunks_per_shard()?,
            Format::V3Draft => sharding::transformer_counts(&recipe, registry),
        };
        recipe.take_shards_apart(registry, target)?;
        if target == Format::V2 {
            recipe.use_an_order_of_v2();
        }
        let mut translated = translate_recipe(target, registry, &recipe)?;
        let order = stored_order(&translated.codecs, &translated.byte_order);
        let mut shape = recipe.array.shape.clone();
        let mut storage_transformers = Vec::new();
        match per_shard {
            Some(counts) if target == Format::V3 => {
                translated.codecs = vec![sharding(&shape, &translated.codecs, &[little_endian()])];
                shape = shard_shape(&shape, &counts)?;
            }
            Some(counts) => storage_transformers.push(sharding::transformer(&counts)),
            None => {}
        }
        let keeps_shape = shape == decoded_shape;
        let data_type = Arc::clone(&recipe.array.data_type);
        Ok(ConvertedChunks {
            data_type,
            fill_value,
            shape,
            keeps_shape,
            translated,
            order,
            storage_transformers,
        })
    }

    fn converted_grid(&self, chunks: &ConvertedChunks) -> Result<ExtensionDocument, Error> {
        let kept = if chunks.keeps_shape { self.kept_grid() } else { None };
        match kept {
            Some(grid) => Ok(grid),
            None if self.grid()?.chunk_shape().is_none() => Err(self.no_such_grid()),
            None => Ok(regular_grid(&chunks.shape)),
        }
    }

    fn converted_fill_value(&self, chunks: &ConvertedChunks) -> Result<Value, Error> {
        let ConvertedChunks { data_type, fill_value, order, .. } = chunks;
        let element = match fill_value {
            None if self.target == Format::V2 => return Ok(Value::Null),
            None => data_type.default_fill_value(),
            Some(fill_value) => fill_value.clone(),
        };
        Ok(data_type.fill_value_json(element.bytes(), self.target, order)?)
    }
}

fn shard_shape(chunk_shape: &[u64], chunks_per_shard: &[u64]) -> Result<Vec<u64>, Error> {
    let lengths = chunk_shape.iter().zip(chunks_per_shard);
    let lengths: Option<Vec<u64>> = lengths.map(|(length, count)| length.checked_mul(*count)).collect();
    lengths.ok_or_else(|| invalid("storage_transformers", "a shard is too large"))
}

struct Conversion<'a> {
    source: &'a ArrayMetadata,
    target: Format,
    registry: &'a Registry,
    reading: &'a Reading,
}

impl Conversion<'_> {
    /// Returns whether the fill value is defined. In v2 and in the draft, null means undefined.
    fn is_fill_defined(&self) -> bool {
        self.source.format == Format::V3 || !self.source.fill_value.is_null()
    }

    fn chunk(&self) -> Result<ArrayRepresentation, Error> {
        let source = self.source;
        let created = self.registry.data_type(source.format, &source.data_type, self.reading);
        let (data_type, byte_order) = created.map_err(|error| invalid("data_type", error))?;
        let fill_value = self.fill_value(&*data_type, &byte_order)?;
        Ok(ArrayRepresentation::new(self.largest_chunk()?, data_type, fill_value).with_byte_order(byte_order))
    }

    fn fill_value(&self, data_type: &dyn DataType, declared: &ByteOrder) -> Result<FillValue, Error> {
        if !self.is_fill_defined() {
            return Ok(data_type.default_fill_value());
        }
        let byte_order = &stored_order(&self.source.codecs, declared);
        let context = FillContext::new(self.source.format, self.reading).with_byte_order(byte_order);
        Ok(data_type.fill_value(&self.source.fill_value, &context)?)
    }

    fn chain(&self, chunk: &ArrayRepresentation) -> Result<CodecChain, Error> {
        let source = self.source;
        let layout = match &source.memory_layout {
            None => None,
            Some(document) => {
                let plugin =
                    self.registry.memory_layouts().find(source.format, &document.identifier, self.reading);
                let plugin = plugin.map_err(|error| members::unknown("chunk_memory_layout", error))?;
                let layout = (plugin.create)(&self.creation(document), source.shape.len());
                Some(layout.map_err(|error| invalid("chunk_memory_layout", error))?)
            }
        };
        // A memory layout does not affect the values of elements. Layouts that are not permutations of dimensions are
        // dropped, and the copy uses C order.
        let layout = layout.filter(|layout| matches!(layout, Codec::Permutation(_)));
        let creation = ChainCreation::new(source.format, self.registry, self.reading);
        CodecChain::create(&creation, layout, &source.codecs, chunk).map_err(|error| invalid("codecs", error))
    }

    /// Returns the metadata of the source. Rewrites codecs, data type and fill value if a strict reader would refuse them.
    fn strictly(&self) -> Result<ArrayMetadata, Error> {
        let source = self.source;
        let mut translated = self.source.clone();
        // If the extensions are unknown, the metadata stay unchanged.
        let Ok(chunk) = self.chunk() else { return Ok(translated) };
        let Ok(chain) = self.chain(&chunk) else { return Ok(translated) };
        let reading = Reading::new(Mode::Strict);
        let strict = Conversion { reading: &reading, ..*self };
        if strict.chain(&chunk).is_err() {
            translated.codecs = rewritten_codecs(source.format, self.registry, &chain)?;
        }
        let is_strict = source.format != Format::V3
            || (DataTypeDocument::v3(&source.data_type.json, &reading).is_ok()
                && self.registry.data_type(source.format, &source.data_type, &reading).is_ok());
        if !is_strict {
            translated.data_type = data_type_document(&*chunk.data_type, source.format, &chunk.byte_order)?;
        }
        if strict.fill_value(&*chunk.data_type, &chunk.byte_order).is_err() {
            let order = stored_order(&translated.codecs, &chunk.byte_order);
            let element = chunk.fill_value.bytes();
            translated.fill_value = chunk.data_type.fill_value_json(element, source.format, &order)?;
        }
        Ok(translated)
    }

    /// Returns the separator in the chunk keys of the source, if they use one of the standard encodings. The copy gets
    /// new keys in any case.
    fn separator(&self) -> Option<String> {
        let ExtensionDocument { identifier, configuration, .. } = &self.source.chunk_key_encoding;
        let default = match identifier.as_str() {
            "default" => "/",
            "v2" => ".",
            _ => return None,
        };
        let given = configuration.as_object().and_then(|members| members.get("separator")?.as_str());
        Some(given.unwrap_or(default).to_owned())
    }

    /// Returns the dimension names of the source, from its document or from an extension of the draft.
    fn dimension_names(&self) -> Result<Option<Vec<Option<String>>>, Error> {
        let mut names = self.source.dimension_names.clone();
        for (position, document) in self.source.extensions.iter().enumerate() {
            let brought = self.names_by(position, document)?;
            names = names.or(brought);
        }
        Ok(names)
    }

    /// Returns the dimension names from an extension of the draft. It is an error if an extension that readers must
    /// understand does not provide any.
    fn names_by(
        &self,
        position: usize,
        document: &ExtensionDocument,
    ) -> Result<Option<Vec<Option<String>>>, Error> {
        let extension = self.extension(position, document)?;
        match extension.as_ref().and_then(|extension| extension.dimension_names()) {
            Some(brought) => Ok(Some(brought.to_vec())),
            None if !document.must_understand => Ok(None),
            None => Err(not_in_format(self.target, format!("extension `{}`", document.identifier))),
        }
    }

    fn extension(
        &self,
        position: usize,
        document: &ExtensionDocument,
    ) -> Result<Option<Arc<dyn Extension>>, Error> {
        let found = self.registry.extensions().find(self.source.format, &document.identifier, self.reading);
        let Ok(plugin) = found else { return Ok(None) };
        let extension = (plugin.create)(&self.creation(document), ExtensionPlace::Array(&self.source.shape));
        extension.map(Some).map_err(|error| invalid(&format!("extensions[{position}]"), error))
    }

    fn creation<'d>(&'d self, document: &'d ExtensionDocument) -> Creation<'d> {
        Creation::of(document, self.source.format, self.registry, self.reading)
    }
}
