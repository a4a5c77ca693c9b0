//! `imagecodecs_jpeg2k`: images written by imagecodecs and Pillow, which call OpenJPEG, and errors.

use zarr_codec_jpeg2k as _;
use zarr_conformance::codecs::{check_damaged, created, decode, decoded, encode};
use zarr_conformance::types::{FLOAT32, INT8, INT16, INT32, Number, UINT8, UINT16, UINT32};
use zarr_conformance::{array, hex, native};
use zarr_spec::{ByteOrder, CodecError, Format};

const NAME: &str = "imagecodecs_jpeg2k";

/// A chunk, and an image that imagecodecs 2026.10.10 writes and reads for it.
struct Case {
    shape: &'static [u64],
    number: Number,
    configuration: &'static str,
    elements: &'static str,
    image: &'static str,
}

const WRITTEN: &[Case] = &[
    Case {
        shape: &[4, 6],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "e2e9f0f7fe050c131a21282f363d444b525960676e757c83",
        image: "0000000c6a5020200d0a870a00000014667479706a703220000000006a7032200000002d6a703268000000166968647200000004000000060001070700000000000f636f6c72010000000000110000009b6a703263ff4fff510029000000000006000000040000000000000000000000060000000400000000000000000001070101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000290001ff93cfb46013052c891701eb1080f283e2f3f285aa0fae0e37ca115360ffd9",
    },
    Case {
        shape: &[4, 6],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "e2e9f0f7fe050c131a21282f363d444b525960676e757c83",
        image: "ff4fff510029000000000006000000040000000000000000000000060000000400000000000000000001070101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000290001ff93cfb46013052c891701eb1080f283e2f3f285aa0fae0e37ca115360ffd9",
    },
    Case {
        shape: &[1, 5],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "e2e9f0f7fe",
        image: "ff4fff510029000000000005000000010000000000000000000000050000000100000000000000000001070101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000160001ff93cfb41402714c4bbdffd9",
    },
    Case {
        shape: &[4, 6],
        number: INT8,
        configuration: r#"{}"#,
        elements: "e2e9f0f7fe050c131a21282f363d444b525960676e757c83",
        image: "ff4fff510029000000000006000000040000000000000000000000060000000400000000000000000001870101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000290001ff93cfb4600346bc5ddaf3e3ad4684d68a3e84410e9b169cd8c9abd26fffd9",
    },
    Case {
        shape: &[4, 6],
        number: UINT16,
        configuration: r#"{}"#,
        elements: "e2ffe9fff0fff7fffeff05000c0013001a00210028002f0036003d0044004b0052005900600067006e0075007c008300",
        image: "ff4fff5100290000000000060000000400000000000000000000000600000004000000000000000000010f0101ff52000c00000001000004040001ff5c00044080ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000300001ff93cffc3078130b2ac55b3a9115393114c1d727e0351ecefbbfbf532c2ed1a6676b35e7ffd9",
    },
    Case {
        shape: &[4, 6],
        number: INT16,
        configuration: r#"{}"#,
        elements: "e2ffe9fff0fff7fffeff05000c0013001a00210028002f0036003d0044004b0052005900600067006e0075007c008300",
        image: "ff4fff5100290000000000060000000400000000000000000000000600000004000000000000000000018f0101ff52000c00000001000004040001ff5c00044080ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a00000000002b0001ff93c01f80c82e35259d5d01fc3592fd461971280395e74f566e72d0ef1d26ffd9",
    },
    Case {
        shape: &[4, 6],
        number: UINT16,
        configuration: r#"{}"#,
        elements: "000090002001b0014002d0024001d0016002f0028003100480021003a0033004c0045005c0035004e004700500069006",
        image: "ff4fff5100290000000000060000000400000000000000000000000600000004000000000000000000010b0101ff52000c00000001000004040001ff5c00044060ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a00000000002b0001ff93dfe0681216ceec539d246c451f0f060b90fd79a3aaf74bc386c3623d37ffd9",
    },
    Case {
        shape: &[5, 6, 3],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "003c78094581124e8a1b579324609c2d69a514508c1d599526629e2f6ba73874b0417db92864a0316da93a76b2437fbb4c88c45591cd3c78b44581bd4e8ac65793cf609cd869a5e1508cc85995d1629eda6ba7e374b0ec7db9f5",
        image: "0000000c6a5020200d0a870a00000014667479706a703220000000006a7032200000002d6a703268000000166968647200000005000000060003070700000000000f636f6c7201000000000010000000bf6a703263ff4fff51002f000000000006000000050000000000000000000000060000000500000000000000000003070101070101070101ff52000c00000001010004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000470001ff93cfb4681221e449386a0cf638b3fc2d35c4d127bbb7e4b639e5636dd9e1c7d41614005b6cff428000184847c7d4161150536cff428000184847ffd9",
    },
    Case {
        shape: &[5, 6, 3],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "003c78094581124e8a1b579324609c2d69a514508c1d599526629e2f6ba73874b0417db92864a0316da93a76b2437fbb4c88c45591cd3c78b44581bd4e8ac65793cf609cd869a5e1508cc85995d1629eda6ba7e374b0ec7db9f5",
        image: "ff4fff51002f000000000006000000050000000000000000000000060000000500000000000000000003070101070101070101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a00000000006a0001ff93df80e8121e806c5022da1f7ce4d8e0007a6388c4008ab412dedc0bb99b7cdabfcfb4681221e449386a0cf638b3fc2d35c4d127bbb7e4b639e5636dd9e1cfb4701ed0a60a016c5daac0a6b18afde8c614be0ca8e34591d3a8383eb52fffd9",
    },
    Case {
        shape: &[3, 5, 4],
        number: UINT16,
        configuration: r#"{}"#,
        elements: "00007017e02e50468403f41a6432d4490807781ee835584d8c0afc216c39dc50100e8025f03c6054d007401fb036204e540bc422343aa451d80e4826b83d28555c12cc293c41ac58e015502dc044305ca00f1027803ef0552413942a04427459a816182e8845f85c2c1a9c310c497c60b01d2035904c0064",
        image: "ff4fff5100320000000000050000000300000000000000000000000500000003000000000000000000040f01010f01010f01010f0101ff52000c00000001000004040001ff5c00044080ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a00000000008c0001ff93dff890e006b61e71e3aa4fbcd2414de8cb5bb28074938bd8f601efee1ff564cfcffc306c08ec72de7ffbbd02607cd3af42068b9ffacf05b6463b2e8a3fce37cffc307408e465a6b10ac21ef09b934cc1ed5e52bb69d459bbe6bf54426d8b7d3fc7fe0c3408ec325d93fa21b4b60cfc2d8c148f3de33d228806b8b436748dffd9",
    },
    Case {
        shape: &[3, 5, 2],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "003c0945124e1b57246014501d5926622f6b38742864316d3a76437f4c88",
        image: "ff4fff51002c000000000005000000030000000000000000000000050000000300000000000000000002070101070101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000330001ff93df808806b61d093be967843d9f16b65eb83fea7fcfb43806bf6aeba045897d73772b23a82bffd9",
    },
    Case {
        shape: &[3, 5, 6],
        number: UINT8,
        configuration: r#"{"planar": true}"#,
        elements: "0009121b242d141d262f384128313a434c553c454e5760695059626b747d3c454e5760695059626b747d646d767f889178818a939ca58c959ea7b0b978818a939ca58c959ea7b0b9a0a9b2bbc4cdb4bdc6cfd8e1c8d1dae3ecf5",
        image: "ff4fff51002f000000000006000000050000000000000000000000060000000500000000000000000003070101070101070101ff52000c00000001010004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000470001ff93cfb4681221e449386a0cf638b3fc2d35c4d127bbb7e4b639e5636dd9e1c7d41614005b6cff428000184847c7d4161150536cff428000184847ffd9",
    },
    Case {
        shape: &[4, 6],
        number: UINT32,
        configuration: r#"{}"#,
        elements: "01000000282300005046000078690000a08c0000c8af0000204e0000487100007094000098b70000c0da0000e8fd0000409c000068bf000090e20000b8050100e0280100084c010060ea0000880d0100b0300100d853010000770100289a0100",
        image: "ff4fff510029000000000006000000040000000000000000000000060000000400000000000000000001190101ff52000c00000001000004040001ff5c000440d0ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000480001ff93cffd206c1150549070590a19de739c021224690d8d9fd0c8ec2136093dd935d8900cd2b6ce32f0d6a7493d53036f0a353cb1d77e04248304a605ffd9",
    },
    Case {
        shape: &[4, 6],
        number: UINT32,
        configuration: r#"{}"#,
        elements: "00000000282300005046000078690000a08c0000c8af0000204e0000487100007094000098b70000c0da0000e8fd0000409c000068bf000090e20000b8050100e0280100084c010060ea0000880d0100b0300100d853010000770100289a0100",
        image: "ff4fff510029000000000006000000040000000000000000000000060000000400000000000000000001130101ff52000c00000001000004040001ff5c000440a0ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000460001ff93dff951a01216d40e5fe3f65637ec4dd9ec3111ab66e5b1d066587190837336df41c48fbc493d3021e51fff16fa19a5923697870d86c47a6fffd9",
    },
    Case {
        shape: &[4, 6],
        number: INT32,
        configuration: r#"{}"#,
        elements: "00000000282300005046000078690000a08c0000c8af0000204e0000487100007094000098b70000c0da0000e8fd0000409c000068bf000090e20000b8050100e0280100084c010060ea0000880d0100b0300100d853010000770100289a0100",
        image: "ff4fff510029000000000006000000040000000000000000000000060000000400000000000000000001990101ff52000c00000001000004040001ff5c000440d0ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000410001ff93c00ffc60b819afb6c6eec413dcd2a141b185a64b08e281c4366749a7984899838473f1e9decdf30e8cadff815f8553615cca27ffd9",
    },
    Case {
        shape: &[4, 6],
        number: INT32,
        configuration: r#"{}"#,
        elements: "00000000282300005046000078690000a08c0000c8af0000204e0000487100007094000098b70000c0da0000e8fd0000409c000068bf000090e20000b8050100e0280100084c010060ea0000880d0100b0300100d853010000770100289a0100",
        image: "ff4fff510029000000000006000000040000000000000000000000060000000400000000000000000001930101ff52000c00000001000004040001ff5c000440a0ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000410001ff93c3ff0c170019afb6c6eec413dcd2a141b185a64b08e281c4366749a7984899838473f1e9decdf30e8cadff815f8553615cca27ffd9",
    },
    Case {
        shape: &[16, 24],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "0007121b232a31384154666c70747b87959fa7a2a5b6c8cc0d141f272f3c494f55626e7880878e98a5afb1b8c8dddcdf242b363c45586a7174787e8b99a2aab1bbc3c3d5c8e1e8ed3c444f555c68757f888c91a0aab0b7c7daddf7ffe6fd0b00565d696f74787e8b99a1a8b3babfc3dbd4d6faf4000b1d226b727c82878b919eaab7c5d5e2def4fff7ea070b202b1e1f7f848d9298a0a8b0b8cee4d4e2f2f6ea121c1e2c1c33494e94959ca0a8b6c6d7e2d4e1f7fa0f002e25321d293b4b585ba9a6a9adb7cee4d2e0f1ff0e07211a24373f464e5861686abbc0ccddd8d9daf2f91c14000a1e1c2a474e555f6e75797bccdac7e0e8fcfc06062a2a263e3f464e575e667481888c8ed0ede8ff0d0b120f0922233a4a4c555f6b75808b969ea4a6e1fc000d1c252c243c3d454e565e6672808e9aa2a9b3bbbd000d272f2027304555585e676e78838e98a3adb5bdc6ced0182920354a5359636a71767b828e9ca4abb3bbc3cbd5dcde432e23354d565c6a70777c818794a2aab0b7bfc7cfd9e0e2",
        image: "ff4fff510029000000000018000000100000000000000000000000180000001000000000000000000001070101ff52000e010200010001040400008888ff5c000b42482457d357d35762ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000670001ff93cf895010dbad91718062c436e03301f7905f0b3bd588930833231472117c1b782b64e9639ad64208db323b1d94c38b8f80f8716038896cd885123c36ecd467390764fe75b1f20a1d7e4e20cfb2083424358ae794287a3dbbbbffd9",
    },
    Case {
        shape: &[8, 12],
        number: UINT8,
        configuration: r#"{}"#,
        elements: "0009121b242d363f48515a63141d262f38414a535c656e7728313a434c555e677079828b3c454e576069727b848d969f5059626b747d868f98a1aab3646d767f88919aa3acb5bec778818a939ca5aeb7c0c9d2db8c959ea7b0b9c2cbd4dde6ef",
        image: "ff4fff51002900000000000c0000000800000000000000000000000c0000000800000000000000000001070101ff52000c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000650001ff93df82a01230c64b1297a671397eff1f20b74d926b6374077bff232032d12501f4eb2bf38fd5236abb5485e26ca63eadb1cd704328b84e88f2565152ba6971974bab93a9ac1d78792eb697661cd86c361a9f61fefeb1d979ffd9",
    },
];

