//! `imagecodecs_webp`: images written by imagecodecs, which calls libwebp, and errors.

use zarr_codec_webp as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, created, decoded};
use zarr_conformance::types::{INT8, Number, UINT8, UINT16};
use zarr_conformance::{array, hex};
use zarr_spec::{CodecError, Format};

const NAME: &str = "imagecodecs_webp";

/// A chunk, and what imagecodecs 2026.10.10 writes for it.
struct Case {
    shape: &'static [u64],
    number: Number,
    elements: &'static str,
    image: &'static str,
}

const WRITTEN: &[Case] = &[
    Case {
        shape: &[4, 6, 3],
        number: UINT8,
        elements: "003c78044585094e930d57a01260ae1669bb0a50960e59a31362b1176bbe1c74cc207dd91464b4186dc11d76cf217fdc2688ea2a91f71e78d22281df278aed2b93fa309cff34a5ff",
        image: "5249464648000000574542505650384c3b0000002f05c00000b90a44f43f761185e87f404dc034cccd1f39f817061d16040249fb5b4ea2b49114c8de8bc35227e507c1244db51de35faa268f7bc50200",
    },
    Case {
        shape: &[4, 6, 4],
        number: UINT8,
        elements: "003c78a50445859c094e93930d57a08a1260ae811669bb800a5096910e59a3881362b180176bbe801c74cc80207dd9801464b480186dc1801d76cf80217fdc802688ea802a91f7801e78d2802281df80278aed802b93fa80309cff8034a5ff80",
        image: "524946465c000000574542505650384c500000002f05c00010b98ce87fec220ad1ff8099b66d6eff8133febc56140281a4fd2d2751d4b69134d73e1308c5b9f0d5b48d24993f9045f79573dd114cd254db31f72f88cc3ffca421f201092407a491187a28",
    },
    Case {
        shape: &[5, 3, 3],
        number: UINT8,
        elements: "003c78044585094e930a50960e59a31362b11464b4186dc11d76cf1e78d22281df278aed288cf02c95fd319eff",
        image: "524946464a000000574542505650384c3e0000002f020001007740266d03fde269fea54d8382b40d58d8ee9009580c3779c59fff1e8cb7f2c978b941412349cdf746f584273ce1096111fd8f4d476fbcf627",
    },
    Case {
        shape: &[16, 24, 3],
        number: UINT8,
        elements: "00418200478c004f990257aa0761bd096acd0973db0a7be21992f61c99fa23a4fc28abfa2fb3f935baf83dc4fb43cbfa43cff14ad7f24fdff755e6f95ef2ff62f7ff65fdff68ffff08519a0d57a21060b01268bf1472d0177cde1986ec1a8ef21e99f823a2fb2aacfd30b4fc3abffd41c7fe49d0ff4fd8ff55dffe59e7fd60eeff63f2ff6afaff6dfdff6dffff6dffff1b68c01f6ec82477d42580e1278bed2a94f92d9fff2fa5ff31b0ff35b8ff3dc1ff43c9ff4ad1ff50d8ff58e1ff5ee8ff66f2ff6bf5ff6df8ff6df9ff74fdff75ffff78ffff78ffff2779da2b7fe02e89ea3092f3329dfd35a8ff3ab2ff3cb9ff3dc1ff43c8ff4bd2ff51d9ff56dfff5ce6ff61edff66f2ff70faff71faff73faff75faff7bfcff7dfcff7efcfd7efcfb318aeb3391f1379cf73ba8fe3eb2ff3fbbff44c5ff45cdff4cd5ff53ddff5ce5ff61edff66f2ff66f4ff68f7fb6bf8fa73fcff76fbff79faff7cf9fc86ffff8afefb8efefa8ffdfa3699f33da3f941affe45bbff47c5ff48cfff4dd9ff51dfff5ae6ff60edff68f5ff6cf9ff6efdff71fffb71fff773fff976fffd7cfeff80fdfc86fcfb91fffe96fffa9bfff99efef940aff748bafe4dc5ff4ecffe50dafd53e3fb59ecff5ef2ff64f6ff6bf9ff72feff73ffff73fffa74fff576fff178fff37dfffb82fffd87fffc8cfff89afffba0fff9a6fff6a9fff64ac4f851cdfc54d6fe55ddfd5ae8fd5ef0fc64f9ff69fcff6dfffb71fffa76fffb79fff87cfff57dfff081ffee83fff086fff689fff88ffff994fef7a1fffaa6fff8acfff8affef659ddfa5fe3ff63eaff68f1ff67f6ff6af9ff6fffff73ffff76fff979fff37ffff485fff38cfff492fff596fff499fff799fff99cfffa9dfffaa2fffbabffffaefffeb3fffdb4fffd5fe5f565ebfb69f2ff70f9ff72fdff74ffff77ffff7affff7efffa81fff285fff18cfff295fef39dfbf5a1fbf6a3faf6a7fffca7fffca9fffcacfefcb4ffffb7ffffbaffffbbffff68ebf56ef0fb75f7ff7bfdff7cffff7dffff7fffff81ffff85fffd8afff990fff897fff79ffff8a5fff7abfef8acfdf8b1fffeb2fffeb4fffeb7fffebfffffc2ffffc5ffffc6ffff73eff57af6fc80fcff83ffff85ffff85ffff87ffff88ffff8dfffe91fffc97fff99ffff8a5fff7abfef8b1fcfab2fbfabbffffbcffffbeffffc1ffffc9ffffccffffcfffffd1ffff7ff5f684fbfc88feff8affff8dffff8effff8fffff91fffd94fffb99fff9a0fff9a6fff8aefefab3fdf9b9fcfabdfafac5ffffc8ffffcafeffcdfdffd5ffffd8feffdbffffddfeff89f9f68dfdf98ffffb90fffd91fffc94fffd95fffc97fffc9afffa9ffff8a6fff8acfffab3fdf9bbfbfabffafbc3f9f9d0ffffd3feffd4fdfdd7fcfddfffffe3fdffe5feffe7fdff91fcf393fdf494fef595fff796fff897fff99bfffb9dfff9a1fffaa4fff8acfffbb3fffcbbfdfdc1fbfec7faffcaf9fbd8ffffddfffddefefde1fdfde9ffffecfeffeffffff1feff94fcf294fcf295fef397fff598fff699fff79dfff99efff9a3fff8a8fff8affffbb5fefcbcfcfdc2fafec8f9ffcdf8fbddffffe2fffde4fffde7fefdeffffff2fffff5fffff6ffff",
        image: "524946466e0000005745425056503820620000005004009d012a180010003eb5489e49a72422a1300800e016896c009d32847000267b531f3636a62f9ca20000fec07621be6269b25bf2cf17763fdd5982cbae37729ffc3119782bbe856971dcf6330f15564e7a4ad79c0e4ae21d25bd103aca800000",
    },
    Case {
        shape: &[16, 24, 4],
        number: UINT8,
        elements: "004182a500478c9c004f99930257aa8a0761bd81096acd800973db800a7be2801992f6801c99fa8023a4fc8028abfa802fb3f98035baf8803dc4fb8040ccfa803cd2f18042dbf0804ae2f58053e7f78061f1fe8069f4fe806ff9ff8073fbff8008519a910d57a2881060b0801268bf801472d080177cde801986ec801a8ef2801e99f88023a2fb802aacfd8030b4fc803abffd8041c7fe8049d0ff804dd8ff804ee2fe8052eafd805df0ff8062f3ff806cf9ff8071fbff8077fcff8077fcff801b68c0801f6ec8802477d4802580e180278bed802a94f9802d9fff802fa5ff8031b0ff8035b8ff803dc1ff8043c9ff804ad1ff8050d8ff8058e1ff805ce9ff8063f3ff8066f8ff806af9ff806df9ff8075fcff807afdff807cfeff807efdff802779da802b7fe0802e89ea803092f380329dfd8035a8ff803ab2ff803cb9ff803dc1ff8043c8ff804bd2ff8051d9ff8056dfff805ce6ff8061edff8066f2ff806efbff8070fbff8074fbff8076fbff807cfaff807ff9fd8082fafb8082fbf980318aeb803391f180379cf7803ba8fe803eb2ff803fbbff8044c5ff8045cdff804cd5ff8053ddff805ce5ff8061edff8066f2ff8066f4ff8068f7fb806cf9fc8075faff8079f9ff807bf9ff807ef8fc8088feff808bfdfb808dfdf9808efcf7803699f3803da3f98041affe8045bbff8047c5ff8048cfff804dd9ff8051dfff805ae6ff8060edff8068f5ff806cf9ff806efdff8071fffb8071fff78075fff9807bfdfd8081fbff8084fafe8087fbfb8091fffe8095fffa8098fff88098fff68040aff78048bafe804dc5ff804ecffe8050dafd8053e3fb8059ecff805ef2ff8064f6ff806bf9ff8072feff8073ffff8073fffa8074fff58076fff1807bfff38083fffb808afdff808cfefc808ffef8809afffb809dfff9809efff580a0fff3804ac4f88051cdfc8054d6fe8055ddfd805ae8fd805ef0fc8064f9ff8069fcff806dfffb8071fffa8076fffb8079fff8807cfff5807dfff08081ffee8084fff0808bfff8808ffdfc8094fdfb8097fcf780a1fffc80a4fffa80a6fff880a8fff68059ddfa805fe3ff8063eaff8068f1ff8067f6ff806af9ff806fffff8073ffff8076fff98079fff3807ffff48085fff5808cfff48092fff58096fff68099fff9809bfffb809dfffe809ffffe80a4ffff80aafeff80adffff80b0fdff80b2fcff805fe5f58065ebfb8069f2ff8070f9ff8072fdff8074ffff8077ffff807affff807efffa8081fff28085fff1808cfff28095fef3809efdf680a2fcf980a5fcfa80a5fefb80a6fffe80a8fefe80adffff80b3fdff80b7fdff80b9fcff80bbfbff8068ebf5806ef0fb8075f7ff807bfdff807cffff807dffff807fffff8081ffff8085fffd808afff98090fff88097fff9809ffff880a6fffa80acfefc80affffd80aefffe80b1ffff80b3ffff80b8ffff80beffff80c2feff80c4feff80c4feff8073eff5807af6fc8080fcff8083ffff8085ffff8085ffff8087ffff8088ffff808dfffe8091fffc8097fff9809ffff880a5fef980abfdfa80b1fcfc80b2fbfc80bbffff80bcffff80c1ffff80c2ffff80c8feff80ccfcff80cefdff80cefdff807ff5f68084fbfc8088feff808affff808dffff808effff808fffff8091fffd8094fffb8099fff980a0fffb80a6fffa80aefefa80b5fefc80bbfdfd80bffcfe80c3fcff80c8fbff80c9faff80cefaff80d8ffff80dbfeff80ddfdff80defcff8089f9f6808dfdf9808ffffb8090fffd8091fffc8094fffd8095fffc8097fffc809afffa809ffff880a6fffa80acfffa80b3fdf980bbfbfa80bffafb80c4f8fb80d1feff80d4fdff80d6fcff80d9faff80e3ffff80e6feff80e8fdff80eafdff8091fcf38093fdf48094fef58095fff78096fff88097fff9809bfffb809dfff980a1fffa80a4fff880acfffb80b3fffa80bbfdfb80c1fcfc80c7fbfb80cbf8fb80d9ffff80defdff80e0fcff80e1fcff80edffff80f0ffff80f2feff80f4fdff8094fcf28094fcf28095fef38097fff58098fff68099fff7809dfff9809efff980a3fff880a8fff880affff980b5fefa80bcfcfb80c2fbfc80c8fafb80cdf8fb80dfffff80e4feff80e5fdff80e7fdff80f3ffff80f6ffff80f7ffff80f9feff80",
        image: "52494646ac00000057454250565038580a000000100000001700000f0000414c504826000000013fa0a06d1b863f9062bc3b342222409ecf0f32018b0a32a9a08bf53fbcee88fea75c363c0656503820600000005004009d012a180010003eb54a9f4a272422a1b00800e016896c009d32847000267b531f3636a62f9ca20000fec07621be6269b25bf2cf17763fdd5982cbae37729ffc3119782bbe856971dcf6330f1556c5105d5d2a049f71601c82c5c56000",
    },
];

