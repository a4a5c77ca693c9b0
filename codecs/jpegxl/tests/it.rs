//! `imagecodecs_jpegxl`: images written by imagecodecs, which calls libjxl, and errors.

use zarr_codec_jpegxl::Jpegxl;
use zarr_conformance::codecs::{check_damaged, check_lossless, created, decoded, encode};
use zarr_conformance::suite::{CountingAllocator, highest};
use zarr_conformance::types::{FLOAT32, FLOAT64, INT16, Number, UINT8, UINT16};
use zarr_conformance::{array, hex, native};
use zarr_spec::{ByteOrder, CodecError, Format};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const NAME: &str = "imagecodecs_jpegxl";

/// A chunk, and what imagecodecs 2026.10.10 writes for it.
struct Case {
    shape: &'static [u64],
    number: Number,
    elements: &'static str,
    image: &'static str,
}

/// Lossless images.
const WRITTEN: &[Case] = &[
    Case {
        shape: &[4, 6],
        number: UINT8,
        elements: "0009121b242d141d262f384128313a434c553c454e576069",
        image: "ff0a184010143702080001006c004b188b1501125e1836653ae1a9f44f94ef01e5ab8d990955040214",
    },
    Case {
        shape: &[4, 6, 2],
        number: UINT8,
        elements: "003c0445094e0d57126016690a500e591362176b1c74207d1464186d1d76217f26882a911e782281278a2b93309c34a5",
        image: "ff0a1840b0286e0408001000cc004b18938e8343802909a1c3176e09e0c81c7b1a0a4fa57881030018c041103a08420741e82008cf935526ab4c5699ac81838303",
    },
    Case {
        shape: &[4, 6, 3],
        number: UINT8,
        elements: "003c78044585094e930d57a01260ae1669bb0a50960e59a31362b1176bbe1c74cc207dd91464b4186dc11d76cf217fdc2688ea2a91f71e78d22281df278aed2b93fa309cff34a5ff",
        image: "ff0a1840100908000100fc004b188b150a1dc26a30bc9c9327ba4060008bc20408020481a9f8f45b2f46454db1f5145b3ffdbbe437f7c673e26017bed9856f3eb9fe07922d095908423000",
    },
    Case {
        shape: &[4, 6, 4],
        number: UINT8,
        elements: "003c78b4044585c6094e93d80d57a0ea1260aefc1669bbff0a5096dc0e59a3ee1362b1ff176bbeff1c74ccff207dd9ff1464b4ff186dc1ff1d76cfff217fdcff2688eaff2a91f7ff1e78d2ff2281dfff278aedff2b93faff309cffff34a5ffff",
        image: "ff0a1840b0120800100038014b188b1520a227080c093a3af617100c8038c8e7842efa01241ab4290de77f5d48408185fbf4f020ef35ce71c6c69b402075b7227e77464a6b57f5c4c0bb80031da6b8aab996f8a621252c80fa00",
    },
    Case {
        shape: &[5],
        number: UINT8,
        elements: "0301040105",
        image: "ff0a00000880a0b8110800010028004b188b154221270e4b2d",
    },
    Case {
        shape: &[4, 6],
        number: UINT16,
        elements: "00006b07d60e4116ac1d17257c10e717521fbd26282e9335f8206328ce2f3937a43e0f467431df384a40b547204f8b56",
        image: "0000000c4a584c200d0a870a00000014667479706a786c20000000006a786c20000000096a786c6c0a0000003e6a786c63ff0a1840fc00458b08000100a0004b188b1501125e1876c0b8649d6184b5ef612ad6be2722515c9784b5b1f67caadad75eac8db5b136",
    },
    Case {
        shape: &[4, 6, 3],
        number: UINT16,
        elements: "00007431e8624c03df389f6d6b074a402979b70ab547e083d60e204f6a8f22128b56219a3e08f041a27b8a0b5b495986a90fc650e391f51231589a9c14179c5f24a8601a0767dbb27c106c525c94c813d759139fe71742619daa331bad6854b5521f1870dec09e22837795cbba18e86216ad061c536acdb72520be7157c3712329790ece9027948098d9dc2aff874fe4",
        image: "0000000c4a584c200d0a870a00000014667479706a786c20000000006a786c20000000096a786c6c0a0000009b6a786c63ff0a1840fc00142d020800010010024b386998ca83f74b28988528266a24aa3715070007d34eeda8d48c0e96cf80ff028101ec99f621495ed2989292989292c69494c4949434a62479497d18d3d7c5d66e2d53c5992acec4d40726a68a3331f58189a9e24c1567dadaadfdbab8adafb8bcf741de219227afe2f2e41d2279f22a2e4fde2192f73ec87bc56feb0a1408893aa805",
    },
    Case {
        shape: &[4, 6],
        number: FLOAT32,
        elements: "0000c0bf0000aebf00009cbf00008abf000070bf00004cbf000098bf000086bf000068bf000044bf000020bf0000f8be000060bf00003cbf000018bf0000e8be0000a0be000030be000010bf0000d8be000090be000010be000000000000103e",
        image: "0000000c4a584c200d0a870a00000014667479706a786c20000000006a786c20000000096a786c6c0a0000006e6a786c63ff0a18407240d1220800010060014b188b15c202b0710000f035e0f9ffff1f20ffffe1ff3ef4ce80f9aa6b5cd6f4fecf4cbfd58622d648abf3256881dac09ab8580d52970289ba490c0e29972dcf05858e3dddeffc1341ac9c7037fad93bc54809e174cd893d",
    },
    Case {
        shape: &[4, 6],
        number: UINT16,
        elements: "00006b07d60e4106ac0d17057c00e707520fbd06280e9305f8006308ce0f3907a40e0f067401df084a00b507200f8b06",
        image: "ff0a184018142d0208000100a0004b386998ca83f72b28488aedc252ee104afcc968d36a577b4a567b4a38e7f138e7f138ffe0abe501",
    },
    Case {
        shape: &[4, 6, 3],
        number: UINT8,
        elements: "003c78044585094e930d57a01260ae1669bb0a50960e59a31362b1176bbe1c74cc207dd91464b4186dc11d76cf217fdc2688ea2a91f71e78d22281df278aed2b93fa309cff34a5ff",
        image: "0000000c4a584c200d0a870a00000014667479706a786c20000000006a786c20000000536a786c63ff0a1840100908000100fc004b188b150a1dc26a30bc9c9327ba4060008bc20408020481a9f8f45b2f46454db1f5145b3ffdbbe437f7c673e26017bed9856f3eb9fe07922d095908423000",
    },
];

