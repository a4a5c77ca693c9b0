//! `fill_hdf_strings`: pointers that kerchunk found in an HDF5 file, and errors.

use zarr_codec_fill_hdf_strings as _;
use zarr_conformance::codecs::{check_damaged, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation};

fn texts(count: u64) -> ArrayRepresentation {
    array(&[count], types::TEXT)
}

fn made(configuration: &str, decoded: &ArrayRepresentation) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(decoded.clone());
    create(Format::V2, "fill_hdf_strings", configuration, Mode::Strict, &decoded).map(|created| created.codec)
}

/// The `id_map` and the chunk of four texts of variable length, which kerchunk 0.2.7 found in a file of h5py 3.16.
const ID_MAP: &str = r#"{"\u0000\u0000\u0000\u0000@\b\u0000\u0000\u0000\u0000\u0000\u0000\u0001": "",
    "\u0001\u0000\u0000\u0000@\b\u0000\u0000\u0000\u0000\u0000\u0000\u0004": "a",
    "\u0005\u0000\u0000\u0000@\b\u0000\u0000\u0000\u0000\u0000\u0000\u0003": "\u00dcn\u00ef",
    "\u000b\u0000\u0000\u0000@\b\u0000\u0000\u0000\u0000\u0000\u0000\u0002": "a long text"}"#;
const CHUNK: &str = "01000000400800000000000004000000 05000000400800000000000003000000
    00000000400800000000000001000000 0b000000400800000000000002000000";

/// Returns the decoded form of texts.
fn decoded_form(texts: &[&str]) -> Vec<u8> {
    let mut end = 0;
    let mut offsets = vec![0_u64];
    for text in texts {
        end += text.len() as u64;
        offsets.push(end);
    }
    offsets.into_iter().flat_map(u64::to_ne_bytes).chain(texts.concat().into_bytes()).collect()
}

#[test]
fn pointers_of_kerchunk_become_text() {
    let codec = made(&format!(r#"{{"dtype": "S16", "id_map": {ID_MAP}}}"#), &texts(4)).unwrap();
    let expected = decoded_form(&["a", "Ünï", "", "a long text"]);
    assert_eq!(decode(&codec, &texts(4), &hex(CHUNK), 1 << 10).unwrap(), expected);
    let too_large = decode(&codec, &texts(4), &hex(CHUNK), expected.len() - 1);
    assert!(matches!(too_large, Err(CodecError::TooLarge(_))), "{too_large:?}");
    check_damaged(&codec, &texts(4), &hex(CHUNK), 1 << 10, 2000).unwrap();
}

#[test]
fn text_that_kerchunk_did_not_read_is_empty_and_one_text_may_be_for_all() {
    for configuration in [r#"{"dtype": "S16", "id_map": null}"#, r#"{"dtype": "|S16"}"#] {
        let codec = made(configuration, &texts(4)).unwrap();
        assert_eq!(decode(&codec, &texts(4), &hex(CHUNK), 1 << 10).unwrap(), decoded_form(&["", "", "", ""]));
    }
    let codec = made(r#"{"dtype": "S16", "id_map": "x"}"#, &texts(4)).unwrap();
    assert_eq!(decode(&codec, &texts(4), &hex(CHUNK), 1 << 10).unwrap(), decoded_form(&["x"; 4]));
}

#[test]
fn unknown_pointers_and_other_sizes_are_corrupt() {
    let codec = made(&format!(r#"{{"dtype": "S16", "id_map": {ID_MAP}}}"#), &texts(1)).unwrap();
    for chunk in ["02000000400800000000000004000000", "", "01000000", CHUNK] {
        let result = decode(&codec, &texts(1), &hex(chunk), 1 << 10);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{chunk}: {result:?}");
    }
}

#[test]
fn structures_without_text_are_unchanged_and_those_with_text_are_refused() {
    let pairs = array(&[2], types::UINT64);
    let codec = made(r#"{"dtype": [["n", "<i4"], ["x", "<f4"]], "id_map": null}"#, &pairs).unwrap();
    let bytes = hex("0102030405060708 1112131415161718");
    assert_eq!(decode(&codec, &pairs, &bytes, 16).unwrap(), bytes);
    let refused = made(r#"{"dtype": [["n", "<i4"], ["name", "S4"]]}"#, &pairs).unwrap_err();
    assert!(
        matches!(refused, CodecError::Unsupported(_)) && refused.to_string().contains("`name`"),
        "{refused}"
    );
}

#[test]
fn other_types_are_refused_and_nothing_is_encoded() {
    let numbers = array(&[4], types::UINT8);
    assert!(matches!(made(r#"{"dtype": "S16"}"#, &numbers), Err(CodecError::Unsupported(_))));
    for configuration in [
        "{}",
        r#"{"dtype": "S0"}"#,
        r#"{"dtype": "<i4"}"#,
        r#"{"dtype": "S16", "id_map": 1}"#,
        r#"{"dtype": "S16", "id_map": {"a": 1}}"#,
        r#"{"dtype": [["n", "<i4"]]}"#,
    ] {
        let result = made(configuration, &texts(4));
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{configuration}: {result:?}");
    }
    let codec = made(r#"{"dtype": "S16"}"#, &texts(1)).unwrap();
    assert!(
        encode(&codec, &texts(1), &decoded_form(&["a"])).unwrap_err().to_string().contains("only decodes")
    );
}
