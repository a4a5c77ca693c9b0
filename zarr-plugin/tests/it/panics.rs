//! Messages after panics in every function of every kind of plugin of `tests/plugins/panics.rs`.

use std::sync::{Arc, OnceLock};

use zarr_plugin::host::Policy;
use zarr_spec::codec::RunChain;
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::extension::ExtensionPlace;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::store::{Capabilities, GetOptions, GetResult, Keys, Payload, Request, Store, StoreError};
use zarr_spec::transformer::StorageTransformer;
use zarr_spec::{
    ArrayRepresentation, BoxError, ByteOrder, ByteRange, Codec, CodecChain, CodecError, Creation, DataType,
    DataTypeError, FillValue, Format, Invalid, Key, Mode, Output, Prefix, Reading, Registry, Representation,
    Size, Value, json,
};

use crate::built::{Installed, in_rust};
use crate::loaded::{EXTENSIONS, create_in};

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Returns a registry with the library whose extensions panic in the function that their configuration names.
pub(crate) fn extensions() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let installed = Installed::new(in_rust(), &EXTENSIONS);
        let loader = installed.loader(Policy::Any);
        loader.open(&loader.candidates()[0]).unwrap();
        let mut registry = Registry::empty();
        assert_eq!(loader.register(&mut registry), []);
        registry
    })
}

pub(crate) fn creation<'a>(
    registry: &'a Registry,
    reading: &'a Reading,
    configuration: &'a Value,
) -> Creation<'a> {
    let format = Format::V3;
    let identifier = "example.panic";
    Creation::new(identifier, configuration, format, registry, reading)
}

/// Returns the message of a panic in `place`. Panics unless the instance is not used again.
fn panicked(place: &str, run: &dyn Fn() -> String) -> String {
    let said = run();
    assert!(said.ends_with(&format!("on purpose, in {place}")), "{place}: {said}");
    assert!(run().contains("it panicked before and is not used again"), "{place}: {}", run());
    said
}

pub(crate) fn text<T: std::fmt::Debug, E: Into<BoxError>>(result: Result<T, E>) -> String {
    match result {
        Ok(value) => format!("it worked: {value:?}"),
        Err(error) => error.into().to_string(),
    }
}

pub(crate) fn in_codecs() -> Vec<String> {
    let registry = extensions();
    let array = Panics { registry }.array();
    let made = |form: &str, place: &str| {
        let configuration = json!({"form": form, "in": place});
        let decoded = Representation::Array(array.clone());
        create_in(registry, Format::V3, "example.panic", &configuration, &decoded)
    };
    let mut said = Vec::new();
    for (form, places) in [
        ("bytes to bytes", &["create", "encode", "decode", "decode_range"][..]),
        ("array to bytes", &["encoded_size", "encode", "decode"]),
        ("array to array", &["encoded", "encode", "decode"]),
        ("composite", &["chains", "encoded_size", "encode", "decode"]),
        ("checksum", &["checksum"]),
    ] {
        for &place in places {
            let codec = match made(form, place) {
                Ok(codec) => codec,
                Err(error) => {
                    assert!(["create", "chains"].contains(&place), "{form}, {place}: {error}");
                    said.push(error.to_string());
                    continue;
                }
            };
            said.push(panicked(place, &|| text(use_codec(&codec, place, &array))));
        }
    }
    // After a panic the size is unknown; later calls report the reason.
    let Ok(Codec::BytesToBytes(codec)) = made("bytes to bytes", "encoded_size") else {
        panic!("unexpected kind of codec")
    };
    assert_eq!(codec.encoded_size(Size::Exact(3)), Size::Unknown);
    assert!(codec.encode(&[1], &mut Output::at_most(9)).is_err());
    let reading = Reading::new(Mode::Strict);
    let configuration = json!({"in": "translate"});
    let plugin = registry.codecs().find(Format::V3, "example.panic", &reading).unwrap();
    let creation = creation(registry, &reading, &configuration);
    said.push(text(plugin.translate(&creation, &Representation::Array(array.clone()), Format::V2)));
    // A panic in `drop` cannot be reported.
    drop(made("bytes to bytes", "drop").unwrap());
    said
}

fn use_codec(codec: &Codec, place: &str, array: &ArrayRepresentation) -> Result<(), CodecError> {
    let to = &mut Output::at_most(9);
    match (codec, place) {
        (Codec::BytesToBytes(codec), "encode") => codec.encode(&[1], to),
        (Codec::BytesToBytes(codec), "decode") => codec.decode(&[1], to),
        (Codec::BytesToBytes(codec), "decode_range") => codec.decode_range(&[1], 0..1, to),
        (Codec::ArrayToBytes(codec), "encoded_size") => codec.encoded_size(array).map(drop),
        (Codec::ArrayToBytes(codec), "encode") => codec.encode(array, &[1, 2], to),
        (Codec::ArrayToBytes(codec), "decode") => codec.decode(array, &[1, 2], to),
        (Codec::ArrayToArray(codec), "encoded") => codec.encoded(array).map(drop),
        (Codec::ArrayToArray(codec), "encode") => codec.encode(array, &[1, 2], to),
        (Codec::ArrayToArray(codec), "decode") => codec.decode(array, &[1, 2], to),
        (Codec::Composite(codec), "encoded_size") => codec.encoded_size(array).map(drop),
        (Codec::Composite(codec), "encode") => codec.encode(array, &[1, 2], to, &mut NoChains),
        (Codec::Composite(codec), "decode") => codec.decode(array, &[1, 2], to, &mut NoChains),
        (Codec::Checksum(codec), "checksum") => codec.checksum(&[1], &mut [0; 2]),
        other => panic!("{other:?}"),
    }
}