/// A lossy image of distance 1, and what imagecodecs reads from it.
const LOSSY: Case = Case {
    shape: &[16, 24, 3],
    number: UINT8,
    elements: "033d8409428b0e4c971056a70e60b70e6bc71475d4177bdf117ef42289fb3396fd3ca1fe40aafd43b3fc4abcfb4dc4fb40d0f742d5f84addf953e7fa5af0fb60f9fd63fefd65fffd1b509a1e55a1225fad2569bb2472c9257dd72987e42d8eec2c96fc349fff40a9ff45b3ff48bcff4dc5fe53ceff58d7ff54e3fd57eafd5ef0ff66f6ff6afcff6dffff6cfffe6dfffd2767bb2b6cc02f75c92f7ed42f89e03191ec349bf537a3fc33affe3ab6ff42c0ff48c8ff4cd0ff53dafe5be3ff61ebff61f7ff64faff69fcff6effff73ffff76ffff76fffe77fffe297bd92d81dd3189e43292eb319cf432a5fc35aeff38b6ff30c2fe36cafd40d3fe49dbff50e4fe58edfe5ff5ff65fbff65feff67feff6bfeff72feff77feff7cfdff80fdfe81fdfe298ff02e94f3339ef734a7fb33b0ff34b9ff38c2ff3ccaff3ad7fe41dffd4ce6fe56efff5cf5ff61fbfe65fffe69fffe6affff6fffff75ffff7effff84ffff89feff8cfcff8cfcff29a1fd2fa7ff34b1ff37baff38c2ff39ccff3fd6ff45deff51ebff57f0ff5ef6ff64faff68ffff6affff6afffe6efffd7bfffe80ffff84ffff89ffff8effff92ffff95feff97feff36b4ff3bbbff41c4ff45ceff47d8fe4ae2fc4febfa55f2fb65f8ff69faff6cfcff6ffeff72ffff72ffff73ffff76fffe8bfffc8efffb8ffffc92fefe95fdff9afeff9dffff9effff47caff4cd0ff53daff57e3ff5aedfd5ef6f963fff668fff771ffff73ffff76ffff78ffff7cffff7effff7fffff84ffff92fffb95fefb98fffc9bfffd9fffffa2ffffa4ffffa4ffff44e0fa4de6fc57edfd5ff5ff63fcff64ffff65ffff68ffff73ffff76ffff7affff7effff84ffff8affff8effff91fffe94fefe98fffe9efffea4fefeacfffeb2fffdb6fffdb8fffe5bf4fd63f9ff6affff68fcff69ffff69ffff6affff6effff75ffff7cfeff80feff86ffff8dffff93fffe95fffe99ffff9bffff9ffeffa5ffffacffffb3fffdbafffdc0fffdc1fffc6afeff6affff6dffff6fffff7effff80feff81ffff81ffff84feff87ffff8bffff91ffff97ffff9cffff9fffffa3fffea6ffffa9ffffaffeffb6fffebdfffec4fffdc9fffccafffc6fffff6fffff70ffff72ffff84ffff86ffff86ffff89feff91ffff96ffff99ffff9effffa4ffffa8ffffacffffafffffb4ffffb7ffffbdffffc3ffffcafffdd0fffdd5fffdd6fffc83feff82feff83ffff84ffff8fffff8fffff90ffff92ffffa0ffffa4ffffa7ffffacffffb1ffffb5ffffb8ffffbbffffc2ffffc6ffffcaffffd1fffed6fffddcfffde1fffce2fffc8afeff8afeff8afeff8bffff93ffff94ffff95ffff97ffffaaffffafffffb2ffffb6ffffbcffffbfffffc2ffffc6ffffceffffd2ffffd6ffffdcfefee2fffee7fffcecfffbedfffc9cfefd9bfefd9cfdfd9dfefda5fffea6fffda6fffda8fffdb5ffffb9ffffbaffffbfffffc4ffffc7ffffcaffffceffffd8ffffdbffffdffffee5fffeeafffdf0fffdf4fffcf6fffc9dfdfd9efefd9efdfd9ffefda7fffda8fffda8fffdaafffeb7ffffbcffffbfffffc2ffffc7ffffcbffffceffffd1ffffdbffffdfffffe3ffffe8fffeeefffdf4fffdf7fffbfafffb",
    image: "ff0a030700138802006802b59f200000152aa38c1bbc9cebf9f24387c5b48deb0c6db56d610963b3bd304848388376f962c9adf9801d6eb081df88715e7331315e2ab4dd7c73d2871d76001a65d4340503002aa4a06980ddb26a546c241919232327bc590038cc44bddd77b433bec21ad55f77ce3ac71b00811ba41302112441b2b17d77b0efce31145420cab1f79fedd63795cf3e7a9be22079b067fb89e6c1d648473037",
};

