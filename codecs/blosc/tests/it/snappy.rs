//! Buffers with Snappy: written by TensorStore, of various sizes, and with a wrong value in each field.

use std::sync::Arc;

use zarr_codec_blosc::{Blosc, Compressor, Shuffle};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::types::UINT8;
use zarr_conformance::{array, hex};
use zarr_spec::{Codec, CodecError};

/// Decoded size, `typesize`, shuffle, and the output of TensorStore 0.1.86 with Snappy for [`hundreds`].
const TENSORSTORE: &[(u32, usize, Shuffle, &str)] = &[
    // One block of four streams.
    (
        512,
        4,
        Shuffle::None,
        "\
        02014004 00020000 00020000 6c000000 140000000f00000080010000fe01008a010000016a01000e00000080010001fe\
        01000d010002da01000f00000080010002aa01000003fe01004a01001c000000800100033a01000004fe01008a01002c0505\
        05050505050505050505",
    ),
    (
        512,
        4,
        Shuffle::Byte,
        "\
        02014104 00020000 00020000 a0000000 140000001f000000800100005e010000015e010000025e010000035e01000004\
        5e0100080505051f000000800100005e010000015e010000025e010000035e010000045e0100080505051f00000080010000\
        5e010000015e010000025e010000035e010000045e0100080505051f000000800100005e010000015e010000025e01000003\
        5e010000045e010008050505",
    ),
    (
        512,
        4,
        Shuffle::Bit,
        "\
        02014404 00020000 00020000 d8000000 140000002d000000800140000000feffff030000f8ffff0f0000e000050104fc\
        ff0101000f050c19010cf0ffffff190efe010009012d000000800140000000feffff030000f8ffff0f0000e000050104fcff\
        0101000f050c19010cf0ffffff190efe010009012d000000800140000000feffff030000f8ffff0f0000e000050104fcff01\
        01000f050c19010cf0ffffff190efe010009012d000000800140000000feffff030000f8ffff0f0000e000050104fcff0101\
        000f050c19010cf0ffffff190efe01000901",
    ),
    // Eight blocks of one stream, and a shorter one with 19 bytes after its last element.
    (
        1003,
        24,
        Shuffle::Byte,
        "\
        02015118 eb030000 78000000 ee000000 34000000480000005f000000740000008c000000a0000000b4000000cb000000\
        e0000000100000007800005a010000010118fe05006a0500130000007810010101010296050000020128fe05001105110000\
        0078100202020303e205000003013cd205001400000078100303040404fe05002e0500000401508605001000000078100405\
        050505fe05007a05004e0100100000007800065a010000070118fe05006a0500130000007810070707070896050000080128\
        fe050011051100000078100808080909e205000009013cd205000a0000002b00099a0100080a0a0a",
    ),
    // A block has five elements, which are not shuffled.
    (
        1003,
        24,
        Shuffle::Bit,
        "\
        02015418 eb030000 78000000 cc000000 34000000460000005800000067000000790000008b0000009d000000af000000\
        be0000000e000000780000fe01008a010000014a01000e000000780001fe01003a010000029a01000b000000780002ea0100\
        0003ea01000e0000007800039a01000004fe01003a01000e0000007800044a01000005fe01008a01000e000000780006fe01\
        008a010000074a01000e000000780007fe01003a010000089a01000b000000780008ea01000009ea01000a0000002b00099a\
        0100080a0a0a",
    ),
    // Five blocks of eight elements, and one of a single element.
    (
        1000,
        24,
        Shuffle::Bit,
        "\
        02015418 e8030000 c0000000 d4000000 28000000430000006400000087000000a4000000ca00000017000000c00104e0\
        0009015e080000f0091ffe0800fe08006208001d000000c00108e1fe000501de080004e0ff053f62080000f00d20fe08005e\
        08001f000000c0010ce101fe000101fe0800de080008e000ff017f62080000f00d205e080019000000c0010cc1feff000101\
        5e080000e10d20fe0800fe08005e080022000000c0011cc30303fc00000000de08000cc10101fe01405e080000e10d20fe08\
        005e0800060000002800099a0100",
    ),
    // 145 elements, which are not shuffled.
    (
        580,
        4,
        Shuffle::Bit,
        "\
        02014404 44020000 44020000 64000000 140000000f00000091010000fe01008a01000001ae01000f00000091010001d6\
        01000002fe0100620100130000009101000215010003fe01008a010000048601000f00000091010004fe01000005fe01003a\
        0100",
    ),
    // Stored: less than one element.
    (
        150,
        200,
        Shuffle::Byte,
        "\
        020153c8 96000000 01000000 a6000000 0000000000000000000000000000000000000000000000000000000000000000\
        0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
        0000000000000000000000000000000000000101010101010101010101010101010101010101010101010101010101010101\
        010101010101010101010101010101010101",
    ),
    // Stored: three bytes after the last element.
    (
        131,
        16,
        Shuffle::Bit,
        "\
        02015610 83000000 80000000 93000000 0000000000000000000000000000000000000000000000000000000000000000\
        0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
        00000000000000000000000000000000000001010101010101010101010101010101010101010101010101010101010101",
    ),
    // Stored: level 0.
    (
        20,
        4,
        Shuffle::Byte,
        "\
        02015304 14000000 14000000 24000000 0000000000000000000000000000000000000000",
    ),
];

/// Returns a hundred times 0, a hundred times 1, and so on.
fn hundreds(size: u32) -> Vec<u8> {
    (0..size).map(|place| (place / 100).to_le_bytes()[0]).collect()
}

fn blosc_codec(blosc: Blosc) -> Codec {
    Codec::BytesToBytes(Arc::new(blosc))
}

