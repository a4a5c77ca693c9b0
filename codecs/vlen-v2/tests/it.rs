//! `zarrs.vlen_v2`: bytes that zarrs wrote, and errors.

use zarr_codec_vlen_v2 as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation};

fn made(decoded: &Representation) -> Result<Codec, CodecError> {
    create(Format::V3, "zarrs.vlen_v2", "", Mode::Strict, decoded).map(|created| created.codec)
}

/// The texts "a", "é" and "": the form of numcodecs, which zarrs 0.23.14 also writes.
const ENCODED: &str = "03000000 01000000 61 02000000 c3a9 00000000";

#[test]
fn text_and_bytes_have_one_form() {
    for data_type in [types::TEXT, types::VARIABLE_BYTES] {
        let array = array(&[3], data_type);
        let codec = made(&Representation::Array(array.clone())).unwrap();
        let decoded = decode(&codec, &array, &hex(ENCODED), 64).unwrap();
        let offsets = [0_u64, 1, 3, 3].into_iter().flat_map(u64::to_ne_bytes);
        assert_eq!(decoded, offsets.chain([0x61, 0xc3, 0xa9]).collect::<Vec<_>>());
        check_lossless(&codec, &array, &decoded).unwrap();
        check_damaged(&codec, &array, &hex(ENCODED), 64, 2000).unwrap();
    }
}

#[test]
fn elements_of_fixed_size_are_refused() {
    let result = made(&Representation::Array(array(&[3], types::UINT8)));
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
}
