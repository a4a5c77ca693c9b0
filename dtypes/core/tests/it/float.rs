//! Floats in v3.

use zarr_spec::{ByteOrder, Format};

use crate::{lenient, pattern, refuses, strict, warns};

fn patterns(name: &str, expected: &[(&str, &str)]) {
    let subject = strict(name);
    for (fill, bits) in expected {
        assert_eq!(pattern(&subject, fill), *bits, "{name} {fill}");
    }
}

/// Tests DT-F-01, DT-F-02, DT-F-03, DT-ID-07.
#[test]
fn numbers_are_rounded_to_the_nearest_value_with_ties_to_even() {
    patterns("float16", &[("0.1", "2e66"), ("1.0", "3c00"), ("2049", "6800"), ("2051", "6802")]);
    let float32 = [
        ("1", "3f800000"),
        ("1.0", "3f800000"),
        ("1.5", "3fc00000"),
        ("-2e0", "c0000000"),
        ("0.1", "3dcccccd"),
        ("16777217", "4b800000"),
        ("16777219", "4b800002"),
    ];
    patterns("float32", &float32);
    patterns("float64", &[("0.1", "3fb999999999999a"), ("1.0", "3ff0000000000000")]);
    for name in ["float16", "float32", "float64"] {
        refuses(&strict(name), &["true", "null", "[1]"]);
    }
}

/// Tests DT-F-04, DT-F-05, DT-F-06, DT-F-07, DT-CONTRA-04.
#[test]
fn numbers_are_rounded_once_from_the_decimal_text() {
    let float32 = [
        ("1.0000000596046447753906250000001", "3f800001"),
        ("1.401298464324817e-45", "00000001"),
        ("7.006492321624085e-46", "00000000"),
        ("7.006492321624087e-46", "00000001"),
        ("3.4028235677973362e38", "7f7fffff"),
        ("3.4028235677973366e38", "7f7fffff"),
        ("3.4028235677973367e38", "7f800000"),
        ("-0.0", "80000000"),
        ("-0", "80000000"),
    ];
    patterns("float32", &float32);
    let float16 = [
        ("1.000488281250000000001", "3c01"),
        ("1.00048828125", "3c00"),
        ("1.000488281249999999999999999999", "3c00"),
        ("1.001464843749999999999999999999", "3c01"),
        ("1.00146484375", "3c02"),
        ("5.960464477539063e-08", "0001"),
        ("2.9802322387695312e-08", "0000"),
        ("2.980232238769532e-08", "0001"),
        ("0.0000000298023223876953125", "0000"),
        ("0.00000002980232238769531250000000000000001", "0001"),
        ("65519.99", "7bff"),
        ("65519.99999999999999999999999", "7bff"),
        ("65520", "7c00"),
        ("-65520", "fc00"),
        ("1e400", "7c00"),
        ("6.103515625e-05", "0400"),
        ("6.0975551605224609375e-05", "03ff"),
        ("-0.0", "8000"),
        ("-1e-400", "8000"),
    ];
    patterns("float16", &float16);
    let largest = "1.797693134862315807e308";
    patterns("float64", &[(largest, "7fefffffffffffff"), ("-0", "8000000000000000")]);
    refuses(&strict("float64"), &["1e400", "-1e400", "1.797693134862315809e308", "1e99999999999999999999"]);
}

/// Tests DT-F-08, DT-F-09, DT-F-10.
#[test]
fn infinities_and_nan_have_one_spelling() {
    let words = ["\"Infinity\"", "\"-Infinity\"", "\"NaN\""];
    for (name, bits) in [
        ("float16", ["7c00", "fc00", "7e00"]),
        ("float32", ["7f800000", "ff800000", "7fc00000"]),
        ("float64", ["7ff0000000000000", "fff0000000000000", "7ff8000000000000"]),
    ] {
        for (word, bits) in words.iter().zip(bits) {
            patterns(name, &[(word, bits)]);
            let subject = strict(name);
            assert_eq!(subject.json(&subject.fill(word).unwrap()).unwrap(), *word);
        }
        let refused = [
            "\"infinity\"",
            "\"INF\"",
            "\"Inf\"",
            "\"-inf\"",
            "\"- Infinity\"",
            "\"nan\"",
            "\"-NaN\"",
            "\"NaN(0x1)\"",
        ];
        refuses(&strict(name), &refused);
        refuses(&lenient(name), &refused);
    }
}

