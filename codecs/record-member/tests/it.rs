//! `record_member`: structures of an HDF5 file, and errors.

use zarr_codec_record_member as _;
use zarr_conformance::codecs::{decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Exact(16));

fn made(member: &str, dtype: &str) -> Result<Codec, CodecError> {
    let configuration = format!(r#"{{"member": "{member}", "dtype": {dtype}}}"#);
    create(Format::V2, "record_member", &configuration, Mode::Strict, &BYTES).map(|created| created.codec)
}

/// Two structures of h5py 3.16: an integer, four bytes of text, and a number in big endian.
const STRUCTURES: &str = "01000000 6f6e6500 3ff8000000000000 02000000 74776f00 4004000000000000";

/// kerchunk 0.2.7 returns the same bytes.
#[test]
fn fields_are_read_from_each_form_of_the_data_type() {
    for dtype in [
        r#"[["id", "<i4"], ["name", "|S4"], ["x", ">f8"]]"#,
        r#"{"names": ["id", "name", "x"], "formats": ["<i4", "|S4", ">f8"]}"#,
        r#"{"names": ["x", "id", "name"], "formats": [">f8", "<i4", "|S4"], "offsets": [8, 0, 4], "itemsize": 16}"#,
    ] {
        for (member, bytes) in [
            ("id", "01000000 02000000"),
            ("name", "6f6e6500 74776f00"),
            ("x", "3ff8000000000000 4004000000000000"),
        ] {
            let codec = made(member, dtype).unwrap();
            let decoded = decode(&codec, &array(&[1], types::UINT8), &hex(STRUCTURES), 16).unwrap();
            assert_eq!(decoded, hex(bytes), "{member} of {dtype}");
        }
    }
    let codec = made("f2", r#""i4,S4,>f8""#).unwrap();
    let decoded = decode(&codec, &array(&[1], types::UINT8), &hex(STRUCTURES), 16).unwrap();
    assert_eq!(decoded, hex("3ff8000000000000 4004000000000000"));
}

#[test]
fn arrays_in_a_field_are_whole() {
    let codec = made("v", r#"[["n", "|u1"], ["v", "<u2", [2]]]"#).unwrap();
    let decoded = decode(&codec, &array(&[1], types::UINT8), &hex("01 0203 0405 11 1213 1415"), 8).unwrap();
    assert_eq!(decoded, hex("02030405 12131415"));
}

#[test]
fn parts_of_structures_are_corrupt_and_too_many_are_too_large() {
    let codec = made("id", r#"[["id", "<i4"], ["x", "<f4"]]"#).unwrap();
    let byte = array(&[1], types::UINT8);
    assert!(matches!(decode(&codec, &byte, &[0; 9], 16), Err(CodecError::Corrupt(_))));
    assert!(matches!(decode(&codec, &byte, &[0; 24], 8), Err(CodecError::TooLarge(_))));
    assert!(decode(&codec, &byte, &[], 8).unwrap().is_empty());
}

#[test]
fn the_encoded_size_follows_from_the_decoded_one() {
    let Codec::BytesToBytes(codec) = made("x", r#"[["id", "<i4"], ["x", "<f2"]]"#).unwrap() else { panic!() };
    assert_eq!(codec.encoded_size(Size::Exact(20)), Size::Exact(60));
    assert_eq!(codec.encoded_size(Size::AtMost(u64::MAX)), Size::AtMost(u64::MAX));
    let refused = encode(&Codec::BytesToBytes(codec), &array(&[1], types::UINT8), &[0; 2]).unwrap_err();
    assert!(refused.to_string().contains("only decodes"), "{refused}");
}

#[test]
fn unknown_members_and_types_are_refused() {
    for (member, dtype) in [
        ("y", r#"[["x", "<i4"]]"#),
        ("x", r#""<i4""#),
        ("x", r#"[["x", "<i3"]]"#),
        ("x", r#"[["x", "|S0"]]"#),
        ("x", "4"),
    ] {
        let result = made(member, dtype);
        assert!(
            matches!(result, Err(CodecError::InvalidConfiguration(_))),
            "{member} of {dtype}: {result:?}"
        );
    }
}
