//! Plugins of every kind, built from source, behave through the ABI as they do without it.

use std::sync::Arc;

use zarr_plugin::host::{Loader, Lock, Manifest, Policy, Search};
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::extension::ExtensionPlace;
use zarr_spec::store::{GetOptions, Request, Store, get_value, open_described};
use zarr_spec::transformer::StorageTransformer;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, ByteRange, Codec, CodecError, Creation, FillValue, Format, Key, Mode,
    Output, Prefix, Reading, Registry, Representation, Size, Value, json,
};

use crate::built::{compiled, kinds};
use crate::loaded::create_in;

/// Returns a registry with the plugins of `tests/plugins/kinds.c` and `tests/plugins/kinds`.
fn registry() -> Registry {
    let folder = tempfile::tempdir().unwrap();
    for (name, library) in [("c", compiled("kinds.c", &[], &[])), ("rust", kinds().to_vec())] {
        let file = format!("{name}.so");
        std::fs::write(folder.path().join(&file), &library).unwrap();
        let manifest = Manifest::of_library(&library, &file).unwrap().to_toml().unwrap();
        std::fs::write(folder.path().join(format!("{name}.toml")), manifest).unwrap();
    }
    let loader = Loader::new(&Search::nowhere().given(folder.path()), Policy::Any, Lock::default());
    let opened = loader.candidates().iter().map(|candidate| loader.open(candidate).unwrap());
    let counts: Vec<_> = opened.map(|library| (library.abi(), library.items().count())).collect();
    assert_eq!(counts, [((2, 4), 4), ((2, 4), 10)]);
    let mut registry = Registry::empty();
    assert_eq!(loader.register(&mut registry), []);
    registry
}

fn creation<'a>(registry: &'a Registry, reading: &'a Reading, configuration: &'a Value) -> Creation<'a> {
    Creation::new("", configuration, Format::V3Draft, registry, reading)
}

fn uint12(registry: &Registry, shape: &[u64]) -> ArrayRepresentation {
    let document = DataTypeDocument::named("kinds.uint12");
    let (data_type, byte_order) =
        registry.data_type(Format::V3, &document, &Reading::new(Mode::Strict)).unwrap();
    ArrayRepresentation::new(shape.to_vec(), data_type, FillValue::zero(2)).with_byte_order(byte_order)
}

fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

#[test]
fn codecs_encode_and_decode() {
    let registry = registry();
    let bytes = Representation::Bytes(Size::Exact(4));
    let codec = |name: (Format, &str), configuration: &Value, decoded: &Representation| {
        create_in(&registry, name.0, name.1, configuration, decoded).unwrap()
    };
    for (name, configuration, encoded) in [
        ((Format::V3, "kinds.steps"), json!({"start": 7}), [3, 1, 255, 90]),
        ((Format::V3, "kinds.differences"), Value::Null, [10, 1, 255, 90]),
        ((Format::V2, "kinds.steps"), json!({"start": 255}), [11, 1, 255, 90]),
        ((Format::V3Draft, "https://example.org/kinds/steps/1.0"), json!({}), [10, 1, 255, 90]),
        ((Format::V3, "kinds.xor"), json!({"key": 15}), [5, 4, 5, 107]),
        ((Format::V3Draft, "https://example.org/kinds/xor/1.0"), json!({"key": 0}), [10, 11, 10, 100]),
    ] {
        let Codec::BytesToBytes(codec) = codec(name, &configuration, &bytes) else {
            panic!("unexpected kind of codec")
        };
        assert_eq!(codec.encoded_size(Size::AtMost(9)), Size::AtMost(9));
        let mut output = Output::at_most(4);
        codec.encode(&[10, 11, 10, 100], &mut output).unwrap();
        assert_eq!(output.written(), encoded, "{name:?}");
        let mut output = Output::exactly(4);
        codec.decode(&encoded, &mut output).unwrap();
        assert_eq!(output.written(), [10, 11, 10, 100]);
        let mut output = Output::exactly(4);
        codec.decode_range(&encoded, 1..3, &mut output).unwrap();
        assert_eq!(output.written()[1..3], [11, 10]);
        let error = codec.decode(&encoded, &mut Output::at_most(3)).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge(limit) if limit.limit == 3), "{error}");
    }
    let refused = create_in(&registry, Format::V3, "kinds.steps", &json!({"start": 256}), &bytes);
    let error = refused.unwrap_err().to_string();
    assert!(
        error.ends_with(
            "plugin kinds-c 1.0.0: expected one member `start` from 0 to 255, but found {\"start\":256}"
        ),
        "{error}"
    );

    let Codec::Checksum(sum) = codec((Format::V3, "kinds.sum"), &Value::Null, &bytes) else {
        panic!("unexpected kind of codec")
    };
    let mut checksum = [0; 4];
    sum.checksum(&[1, 2], &mut checksum).unwrap();
    assert_eq!((sum.size(), sum.at_start(), checksum), (4, true, [14, 0, 0, 0]));

    let array = Representation::Array(uint12(&registry, &[2, 3, 4]));
    let turned = codec((Format::V3, "kinds.last-first"), &Value::Null, &array);
    assert!(matches!(&turned, Codec::Permutation(order) if order == &[2, 0, 1]), "{turned:?}");
}

