//! `szip`: bytes written by imagecodecs, which calls libaec, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_szip as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const NAME: &str = "imagecodecs_szip";

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn configuration(parameters: &str) -> String {
    let parts: Vec<&str> = parameters.split(' ').collect();
    format!(
        r#"{{"options_mask": {}, "pixels_per_block": {}, "bits_per_pixel": {}, "pixels_per_scanline": {}}}"#,
        parts[0], parts[1], parts[2], parts[3]
    )
}

fn created(name: &str, configuration: &str) -> Result<Codec, CodecError> {
    let bytes = Representation::Bytes(Size::Unknown);
    create(Format::V3, name, configuration, Mode::Strict, &bytes).map(|created| created.codec)
}

fn codec(parameters: &str) -> Codec {
    created(NAME, &configuration(parameters)).unwrap()
}

const LINES: &str = "00010409101924314051647990a9c4e10526496e95bee91b4a7baee31f5893d0145598dd2972bd0f";

/// Options, pixels of a block, bits of a pixel and pixels of a line; chunks, and what imagecodecs 2026.10.10 with
/// libaec 1.1.7 writes for them.
const SZIP: &[(&str, &str, &str)] = &[
    (
        "40 8 8 20",
        LINES,
        "28000000801a92261cb2d5557c2329d2b6b00a4fe8c65000007955256e44a62666afc0b0ecf5d6ab0d15f59ca5bc0000000000",
    ),
    (
        "12 8 8 16",
        LINES,
        "28000000bea4405242507a028b23cc854e270f0526496e95bee91be94f75dc63eb127a1c51566374a5caf43c20",
    ),
    (
        "40 8 8 10",
        LINES,
        "28000000801a92261cb2821ff200003322aa02a9d2b6b46a10fed4000001e55495b91298999ab009fc1800000003c9bd75aac3456b396080ff6800000000",
    ),
    (
        "40 16 16 20",
        "000003000c001b0030004b006c009300c000f3002c016b01b001fb014c02a3020f007200db004a01bf013a02bb025100de0071010a02a9025d000801b90170023c00ff00c80197027b00560137022d00",
        "5000000070000faaa9248663756c11cd4d97c52d15ce00001447ffe7c9278000000000000000002406fe86a8550d7d80b4f7898c8fa5c2189b99ffe4a7a0024403ffedeb42260000000000000000000000",
    ),
    (
        "48 16 16 20",
        "000003000c001b0030004b006c009300c000f3002c016b01b001fb014c02a3020f007200db004a01bf013a02bb025100de0071010a02a9025d000801b90170023c00ff00c80197027b00560137022d00",
        "50000000f000003000c001b002a00360042004e005a006600d3fe6b018a009600b3fda302e011020fffc3fe401200aff0000000000000000000000000000000000000007df80e2fedd81577fef00477f66fed4814c01d4fedc80c7feb401ff801bff30fee00802027ffc019fdbfb00c000000000000000000000000000000000",
    ),
    (
        "40 8 32 12",
        "00000000e8030000a00f000028230000803e0000a8610000a08c000068bf000000fa0000683c0100a0860100a8d801008032020028940200a0fd0200e86e03008813000070940000281d0100b0ad01000846020030e60200288e030078690000",
        "60000000e01d0bfaf00a01edf8088fde884000003c057d0483b97c7d860163f783f00000180352446f1d8d63776c386a400000000e6529a5236b29c55bee799c5240000000000227902c8364c83e00080020",
    ),
    (
        "12 32 64 20",
        "0000000000000000555555555555d53f555555555555f53f00000000000008405555555555551540abaaaaaaaaaa20400000000000002840555555555555304055555555555535400000000000003b40abaaaaaaaaaa4040abaaaaaaaa2a44400000000000004840abaaaaaaaa2a4c4055555555555550400000000000c05240abaaaaaaaaaafa3f555555555555294055555555555538405555555555554240",
        "a0000000d2641930418260927ffc15a82ab056a05ac0ba8175ad4000000000000003499064c106098249fff056a0aa815a814a02aa0556b5000000000000000d2641930418260927ffc15a82aa056a05280aa8155ad4000000000000003499064c106098249fff056a0aa815a814a02aa0556b5000000000000000d2641930418260927ffc15a82aa056a05280aa8155ad4000000000000003499064c169020927ffc15a82aa056a05280aa8155ad40000000000000034080eaa9249202a7ffc15aa2a0442bb0110c84b49c0800000000000000354924924924a49fff07fe0000000000000000f80000000000000000000",
    ),
];