/// A chunk, and an image that Pillow 13.0.0 writes for it: in tiles with `tile_size`, and in layers with small precincts.
const BY_PILLOW: &[Case] = &[
    Case {
        shape: &[12, 20],
        number: UINT8,
        configuration: "{}",
        elements: "0009121b242d363f48515a636c757e879099a2ab141d262f38414a535c656e778089929ba4adb6bf28313a434c555e677079828b949da6afb8c1cad33c454e576069727b848d969fa8b1bac3ccd5dee75059626b747d868f98a1aab3bcc5ced7e0e9f2fb646d767f88919aa3acb5bec7d0d9e2ebf4fd060f78818a939ca5aeb7c0c9d2dbe4edf6ff08111a238c959ea7b0b9c2cbd4dde6eff8010a131c252e37a0a9b2bbc4cdd6dfe8f1fa030c151e273039424bb4bdc6cfd8e1eaf3fc050e172029323b444d565fc8d1dae3ecf5fe071019222b343d464f58616a73dce5eef70009121b242d363f48515a636c757e87",
        image: "ff4fff5100290000000000140000000c0000000000000000000000080000000800000000000000000001070101ff52000c00000001000104040001ff5c00074040484850ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000000320001ff93df8090120f31d0ec7be6ce7819ff3122927c2935dfc0f90241f38400221a085f037fb42fff90000a00010000003c0001ff93cfb440036b233e66e3afb60b59bb465a6a627fc3ea07bf3078fc01001fc33bf147786f24cd95329f590f1fc3ff7fff90000a0002000000310001ff93df804809f015bf72cc134ca6c3ea069f80347e004008fe9f85f8df0a03b522bebf0a1dff90000a0003000000360001ff93cfb4240b2041f5990ca8314fcfc01e7e0113f3051913fe8c6d907f1491e576d3071ef7181b6b657fff90000a0004000000360001ff93df805004b858114492d3e96b2ec7da0f3f0088fc00c006720716a25d7f0e6398160b60fcf707573fff90000a0005000000230001ff93cfb418078380b6041fc0f90141f383000d010b3c62ffd9",
    },
    Case {
        shape: &[6, 10, 3],
        number: UINT8,
        configuration: "{}",
        elements: "003c78094581124e8a1b579324609c2d69a53672ae3f7bb74884c0518dc914508c1d599526629e2f6ba73874b0417db94a86c2538fcb5c98d465a1dd2864a0316da93a76b2437fbb4c88c45591cd5e9ad667a3df70ace879b5f13c78b44581bd4e8ac65793cf609cd869a5e172aeea7bb7f384c0fc8dc905508cc85995d1629eda6ba7e374b0ec7db9f586c2fe8fcb0798d410a1dd1964a0dc6da9e576b2ee7fbbf788c40091cd099ad612a3df1bace824b5f12d",
        image: "ff4fff51002f00000000000a000000060000000000000000000000080000000400000000000000000003070101070101070101ff52000c00000001010104040001ff5c00074040484850ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a00000000003b0001ff93cfb42007c6f7718659f493c7d40c01d7d962841fc7d40c088fed62841fc0f901c1f3840015867f0b415ba78080ff90000a00010000003f0001ff93c7d4060b525fc7d40603143fc7d40608575fc0f90140f90143ed0202f00c0f0c5fc7da053f0029f981000c5f0c5f0c5f80ff90000a00020000004e0001ff93c7d40a0af0131d03cfb4180aee32ef04cfc7d408091248c1c1f38487d40b0fb40c0aeef90f0e1279c6870f8b11cfc00e7e0093f30310601f0de916c50f8b1280ff90000a00030000002a0001ff93c7d4040473df8010089fc7d404099fc0f90141f38200043f02bf8080ffd9",
    },
    Case {
        shape: &[16, 24],
        number: UINT8,
        configuration: "{}",
        elements: "0009121b242d363f48515a636c757e879099a2abb4bdc6cf141d262f38414a535c656e778089929ba4adb6bfc8d1dae328313a434c555e677079828b949da6afb8c1cad3dce5eef73c454e576069727b848d969fa8b1bac3ccd5dee7f0f9020b5059626b747d868f98a1aab3bcc5ced7e0e9f2fb040d161f646d767f88919aa3acb5bec7d0d9e2ebf4fd060f18212a3378818a939ca5aeb7c0c9d2dbe4edf6ff08111a232c353e478c959ea7b0b9c2cbd4dde6eff8010a131c252e374049525ba0a9b2bbc4cdd6dfe8f1fa030c151e273039424b545d666fb4bdc6cfd8e1eaf3fc050e172029323b444d565f68717a83c8d1dae3ecf5fe071019222b343d464f58616a737c858e97dce5eef70009121b242d363f48515a636c757e879099a2abf0f9020b141d262f38414a535c656e778089929ba4adb6bf040d161f28313a434c555e677079828b949da6afb8c1cad318212a333c454e576069727b848d969fa8b1bac3ccd5dee72c353e475059626b747d868f98a1aab3bcc5ced7e0e9f2fb",
        image: "ff4fff510029000000000018000000100000000000000000000000180000001000000000000000000001070101ff52000f01020003000200000001112233ff5c000a4040484850484850ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90000a0000000001820001ff938080df803007aafc2fb25f8080cfb4140ea1d2adbfc8800aa380fd80806302b7bf80c8800c78fd8060c4636fc880003880fd806022afbd8080cfb41407a30b9f7b8080c03a14010c03e1080fcf0e0fd78080c0f9024fc0161f68280c1b666f0fd9653ed70f4a5b20ef8080c3ea058fb4161f68280af6181bdf0bab0d7b340c5116a5c9a7060ba81c80c1f385fb4121f682800084e7ff7ff32b987f01f0f27b538080c1f3859f802c1f502000e2bbb47f07cdc3f96e07190a748080c3ea0487d40900210d29b9cf0b3c543a078080808080c7da0b3f0088fc01c0242f9be7fb24d6e900c7bea69f1facb5655cff7f8080c7da1b3f00a8fc01c01956e566fd8213dff9d5f2f87f09e9170465d8e6bc2f5f09cdaeae908e7f8080c7da153f00e8fc020009ef00679ec1c8f07cdf0786411ead26d9668616ff45867f16a39696023c38af8080c7da0f3f00b8fc01001751eb242a2727175062b18d2204ad436d5d1281e68f8080c0f90241f38400221a085f037fb42fffd9",
    },
];