#[test]
fn images_of_imagecodecs_are_read_under_every_name() {
    for case in WRITTEN {
        let elements = hex(case.elements);
        let chunk = (case.shape, case.number);
        assert_eq!(decoded(NAME, &hex(case.image), "", chunk).unwrap(), elements);
        for (format, name) in
            [(Format::V2, NAME), (Format::V3, NAME), (Format::V3, "numcodecs.imagecodecs_webp")]
        {
            let codec = created(format, name, r#"{"lossless": true}"#, chunk).unwrap();
            check_lossless(&codec, &array(case.shape, case.number), &elements).unwrap();
        }
    }
}

#[test]
fn images_without_alpha_are_opaque_and_alpha_is_left_out_if_asked_for() {
    let opaque = decoded(NAME, &hex(WRITTEN[0].image), "", (&[4, 6, 4], UINT8)).unwrap();
    let colors = hex(WRITTEN[0].elements);
    for (pixel, colors) in opaque.chunks(4).zip(colors.chunks(3)) {
        assert_eq!((&pixel[..3], pixel[3]), (colors, 255));
    }
    let image = hex(WRITTEN[1].image);
    let refused = decoded(NAME, &image, "", (&[4, 6, 3], UINT8));
    assert!(matches!(refused, Err(CodecError::Corrupt(_))), "{refused:?}");
    let without = decoded(NAME, &image, r#"{"hasalpha": false}"#, (&[4, 6, 3], UINT8)).unwrap();
    let with = hex(WRITTEN[1].elements);
    for (pixel, with) in without.chunks(3).zip(with.chunks(4)) {
        assert_eq!(pixel, &with[..3]);
    }
}

#[test]
fn images_that_do_not_match_the_chunk_are_corrupt() {
    for case in WRITTEN {
        let mut image = hex(case.image);
        let result = decoded(NAME, &image, "", (&[6, 4, 4], UINT8));
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
        // Each part claims 16383 × 16383 pixels or more.
        let parts = [(&b"VP8 "[..], 14, [0xff; 4]), (b"VP8L", 9, [0xff; 4])];
        for (name, offset, claim) in parts {
            if let Some(at) = image.windows(4).position(|part| part == name) {
                image[at + offset..at + offset + 4].copy_from_slice(&claim);
            }
        }
        let result = decoded(NAME, &image, "", (case.shape, case.number));
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
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
    for chunk in [
        (&[4u64, 6, 3][..], UINT16),
        (&[4, 6, 3], INT8),
        (&[4, 6], UINT8),
        (&[4, 6, 2], UINT8),
        (&[2, 4, 6, 3], UINT8),
        (&[1 << 15, 1, 3], UINT8),
    ] {
        let result = created(Format::V3, NAME, "", chunk);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{chunk:?}: {result:?}");
    }
    let index = created(Format::V3, NAME, r#"{"index": 1}"#, (&[4, 6, 3], UINT8));
    assert!(matches!(index, Err(CodecError::Unsupported(_))), "{index:?}");
}
