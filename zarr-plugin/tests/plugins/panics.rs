//! A plugin of every kind that panics in the function that its configuration names: `{"in": "decode"}`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{
    ArrayToArrayCodec, ArrayToBytesCodec, BytesToBytesCodec, Checksum, CompositeCodec, RunChain,
};
use zarr_spec::data_type::{DataTypeDocument, FillContext, Kind};
use zarr_spec::extension::{Extension, ExtensionPlugin};
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin};
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::store::{
    Capabilities, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Request, Responses, Store,
    StoreError, StorePlugin,
};
use zarr_spec::transformer::{StorageTransformer, StorageTransformerPlugin, WrappingTransformer};
use zarr_spec::{
    ArrayRepresentation, BoxError, ByteOrder, Codec, CodecChain, CodecError, CodecPlugin, Creation, DataType,
    DataTypeError, DataTypePlugin, Elements, FillValue, Format, Identifiers, Invalid, Key, Mode, Object,
    Output, Prefix, Reading, Representation, Size, Units, Value,
};

const PANIC: Identifiers = Identifiers::name("example.panic").with_id("example.panic").with_uri("https://example.org/panic/1.0");

zarr_spec::register!(CodecPlugin::new(PANIC, &codec).translated_by(&translated));
zarr_spec::register!(MemoryLayoutPlugin::new(PANIC, &|creation, _| Ok(Codec::ArrayToArray(told(creation)?))));
zarr_spec::register!(DataTypePlugin::new(PANIC, &|creation| Ok((told(creation)?, ByteOrder::Little))));
zarr_spec::register!(ChunkGridPlugin::new(PANIC, &|creation, _| Ok(told(creation)?)));
zarr_spec::register!(ChunkKeyEncodingPlugin::new(PANIC, &|creation| Ok(told(creation)?)));
zarr_spec::register!(MetadataEncodingPlugin::new(PANIC, &|creation| Ok(told(creation)?)));
zarr_spec::register!(ExtensionPlugin::new(PANIC, &|creation, _| Ok(told(creation)?)));
zarr_spec::register!(StorageTransformerPlugin::new(PANIC, &|creation, _| {
    Ok(StorageTransformer::Wrap(told(creation)?))
}));
zarr_spec::register!(StorePlugin::new("example.panic", &["panic"], &open));

/// The function that panics.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    #[serde(rename = "in")]
    place: String,
    /// The kind of codec.
    #[serde(default)]
    form: String,
}

impl Told {
    fn at<T>(&self, place: &str, otherwise: T) -> T {
        assert!(self.place != place, "on purpose, in {place}");
        otherwise
    }
}

/// Panics in the selected function, which may be `drop`.
#[derive(Debug)]
struct Panicking(Told);

impl Drop for Panicking {
    fn drop(&mut self) {
        self.0.at("drop", ());
    }
}

impl Panicking {
    fn at<T>(&self, place: &str, otherwise: T) -> T {
        self.0.at(place, otherwise)
    }
}

fn told(creation: &Creation<'_>) -> Result<Arc<Panicking>, Invalid> {
    be_quiet();
    let told: Told = creation.parse()?;
    told.at("create", ());
    Ok(Arc::new(Panicking(told)))
}

fn codec(creation: &Creation<'_>, _: &Representation) -> Result<Codec, CodecError> {
    let panicking = told(creation)?;
    Ok(match panicking.0.form.as_str() {
        "array to array" => Codec::ArrayToArray(panicking),
        "array to bytes" => Codec::ArrayToBytes(panicking),
        "bytes to bytes" => Codec::BytesToBytes(panicking),
        "composite" => Codec::Composite(panicking),
        _ => Codec::Checksum(panicking),
    })
}

fn translated(creation: &Creation<'_>, _: &Representation, _: Format) -> Result<Object, CodecError> {
    told(creation)?.at("translate", Ok(Object::new()))
}

impl ArrayToArrayCodec for Panicking {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        Ok(self.at("encoded", decoded.clone()))
    }

    fn encode(
        &self,
        _: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(encoded.put(self.at("encode", decoded))?)
    }

    fn decode(
        &self,
        _: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(decoded.put(self.at("decode", encoded))?)
    }
}

impl ArrayToBytesCodec for Panicking {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(self.at("encoded_size", array.size()))
    }

    fn encode(
        &self,
        _: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(encoded.put(self.at("encode", decoded))?)
    }

    fn decode(
        &self,
        _: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(decoded.put(self.at("decode", encoded))?)
    }
}

impl CompositeCodec for Panicking {
    fn chains(&self) -> Vec<&CodecChain> {
        self.at("chains", Vec::new())
    }

    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(self.at("encoded_size", array.size()))
    }

    fn encode(
        &self,
        _: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        _: &mut dyn RunChain,
    ) -> Result<(), CodecError> {
        Ok(encoded.put(self.at("encode", decoded))?)
    }

    fn decode(
        &self,
        _: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        _: &mut dyn RunChain,
    ) -> Result<(), CodecError> {
        Ok(decoded.put(self.at("decode", encoded))?)
    }
}

impl BytesToBytesCodec for Panicking {
    fn encoded_size(&self, decoded: Size) -> Size {
        self.at("encoded_size", decoded)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(encoded.put(self.at("encode", decoded))?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(self.at("decode", encoded))?)
    }

    fn decode_range(
        &self,
        encoded: &[u8],
        _: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        Ok(decoded.put(self.at("decode_range", encoded))?)
    }
}

impl Checksum for Panicking {
    fn size(&self) -> usize {
        2
    }

    fn checksum(&self, _: &[u8], checksum: &mut [u8]) -> Result<(), CodecError> {
        self.at("checksum", checksum).fill(7);
        Ok(())
    }
}

