//! CBOR: items printed in RFC 8949, documents of ciborium, and round trips.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use ciborium::value::Value as Item;
use proptest::prelude::*;
use zarr_conformance::strategies::arb_json;
use zarr_conformance::{creation, hex};
use zarr_json::{MAX_DEPTH, Number, ParseOptions};
use zarr_metadata_encoding_cbor::{CborMetadata, NUMBER_TEXT};
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{Format, Mode, Object, Reading, Registry, Value};

fn parsed(text: &str) -> Value {
    zarr_json::parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
}

fn decode(bytes: &[u8]) -> Result<Value, String> {
    CborMetadata.decode(bytes, &Reading::new(Mode::Strict)).map_err(|error| error.to_string())
}

fn encode(value: &Value) -> Vec<u8> {
    CborMetadata.encode(value).unwrap()
}

/// Items of RFC 8949, appendix A, that JSON can represent: those that are written, and those that are only read.
#[test]
fn items_match_the_standard() {
    for (text, digits) in [
        ("0", "00"),
        ("10", "0a"),
        ("23", "17"),
        ("24", "1818"),
        ("100", "1864"),
        ("1000", "1903e8"),
        ("1000000", "1a000f4240"),
        ("1000000000000", "1b000000e8d4a51000"),
        ("18446744073709551615", "1bffffffffffffffff"),
        ("18446744073709551616", "c249010000000000000000"),
        ("-18446744073709551616", "3bffffffffffffffff"),
        ("-18446744073709551617", "c349010000000000000000"),
        ("-1", "20"),
        ("-100", "3863"),
        ("-1000", "3903e7"),
        ("1.1", "fb3ff199999999999a"),
        ("-4.1", "fbc010666666666666"),
        ("1e300", "fb7e37e43c8800759c"),
        ("false", "f4"),
        ("true", "f5"),
        ("null", "f6"),
        ("\"\"", "60"),
        ("\"IETF\"", "6449455446"),
        ("\"\u{fc}\"", "62c3bc"),
        ("\"\u{10151}\"", "64f0908591"),
        ("[]", "80"),
        ("[1,[2,3],[4,5]]", "8301820203820405"),
        ("{}", "a0"),
        (r#"{"a":1,"b":[2,3]}"#, "a26161016162820203"),
    ] {
        assert_eq!(encode(&parsed(text)), hex(digits), "{text}");
        assert_eq!(decode(&hex(digits)).unwrap(), parsed(text), "{digits}");
    }
    for (text, digits) in [
        ("0.0", "f90000"),
        ("-0.0", "f98000"),
        ("1.5", "f93e00"),
        ("65504.0", "f97bff"),
        ("5.960464477539063e-8", "f90001"),
        ("100000.0", "fa47c35000"),
        ("\"streaming\"", "7f657374726561646d696e67ff"),
        ("[]", "9fff"),
        ("[1,[2,3],[4,5]]", "9f018202039f0405ffff"),
        (r#"{"a":1,"b":[2,3]}"#, "bf61610161629f0203ffff"),
        ("1", "c24101"),
        ("-1", "c34100"),
        ("7", "d9d9f707"),
    ] {
        assert_eq!(decode(&hex(digits)).unwrap(), parsed(text), "{digits}");
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
    let tagged = [&hex("da7a617272")[..], &[0x64], b"1.50"].concat();
    assert_eq!(encode(&parsed("1.50")), tagged);
    assert_eq!(u64::from_be_bytes(*b"\0\0\0\0zarr"), NUMBER_TEXT);
}

#[test]
fn items_without_an_equivalent_in_json_are_refused() {
    for (digits, reason) in [
        ("", "ends at byte 0"),
        ("18", "more bytes than the document has"),
        ("6261", "more bytes than the document has"),
        ("7bffffffffffffffff", "more bytes than the document has"),
        ("9bffffffffffffffff", "ends at byte 9"),
        ("bbffffffffffffffff", "ends at byte 9"),
        ("61ff", "not UTF-8"),
        ("4101", "bytes, which JSON does not have"),
        ("a10102", "the name of a member"),
        ("a2616101616102", "a second member `a`"),
        ("f7", "other than true, false and null"),
        ("f8ff", "other than true, false and null"),
        ("f97e00", "NaN"),
        ("fb7ff0000000000000", "inf"),
        ("ff", "a break"),
        ("1c", "RFC 8949 does not define"),
        ("1f", "not valid here"),
        ("0000", "1 bytes follow"),
        ("c074323031332d30332d32315432303a30343a30305a", "tag 0"),
        ("da7a617272626e6f", "not a JSON number"),
        ("da7a61727201", "tag"),
        ("c25101000000000000000000000000000000ff", "more than 128 bits"),
        ("c350ffffffffffffffffffffffffffffffff", "more than 128 bits"),
        ("7f01ff", "an item inside of a text"),
    ] {
        let error = decode(&hex(digits)).unwrap_err();
        assert!(error.contains(reason), "{digits}: {error}");
    }
    let deep = |levels: usize| [vec![0x81; levels], vec![0]].concat();
    assert!(decode(&deep(MAX_DEPTH)).is_ok());
    assert!(decode(&deep(MAX_DEPTH + 1)).unwrap_err().contains("nested deeper"));
    assert!(decode(&[0xc2; 100_000]).is_err());
    let short = Reading::new(Mode::Strict).with_document_size(1);
    assert!(CborMetadata.decode(&[0x82, 1, 2], &short).is_err());
    let bare = ParseOptions { bare_non_finite: true, ..ParseOptions::default() };
    let nan = zarr_json::parse(b"[NaN]", &bare).unwrap().value;
    assert!(CborMetadata.encode(&nan).unwrap_err().to_string().contains("`NaN`"));
}

#[test]
fn the_plugin_is_registered() {
    let registry = Registry::linked().unwrap();
    let uri = "https://zarr-kit.example/spec/metadata-encodings/cbor/1.0";
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.metadata_encodings().find(Format::V3Draft, uri, &reading).unwrap();
    let create = |configuration: &str| {
        creation(Format::V3Draft, uri, configuration, Mode::Strict, |creation| (plugin.create)(creation))
    };
    assert_eq!(create("").unwrap().key_suffix(), ".cbor");
    assert!(create(r#"{"pretty":true}"#).is_err());
}

/// Returns the item of ciborium; `None` for numbers that it cannot represent.
fn as_item(value: &Value) -> Option<Item> {
    Some(match value {
        Value::Null => Item::Null,
        Value::Bool(value) => Item::Bool(*value),
        Value::String(text) => Item::Text(text.clone()),
        Value::Array(elements) => Item::Array(elements.iter().map(as_item).collect::<Option<_>>()?),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Some((name.into(), as_item(value)?)));
            Item::Map(members.collect::<Option<_>>()?)
        }
        Value::Number(number) if number.is_integer() && number.text() != "-0" => {
            Item::Integer(number.as_i128()?.try_into().ok()?)
        }
        Value::Number(number) => {
            let float = number.as_f64()?;
            (Number::from_f64(float)? == *number).then_some(Item::Float(float))?
        }
    })
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
    fn documents_can_be_exchanged_with_ciborium(value in arb_json()) {
        if let Some(item) = as_item(&value) {
            let read: Item = ciborium::from_reader(encode(&value).as_slice()).unwrap();
            prop_assert_eq!(&read, &item);
            let mut bytes = Vec::new();
            ciborium::into_writer(&item, &mut bytes).unwrap();
            prop_assert_eq!(decode(&bytes).unwrap(), value);
        }
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
