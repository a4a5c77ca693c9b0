//! The test vectors of the requirements: a fill value and its bytes in both byte orders, in both directions.

use zarr_conformance::hex;
use zarr_spec::ByteOrder;

use crate::strict;

/// Type, fill value, bytes in little endian, bytes in big endian.
type Vector = (&'static str, &'static str, &'static str, &'static str);

fn check(vectors: &[Vector]) {
    for (name, fill, little, big) in vectors {
        let subject = strict(name);
        let element = subject.fill(fill).unwrap();
        assert_eq!(subject.stored(&element, &ByteOrder::Little), hex(little), "{name} {fill}, little endian");
        assert_eq!(subject.stored(&element, &ByteOrder::Big), hex(big), "{name} {fill}, big endian");
        let written = subject.json(&element).unwrap();
        assert_eq!(subject.fill(&written).unwrap(), element, "{name} {fill}, written as {written}");
    }
}

/// Tests DT-VEC-01, DT-VEC-02, DT-VEC-03, DT-VEC-04, DT-VEC-05.
#[test]
fn vectors_01_to_05_are_exact() {
    check(&[
        ("bool", "true", "01", "01"),
        ("bool", "false", "00", "00"),
        ("int8", "-128", "80", "80"),
        ("int8", "127", "7f", "7f"),
        ("uint8", "255", "ff", "ff"),
    ]);
}

/// Tests DT-VEC-06, DT-VEC-07, DT-VEC-08, DT-VEC-09, DT-VEC-10.
#[test]
fn vectors_06_to_10_are_exact() {
    check(&[
        ("int16", "-2", "fe ff", "ff fe"),
        ("int16", "258", "02 01", "01 02"),
        ("uint16", "65535", "ff ff", "ff ff"),
        ("int32", "-2147483648", "00 00 00 80", "80 00 00 00"),
        ("int32", "42", "2a 00 00 00", "00 00 00 2a"),
    ]);
}

/// Tests DT-VEC-11, DT-VEC-12, DT-VEC-13, DT-VEC-14, DT-VEC-15.
#[test]
fn vectors_11_to_15_are_exact() {
    check(&[
        ("uint32", "4294967295", "ff ff ff ff", "ff ff ff ff"),
        ("int64", "-9223372036854775808", "00 00 00 00 00 00 00 80", "80 00 00 00 00 00 00 00"),
        ("int64", "9007199254740993", "01 00 00 00 00 00 20 00", "00 20 00 00 00 00 00 01"),
        ("uint64", "18446744073709551615", "ff ff ff ff ff ff ff ff", "ff ff ff ff ff ff ff ff"),
        ("uint64", "9223372036854775809", "01 00 00 00 00 00 00 80", "80 00 00 00 00 00 00 01"),
    ]);
}

/// Tests DT-VEC-16, DT-VEC-17, DT-VEC-18, DT-VEC-19, DT-VEC-20.
#[test]
fn vectors_16_to_20_are_exact() {
    check(&[
        ("float16", "0", "00 00", "00 00"),
        ("float16", "-0.0", "00 80", "80 00"),
        ("float16", "1.5", "00 3e", "3e 00"),
        ("float16", "0.1", "66 2e", "2e 66"),
        ("float16", "-2e0", "00 c0", "c0 00"),
    ]);
}

/// Tests DT-VEC-21, DT-VEC-22, DT-VEC-23, DT-VEC-24, DT-VEC-25.
#[test]
fn vectors_21_to_25_are_exact() {
    check(&[
        ("float16", "3.141592653589793", "48 42", "42 48"),
        ("float32", "0", "00 00 00 00", "00 00 00 00"),
        ("float32", "-0.0", "00 00 00 80", "80 00 00 00"),
        ("float32", "1.5", "00 00 c0 3f", "3f c0 00 00"),
        ("float32", "0.1", "cd cc cc 3d", "3d cc cc cd"),
    ]);
}

/// Tests DT-VEC-26, DT-VEC-27, DT-VEC-28, DT-VEC-29, DT-VEC-30.
#[test]
fn vectors_26_to_30_are_exact() {
    check(&[
        ("float32", "-2e0", "00 00 00 c0", "c0 00 00 00"),
        ("float32", "3.141592653589793", "db 0f 49 40", "40 49 0f db"),
        ("float64", "0", "00 00 00 00 00 00 00 00", "00 00 00 00 00 00 00 00"),
        ("float64", "-0.0", "00 00 00 00 00 00 00 80", "80 00 00 00 00 00 00 00"),
        ("float64", "1.5", "00 00 00 00 00 00 f8 3f", "3f f8 00 00 00 00 00 00"),
    ]);
}

/// Tests DT-VEC-31, DT-VEC-32, DT-VEC-33, DT-VEC-34, DT-VEC-35.
#[test]
fn vectors_31_to_35_are_exact() {
    check(&[
        ("float64", "0.1", "9a 99 99 99 99 99 b9 3f", "3f b9 99 99 99 99 99 9a"),
        ("float64", "-2e0", "00 00 00 00 00 00 00 c0", "c0 00 00 00 00 00 00 00"),
        ("float64", "3.141592653589793", "18 2d 44 54 fb 21 09 40", "40 09 21 fb 54 44 2d 18"),
        ("float16", "\"Infinity\"", "00 7c", "7c 00"),
        ("float16", "\"-Infinity\"", "00 fc", "fc 00"),
    ]);
}