/// Runs the chains of a codec without chains.
struct NoChains;

impl RunChain for NoChains {
    fn encode(
        &mut self,
        _: &CodecChain,
        _: &ArrayRepresentation,
        _: &[u8],
        _: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        unreachable!()
    }

    fn decode(
        &mut self,
        _: &CodecChain,
        _: &ArrayRepresentation,
        _: &[u8],
        _: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        unreachable!()
    }
}

/// Extensions that panic.
struct Panics<'r> {
    registry: &'r Registry,
}

impl Panics<'_> {
    /// Creates a data type that panics in `place`.
    fn data_type(&self, place: &str) -> Result<Arc<dyn DataType>, DataTypeError> {
        let reading = Reading::new(Mode::Strict);
        let plugin = self.registry.data_types().find(Format::V3, "example.panic", &reading).unwrap();
        (plugin.create)(&creation(self.registry, &reading, &json!({"in": place}))).map(|(made, _)| made)
    }

    fn array(&self) -> ArrayRepresentation {
        let reading = Reading::new(Mode::Strict);
        let document = DataTypeDocument::named("example.uint12");
        let (data_type, byte_order) = self.registry.data_type(Format::V3, &document, &reading).unwrap();
        ArrayRepresentation::new(vec![1], data_type, FillValue::zero(2)).with_byte_order(byte_order)
    }
}

pub(crate) fn in_layouts() -> Vec<String> {
    let registry = extensions();
    let reading = Reading::new(Mode::Strict);
    let array = Panics { registry }.array();
    let plugin = registry.memory_layouts().find(Format::V3, "example.panic", &reading).unwrap();
    let made = |place: &str| (plugin.create)(&creation(registry, &reading, &json!({"in": place})), 1);
    let mut said = vec![text(made("create"))];
    for place in ["encode", "decode"] {
        let codec = made(place).unwrap();
        said.push(panicked(place, &|| text(use_codec(&codec, place, &array))));
    }
    drop(made("drop").unwrap());
    said
}

pub(crate) fn in_data_types() -> Vec<String> {
    let registry = extensions();
    let panics = Panics { registry };
    let reading = Reading::new(Mode::Strict);
    let order = &ByteOrder::Little;
    let context = FillContext::new(Format::V3, &reading).with_byte_order(order);
    let mut said: Vec<String> =
        ["create", "name", "elements"].map(|place| text(panics.data_type(place))).into();
    for place in ["document", "fill_value", "fill_value_json", "check", "settle"] {
        let it = panics.data_type(place).unwrap();
        said.push(panicked(place, &|| match place {
            "document" => text(it.document(Format::V3, order)),
            "fill_value" => text(it.fill_value(&Value::from(0), &context)),
            "fill_value_json" => text(it.fill_value_json(&[0; 2], Format::V3, order)),
            "check" => text(it.check(&[0; 2])),
            _ => text(it.settle(&mut [0; 2], Mode::Strict)),
        }));
    }
    // The output of a failed `print` ends in the reason.
    let it = panics.data_type("print").unwrap();
    said.push(panicked("print", &|| {
        let mut printed = String::new();
        it.print(&[0; 2], &mut printed).unwrap_err();
        printed
    }));
    drop(panics.data_type("drop").unwrap());
    said
}

pub(crate) fn in_grids() -> Vec<String> {
    let registry = extensions();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.chunk_grids().find(Format::V3, "example.panic", &reading).unwrap();
    let made = |place: &str| (plugin.create)(&creation(registry, &reading, &json!({"in": place})), &[4]);
    let places = ["create", "grid_shape", "largest_chunk", "chunk_shape"];
    let mut said: Vec<String> = places.map(|place| text(made(place))).into();
    for place in ["chunk_range", "chunk_of", "key_index", "chunk_of_key", "moved", "padding"] {
        let grid = made(place).unwrap();
        said.push(panicked(place, &|| match place {
            "chunk_range" => text(grid.chunk_range(0, 0)),
            "chunk_of" => text(grid.chunk_of(0, 0)),
            "key_index" => text(grid.key_index(0, 0)),
            "moved" => text(grid.moved(&[1])),
            "padding" => text(grid.padding(0, 0)),
            _ => text(grid.chunk_of_key(0, 0)),
        }));
    }
    drop(made("drop").unwrap());
    said
}

