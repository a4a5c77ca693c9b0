//! `imagecodecs_jpeg`: images written by imagecodecs, which calls libjpeg-turbo, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zarr_codec_jpeg as _;
use zarr_conformance::codecs::{check_damaged, created, decoded, encode};
use zarr_conformance::types::{INT8, UINT8, UINT16};
use zarr_conformance::{array, hex};
use zarr_spec::{CodecError, Format};

const NAME: &str = "imagecodecs_jpeg";

/// The largest difference from the elements of libjpeg-turbo.
const DIFFERENCE: u8 = 3;

/// An image that imagecodecs 2026.10.10 writes, and the elements that it reads from the image.
struct Case {
    configuration: &'static str,
    shape: &'static [u64],
    elements: &'static str,
    image: &'static str,
}

const WRITTEN: &[Case] = &[
    Case {
        configuration: r#"{}"#,
        shape: &[8, 11],
        elements: "0009121b242d363f485159141c262f38404a535c656d28313b434c555f67707a823b444e565f68727a838d955159636c757d879099a2aa646c767f88909aa3acb5bd78818b939ca5afb7c0cad28c959ea7b0b9c2cbd4dde6",
        image: "ffd8ffe000104a46494600010100000100010000ffdb0043000201010101010201010102020202020403020202020504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affc0000b080008000b01011100ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffda0008010100003f00f15fd96ffe0925ff001edff14cfa7fcb1afb77c37ff0492ff8915b7fc533ff002cbfe78d7fffd9",
    },
    Case {
        configuration: r#"{}"#,
        shape: &[8, 11, 3],
        elements: "00407c0047870550940958a30f61b5126ac41673d21b7cdd2184e9278ff22f97fa0751980c59a11362af186abc1c74cb207ed82586e42a8eec2e97f333a0fb39a7ff1263be186cc61e76d0227fdc2889e72b92ee309cf435a5f93aadfe3eb6ff43bcff1c79d92280e0288be92c93ef309cf633a6f937affb3db8fc42bfff47c8ff4ccfff268feb2b97f1319ff835a8f939b1fd3dbafc41c4fc46cdfd4bd5fc51ddfe57e4ff30a3f635aafa3ab2fe3ebbfe42c4fe46cefe4bd7fb50dffd58e9fe5eefff62f6ff3bb6f941bdfb47c5ff4bcfff4fd9ff53e2ff57eafe5df1fd64f9ff67fcff6bffff49c7ff4dceff53d5ff57dfff5deaff60f3ff65f9ff67ffff6affff6bffff6dffff",
        image: "ffd8ffe000104a46494600010100000100010000ffdb0043000201010101010201010102020202020403020202020504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affdb004301020202020202050303050a0706070a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0affc00011080008000b03012200021101031101ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffc4001f0100030101010101010101010000000000000102030405060708090a0bffc400b51100020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9faffda000c03010002110311003f00e87f67bff826dd9592c24787c1c6324c75f50693fb0a6856fa6c30bdb42a5530463a51457f51e79c4d9ae0f13ec70f2508ae91563fce9c56698ec5e21fb49b3fffd9",
    },
    Case {
        configuration: r#"{}"#,
        shape: &[9, 18, 3],
        elements: "003f7e004789054f960759a50d61b7116ac61971d31e7adf2283ea278ff22c99f42ea2f532acf537b4f43ebcf742c6f745cff448d7f70850980e58a11362af166bbc1b75cb207ed82785e52b8dee3198f734a1fc37abfe39b3fc3dbdfc44c5fe4bcdff4ed6fe54e1ff57e9ff1363ba186cc21d77cd2181d8278be32b93ea309cf436a4f939acfd3db6ff3fbfff42c7ff48d1ff4fd9fe56e1ff5be9ff60f4ff62f9ff1e78d82380dd288be62b95ed2f9df233a6f637affb3db8fe42bfff46c9ff4ad3ff50dcff55e5ff5cedff64f3ff67faff68fcff6affff298def2d95f4309ff832a9fb37b3fd3abbfd41c3ff46ccff4bd4fe51ddff57e7ff5cefff62f6ff66fbff6afeff6fffff70feff72ffff32a1fa36a8fe39b3ff3bbcff3fc6ff45cfff4bd6ff50dfff57e7ff5deeff61f5ff65faff6afeff6dfffe6ffffb73fffc79fffe7cffff3cb5fa40bdff44c6ff48d0ff4cdaff52e3ff57e9ff5eefff65f8ff6bfcff6dfeff6fffff72ffff75fffe7afffd7efffc83fffd87fffe47c9fd4cd0ff4ed9ff53e2ff58edff5ef4ff65f9ff6afeff6cfefe6fffff71fffe73fffe78fffe7cffff82ffff89ffff8cfefe8ffffe52dbff58e3ff5bebff5ff5ff64fdff65feff6affff6effff71fffe76ffff79ffff7cffff81ffff87ffff8dffff90ffff94ffff97ffff",
        image: "ffd8ffe000104a46494600010100000100010000ffdb0043000201010101010201010102020202020403020202020504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affdb004301020202020202050303050a0706070a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0affc00011080009001203012200021101031101ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffc4001f0100030101010101010101010000000000000102030405060708090a0bffc400b51100020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9faffda000c03010002110311003f00e87f67bff826dd9592c24787c1c6324c75f61fc28fd8d3c2fe198a26bdb242ca07c88a2bd03e17ff00c8213f0fe55e8ba2f51f4afe90cf38b7337cd428da9c17489fe7952c56333ac4b55aa34ae7211fc16f0ca46a8ba14580a00f968af4a5e83e9457c3ff006c63ff009dfdecf7d70be0bf99fde7ffd9",
    },
    Case {
        configuration: r#"{"colorspace_data": "RGB", "colorspace_jpeg": 2}"#,
        shape: &[8, 11, 3],
        elements: "003d77044584094e940d57a11260ad1669ba1b73c91f7bd62482e5288df12d96fd0a4f990e59a21362af176bbc1c74cc207ddb2587e9298ff22e98fd32a2ff37aaff1464b4196dc01d77cf2180dd2689eb2b92f62f9bfd34a4ff38acff3db5ff41bdfe1d77d12281e0268bee2b92f7309bfd34a4ff38aeff3db6fe41c0fe46c9ff4ad2ff288cf12d95fa319fff35a7ff3ab0ff3fb9ff43c3fe48ccfe4cd3ff51dcff55e5ff31a0fe36a8ff3ab2ff3fbafe44c4fe48cdff4cd7ff51dffe55ecfe5af3fd5ffafd3cb5ff40bdff45c7fe49cffe4ed9ff52e2ff57ebff5bf1ff60f9ff64fdff69ffff46c8ff4ad1ff4fdaff53e3ff58ecff5cf5fe61fcfe65ffff6afffd6effff73ffff",
        image: "ffd8ffee000e41646f626500640000000000ffdb0043000201010101010201010102020202020403020202020504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affc00011080008000b03521100471100421100ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffda000c03520047004200003f00fcc9f85bfb24ff00abff008967a7f057d0dfb2e7fc125028b766f0d000019262afd9cf82dfb12fc11f83163147a5f86e0b9b88d47ef25880507d857b7e9bfb24ff00a045ff0012cfe1fee57d8fa27fc1333c1f69a4c16d711daaba47865dbd3f4af5d82082da2582da148e351854450001ec057fffd9",
    },
    Case {
        configuration: r#"{"colorspace_data": "YCBCR", "colorspace_jpeg": "YCbCr"}"#,
        shape: &[8, 11, 3],
        elements: "004892044d970956a20d60ae1269bc1672c91b7cd71f85e2248eee2896f62d9bfc0a539f0e58a51361b0176bbc1c74c9207dd62586e0298fea2e99f232a0f837a5fd1469ba196ec01d77cb2181d7268ae42b93ee2f9bf434a4f838adfb3db4fd41b9fe1d7dd42281d9268be22b95ec309ef534a7fb38b0fe3db8ff41c1ff46c8ff4acdfe288eed2d92f0319cf535a6f93ab1fc3fbafe43c3ff48ccff4cd5fe51dcfe55e1ff31a2fb36a6fc3ab0fe3fbaff44c4ff48cdff4cd5ff51deff55e6fe5aecfe5ff0ff3cb9fe40bdfe45c6ff49cfff4ed9fe52e0fe57e7fe5beefe60f4fe64f8fe69faff46c4ff4ac8ff4fd2ff53daff58e3fe5ceafe61f0fe65f6fe6afbfe6efefe73ffff",
        image: "ffd8ffe000104a46494600010100000100010000ffdb0043000201010101010201010102020202020403020202020504040304060506060605060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affdb004301020202020202050303050a0706070a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0affc00011080008000b03012200021101031101ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffc4001f0100030101010101010101010000000000000102030405060708090a0bffc400b51100020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9faffda000c03010002110311003f00fcc9f85bfb24ff00abff008967a7f057b7e9bfb24ffa045ff12cfe1fee51457faa1e10f801e16e5bc370952c0a774b7b7e891fef1e49c3d9270de0e385cb30f0a34d6968a4befeafe67fffd9",
    },
    Case {
        configuration: r#"{}"#,
        shape: &[16, 24, 3],
        elements: "073c7e0c4288124e961557a5175fb41968c41d74d31f7ddf2488e82691ef2e9cf335a6f637adf53db4f643bbf742c5f341daec40e1e947e9ee52eff65df6fc66fbff6affff6dffff0d4d971254a0195dae1c66bb1e6fc82079d52684e4288cec2996f12d9ff736abfb3cb5fe40bcfc46c3fd4dcbfd4ed4f94ee7f74eedf354f1f65cf5fb64f9ff6bfbff6efdff70fdff1764bc1b6bc42175cf257eda2887e52a91ee2f9cf931a4fd34adff38b6ff41c2ff46cbff4cd3ff51d9ff5ae0ff5ce8ff5ff6ff60f9fe64fcff6afeff6ffeff73feff76fdff77fcff1a7bda2083e1288cec2c94f32c9df931a7ff35b2ff39bbff3ec3ff44ccff4bd7ff52e0ff59e6ff5eecff66f3ff6bf9ff6afeff6dfeff70ffff76ffff7bffff7effff81feff82fdff218fee2596f42da0f931a9ff32b1ff36baff3cc6ff41cdff47d7ff4ddfff56eaff5defff61f5ff68f8ff6dfeff74ffff6efdfb73fdfd79ffff7fffff86ffff8affff8effff8fffff2aa5f52eabfb35b5ff39bdff3dc5ff41ceff47d8ff4ce0ff53e8ff5aefff60f6ff67faff6bfdfd6ffefc75fffc7cfffe76fdf97bfdfb81fffc89ffff8fffff95ffff99ffff9affff36bafa3cc0fe42caff48d1ff4ad9ff50e0ff55ebff5bf2ff5ff5ff66fbff6effff73ffff74fff977fff87bfff781fffc81fffb85fffe8bffff92ffff96ffff9cffff9fffffa2ffff41c7fc47cdff4dd7ff53deff55e6ff5bedff61f7ff69fdff68fdff6fffff75ffff79fffd7bfff97efff77ffff685fffb8affff8fffff93ffff99ffff9cffffa1ffffa5ffffa6feff4cedf74fedf853f1fa5af4fe60f9ff67fcff6efdff73feff78fdff7bfcff7ffcfe83fdff87fdfd8cfeff8dffff91fdff9affff9ffeffa1ffffa6ffffabfeffb0ffffb5feffb7feff56f3fc5af4fe5cf6fe62f9ff69fcff6ffeff75ffff79ffff7cfdff80fdff85fdfe89fcff8cfefe90feff91fffe96feff9effffa4ffffa6ffffaaffffb0ffffb4ffffb9feffbbfeff67faff68fbff6cfcff6ffeff75ffff7affff80ffff84ffff86fdff8afdff8dfdfe91fdff96fefd9afefe9bfffda0fefea8ffffaeffffb0ffffb4ffffbaffffbeffffc2ffffc4ffff75feff78feff79ffff7cffff80ffff84ffff88ffff8cffff91feff95feff9afefe9efdffa1fffea5ffffa6fffeabffffb3ffffb9ffffbcffffc0ffffc6ffffcaffffceffffd0ffff81feff82fdff83feff87feff8afdff8dfdff91fdff94fcff9dffffa1ffffa6feffaafefeaffffeb1ffffb4fffeb8ffffc1ffffc6ffffc9ffffcdffffd3ffffd7ffffdaffffddffff8afbff8bfaff8cfcff90fbff94fcff98fbff9cfbfd9ffafbaaffffaeffffb3fffdb7fffebafffdbefffebffffdc4fffeccffffd1ffffd5ffffd9ffffdfffffe3ffffe7ffffe9ffff92f9fe94faff95fbff99faff9dfcfea2fdffa7fdfeabfcffb4ffffb8ffffbbfffebffffec4fffec8ffffc9fffeceffffd6ffffdbffffdeffffe2ffffe8ffffecfffff1fffff3ffff96f9fe98f9ff9afcff9ffcffa3feffa7ffffaeffffb1ffffb9ffffbbfffec1fffec5fffec8fffdcdffffcefffed2fffedbffffdfffffe2ffffe6ffffecfffff0fffff6fffff7ffff",
        image: "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763ffdb0043011112121815182f1a1a2f634238426363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363ffc00011080010001803012100021101031101ffc4001f0000010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffc4001f0100030101010101010101010000000000000102030405060708090a0bffc400b51100020102040403040705040400010277000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9faffda000c03010002110311003f0092cf47031f2d6cdbe9c8806457ad52a28ab23c094dc997a38028e0628ae3722a34ae854880e82a658a94a4694e9132c54564e477469687ffd9",
    },
];