/// Tests DT-F-11, DT-F-12, DT-F-13, DT-F-15, DT-F-16.
#[test]
fn bit_patterns_have_the_width_of_the_type_and_survive() {
    patterns("float16", &[("\"0xfe00\"", "fe00")]);
    patterns("float32", &[("\"0x7fc00000\"", "7fc00000"), ("\"0x3f800000\"", "3f800000")]);
    patterns("float32", &[("\"0x7FC00000\"", "7fc00000")]);
    patterns("float64", &[("\"0x7ff8000000000001\"", "7ff8000000000001")]);
    let float32 = strict("float32");
    for payload in ["\"0x7fc00001\"", "\"0x7f800001\"", "\"0xffc00000\""] {
        assert_eq!(float32.json(&float32.fill(payload).unwrap()).unwrap(), payload);
    }
    assert_eq!(float32.json(&float32.fill("\"0x7fc00000\"").unwrap()).unwrap(), "\"NaN\"");
    let refused = [
        "\"7fc00000\"",
        "\"0xzz\"",
        "\"0x\"",
        "\"0xzzzzzzzz\"",
        "\"0x7fc0\"",
        "\"0x07fc00000\"",
        "\"0x7ff8000000000000\"",
        "\"0X7fc00000\"",
        "\"0x7fc0000\u{e9}\"",
    ];
    refuses(&float32, &refused);
    refuses(&lenient("float32"), &refused);
}

/// Tests DT-F-14, DT-CONTRA-02, DT-CONTRA-03.
#[test]
fn a_bit_pattern_is_independent_of_byte_order() {
    let float32 = strict("float32");
    let element = float32.fill("\"0x7fc00000\"").unwrap();
    assert_eq!(float32.stored(&element, &ByteOrder::Big), [0x7f, 0xc0, 0, 0]);
    assert_eq!(float32.stored(&element, &ByteOrder::Little), [0, 0, 0xc0, 0x7f]);
    refuses(&float32, &["\"0x7fc0\""]);
}

/// Tests DT-F-17, DT-F-18, DT-F-20.
#[test]
fn other_strings_are_refused_and_a_plus_sign_and_numbers_are_tolerated() {
    let refused = ["\"1.5x\"", "\"\"", "\" NaN\"", "\"0b0\"", "\"0b00111111100000000000000000000000\""];
    refuses(&strict("float32"), &refused);
    refuses(&strict("float32"), &["\"1.5\"", "\"0\""]);
    warns(&lenient("float32"), &[("\"1.5\"", "1.5"), ("\"0\"", "0.0"), ("\"-9999\"", "-9999.0")]);
    refuses(&lenient("float32"), &refused);
    refuses(&strict("float32"), &["\"+Infinity\"", "NaN", "Infinity", "-Infinity"]);
    refuses(&lenient("float32"), &["NaN", "Infinity"]);
    warns(&lenient("float32"), &[("\"+Infinity\"", "\"Infinity\"")]);
}

/// Tests DT-F-19.
#[test]
fn written_numbers_are_short_and_read_back() {
    for (name, fill, written) in [
        ("float16", "0.1", "0.1"),
        ("float16", "65504", "65500.0"),
        ("float16", "5.960464477539063e-08", "6e-8"),
        ("float16", "-0.0", "-0.0"),
        ("float32", "0.1", "0.1"),
        ("float32", "1e-45", "1e-45"),
        ("float32", "3.4028235e38", "3.4028235e38"),
        ("float64", "0.1", "0.1"),
        ("float64", "5e-324", "5e-324"),
    ] {
        let subject = strict(name);
        let element = subject.fill(fill).unwrap();
        assert_eq!(subject.json(&element).unwrap(), written, "{name} {fill}");
        assert_eq!(subject.fill(written).unwrap(), element, "{name} {fill}");
    }
}

/// Compares all 65,536 bit patterns after a round trip, and the rounding of doubles close to a tie.
#[test]
fn every_half_round_trips() {
    let subject = strict("float16");
    for bits in 0..=u16::MAX {
        let element = bits.to_ne_bytes();
        let written = subject.json(&element).unwrap();
        assert_eq!(subject.fill(&written).unwrap(), element, "{bits:04x} as {written}");
    }
    for bits in 0..0x7bffu16 {
        let value = |bits: u16| half::f16::from_bits(bits).to_f64();
        let tie = f64::midpoint(value(bits), value(bits + 1));
        let fill = |double: f64| subject.fill(&format!("{double:.60}")).unwrap();
        assert_eq!(fill(tie.next_down()), bits.to_ne_bytes());
        assert_eq!(fill(tie.next_up()), (bits + 1).to_ne_bytes());
        assert_eq!(fill(tie), (bits + bits % 2).to_ne_bytes());
    }
}

#[test]
fn floats_are_printed_short() {
    for (name, fill, printed) in [
        ("float16", "0.1", "0.1"),
        ("float32", "1", "1"),
        ("float32", "-0.0", "-0"),
        ("float64", "1e-7", "1e-7"),
        ("float64", "\"NaN\"", "NaN"),
        ("float64", "\"-Infinity\"", "-inf"),
        ("complex64", "[1,-2.5]", "1-2.5i"),
        ("complex128", "[0,\"NaN\"]", "0+NaNi"),
    ] {
        let subject = strict(name);
        assert_eq!(subject.print(&subject.fill(fill).unwrap()), printed);
    }
    assert_eq!(
        strict("float64").data_type.document(Format::V2, &ByteOrder::Big).unwrap().json.to_string(),
        "\">f8\""
    );
}
