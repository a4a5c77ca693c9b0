//! `zfp` and `zfpy`: streams written by other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_zfp::{Zfp, ZfpMode, Zfpy};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BOOL, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number, TEXT, UINT8, UINT16,
    UINT32, UINT64,
};
use zarr_conformance::{array, hex};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{Codec, CodecError, Format, Mode, Output, Representation, Size};

const ZFP: &str = "https://zarr-kit.example/spec/codecs/zfp/1.0";
const ZFPY: &str = "https://zarr-kit.example/spec/codecs/zfpy/1.0";
const ZFP_NAMES: [(Format, &str); 3] =
    [(Format::V3, "zfp"), (Format::V3, "https://codec.zarrs.dev/array_to_bytes/zfp"), (Format::V3Draft, ZFP)];
const ZFPY_NAMES: [(Format, &str); 4] = [
    (Format::V2, "zfpy"),
    (Format::V3, "numcodecs.zfpy"),
    (Format::V3, "https://codec.zarrs.dev/array_to_bytes/zfpy"),
    (Format::V3Draft, ZFPY),
];
const FLOATS: Representation = Representation::Bytes(Size::Unknown);

/// Elements of shape 3 by 4: the powers of 3/2 from 0 to 11, for integers times 1000.
const ELEMENTS: [(Number, &str); 4] = [
    (
        FLOAT32,
        "000000000000803ff3043540e146a64000000041ace23241a9266b417e299441f304b5410000d84172fbfc4176ee1142",
    ),
    (
        FLOAT64,
        "0000000000000000000000000000f03fcd3b7f669ea006408039422edcc814400000000000002040d2f17d82555c2640c6b1\
         0d1ed5642d40cc9998b42f853240cd3b7f669ea036400000000000003b4027f290496e9f3f40743cbec5ce3d4240",
    ),
    (
        INT32,
        "00000000e80300000c0b00004c140000401f0000ac2b000068390000584800006358000078690000867b0000828e0000",
    ),
    (
        INT64,
        "0000000000000000e8030000000000000c0b0000000000004c14000000000000401f000000000000ac2b0000000000006839\
         000000000000584800000000000063580000000000007869000000000000867b000000000000828e000000000000",
    ),
];

