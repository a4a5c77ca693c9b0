//! The messages of the contracts, provoked through plugins where a contract needs one.

use std::error::Error;
use std::sync::Arc;

use expect_test::expect_file;
use zarr_kit::json::{ParseOptions, Value, parse};
use zarr_kit::spec::codec::Codec;
use zarr_kit::spec::data_type::{DataTypeDocument, FillContext};
use zarr_kit::spec::extension::ExtensionDocument;
use zarr_kit::spec::grid::{ChunkGrid, GridError, chunk_subset};
use zarr_kit::spec::host::chain::{ChainCreation, ChainProblem};
use zarr_kit::spec::metadata_encoding::{DocumentKind, parse_json};
use zarr_kit::spec::store::{StoreError, open_described};
use zarr_kit::spec::{
    ArrayRepresentation, ChainError, CodecChain, CodecError, Creation, DataTypeError, FillValue, Format, Key,
    Mode, NodePath, Output, Prefix, Reading, Registry, Representation, Size, json,
};

use super::Messages;

/// Returns the kind of an error of the contracts. A new kind does not have a name until it has an example below.
fn kind(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let codec = error.downcast_ref().map(|error| match error {
        CodecError::InvalidConfiguration(_) => "CodecError::InvalidConfiguration",
        CodecError::Unsupported(_) => "CodecError::Unsupported",
        CodecError::Encode(_) => "CodecError::Encode",
        CodecError::Corrupt(_) => "CodecError::Corrupt",
        CodecError::TooLarge(_) => "CodecError::TooLarge",
        CodecError::Inner(_) => "CodecError::Inner",
        other => panic!("no example of {other:?}"),
    });
    let data_type = error.downcast_ref().map(|error| match error {
        DataTypeError::InvalidConfiguration(_) => "DataTypeError::InvalidConfiguration",
        DataTypeError::FillValue(_) => "DataTypeError::FillValue",
        DataTypeError::NotInFormat { .. } => "DataTypeError::NotInFormat",
        DataTypeError::Unknown(_) => "DataTypeError::Unknown",
        other => panic!("no example of {other:?}"),
    });
    let grid = error.downcast_ref().map(|error| match error {
        GridError::InvalidConfiguration(_) => "GridError::InvalidConfiguration",
        GridError::OutOfBounds(_) => "GridError::OutOfBounds",
        other => panic!("no example of {other:?}"),
    });
    let chain = error.downcast_ref().map(|error: &ChainError| match error.problems[..] {
        [ChainProblem::Order(_)] => "ChainProblem::Order",
        [ChainProblem::Codec { source: CodecError::Inner(_), .. }] => "CodecError::Inner",
        [ChainProblem::Codec { .. }] => "ChainProblem::Codec",
        _ => "ChainProblem::Unknown",
    });
    codec.or(data_type).or(grid).or(chain)
}

/// The number of kinds, except `CodecError::OutOfMemory`, which needs a system without free memory, and
/// `CodecError::Plugin`, which is in the snapshot of `zarr-plugin`.
const KINDS: usize = 15;

#[test]
fn messages_of_the_contracts_are_in_the_snapshot() {
    let registry = Registry::linked().unwrap();
    let mut messages = Messages::new(kind);
    of_names(&mut messages);
    of_documents(&mut messages);
    of_data_types(&registry, &mut messages);
    of_grids(&registry, &mut messages);
    of_configurations(&registry, &mut messages);
    of_chains(&registry, &mut messages);
    of_chunks(&registry, &mut messages);
    of_stores(&registry, &mut messages);
    expect_file!["../snapshots/zarr-spec.txt"].assert_eq(&messages.text);
    assert_eq!(messages.kinds.len(), KINDS, "{:?}", messages.kinds);
}

fn of_names(messages: &mut Messages) {
    for text in ["", "/a", "a//b", "a/../b", "a\0b"] {
        messages.add(&format!("the key {text:?}"), Key::new(text));
    }
    messages.add("a key of the draft with `é`", Key::checked("é", Format::V3Draft));
    messages.add("a prefix without `/` at its end", Prefix::new("a"));
    for text in ["a", "/a/", "/a//b", "/..", "/__a"] {
        messages.add(&format!("the path {text:?} in v3"), NodePath::parse(text, Format::V3));
    }
    messages.add("the path \"/é\" in the draft", NodePath::parse("/é", Format::V3Draft));
    messages.add("a format", "v4".parse::<Format>());
    messages.add("a mode", "loose".parse::<Mode>());
}

fn of_documents(messages: &mut Messages) {
    let strict = Reading::new(Mode::Strict);
    for (what, text) in [
        ("a document that is not JSON", "{\"a\": nul}"),
        ("a document with a member twice", "{\"a\": 1, \"a\": 2}"),
        ("a fill value NaN", "{\"fill_value\": NaN}"),
    ] {
        messages.add(what, parse_json(text.as_bytes(), DocumentKind::V2, &strict));
    }
    let small = Reading::new(Mode::Lenient).with_document_size(4);
    messages.add("a document that is too large", parse_json(b"{\"a\": 1}", DocumentKind::V3, &small));
}

