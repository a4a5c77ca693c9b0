//! `imagecodecs_delta`: elements written by imagecodecs, and errors.

use zarr_codec_imagecodecs_delta::ImagecodecsDelta;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BOOL, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, Number, TEXT, UINT8, UINT64,
};
use zarr_conformance::{array, hex};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{Codec, CodecError, Format, Mode, Representation};

const NAME: &str = "imagecodecs_delta";

fn created(
    format: Format,
    name: &str,
    configuration: &str,
    chunk: (&[u64], Number),
) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(array(chunk.0, chunk.1));
    create(format, name, configuration, Mode::Strict, &decoded).map(|created| created.codec)
}

/// A shape, a data type, an axis, elements, and what imagecodecs 2026.10.10 writes for them.
const WRITTEN: &[(&[u64], Number, i64, &str, &str)] = &[
    (
        &[3, 4],
        INT16,
        -1,
        "f9fffcff050014002900440065008c00b900ec0025016401",
        "f9ff030009000f0029001b0021002700b900330039003f00",
    ),
    (
        &[3, 4],
        INT16,
        0,
        "f9fffcff050014002900440065008c00b900ec0025016401",
        "f9fffcff0500140030004800600078009000a800c000d800",
    ),
    (&[2, 2, 3], UINT8, 1, "f9fc05142944658cb9ec2564", "f9fc051b2d3f658cb98799ab"),
    (
        &[3, 4],
        FLOAT32,
        -1,
        "0000e0c0000080c00000a0400000a04100002442000088420000ca4200000c430000394300006c43008092430000b243",
        "0000e0c00000a0ff00002080000000010000244200006400000042000000420000003943000033000080260000801f00",
    ),
    (
        &[5],
        FLOAT64,
        0,
        "0000000000001cc000000000000010c0000000000000144000000000000034400000000000804440",
        "0000000000001cc0000000000000f4ff000000000000048000000000000020000000000000801000",
    ),
    (&[2, 3], FLOAT16, -2, "00c700c40045004d20514054", "00c700c400450086208d400f"),
    (
        &[3, 4],
        UINT64,
        1,
        "f9fffffffffffffffcffffffffffffff050000000000000014000000000000002900000000000000440000000000000065000000000000008c00000000000000b900000000000000ec0000000000000025010000000000006401000000000000",
        "f9ffffffffffffff030000000000000009000000000000000f0000000000000029000000000000001b0000000000000021000000000000002700000000000000b900000000000000330000000000000039000000000000003f00000000000000",
    ),
];

#[test]
fn differences_of_imagecodecs_are_written_and_read() {
    for &(shape, number, axis, decoded, encoded) in WRITTEN {
        let chunk = array(shape, number);
        let codec = created(Format::V3, NAME, &format!(r#"{{"axis": {axis}}}"#), (shape, number)).unwrap();
        let decoded = hex(decoded);
        let encoded = hex(encoded);
        assert_eq!(encode(&codec, &chunk, &decoded).unwrap(), encoded);
        assert_eq!(decode(&codec, &chunk, &encoded, decoded.len()).unwrap(), decoded);
        check_lossless(&codec, &chunk, &decoded).unwrap();
        check_damaged(&codec, &chunk, &encoded, decoded.len(), 200).unwrap();
    }
}

#[test]
fn v2_repeats_shape_and_data_type() {
    let chunk: (&[u64], Number) = (&[3, 4], INT16);
    let full = r#"{"shape": [3, 4], "dtype": "<i2", "axis": -1, "dist": 1}"#;
    for (format, name) in [(Format::V2, NAME), (Format::V3, "numcodecs.imagecodecs_delta")] {
        let codec = created(format, name, full, chunk).unwrap();
        let (_, _, _, decoded, encoded) = WRITTEN[0];
        assert_eq!(decode(&codec, &array(chunk.0, chunk.1), &hex(encoded), 24).unwrap(), hex(decoded));
        for wrong in [
            r#"{"axis": -1}"#,
            r#"{"shape": [4, 3], "dtype": "<i2"}"#,
            r#"{"shape": [3, 4], "dtype": "<i4"}"#,
            r#"{"shape": [3, 4]}"#,
        ] {
            let result = created(format, name, wrong, chunk);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    assert!(created(Format::V2, NAME, r#"{"shape": null, "dtype": null}"#, (&[5], UINT8)).is_ok());
    let decoded = Representation::Array(array(chunk.0, chunk.1));
    let (name, written) = translate(Format::V2, NAME, full, &decoded, Format::V3).unwrap();
    assert_eq!((name, written.as_str()), (Some(NAME), r#"{"axis":-1,"dist":1}"#));
    let (_, back) = translate(Format::V3, NAME, &written, &decoded, Format::V2).unwrap();
    assert_eq!(back, r#"{"shape":[3,4],"dtype":"<i2","axis":-1,"dist":1}"#);
}

#[test]
fn what_imagecodecs_refuses_is_refused() {
    for number in [BOOL, COMPLEX64, TEXT] {
        let result = created(Format::V3, NAME, "", (&[4], number));
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
    let distant = created(Format::V3, NAME, r#"{"dist": 2}"#, (&[4], INT16));
    assert!(matches!(distant, Err(CodecError::Unsupported(_))), "{distant:?}");
    for (axis, shape) in [("1", &[4u64][..]), ("-2", &[4]), ("0", &[]), ("9223372036854775807", &[4])] {
        let result = created(Format::V3, NAME, &format!(r#"{{"axis": {axis}}}"#), (shape, INT16));
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{axis}: {result:?}");
    }
    let codec = ImagecodecsDelta::new(&INT16, 0).unwrap();
    assert!(matches!(codec.encoded(&array(&[4], UINT8)), Err(CodecError::Unsupported(_))));
    assert!(matches!(codec.encoded(&array(&[u64::MAX, 2], INT16)), Err(CodecError::Unsupported(_))));
    let codec = created(Format::V3, NAME, "", (&[4], INT16)).unwrap();
    assert!(matches!(encode(&codec, &array(&[4], INT16), &[0; 6]), Err(CodecError::Encode(_))));
    assert!(matches!(decode(&codec, &array(&[4], INT16), &[0; 6], 8), Err(CodecError::Corrupt(_))));
}