#[test]
fn streams_of_libaec_are_decoded_and_streams_are_almost_as_small() {
    for (parameters, chunk, stream) in SZIP {
        let codec = codec(parameters);
        let chunk = hex(chunk);
        assert_eq!(decode(&codec, &plain(), &hex(stream), chunk.len()).unwrap(), chunk, "{parameters}");
        check_lossless(&codec, &plain(), &chunk).unwrap();
        // Streams of this crate may be a little larger: libaec also writes the form for pairs of pixels.
        let size = encode(&codec, &plain(), &chunk).unwrap().len();
        assert!(size <= stream.len() / 2 * 9 / 8 + 2, "{parameters}: {size}");
    }
    let (parameters, chunk, stream) = SZIP[0];
    let named = created("numcodecs.imagecodecs_szip", &configuration(parameters)).unwrap();
    assert_eq!(decode(&named, &plain(), &hex(stream), 40).unwrap(), hex(chunk));
}

/// The encoder ends a run of zeros at each multiple of 64 blocks, at the end of a line, and where pixels change.
#[test]
fn runs_of_equal_pixels_are_lossless_and_small() {
    for parameters in ["40 8 8 1024", "8 8 8 1024", "40 2 8 4096", "40 32 8 100"] {
        let codec = codec(parameters);
        let line: usize = parameters.rsplit(' ').next().unwrap().parse().unwrap();
        for size in [1, 8, 9, 33, 40, 41, 48, 500, 512, 513, 1024, 1025, 5000, 70_000] {
            for value in [0, 7] {
                let chunk = vec![value; size];
                check_lossless(&codec, &plain(), &chunk).unwrap();
                let stream = encode(&codec, &plain(), &chunk).unwrap();
                // The last line is padded, so that it takes as much as a whole one.
                let most = 20 + size.next_multiple_of(line) / 20;
                assert!(value > 0 || stream.len() <= most, "{parameters}, {size}: {}", stream.len());
            }
        }
    }
}

#[test]
fn pixels_of_every_size_are_lossless() {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for bits in (1..=24_u32).chain([32, 64]) {
        for options in [8, 16, 8 | 32, 16 | 32] {
            let parameters = format!("{options} 8 {bits} 20");
            let size = match bits {
                0..=8 => 1,
                9..=16 => 2,
                17..=32 => 4,
                _ => 8,
            };
            let mut chunk = Vec::new();
            for number in 0..130_u64 {
                let shift = (number / 13) % u64::from(bits);
                let pixel = (next() << 33 | next()) & (u64::MAX >> (64 - bits)) >> shift;
                let mut bytes = pixel.to_le_bytes()[..size].to_vec();
                if options & 16 != 0 {
                    bytes.reverse();
                }
                chunk.extend(bytes);
            }
            check_lossless(&codec(&parameters), &plain(), &chunk).unwrap();
        }
    }
}

#[test]
fn damage_never_panics_and_truncated_streams_are_corrupt() {
    for (parameters, chunk, stream) in SZIP {
        let codec = codec(parameters);
        let stream = hex(stream);
        let size = chunk.len() / 2;
        check_damaged(&codec, &plain(), &stream, size, 3000).unwrap();
        for end in 0..stream.len() {
            let result = decode(&codec, &plain(), &stream[..end], size);
            assert!(matches!(result, Err(CodecError::Corrupt(_))), "{parameters}, {end}: {result:?}");
        }
        let longer = [&stream[..], &[1]].concat();
        let result = decode(&codec, &plain(), &longer, size);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{parameters}: {result:?}");
        let result = decode(&codec, &plain(), &stream, size - 1);
        assert!(matches!(result, Err(CodecError::TooLarge(_))), "{parameters}: {result:?}");
    }
}