fn snappy(level: u8, shuffle: Shuffle, typesize: usize, blocksize: usize) -> Codec {
    blosc_codec(Blosc::new(Compressor::Snappy, level, shuffle, typesize, blocksize).unwrap())
}

#[test]
fn decodes_buffers_of_tensorstore_with_snappy() {
    let other = blosc_codec(Blosc::new(Compressor::Zstd, 5, Shuffle::None, 1, 0).unwrap());
    for &(size, typesize, shuffle, buffer) in TENSORSTORE {
        let chunk = array(&[u64::from(size)], UINT8);
        let limit = usize::try_from(size).unwrap();
        let buffer = hex(buffer);
        assert_eq!(decode(&other, &chunk, &buffer, limit).unwrap(), hundreds(size), "{size} {shuffle:?}");
        let error = decode(&other, &chunk, &buffer, limit - 1).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
        check_damaged(&other, &chunk, &buffer, limit, 5000).unwrap();
        let level = if size == 20 { 0 } else { 5 };
        let blocksize = usize::try_from(u32::from_le_bytes(*buffer[8..].first_chunk().unwrap())).unwrap();
        let ours = encode(&snappy(level, shuffle, typesize, blocksize), &chunk, &hundreds(size)).unwrap();
        assert_eq!(ours[..2], buffer[..2], "{size} {shuffle:?}");
        assert_eq!(ours[3..12], buffer[3..12], "{size} {shuffle:?}");
    }
}

#[test]
fn snappy_round_trips_at_all_sizes() {
    let noise = |place: u32| (place.wrapping_mul(2_654_435_761) >> 19).to_le_bytes()[0];
    for size in [0, 1, 2, 15, 127, 128, 129, 1000, 4099, 65_536, 150_003] {
        let chunk = array(&[u64::from(size)], UINT8);
        let halves: Vec<u8> = (0..size).map(|place| if place % 4 < 2 { noise(place) } else { 7 }).collect();
        for decoded in [hundreds(size), (0..size).map(noise).collect(), halves] {
            for (typesize, level, blocksize) in [
                (1, 5, 0),
                (2, 9, 0),
                (3, 1, 300),
                (4, 0, 0),
                (8, 3, 4096),
                (16, 5, 1 << 20),
                (17, 2, 0),
                (255, 6, 1),
            ] {
                for shuffle in [Shuffle::None, Shuffle::Byte, Shuffle::Bit] {
                    let codec = snappy(level, shuffle, typesize, blocksize);
                    check_lossless(&codec, &chunk, &decoded)
                        .unwrap_or_else(|wrong| panic!("{size} {typesize} {level} {shuffle:?}: {wrong}"));
                    let encoded = encode(&codec, &chunk, &decoded).unwrap();
                    assert!(encoded.len() <= decoded.len() + 16);
                }
            }
        }
    }
}

/// Starts with a valid block of two stored streams of 128 bytes, and changes one field at a time.
#[test]
fn every_size_in_a_buffer_of_snappy_is_checked() {
    let stream = |byte: &str| format!("80000000 {}", byte.repeat(128));
    let with = |header: &str, start: &str| hex(&format!("{header} {start} {}{}", stream("01"), stream("02")));
    let good = with("02014002 00010000 00010000 1c010000", "14000000");
    let codec = snappy(5, Shuffle::None, 2, 0);
    let chunk = array(&[256], UINT8);
    let decoded = [[1; 128], [2; 128]].concat();
    assert_eq!(decode(&codec, &chunk, &good, 256).unwrap(), decoded);
    let wrongs = [
        ("02024002 00010000 00010000 1c010000", "14000000", "unknown version 2 of its inner format"),
        ("02014802 00010000 00010000 1c010000", "14000000", "bit 3 is reserved"),
        ("02014000 00010000 00010000 1c010000", "14000000", "its element size is 0"),
        ("02014002 00010000 00000000 1c010000", "14000000", "its blocks have 0 bytes"),
        ("02014002 00010000 01010000 1c010000", "14000000", "its blocks have 257 bytes"),
        ("02014002 00010000 ffffffff 1c010000", "14000000", "its blocks have 4294967295 bytes"),
        ("02014002 00010000 01000000 1c010000", "14000000", "too short for the offsets of 256 blocks"),
        ("02014002 ff000000 ff000000 1c010000", "14000000", "does not decode to 255"),
        ("02014002 00010000 00010000 1b010000", "14000000", "has 284 bytes, but its header declares 283"),
        ("02014002 ffffffff 00010000 1c010000", "14000000", "at most 2147483631 are possible"),
        ("02014202 00010000 00010000 1c010000", "14000000", "it stores 268 bytes; expected 256"),
        ("02014002 00010000 00010000 1c010000", "10000000", "a block has the invalid offset 16"),
        ("02014002 00010000 00010000 1c010000", "1d010000", "a block has the invalid offset 285"),
        ("02014002 00010000 00010000 1c010000", "1c010000", "it ends before a stream"),
        (
            "02014002 00010000 00010000 1c010000",
            "18000000",
            "a stream of 16843009 bytes extends past its end",
        ),
        ("02015002 00010000 00010000 1c010000", "14000000", "a stream of 128 bytes does not decode to 256"),
    ];
    for (header, start, why) in wrongs {
        let error = decode(&codec, &chunk, &with(header, start), 256).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    let uneven = [hex("02014002 01010000 01010000 1d010000 14000000"), good[20..].to_vec(), vec![3]].concat();
    let error = decode(&codec, &chunk, &uneven, 257).unwrap_err();
    assert!(error.to_string().contains("its blocks of 257 bytes cannot be split into 2 streams"), "{error}");
    check_damaged(&codec, &chunk, &good, 256, 20_000).unwrap();
}
