//! `imagecodecs_lerc`: images written by imagecodecs, which calls the library of Esri, and errors.

use zarr_codec_lerc::Lerc;
use zarr_conformance::codecs::{check_damaged, check_lossless, created, decoded, encode};
use zarr_conformance::types::{FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number, UINT8, UINT16, UINT32};
use zarr_conformance::{array, hex, native};
use zarr_spec::{ByteOrder, CodecError, Format};

const NAME: &str = "imagecodecs_lerc";

/// A chunk, and what imagecodecs 2026.10.10 writes for it.
struct Case {
    shape: &'static [u64],
    number: Number,
    elements: &'static str,
    image: &'static str,
}

const WRITTEN: &[Case] = &[
    Case {
        shape: &[4, 6],
        number: INT8,
        elements: "e2e9f0f7fe050c131a21282f363d444b525960676e757c83",
        image: "4c657263322004000000363d807404000000060000000100000018000000080000006100000000000000000000000000e03f0000000000405fc00000000000005f4000000000837c01e2e9f0f7fe050c131a21282f363d444b525960676e757c83",
    },
    Case {
        shape: &[4, 6],
        number: UINT8,
        elements: "e2e9f0f7fe050c131a21282f363d444b525960676e757c83",
        image: "4c657263322004000000b785109c04000000060000000100000018000000080000006100000001000000000000000000e03f00000000000014400000000000c06f400000000005fe01e2e9f0f7fe050c131a21282f363d444b525960676e757c83",
    },
    Case {
        shape: &[4, 6],
        number: INT16,
        elements: "e2ffe9fff0fff7fffeff05000c0013001a00210028002f0036003d0044004b0052005900600067006e0075007c008300",
        image: "4c6572633220040000004b6863bb04000000060000000100000018000000080000006700000002000000000000000000e03f0000000000003ec0000000000060604000000000e2ff83000081e2881800070e151c232a31383f464d545b626970777e858c939aa1",
    },
    Case {
        shape: &[4, 6],
        number: UINT16,
        elements: "e2ffe9fff0fff7fffeff05000c0013001a00210028002f0036003d0044004b0052005900600067006e0075007c008300",
        image: "4c6572633220040000008257978b04000000060000000100000018000000080000007b00000003000000000000000000e03f000000000000144000000000c0ffef40000000000500feff01e2ffe9fff0fff7fffeff05000c0013001a00210028002f0036003d0044004b0052005900600067006e0075007c008300",
    },
    Case {
        shape: &[4, 6],
        number: INT32,
        elements: "e2ffffffe9fffffff0fffffff7fffffffeffffff050000000c000000130000001a00000021000000280000002f000000360000003d000000440000004b000000520000005900000060000000670000006e000000750000007c00000083000000",
        image: "4c6572633220040000002e8ceabe04000000060000000100000018000000080000006c00000004000000000000000000e03f0000000000003ec0000000000060604000000000e2ffffff830000000081e2ff881800070e151c232a31383f464d545b626970777e858c939aa1",
    },
    Case {
        shape: &[4, 6],
        number: UINT32,
        elements: "e2ffffffe9fffffff0fffffff7fffffffeffffff050000000c000000130000001a00000021000000280000002f000000360000003d000000440000004b000000520000005900000060000000670000006e000000750000007c00000083000000",
        image: "4c657263322004000000838da5ca0400000006000000010000001800000008000000af00000005000000000000000000e03f00000000000014400000c0ffffffef410000000005000000feffffff01e2ffffffe9fffffff0fffffff7fffffffeffffff050000000c000000130000001a00000021000000280000002f000000360000003d000000440000004b000000520000005900000060000000670000006e000000750000007c00000083000000",
    },
    Case {
        shape: &[4, 6],
        number: FLOAT32,
        elements: "000070c0000038c0000000c0000090bf000080be0000203f0000c03f0000184000005040000084400000a0400000bc400000d8400000f440000008410000164100002441000032410000404100004e4100005c4100006a410000784100008341",
        image: "4c657263322004000000daa2e9c50400000006000000010000001800000008000000af0000000600000000000000000000000000000000000ec0000000000060304000000000000070c00000834101000070c0000038c0000000c0000090bf000080be0000203f0000c03f0000184000005040000084400000a0400000bc400000d8400000f440000008410000164100002441000032410000404100004e4100005c4100006a410000784100008341",
    },
    Case {
        shape: &[4, 6],
        number: FLOAT64,
        elements: "0000000000000ec000000000000007c000000000000000c0000000000000f2bf000000000000d0bf000000000000e43f000000000000f83f00000000000003400000000000000a400000000000801040000000000000144000000000008017400000000000001b400000000000801e4000000000000021400000000000c022400000000000802440000000000040264000000000000028400000000000c029400000000000802b400000000000402d400000000000002f400000000000603040",
        image: "4c657263322004000000982a3d120400000006000000010000001800000008000000170100000700000000000000000000000000000000000ec00000000000603040000000000000000000000ec00000000000603040010000000000000ec000000000000007c000000000000000c0000000000000f2bf000000000000d0bf000000000000e43f000000000000f83f00000000000003400000000000000a400000000000801040000000000000144000000000008017400000000000001b400000000000801e4000000000000021400000000000c022400000000000802440000000000040264000000000000028400000000000c029400000000000802b400000000000402d400000000000002f400000000000603040",
    },
    Case {
        shape: &[3, 4, 3],
        number: UINT16,
        elements: "e2ffe9fff0fff7fffeff05000c0013001a00210028002f0036003d0044004b0052005900600067006e0075007c0083008a00910098009f00a600ad00b400bb00c200c900d000d700",
        image: "4c657263322004000000c87ae3100300000004000000030000000c000000080000009b00000003000000000000000000e03f000000000000144000000000c0ffef40000000000c0013000500f7fffefff0ff01e2ffe9fff0fff7fffeff05000c0013001a00210028002f0036003d0044004b0052005900600067006e0075007c0083008a00910098009f00a600ad00b400bb00c200c900d000d700",
    },
    Case {
        shape: &[9, 10],
        number: FLOAT32,
        elements: "000070c0000030c00000e0bf000040bf0000803e0000803e0000a03f0000104000005040000088400000a8400000c8400000e8400000e8400000044100001441000024410000344100004441000054410000644100006441000074410000824100008a410000924100009a410000a2410000aa410000aa410000b2410000ba410000c2410000ca410000d2410000da410000e2410000e2410000ea410000f2410000fa4100000142000005420000094200000d4200000d4200001142000015420000194200001d420000214200002542000029420000294200002d4200003142000035420000394200003d420000414200004542000045420000494200004d4200005142000055420000594200005d420000614200006142000065420000694200006d4200007142000075420000794200007d4200007d42008080420080824200808442008086420080884200808a4200808c4200808c4200808e42008090420080924200409442",
        image: "4c657263322004000000ff77f164090000000a000000010000005a00000008000000b300000006000000000000000000e03f0000000000000ec0000000000088524000000000000070c0004094420001000070c087408080604020140c09c562c168381e12c98452b15c309a0da7e3f980402352c9743aa152ac96cbf582c564b59aed86cbe9763ddf0f18140e870500005040861040902892a46d23c9b675ddfb010080844283088846d60500809242810202",
    },
    Case {
        shape: &[5],
        number: UINT8,
        elements: "e2e9f0f7fe",
        image: "4c65726332200400000091e6d11701000000050000000100000005000000080000004e00000001000000000000000000e03f0000000000406c400000000000c06f4000000000e2fe01e2e9f0f7fe",
    },
    Case {
        shape: &[4, 6],
        number: FLOAT32,
        elements: "000070c0000038c0000000c0000090bf000080be0000203f0000c03f0000184000005040000084400000a0400000bc400000d8400000f440000008410000164100002441000032410000404100004e4100005c4100006a410000784100008341",
        image: "4c6572633220060000008676368d0400000006000000010000001800000008000000b600000006000000000000000000000000000000000000000000000000000ec000000000006030400000000000000000000000000000000000000000000070c00000834100030000000600000001001800000001000600000001001800000002001900000002f0b88090802040185004203c587408162432404e5c6a7803030010000000038180037f7d7e7f8080838187820083",
    },
    Case {
        shape: &[9, 12],
        number: UINT8,
        elements: "e2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cf",
        image: "4c6572633220030000006c9e86c0090000000c0000006c000000080000008b00000001000000000000000000e03f000000000000f03f0000000000c06f400000000000010400000000010000e2000000550100008273020000000000000000040000000000000000000000000000000000002000000060cffff97ffff37ffee7fffc9f00f83fff00000000",
    },
];

