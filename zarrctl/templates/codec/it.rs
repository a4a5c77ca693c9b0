//! `{{name}}`: known bytes, and invalid configurations.

use zarr_conformance::codecs::{decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, types};
use zarr_spec::{CodecError, Format, Mode, Representation, Size};
use {{crate}} as _;

const BYTES: Representation = Representation::Bytes(Size::Unknown);

#[test]
fn bytes_are_combined_with_the_key() {
    let made = create(Format::V3, "{{name}}", r#"{"key": 255}"#, Mode::Strict, &BYTES);
    let codec = made.unwrap().codec;
    let array = array(&[3], types::UINT8);
    assert_eq!(encode(&codec, &array, &[0, 15, 255]).unwrap(), [255, 240, 0]);
    assert_eq!(decode(&codec, &array, &[255, 240, 0], 3).unwrap(), [0, 15, 255]);
}

#[test]
fn keys_other_than_bytes_are_refused() {
    for configuration in ["{}", r#"{"key": 256}"#, r#"{"key": "a"}"#, r#"{"key": 1, "more": 2}"#] {
        let made = create(Format::V3, "{{name}}", configuration, Mode::Lenient, &BYTES);
        assert!(matches!(made, Err(CodecError::InvalidConfiguration(_))), "{configuration}");
    }
}
