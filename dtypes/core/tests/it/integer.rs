//! Bool and integers in v3.

use zarr_conformance::hex;
use zarr_spec::ByteOrder;

use crate::{lenient, refuses, strict, warns};

/// Checks that each of `accepted` has the given little-endian bytes, and each of `refused` is out of range.
fn bounds(name: &str, accepted: &[(&str, &str)], refused: &[&str]) {
    let subject = strict(name);
    for (fill, little) in accepted {
        let element = subject.fill(fill).unwrap();
        assert_eq!(subject.stored(&element, &ByteOrder::Little), hex(little), "{name} {fill}");
        assert_eq!(subject.json(&element).unwrap(), *fill);
    }
    refuses(&subject, refused);
}

/// Tests DT-B-01, DT-B-02, DT-B-03, DT-CONTRA-05.
#[test]
fn bool_is_true_or_false_and_numbers_are_tolerated() {
    bounds(
        "bool",
        &[("true", "01"), ("false", "00")],
        &["0", "1", "\"true\"", "\"false\"", "null", "[true]"],
    );
    warns(&lenient("bool"), &[("0", "false"), ("1", "true")]);
    refuses(&lenient("bool"), &["2", "1.0", "\"true\"", "null"]);
    assert_eq!(strict("bool").json(&[1]).unwrap(), "true");
    assert!(strict("bool").json(&[2]).is_err());
}

/// Tests DT-I-01, DT-I-10, DT-I-12, DT-G-01, DT-G-04.
#[test]
fn integers_have_neither_fraction_nor_exponent() {
    let int32 = strict("int32");
    assert_eq!(int32.stored(&int32.fill("42").unwrap(), &ByteOrder::Little), hex("2a000000"));
    let refused = ["42.0", "1.0", "4.2e1", "42e0", "\"42\"", "true", "null", "[42]", "\"0x2a\""];
    refuses(&int32, &refused);
    for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"] {
        let subject = strict(name);
        assert!(subject.fill("-0").unwrap().iter().all(|&byte| byte == 0));
        assert_eq!(subject.fill("1").unwrap(), lenient(name).fill("1").unwrap());
        refuses(&subject, &refused);
        warns(&lenient(name), &[("1.0", "1"), ("0.0", "0"), ("\"1\"", "1"), ("\"0\"", "0")]);
        refuses(
            &lenient(name),
            &[
                "1.5",
                "1e2",
                "4.2e1",
                "\"1.5\"",
                "\"1 \"",
                "\"NaN\"",
                "\"1e400\"",
                "true",
                "1.0000000000000000001",
                "null",
            ],
        );
    }
    for name in ["bool", "float16", "float32", "float64", "complex64", "complex128", "r8"] {
        refuses(&strict(name), &["null"]);
    }
}

/// Tests DT-I-02, DT-I-03, DT-I-04, DT-I-05, DT-ID-05.
#[test]
fn integers_up_to_16_bits_have_exact_bounds() {
    bounds("int8", &[("-128", "80"), ("127", "7f")], &["-129", "128"]);
    bounds("uint8", &[("0", "00"), ("255", "ff")], &["-1", "256"]);
    bounds("int16", &[("-32768", "0080"), ("32767", "ff7f")], &["-32769", "32768"]);
    bounds("uint16", &[("65535", "ffff")], &["65536", "-1"]);
}

/// Tests DT-I-06, DT-I-07, DT-I-08, DT-I-09.
#[test]
fn integers_of_32_and_64_bits_are_exact() {
    bounds(
        "int32",
        &[("-2147483648", "00000080"), ("2147483647", "ffffff7f")],
        &["2147483648", "-2147483649"],
    );
    bounds("uint32", &[("4294967295", "ffffffff")], &["4294967296", "-1"]);
    bounds(
        "int64",
        &[
            ("-9223372036854775808", "0000000000000080"),
            ("9223372036854775807", "ffffffffffffff7f"),
            ("9007199254740993", "0100000000002000"),
        ],
        &["9223372036854775808", "-9223372036854775809", "99999999999999999999999999999999999999999999"],
    );
    bounds(
        "uint64",
        &[("18446744073709551615", "ffffffffffffffff"), ("9007199254740993", "0100000000002000")],
        &["18446744073709551616", "-1"],
    );
}

#[test]
fn integers_are_printed_as_numbers() {
    for (name, fill, printed) in [
        ("bool", "true", "true"),
        ("int8", "-128", "-128"),
        ("int64", "-9223372036854775808", "-9223372036854775808"),
        ("uint64", "18446744073709551615", "18446744073709551615"),
    ] {
        let subject = strict(name);
        assert_eq!(subject.print(&subject.fill(fill).unwrap()), printed);
    }
}
