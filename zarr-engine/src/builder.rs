//! The description of an array that is to be created.

mod building;
mod chain;
mod entries;
mod printed;
mod problems;

use zarr_metadata::ArrayMetadata;
use zarr_spec::codec::CodecEntry;
use zarr_spec::{Format, Mode, Object, Reading, Registry, Value};

use crate::convert::with_each_once;
use crate::error::Error;
use building::Building;

/// The order of the elements of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// The last dimension varies fastest.
    #[default]
    C,
    /// The first dimension varies fastest.
    F,
}

/// The name of a dimension, if it has one. Text and options of text convert to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimensionName(Option<String>);

impl From<&str> for DimensionName {
    fn from(name: &str) -> Self {
        Self(Some(name.to_owned()))
    }
}

impl From<String> for DimensionName {
    fn from(name: String) -> Self {
        Self(Some(name))
    }
}

impl From<Option<&str>> for DimensionName {
    fn from(name: Option<&str>) -> Self {
        Self(name.map(str::to_owned))
    }
}

impl From<Option<String>> for DimensionName {
    fn from(name: Option<String>) -> Self {
        Self(name)
    }
}

impl From<&Option<String>> for DimensionName {
    fn from(name: &Option<String>) -> Self {
        Self(name.clone())
    }
}

/// Describes an array that is to be created, in any format.
///
/// Data types, fill values and codecs may be given as any format has them: they are said in the words of
/// the format that the array gets. What is not given has a default: chunks of about 1 MiB, a fill value of
/// zero, and compression with `zstd` (in the draft with `gzip`). The default is the same in every program: one that does
/// not have the codec names another one, or says [`ArrayBuilder::uncompressed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayBuilder {
    shape: Vec<u64>,
    data_type: Value,
    fallback: Vec<Value>,
    fill_value: Option<Value>,
    fill_element: Option<Vec<u8>>,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    codecs: Option<Vec<CodecEntry>>,
    order: Order,
    attributes: Value,
    dimension_names: Option<Vec<Option<String>>>,
    separator: Option<String>,
    chunk_grid: Option<Value>,
    chunk_key_encoding: Option<Value>,
    memory_layout: Option<Value>,
    storage_transformers: Vec<Value>,
    extensions: Vec<Value>,
}

impl ArrayBuilder {
    /// An array of `shape`, in elements per dimension. The data type is a name such as `float32`, a
    /// typestring such as `<f4`, a list of fields as in v2, an object as in v3 or the draft, or what messages
    /// call the type, such as `numpy.datetime64[10us]`.
    pub fn new(shape: impl Into<Vec<u64>>, data_type: impl Into<Value>) -> Self {
        Self {
            shape: shape.into(),
            data_type: data_type.into(),
            fallback: Vec::new(),
            fill_value: None,
            fill_element: None,
            chunks: None,
            shards: None,
            codecs: None,
            order: Order::C,
            attributes: Object::new().into(),
            dimension_names: None,
            separator: None,
            chunk_grid: None,
            chunk_key_encoding: None,
            memory_layout: None,
            storage_transformers: Vec::new(),
            extensions: Vec::new(),
        }
    }

    /// Elements of a chunk per dimension; of an inner chunk, if there are shards.
    #[must_use]
    pub fn chunks(self, chunks: impl Into<Vec<u64>>) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// Elements of a shard per dimension: multiples of those of a chunk. v3 alone has shards.
    #[must_use]
    pub fn shards(self, shards: impl Into<Vec<u64>>) -> Self {
        Self { shards: Some(shards.into()), ..self }
    }

    /// What elements that were never written hold, as a document has it. Null leaves it undefined, in v2.
    #[must_use]
    pub fn fill_value(self, fill_value: impl Into<Value>) -> Self {
        Self { fill_value: Some(fill_value.into()), ..self }
    }

    /// The fill value as the bytes of an element in native byte order. It replaces [`ArrayBuilder::fill_value`].
    #[must_use]
    pub fn fill_element(self, element: impl Into<Vec<u8>>) -> Self {
        Self { fill_element: Some(element.into()), ..self }
    }

    /// Adds a codec after those that were added before: `"crc32c"`, `("zstd", json!({"level": 3}))` with a configuration
    /// as any format has it, or a value such as `Zstd::new(3, false)?`. The codec that turns the array into bytes need
    /// not be added.
    #[must_use]
    pub fn codec(mut self, codec: impl Into<CodecEntry>) -> Self {
        self.codecs.get_or_insert_default().push(codec.into());
        self
    }

    /// Without codecs, rather than with those that are the default.
    #[must_use]
    pub fn uncompressed(self) -> Self {
        Self { codecs: Some(Vec::new()), ..self }
    }

