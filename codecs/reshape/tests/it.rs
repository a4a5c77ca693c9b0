//! `reshape`: valid and invalid shapes, and the order of elements.
use zarr_codec_reshape as _;
use zarr_conformance::codecs::check_lossless;
use zarr_conformance::linked::create;
use zarr_conformance::{array, types};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation};

fn reshape(chunk: &[u64], shape: &str) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(array(chunk, types::UINT16));
    let configuration = format!(r#"{{"shape": {shape}}}"#);
    create(Format::V3, "reshape", &configuration, Mode::Strict, &decoded).map(|created| created.codec)
}

/// Tests EX-CODEC-13.
#[test]
fn an_entry_is_a_size_or_dimensions_or_the_rest() {
    for (chunk, shape, wanted) in [
        (&[100, 50, 64, 3][..], "[[0,1],[2],3]", &[5000, 64, 3][..]),
        (&[4, 3, 2], "[-1]", &[24]),
        (&[4, 3, 2], "[2,-1,[2]]", &[2, 6, 2]),
        (&[4, 3, 2], "[[0],[1,2]]", &[4, 6]),
        (&[4, 3, 2], "[1,[0],1,[1],[2],1]", &[1, 4, 1, 3, 2, 1]),
        (&[6], "[3,2]", &[3, 2]),
        (&[], "[1,1]", &[1, 1]),
        (&[1], "[]", &[]),
        (&[2, 3], "[[],6]", &[1, 6]),
    ] {
        let codec = reshape(chunk, shape).unwrap();
        let Codec::ArrayToArray(inner) = &codec else { panic!("{codec:?}") };
        let encoded = inner.encoded(&array(chunk, types::UINT16)).unwrap();
        assert_eq!(encoded.shape, wanted, "{shape}");
        let elements: Vec<u8> =
            (0..chunk.iter().product::<u64>()).flat_map(|number| [number.to_le_bytes()[0], 7]).collect();
        check_lossless(&codec, &array(chunk, types::UINT16), &elements).unwrap();
    }
}

/// Tests EX-CODEC-13.
#[test]
fn shapes_that_do_not_fit_or_would_transpose_are_errors() {
    for (shape, what) in [
        ("[25]", "25 elements instead of 24"),
        ("[5,-1]", "5 does not divide 24"),
        ("[-1,-1]", "more than one -1"),
        ("[[1],[0],2]", "out of order"),
        ("[[1,0],2]", "out of order"),
        ("[[0,0],[1],[2]]", "out of order"),
        ("[[1,2],[0]]", "out of order"),
        ("[[0],[3]]", "dimension 3 does not exist in 3 dimensions"),
        // The size matches that of dimension 1, but not the position.
        ("[2,2,[1],2]", ""),
        ("[2,[0],3]", "around shape[1]"),
        ("[[0,2],3]", "around shape[0]"),
        ("[0,24]", "shape[0] is 0"),
        ("[-2]", "shape[0] is -2"),
        ("[1.5]", "shape[0] is 1.5"),
        ("[\"4\"]", "shape[0] is \"4\""),
        ("[[-1]]", "shape[0] is [-1]"),
        ("24", "shape"),
        ("[18446744073709551615,2]", "too many elements"),
    ] {
        match reshape(&[4, 3, 2], shape) {
            Err(error) => assert!(error.to_string().contains(what) && !what.is_empty(), "{shape}: {error}"),
            Ok(_) => assert!(what.is_empty(), "{shape}"),
        }
    }
    let bytes = Representation::Bytes(zarr_spec::Size::Exact(24));
    let after_bytes = create(Format::V3, "reshape", r#"{"shape": [24]}"#, Mode::Strict, &bytes);
    assert!(matches!(after_bytes, Err(CodecError::Unsupported(_))));
}