#[test]
fn a_data_type_and_the_codec_that_packs_it_work_together() {
    let registry = registry();
    let array = uint12(&registry, &[3]);
    let decoded = Representation::Array(array.clone());
    let codec = create_in(&registry, Format::V3, "kinds.pack12", &Value::Null, &decoded).unwrap();
    let Codec::ArrayToBytes(codec) = codec else { panic!("unexpected kind of codec") };
    assert_eq!(codec.encoded_size(&array).unwrap(), Size::Exact(5));
    let mut output = Output::at_most(9);
    codec.encode(&array, &numbers(&[0x123, 0x456, 0x789]), &mut output).unwrap();
    assert_eq!(output.written(), [0x23, 0x61, 0x45, 0x89, 0x07]);
    let mut output = Output::exactly(6);
    codec.decode(&array, &[0x23, 0x61, 0x45, 0x89, 0x07], &mut output).unwrap();
    assert_eq!(output.written(), numbers(&[0x123, 0x456, 0x789]));
    let error = codec.decode(&array, &[1], &mut Output::exactly(6)).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");

    let data_type = &array.data_type;
    let order = &ByteOrder::Little;
    let reading = &Reading::new(Mode::Strict);
    let context = FillContext::new(Format::V3, reading).with_byte_order(order);
    assert_eq!((data_type.name(), data_type.elements().size()), ("kinds.uint12".into(), Some(2)));
    assert_eq!(data_type.fill_value(&json!(7), &context).unwrap().bytes(), numbers(&[7]));
    assert!(data_type.fill_value(&json!(4096), &context).is_err());
    assert_eq!(data_type.fill_value_json(&numbers(&[9]), Format::V3, order).unwrap(), json!(9));
    assert_eq!(data_type.document(Format::V3, order).unwrap(), DataTypeDocument::named("kinds.uint12"));
    assert!(data_type.document(Format::V2, order).is_err());
    let mut text = String::new();
    data_type.print(&numbers(&[4095]), &mut text).unwrap();
    assert_eq!(text, "4095");
    assert!(data_type.check(&numbers(&[0, 4095])).is_ok() && data_type.check(&numbers(&[4096])).is_err());
    assert!(data_type.settle(&mut numbers(&[1]), Mode::Strict).is_ok());
}

