//! Codecs that only decode: their arrays are read, and neither created nor written.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::key;
use zarr_interop::v3::{document, sharded};
use zarr_kit::archive::{CopyProgress, CopyRequest, Lengths, Settings, plan_copy};
use zarr_kit::json::{ParseOptions, parse};
use zarr_kit::spec::codec::BytesToBytesCodec;
use zarr_kit::spec::{Codec, CodecError, CodecPlugin, CodecResult, Identifiers, Output, Registry};
use zarr_kit::{Array, ArrayBuilder, Context, Error, Format, Hierarchy, Progress, Selection, open_store};

/// Inverts each byte.
#[derive(Debug)]
struct Inverted;

impl BytesToBytesCodec for Inverted {
    fn encode(&self, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        encoded.iter().try_for_each(|byte| Ok(decoded.put(&[!byte])?))
    }
}

fn context() -> Context {
    let mut registry = Registry::linked().unwrap();
    let identifiers = Identifiers::name("test.inverted").with_id("test.inverted");
    let inverted = CodecPlugin::new(identifiers, &|_, _| Ok(Codec::BytesToBytes(Arc::new(Inverted))));
    registry.register(inverted.decodes_only()).unwrap();
    Context::new(registry)
}

fn little_endian() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn inverted() -> Value {
    json!([little_endian(), {"name": "test.inverted"}])
}

/// Opens an array of eight elements in chunks of four, whose first chunk another program has stored.
fn stored(codecs: &Value, chunk: &[u8]) -> Array {
    let context = context();
    let store = open_store(context.registry(), "memory:").unwrap();
    let group = json!({"zarr_format": 3, "node_type": "group"});
    store.set(&key("zarr.json"), group.to_string().as_bytes().into()).unwrap();
    let document = document(&[8], &[4], codecs);
    store.set(&key("a/zarr.json"), document.to_string().as_bytes().into()).unwrap();
    store.set(&key("a/c/0"), chunk.into()).unwrap();
    Hierarchy::open(store, &context).unwrap().array("/a").unwrap()
}

const CHUNK: [u8; 8] = [!1, !0, !2, !0, !3, !0, !4, !0];