/// Type, mode, the output of numcodecs 0.17.1 with zfpy 1.0.1 for [`ELEMENTS`] with and without its header, and the
/// decoded elements; empty if they are equal to [`ELEMENTS`].
const STREAMS: &[(Number, ZfpMode, &str, &str, &str)] = &[
    (
        FLOAT32,
        ZfpMode::Reversible,
        "7a667005360000200000008815f60002100048444242905001590aae0e671d8a2506254005343ef23a2826080e8a388a3626\
         2a6215e6260a019a124e2e7633e80e04330403540b00",
        "15f60002100048444242905001590aae0e671d8a2506254005343ef23a2826080e8a388a36262a6215e6260a019a124e2e76\
         33e80e04330403540b0000000000",
        "",
    ),
    (
        FLOAT32,
        ZfpMode::FixedAccuracy { tolerance: 0.1 },
        "7a667005360000200000f0ca0b71688c46442a43520c3441085a089061ad8fbacf8ad20800000000",
        "0b71688c46442a43520c3441085a089061ad8fbacf8ad208",
        "0000203b00f0803f00483540004ca6400026004100f23241001e6b41001594410009b54100fbd74100fdfc4180e71142",
    ),
    (
        FLOAT32,
        ZfpMode::FixedRate { rate: 8.0 },
        "7a667005360000200000f0070b71688c46442a43520c3441085a089000000000",
        "0b71688c46442a43520c3441085a0890",
        "000020bd0000813f008033400040ab4000a0004100e0334100206b410030934100f0b44100d0d74100b0fc4100c81142",
    ),
    (
        FLOAT32,
        ZfpMode::FixedPrecision { precision: 24 },
        "7a66700536000020000070810b71688c46442a43520c3441085a089061ad8fbacf8ad208674a1efa6b0bd75bc6540979501b\
         eb6100000000",
        "0b71688c46442a43520c3441085a089061ad8fbacf8ad208674a1efa6b0bd75bc6540979501beb61",
        "000040b63800803fe4043540e646a64027000041e5e232419b266b4174299441f004b541faffd74166fbfc4174ee1142",
    ),
    (
        FLOAT64,
        ZfpMode::Reversible,
        "7a667005370000200000008815500f2000018044242404091590a5e0ea70d6a1586250025440e323af836282e0a088a36863\
         a22256616ea210a039e1fc602f81b6c128c2ea431c80e2e1cec219617500a4439001c1014aa35aa1c7004282fa4364419ae1\
         9c83aa03f2229ac00b835922efa334e2b9c3f44064a1ae4111409440b500000000000000",
        "15500f2000018044242404091590a5e0ea70d6a1586250025440e323af836282e0a088a36863a22256616ea210a039e1fc60\
         2f81b6c128c2ea431c80e2e1cec219617500a4439001c1014aa35aa1c7004282fa4364419ae19c83aa03f2229ac00b835922\
         efa334e2b9c3f44064a1ae4111409440b5000000",
        "",
    ),
    (
        FLOAT64,
        ZfpMode::FixedAccuracy { tolerance: 0.1 },
        "7a667005370000200000f0ca0b884363342252199262a00942d042800c6b7dd47d56944600000000",
        "0b884363342252199262a00942d042800c6b7dd47d5694460000000000000000",
        "000000000000643f00000000001ef03f0000000000a906400000000080c9144000000000c004204000000000405e26400000\
         0000c0632d4000000000a08232400000000020a136400000000060ff3a4000000000a09f3f4000000000f03c4240",
    ),
    (
        FLOAT64,
        ZfpMode::FixedRate { rate: 8.0 },
        "7a667005370000200000f0070b884363342252199262a00942d0428000000000",
        "0b884363342252199262a00942d04280",
        "000000000000803f000000000060f03f0000000000500640000000000038154000000000002c204000000000008426400000\
         0000005c2d4000000000005a32400000000000aa36400000000000fe3a400000000000923f400000000000334240",
    ),
    (
        FLOAT64,
        ZfpMode::FixedPrecision { precision: 24 },
        "7a66700537000020000070810b884363342252199262a00942d042800c6b7dd47d5694463853f2d05f5bb8de32a64ac883da\
         580f03000000",
        "0b884363342252199262a00942d042800c6b7dd47d5694463853f2d05f5bb8de32a64ac883da580f0300000000000000",
        "000000000000c8be000000000700f03f000000809ca00640000000c0dcc81440000000e004002040000000a05c5c26400000\
         0060d3642d40000000902e853240000000109ea0364000000030ffff3a40000000d06c9f3f4000000078ce3d4240",
    ),
    (
        INT32,
        ZfpMode::Reversible,
        "7a66700534000020000000881f00082000018044242404091590b5e8ea38d62118520a8a0e08914a88e2f3830880da03",
        "1f00082000018044242404091590b5e8ea38d62118520a8a0e08914a88e2f3830880da0300000000",
        "",
    ),
    (
        INT32,
        ZfpMode::FixedAccuracy { tolerance: 0.1 },
        "7a667005340000200000f0ca00000e8dd18008654a8a806408414a051aa9b531a6186070a02d28e20f00000000000000",
        "00000e8dd18008654a8a806408414a051aa9b531a6186070a02d28e20f000000",
        "feffffffe60300000a0b00004e140000401f0000ac2b000068390000584800006058000076690000867b0000808e0000",
    ),
    (
        INT32,
        ZfpMode::FixedRate { rate: 8.0 },
        "7a667005340000200000f00700000e8dd18008654a8a806408414a0500000000",
        "00000e8dd18008654a8a806408414a05",
        "20000000e0030000a00a000060140000201f0000e02b0000a03900006048000020590000e0690000a07b0000608e0000",
    ),
    (
        INT32,
        ZfpMode::FixedPrecision { precision: 24 },
        "7a667005340000200000708100000e8dd18008654a8a80640800000000000000",
        "00000e8dd18008654a8a806408000000",
        "c0ffffff40030000c00a00004016000040200000c02c000040390000c0450000c0580000406a0000c07b0000408d0000",
    ),
    (
        INT64,
        ZfpMode::Reversible,
        "7a66700535000020000000883f0000000000104000020089484808122a206bd1d571ac4330a414141d10229510c5e7071100\
         b50700000000",
        "3f0000000000104000020089484808122a206bd1d571ac4330a414141d10229510c5e7071100b507",
        "",
    ),
    (
        INT64,
        ZfpMode::FixedAccuracy { tolerance: 0.1 },
        "7a667005350000200000f0ca0000000000000e8dd18008654a8a806408414a051aa9b531a6186070a02d28e20f000000",
        "0000000000000e8dd18008654a8a806408414a051aa9b531a6186070a02d28e20f00000000000000",
        "feffffffffffffffe6030000000000000a0b0000000000004e14000000000000401f000000000000ac2b0000000000006839\
         000000000000584800000000000060580000000000007669000000000000867b000000000000808e000000000000",
    ),
    (
        INT64,
        ZfpMode::FixedRate { rate: 8.0 },
        "7a667005350000200000f0070000000000000e8dd18008654a8a806400000000",
        "0000000000000e8dd18008654a8a8064",
        "c0feffffffffffff4004000000000000c00b00000000000040150000000000004021000000000000c02b0000000000004038\
         000000000000c046000000000000c0590000000000004069000000000000c07a000000000000408e000000000000",
    ),
    (
        INT64,
        ZfpMode::FixedPrecision { precision: 24 },
        "7a667005350000200000708100000000",
        "0000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
         00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    ),
];

