//! `transpose`: bytes printed in the specifications, and errors.

use zarr_codec_transpose as _;
use zarr_conformance::array;
use zarr_conformance::linked::{create, stored, translate};
use zarr_conformance::types::{INT16, UINT8};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const DRAFT: &str = "https://purl.org/zarr/spec/codecs/transpose/1.0";

fn order(
    format: Format,
    configuration: &str,
    mode: Mode,
    shape: &[u64],
) -> Result<(Vec<usize>, usize), CodecError> {
    let name = if format == Format::V3 { "transpose" } else { DRAFT };
    let created = create(format, name, configuration, mode, &Representation::Array(array(shape, UINT8)))?;
    match created.codec {
        Codec::Permutation(order) => Ok((order, created.warnings.len())),
        other => panic!("{other:?} is not a permutation"),
    }
}

fn assert_misconfigured(result: Result<(Vec<usize>, usize), CodecError>, what: &str) {
    assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{what}: {result:?}");
}

/// Tests V3-TRANS-01, V3-TRANS-03, EX-SEEN-08.
#[test]
fn order_is_a_permutation_of_all_dimensions() {
    let accepted: [(&str, &[u64], &[usize]); 4] = [
        (r#"{"order":[1,0]}"#, &[2, 3], &[1, 0]),
        (r#"{"order":[0]}"#, &[2], &[0]),
        (r#"{"order":[]}"#, &[], &[]),
        (r#"{"order":[2,0,1]}"#, &[2, 3, 4], &[2, 0, 1]),
    ];
    for (configuration, shape, wanted) in accepted {
        assert_eq!(order(Format::V3, configuration, Mode::Strict, shape).unwrap(), (wanted.to_vec(), 0));
    }
    let rejected: [(&str, &[u64]); 11] = [
        (r#"{"order":[1]}"#, &[2]),
        (r#"{"order":[0,0]}"#, &[2, 3]),
        (r#"{"order":[0]}"#, &[2, 3]),
        (r#"{"order":[0,1,2]}"#, &[2, 3]),
        (r#"{"order":[-1,0]}"#, &[2, 3]),
        (r#"{"order":[0.0,1]}"#, &[2, 3]),
        (r#"{"order":["1","0"]}"#, &[2, 3]),
        (r#"{"order":"A"}"#, &[2, 3]),
        (r#"{"order":null}"#, &[2, 3]),
        (r#"{"order":[1,0],"x":1}"#, &[2, 3]),
        ("", &[2, 3]),
    ];
    for (configuration, shape) in rejected {
        assert_misconfigured(order(Format::V3, configuration, Mode::Lenient, shape), configuration);
    }
    for (text, wanted) in [("C", vec![0, 1]), ("F", vec![1, 0])] {
        let configuration = format!(r#"{{"order":"{text}"}}"#);
        assert_misconfigured(order(Format::V3, &configuration, Mode::Strict, &[2, 3]), text);
        assert_eq!(order(Format::V3, &configuration, Mode::Lenient, &[2, 3]).unwrap(), (wanted, 1));
    }
}

/// Tests V3-TRANS-02.
#[test]
fn encoded_dimension_i_is_decoded_dimension_order_i() {
    let ramp: Vec<u8> = (0..24).collect();
    let two = stored(Format::V3, &[("transpose", r#"{"order":[1,0]}"#)], &array(&[2, 3], UINT8), &ramp[..6]);
    assert_eq!(two.unwrap(), [0, 3, 1, 4, 2, 5]);
    let three =
        stored(Format::V3, &[("transpose", r#"{"order":[2,0,1]}"#)], &array(&[2, 3, 4], UINT8), &ramp)
            .unwrap();
    let inverse =
        stored(Format::V3, &[("transpose", r#"{"order":[1,2,0]}"#)], &array(&[2, 3, 4], UINT8), &ramp)
            .unwrap();
    let at = |k: u8, i: u8, j: u8| i * 12 + j * 4 + k;
    let wanted: Vec<u8> =
        (0..4).flat_map(|k| (0..2).flat_map(move |i| (0..3).map(move |j| at(k, i, j)))).collect();
    assert_eq!(three, wanted);
    assert_ne!(three, inverse);
}

/// Tests DX-TRANS-01, DX-TRANS-02, DX-TRANS-03.
#[test]
fn the_draft_has_names_for_two_orders() {
    assert_eq!(order(Format::V3Draft, r#"{"order":"C"}"#, Mode::Strict, &[2, 3]).unwrap(), (vec![0, 1], 0));
    assert_eq!(order(Format::V3Draft, r#"{"order":"F"}"#, Mode::Strict, &[2, 3]).unwrap(), (vec![1, 0], 0));
    assert_eq!(order(Format::V3Draft, r#"{"order":[1,0]}"#, Mode::Strict, &[2, 3]).unwrap(), (vec![1, 0], 0));
    for wrong in [r#"{"order":[0,0]}"#, r#"{"order":"A"}"#, r#"{"order":[1]}"#] {
        assert_misconfigured(order(Format::V3Draft, wrong, Mode::Lenient, &[2, 3]), wrong);
    }
    let encoded =
        stored(Format::V3Draft, &[(DRAFT, r#"{"order":"F"}"#)], &array(&[2, 3], UINT8), &[0, 1, 2, 3, 4, 5]);
    assert_eq!(encoded.unwrap(), [0, 3, 1, 4, 2, 5]);
    let after_bytes = create(
        Format::V3Draft,
        DRAFT,
        r#"{"order":"F"}"#,
        Mode::Lenient,
        &Representation::Bytes(Size::Unknown),
    );
    assert!(matches!(after_bytes, Err(CodecError::Unsupported(_))));
}

#[test]
fn only_lists_are_written_and_v2_does_not_have_the_codec() {
    let decoded = Representation::Array(array(&[2, 3, 4], INT16));
    let reversed = r#"{"order":[2,1,0]}"#.to_owned();
    let to = |to| translate(Format::V3Draft, DRAFT, r#"{"order":"F"}"#, &decoded, to);
    assert_eq!(to(Format::V3).unwrap(), (Some("transpose"), reversed.clone()));
    assert_eq!(to(Format::V3Draft).unwrap(), (Some(DRAFT), reversed));
    assert!(matches!(to(Format::V2), Err(CodecError::Unsupported(_))));
}