fn refused<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::NotSupported(reason)) => reason,
        Err(error) => panic!("unexpected error: {error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

#[test]
fn arrays_are_read() {
    let array = stored(&inverted(), &CHUNK);
    assert_eq!(array.decode_only_codec(), Some("test.inverted"));
    assert_eq!(*array.read_values::<u16>(Selection::All).unwrap(), [1, 2, 3, 4, 0, 0, 0, 0]);
}

#[test]
fn arrays_are_not_created_in_any_format() {
    for format in [Format::V2, Format::V3] {
        let context = context();
        let store = open_store(context.registry(), "memory:").unwrap();
        let hierarchy = Hierarchy::create(store, &context, format).unwrap();
        let builder = ArrayBuilder::new([8], "uint16").chunks([4]).codec("test.inverted");
        let reason = "/a cannot be created: codec `test.inverted` only decodes";
        assert_eq!(refused(hierarchy.create_array("/a", &builder)), reason);
        assert_eq!(refused(hierarchy.create_arrays([("/a", &builder)])), reason);
        assert!(!hierarchy.exists("/a").unwrap());
    }
}

/// Returns the name and the configuration of a codec in a document.
fn entry(format: Format, document: &str) -> (String, zarr_kit::spec::Value) {
    let mut document: Value = serde_json::from_str(document).unwrap();
    let (name, configuration) = match format {
        Format::V2 => (document["id"].take(), {
            document.as_object_mut().unwrap().remove("id");
            document
        }),
        _ => (document["name"].take(), document["configuration"].take()),
    };
    let text = configuration.to_string();
    let parsed = zarr_kit::json::parse(text.as_bytes(), &zarr_kit::json::ParseOptions::default()).unwrap();
    (name.as_str().unwrap().to_owned(), parsed.value)
}

/// Each codec of this program that declares that it only decodes is refused, with each of its examples.
#[test]
fn no_array_is_created_with_a_registered_codec_that_only_decodes() {
    let context = Context::linked().unwrap();
    let mut names = BTreeSet::new();
    for plugin in context.registry().codecs().iter().filter(|plugin| plugin.about.decodes_only) {
        assert!(!plugin.about.examples.is_empty());
        for example in plugin.about.examples {
            let store = open_store(context.registry(), "memory:").unwrap();
            let hierarchy = Hierarchy::create(store, &context, example.format).unwrap();
            let (name, configuration) = entry(example.format, example.document);
            let shape = if example.shape.is_empty() { &[4, 6][..] } else { example.shape };
            let data_type = example.data_types.first().copied().unwrap_or("uint8");
            let builder =
                ArrayBuilder::new(shape, data_type).chunks(shape).codec((name.as_str(), configuration));
            let reason = refused(hierarchy.create_array("/a", &builder));
            assert_eq!(reason, format!("/a cannot be created: codec `{name}` only decodes"));
            assert!(!hierarchy.exists("/a").unwrap());
            names.insert(name);
        }
    }
    let expected =
        ["fill_hdf_strings", "gribberish", "imagecodecs_blosc2", "imagecodecs_jpegls", "record_member"];
    assert!(expected.iter().all(|name| names.contains(*name)), "{names:?}");
}

#[test]
fn elements_are_not_written() {
    let reason = "/a cannot be written: codec `test.inverted` only decodes";
    let mut array = stored(&inverted(), &CHUNK);
    let values: Vec<u16> = (0..8).collect();
    assert_eq!(refused(array.write_values(Selection::All, &values)), reason);
    assert_eq!(refused(array.encode_chunk(&[0], &[0; 8])), reason);
    assert_eq!(refused(array.append(0, &[0; 8])), reason);
    assert_eq!(refused(array.resize(&[12])), reason);
    assert_eq!(array.read_encoded_chunk(&[0]).unwrap().as_deref(), Some(&CHUNK[..]));
}

#[test]
fn codecs_inside_of_shards_count() {
    let array = stored(&sharded(&[2], &inverted()), &[]);
    assert_eq!(array.decode_only_codec(), Some("test.inverted"));
    refused(array.write_values(Selection::All, &[0_u16; 8]));
}

/// A program may store chunks that it encoded by other means.
#[test]
fn encoded_chunks_are_stored_and_erased() {
    let array = stored(&inverted(), &CHUNK);
    array.write_encoded_chunk(&[1], &CHUNK).unwrap();
    assert_eq!(*array.read_values::<u16>(4..8).unwrap(), [1, 2, 3, 4]);
    array.erase_chunk(&[0]).unwrap();
    assert_eq!(*array.read_values::<u16>(0..4).unwrap(), [0; 4]);
}

#[test]
fn attributes_change() {
    let mut array = stored(&inverted(), &CHUNK);
    array.set_attribute("unit", "m").unwrap();
    assert_eq!(array.hierarchy().array("/a").unwrap().attributes().len(), 1);
}

#[test]
fn copies_keep_encoded_chunks_and_name_the_codec_if_they_cannot() {
    let array = stored(&inverted(), &CHUNK);
    let source = array.hierarchy();
    let copy = |request: &CopyRequest| {
        let store = open_store(source.context().registry(), "memory:").unwrap();
        let plan = plan_copy(&[source], &store, source.context(), request, &Settings::new());
        plan.map_err(|error| error.to_string()).map(|plan| {
            plan.run(&CopyProgress::new(&Progress::new())).unwrap();
            Hierarchy::open(store, source.context()).unwrap().array("/a").unwrap()
        })
    };
    let copied = copy(&CopyRequest::new()).unwrap();
    assert_eq!(*copied.read_values::<u16>(Selection::All).unwrap(), [1, 2, 3, 4, 0, 0, 0, 0]);
    for lossy in [false, true] {
        let mut request = CopyRequest::new();
        request.chunks = vec![Lengths::chunks("2").unwrap()];
        request.lossy = lossy;
        let error = copy(&request).unwrap_err();
        let expected = "/a: codec `test.inverted` only decodes: choose another one with --codec";
        assert!(error.contains(expected), "{error}");
    }
}

/// Shapes of chunks: without dimensions, rows, columns, and images with and without samples.
const SHAPES: [&[u64]; 9] =
    [&[], &[1], &[6], &[1, 6], &[4, 6], &[4, 6, 2], &[4, 6, 3], &[4, 6, 4], &[2, 4, 6, 3]];

const TYPES: [&str; 14] = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

/// Codecs that neither encode nor decode bytes that are not whole elements of a configured size.
const OF_WHOLE_ELEMENTS: [&str; 2] = ["numcodecs.shuffle", "numcodecs.imagecodecs_bitshuffle"];

/// Returns the names and configurations of the codecs in the examples of all plugins.
fn examples(registry: &Registry) -> Vec<(String, zarr_kit::spec::Value)> {
    let examples = registry.codecs().iter().flat_map(|plugin| plugin.about.examples);
    let examples = examples.filter(|example| example.format == Format::V3);
    let codec = |document: &str| {
        let document = parse(document.as_bytes(), &ParseOptions::default()).unwrap().value;
        let name = document.as_str().map(ToOwned::to_owned);
        let member = |name: &str| document.as_object()?.get(name).cloned();
        let name = name.or_else(|| Some(member("name")?.as_str()?.to_owned())).unwrap();
        (name, member("configuration").unwrap_or_else(|| zarr_kit::json!({})))
    };
    let codecs = examples.map(|example| codec(example.document));
    codecs.filter(|(name, _)| !OF_WHOLE_ELEMENTS.contains(&name.as_str())).collect()
}

/// A chunk that a codec only decodes is refused when the array is created, not when its first chunk is written.
#[test]
fn every_array_that_is_created_is_written() {
    let context = Context::linked().unwrap().with_empty_chunks();
    let mut written = 0;
    let mut faults = Vec::new();
    for (name, configuration) in examples(context.registry()) {
        for (shape, data_type) in SHAPES.iter().flat_map(|shape| TYPES.map(|data_type| (*shape, data_type))) {
            let store = open_store(context.registry(), "memory:").unwrap();
            let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
            let builder = ArrayBuilder::new(shape, data_type).chunks(shape).uncompressed();
            let builder = builder.codec((name.as_str(), configuration.clone()));
            let Ok(array) = hierarchy.create_array("/a", &builder) else { continue };
            let count = usize::try_from(array.len()).unwrap();
            let element = array.data_type().elements().size().unwrap();
            match array.write(&Selection::All, &vec![0; count * element]) {
                Ok(()) => written += 1,
                Err(error) => {
                    faults.push(format!("{name} {configuration} with {data_type} of {shape:?}: {error}"))
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} of {written}: {}", faults.len(), faults.join("\n"));
    assert!(written > 1000, "{written}");
}

/// JPEG XL images of floats are read, but the encoder does not support them.
#[test]
fn chunks_that_a_codec_only_decodes_are_refused_when_the_array_is_created() {
    let context = Context::linked().unwrap();
    for (data_type, shape, chunks) in [
        ("float32", [4, 6], "`float32` in chunks of shape [4, 6]"),
        ("uint8", [1, 6], "`uint8` in chunks of shape [1, 6]"),
    ] {
        for format in [Format::V2, Format::V3] {
            let store = open_store(context.registry(), "memory:").unwrap();
            let hierarchy = Hierarchy::create(store, &context, format).unwrap();
            let builder = ArrayBuilder::new(shape, data_type).chunks(shape).uncompressed();
            let builder = builder.codec("imagecodecs_jpegxl");
            let reason = format!("/a cannot be created: codec `imagecodecs_jpegxl` only decodes {chunks}");
            assert_eq!(refused(hierarchy.create_array("/a", &builder)), reason);
            assert!(!hierarchy.exists("/a").unwrap());
        }
    }
}
