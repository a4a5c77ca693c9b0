//! The messages of the helpers of plugins, provoked through codecs that use them.

use std::sync::Arc;

use expect_test::expect_file;
use zarr_conformance::items;
use zarr_kit::json::{ParseOptions, Value, parse};
use zarr_kit::spec::codec::{ArrayToBytesCodec, Codec};
use zarr_kit::spec::data_type::DataTypeDocument;
use zarr_kit::spec::{
    ArrayRepresentation, CodecError, Creation, FillValue, Format, Mode, Output, Reading, Registry,
    Representation,
};

use super::Messages;

#[test]
fn messages_of_the_helpers_are_in_the_snapshot() {
    let registry = Registry::linked().unwrap();
    let mut messages = Messages::new(|_| None);
    of_numbers(&registry, &mut messages);
    of_variable_elements(&registry, &mut messages);
    of_items(&registry, &mut messages);
    of_streams(&registry, &mut messages);
    expect_file!["../snapshots/zarr-plugin-kit.txt"].assert_eq(&messages.text);
}

/// Codecs that compute with numbers, such as the filters of v2.
fn of_numbers(registry: &Registry, messages: &mut Messages) {
    for (what, configuration) in [
        ("a filter for another data type", "{\"dtype\": \"<f4\"}"),
        ("a filter for another byte order", "{\"dtype\": \">i2\"}"),
        ("a filter with a data type that does not exist", "{\"dtype\": \"<i3\"}"),
        ("a filter with a malformed data type", "{\"dtype\": \"integer\"}"),
    ] {
        messages.add(what, create(registry, (Format::V2, "delta", configuration), "int16"));
    }
    let Ok(Codec::ArrayToArray(delta)) =
        create(registry, (Format::V2, "delta", "{\"dtype\": \"<i2\"}"), "int16")
    else {
        panic!("unexpected kind of codec")
    };
    let array = array(registry, "int16");
    messages.add(
        "a filter and a chunk that is too short",
        delta.decode(&array, &[0; 7], &mut Output::at_most(9)),
    );
    messages.add("a filter and too few elements", delta.encode(&array, &[0; 7], &mut Output::at_most(9)));
    messages.add("a filter and elements of another type", delta.encoded(&self::array(registry, "int32")));
}

/// Codecs for elements of variable size.
fn of_variable_elements(registry: &Registry, messages: &mut Messages) {
    messages.add("`vlen-utf8` for bytes", create(registry, (Format::V3, "vlen-utf8", "{}"), "bytes"));
    let text = array(registry, "string");
    let codec = to_bytes(registry, "vlen-utf8", "string");
    for (what, encoded) in [
        ("a chunk of text without a number of elements", &[1, 0][..]),
        ("a chunk of text with another number of elements", &[3, 0, 0, 0]),
        ("a chunk of text that ends before its elements", &[2, 0, 0, 0, 1, 0, 0, 0, 65]),
        ("a chunk of text with an element that is too long", &[2, 0, 0, 0, 9, 0, 0, 0, 65, 0, 0, 0, 0]),
        ("a chunk of text with bytes at its end", &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 65]),
        ("a chunk of text that is not UTF-8", &[2, 0, 0, 0, 1, 0, 0, 0, 255, 0, 0, 0, 0]),
    ] {
        messages.add(what, codec.decode(&text, encoded, &mut Output::at_most(1000)));
    }
    messages.add("elements without offsets", codec.encode(&text, &[65], &mut Output::at_most(1000)));
}

/// Codecs for JSON items.
fn of_items(registry: &Registry, messages: &mut Messages) {
    messages.add("`json2` for text", create(registry, (Format::V2, "json2", "{}"), "string"));
    let json = array(registry, "json");
    let codec = to_bytes(registry, "json2", "json");
    for document in [
        "",
        "{}",
        "[\"a\", \"b\", \"|S1\", [2]]",
        "[\"a\", \"b\", \"|O\", [3]]",
        "[\"a\", \"|O\", [2]]",
        "[\"a\", \"b\", \"c\", \"|O\", [2]]",
    ] {
        let result = codec.decode(&json, document.as_bytes(), &mut Output::at_most(1000));
        messages.add(&format!("a chunk of two items: `{document}`"), result);
    }
    let wrong = items(&["{", "1"]);
    messages.add("an element that is not JSON", codec.encode(&json, &wrong, &mut Output::at_most(1000)));
}

/// Codecs that compress a stream.
fn of_streams(registry: &Registry, messages: &mut Messages) {
    let array = Representation::Array(array(registry, "int16"));
    let reading = Reading::new(Mode::Strict);
    let configuration = json("{\"level\": 5}");
    let creation = creation(registry, (Format::V2, "bz2"), &configuration, &reading);
    let Codec::BytesToBytes(codec) = registry.codec(&creation, &array).unwrap() else {
        panic!("unexpected kind of codec")
    };
    let mut encoded = Output::at_most(1000);
    codec.encode(&[7; 50], &mut encoded).unwrap();
    let written = encoded.written();
    messages.add(
        "a stream that is cut off",
        codec.decode(&written[..written.len() - 5], &mut Output::at_most(50)),
    );
    messages.add("a stream that is too long", codec.decode(written, &mut Output::at_most(49)));
    messages.add("a stream that is not one", codec.decode(b"not a stream", &mut Output::at_most(50)));
}

fn to_bytes(registry: &Registry, name: &str, data_type: &str) -> Arc<dyn ArrayToBytesCodec> {
    let format = if name == "json2" { Format::V2 } else { Format::V3 };
    match create(registry, (format, name, "{}"), data_type) {
        Ok(Codec::ArrayToBytes(codec)) => codec,
        other => panic!("{other:?}"),
    }
}

fn create(registry: &Registry, codec: (Format, &str, &str), data_type: &str) -> Result<Codec, CodecError> {
    let array = Representation::Array(array(registry, data_type));
    let reading = Reading::new(Mode::Strict);
    let configuration = json(codec.2);
    registry.codec(&creation(registry, (codec.0, codec.1), &configuration, &reading), &array)
}

fn creation<'a>(
    registry: &'a Registry,
    codec: (Format, &'a str),
    configuration: &'a Value,
    reading: &'a Reading,
) -> Creation<'a> {
    Creation::new(codec.1, configuration, codec.0, registry, reading)
}

/// Returns an array of two elements.
fn array(registry: &Registry, data_type: &str) -> ArrayRepresentation {
    let reading = Reading::new(Mode::Lenient);
    let (format, document) = match data_type {
        "json" => (Format::V2, DataTypeDocument::v2(&Value::from("|O"), Some("json2"), &reading).unwrap()),
        name => (Format::V3, DataTypeDocument::named(name)),
    };
    let (data_type, byte_order) = registry.data_type(format, &document, &reading).unwrap();
    let size = data_type.elements().size().unwrap_or_default();
    ArrayRepresentation::new(vec![2], data_type, FillValue::zero(size)).with_byte_order(byte_order)
}

fn json(text: &str) -> Value {
    parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
}