    /// The order of the elements of a chunk.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// The attributes, a JSON object: `json!({"units": "K"})` or `[("units", "K")]`.
    #[must_use]
    pub fn attributes(self, attributes: impl Into<Value>) -> Self {
        Self { attributes: attributes.into(), ..self }
    }

    /// One name per dimension; `None` for a dimension without a name. The draft has them by an extension, if the program
    /// knows it; v2 in the attribute `_ARRAY_DIMENSIONS`.
    #[must_use]
    pub fn dimension_names<N: Into<DimensionName>>(self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(|name| name.into().0);
        Self { dimension_names: Some(names.collect()), ..self }
    }

    /// What stands between the indices in the keys of chunks, `/` or `.`.
    #[must_use]
    pub fn separator(self, separator: impl Into<String>) -> Self {
        Self { separator: Some(separator.into()), ..self }
    }

    /// A chunk grid as a document of the format has it, instead of the regular one.
    #[must_use]
    pub fn chunk_grid(self, grid: impl Into<Value>) -> Self {
        Self { chunk_grid: Some(grid.into()), ..self }
    }

    /// A chunk key encoding as a document of v3 has it.
    #[must_use]
    pub fn chunk_key_encoding(self, encoding: impl Into<Value>) -> Self {
        Self { chunk_key_encoding: Some(encoding.into()), ..self }
    }

    /// A chunk memory layout as a document of the draft has it.
    #[must_use]
    pub fn memory_layout(self, layout: impl Into<Value>) -> Self {
        Self { memory_layout: Some(layout.into()), ..self }
    }

    /// Adds a storage transformer as a document of the format has it; the first is nearest to the array.
    #[must_use]
    pub fn storage_transformer(mut self, transformer: impl Into<Value>) -> Self {
        self.storage_transformers.push(transformer.into());
        self
    }

    /// Adds a generic extension as a document of the draft has it.
    #[must_use]
    pub fn extension(mut self, extension: impl Into<Value>) -> Self {
        self.extensions.push(extension.into());
        self
    }

    /// Adds a data type that stands in for an extension data type of the draft where that is unknown; the
    /// first is the first choice. Without any, there are those that the data type itself brings.
    #[must_use]
    pub fn fallback(mut self, data_type: impl Into<Value>) -> Self {
        self.fallback.push(data_type.into());
        self
    }

    /// Returns whether `other` results in the same document. Attributes are compared in any order, but written in theirs.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.attributes.as_object().is_some_and(Object::is_empty) && self == other
    }

    /// The metadata of the array in `format`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] names the member that makes no sense; [`Error::NotInFormat`] names what the
    /// format cannot say; [`Error::DataType`] for a fill value that is none.
    pub fn metadata(&self, format: Format, registry: &Registry) -> Result<ArrayMetadata, Error> {
        let building = Building { builder: self, format, registry, reading: &Reading::new(Mode::Strict) };
        building.metadata()
    }

    /// Everything that keeps the array from being said in `format`, where [`ArrayBuilder::metadata`] names the first of
    /// it. Nothing if it can be said.
    #[must_use]
    pub fn problems(&self, format: Format, registry: &Registry) -> Vec<Error> {
        let Err(first) = self.metadata(format, registry) else { return Vec::new() };
        let building = Building { builder: self, format, registry, reading: &Reading::new(Mode::Strict) };
        with_each_once(first, building.problems())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        let registry = Registry::empty();
        let message =
            |builder: ArrayBuilder, format| builder.metadata(format, &registry).unwrap_err().to_string();
        let builder = || ArrayBuilder::new([4, 4], "int8");
        let wanted = "`chunks`: has 1 entry, and the array has 2 dimensions";
        assert_eq!(message(builder().chunks([2]), Format::V3), wanted);
        assert_eq!(
            message(builder().shards([2, 2]), Format::V2),
            "v2 does not support this: shards: v3 has them"
        );
        assert_eq!(message(builder(), Format::V3), "`data_type`: data type `int8` is unknown");
        let extension = builder().extension(Object::new());
        assert_eq!(
            message(extension, Format::V3),
            "v3 does not support this: extensions: the draft has them"
        );
    }

    #[test]
    fn all_that_makes_no_sense_is_listed_and_each_of_it_once() {
        let registry = Registry::empty();
        let builder = ArrayBuilder::new([4, 4], "int8").chunks([2]).shards([2, 2, 2]).extension("a");
        let problems = builder.problems(Format::V2, &registry);
        let wanted = [
            "v2 does not support this: shards: v3 has them",
            "v2 does not support this: extensions: the draft has them",
            "`chunks`: has 1 entry, and the array has 2 dimensions",
            "`shards`: has 3 entries, and the array has 2 dimensions",
            "`data_type`: data type `int8` is unknown",
        ];
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), wanted);
    }
}