impl DataType for Panicking {
    fn name(&self) -> Cow<'_, str> {
        self.at("name", "example.panic".into())
    }

    fn elements(&self) -> Elements {
        self.at("elements", Elements::Fixed { size: 2, units: Units::Uniform(2) })
    }

    fn kind(&self) -> Option<Kind> {
        None
    }

    fn document(&self, _: Format, _: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        Ok(self.at("document", DataTypeDocument::named("example.panic")))
    }

    fn fill_value(&self, _: &Value, _: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        Ok(self.at("fill_value", FillValue::zero(2)))
    }

    fn fill_value_json(&self, _: &[u8], _: Format, _: &ByteOrder) -> Result<Value, DataTypeError> {
        Ok(self.at("fill_value_json", Value::from(0)))
    }

    fn print(&self, _: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        to.write_str(self.at("print", "0"))
    }

    fn check(&self, _: &[u8]) -> Result<(), Invalid> {
        self.at("check", Ok(()))
    }

    fn settle(&self, _: &mut [u8], _: Mode) -> Result<(), Invalid> {
        self.at("settle", Ok(()))
    }

    fn settles(&self) -> bool {
        true
    }
}

/// A grid of one chunk.
impl ChunkGrid for Panicking {
    fn grid_shape(&self) -> &[u64] {
        self.at("grid_shape", &[1])
    }

    fn chunk_range(&self, _: usize, _: u64) -> Result<Range<u64>, GridError> {
        Ok(self.at("chunk_range", 0..4))
    }

    fn chunk_of(&self, _: usize, _: u64) -> Result<u64, GridError> {
        Ok(self.at("chunk_of", 0))
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        Some(self.at("chunk_shape", &[4]))
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.at("largest_chunk", vec![4])
    }

    fn padding(&self, _: usize, _: u64) -> Result<u64, GridError> {
        Ok(self.at("padding", 0))
    }

    fn key_index(&self, _: usize, _: u64) -> Result<u64, GridError> {
        Ok(self.at("key_index", 0))
    }

    fn chunk_of_key(&self, _: usize, _: u64) -> Result<Option<u64>, GridError> {
        Ok(self.at("chunk_of_key", Some(0)))
    }

    fn moved(&self, _: &[i64]) -> Result<Option<Value>, GridError> {
        Ok(self.at("moved", None))
    }
}

impl ChunkKeyEncoding for Panicking {
    fn encode(&self, _: &[u64], key: &mut String) {
        key.push_str(self.at("encode", "0"));
    }

    fn decode(&self, _: &str, _: usize) -> Result<Option<Vec<u64>>, BoxError> {
        Ok(self.at("decode", None))
    }
}

impl MetadataEncoding for Panicking {
    fn decode(&self, _: &[u8], _: &Reading) -> Result<Value, BoxError> {
        Ok(self.at("decode", Value::Null))
    }

    fn encode(&self, _: &Value) -> Result<Vec<u8>, BoxError> {
        Ok(self.at("encode", Vec::new()))
    }

    fn key_suffix(&self) -> &str {
        self.at("key_suffix", ".panic")
    }
}

impl Extension for Panicking {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.at("dimension_names", None)
    }

    fn node_index(&self) -> Option<&str> {
        self.at("node_index", None)
    }
}

impl WrappingTransformer for Panicking {
    fn wrap(&self, _: Arc<dyn Store>, _: &Prefix) -> Arc<dyn Store> {
        Arc::new(Panicking(self.at("wrap", self.0.clone())))
    }
}

/// Stops the printing of panics, since backtraces are slow. The hook affects only this library.
fn be_quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// Opens a store by a URL such as `panic:get`.
fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    let place = url.strip_prefix("panic:").unwrap_or_default().to_owned();
    be_quiet();
    let told = Told { place, form: String::new() };
    told.at("open", ());
    Ok(Arc::new(Panicking(told)))
}

impl Store for Panicking {
    fn location(&self) -> String {
        self.at("location", "panic:".to_owned())
    }

    fn capabilities(&self) -> Capabilities {
        self.at("capabilities", Capabilities::ALL)
    }

    fn read_hints(&self) -> ReadHints {
        self.at("read_hints", ReadHints::new(2, 0))
    }

    fn get(&self, _: &Key, options: GetOptions, _: &mut Output<'_>) -> Result<Option<GetResult>, StoreError> {
        Ok(self.at(if options.may_cache { "get" } else { "get_once" }, None))
    }

    fn get_many(&self, requests: Vec<Request>, _: usize) -> Responses<'_> {
        self.at("get_many", ());
        Box::new((0..requests.len()).map(|number| (number, Ok(self.at("next", None)))))
    }

    fn set(&self, _: &Key, _: Payload<'_>) -> Result<(), StoreError> {
        self.at("set", Ok(()))
    }

    fn set_partial_values(&self, _: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        self.at("set_partial_values", Ok(()))
    }

    fn erase(&self, _: &Key) -> Result<(), StoreError> {
        self.at("erase", Ok(()))
    }

    fn erase_values(&self, _: &[Key]) -> Result<(), StoreError> {
        self.at("erase_values", Ok(()))
    }

    fn erase_prefix(&self, _: &Prefix) -> Result<(), StoreError> {
        self.at("erase_prefix", Ok(()))
    }

    fn list_prefix(&self, _: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.at("list_prefix", Ok(Box::new(std::iter::empty())))
    }

    fn list_dir(&self, _: &Prefix) -> Result<Directory, StoreError> {
        Ok(self.at("list_dir", Directory::default()))
    }

    fn size(&self, _: &Key) -> Result<Option<u64>, StoreError> {
        Ok(self.at("size", None))
    }
}