fn assert_near(elements: &[u8], expected: &[u8]) {
    assert_eq!(elements.len(), expected.len());
    let difference = elements.iter().zip(expected).map(|(one, other)| one.abs_diff(*other)).max();
    assert!(difference.unwrap() <= DIFFERENCE, "{difference:?}");
}

#[test]
fn images_of_imagecodecs_are_read_under_every_name() {
    for case in WRITTEN {
        let elements = decoded(NAME, &hex(case.image), case.configuration, (case.shape, UINT8)).unwrap();
        assert_near(&elements, &hex(case.elements));
        for name in [NAME, "numcodecs.imagecodecs_jpeg"] {
            created(Format::V3, name, case.configuration, (case.shape, UINT8)).unwrap();
        }
    }
}

/// Divides an image as TIFF files do: tables that all images have, and the rest of each image.
#[test]
fn tables_and_headers_of_all_chunks_are_in_the_configuration() {
    let case = &WRITTEN[1];
    let image = hex(case.image);
    let mut parts = [vec![0xff, 0xd8], vec![0xff, 0xd8]];
    let mut at = 2;
    while image[at + 1] != 0xda {
        let end = at + 2 + usize::from(u16::from_be_bytes([image[at + 2], image[at + 3]]));
        let is_table = [0xdb, 0xc4].contains(&image[at + 1]);
        parts[usize::from(!is_table)].extend_from_slice(&image[at..end]);
        at = end;
    }
    let [mut tables, rest] = parts;
    tables.extend_from_slice(&[0xff, 0xd9]);
    let rest = [&rest, &image[at..]].concat();
    let configuration = format!(r#"{{"tables": "{}"}}"#, STANDARD.encode(&tables));
    let elements = decoded(NAME, &image, "", (case.shape, UINT8)).unwrap();
    assert_eq!(decoded(NAME, &rest, &configuration, (case.shape, UINT8)).unwrap(), elements);
    let result = decoded(NAME, &rest, "", (case.shape, UINT8));
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    let configuration = format!(r#"{{"header": "{}"}}"#, STANDARD.encode(&image[..at]));
    let body = &image[at..image.len() - 2];
    assert_eq!(decoded(NAME, body, &configuration, (case.shape, UINT8)).unwrap(), elements);
    let wrong = created(Format::V3, NAME, r#"{"tables": "?"}"#, (case.shape, UINT8));
    assert!(matches!(wrong, Err(CodecError::InvalidConfiguration(_))), "{wrong:?}");
}

#[test]
fn images_that_do_not_match_the_chunk_are_corrupt() {
    let image = hex(WRITTEN[1].image);
    for shape in [&[11u64, 8, 3][..], &[8, 11], &[8, 12, 3], &[4, 11, 3]] {
        let result = decoded(NAME, &image, "", (shape, UINT8));
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{shape:?}: {result:?}");
    }
    let grey = decoded(NAME, &hex(WRITTEN[0].image), "", (&[8, 11, 3], UINT8));
    assert!(matches!(grey, Err(CodecError::Corrupt(_))), "{grey:?}");
    // The header claims 65500 × 65500 pixels.
    let mut bomb = image;
    let size = bomb.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap() + 5;
    bomb[size..size + 4].copy_from_slice(&[0xff, 0xdc, 0xff, 0xdc]);
    for shape in [&[8u64, 11, 3][..], &[65500, 65500, 3]] {
        let result = decoded(NAME, &bomb, "", (shape, UINT8));
        assert!(matches!(result, Err(CodecError::Corrupt(_) | CodecError::TooLarge(_))), "{result:?}");
    }
}

#[test]
fn damage_never_panics_and_truncated_images_are_corrupt() {
    for case in WRITTEN {
        let codec = created(Format::V3, NAME, case.configuration, (case.shape, UINT8)).unwrap();
        let image = hex(case.image);
        let size = case.elements.len() / 2;
        check_damaged(&codec, &array(case.shape, UINT8), &image, size, 2000).unwrap();
        for end in (0..image.len() - 20).step_by(7) {
            let result = decoded(NAME, &image[..end], case.configuration, (case.shape, UINT8));
            assert!(matches!(result, Err(CodecError::Corrupt(_))), "{end}: {result:?}");
        }
    }
}

#[test]
fn what_is_not_supported_is_refused() {
    for chunk in
        [(&[8u64, 11, 3][..], UINT16), (&[8, 11], INT8), (&[8, 11, 4], UINT8), (&[2, 8, 11, 3], UINT8)]
    {
        let result = created(Format::V3, NAME, "", chunk);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{chunk:?}: {result:?}");
    }
    for (configuration, member) in [
        (r#"{"lossless": true}"#, "lossless"),
        (r#"{"bitspersample": 12}"#, "bitspersample"),
        (r#"{"fancyupsampling": false}"#, "fancyupsampling"),
        (r#"{"colorspace_jpeg": "CMYK"}"#, "colorspace_jpeg"),
        (r#"{"colorspace_data": 5}"#, "colorspace_data"),
        (r#"{"colorspace_data": "YCBCR", "colorspace_jpeg": "RGB"}"#, "colorspace_data"),
        (r#"{"colorspace_data": "GRAYSCALE"}"#, "colorspace_data"),
    ] {
        let result = created(Format::V3, NAME, configuration, (&[8, 11, 3], UINT8));
        let Err(CodecError::Unsupported(reason)) = result else { panic!("{configuration}: {result:?}") };
        assert!(reason.contains(member), "{reason}");
    }
    let squeezed = created(Format::V3, NAME, r#"{"squeeze": false}"#, (&[1, 8, 11, 3], UINT8));
    assert!(matches!(squeezed, Err(CodecError::Unsupported(_))), "{squeezed:?}");
}

#[test]
fn it_only_decodes() {
    let codec = created(Format::V3, NAME, "", (&[8, 11], UINT8)).unwrap();
    let result = encode(&codec, &array(&[8, 11], UINT8), &[0; 88]);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
}

#[test]
fn errors_are_plain_sentences() {
    let image = hex(WRITTEN[0].image);
    let scan = image.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    let mut wrong_scan = image.clone();
    wrong_scan[scan + 4] = 9;
    for (image, expected) in [
        ([&[0, 1], &image[2..]].concat(), "the bytes are not a JPEG image"),
        (image[..image.len() / 2].to_vec(), "the image ends early"),
        (wrong_scan, "the header of a scan is wrong"),
    ] {
        let result = decoded(NAME, &image, "", (WRITTEN[0].shape, UINT8));
        let Err(CodecError::Corrupt(reason)) = result else { panic!("{result:?}") };
        assert_eq!(reason.to_string(), expected);
    }
}
