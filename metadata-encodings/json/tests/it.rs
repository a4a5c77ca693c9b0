//! JSON: round trips, deviations and errors.

use zarr_conformance::creation;
use zarr_metadata_encoding_json::JsonMetadata;
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{Format, Mode, Reading, Registry};

fn refused(text: &[u8], mode: Mode) -> String {
    match JsonMetadata.decode(text, &Reading::new(mode)) {
        Err(error) => error.to_string(),
        Ok(value) => panic!("{} was read as {value}", String::from_utf8_lossy(text)),
    }
}

#[test]
fn numbers_members_and_strings_round_trip() {
    let text = r#"{"b": 18446744073709551615, "a": [-0.0, 1e400, 1.50], "ü": "\ud83d\ude00"}"#;
    let reading = Reading::new(Mode::Strict);
    let value = JsonMetadata.decode(text.as_bytes(), &reading).unwrap();
    let again = JsonMetadata.encode(&value).unwrap();
    assert_eq!(
        String::from_utf8(again.clone()).unwrap(),
        "{\n  \"b\": 18446744073709551615,\n  \"a\": [-0.0, 1e400, 1.50],\n  \"ü\": \"😀\"\n}"
    );
    assert_eq!(JsonMetadata.decode(&again, &reading).unwrap(), value);
    assert_eq!(JsonMetadata.key_suffix(), ".json");
}

/// Tests D3-DOC-06, D3-DOC-07, D3-DOC-08.
#[test]
fn deviations_are_a_warning_or_an_error_depending_on_the_mode() {
    let twice = br#"{"shape":[1],"shape":[2]}"#;
    assert!(refused(twice, Mode::Strict).contains("/shape"));
    let lenient = Reading::new(Mode::Lenient);
    assert_eq!(JsonMetadata.decode(twice, &lenient).unwrap().to_string(), r#"{"shape":[2]}"#);
    assert_eq!(lenient.take_warnings().len(), 1);

    let nan = br#"{"attributes":{"a":NaN,"b":[-Infinity]}}"#;
    refused(nan, Mode::Strict);
    let value = JsonMetadata.decode(nan, &lenient).unwrap();
    assert_eq!(lenient.take_warnings().len(), 1);
    assert!(JsonMetadata.encode(&value).is_err(), "NaN is never written");
    for elsewhere in [&br#"{"fill_value":NaN}"#[..], b"[NaN]", br#"{"a":{"attributes":[Infinity]}}"#] {
        assert!(refused(elsewhere, Mode::Compatibility).contains("which JSON does not have"));
    }

    let marked = b"\xef\xbb\xbf{\"a\":1}";
    let strict = Reading::new(Mode::Strict);
    let value = JsonMetadata.decode(marked, &strict).unwrap();
    assert_eq!(value.to_string(), r#"{"a":1}"#);
    assert!(JsonMetadata.encode(&value).unwrap().starts_with(b"{"));
}

#[test]
fn text_that_is_not_json_is_refused() {
    for text in [&b""[..], b"{\"a\":1,}", b"{} {}", b"{/**/}", b"\xff\xfe{\0}\0", b"{\"a\":\xff}", b"{'a':1}"]
    {
        for mode in [Mode::Strict, Mode::Compatibility] {
            refused(text, mode);
        }
    }
    let deep = [b"[".repeat(1000), b"]".repeat(1000)].concat();
    refused(&deep, Mode::Lenient);
}

#[test]
fn a_configuration_is_refused() {
    let registry = Registry::linked().unwrap();
    for (configuration, accepted) in [("", true), ("{}", true), (r#"{"indent":2}"#, false)] {
        creation(Format::V3Draft, "json", configuration, Mode::Lenient, |creation| {
            let plugin =
                registry.metadata_encodings().find(Format::V3Draft, "json", creation.reading).unwrap();
            assert_eq!((plugin.create)(creation).is_ok(), accepted, "{configuration}");
        });
    }
}
