//! Builder for new arrays.

mod building;
mod chain;
mod entries;
mod printed;
mod problems;

use std::fmt;
use std::str::FromStr;

use zarr_metadata::ArrayMetadata;
use zarr_spec::codec::CodecEntry;
use zarr_spec::{Format, Invalid, Mode, Object, Reading, Registry, Value};

use crate::conversions::conversions;
use crate::convert::with_each_once;
use crate::error::Error;
use building::Building;

/// The order of the elements of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Order {
    /// The last dimension varies fastest.
    #[default]
    C,
    /// The first dimension varies fastest.
    F,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::C => "C",
            Self::F => "F",
        })
    }
}

impl FromStr for Order {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "C" => Ok(Self::C),
            "F" => Ok(Self::F),
            _ => Err(Invalid::new(format!("unknown order `{text}` (expected C or F)"))),
        }
    }
}

/// The optional name of a dimension. Strings and options of strings convert to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimensionName(Option<String>);

conversions! { DimensionName:
    name: &str => Self(Some(name.to_owned())),
    name: String => Self(Some(name)),
    name: Option<&str> => Self(name.map(str::to_owned)),
    name: Option<String> => Self(name),
    name: &Option<String> => Self(name.clone()),
}

/// A description of a new array, independent of the format.
///
/// Data types, fill values and codecs may be given in the notation of any format; they are translated to the format of
/// the array. Defaults: chunks of about 1 MiB, a fill value of zero, and compression with `zstd` (in the draft `gzip`).
/// The defaults are the same in every program: a program without the plugin for this codec must choose another codec or
/// call [`ArrayBuilder::uncompressed`].
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
    /// Whether v2 stores the last codec as a filter, too.
    only_filters: bool,
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
    /// Returns the description of an array of `shape`, in elements per dimension. The data type is a name such as
    /// `float32`, a typestring such as `<f4`, a list of fields as in v2, an object as in v3 or the draft, or a name as
    /// printed in messages, such as `numpy.datetime64[10us]`.
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
            only_filters: false,
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

    /// Sets the chunk shape, in elements per dimension. With shards, this is the shape of the inner chunks.
    #[must_use]
    pub fn chunks(self, chunks: impl Into<Vec<u64>>) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// Sets the shard shape, in elements per dimension: multiples of the chunk shape. Only v3 supports shards.
    #[must_use]
    pub fn shards(self, shards: impl Into<Vec<u64>>) -> Self {
        Self { shards: Some(shards.into()), ..self }
    }

    /// Sets the fill value, the value of elements that were never written, as in a metadata document. In v2, null makes
    /// it undefined.
    #[must_use]
    pub fn fill_value(self, fill_value: impl Into<Value>) -> Self {
        Self { fill_value: Some(fill_value.into()), ..self }
    }

    /// Sets the fill value to the bytes of an element in native byte order. This replaces [`ArrayBuilder::fill_value`].
    #[must_use]
    pub fn fill_element(self, element: impl Into<Vec<u8>>) -> Self {
        Self { fill_element: Some(element.into()), ..self }
    }

    /// Adds a codec after the codecs that were added before: `"crc32c"`, `("zstd", json!({"level": 3}))` with a
    /// configuration as in any format, or a value such as `Zstd::new(3, false)?`. The array-to-bytes codec may be
    /// omitted.
    #[must_use]
    pub fn codec(mut self, codec: impl Into<CodecEntry>) -> Self {
        self.codecs.get_or_insert_default().push(codec.into());
        self
    }

    /// Removes all codecs, including the default compression.
    #[must_use]
    pub fn uncompressed(self) -> Self {
        Self { codecs: Some(Vec::new()), ..self }
    }

    /// In v2, stores all codecs as filters. Otherwise, the last codec is the compressor if it converts bytes. This has no
    /// effect in other formats.
    #[must_use]
    pub fn without_compressor(self) -> Self {
        Self { only_filters: true, ..self }
    }

    /// Sets the order of the elements of a chunk.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Sets the attributes, a JSON object: `json!({"units": "K"})` or `[("units", "K")]`.
    #[must_use]
    pub fn attributes(self, attributes: impl Into<Value>) -> Self {
        Self { attributes: attributes.into(), ..self }
    }

    /// Sets the dimension names, one per dimension; `None` for a dimension without a name. v2 stores them in the
    /// attribute `_ARRAY_DIMENSIONS`, the draft by an extension if the program knows one.
    #[must_use]
    pub fn dimension_names<N: Into<DimensionName>>(self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(|name| name.into().0);
        Self { dimension_names: Some(names.collect()), ..self }
    }

    /// Sets the separator between the indices in chunk keys: `/` or `.`.
    #[must_use]
    pub fn separator(self, separator: impl Into<String>) -> Self {
        Self { separator: Some(separator.into()), ..self }
    }

    /// Sets a chunk grid other than the regular one, as in a metadata document of the format.
    #[must_use]
    pub fn chunk_grid(self, grid: impl Into<Value>) -> Self {
        Self { chunk_grid: Some(grid.into()), ..self }
    }

    /// Sets the chunk key encoding, as in a v3 document.
    #[must_use]
    pub fn chunk_key_encoding(self, encoding: impl Into<Value>) -> Self {
        Self { chunk_key_encoding: Some(encoding.into()), ..self }
    }

    /// Sets the chunk memory layout, as in a document of the draft.
    #[must_use]
    pub fn memory_layout(self, layout: impl Into<Value>) -> Self {
        Self { memory_layout: Some(layout.into()), ..self }
    }

    /// Adds a storage transformer, as in a metadata document of the format. The first one is nearest to the array.
    #[must_use]
    pub fn storage_transformer(mut self, transformer: impl Into<Value>) -> Self {
        self.storage_transformers.push(transformer.into());
        self
    }

    /// Adds a generic extension, as in a document of the draft.
    #[must_use]
    pub fn extension(mut self, extension: impl Into<Value>) -> Self {
        self.extensions.push(extension.into());
        self
    }

    /// Adds a fallback for an extension data type of the draft, for readers that do not know it, in order of
    /// preference. Without this call, the fallbacks that the data type itself defines are used.
    #[must_use]
    pub fn fallback(mut self, data_type: impl Into<Value>) -> Self {
        self.fallback.push(data_type.into());
        self
    }

    /// Returns whether `other` results in the same document. Returns false if there are attributes, because equal
    /// attributes may be written in a different order.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.attributes.as_object().is_some_and(Object::is_empty) && self == other
    }

    /// Returns the metadata of the array in `format`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], which names the invalid member; [`Error::MissingPlugins`] for an unknown plugin;
    /// [`Error::NotInFormat`], which names what the format does not support; [`Error::DataType`] for an invalid fill
    /// value.
    pub fn metadata(&self, format: Format, registry: &Registry) -> Result<ArrayMetadata, Error> {
        let building = Building { builder: self, format, registry, reading: &Reading::new(Mode::Strict) };
        building.metadata()
    }

    /// Returns all reasons why `format` cannot represent the array, of which [`ArrayBuilder::metadata`] returns only
    /// the first. The list is empty if the format can represent it.
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
    fn errors_name_the_invalid_member() {
        let registry = Registry::empty();
        let message =
            |builder: ArrayBuilder, format| builder.metadata(format, &registry).unwrap_err().to_string();
        let builder = || ArrayBuilder::new([4, 4], "int8");
        let wanted = "`chunks`: has 1 entry, but the array has 2 dimensions";
        assert_eq!(message(builder().chunks([2]), Format::V3), wanted);
        assert_eq!(message(builder().shards([2, 2]), Format::V2), "v2 does not support shards (v3 does)");
        assert_eq!(message(builder(), Format::V3), "`data_type`: data type `int8` is unknown");
        let extension = builder().extension(Object::new());
        assert_eq!(message(extension, Format::V3), "v3 does not support extensions (the draft does)");
    }

    #[test]
    fn lists_all_problems_once() {
        let registry = Registry::empty();
        let builder = ArrayBuilder::new([4, 4], "int8").chunks([2]).shards([2, 2, 2]).extension("a");
        let problems = builder.problems(Format::V2, &registry);
        let wanted = [
            "v2 does not support shards (v3 does)",
            "v2 does not support extensions (the draft does)",
            "`chunks`: has 1 entry, but the array has 2 dimensions",
            "`shards`: has 3 entries, but the array has 2 dimensions",
            "`data_type`: data type `int8` is unknown",
        ];
        assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), wanted);
    }
}
