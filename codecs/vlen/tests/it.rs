//! `zarrs.vlen`: the form of zarrs, limits and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_vlen as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::{array, creation, hex, types};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Format, Identifiers, Mode, Registry,
    Representation,
};

fn texts(count: u64) -> ArrayRepresentation {
    array(&[count], types::VARIABLE_BYTES)
}

/// Returns the codec and a stand-in for `bytes`.
fn registry() -> Registry {
    let mut registry = zarr_conformance::registry();
    for plugin in Registry::linked().unwrap().codecs().iter() {
        registry.register(*plugin).unwrap();
    }
    let bytes = CodecPlugin::new(Identifiers::name("bytes"), &|creation, _| {
        Ok(Codec::Binary(match creation.configuration.as_object().is_some() {
            true => ByteOrder::Little,
            false => ByteOrder::Big,
        }))
    });
    registry.register(bytes).unwrap();
    registry
}

fn made(configuration: &str) -> Result<Codec, CodecError> {
    let registry = registry();
    creation(Format::V3, "zarrs.vlen", configuration, Mode::Strict, |creation| {
        let creation = creation.with_registry(&registry);
        let plugin = registry.codecs().find(Format::V3, "zarrs.vlen", creation.reading).unwrap();
        (plugin.create)(&creation, &Representation::Array(texts(3)))
    })
}

fn configuration(data_type: &str, location: &str) -> String {
    format!(
        r#"{{"index_codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}],
        "data_codecs": [{{"name": "bytes"}}], "index_data_type": "{data_type}"{location}}}"#
    )
}

fn decoded_form(ends: &[u64], payload: &[u8]) -> Vec<u8> {
    [0].iter().chain(ends).flat_map(|end| end.to_ne_bytes()).chain(payload.iter().copied()).collect()
}

/// The elements "a", "bc" and "" in each arrangement. A test against zarrs compares the same form.
#[test]
fn offsets_precede_or_follow_the_elements() {
    let words = "00000000 01000000 03000000 03000000";
    let longs = "0000000000000000 0100000000000000 0300000000000000 0300000000000000";
    let start = |size: &str, index: &str| format!("{size} {index} 616263");
    let end = |size: &str, index: &str| format!("616263 {index} {size}");
    let four = "1000000000000000";
    let eight = "2000000000000000";
    for (data_type, location, encoded) in [
        ("uint32", "", start(four, words)),
        ("uint32", r#", "index_location": "start""#, start(four, words)),
        ("uint32", r#", "index_location": "end""#, end(four, words)),
        ("uint64", r#", "index_location": "start""#, start(eight, longs)),
        ("uint64", r#", "index_location": "end""#, end(eight, longs)),
    ] {
        let codec = made(&configuration(data_type, location)).unwrap();
        let elements = decoded_form(&[1, 3, 3], b"abc");
        assert_eq!(encode(&codec, &texts(3), &elements).unwrap(), hex(&encoded), "{data_type} {location}");
        check_lossless(&codec, &texts(3), &elements).unwrap();
        check_lossless(&codec, &texts(3), &decoded_form(&[0, 0, 0], b"")).unwrap();
        check_damaged(&codec, &texts(3), &hex(&encoded), 1 << 10, 2000).unwrap();
        let limited = decode(&codec, &texts(3), &hex(&encoded), elements.len() - 1);
        assert!(matches!(limited, Err(CodecError::TooLarge(_))), "{limited:?}");
    }
}

#[test]
fn sizes_and_offsets_are_not_trusted() {
    let codec = made(&configuration("uint64", "")).unwrap();
    for encoded in [
        "",
        "20000000",
        "ffffffffffffffff 0000000000000000",
        // The offsets decrease, begin after 0, or exceed the elements.
        "2000000000000000 0000000000000000 0200000000000000 0100000000000000 0200000000000000 6162",
        "2000000000000000 0100000000000000 0100000000000000 0100000000000000 0200000000000000 6162",
        "2000000000000000 0000000000000000 0100000000000000 0100000000000000 0300000000000000 6162",
        // Bytes follow empty elements.
        "2000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 61",
    ] {
        let result = decode(&codec, &texts(3), &hex(encoded), 1 << 10);
        assert!(result.is_err(), "{encoded}: {result:?}");
        assert!(!matches!(result, Err(CodecError::TooLarge(_))), "{encoded}: {result:?}");
    }
    let huge = "2000000000000000 0000000000000000 0100000000000000 0100000000000000 ffffffffffffff0f 61";
    let result = decode(&codec, &texts(3), &hex(huge), 1 << 10);
    assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
}

#[test]
fn incomplete_configurations_are_refused() {
    for configuration in [
        "{}".to_owned(),
        configuration("uint16", ""),
        configuration("uint32", r#", "index_location": "middle""#),
        r#"{"index_codecs": [], "data_codecs": [{"name": "bytes"}], "index_data_type": "uint32"}"#.to_owned(),
        r#"{"index_codecs": [{"name": "bytes"}], "data_codecs": 4, "index_data_type": "uint32"}"#.to_owned(),
    ] {
        assert!(made(&configuration).is_err(), "{configuration}");
    }
}