#[test]
fn wrong_parameters_and_chunks_are_refused() {
    for (parameters, part) in [
        ("32 0 8 10", "`pixels_per_block` is 0"),
        ("32 7 8 10", "`pixels_per_block` is 7"),
        ("32 34 8 10", "`pixels_per_block` is 34"),
        ("32 8 0 10", "`bits_per_pixel` is 0"),
        ("32 8 25 10", "`bits_per_pixel` is 25"),
        ("32 8 8 0", "`pixels_per_scanline` is 0"),
        ("32 8 8 4097", "`pixels_per_scanline` is 4097"),
    ] {
        let error = created(NAME, &configuration(parameters)).unwrap_err().to_string();
        assert!(error.contains(part), "{parameters}: {error}");
    }
    let without_size = configuration("32 8 8 10").replace('}', ", \"header\": false}");
    for name in [NAME, "imagecodecs_aec"] {
        let configuration = if name == NAME { &without_size } else { "{}" };
        let result = created(name, configuration);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
    for (parameters, chunk, part) in [
        ("32 8 12 10", &[1, 2, 3][..], "3 bytes are not pixels of 2 bytes"),
        ("32 8 12 10", &[0, 16], "more than 12 bits"),
        ("40 8 32 12", &[0; 6], "6 bytes are not pixels of 4 bytes"),
    ] {
        let error = encode(&codec(parameters), &plain(), chunk).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Returns the codec for chunks of `size` bytes.
fn sized(name: &str, configuration: &str, size: usize) -> Result<Codec, CodecError> {
    let bytes = Representation::Bytes(Size::Exact(size as u64));
    create(Format::V3, name, configuration, Mode::Strict, &bytes).map(|created| created.codec)
}

/// The stream of imagecodecs follows its header.
#[test]
fn streams_without_their_size_are_read_if_the_chunk_has_one_size() {
    for (parameters, chunk, encoded) in SZIP {
        let configuration = configuration(parameters).replace('}', ", \"header\": false}");
        let chunk = hex(chunk);
        let codec = sized(NAME, &configuration, chunk.len()).unwrap();
        let stream = &hex(encoded)[4..];
        assert_eq!(decode(&codec, &plain(), stream, chunk.len()).unwrap(), chunk, "{parameters}");
        check_lossless(&codec, &plain(), &chunk).unwrap();
        check_damaged(&codec, &plain(), stream, chunk.len(), 1000).unwrap();
    }
}

#[test]
fn aec_restores_samples_of_every_size_with_and_without_a_sign() {
    let bytes: Vec<u8> = (0..960_u32).map(|i| (i * i / 37 + i % 3).to_le_bytes()[0]).collect();
    for bits in [8, 16, 32] {
        for flags in [0, 1, 4, 5, 8, 9, 12, 13, 64] {
            for (block, segment) in [(8, 1), (8, 2), (16, 128), (64, 4096)] {
                for size in [bits / 8, 120, 960] {
                    let configuration = format!(
                        r#"{{"bitspersample": {bits}, "flags": {flags}, "blocksize": {block}, "rsi": {segment}}}"#
                    );
                    let codec = sized("imagecodecs_aec", &configuration, size).unwrap();
                    check_lossless(&codec, &plain(), &bytes[..size]).unwrap();
                    check_lossless(&codec, &plain(), &vec![0; size]).unwrap();
                }
            }
        }
    }
    let codec = sized("imagecodecs_aec", r#"{"bitspersample": 16}"#, 960).unwrap();
    let encoded = encode(&codec, &plain(), &bytes).unwrap();
    check_damaged(&codec, &plain(), &encoded, 960, 3000).unwrap();
}

#[test]
fn other_parameters_of_aec_are_refused() {
    for (configuration, part) in [
        (r#"{"bitspersample": 0}"#, "`bitspersample` is 0"),
        (r#"{"bitspersample": 33}"#, "`bitspersample` is 33"),
        (r#"{"blocksize": 7}"#, "`blocksize` is 7"),
        (r#"{"blocksize": 66}"#, "`blocksize` is 66"),
        (r#"{"rsi": 0}"#, "`rsi` is 0"),
        (r#"{"rsi": 4097}"#, "`rsi` is 4097"),
        (r#"{"flags": 2}"#, "`flags` is 2"),
        (r#"{"flags": 48}"#, "`flags` is 48"),
        (r#"{"flags": 9, "bitspersample": 12}"#, "signed"),
    ] {
        let error = sized("imagecodecs_aec", configuration, 8).unwrap_err().to_string();
        assert!(error.contains(part), "{configuration}: {error}");
    }
}