/// Returns the configurations of `zfp` and of `zfpy` for `mode`.
fn configurations(mode: ZfpMode) -> [String; 2] {
    match mode {
        ZfpMode::FixedAccuracy { tolerance } => [
            format!(r#"{{"mode":"fixed_accuracy","tolerance":{tolerance}}}"#),
            format!(r#"{{"mode":4,"tolerance":{tolerance},"rate":-1,"precision":-1}}"#),
        ],
        ZfpMode::FixedRate { rate } => [
            format!(r#"{{"mode":"fixed_rate","rate":{rate}}}"#),
            format!(r#"{{"mode":2,"tolerance":-1,"rate":{rate},"precision":-1}}"#),
        ],
        ZfpMode::FixedPrecision { precision } => [
            format!(r#"{{"mode":"fixed_precision","precision":{precision}}}"#),
            format!(r#"{{"mode":3,"tolerance":-1,"rate":-1,"precision":{precision}}}"#),
        ],
        _ => [r#"{"mode":"reversible"}"#.to_owned(), r#"{"mode":4}"#.to_owned()],
    }
}

fn elements(number: Number) -> Vec<u8> {
    hex(ELEMENTS.iter().find(|(other, _)| *other == number).unwrap().1)
}

fn check(names: &[(Format, &str)], configuration: &str, number: Number, encoded: &[u8], again: &[u8]) {
    let chunk = array(&[3, 4], number);
    let decoded = elements(number);
    for (format, name) in names {
        let array = Representation::Array(chunk.clone());
        let codec = create(*format, name, configuration, Mode::Strict, &array).unwrap().codec;
        assert_eq!(encode(&codec, &chunk, &decoded).unwrap(), encoded, "{name} {configuration}");
        assert_eq!(decode(&codec, &chunk, encoded, again.len()).unwrap(), again, "{name} {configuration}");
        if again == decoded {
            check_lossless(&codec, &chunk, &decoded).unwrap();
        }
        check_damaged(&codec, &chunk, encoded, again.len(), 500).unwrap();
        let error = decode(&codec, &chunk, encoded, again.len() - 1).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
        let more = [encoded, &[0; 8]].concat();
        let error = decode(&codec, &chunk, &more, again.len()).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
        for size in 0..encoded.len() {
            let result = decode(&codec, &chunk, &encoded[..size], again.len());
            assert!(matches!(result, Err(CodecError::Corrupt(_))), "{name}, cut to {size}: {result:?}");
        }
    }
}

/// Tests V2-CODEC-25, V2-CODEC-26, EX-SEEN-05.
#[test]
fn only_streams_of_numcodecs_have_a_header() {
    for &(number, mode, with_header, without, again) in STREAMS {
        let again = if again.is_empty() { elements(number) } else { hex(again) };
        let [zfp, zfpy] = configurations(mode);
        assert!(with_header.starts_with("7a667005"));
        check(&ZFPY_NAMES, &zfpy, number, &hex(with_header), &again);
        check(&ZFP_NAMES, &zfp, number, &hex(without), &again);
        let chunk = array(&[3, 4], number);
        let decode = |codec: &dyn ArrayToBytesCodec, encoded: &str| {
            codec.decode(&chunk, &hex(encoded), &mut Output::at_most(1 << 10))
        };
        let error = decode(&Zfpy::new(mode).unwrap(), without).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
        let mut other = Output::at_most(1 << 10);
        let read = Zfp::new(mode).unwrap().decode(&chunk, &hex(with_header), &mut other);
        assert!(read.is_err() || other.written() != again);
    }
    let members =
        r#"{"mode":4,"compression_kwargs":{"tolerance":0.1},"tolerance":0.1,"rate":-1,"precision":-1}"#;
    let chunk = Representation::Array(array(&[3, 4], FLOAT32));
    for (format, name) in ZFPY_NAMES {
        for (to, other) in [ZFPY_NAMES[0], ZFPY_NAMES[1], ZFPY_NAMES[3]] {
            let translated = translate(format, name, members, &chunk, to).unwrap();
            assert_eq!(translated, (Some(other), members.to_owned()));
        }
        for wrong in [
            r#"{"mode":1}"#,
            r#"{"mode":5}"#,
            r#"{"mode":"reversible"}"#,
            r#"{"mode":3,"precision":1.5}"#,
            r#"{"mode":2,"rate":1e400}"#,
            r#"{"compression_kwargs":1}"#,
            r#"{"level":1}"#,
        ] {
            let result = create(format, name, wrong, Mode::Strict, &chunk);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
        for number in [INT8, INT16, UINT32, UINT64, FLOAT16, BOOL, COMPLEX64, TEXT] {
            let chunk = Representation::Array(array(&[3, 4], number));
            let result = create(format, name, "", Mode::Strict, &chunk);
            assert!(matches!(result, Err(CodecError::Unsupported(_))), "{number:?}: {result:?}");
        }
        for shape in [&[][..], &[1, 1, 1, 1, 1], &[0, 3]] {
            let result =
                create(format, name, "", Mode::Strict, &Representation::Array(array(shape, FLOAT32)));
            assert!(matches!(result, Err(CodecError::Unsupported(_))), "{shape:?}: {result:?}");
        }
    }
    assert!(ZFP.starts_with(zarr_spec::OWN_URI_BASE) && ZFPY.starts_with(zarr_spec::OWN_URI_BASE));
}

#[test]
fn a_header_of_another_array_is_corrupt() {
    let (_, _, stream, _, _) = STREAMS[0];
    for (shape, number) in [
        (&[4, 3][..], FLOAT32),
        (&[12], FLOAT32),
        (&[3, 4, 1], FLOAT32),
        (&[3, 4], INT32),
        (&[3, 4], FLOAT64),
        (&[1, 3, 4], FLOAT32),
    ] {
        let mut output = Output::at_most(1 << 10);
        let error = Zfpy::new(ZfpMode::Reversible)
            .unwrap()
            .decode(&array(shape, number), &hex(stream), &mut output)
            .unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
    }
}

/// Streams without a header, written by zfpy 1.0.1, of shapes that are not two-dimensional.
///
/// Tests EX-CODEC-21.
#[test]
fn arrays_have_up_to_four_dimensions_and_zero_mean_one_element() {
    let three = (0..30_u8).flat_map(|i| f32::from(i).to_ne_bytes()).collect::<Vec<_>>();
    let reversible = ZfpMode::Reversible;
    for (shape, decoded, encoded) in [
        (&[][..], &2.5_f32.to_ne_bytes()[..], "0512ab0000000000"),
        (&[1], &2.5_f32.to_ne_bytes(), "0512ab0000000000"),
        (&[2, 3, 5], &three, "111a11060344000004006020400e0214a11161304005005000000402c4204000"),
    ] {
        let chunk = array(shape, FLOAT32);
        let codec = Codec::ArrayToBytes(std::sync::Arc::new(Zfp::new(reversible).unwrap()));
        assert_eq!(decode(&codec, &chunk, &hex(encoded), decoded.len()).unwrap(), decoded);
        assert_eq!(encode(&codec, &chunk, decoded).unwrap(), hex(encoded));
        let Size::AtMost(most) = Zfp::new(reversible).unwrap().encoded_size(&chunk).unwrap() else {
            panic!("unknown")
        };
        assert!(most >= encoded.len() as u64 / 2);
    }
    let four = array(&[2, 1, 3, 2], INT64);
    let decoded: Vec<u8> = (0..12_i64).flat_map(|i| (i * i * i - 500).to_ne_bytes()).collect();
    check_lossless(&Codec::ArrayToBytes(std::sync::Arc::new(Zfp::new(reversible).unwrap())), &four, &decoded)
        .unwrap();
}

fn created(shape: &[u64], number: Number, configuration: &str) -> Result<(), CodecError> {
    let chunk = Representation::Array(array(shape, number));
    create(Format::V3, "zfp", configuration, Mode::Strict, &chunk).map(drop)
}

/// Tests EX-CODEC-21.
#[test]
fn every_mode_requires_exactly_its_own_members() {
    let expert = r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19,"minexp":-2}"#;
    for configuration in [
        expert,
        r#"{"mode":"reversible"}"#,
        r#"{"mode":"fixed_accuracy","tolerance":0.05}"#,
        r#"{"mode":"fixed_rate","rate":10.5}"#,
        r#"{"mode":"fixed_precision","precision":19}"#,
    ] {
        for number in [INT32, UINT32, INT64, UINT64, FLOAT32, FLOAT64] {
            created(&[3, 4], number, configuration).unwrap();
        }
        for shape in [&[1, 1, 1, 1, 1][..], &[0], &[u64::MAX, 2]] {
            let error = created(shape, FLOAT32, configuration).unwrap_err();
            assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
        }
        for number in [BOOL, COMPLEX64, TEXT] {
            let error = created(&[4], number, configuration).unwrap_err();
            assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
        }
    }
    for wrong in [
        "{}",
        r#"{"mode":"lossless"}"#,
        r#"{"mode":"reversible","rate":1}"#,
        r#"{"mode":"fixed_accuracy"}"#,
        r#"{"mode":"fixed_accuracy","tolerance":-1}"#,
        r#"{"mode":"fixed_rate","tolerance":1}"#,
        r#"{"mode":"fixed_rate","rate":-1}"#,
        r#"{"mode":"fixed_rate","rate":1e9}"#,
        r#"{"mode":"fixed_precision","precision":-1}"#,
        r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19}"#,
        r#"{"mode":"expert","minbits":14,"maxbits":13,"maxprec":19,"minexp":-2}"#,
        r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":65,"minexp":-2}"#,
        r#"{"mode":"expert","minbits":4000000000,"maxbits":4000000000,"maxprec":19,"minexp":-2}"#,
        r#"{"mode":"reversible","write_header":true}"#,
    ] {
        let error = created(&[4], FLOAT32, wrong).unwrap_err();
        assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{wrong}: {error}");
    }
    let error = create(Format::V3, "zfp", r#"{"mode":"reversible"}"#, Mode::Strict, &FLOATS).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    let written = Zfp::new(ZfpMode::FixedRate { rate: 10.5 }).unwrap();
    assert!(matches!(written.encoded_size(&array(&[64, 64], FLOAT64)).unwrap(), Size::AtMost(5376..5600)));
}

/// Streams without a header, written by zfpy 1.0.1 for the promoted numbers.
///
/// Tests EX-CODEC-22.
#[test]
fn narrower_numbers_are_promoted_and_restored() {
    let int16: Vec<u8> = [-32768_i16, -1, 0, 1, 32767].iter().flat_map(|i| i.to_ne_bytes()).collect();
    let uint32: Vec<u8> = [0_u32, 1, 0x7fff_ffff].iter().flat_map(|i| i.to_ne_bytes()).collect();
    let cases: [(Number, &[u8], &str); 4] = [
        (INT16, &int16, "f07a0000000000006481060000000100"),
        (UINT8, &[0, 1, 128, 255], "e8340000b9000000"),
        (FLOAT16, &hex("0000003e00c0ff7b"), "3d4a010000000080c8eeac0000000000"),
        (UINT32, &uint32, "3f0300000000000000000000000020131a00000000000000"),
    ];
    let codec = Codec::ArrayToBytes(std::sync::Arc::new(Zfp::new(ZfpMode::Reversible).unwrap()));
    for (number, decoded, encoded) in cases {
        let chunk = array(&[(decoded.len() / number.size()) as u64], number);
        assert_eq!(encode(&codec, &chunk, decoded).unwrap(), hex(encoded), "{number:?}");
        assert_eq!(decode(&codec, &chunk, &hex(encoded), decoded.len()).unwrap(), decoded);
        check_lossless(&codec, &chunk, decoded).unwrap();
    }
    let all: Vec<u8> = (0..=255).collect();
    for number in [INT8, UINT8, INT16, UINT16] {
        check_lossless(&codec, &array(&[256 / number.size() as u64], number), &all).unwrap();
    }
    // Values outside of the narrow type become its nearest value.
    let wide = array(&[2], INT32);
    let ends: Vec<u8> = [i32::MIN, i32::MAX].iter().flat_map(|i| i.to_ne_bytes()).collect();
    let encoded = encode(&codec, &wide, &ends).unwrap();
    let clamped = |number| decode(&codec, &array(&[2], number), &encoded, 8).unwrap();
    assert_eq!(clamped(INT8), [0x80, 0x7f]);
    assert_eq!(clamped(UINT8), [0, 0xff]);
    assert_eq!(clamped(UINT32), [0_u32.to_ne_bytes(), 0x7fff_ffff_u32.to_ne_bytes()].concat());
    // zfp cannot represent these values.
    for (number, above) in
        [(UINT32, &0x8000_0000_u32.to_ne_bytes()[..]), (UINT64, &(1_u64 << 63).to_ne_bytes())]
    {
        let error = encode(&codec, &array(&[1], number), above).unwrap_err();
        assert!(matches!(error, CodecError::Encode(_)), "{error}");
    }
    let error = encode(&codec, &array(&[3], INT8), &[1, 2]).unwrap_err();
    assert!(matches!(error, CodecError::Encode(_)), "{error}");
}
