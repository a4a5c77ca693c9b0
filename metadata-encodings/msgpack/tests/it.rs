//! MessagePack: formats of its specification, and round trips.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use proptest::prelude::*;
use zarr_conformance::strategies::arb_json;
use zarr_conformance::{creation, hex};
use zarr_json::{MAX_DEPTH, ParseOptions};
use zarr_metadata_encoding_msgpack::{MsgpackMetadata, NUMBER_TEXT};
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{Format, Mode, Object, Reading, Registry, Value};

fn parsed(text: &str) -> Value {
    zarr_json::parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
}

fn decode(bytes: &[u8]) -> Result<Value, String> {
    MsgpackMetadata.decode(bytes, &Reading::new(Mode::Strict)).map_err(|error| error.to_string())
}

fn encode(value: &Value) -> Vec<u8> {
    MsgpackMetadata.encode(value).unwrap()
}

/// Formats of the MessagePack specification that JSON can represent: those that are written, and those that are
/// only read.
#[test]
fn objects_match_the_specification() {
    for (text, digits) in [
        ("0", "00"),
        ("127", "7f"),
        ("128", "cc80"),
        ("256", "cd0100"),
        ("65536", "ce00010000"),
        ("4294967296", "cf0000000100000000"),
        ("18446744073709551615", "cfffffffffffffffff"),
        ("-1", "ff"),
        ("-32", "e0"),
        ("-33", "d0df"),
        ("-129", "d1ff7f"),
        ("-32769", "d2ffff7fff"),
        ("-9223372036854775808", "d38000000000000000"),
        ("1.5", "cb3ff8000000000000"),
        ("null", "c0"),
        ("false", "c2"),
        ("true", "c3"),
        (r#""abc""#, "a3616263"),
        ("[]", "90"),
        ("[1,[2]]", "92019102"),
        ("{}", "80"),
        // The example on the front page of msgpack.org.
        (r#"{"compact":true,"schema":0}"#, "82a7636f6d70616374c3a6736368656d6100"),
    ] {
        assert_eq!(encode(&parsed(text)), hex(digits), "{text}");
        assert_eq!(decode(&hex(digits)).unwrap(), parsed(text), "{digits}");
    }
    for (text, digits) in [
        ("1", "cc01"),
        ("1", "cd0001"),
        ("1", "d001"),
        ("-1", "d3ffffffffffffffff"),
        ("1.5", "ca3fc00000"),
        (r#""a""#, "d90161"),
        (r#""a""#, "da000161"),
        (r#""a""#, "db0000000161"),
        ("[1]", "dc000101"),
        ("[1]", "dd0000000101"),
        (r#"{"a":1}"#, "de0001a16101"),
        (r#"{"a":1}"#, "df00000001a16101"),
        ("7", "d47a37"),
        ("1.50", "d67a312e3530"),
    ] {
        assert_eq!(decode(&hex(digits)).unwrap(), parsed(text), "{digits}");
    }
    for (length, digits) in [(32, "d920"), (256, "da0100"), (65536, "db00010000")] {
        let text = Value::String("x".repeat(length));
        assert!(encode(&text).starts_with(&hex(digits)));
        assert_eq!(decode(&encode(&text)).unwrap(), text);
        let list: Value = (0..length).collect();
        assert_eq!(decode(&encode(&list)).unwrap(), list);
        let object: Value = (0..length).map(|name| (name.to_string(), name)).collect();
        assert_eq!(decode(&encode(&object)).unwrap(), object);
    }
}

#[test]
fn the_text_of_numbers_is_preserved() {
    for text in [
        "-0",
        "-0.0",
        "1.50",
        "1e400",
        "1E5",
        "1e+5",
        "0.1",
        "9007199254740993",
        "340282366920938463463374607431768211455",
        "340282366920938463463374607431768211456",
        "-340282366920938463463374607431768211456",
        "-340282366920938463463374607431768211457",
        "123456789012345678901234567890123456789012345678901234567890",
        "3.141592653589793238462643383279",
    ] {
        let value = parsed(text);
        assert_eq!(decode(&encode(&value)).unwrap().to_string(), text);
    }
    assert_eq!(encode(&parsed("1.50")), hex("d67a312e3530"));
    assert_eq!(NUMBER_TEXT, 0x7a);
}

#[test]
fn objects_without_an_equivalent_in_json_are_refused() {
    for (digits, reason) in [
        ("", "ends within the object at byte 0"),
        ("cd00", "ends within"),
        ("a261", "ends within"),
        ("dbffffffff", "ends within"),
        ("ddffffffff", "ends within"),
        ("dfffffffff", "ends within"),
        ("c7ff7a", "ends within"),
        ("a1ff", "not UTF-8"),
        ("c40101", "bytes"),
        ("c1", "does not define"),
        ("810102", "the name of a member"),
        ("82a16101a16102", "a second member `a`"),
        ("cb7ff8000000000000", "NaN"),
        ("ca7f800000", "inf"),
        ("0000", "1 bytes follow"),
        ("d6ff00000000", "extension of type -1"),
        ("d57a6e6f", "not a JSON number"),
    ] {
        let error = decode(&hex(digits)).unwrap_err();
        assert!(error.contains(reason), "{digits}: {error}");
    }
    let deep = |levels: usize| [vec![0x91; levels], vec![0]].concat();
    assert!(decode(&deep(MAX_DEPTH)).is_ok());
    assert!(decode(&deep(MAX_DEPTH + 1)).unwrap_err().contains("nested deeper"));
    assert!(decode(&[0x81; 100_000]).is_err());
    let short = Reading::new(Mode::Strict).with_document_size(1);
    assert!(MsgpackMetadata.decode(&[0x92, 1, 2], &short).is_err());
    let bare = ParseOptions { bare_non_finite: true, ..ParseOptions::default() };
    let nan = zarr_json::parse(b"[NaN]", &bare).unwrap().value;
    assert!(MsgpackMetadata.encode(&nan).unwrap_err().to_string().contains("`NaN`"));
}

#[test]
fn the_plugin_is_registered() {
    let registry = Registry::linked().unwrap();
    let uri = "https://zarr-kit.example/spec/metadata-encodings/msgpack/1.0";
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.metadata_encodings().find(Format::V3Draft, uri, &reading).unwrap();
    let create = |configuration: &str| {
        creation(Format::V3Draft, uri, configuration, Mode::Strict, |creation| (plugin.create)(creation))
    };
    assert_eq!(create("").unwrap().key_suffix(), ".msgpack");
    assert!(create(r#"{"pretty":true}"#).is_err());
}

/// Returns the names of members in order.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(elements) => elements.iter().flat_map(names).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| std::iter::once(name.to_owned()).chain(names(value)))
            .collect(),
        _ => Vec::new(),
    }
}

proptest! {
    #[test]
    fn documents_round_trip(value in arb_json()) {
        let again = decode(&encode(&value)).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(names(&again), names(&value));
    }

    #[test]
    fn any_bytes_are_a_document_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = decode(&bytes) {
            prop_assert_eq!(decode(&encode(&value)).unwrap(), value);
        }
    }
}

#[test]
fn the_order_of_members_is_preserved() {
    let mut object = Object::new();
    for name in ["z", "a", "shape", ""] {
        object.insert(name, 1);
    }
    let value = Value::Object(object);
    assert_eq!(names(&decode(&encode(&value)).unwrap()), ["z", "a", "shape", ""]);
}
