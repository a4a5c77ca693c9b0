//! `squeeze`: shapes, and the order of elements. `conformance/interop` reads and writes the data of zarrs.

use zarr_codec_squeeze as _;
use zarr_conformance::codecs::check_lossless;
use zarr_conformance::linked::create;
use zarr_conformance::{array, types};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

fn squeeze(decoded: &Representation, configuration: &str) -> Result<Codec, CodecError> {
    create(Format::V3, "zarrs.squeeze", configuration, Mode::Strict, decoded).map(|created| created.codec)
}

#[test]
fn dimensions_of_one_element_are_removed() {
    for (chunk, wanted) in [
        (&[1, 4, 1, 6][..], &[4, 6][..]),
        (&[4, 6], &[4, 6]),
        (&[1, 1, 5], &[5]),
        (&[1, 1], &[1]),
        (&[], &[1]),
    ] {
        let decoded = array(chunk, types::UINT16);
        let codec = squeeze(&Representation::Array(decoded.clone()), "{}").unwrap();
        let Codec::ArrayToArray(inner) = &codec else { panic!("{codec:?}") };
        assert_eq!(inner.encoded(&decoded).unwrap().shape, wanted, "{chunk:?}");
        let elements: Vec<u8> =
            (0..chunk.iter().product::<u64>()).flat_map(|number| [number.to_le_bytes()[0], 7]).collect();
        check_lossless(&codec, &decoded, &elements).unwrap();
    }
}

#[test]
fn bytes_and_configurations_are_refused() {
    let bytes = squeeze(&Representation::Bytes(Size::Exact(4)), "{}");
    assert!(bytes.is_err(), "{bytes:?}");
    let configured = squeeze(&Representation::Array(array(&[1, 2], types::UINT16)), r#"{"axis": 0}"#);
    assert!(matches!(configured, Err(CodecError::InvalidConfiguration(_))), "{configured:?}");
}