/// Tests DT-VEC-36, DT-VEC-37, DT-VEC-38, DT-VEC-39, DT-VEC-40.
#[test]
fn vectors_36_to_40_are_exact() {
    check(&[
        ("float16", "\"NaN\"", "00 7e", "7e 00"),
        ("float16", "\"0x7e01\"", "01 7e", "7e 01"),
        ("float16", "\"0xfe00\"", "00 fe", "fe 00"),
        ("float16", "\"0x0001\"", "01 00", "00 01"),
        ("float16", "\"0x3c00\"", "00 3c", "3c 00"),
    ]);
}

/// Tests DT-VEC-41, DT-VEC-42, DT-VEC-43, DT-VEC-44, DT-VEC-45.
#[test]
fn vectors_41_to_45_are_exact() {
    check(&[
        ("float32", "\"Infinity\"", "00 00 80 7f", "7f 80 00 00"),
        ("float32", "\"-Infinity\"", "00 00 80 ff", "ff 80 00 00"),
        ("float32", "\"NaN\"", "00 00 c0 7f", "7f c0 00 00"),
        ("float32", "\"0x7fc00000\"", "00 00 c0 7f", "7f c0 00 00"),
        ("float32", "\"0x7fc00001\"", "01 00 c0 7f", "7f c0 00 01"),
    ]);
}

/// Tests DT-VEC-46, DT-VEC-47, DT-VEC-48, DT-VEC-49, DT-VEC-50.
#[test]
fn vectors_46_to_50_are_exact() {
    check(&[
        ("float32", "\"0x7f800001\"", "01 00 80 7f", "7f 80 00 01"),
        ("float32", "\"0xffc00000\"", "00 00 c0 ff", "ff c0 00 00"),
        ("float32", "\"0x00000001\"", "01 00 00 00", "00 00 00 01"),
        ("float32", "\"0x3f800000\"", "00 00 80 3f", "3f 80 00 00"),
        ("float64", "\"Infinity\"", "00 00 00 00 00 00 f0 7f", "7f f0 00 00 00 00 00 00"),
    ]);
}

/// Tests DT-VEC-51, DT-VEC-52, DT-VEC-53, DT-VEC-54, DT-VEC-55.
#[test]
fn vectors_51_to_55_are_exact() {
    check(&[
        ("float64", "\"-Infinity\"", "00 00 00 00 00 00 f0 ff", "ff f0 00 00 00 00 00 00"),
        ("float64", "\"NaN\"", "00 00 00 00 00 00 f8 7f", "7f f8 00 00 00 00 00 00"),
        ("float64", "\"0x7ff8000000000001\"", "01 00 00 00 00 00 f8 7f", "7f f8 00 00 00 00 00 01"),
        ("float64", "\"0x7ff0000000000001\"", "01 00 00 00 00 00 f0 7f", "7f f0 00 00 00 00 00 01"),
        ("float64", "\"0xfff8000000000000\"", "00 00 00 00 00 00 f8 ff", "ff f8 00 00 00 00 00 00"),
    ]);
}

/// Tests DT-VEC-56, DT-VEC-57, DT-VEC-58, DT-VEC-59, DT-VEC-60.
#[test]
fn vectors_56_to_60_are_exact() {
    check(&[
        ("float64", "\"0x0000000000000001\"", "01 00 00 00 00 00 00 00", "00 00 00 00 00 00 00 01"),
        ("complex64", "[1,2]", "00 00 80 3f 00 00 00 40", "3f 80 00 00 40 00 00 00"),
        ("complex64", "[\"-Infinity\",\"NaN\"]", "00 00 80 ff 00 00 c0 7f", "ff 80 00 00 7f c0 00 00"),
        ("complex64", "[\"0x7fc00001\",-0.0]", "01 00 c0 7f 00 00 00 80", "7f c0 00 01 80 00 00 00"),
        (
            "complex128",
            "[1,2]",
            "00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 00 40",
            "3f f0 00 00 00 00 00 00 40 00 00 00 00 00 00 00",
        ),
    ]);
}

/// Tests DT-VEC-61, DT-VEC-62, DT-VEC-63, DT-VEC-64.
#[test]
fn vectors_61_to_64_are_exact() {
    check(&[
        (
            "complex128",
            "[\"NaN\",\"-Infinity\"]",
            "00 00 00 00 00 00 f8 7f 00 00 00 00 00 00 f0 ff",
            "7f f8 00 00 00 00 00 00 ff f0 00 00 00 00 00 00",
        ),
        ("r8", "[7]", "07", "07"),
        ("r16", "[0,255]", "00 ff", "00 ff"),
        ("r24", "[1,2,3]", "01 02 03", "01 02 03"),
    ]);
}
