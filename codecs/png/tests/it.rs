//! `imagecodecs_png`: images written by imagecodecs, and errors.

use zarr_codec_png::Png;
use zarr_conformance::codecs::{check_damaged, check_lossless, created, decode, decoded};
use zarr_conformance::types::{BOOL, INT16, Number, TEXT, UINT8, UINT16, UINT32};
use zarr_conformance::{array, hex, native};
use zarr_spec::{ByteOrder, CodecError, Format};

const NAME: &str = "imagecodecs_png";

/// A shape, a data type, elements in little endian, and what imagecodecs 2026.10.10 writes for them.
const WRITTEN: &[(&[u64], Number, &str, &str)] = &[
    (
        &[3, 4],
        UINT8,
        "f9fc05142944658cb9ec2564",
        "89504e470d0a1a0a0000000d4948445200000004000000030800000000919ff11a0000001749444154089963fcc9ccc9cfa829ada8ce32c1d8f23f00177603a2a508118c0000000049454e44ae426082",
    ),
    (
        &[3, 4],
        UINT16,
        "f9fffcff050014002900440065008c00b900ec0025016401",
        "89504e470d0a1a0a0000000d4948445200000004000000031000000000c10f2d590000002349444154089963fcff9381999193819f914193419a4191419d8561028331a325c37f00429104a369cf746e0000000049454e44ae426082",
    ),
    (
        &[1, 2, 3, 2],
        UINT8,
        "f9fc05142944658cb9ec2564",
        "89504e470d0a1a0a0000000d4948445200000003000000020804000000377dae910000001649444154089963fcf9874742c5802967c2961b7f1400299f06151a1989650000000049454e44ae426082",
    ),
    (
        &[2, 2, 3],
        UINT16,
        "f9fffcff050014002900440065008c00b900ec0025016401",
        "89504e470d0a1a0a0000000d4948445200000002000000021002000000ad4446300000002349444154089963f8fff3ff1f06560611064d061726c61cc6090c5b186e30fe615400007b2008240aa04bba0000000049454e44ae426082",
    ),
    (
        &[2, 2, 4],
        UINT8,
        "f9fc05142944658cb9ec2564a9f4459c",
        "89504e470d0a1a0a0000000d494844520000000200000002080600000072b60d240000001a49444154089963f8f9875544d325b58771e71bd5940f1c0a1600443906ec4144964b0000000049454e44ae426082",
    ),
    (
        &[5],
        UINT8,
        "f9fc051429",
        "89504e470d0a1a0a0000000d494844520000000500000001080000000033953b2f0000000e49444154089963fcc9ccc92f0a000543012b24e737130000000049454e44ae426082",
    ),
];

#[test]
fn images_of_imagecodecs_are_read_under_every_name() {
    for &(shape, number, elements, image) in WRITTEN {
        let elements = native(elements, number.size(), &ByteOrder::Little);
        assert_eq!(decoded(NAME, &hex(image), "", (shape, number)).unwrap(), elements);
        for (format, name) in
            [(Format::V2, NAME), (Format::V3, NAME), (Format::V3, "numcodecs.imagecodecs_png")]
        {
            for level in ["0", "3", "6", "9", "null"] {
                let codec =
                    created(format, name, &format!(r#"{{"level": {level}}}"#), (shape, number)).unwrap();
                check_lossless(&codec, &array(shape, number), &elements).unwrap();
            }
        }
    }
}

/// A palette of two colors, and four samples of two bits each. The images are constructed for this test.
#[test]
fn pixels_of_fewer_bits_are_written_out() {
    let palette = hex(
        "89504e470d0a1a0a0000000d494844520000000200000002010300000048789f6700000006504c544501020304050695536f480000000c49444154789c637060680000014400c13a7a1c560000000049454e44ae426082",
    );
    assert_eq!(
        decoded(NAME, &palette, "", (&[2, 2, 3], UINT8)).unwrap(),
        [1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3]
    );
    let grey = hex(
        "89504e470d0a1a0a0000000d494844520000000400000001020000000096e748b00000000a49444154789c63900600001d001c8ef4f5210000000049454e44ae426082",
    );
    assert_eq!(decoded(NAME, &grey, "", (&[4], UINT8)).unwrap(), [0, 85, 170, 255]);
}

#[test]
fn images_that_do_not_match_the_chunk_are_corrupt() {
    let &(_, _, _, image) = WRITTEN.first().unwrap();
    for chunk in [(&[4u64, 3][..], UINT8), (&[3, 4], UINT16), (&[3, 4, 3], UINT8), (&[12], UINT8)] {
        let result = decoded(NAME, &hex(image), "", chunk);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{chunk:?}: {result:?}");
    }
    // An image that claims 40000 × 40000 pixels.
    let bomb = hex(
        "89504e470d0a1a0a0000000d4948445200009c4000009c400800000000746751d90000000c49444154789c6360a03d00000064000186643c350000000049454e44ae426082",
    );
    for chunk in [(&[3u64, 4][..], UINT8), (&[40000, 40000], UINT8)] {
        let codec = created(Format::V3, NAME, "", (chunk.0, chunk.1)).unwrap();
        let result = decode(&codec, &array(chunk.0, chunk.1), &bomb, 1 << 20);
        assert!(
            matches!(result, Err(CodecError::Corrupt(_) | CodecError::TooLarge(_))),
            "{chunk:?}: {result:?}"
        );
    }
}

#[test]
fn damage_never_panics_and_truncated_images_are_corrupt() {
    for &(shape, number, elements, image) in WRITTEN {
        let codec = created(Format::V3, NAME, "", (shape, number)).unwrap();
        let image = hex(image);
        check_damaged(&codec, &array(shape, number), &image, elements.len() / 2, 2000).unwrap();
        for size in 0..image.len() - 12 {
            let result = decoded(NAME, &image[..size], "", (shape, number));
            assert!(matches!(result, Err(CodecError::Corrupt(_))), "{size}: {result:?}");
        }
    }
}

#[test]
fn what_cannot_be_an_image_is_refused() {
    for chunk in [
        (&[3u64, 4][..], INT16),
        (&[3, 4], UINT32),
        (&[3, 4], BOOL),
        (&[3, 4], TEXT),
        (&[3, 4, 5], UINT8),
        (&[2, 3, 4, 3], UINT8),
        (&[0, 4], UINT8),
        (&[1 << 31], UINT8),
    ] {
        let result = created(Format::V3, NAME, "", chunk);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{chunk:?}: {result:?}");
    }
    assert!(matches!(Png::new(10), Err(CodecError::InvalidConfiguration(_))));
    let squeezed = created(Format::V2, NAME, r#"{"squeeze": [1, 0]}"#, (&[3, 4], UINT8));
    assert!(matches!(squeezed, Err(CodecError::InvalidConfiguration(_))), "{squeezed:?}");
    let unsqueezed = created(Format::V2, NAME, r#"{"squeeze": false}"#, (&[1, 1, 4, 3], UINT8));
    assert!(matches!(unsqueezed, Err(CodecError::Unsupported(_))), "{unsqueezed:?}");
}

/// Configurations of imagecodecs contain strategies and filters as numbers.
#[test]
fn all_members_of_imagecodecs_are_read() {
    let configuration = r#"{"level": 3, "strategy": 3, "filter": 8, "squeeze": [true, false, false, false]}"#;
    let codec = created(Format::V2, NAME, configuration, (&[1, 1, 4, 3], UINT8)).unwrap();
    check_lossless(&codec, &array(&[1, 1, 4, 3], UINT8), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).unwrap();
}