/// An animation of five grey images.
const ANIMATION: &str = "ff0a1840411300088a5b02080001006c004b188b1501125e1836653ae1a9f44f94ef01e5ab8d990955040214080001006c004b188b1501125e1836653ae1a9f44f94ef01e5ab8d990955040214080001006c004b188b1501125e1836653ae1a9f44f94ef01e5ab8d990955040214080001006c004b188b1501125e1836653ae1a9f44f94ef01e5ab8d990955040214080005006c004b188b1501125e1836653ae1a9f44f94ef01e5ab8d990955040214";

#[test]
fn lossless_images_of_imagecodecs_are_read_under_every_name() {
    for case in WRITTEN {
        let elements = native(case.elements, case.number.size(), &ByteOrder::Little);
        assert_eq!(decoded(NAME, &hex(case.image), "", (case.shape, case.number)).unwrap(), elements);
        for (format, name) in
            [(Format::V2, NAME), (Format::V3, NAME), (Format::V3, "numcodecs.imagecodecs_jpegxl")]
        {
            created(format, name, r#"{"lossless": true, "index": 0}"#, (case.shape, case.number)).unwrap();
        }
    }
}

#[test]
fn lossy_images_differ_by_rounding() {
    let elements = decoded(NAME, &hex(LOSSY.image), "", (LOSSY.shape, LOSSY.number)).unwrap();
    let expected = hex(LOSSY.elements);
    let difference = elements.iter().zip(&expected).map(|(one, other)| one.abs_diff(*other)).max();
    assert!(elements.len() == expected.len() && difference <= Some(1), "{difference:?}");
}

#[test]
fn images_that_do_not_match_the_chunk_are_corrupt() {
    let image = hex(WRITTEN[0].image);
    for chunk in
        [(&[6u64, 4][..], UINT8), (&[4, 6], UINT16), (&[4, 6], FLOAT32), (&[4, 6, 3], UINT8), (&[24], UINT8)]
    {
        let result = decoded(NAME, &image, "", chunk);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{chunk:?}: {result:?}");
    }
    let animation = decoded(NAME, &hex(ANIMATION), "", (&[4, 6], UINT8));
    assert!(matches!(animation, Err(CodecError::Corrupt(_))), "{animation:?}");
}

/// An image of at least 2^20 zeros that imagecodecs 2026.10.10 wrote.
#[test]
fn an_image_that_is_much_larger_than_the_chunk_takes_little_memory() {
    let bombs = include_str!("../../../conformance/interop/tests/bombs.tsv");
    let digits = bombs.lines().find_map(|row| row.strip_prefix("imagecodecs_jpegxl\t")).unwrap();
    for number in [UINT8, UINT16, FLOAT32] {
        let mut result = Ok(Vec::new());
        let memory = highest(|| result = decoded(NAME, &hex(digits), "", (&[4, 6], number))).unwrap();
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
        assert!(memory < 2 << 20, "{memory}");
    }
}

#[test]
fn damage_never_panics_and_truncated_images_are_corrupt() {
    for case in WRITTEN.iter().chain([&LOSSY]) {
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
    for chunk in [(&[4u64, 6][..], INT16), (&[4, 6], FLOAT64), (&[4, 6, 5], UINT8), (&[2, 4, 6, 3], UINT8)] {
        let result = created(Format::V3, NAME, "", chunk);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{chunk:?}: {result:?}");
    }
    for member in [r#""index": 1"#, r#""keeporientation": true"#, r#""planar": true"#] {
        let result = created(Format::V3, NAME, &format!("{{{member}}}"), (&[4, 6], UINT8));
        let Err(CodecError::Unsupported(reason)) = result else { panic!("{member}: {result:?}") };
        let name = member.split('"').nth(1).unwrap();
        assert!(reason.contains(name), "{reason}");
    }
}

#[test]
fn chunks_are_stored_without_loss() {
    for (shape, number) in [
        (&[2_u64, 2][..], UINT8),
        (&[4, 6], UINT16),
        (&[9, 13, 2], UINT8),
        (&[1, 300, 257, 3], UINT8),
        (&[270, 33, 3], UINT16),
        (&[5, 7, 4], UINT8),
    ] {
        let size = usize::try_from(shape.iter().product::<u64>()).unwrap() * number.size();
        let codec = created(Format::V2, NAME, r#"{"distance": 1.0}"#, (shape, number)).unwrap();
        for step in [0, 1, 37, 255] {
            let chunk: Vec<u8> = (0..size).map(|place| (place * step / 3).to_le_bytes()[0]).collect();
            let image = encode(&codec, &array(shape, number), &chunk).unwrap();
            assert!(decoded(NAME, &image, "", (shape, number)).unwrap() == chunk, "{shape:?} {step}");
        }
    }
    let codec = created(Format::V3, NAME, "", (&[8, 8], UINT8)).unwrap();
    check_lossless(&codec, &array(&[8, 8], UINT8), &[7; 64]).unwrap();
    let entry = zarr_spec::codec::CodecEntry::from(Jpegxl::default());
    assert!(format!("{entry:?}").contains("lossless"), "{entry:?}");
}

#[test]
fn chunks_that_are_only_read_cannot_be_encoded() {
    for (shape, number) in [(&[4_u64, 6][..], FLOAT32), (&[4, 6, 4], UINT16), (&[5], UINT8), (&[6, 1], UINT8)]
    {
        let codec = created(Format::V3, NAME, "", (shape, number)).unwrap();
        let size = usize::try_from(shape.iter().product::<u64>()).unwrap() * number.size();
        let result = encode(&codec, &array(shape, number), &vec![0; size]);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{shape:?}: {result:?}");
    }
}