#[test]
fn rasters_of_imagecodecs_are_read_under_every_name() {
    for case in WRITTEN {
        let chunk = (case.shape, case.number);
        let elements = native(case.elements, case.number.size(), &ByteOrder::Little);
        assert_eq!(decoded(NAME, &hex(case.image), "", chunk).unwrap(), elements);
        for (format, name) in
            [(Format::V2, NAME), (Format::V3, NAME), (Format::V3, "numcodecs.imagecodecs_lerc")]
        {
            let codec = created(format, name, r#"{"level": null, "version": 4}"#, chunk).unwrap();
            check_lossless(&codec, &array(case.shape, case.number), &elements).unwrap();
        }
    }
}

#[test]
fn the_error_of_elements_is_at_most_the_level() {
    let chunk = (&[9u64, 10][..], FLOAT32);
    let codec = created(Format::V3, NAME, r#"{"level": 0.25}"#, chunk).unwrap();
    let elements: Vec<f32> = (0..90_u8).map(|number| f32::from(number).sqrt() * 10.0).collect();
    let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
    let encoded = encode(&codec, &array(chunk.0, chunk.1), &bytes).unwrap();
    assert!(encoded.len() < bytes.len() / 2, "{}", encoded.len());
    let read = decoded(NAME, &encoded, "", chunk).unwrap();
    for (bytes, element) in read.chunks(4).zip(elements) {
        let read = f32::from_ne_bytes(bytes.try_into().unwrap());
        assert!((read - element).abs() <= 0.25, "{read} for {element}");
    }
}

#[test]
fn elements_that_cannot_be_stored_are_errors() {
    let chunk = (&[2u64, 2][..], FLOAT64);
    let codec = created(Format::V3, NAME, "", chunk).unwrap();
    for other in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let bytes: Vec<u8> =
            [1.0, 2.5, other, 0.0].iter().flat_map(|element| element.to_ne_bytes()).collect();
        let result = encode(&codec, &array(chunk.0, chunk.1), &bytes);
        assert!(matches!(result, Err(CodecError::Encode(_))), "{other}: {result:?}");
    }
    // Encoding preserves the signs of zeros, or fails.
    for elements in [[-0.0_f64; 4], [0.0, -0.0, 1.0, 2.5]] {
        let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
        match encode(&codec, &array(chunk.0, chunk.1), &bytes) {
            Ok(encoded) => assert_eq!(decoded(NAME, &encoded, "", chunk).unwrap(), bytes),
            Err(error) => assert!(matches!(error, CodecError::Encode(_)), "{error:?}"),
        }
    }
}

#[test]
fn rasters_that_do_not_match_the_chunk_are_corrupt() {
    let image = hex(WRITTEN[1].image);
    for chunk in
        [(&[6u64, 4][..], UINT8), (&[4, 6], INT8), (&[4, 6], UINT16), (&[4, 6, 2], UINT8), (&[24], UINT8)]
    {
        let result = decoded(NAME, &image, "", chunk);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{chunk:?}: {result:?}");
    }
}

#[test]
fn damage_never_panics_and_truncated_images_are_corrupt() {
    for case in WRITTEN {
        let codec = created(Format::V3, NAME, "", (case.shape, case.number)).unwrap();
        let image = hex(case.image);
        let size = case.elements.len() / 2;
        check_damaged(&codec, &array(case.shape, case.number), &image, size, 2000).unwrap();
        for end in 0..image.len() * 3 / 4 {
            let result = decoded(NAME, &image[..end], "", (case.shape, case.number));
            assert!(matches!(result, Err(CodecError::Corrupt(_))), "{end}: {result:?}");
        }
    }
}

#[test]
fn what_is_not_supported_is_refused() {
    for chunk in [(&[4u64, 6][..], INT64), (&[2, 3, 4, 5], UINT8)] {
        let result = created(Format::V3, NAME, "", chunk);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{chunk:?}: {result:?}");
    }
    for (member, name) in [(r#""planar": true"#, "planar"), (r#""compression": "zstd""#, "compression")] {
        let result = created(Format::V3, NAME, &format!("{{{member}}}"), (&[4, 6], UINT8));
        let Err(CodecError::Unsupported(reason)) = result else { panic!("{member}: {result:?}") };
        assert!(reason.contains(name), "{reason}");
    }
    for level in [-1.0, f64::NAN] {
        assert!(matches!(Lerc::new(level), Err(CodecError::InvalidConfiguration(_))));
    }
}

/// Returns images with all kinds of blocks: without differences, of zeros, with few and many bits, with few different
/// numbers, and with numbers that are not packed.
fn images(count: u32) -> Vec<Vec<i64>> {
    let noise = |place: u32| i64::from(place.wrapping_mul(2_654_435_761) >> 7);
    let kinds: [&dyn Fn(u32) -> i64; 7] = [
        &|place| noise(place) % 50 + 40,
        &|place| i64::from(place / 9 * 5),
        &|place| noise(place) << 20,
        &|place| noise(place) % 3 * 700,
        &|place| i64::from(place % 7) - 3000,
        &|place| if place > 30 { 0 } else { place.into() },
        &|place| noise(place) % 20 * 17 + 100_000,
    ];
    kinds.iter().map(|kind| (0..count).map(*kind).collect()).collect()
}

/// The codec decodes blocks of integers itself, also if they are damaged but their checksum matches. Its results are
/// those of the library.
#[test]
fn blocks_of_integers_decode_as_in_the_library() {
    for (height, width) in [(8, 8), (9, 13), (33, 40), (3, 257)] {
        for elements in images(height * width) {
            for number in [INT16, UINT16, INT32, UINT32] {
                let size = number.size();
                let chunk: Vec<u8> = elements
                    .iter()
                    .flat_map(|element| {
                        let bytes = element.to_le_bytes();
                        native(&hex_of(&bytes[..size]), size, &ByteOrder::Little)
                    })
                    .collect();
                let shape = [u64::from(height), width.into()];
                let codec = created(Format::V3, NAME, "", (&shape, number)).unwrap();
                check_lossless(&codec, &array(&shape, number), &chunk).unwrap();
                let image = encode(&codec, &array(&shape, number), &chunk).unwrap();
                for place in (46..image.len()).step_by(image.len() / 50 + 1) {
                    let mut damaged = image.clone();
                    damaged[place] ^= 1 << (place % 8);
                    let checksum = lerc::checksum::fletcher32(&damaged[14..]);
                    damaged[10..14].copy_from_slice(&checksum.to_le_bytes());
                    let read = decoded(NAME, &damaged, "", (&shape, number)).ok();
                    assert_eq!(read, by_library(&damaged, size), "{number:?} {place}");
                }
            }
        }
    }
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns what the library decodes.
fn by_library(image: &[u8], size: usize) -> Option<Vec<u8>> {
    let data = lerc::decode(image).ok()?.data;
    let bytes = match data {
        lerc::SampleData::I16(pixels) => pixels.iter().flat_map(|pixel| pixel.to_ne_bytes()).collect(),
        lerc::SampleData::U16(pixels) => pixels.iter().flat_map(|pixel| pixel.to_ne_bytes()).collect(),
        lerc::SampleData::I32(pixels) => pixels.iter().flat_map(|pixel| pixel.to_ne_bytes()).collect(),
        lerc::SampleData::U32(pixels) => {
            pixels.iter().flat_map(|pixel| pixel.to_ne_bytes()).collect::<Vec<_>>()
        }
        _ => return None,
    };
    (bytes.len() % size == 0).then_some(bytes)
}