#[test]
fn images_of_imagecodecs_are_read_under_every_name() {
    for case in WRITTEN.iter().chain(BY_PILLOW) {
        let elements = native(case.elements, case.number.size(), &ByteOrder::Little);
        let chunk = (case.shape, case.number);
        let read = decoded(NAME, &hex(case.image), case.configuration, chunk);
        assert_eq!(read.unwrap(), elements, "{:?} {}", case.shape, case.configuration);
        for (format, name) in
            [(Format::V2, NAME), (Format::V3, NAME), (Format::V3, "numcodecs.imagecodecs_jpeg2k")]
        {
            created(format, name, r#"{"level": 0, "tile": null, "mct": true}"#, chunk).unwrap();
        }
    }
}

/// Written by imagecodecs 2026.10.10, in `conformance/formats/wild`.
#[test]
fn the_stored_image_is_read() {
    let image = include_bytes!("../../../conformance/formats/wild/imagecodecs/v2.zarr/images/jpeg2k/0.0");
    let expected: Vec<u8> = (0..128u32).map(|i| u8::try_from(i * i % 199).unwrap_or_default()).collect();
    assert_eq!(decoded(NAME, image, "", (&[8, 16], UINT8)).unwrap(), expected);
}

#[test]
fn images_that_do_not_match_the_chunk_are_corrupt() {
    let image = hex(WRITTEN[0].image);
    for chunk in [
        (&[6u64, 4][..], UINT8),
        (&[4, 6], UINT16),
        (&[4, 6], INT8),
        (&[4, 6], UINT32),
        (&[4, 6, 3], UINT8),
        (&[24], UINT8),
    ] {
        let result = decoded(NAME, &image, "", chunk);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{chunk:?}: {result:?}");
    }
}

#[test]
fn damage_never_panics_and_truncated_images_are_corrupt() {
    for case in WRITTEN.iter().chain(BY_PILLOW) {
        let codec = created(Format::V3, NAME, case.configuration, (case.shape, case.number)).unwrap();
        let image = hex(case.image);
        let size = case.elements.len() / 2;
        check_damaged(&codec, &array(case.shape, case.number), &image, size, 2000).unwrap();
        // The marker of the end has two bytes, which may be missing.
        for end in 0..image.len() - 2 {
            let result = decode(&codec, &array(case.shape, case.number), &image[..end], size);
            assert!(matches!(result, Err(CodecError::Corrupt(_))), "{end}: {result:?}");
        }
    }
}

/// Returns the image of a chunk of 4 × 6 bytes, after writing `bytes` to it, `at` bytes after the start of the size
/// marker.
fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut image = hex(WRITTEN[0].image);
    let start = image.windows(2).position(|pair| pair == [0xff, 0x51]).unwrap_or_default();
    image[start + at..][..bytes.len()].copy_from_slice(bytes);
    image
}