pub(crate) fn in_key_encodings() -> Vec<String> {
    let registry = extensions();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.chunk_key_encodings().find(Format::V3, "example.panic", &reading).unwrap();
    let made = |place: &str| (plugin.create)(&creation(registry, &reading, &json!({"in": place})));
    let encoded = |encoding: &dyn ChunkKeyEncoding| {
        let mut key = String::new();
        encoding.encode(&[0], &mut key);
        // The key is invalid, so no other chunk is read instead.
        Key::new(&key).unwrap_err().to_string()
    };
    let encoding = made("encode").unwrap();
    let mut said = vec![text(made("create")), encoded(&*encoding)];
    assert!(encoded(&*encoding).contains("it panicked before and is not used again"));
    let encoding = made("decode").unwrap();
    said.push(panicked("decode", &|| text(encoding.decode("0", 1))));
    drop(made("drop").unwrap());
    said
}

pub(crate) fn in_metadata_encodings() -> Vec<String> {
    let registry = extensions();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.metadata_encodings().find(Format::V3, "example.panic", &reading).unwrap();
    let made = |place: &str| (plugin.create)(&creation(registry, &reading, &json!({"in": place})));
    let mut said = vec![text(made("create")), text(made("key_suffix"))];
    let encoding = made("encode").unwrap();
    said.push(panicked("encode", &|| text(encoding.encode(&Value::Null))));
    let encoding = made("decode").unwrap();
    said.push(panicked("decode", &|| text(encoding.decode(b"", &reading))));
    drop(made("drop").unwrap());
    said
}

pub(crate) fn in_extensions() -> Vec<String> {
    let registry = extensions();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.extensions().find(Format::V3, "example.panic", &reading).unwrap();
    let made = |place: &str| {
        (plugin.create)(&creation(registry, &reading, &json!({"in": place})), ExtensionPlace::Array(&[1]))
    };
    // The functions of a generic extension are called when the extension is created.
    ["create", "dimension_names", "node_index"].map(|place| text(made(place))).into()
}

pub(crate) fn in_transformers() -> Vec<String> {
    let registry = extensions();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.storage_transformers().find(Format::V3, "example.panic", &reading).unwrap();
    let wrapped = |place: &str| {
        let made = (plugin.create)(&creation(registry, &reading, &json!({"in": place})), &[1])?;
        let StorageTransformer::Wrap(made) = made else { panic!("expected a wrapper") };
        Ok::<_, Invalid>(made.wrap(Arc::new(Empty), &Prefix::root()))
    };
    let mut said = vec![text(wrapped("create"))];
    for place in ["wrap", "location"] {
        said.push(text(wrapped(place).unwrap().set(&key("a"), (&[1]).into())));
    }
    let store = wrapped("set").unwrap();
    said.push(panicked("set", &|| text(store.set(&key("a"), b"1".into()))));
    drop(wrapped("drop").unwrap());
    said
}

/// An empty store.
#[derive(Debug)]
struct Empty;

impl Store for Empty {
    fn location(&self) -> String {
        "empty:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn get(&self, _: &Key, _: GetOptions, _: &mut Output<'_>) -> Result<Option<GetResult>, StoreError> {
        Ok(None)
    }

    fn set(&self, _: &Key, _: Payload<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn erase(&self, _: &Key) -> Result<(), StoreError> {
        Ok(())
    }

    fn list_prefix(&self, _: &Prefix) -> Result<Keys<'_>, StoreError> {
        Ok(Box::new(std::iter::empty()))
    }

    fn size(&self, _: &Key) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}

pub(crate) fn in_stores() -> Vec<String> {
    let registry = extensions();
    let open = |place: &str| (registry.stores()[0].open)(&format!("panic:{place}"));
    let mut said: Vec<String> =
        ["open", "location", "capabilities", "read_hints"].map(|place| text(open(place))).into();
    for place in [
        "get",
        "get_once",
        "get_many",
        "next",
        "set",
        "set_partial_values",
        "erase",
        "erase_values",
        "erase_prefix",
        "list_prefix",
        "list_dir",
        "size",
    ] {
        let store = open(place).unwrap();
        let to = &|| Output::at_most(9);
        let root = Prefix::root();
        said.push(panicked(place, &|| match place {
            "get" => text(store.get(&key("a"), ByteRange::Full.into(), &mut to())),
            "get_once" => text(store.get(&key("a"), GetOptions::uncached(ByteRange::Full), &mut to())),
            "get_many" | "next" => {
                let mut got = store.get_many(vec![Request::new(key("a"), ByteRange::Full, 9); 2], 99);
                let first = got.next().unwrap().1;
                let second = got.next().unwrap().1;
                assert!(second.is_err());
                text(first)
            }
            "set" => text(store.set(&key("a"), b"1".into())),
            "set_partial_values" => text(store.set_partial_values(&[(key("a"), 0, &[1])])),
            "erase" => text(store.erase(&key("a"))),
            "erase_values" => text(store.erase_values(&[key("a")])),
            "erase_prefix" => text(store.erase_prefix(&root)),
            "list_prefix" => text(store.list_prefix(&root).map(|keys| keys.count())),
            "list_dir" => text(store.list_dir(&root)),
            _ => text(store.size(&key("a"))),
        }));
    }
    drop(open("drop").unwrap());
    said
}
