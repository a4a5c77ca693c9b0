//! Translates a description to metadata, member by member.

use std::sync::Arc;

use zarr_json::counted;
use zarr_metadata::ArrayMetadata;
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Creation, DataType, FillValue, Format, Reading, Registry, Value,
};

use super::chain::sharding;
use super::entries::{chunk_grid, entry};
use super::printed::printed_document;
use super::{ArrayBuilder, Order};
use crate::attributes::attributes_of;
use crate::byte_order::stored_order;
use crate::convert::{
    Recipe, RecipeStep, data_type_document, invalid, key_encoding, missing_plugins, not_in_format,
    place_dimension_names, regular_grid, reversal, translate_recipe, unknown,
};
use crate::error::Error;

/// Target size of a chunk in bytes, if no chunk shape is given.
const CHUNK_SIZE: u64 = 1 << 20;
/// Assumed size in bytes of an element of variable size, when a chunk shape is chosen.
const VARIABLE_SIZE: u64 = 16;

pub(super) struct Building<'a> {
    pub(super) builder: &'a ArrayBuilder,
    pub(super) format: Format,
    pub(super) registry: &'a Registry,
    pub(super) reading: &'a Reading,
}

impl Building<'_> {
    pub(super) fn metadata(&self) -> Result<ArrayMetadata, Error> {
        let builder = self.builder;
        if let Some(error) = self.misplaced().into_iter().chain(self.wrong_ranks()).next() {
            return Err(error);
        }
        let (data_type, declared) = self.data_type()?;
        let fill_value = self.fill_value(&*data_type, &declared)?;
        let (chunk_grid, chunk_shape, separator) = self.grid(&*data_type)?;
        let chunk = self.chunk(chunk_shape, Arc::clone(&data_type), declared, fill_value.clone());
        let (recipe, refused) = self.recipe(chunk);
        if let Some(error) = refused.into_iter().next() {
            return Err(error);
        }
        let mut translated = translate_recipe(self.format, self.registry, &recipe)?;
        if builder.shards.is_some() {
            translated.codecs = vec![sharding(&recipe.array.shape, &translated.codecs)];
        }
        if let Some(layout) = self.layout()? {
            translated.memory_layout = Some(layout);
        }
        let mut attributes = attributes_of(builder.attributes.clone())?;
        let names = place_dimension_names(
            self.format,
            self.registry,
            builder.shape.len(),
            builder.dimension_names.clone(),
            &mut attributes,
        );
        let mut extensions = self.entries("extensions", &builder.extensions)?;
        extensions.extend(names.extension);
        let document = self.data_type_document(&*data_type, &translated.byte_order)?;
        let key_encoding = self.key_encoding(separator)?;
        let mut metadata =
            ArrayMetadata::new(self.format, builder.shape.clone(), document, chunk_grid, key_encoding);
        if let Some(element) = &fill_value {
            let order = stored_order(&translated.codecs, &translated.byte_order);
            metadata.fill_value = data_type.fill_value_json(element.bytes(), self.format, &order)?;
        }
        metadata.memory_layout = translated.memory_layout;
        metadata.codecs = translated.codecs;
        metadata.has_compressor = translated.has_compressor && !builder.only_filters;
        metadata.storage_transformers =
            self.entries("storage_transformers", &builder.storage_transformers)?;
        metadata.attributes = attributes;
        metadata.dimension_names = names.member;
        metadata.extensions = extensions;
        Ok(metadata)
    }

    pub(super) fn misplaced(&self) -> Vec<Error> {
        let is_draft = self.format == Format::V3Draft;
        let is_v3 = self.format == Format::V3;
        let given = [
            (self.builder.shards.is_some(), is_v3, "shards (v3 does)"),
            (self.builder.chunk_key_encoding.is_some(), is_v3, "a chunk key encoding, only a separator"),
            (self.builder.memory_layout.is_some(), is_draft, "a chunk memory layout (the draft does)"),
            (!self.builder.extensions.is_empty(), is_draft, "extensions (the draft does)"),
            (!self.builder.fallback.is_empty(), is_draft, "fallbacks of data types (the draft does)"),
            (!self.builder.storage_transformers.is_empty(), is_draft || is_v3, "storage transformers"),
        ];
        let misplaced = given.into_iter().filter(|(is_given, has_place, _)| *is_given && !has_place);
        misplaced.map(|(.., what)| not_in_format(self.format, what)).collect()
    }

    pub(super) fn wrong_ranks(&self) -> Vec<Error> {
        let ArrayBuilder { shape, dimension_names, .. } = self.builder;
        let ranks = [
            ("chunks", self.builder.chunks.as_ref().map(Vec::len)),
            ("shards", self.builder.shards.as_ref().map(Vec::len)),
            ("dimension_names", dimension_names.as_ref().map(Vec::len)),
        ];
        let shape_rank = shape.len();
        let wrong = |(member, rank): (&str, Option<usize>)| {
            let rank = rank.filter(|&rank| rank != shape_rank)?;
            let reason = format!(
                "has {}, but the array has {}",
                counted(rank, "entry", "entries"),
                counted(shape_rank, "dimension", "dimensions")
            );
            Some(invalid(member, reason))
        };
        ranks.into_iter().filter_map(wrong).collect()
    }

    /// Returns the formats in the order in which they are tried for parsing a given value.
    pub(super) fn formats(&self) -> impl Iterator<Item = Format> {
        let others = [Format::V3, Format::V2, Format::V3Draft];
        let first = self.format;
        std::iter::once(first).chain(others.into_iter().filter(move |format| *format != first))
    }

    pub(super) fn data_type(&self) -> Result<(Arc<dyn DataType>, ByteOrder), Error> {
        self.find_data_type("data_type", &self.builder.data_type)
    }

    fn find_data_type(&self, member: &str, json: &Value) -> Result<(Arc<dyn DataType>, ByteOrder), Error> {
        let mut refused = None;
        let printed = json.as_str().and_then(printed_document);
        let given = self.formats().map(|format| (format, json));
        for (format, json) in given.chain(printed.iter().map(|printed| (Format::V3, printed))) {
            let Ok(document) = self.parse_data_type(json, format) else { continue };
            if self.registry.data_type_plugin(format, &document, self.reading).is_err() {
                continue;
            }
            match self.registry.data_type(format, &document, self.reading) {
                Ok(created) => return Ok(created),
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
        if let Some(error) = refused {
            return Err(invalid(member, error));
        }
        let name = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
        Err(unknown(member, self.registry.data_types().unknown(&name)))
    }

    fn parse_data_type(&self, json: &Value, format: Format) -> Result<DataTypeDocument, zarr_spec::Invalid> {
        match format {
            Format::V2 => {
                let codec = self.builder.codecs.as_ref().and_then(|codecs| codecs.first());
                let elements = codec.and_then(|codec| codec.configuration.as_object()?.get("dtype"));
                DataTypeDocument::v2(json, codec.map(|codec| codec.identifier.as_str()), self.reading)
                    .map(|document| document.with_object_elements(elements))
            }
            Format::V3Draft => DataTypeDocument::draft(json, self.reading),
            Format::V3 => DataTypeDocument::v3(json, self.reading),
        }
    }

    pub(super) fn data_type_document(
        &self,
        data_type: &dyn DataType,
        order: &ByteOrder,
    ) -> Result<DataTypeDocument, Error> {
        let mut document = data_type_document(data_type, self.format, order)?;
        if self.builder.fallback.is_empty() {
            return Ok(document);
        }
        let mut fallback = Vec::new();
        for (position, json) in self.builder.fallback.iter().enumerate() {
            let (other, _) = self.find_data_type(&format!("fallback[{position}]"), json)?;
            fallback.push(data_type_document(&*other, self.format, order)?);
        }
        let Some(members) = document.json.as_object_mut() else {
            let reason = format!("a fallback of data type {}, which is not an extension", data_type.name());
            return Err(not_in_format(self.format, reason));
        };
        members.insert("fallback", fallback.iter().map(|one| one.json.clone()).collect::<Value>());
        document.fallback = fallback;
        Ok(document)
    }

    /// Returns the fill value; `None` if it is undefined.
    pub(super) fn fill_value(
        &self,
        data_type: &dyn DataType,
        byte_order: &ByteOrder,
    ) -> Result<Option<FillValue>, Error> {
        if let Some(element) = &self.builder.fill_element {
            return fill_element(data_type, element).map(Some);
        }
        let json = match &self.builder.fill_value {
            None => return Ok(Some(data_type.default_fill_value())),
            Some(Value::Null) if self.format == Format::V2 => return Ok(None),
            Some(Value::Null) if self.format == Format::V3Draft => {
                return Err(not_in_format(
                    self.format,
                    "an undefined fill value (`fill_value` null); v2 does",
                ));
            }
            Some(json) => json,
        };
        let mut refused = None;
        // Null is a fill value only in v3.
        for format in self.formats().filter(|format| !json.is_null() || *format == Format::V3) {
            let context = FillContext::new(format, self.reading).with_byte_order(byte_order);
            match data_type.fill_value(json, &context) {
                Ok(element) => return Ok(Some(element)),
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
        match refused {
            Some(error) => Err(error.into()),
            None => Err(invalid("fill_value", "null is not an element")),
        }
    }

    /// Returns the grid, the shape of the chunks that the codecs encode, and the separator if the draft's grid contains
    /// it.
    pub(super) fn grid(
        &self,
        data_type: &dyn DataType,
    ) -> Result<(ExtensionDocument, Vec<u64>, Option<String>), Error> {
        let builder = self.builder;
        let (document, separator) = match &builder.chunk_grid {
            Some(_) if builder.chunks.is_some() || builder.shards.is_some() => {
                return Err(invalid("chunk_grid", "it cannot be combined with `chunks` or `shards`"));
            }
            Some(json) => chunk_grid(json, self.format)?,
            None => (regular_grid(&self.outer_chunks(data_type)?), None),
        };
        let plugin = self.registry.chunk_grids().find(self.format, &document.identifier, self.reading);
        let plugin = plugin.map_err(|error| missing_plugins("chunk_grid", vec![error.clone()], error))?;
        let grid = (plugin.create)(&self.creation(&document), &builder.shape);
        let grid = grid.map_err(|error| invalid("chunk_grid", error))?;
        let chunks = match &builder.shards {
            Some(shards) => self.inner_chunks(shards, data_type)?,
            None => grid.largest_chunk(),
        };
        Ok((document, chunks, separator))
    }

    fn outer_chunks(&self, data_type: &dyn DataType) -> Result<Vec<u64>, Error> {
        let builder = self.builder;
        let (member, given) = match (&builder.shards, &builder.chunks) {
            (Some(shards), _) => ("shards", shards),
            (None, Some(chunks)) => ("chunks", chunks),
            (None, None) => return Ok(guess(&builder.shape, element_size(data_type))),
        };
        if given.contains(&0) {
            return Err(invalid(member, format!("{given:?} contains a zero")));
        }
        Ok(given.clone())
    }

    fn inner_chunks(&self, shards: &[u64], data_type: &dyn DataType) -> Result<Vec<u64>, Error> {
        let Some(chunks) = &self.builder.chunks else {
            let wanted = guess(shards, element_size(data_type));
            return Ok(shards.iter().zip(wanted).map(|(&shard, wanted)| divisor(shard, wanted)).collect());
        };
        let divides = |(shard, chunk): (&u64, &u64)| *chunk > 0 && shard.is_multiple_of(*chunk);
        if shards.iter().zip(chunks).all(divides) {
            return Ok(chunks.clone());
        }
        Err(invalid("shards", format!("{shards:?} are not multiples of the chunks {chunks:?}")))
    }

    pub(super) fn chunk(
        &self,
        shape: Vec<u64>,
        data_type: Arc<dyn DataType>,
        byte_order: ByteOrder,
        fill_value: Option<FillValue>,
    ) -> ArrayRepresentation {
        let fill_value = fill_value.unwrap_or_else(|| data_type.default_fill_value());
        ArrayRepresentation::new(shape, data_type, fill_value).with_byte_order(byte_order)
    }

    pub(super) fn recipe(&self, array: ArrayRepresentation) -> (Recipe, Vec<Error>) {
        let rank = array.shape.len();
        let mut steps = Vec::new();
        let mut refused = Vec::new();
        if self.builder.order == Order::F && rank > 1 {
            if self.builder.memory_layout.is_some() {
                refused.push(invalid("order", "it cannot be combined with `chunk_memory_layout`"));
            }
            steps.push(RecipeStep::Permutation(reversal(rank)));
        }
        refused.extend(self.add_codecs(&array, &mut steps));
        (Recipe { array, steps }, refused)
    }

    pub(super) fn layout(&self) -> Result<Option<ExtensionDocument>, Error> {
        let layout = self.builder.memory_layout.as_ref();
        layout.map(|layout| entry("chunk_memory_layout", layout, self.format)).transpose()
    }

    pub(super) fn key_encoding(&self, of_grid: Option<String>) -> Result<ExtensionDocument, Error> {
        let builder = self.builder;
        let separator = builder.separator.clone().or(of_grid);
        if let Some(separator) = &separator
            && !matches!(separator.as_str(), "/" | ".")
        {
            return Err(invalid("separator", format!("it is `{separator}`, not `/` or `.`")));
        }
        match &builder.chunk_key_encoding {
            Some(_) if separator.is_some() => {
                Err(invalid("separator", "it cannot be combined with `chunk_key_encoding`"))
            }
            Some(json) => {
                let document = entry("chunk_key_encoding", json, self.format)?;
                if self.format == Format::V3 {
                    let encodings = self.registry.chunk_key_encodings();
                    let found = encodings.find(self.format, &document.identifier, self.reading);
                    found.map_err(|error| unknown("chunk_key_encoding", error))?;
                }
                Ok(document)
            }
            None => Ok(key_encoding(self.format, separator.as_deref())),
        }
    }

    pub(super) fn entries(&self, member: &str, given: &[Value]) -> Result<Vec<ExtensionDocument>, Error> {
        let one = |(position, json)| entry(&format!("{member}[{position}]"), json, self.format);
        given.iter().enumerate().map(one).collect()
    }

    fn creation<'d>(&'d self, document: &'d ExtensionDocument) -> Creation<'d> {
        Creation::of(document, self.format, self.registry, self.reading)
    }
}

fn element_size(data_type: &dyn DataType) -> u64 {
    data_type.elements().size().map_or(VARIABLE_SIZE, |size| size as u64).max(1)
}

/// Returns the fill value with the bytes `element`, if they are a valid element.
fn fill_element(data_type: &dyn DataType, element: &[u8]) -> Result<FillValue, Error> {
    let given = element.len();
    if let Some(size) = data_type.elements().size().filter(|&size| size != given) {
        let name = data_type.name();
        let reason = format!("it has {given} bytes, but an element of type {name} has {size}");
        return Err(invalid("fill_value", reason));
    }
    data_type.check(element).map_err(|reason| invalid("fill_value", reason))?;
    Ok(FillValue::new(element))
}

/// Returns a chunk shape: halves the longest dimension until a chunk has the target size.
fn guess(shape: &[u64], element_size: u64) -> Vec<u64> {
    let mut chunks: Vec<u64> = shape.iter().map(|&length| length.max(1)).collect();
    let size =
        |chunks: &[u64]| chunks.iter().fold(element_size, |product, &length| product.saturating_mul(length));
    while size(&chunks) > CHUNK_SIZE {
        match chunks.iter_mut().max() {
            Some(longest) if *longest > 1 => *longest = longest.div_ceil(2),
            _ => break,
        }
    }
    chunks
}

/// Returns the largest divisor of `shard` that is at most `wanted`, and at least 1.
fn divisor(shard: u64, wanted: u64) -> u64 {
    (1..=wanted.min(shard)).rev().find(|&length| shard.is_multiple_of(length)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessed_chunks_are_about_a_mebibyte_and_never_empty() {
        assert_eq!(guess(&[100, 100], 8), [100, 100]);
        assert_eq!(guess(&[1 << 20, 1 << 10], 1), [1 << 10, 1 << 10]);
        assert_eq!(guess(&[u64::MAX, u64::MAX], 4), [512, 512]);
        assert_eq!(guess(&[0, 7], 4), [1, 7]);
        assert_eq!(guess(&[], 1 << 30), [0; 0]);
        assert_eq!(guess(&[3], 1 << 30), [1]);
    }

    #[test]
    fn guessed_inner_chunks_divide_their_shard() {
        assert_eq!(divisor(100, 30), 25);
        assert_eq!(divisor(97, 50), 1);
        assert_eq!(divisor(8, 8), 8);
    }
}