fn of_data_types(registry: &Registry, messages: &mut Messages) {
    let reading = Reading::new(Mode::Strict);
    for text in [
        "\"int17\"",
        "\"float31\"",
        "\"|V8\"",
        "7",
        "\"\"",
        "{\"name\": \"numpy.datetime64\"}",
        "{\"name\": \"numpy.datetime64\", \"configuration\": {\"unit\": \"century\", \"scale_factor\": 1}}",
    ] {
        let document = DataTypeDocument::v3(&value(text), &reading);
        match document {
            Err(invalid) => messages.add(&format!("the data type {text}"), Err::<(), _>(invalid)),
            Ok(document) => {
                let result = registry.data_type(Format::V3, &document, &reading);
                messages.add(&format!("the data type {text}"), result);
            }
        }
    }
    for text in ["\"<i5x\"", "\"i4\"", "\"<M8[century]\"", "5", "\"|O\""] {
        let document = DataTypeDocument::v2(&value(text), None, &reading);
        messages.add(&format!("the typestring {text}"), document);
    }
    for (name, fill_value) in [
        ("int8", "128"),
        ("uint8", "-1"),
        ("int8", "1.5"),
        ("bool", "1"),
        ("float32", "\"nan\""),
        ("float64", "\"0x12\""),
        ("complex64", "[1]"),
        ("string", "7"),
        ("r16", "[1]"),
    ] {
        let document = DataTypeDocument::named(name);
        let (data_type, byte_order) = registry.data_type(Format::V3, &document, &reading).unwrap();
        let context = FillContext::new(Format::V3, &reading).with_byte_order(&byte_order);
        let result = data_type.fill_value(&value(fill_value), &context);
        messages.add(&format!("the fill value {fill_value} of {name}"), result);
    }
    let (bfloat16, byte_order) =
        registry.data_type(Format::V3, &DataTypeDocument::named("bfloat16"), &reading).unwrap();
    messages.add("bfloat16 in v2", bfloat16.document(Format::V2, &byte_order));
}

fn of_grids(registry: &Registry, messages: &mut Messages) {
    for (name, configuration) in [
        ("regular", "{\"chunk_shape\": [2]}"),
        ("regular", "{\"chunk_shape\": [0, 1]}"),
        ("regular", "{\"shape\": [2, 2]}"),
        ("rectilinear", "{\"kind\": \"inline\", \"chunk_shapes\": [[2, 1], [4]]}"),
        ("rectilinear", "{\"kind\": \"other\", \"chunk_shapes\": [[2, 2], [4]]}"),
    ] {
        let result = grid(registry, name, configuration);
        messages.add(&format!("the grid {name} {configuration} for [4, 4]"), result);
    }
    let regular = grid(registry, "regular", "{\"chunk_shape\": [2, 2]}").unwrap();
    messages.add("chunk [2, 0] of a grid of 2 × 2 chunks", chunk_subset(&*regular, &[2, 0]));
    messages.add("chunk [0] of a grid of 2 × 2 chunks", chunk_subset(&*regular, &[0]));
    messages.add("dimension 2 of a grid of 2 × 2 chunks", regular.chunk_range(2, 0));
    messages.add("the chunk of element 4 of 4", regular.chunk_of(0, 4));
}

fn grid(registry: &Registry, name: &str, configuration: &str) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let reading = Reading::new(Mode::Strict);
    let configuration = value(configuration);
    let plugin = registry.chunk_grids().find(Format::V3, name, &reading).unwrap();
    (plugin.create)(&creation(registry, name, &configuration, &reading), &[4, 4])
}

fn of_configurations(registry: &Registry, messages: &mut Messages) {
    for (name, configuration) in [
        ("gzip", "{\"level\": 10}"),
        ("gzip", "{\"level\": \"5\"}"),
        ("gzip", "{}"),
        ("gzip", "{\"level\": 5, \"levle\": 5}"),
        ("gzip", "[]"),
        ("blosc", "{\"cname\": \"lz5\", \"clevel\": 5, \"shuffle\": \"noshuffle\", \"blocksize\": 0}"),
        ("crc32c", "{\"location\": 1}"),
        ("zstdd", "{}"),
        ("zstandard", "{}"),
    ] {
        let reading = Reading::new(Mode::Strict);
        let configuration_value = value(configuration);
        let creation = creation(registry, name, &configuration_value, &reading);
        let result = registry.codec(&creation, &Representation::Bytes(Size::Unknown));
        messages.add(&format!("the codec {name} {configuration}"), result);
    }
}

