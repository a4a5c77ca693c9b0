//! `n5_default`: the header, the codecs of N5, and blocks with another shape than the chunk.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_n5_default as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::{array, hex, types};
use zarr_json::ParseOptions;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Creation, FillValue, Format, Identifiers,
    Mode, Reading, Registry, Representation,
};

// Plugins do not depend on each other, so these stand in for two codecs that N5 needs.
zarr_spec::register!(CodecPlugin::new(Identifiers::name("transpose"), &transpose));
zarr_spec::register!(CodecPlugin::new(Identifiers::name("bytes"), &bytes));

#[derive(serde::Deserialize)]
struct Order {
    order: Vec<usize>,
}

fn transpose(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::Permutation(creation.parse::<Order>()?.order))
}

#[derive(serde::Deserialize)]
struct Endian {
    endian: Option<String>,
}

fn bytes(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    let is_big = creation.parse::<Endian>()?.endian.as_deref() == Some("big");
    Ok(Codec::Binary(if is_big { ByteOrder::Big } else { ByteOrder::Little }))
}

const CODECS: &str = r#"{"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
    {"name": "bytes", "configuration": {"endian": "big"}}]}"#;

fn chunk() -> ArrayRepresentation {
    array(&[2, 3], types::UINT16).with_fill_value(FillValue::new(7u16.to_ne_bytes()))
}

fn n5(configuration: &str, array: &ArrayRepresentation) -> Result<Codec, CodecError> {
    created("n5_default", configuration, &Representation::Array(array.clone()))
}

/// Creates the codec of a document from the plugins that this test links.
fn created(name: &str, configuration: &str, decoded: &Representation) -> Result<Codec, CodecError> {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.codecs().find(Format::V3, name, &reading).unwrap();
    let configuration = zarr_json::parse(configuration.as_bytes(), &ParseOptions::default()).unwrap().value;
    let creation = Creation::new(name, &configuration, Format::V3, &registry, &reading);
    (plugin.create)(&creation, decoded)
}

fn elements(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// Tests EX-CODEC-25.
#[test]
fn a_block_is_a_header_and_elements_whose_first_dimension_varies_fastest() {
    let codec = n5(CODECS, &chunk()).unwrap();
    let decoded = elements(&[1, 2, 3, 4, 5, 6]);
    let encoded = hex("0000 0002 00000002 00000003 0001 0004 0002 0005 0003 0006");
    assert_eq!(encode(&codec, &chunk(), &decoded).unwrap(), encoded);
    assert_eq!(decode(&codec, &chunk(), &encoded, 12).unwrap(), decoded);
    check_lossless(&codec, &chunk(), &decoded).unwrap();
    check_damaged(&codec, &chunk(), &encoded, 12, 1000).unwrap();
}

/// Tests EX-CODEC-26.
#[test]
fn a_block_of_another_shape_is_padded_or_cropped() {
    let codec = n5(CODECS, &chunk()).unwrap();
    for (encoded, decoded) in [
        ("0000 0002 00000001 00000002 0001 0002", [1, 2, 7, 7, 7, 7]),
        ("0000 0002 00000002 00000001 0001 0002", [1, 7, 7, 2, 7, 7]),
        ("0000 0002 00000003 00000002 0001 0002 0003 0004 0005 0006", [1, 4, 7, 2, 5, 7]),
        ("0000 0002 00000001 00000004 0001 0002 0003 0004", [1, 2, 3, 7, 7, 7]),
        ("0000 0002 00000000 00000003", [7; 6]),
        ("0000 0002 00000003 00000000", [7; 6]),
    ] {
        assert_eq!(decode(&codec, &chunk(), &hex(encoded), 12).unwrap(), elements(&decoded), "{encoded}");
    }
}

/// Tests EX-CODEC-25.
#[test]
fn other_modes_ranks_and_sizes_are_errors() {
    let codec = n5(CODECS, &chunk()).unwrap();
    for (encoded, what) in [
        ("", "too few"),
        ("0000 0002 00000002 000000", "too few"),
        ("0001 0002 00000002 00000003 00000006 0001", "mode 1"),
        ("0002 0002 00000002 00000003", "mode 2"),
        ("0000 0001 00000006 0001 0004 0002 0005 0003 0006", "1 dimensions; expected 2"),
        ("0000 0003 00000001 00000001 00000001 0001", "3 dimensions; expected 2"),
        ("0000 0002 00000002 00000003 0001", "corrupt"),
        ("0000 0002 00000001 00000002 0001 0002 0003", "corrupt"),
        ("0000 0002 ffffffff ffffffff 0001", "far larger than the chunk"),
        ("0000 0002 00000100 00000001", "far larger than the chunk"),
    ] {
        let error = decode(&codec, &chunk(), &hex(encoded), 12).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{encoded}: {error}");
        assert!(error.to_string().contains(what), "{encoded}: {error}");
    }
}

/// Tests EX-CODEC-25.
#[test]
fn other_chains_and_data_types_are_errors() {
    let transpose = r#"{"name": "transpose", "configuration": {"order": [1, 0]}}"#;
    let as_it_is = r#"{"name": "transpose", "configuration": {"order": [0, 1]}}"#;
    let big = r#"{"name": "bytes", "configuration": {"endian": "big"}}"#;
    let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    for (codecs, what) in [
        ("".to_owned(), "no codec turns the array into bytes"),
        (big.to_owned(), "must be a `transpose`"),
        (format!("{as_it_is}, {big}"), "must be a `transpose`"),
        (transpose.to_owned(), "no codec turns the array into bytes"),
        (format!("{transpose}, {little}"), "must be `bytes` in big endian"),
        (format!("{transpose}, {transpose}, {big}"), "must be `bytes` in big endian"),
        (format!("{transpose}, {big}, \"absent\""), "absent"),
    ] {
        let error = n5(&format!(r#"{{"codecs": [{codecs}]}}"#), &chunk()).unwrap_err();
        assert!(error.to_string().contains(what), "{codecs}: {error}");
    }
    let bytes = format!(r#"{{"codecs": [{transpose}, "bytes"]}}"#);
    assert!(n5(&bytes, &array(&[2, 3], types::UINT8)).is_ok());
    assert!(n5(&bytes, &chunk()).is_err());
    assert!(matches!(n5(CODECS, &array(&[2, 3], types::BOOL)), Err(CodecError::Unsupported(_))));
    assert!(matches!(n5(CODECS, &array(&[2, 1 << 32], types::UINT8)), Err(CodecError::Unsupported(_))));
    let unknown = r#"{"codecs": [], "mode": "default"}"#;
    assert!(n5(unknown, &chunk()).unwrap_err().to_string().contains("unknown member `mode`"));
}