#[test]
fn grids_keys_layouts_documents_and_extensions_work() {
    let registry = registry();
    let reading = Reading::new(Mode::Strict);
    let nothing = Value::Null;
    let creation = creation(&registry, &reading, &nothing);
    let grid = registry.chunk_grids().find(Format::V3, "kinds.halves", &reading).unwrap();
    let grid = (grid.create)(&creation, &[5, 1, 0]).unwrap();
    assert_eq!((grid.grid_shape(), grid.largest_chunk()), (&[2, 1, 0][..], vec![3, 1, 0]));
    assert_eq!((grid.chunk_range(0, 1).unwrap(), grid.chunk_of(0, 3).unwrap()), (3..5, 1));
    assert_eq!((grid.key_index(0, 1).unwrap(), grid.chunk_of_key(0, 2).unwrap()), (1, None));
    assert_eq!(grid.moved(&[1, 0, 0]).unwrap(), None);
    assert!(grid.chunk_range(1, 1).is_err());

    for (name, key) in [("kinds.dashes", "k1-23-456"), ("kinds.letters", "a1b23c456")] {
        let keys = registry.chunk_key_encodings().find(Format::V3, name, &reading).unwrap();
        let keys = (keys.create)(&creation).unwrap();
        let mut encoded = String::new();
        keys.encode(&[1, 23, 456], &mut encoded);
        assert_eq!(encoded, key);
        assert_eq!(keys.decode(key, 3).unwrap(), Some(vec![1, 23, 456]));
        assert_eq!((keys.decode(key, 2).unwrap(), keys.decode("c/0", 2).unwrap()), (None, None));
    }

    let uri = |name: &str| format!("https://example.org/kinds/{name}/1.0");
    let layout = registry.memory_layouts().find(Format::V3Draft, &uri("rotated"), &reading).unwrap();
    let layout = (layout.create)(&creation, 3).unwrap();
    assert!(matches!(&layout, Codec::Permutation(order) if order == &[1, 2, 0]), "{layout:?}");

    let marked = registry.metadata_encodings().find(Format::V3Draft, &uri("marked"), &reading).unwrap();
    let marked = (marked.create)(&creation).unwrap();
    let document = json!({"a": [1, "é", null]});
    let bytes = marked.encode(&document).unwrap();
    assert!(bytes.starts_with(b"# Zarr metadata\n{"), "{bytes:?}");
    assert_eq!((marked.decode(&bytes, &reading).unwrap(), marked.key_suffix()), (document, ".marked.json"));
    assert!(marked.decode(b"{}", &reading).is_err());

    let letters = registry.extensions().find(Format::V3Draft, &uri("letters"), &reading).unwrap();
    let made = (letters.create)(&creation, ExtensionPlace::Array(&[2, 3])).unwrap();
    let names = ["a", "b"].map(|name| Some(name.to_owned()));
    assert_eq!((made.dimension_names(), made.node_index()), (Some(&names[..]), None));
    assert!((letters.create)(&creation, ExtensionPlace::EntryPoint).is_err());
}

#[test]
fn a_store_holds_values_also_inside_a_transformer() {
    let registry = registry();
    let store = open_described(&registry, &json!({"type": "kinds.shelf"})).unwrap();
    let key = |text: &str| Key::new(text).unwrap();
    store.set(&key("x/a"), b"0123456789".into()).unwrap();
    store.set_partial_values(&[(key("x/b"), 2, b"!")]).unwrap();
    let get = |store: &dyn Store, at: &str| get_value(store, &key(at), 99).unwrap().map(|it| it.to_vec());
    assert_eq!((get(&*store, "x/b"), get(&*store, "x/c")), (Some(b"\0\0!".to_vec()), None));
    let mut output = Output::at_most(3);
    let got = store.get(&key("x/a"), GetOptions::uncached(ByteRange::Last(3)), &mut output).unwrap().unwrap();
    assert_eq!((got.size, output.written()), (10, &b"789"[..]));
    let requests = ["x/a", "x/c", "x/b"].map(|at| Request::new(key(at), ByteRange::From(1), 99)).to_vec();
    let mut fetched: Vec<_> = store
        .get_many(requests, 99)
        .map(|(number, got)| (number, got.unwrap().map(|got| got.bytes.to_vec())))
        .collect();
    fetched.sort();
    assert_eq!(fetched, [(0, Some(b"123456789".to_vec())), (1, None), (2, Some(b"\0!".to_vec()))]);
    assert_eq!((store.size(&key("x/a")).unwrap(), store.list().unwrap().len()), (Some(10), 2));
    assert_eq!(store.list_dir(&Prefix::root()).unwrap().prefixes, [Prefix::new("x/").unwrap()]);

    let reading = Reading::new(Mode::Strict);
    let configuration = json!({"key": 1});
    let uri = "https://example.org/kinds/masked/1.0";
    let plugin = registry.storage_transformers().find(Format::V3Draft, uri, &reading).unwrap();
    let made = (plugin.create)(&creation(&registry, &reading, &configuration), &[4]).unwrap();
    let StorageTransformer::Wrap(masked) = made else { panic!("expected a wrapper") };
    let masked = masked.wrap(Arc::clone(&store), &Prefix::new("x/").unwrap());
    masked.set(&key("x/c"), b"\0\x01\x02".into()).unwrap();
    masked.set(&key("y"), b"\0\x01\x02".into()).unwrap();
    assert_eq!((get(&*store, "x/c"), get(&*store, "y")), (Some(vec![1, 0, 3]), Some(vec![0, 1, 2])));
    assert_eq!(get(&*masked, "x/c"), Some(vec![0, 1, 2]));
    masked.erase_prefix(&Prefix::new("x/").unwrap()).unwrap();
    assert_eq!(store.list().unwrap(), [key("y")]);
}