fn of_chains(registry: &Registry, messages: &mut Messages) {
    const BYTES: (&str, &str) = ("bytes", "{\"endian\": \"little\"}");
    let shard = |codecs: &str, shape: &str| {
        format!(
            "{{\"chunk_shape\": {shape}, \"codecs\": {codecs}, \"index_codecs\": \
             [{{\"name\": \"bytes\", \"configuration\": {{\"endian\": \"little\"}}}}]}}"
        )
    };
    let unknown = shard("[{\"name\": \"mystery\"}]", "[2, 2]");
    let uneven = shard("[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]", "[3, 2]");
    for (what, codecs) in [
        ("unknown codecs", &[BYTES, ("mystery", "{}"), ("gzipp", "{\"level\": 1}")][..]),
        ("a compressor before `bytes`", &[("gzip", "{\"level\": 1}"), BYTES]),
        ("no codec", &[]),
        ("only a compressor", &[("gzip", "{\"level\": 1}")]),
        ("`bytes` twice", &[BYTES, BYTES]),
        ("`transpose` after `bytes`", &[BYTES, ("transpose", "{\"order\": [1, 0]}")]),
        ("`transpose` of another rank", &[("transpose", "{\"order\": [0]}"), BYTES]),
        ("`transpose` with a dimension twice", &[("transpose", "{\"order\": [0, 0]}"), BYTES]),
        ("`bytes` without a byte order", &[("bytes", "{}")]),
        ("an unknown codec in a shard", &[("sharding_indexed", &unknown)]),
        ("inner chunks that do not divide the shard", &[("sharding_indexed", &uneven)]),
        ("a text codec for numbers", &[("vlen-utf8", "{}")]),
    ] {
        messages.add(what, chain(registry, codecs, "int16"));
    }
    messages.add("`bytes` for text", chain(registry, &[BYTES], "string"));
}

fn chain(registry: &Registry, codecs: &[(&str, &str)], data_type: &str) -> Result<CodecChain, ChainError> {
    let reading = Reading::new(Mode::Strict);
    let documents: Vec<_> = codecs
        .iter()
        .map(|(name, configuration)| ExtensionDocument::new(*name, value(configuration)))
        .collect();
    let creation = ChainCreation::new(Format::V3, registry, &reading);
    CodecChain::create(&creation, None, &documents, &array(registry, data_type))
}

fn array(registry: &Registry, data_type: &str) -> ArrayRepresentation {
    let document = DataTypeDocument::named(data_type);
    let (data_type, byte_order) =
        registry.data_type(Format::V3, &document, &Reading::new(Mode::Strict)).unwrap();
    let size = data_type.elements().size().unwrap_or_default();
    ArrayRepresentation::new(vec![4, 4], data_type, FillValue::zero(size)).with_byte_order(byte_order)
}

fn of_chunks(registry: &Registry, messages: &mut Messages) {
    let reading = Reading::new(Mode::Strict);
    let codec = |name: &str, configuration: Value| {
        let creation = creation(registry, name, &configuration, &reading);
        match registry.codec(&creation, &Representation::Bytes(Size::Unknown)).unwrap() {
            Codec::BytesToBytes(codec) => codec,
            other => panic!("{other:?}"),
        }
    };
    let gzip = codec("gzip", json!({"level": 1}));
    let mut encoded = Output::at_most(1000);
    gzip.encode(&[0; 100], &mut encoded).unwrap();
    messages.add("a chunk that is too large", gzip.decode(encoded.written(), &mut Output::at_most(99)));
    let cut = &encoded.written()[..encoded.written().len() - 1];
    messages.add("a chunk that is cut off", gzip.decode(cut, &mut Output::at_most(100)));
    let text = array(registry, "string");
    let creation = creation(registry, "vlen-utf8", &Value::Null, &reading);
    let Codec::ArrayToBytes(strings) =
        registry.codec(&creation, &Representation::Array(text.clone())).unwrap()
    else {
        panic!("unexpected kind of codec")
    };
    messages.add("elements that are not text", strings.encode(&text, &[1, 2], &mut Output::at_most(100)));
}

fn of_stores(registry: &Registry, messages: &mut Messages) {
    for description in [
        "{}",
        "{\"type\": \"memroy\"}",
        "{\"type\": \"memory\", \"size\": 5}",
        "{\"type\": \"given\"}",
        "{\"type\": \"prefix\", \"prefix\": \"a\"}",
    ] {
        let result: Result<_, StoreError> = open_described(registry, &value(description));
        messages.add(&format!("the store {description}"), result);
    }
}

fn creation<'a>(
    registry: &'a Registry,
    identifier: &'a str,
    configuration: &'a Value,
    reading: &'a Reading,
) -> Creation<'a> {
    Creation::new(identifier, configuration, Format::V3, registry, reading)
}

fn value(text: &str) -> Value {
    parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
}
