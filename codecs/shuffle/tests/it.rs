//! `shuffle`: bytes written by other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_shuffle::Shuffle;
use zarr_conformance::codecs::{check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::{array, hex, types};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);
const OWN: &str = "https://zarr-kit.example/spec/codecs/shuffle/1.0";

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn v2(configuration: &str) -> Codec {
    create(Format::V2, "shuffle", configuration, Mode::Strict, &BYTES).unwrap().codec
}

/// int32 elements, and the output of numcodecs 0.17.1 with `elementsize` 4.
const SHUFFLED: &[(&str, &str)] = &[
    ("", ""),
    ("07000000", "07000000"),
    ("000000000100000002000000030000000400000005000000", "000102030405000000000000000000000000000000000000"),
    (
        "d81f8b7603be86d00a55fb485d8de6ca48426944bd9c34e72eedc60e1f83088172a552e1299ca246d3c5e3c32c030613",
        "d8030a5d48bd2e1f7229d32c1fbe558d429ced83a59cc5038b86fbe66934c60852a2e30676d048ca44e70e81e146c313",
    ),
];

/// Tests V2-CODEC-11.
#[test]
fn matches_other_programs_in_both_directions_and_refuses_partial_elements() {
    for (decoded, encoded) in SHUFFLED {
        let decoded = hex(decoded);
        let encoded = hex(encoded);
        for codec in [v2(""), v2(r#"{"elementsize":4}"#)] {
            assert_eq!(encode(&codec, &plain(), &decoded).unwrap(), encoded);
            assert_eq!(decode(&codec, &plain(), &encoded, decoded.len()).unwrap(), decoded);
        }
    }
    for size in [1, 2, 3, 5, 401] {
        let bytes = vec![0; size];
        let encoded = encode(&v2(""), &plain(), &bytes);
        assert!(matches!(encoded, Err(CodecError::Encode(_))), "{size}: {encoded:?}");
        let decoded = decode(&v2(""), &plain(), &bytes, 1000);
        assert!(matches!(decoded, Err(CodecError::Corrupt(_))), "{size}: {decoded:?}");
    }
    let long = decode(&v2(""), &plain(), &[0; 8], 7);
    assert!(matches!(long, Err(CodecError::TooLarge(_))), "{long:?}");
}

#[test]
fn byte_j_of_element_i_is_byte_i_of_plane_j_for_every_size() {
    for size in [1usize, 2, 3, 4, 5, 8, 12, 16, 17, 255] {
        // Complete blocks of elements, and incomplete ones.
        for count in [0usize, 1, 7, 16, 100, 1023, 1024, 2500] {
            let decoded: Vec<u8> =
                (0..size * count).map(|i| u8::try_from(i * (i % 509) % 251).unwrap()).collect();
            let wanted: Vec<u8> =
                (0..size).flat_map(|j| (0..count).map(move |i| i * size + j)).map(|at| decoded[at]).collect();
            let codec = v2(&format!(r#"{{"elementsize":{size}}}"#));
            assert_eq!(encode(&codec, &plain(), &decoded).unwrap(), wanted, "{count} of {size} bytes");
            check_lossless(&codec, &plain(), &decoded).unwrap();
        }
    }
}

#[test]
fn element_sizes_are_one_or_more() {
    let wrong = [
        r#"{"elementsize":"0"}"#,
        r#"{"elementsize":-4}"#,
        r#"{"elementsize":4.0}"#,
        r#"{"elementsize":"4"}"#,
    ];
    for configuration in wrong {
        for (format, name) in
            [(Format::V2, "shuffle"), (Format::V3, "numcodecs.shuffle"), (Format::V3Draft, OWN)]
        {
            let result = create(format, name, configuration, Mode::Lenient, &BYTES);
            assert!(
                matches!(result, Err(CodecError::InvalidConfiguration(_))),
                "{configuration}: {result:?}"
            );
        }
    }
    let codec = Shuffle::new(8).unwrap();
    assert_eq!(codec.encoded_size(Size::Exact(80)), Size::Exact(80));
    assert_eq!(codec.encoded_size(Size::AtMost(80)), Size::AtMost(80));
    // The maximum size: only an empty chunk fits, and nothing is allocated.
    let huge = v2(r#"{"elementsize":4294967295}"#);
    assert_eq!(encode(&huge, &plain(), b"").unwrap(), b"");
    assert!(matches!(encode(&huge, &plain(), b"1234"), Err(CodecError::Encode(_))));
}

/// Tests EX-CODEC-24.
#[test]
fn v3_has_the_codec_only_under_its_numcodecs_name() {
    let to_v3 =
        |format, name, configuration| translate(format, name, configuration, &BYTES, Format::V3).unwrap();
    let written = |size: u32| (Some("numcodecs.shuffle"), format!(r#"{{"elementsize":{size}}}"#));
    assert_eq!(to_v3(Format::V2, "shuffle", ""), written(4));
    assert_eq!(to_v3(Format::V3, "numcodecs.shuffle", "{}"), written(4));
    let zarrs = "https://codec.zarrs.dev/bytes_to_bytes/shuffle";
    assert_eq!(to_v3(Format::V3, zarrs, r#"{"elementsize":8}"#), written(8));
    let draft = translate(Format::V2, "shuffle", r#"{"elementsize":2}"#, &BYTES, Format::V3Draft).unwrap();
    assert_eq!(draft, (Some(OWN), r#"{"elementsize":2}"#.to_owned()));
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
    let registry = zarr_spec::Registry::linked().unwrap();
    let reading = zarr_spec::Reading::new(Mode::Lenient);
    assert!(registry.codecs().find(Format::V3, "shuffle", &reading).is_err());
}

/// numcodecs 0.17.1 copies the bytes: `Shuffle(elementsize=0).encode(bytes)` is `bytes`.
#[test]
fn an_element_size_of_0_is_read_as_1_with_a_warning() {
    let zero = r#"{"elementsize":0}"#;
    for format in [Format::V2, Format::V3] {
        let name = if format == Format::V2 { "shuffle" } else { "numcodecs.shuffle" };
        let created = create(format, name, zero, Mode::Lenient, &BYTES).unwrap();
        assert_eq!(created.warnings.len(), 1, "{:?}", created.warnings);
        assert_eq!(decode(&created.codec, &plain(), &[1, 2, 3], 3).unwrap(), [1, 2, 3]);
        let strict = create(format, name, zero, Mode::Strict, &BYTES);
        assert!(matches!(strict, Err(CodecError::InvalidConfiguration(_))), "{strict:?}");
    }
    assert!(matches!(Shuffle::new(0), Err(CodecError::InvalidConfiguration(_))));
}

/// netCDF-C takes 0 for the size of the data type, so a copy in v2 states what the original states.
#[test]
fn an_element_size_of_0_remains_in_v2() {
    let written = |to| translate(Format::V2, "shuffle", r#"{"elementsize":0}"#, &BYTES, to).unwrap().1;
    assert_eq!(written(Format::V2), r#"{"elementsize":0}"#);
    assert_eq!(written(Format::V3), r#"{"elementsize":1}"#);
}

/// Tests V2-CODEC-11.
#[test]
fn elements_of_one_byte_are_copied_in_every_mode() {
    for mode in [Mode::Strict, Mode::Lenient] {
        let made = create(Format::V2, "shuffle", r#"{"elementsize": 1}"#, mode, &BYTES).unwrap();
        assert_eq!(made.warnings, [""; 0]);
        assert_eq!(encode(&made.codec, &plain(), &[1, 2, 3, 4, 5]).unwrap(), [1, 2, 3, 4, 5]);
        assert_eq!(decode(&made.codec, &plain(), &[1, 2, 3, 4, 5], 5).unwrap(), [1, 2, 3, 4, 5]);
    }
}
