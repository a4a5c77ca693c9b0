//! `outside.xor` with known bytes and with invalid keys.

use outside_xor as _;
use zarr_conformance::codecs::{decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, types};
use zarr_spec::{CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

#[test]
fn the_key_is_repeated() {
    let made = create(Format::V3, "outside.xor", r#"{"key": "00fF10"}"#, Mode::Strict, &BYTES);
    let codec = made.unwrap().codec;
    let array = array(&[5], types::UINT8);
    assert_eq!(encode(&codec, &array, &[1, 1, 1, 2, 2]).unwrap(), [1, 254, 17, 2, 253]);
    assert_eq!(decode(&codec, &array, &[1, 254, 17, 2, 253], 5).unwrap(), [1, 1, 1, 2, 2]);
}

#[test]
fn a_key_consists_of_pairs_of_digits() {
    for key in [r#""""#, r#""a""#, r#""a5a""#, r#""0x""#, r#""é""#, "165", "null"] {
        let configuration = format!(r#"{{"key": {key}}}"#);
        let made = create(Format::V3, "outside.xor", &configuration, Mode::Lenient, &BYTES);
        assert!(matches!(made, Err(CodecError::InvalidConfiguration(_))), "{key}");
    }
}
