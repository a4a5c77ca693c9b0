//! `imagecodecs_jpegls`: images written by imagecodecs, which calls CharLS, and errors.

use zarr_codec_jpegls as _;
use zarr_conformance::codecs::{check_damaged, created, decode, decoded, encode};
use zarr_conformance::types::{INT16, Number, UINT8, UINT16};
use zarr_conformance::{array, hex, native};
use zarr_spec::{ByteOrder, CodecError, Format};

const NAME: &str = "imagecodecs_jpegls";

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
        number: UINT8,
        elements: "0b30557a9fc421466b90b512375c81a603284d7297bc193e",
        image: "ffd8fff7000b080004000601011100ffda0008010100000000028000140000a4e4a46002000868c260000019b488907c0000033497e75c699b00ffd9",
    },
    Case {
        shape: &[5],
        number: UINT8,
        elements: "0b30557a9f",
        image: "ffd8fff7000b080001000501011100ffda0008010100000000028000140000a4e4a0ffd9",
    },
    Case {
        shape: &[4, 6],
        number: UINT16,
        elements: "0b00300055007a009f00c400e9000e01330158017d01a201c701ec01110236025b028002a502ca02ef02140339035e03",
        image: "ffd8fff7000b100004000601011100fff8000d01ffff0012004301140040ffda000801010000000041589312624c47916de44a8912348912ade50a813e9e448b753a9c5b5a48c0ffd9",
    },
    Case {
        shape: &[4, 6, 3],
        number: UINT8,
        elements: "0b30557a9fc421466b90b512375c81a603284d7297bc193e6388ad0a2f54799ec320456a8fb411365b80a502274c7196bb183d6287ac092e53789dc21f44698eb310355a7fa40126",
        image: "ffd8fff70011080004000603011100021100031100ffda000c0301000200030000020003000402a000001dc000001dc16d6cb45937dbab4592c05b70ac15c000003060000030642000001821c46f8e4185deed9cc2ff74000007ce484fb74b9e7637dcee5b89d9eee571c2fb75c2df4d3c1bbe2dfde9dedd6ddf0db7c3d8ffd9",
    },
    Case {
        shape: &[3, 5, 4],
        number: UINT16,
        elements: "0b00300055007a009f00c400e9000e01330158017d01a201c701ec01110236025b028002a502ca02ef02140339035e038303a803cd03f20317043c0461048604ab04d004f5041a053f0564058905ae05d305f8051d06420667068c06b106d606fb06200745076a078f07b407d907fe07230848086d089208",
        image: "ffd8fff70014100003000504011100021100031100041100fff8000d01ffff0012004301140040ffda000e040100020003000400000100415a4f49e93d2545fa4f49723c8554e4790e3f8eaf3c7f1dc6d195c8a5149b24a50b91916418f5265c8c711a463245c64591444b225c84410e433205c64290841b1e5c4411024031c5c2ff3f9fa468ffd9",
    },
    Case {
        shape: &[8, 20],
        number: UINT8,
        elements: "00000000000001010101010102020202020203030000000000010101010101020202020202030303000000000101010101010202020202020303030300000001010101010102020202020203030303030000010101010101020202020202030303030303000101010101010202020202020303030303030401010101010102020202020203030303030304040101010101020202020202030303030303040404",
        image: "ffd8fff7000b080008001401011100ffda0008010100000000f9656fd9b66763b5ebd77d75ebaebcf5d75daebaf5d75cffd9",
    },
    Case {
        shape: &[8, 20, 3],
        number: UINT8,
        elements: "000000000000000000000000000001000101010101010101010101010101010102010202020202020202020202020202020203020303030303030303000000000000000000000001000101010101010101010101010101010102010202020202020202020202020202020203020303030303030303030303000000000000000001000101010101010101010101010101010102010202020202020202020202020202020203020303030303030303030303030303000000000001000101010101010101010101010101010102010202020202020202020202020202020203020303030303030303030303030303030304000001000101010101010101010101010101010102010202020202020202020202020202020203020303030303030303030303030303030304030404000101010101010101010101010101010102010202020202020202020202020202020203020303030303030303030303030303030304030404040404010101010101010101010101010102010202020202020202020202020202020203020303030303030303030303030303030304030404040404040404010101010101010101010102010202020202020202020202020202020203020303030303030303030303030303030304030404040404040404040404",
        image: "ffd8fff70011080008001403011100021100031100ffda000c03010002000300000200f24a2957ff36ff7ed8d7cafa4bbe6f6ff9bfff66ff7f37ff79bfff5dff7e6fff737fff1bff7fe6ff7f37ff79bdff66ff737ff37bff1bff4dff66ff7e6ffe6ffe6ffeffd9",
    },
    Case {
        shape: &[8, 20],
        number: UINT8,
        elements: "000007070e0e1516161d1e1f27292b2b3233343c0007070e0e0f15151c1d242427272b3333333a3c09090c0e151515181c2024242b2b3233333a3a410909101015151c1c242626292b2e3239393a3d410910101315181c1f24242b2c33333539394040480c1118191a21212225282b2f34343b3b3e4043490f1818181f212128292a2e3035383b424344454a12191920202728282f303033363d3e43434a4b4b",
        image: "ffd8fff7000b080008001401011100ffda0008010100030000dcce779db96adb4767bfdadbbdabefdff6fb3b9ff7f5bbeeff377deeffd9",
    },
    Case {
        shape: &[3, 6],
        number: UINT16,
        elements: "000003000500070009000c000e0010001300150017001a001c001e002100230025002800",
        image: "ffd8fff7000b100003000601011100fff8000d01ffff0012004301140040ffda0008010100000000a02c0380300c07072024048020080d1880c020303010ffd9",
    },
    Case {
        shape: &[6, 30],
        number: UINT16,
        elements: "0000000000000000000000000000000000002c012c012c012c012c012c012c012c012c01580259025a0256025702580259025a025602820383038403000000000000000000000000000000002c012c012c012c012c012c012c012c012c01580258025802580258025802580258025802840384038403840300000000000000000000000000002c012c012c012c012c012c012c012c012c01580258025802580258025802580258025802840384038403840384030000000000000000000000002c012c012c012c012c012c012c012c012c01580258025802580258025802580258025802840384038403840384038403000000000000000000002c012c012c012c012c012c012c012c012c01580258025802580258025802580258025802840384038403840384038403840300000000000000002c012c012c012c012c012c012c012c012c0158025802580258025802580258025802580284038403840384038403840384038403",
        image: "ffd8fff7000b100006001e01011100fff8000d01ffff0018004d01220040ffda0008010100020000fdbbc02020204081040378208a082082402f041d5de019f780bf780dfbc0bf7817ef035ef05fbc17ef067de0bf782fde0e3de17ef0bf7860ffd9",
    },
];