/// Decodes an image as a chunk of 4 × 6 bytes, which must fail, and returns the reason.
fn refused(image: &[u8]) -> String {
    match decoded(NAME, image, "", (&[4, 6], UINT8)) {
        Err(CodecError::Corrupt(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_supported_is_refused() {
    for chunk in [(&[4u64, 6][..], FLOAT32), (&[2, 4, 6, 3], UINT8), (&[2, 2, 65536], UINT8)] {
        let result = created(Format::V3, NAME, "", chunk);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{chunk:?}: {result:?}");
    }
    assert!(created(Format::V3, NAME, r#"{"quality": 2}"#, (&[4, 6], UINT8)).is_err());
    // Changes the sampling of the first component.
    assert!(refused(&changed(41, &[2, 2])).contains("subsampled"));
    let image = hex(WRITTEN[0].image);
    let style = image.windows(2).position(|pair| pair == [0xff, 0x52]).unwrap_or_default();
    let image = [&image[..style], &[0xff, 0x30, 0, 2], &image[style..]].concat();
    assert!(refused(&image).contains("marker 0x30 of the image is not supported"));
    let codec = created(Format::V3, NAME, "", (&[4, 6], UINT8)).unwrap();
    let result = encode(&codec, &array(&[4, 6], UINT8), &[0; 24]);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
}

#[test]
fn boxes_that_change_samples_are_refused() {
    let image = hex(WRITTEN[0].image);
    let start = image.windows(4).position(|name| name == b"jp2h").unwrap_or_default() - 4;
    let with = |name: &[u8; 4], content: &[u8]| {
        let size = |size: usize| u32::try_from(size).unwrap_or_default().to_be_bytes();
        let inner = [&size(content.len() + 8)[..], name, content].concat();
        let header = [&size(inner.len() + 8)[..], b"jp2h", &inner].concat();
        [&image[..start], &header, &image[start..]].concat()
    };
    let plain = decoded(NAME, &image, "", (&[4, 6], UINT8)).unwrap();
    for (name, content, reason) in [
        (b"pclr", &[][..], "a palette"),
        (b"cmap", &[], "a palette"),
        (b"colr", &[1, 0, 0, 0, 0, 0, 18], "the color space sYCC"),
        (b"colr", &[2, 0, 0, 1], "a color profile"),
        (b"cdef", &[0, 2, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 1], "reordered channels"),
    ] {
        assert!(refused(&with(name, content)).contains(reason), "{reason}");
    }
    for (name, content) in [
        (b"colr", &[1, 0, 0, 0, 0, 0, 17][..]),
        (b"cdef", &[0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0]),
        (b"res ", &[1, 2, 3]),
    ] {
        assert_eq!(decoded(NAME, &with(name, content), "", (&[4, 6], UINT8)).unwrap(), plain);
    }
    assert!(refused(&image[..start]).contains("does not have a codestream"));
    assert!(refused(b"not an image").contains("not a JPEG 2000 image"));
}

/// Decoding refuses images with many tiles or precincts for few samples: each of these parts takes memory.
#[test]
fn headers_that_need_much_more_memory_than_the_samples_are_refused() {
    let shape = &[512u64, 512];
    // The size and the offset of the image, then the size and the offset of a tile.
    let numbers: [u32; 8] = [512, 512, 0, 0, 1, 1, 0, 0];
    let sizes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let result = decoded(NAME, &changed(6, &sizes), "", (shape, UINT8));
    let Err(CodecError::Corrupt(reason)) = result else { panic!("{result:?}") };
    assert!(reason.to_string().contains("too many for 262144 samples"), "{reason}");

    // The style states precincts of one sample.
    let sizes: Vec<u8> =
        [512_u32, 512, 0, 0, 512, 512, 0, 0].iter().flat_map(|it| it.to_be_bytes()).collect();
    let image = changed(6, &sizes);
    let start = image.windows(2).position(|pair| pair == [0xff, 0x52]).unwrap_or_default();
    let style = [0xff, 0x52, 0, 13, 1, 0, 0, 1, 0, 0, 4, 4, 0, 1, 0];
    let image = [&image[..start], &style, &image[start..]].concat();
    let result = decoded(NAME, &image, "", (shape, UINT8));
    let Err(CodecError::Corrupt(reason)) = result else { panic!("{result:?}") };
    assert!(reason.to_string().contains("too many for 262144 samples"), "{reason}");
}
