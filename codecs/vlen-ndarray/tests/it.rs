//! `vlen-ndarray`: bytes written by numcodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_vlen_ndarray as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{INT16, INT32, Number, VARIABLE_BYTES};
use zarr_conformance::{array, hex};
use zarr_plugin_kit::ragged::Ragged;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, FillValue, Format, Mode, Representation};

fn chunk(number: Number, inner_shape: &[usize], count: u64) -> ArrayRepresentation {
    let inner = array(&[1], number).data_type;
    let data_type = Ragged::new(inner, inner_shape.to_vec()).unwrap();
    ArrayRepresentation::new(vec![count], Arc::new(data_type), FillValue::zero(0))
}

fn created(
    format: Format,
    name: &str,
    configuration: &str,
    chunk: &ArrayRepresentation,
) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(chunk.clone());
    create(format, name, configuration, Mode::Strict, &decoded).map(|created| created.codec)
}

fn elements(lists: &[&[i32]]) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> =
        lists.iter().map(|list| list.iter().flat_map(|number| number.to_ne_bytes()).collect()).collect();
    zarr_conformance::items(&bytes.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Written by numcodecs 0.17.1; v3 has the same bytes in little endian.
///
/// Tests V2-OBJ-06, V2-CODEC-28.
#[test]
fn reads_and_writes_the_bytes_of_numcodecs() {
    let lists = elements(&[&[1, 2, 3], &[4]]);
    let array = chunk(INT32, &[], 2);
    for (format, name, configuration, stored) in [
        (
            Format::V2,
            "vlen-array",
            r#"{"dtype": "<i4"}"#,
            "02000000 0c000000 01000000 02000000 03000000 04000000 04000000",
        ),
        (
            Format::V2,
            "vlen-array",
            r#"{"dtype": ">i4"}"#,
            "02000000 0c000000 00000001 00000002 00000003 04000000 00000004",
        ),
        (Format::V3, "vlen-ndarray", "", "02000000 0c000000 01000000 02000000 03000000 04000000 04000000"),
    ] {
        let codec = created(format, name, configuration, &array).unwrap();
        assert_eq!(encode(&codec, &array, &lists).unwrap(), hex(stored), "{configuration}");
        assert_eq!(decode(&codec, &array, &hex(stored), 1 << 20).unwrap(), lists);
        check_lossless(&codec, &array, &lists).unwrap();
        check_damaged(&codec, &array, &hex(stored), 1 << 10, 2000).unwrap();
    }
}

/// Tests EX-TYPE-14.
#[test]
fn elements_consist_of_whole_items() {
    let pairs = chunk(INT16, &[2], 1);
    let codec = created(Format::V3, "vlen-ndarray", "", &pairs).unwrap();
    for (stored, is_whole) in [
        ("01000000 00000000", true),
        ("01000000 04000000 01000200", true),
        ("01000000 02000000 0100", false),
        ("01000000 06000000 010002000300", false),
    ] {
        let result = decode(&codec, &pairs, &hex(stored), 1 << 20);
        match is_whole {
            true => assert!(result.is_ok(), "{result:?}"),
            false => assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}"),
        }
    }
    let part = zarr_conformance::items(&[&[1, 2, 3]]);
    assert!(matches!(encode(&codec, &pairs, &part), Err(CodecError::Encode(_))));
}

#[test]
fn other_chunks_and_configurations_are_refused() {
    let numbers = chunk(INT32, &[], 1);
    for configuration in ["", r#"{"dtype": "<i2"}"#, r#"{"dtype": 4}"#, r#"{"dtype": "nope"}"#] {
        assert!(created(Format::V2, "vlen-array", configuration, &numbers).is_err(), "{configuration}");
    }
    assert!(created(Format::V2, "vlen-array", r#"{"dtype": "<i4"}"#, &chunk(INT32, &[2], 1)).is_err());
    assert!(created(Format::V3, "vlen-ndarray", r#"{"dtype": "<i4"}"#, &numbers).is_err());
    let bytes = Representation::Array(array(&[1], VARIABLE_BYTES));
    let result = create(Format::V3, "vlen-ndarray", "", Mode::Strict, &bytes);
    assert!(matches!(result.map(drop), Err(CodecError::Unsupported(_))));
}

#[test]
fn each_format_states_the_type_or_leaves_it_to_the_data_type() {
    let decoded = Representation::Array(chunk(INT32, &[], 1));
    let little = r#"{"dtype":"<i4"}"#;
    let of_v3 = translate(Format::V3, "vlen-ndarray", "", &decoded, Format::V2).unwrap();
    assert_eq!(of_v3, (Some("vlen-array"), little.to_owned()));
    let of_v2 = translate(Format::V2, "vlen-array", little, &decoded, Format::V3).unwrap();
    assert_eq!(of_v2, (Some("vlen-ndarray"), "{}".to_owned()));
    let big = r#"{"dtype":">i4"}"#;
    assert_eq!(translate(Format::V2, "vlen-array", big, &decoded, Format::V2).unwrap().1, big);
    let result = translate(Format::V2, "vlen-array", big, &decoded, Format::V3);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    let pairs = Representation::Array(chunk(INT32, &[2], 1));
    let result = translate(Format::V3, "vlen-ndarray", "", &pairs, Format::V2);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
}
