//! Input that the layout refuses. The tests of the order are in the module of the curve.

use outside_hilbert as _;
use zarr_conformance::codecs::{decode, encode};
use zarr_conformance::{array, creation, types};
use zarr_spec::{Codec, CodecError, Format, Mode, Registry, Value};

const URI: &str = "https://outside.example/layouts/hilbert/1.0";

fn layout(type_name: &str, rank: usize) -> Result<Codec, CodecError> {
    let registry = Registry::linked().unwrap();
    creation(Format::V3Draft, URI, "", Mode::Strict, |creation| {
        let plugin = registry.memory_layouts().find(Format::V3Draft, URI, creation.reading).unwrap();
        let type_name = Value::from(type_name);
        (plugin.create)(&creation.with_type_name(Some(&type_name)), rank)
    })
}

#[test]
fn supports_up_to_three_dimensions_and_one_name() {
    assert!(matches!(layout("hilbert", 1), Ok(Codec::Permutation(order)) if order == [0]));
    assert!(matches!(layout("hilbert", 3), Ok(Codec::ArrayToArray(_))));
    assert!(matches!(layout("hilbert", 4), Err(CodecError::Unsupported(_))));
    assert!(matches!(layout("peano", 2), Err(CodecError::InvalidConfiguration(_))));
}

#[test]
fn refuses_variable_elements_and_partial_chunks() {
    let Ok(Codec::ArrayToArray(layout)) = layout("hilbert", 2) else { panic!("unexpected kind of codec") };
    assert!(matches!(layout.encoded(&array(&[2, 2], types::TEXT)), Err(CodecError::Unsupported(_))));
    let layout = Codec::ArrayToArray(layout);
    let array = array(&[2, 2], types::UINT8);
    assert_eq!(encode(&layout, &array, &[1, 2, 3, 4]).unwrap(), [1, 2, 4, 3]);
    assert!(matches!(encode(&layout, &array, &[1, 2, 3]), Err(CodecError::Encode(_))));
    assert!(matches!(decode(&layout, &array, &[1, 2, 3, 4, 5], 5), Err(CodecError::Corrupt(_))));
}
