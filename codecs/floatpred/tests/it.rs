//! `imagecodecs_floatpred`: bytes written by imagecodecs, and errors.

use zarr_codec_floatpred::Floatpred;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, Number, TEXT};
use zarr_conformance::{array, hex};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const NAME: &str = "imagecodecs_floatpred";

fn created(
    format: Format,
    name: &str,
    configuration: &str,
    chunk: (&[u64], Number),
) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(array(chunk.0, chunk.1));
    create(format, name, configuration, Mode::Strict, &decoded).map(|created| created.codec)
}

/// A shape, a data type, a configuration, elements, and what imagecodecs 2026.10.10 writes for them.
const WRITTEN: &[(&[u64], Number, &str, &str, &str)] = &[
    (
        &[2, 4],
        FLOAT32,
        r#"{"axis": -1, "dist": 1}"#,
        "000060bf000000bf0000203f000020400000a4400000084100004a4100008c41",
        "bf00800120a02000e00000000000000040010000636442427400000000000000",
    ),
    (
        &[2, 8],
        FLOAT32,
        r#"{"axis": -1, "dist": 2}"#,
        "000060bf000000bf0000203f000020400000a4400000084100004a4100008c410000b9410000ec4100801242000032420080544200007a42004091420000a742",
        "bfbf8081010101001fbfc02084e8a684b6740000000000000000000000000000414101010000000077aa594642483d2d6f5980000000c000c000000000000000",
    ),
    (
        &[2, 8],
        FLOAT32,
        r#"{"axis": 1, "dist": 4}"#,
        "000060bf000000bf0000203f000020400000a4400000084100004a4100008c410000b9410000ec4100801242000032420080544200007a42004091420000a742",
        "bfbf3f408182020120bfdfdf44082a6c5cf8b674000000000000000000000000414142420101000077aad0f09b8e7f75ac86ef598000c0008000c00000000000",
    ),
    (
        &[5],
        FLOAT64,
        r#"{"axis": -1, "dist": 1}"#,
        "000000000000ecbf000000000000e0bf000000000000e43f00000000000004400000000000801440",
        "bf00800100acf4042010ec0000008080000000000000000000000000000000000000000000000000",
    ),
    (&[2, 3], FLOAT16, r#"{"axis": -1, "dist": 1}"#, "00bb00b80039004120454048", "bbfd81c70000410403b82020"),
    (
        &[2, 3, 2],
        FLOAT32,
        r#"{"axis": -2, "dist": 1}"#,
        "000060bf000000bf0000203f000020400000a4400000084100004a4100008c410000b9410000ec410080124200003242",
        "bfbf8081010120bfc02084e85cf800000000000000000000414100000101084a6f605946eece00008000800000000000",
    ),
    (
        &[2, 3, 2],
        FLOAT32,
        r#"{"axis": 1, "dist": 1}"#,
        "000060bf000000bf0000203f000020400000a4400000084100004a4100008c410000b9410000ec410080124200003242",
        "bfbf8081010120bfc02084e85cf800000000000000000000414100000101084a6f605946eece00008000800000000000",
    ),
];

#[test]
fn bytes_of_imagecodecs_are_written_and_read() {
    for &(shape, number, configuration, decoded, encoded) in WRITTEN {
        let chunk = array(shape, number);
        let codec = created(Format::V3, NAME, configuration, (shape, number)).unwrap();
        let decoded = hex(decoded);
        let encoded = hex(encoded);
        assert_eq!(encode(&codec, &chunk, &decoded).unwrap(), encoded, "{configuration}");
        assert_eq!(decode(&codec, &chunk, &encoded, decoded.len()).unwrap(), decoded);
        check_lossless(&codec, &chunk, &decoded).unwrap();
        check_damaged(&codec, &chunk, &encoded, decoded.len(), 200).unwrap();
    }
}

#[test]
fn v2_repeats_shape_and_data_type() {
    let chunk: (&[u64], Number) = (&[2, 4], FLOAT32);
    let full = r#"{"shape": [2, 4], "dtype": "<f4", "axis": -1, "dist": 1}"#;
    for (format, name) in [(Format::V2, NAME), (Format::V3, "numcodecs.imagecodecs_floatpred")] {
        let codec = created(format, name, full, chunk).unwrap();
        let (_, _, _, decoded, encoded) = WRITTEN[0];
        assert_eq!(decode(&codec, &array(chunk.0, chunk.1), &hex(encoded), 32).unwrap(), hex(decoded));
        for wrong in [
            "{}",
            r#"{"shape": [4, 2], "dtype": "<f4"}"#,
            r#"{"shape": [2, 4], "dtype": "<f8"}"#,
            r#"{"shape": [2, 4]}"#,
        ] {
            let result = created(format, name, wrong, chunk);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    let decoded = Representation::Array(array(chunk.0, chunk.1));
    let (name, written) = translate(Format::V2, NAME, full, &decoded, Format::V3).unwrap();
    assert_eq!((name, written.as_str()), (Some(NAME), r#"{"axis":-1,"dist":1}"#));
    let (_, back) = translate(Format::V3, NAME, &written, &decoded, Format::V2).unwrap();
    assert_eq!(back, r#"{"shape":[2,4],"dtype":"<f4","axis":-1,"dist":1}"#);
}

#[test]
fn what_imagecodecs_refuses_is_refused() {
    for number in [INT16, COMPLEX64, TEXT] {
        let result = created(Format::V3, NAME, "", (&[4], number));
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
    for (configuration, shape) in [(r#"{"dist": 3}"#, &[4u64][..]), (r#"{"axis": -2, "dist": 2}"#, &[4, 4])] {
        let result = created(Format::V3, NAME, configuration, (shape, FLOAT32));
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{configuration}: {result:?}");
    }
    for (axis, shape) in
        [("0", &[4u64, 4, 4][..]), ("-3", &[4, 4, 4]), ("-2", &[4]), ("1", &[4]), ("-1", &[])]
    {
        let result = created(Format::V3, NAME, &format!(r#"{{"axis": {axis}}}"#), (shape, FLOAT32));
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{axis} {shape:?}: {result:?}");
    }
    let codec = Floatpred::new(&FLOAT32, -1, 1).unwrap();
    assert_eq!(codec.encoded_size(&array(&[4], FLOAT32)).unwrap(), Size::Exact(16));
    assert!(matches!(codec.encoded_size(&array(&[4], FLOAT64)), Err(CodecError::Unsupported(_))));
    assert!(matches!(codec.encoded_size(&array(&[u64::MAX, 2], FLOAT32)), Err(CodecError::Unsupported(_))));
    let codec = created(Format::V3, NAME, "", (&[4], FLOAT16)).unwrap();
    assert!(matches!(encode(&codec, &array(&[4], FLOAT16), &[0; 6]), Err(CodecError::Encode(_))));
    assert!(matches!(decode(&codec, &array(&[4], FLOAT16), &[0; 6], 8), Err(CodecError::Corrupt(_))));
}