#[test]
fn images_of_imagecodecs_are_read_under_every_name() {
    for case in WRITTEN {
        let elements = native(case.elements, case.number.size(), &ByteOrder::Little);
        let chunk = (case.shape, case.number);
        assert_eq!(decoded(NAME, &hex(case.image), "", chunk).unwrap(), elements, "{:?}", case.shape);
        for (format, name) in
            [(Format::V2, NAME), (Format::V3, NAME), (Format::V3, "numcodecs.imagecodecs_jpegls")]
        {
            created(format, name, r#"{"level": 0, "spiff": null}"#, chunk).unwrap();
        }
    }
}

/// Written by imagecodecs 2026.10.10, in `conformance/formats/wild`.
#[test]
fn the_stored_image_is_read() {
    let image = include_bytes!("../../../conformance/formats/wild/imagecodecs/v2.zarr/images/jpegls/0.0");
    let expected: Vec<u8> = (0..128u32).map(|i| u8::try_from(i * i % 199).unwrap_or_default()).collect();
    assert_eq!(decoded(NAME, image, "", (&[8, 16], UINT8)).unwrap(), expected);
}

#[test]
fn images_that_do_not_match_the_chunk_are_corrupt() {
    let image = hex(WRITTEN[0].image);
    for chunk in [(&[6u64, 4][..], UINT8), (&[4, 6], UINT16), (&[4, 6, 3], UINT8), (&[24], UINT8)] {
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
        check_damaged(&codec, &array(case.shape, case.number), &image, size, 5000).unwrap();
        for end in 0..image.len() - 2 {
            let result = decode(&codec, &array(case.shape, case.number), &image[..end], size);
            assert!(matches!(result, Err(CodecError::Corrupt(_))), "{end}: {result:?}");
        }
    }
}

#[test]
fn what_is_not_supported_is_refused() {
    for chunk in [(&[4u64, 6][..], INT16), (&[2, 4, 6, 3], UINT8), (&[4, 6, 256], UINT8)] {
        let result = created(Format::V3, NAME, "", chunk);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{chunk:?}: {result:?}");
    }
    assert!(created(Format::V3, NAME, r#"{"near": 2}"#, (&[4, 6], UINT8)).is_err());
    // A color transform, and a palette.
    let transform = hex("ffd8 ffe8 0007 6d72667801 ffd9");
    let palette = hex("ffd8 fff8 0005 020101 ffd9");
    for image in [transform, palette] {
        let result = decoded(NAME, &image, "", (&[4, 6], UINT8));
        let Err(CodecError::Corrupt(reason)) = result else { panic!("{result:?}") };
        assert!(reason.to_string().contains("not supported"), "{reason}");
    }
    let codec = created(Format::V3, NAME, "", (&[4, 6], UINT8)).unwrap();
    let result = encode(&codec, &array(&[4, 6], UINT8), &[0; 24]);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
}
