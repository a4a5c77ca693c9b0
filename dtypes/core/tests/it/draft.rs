//! The draft of December 2022, and the typestrings of the generation before it.

use zarr_conformance::hex;
use zarr_spec::{ByteOrder, DataTypeError, Format, Mode};

use crate::{pattern, refuses, subject};
use zarr_conformance::data_types::Subject;

fn draft(name: &str) -> Subject {
    subject(Format::V3Draft, Mode::Lenient, &format!("\"{name}\"")).unwrap()
}

fn little(name: &str, fill: &str) -> Vec<u8> {
    let subject = draft(name);
    subject.stored(&subject.fill(fill).unwrap(), &ByteOrder::Little)
}

/// Tests D3-DT-02, D3-DT-04, D3-DT-05, D3-DT-06, D3-DT-07.
#[test]
fn bool_and_signed_integers_are_little_endian() {
    assert_eq!([little("bool", "true"), little("bool", "false")].concat(), [1, 0]);
    assert_eq!(little("int8", "-1"), [0xff]);
    assert_eq!(little("int16", "258"), [2, 1]);
    assert_eq!(little("int16", "-2"), [0xfe, 0xff]);
    assert_eq!(little("int32", "1"), [1, 0, 0, 0]);
    assert_eq!(little("int64", "-1"), [0xff; 8]);
}

/// Tests D3-DT-08, D3-DT-09, D3-DT-10, D3-DT-11, D3-CONTRA-02.
#[test]
fn unsigned_integers_are_little_endian() {
    assert_eq!(little("uint8", "255"), [0xff]);
    assert_eq!(little("uint16", "65535"), [0xff; 2]);
    assert_eq!(little("uint16", "1"), [1, 0]);
    assert_eq!(little("uint32", "4294967295"), [0xff; 4]);
    assert_eq!(little("uint64", "18446744073709551615"), [0xff; 8]);
}

/// Tests D3-DT-12, D3-DT-13, D3-DT-14, D3-DT-15, D3-DT-16.
#[test]
fn floats_and_complex_numbers_are_little_endian() {
    assert_eq!(little("float16", "1.5"), hex("003e"));
    assert_eq!(little("float32", "1.5"), hex("0000c03f"));
    assert_eq!(little("float64", "1.5"), hex("000000000000f83f"));
    assert_eq!(little("complex64", "[1,2]"), hex("0000803f00000040"));
    assert_eq!(little("complex128", "[1,2]"), hex("000000000000f03f 0000000000000040"));
}

#[test]
fn a_bool_byte_above_1_is_true_and_strictly_an_error() {
    let bool = draft("bool");
    let settled = |mode| {
        let mut elements = [0, 1, 2, 255];
        bool.data_type.settle(&mut elements, mode).map(|()| elements)
    };
    assert_eq!(settled(Mode::Lenient).unwrap(), [0, 1, 1, 1]);
    assert_eq!(settled(Mode::Strict).unwrap_err().to_string(), "byte 2 is neither false nor true");
    assert_eq!(bool.print(&[2]), "true");
    assert!(bool.data_type.check(&[2]).is_err());
    assert!(bool.data_type.check(&[1]).is_ok());
    assert!(bool.data_type.check(&[1; 5000]).is_ok());
    assert!(bool.data_type.check(&[&[1; 5000][..], &[0, 255]].concat()).is_err());
    assert!(bool.json(&[2]).is_err());
}

/// Tests D3-DT-17, D3-DT-18, D3-CONTRA-23.
#[test]
fn raw_types_are_a_pattern_of_names() {
    for (name, size) in [("r8", 1), ("r16", 2), ("r24", 3), ("r128", 16)] {
        let raw = draft(name);
        assert_eq!(raw.data_type.elements().size(), Some(size));
        let element: Vec<u8> = (0..16).take(size).collect();
        assert_eq!(raw.stored(&element, &ByteOrder::Big), element);
    }
    for name in ["r0", "r4", "r12", "r", "r-8", "R8", "r8.0", "r 8", "r08", "r+8"] {
        subject(Format::V3Draft, Mode::Lenient, &format!("\"{name}\"")).unwrap_err();
    }
}

/// Tests D3-DT-20, D3-DT-21, D3-DT-22, D3-CONTRA-01, DX-A-16.
#[test]
fn typestrings_are_read_and_never_written() {
    for (alias, name, order) in [
        ("i1", "int8", ByteOrder::Little),
        ("u1", "uint8", ByteOrder::Little),
        ("<i2", "int16", ByteOrder::Little),
        (">i4", "int32", ByteOrder::Big),
        ("<i8", "int64", ByteOrder::Little),
        (">u2", "uint16", ByteOrder::Big),
        ("<u4", "uint32", ByteOrder::Little),
        ("<u8", "uint64", ByteOrder::Little),
        ("<f2", "float16", ByteOrder::Little),
        ("<f4", "float32", ByteOrder::Little),
        ("<f8", "float64", ByteOrder::Little),
        (">f8", "float64", ByteOrder::Big),
        ("bool", "bool", ByteOrder::Little),
        ("int32", "int32", ByteOrder::Little),
        ("r16", "r16", ByteOrder::Little),
    ] {
        let subject = subject(Format::V3Draft, Mode::Strict, &format!("\"{alias}\"")).unwrap();
        assert_eq!((&*subject.data_type.name(), &subject.order), (name, &order));
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let document = subject.data_type.document(Format::V3Draft, &order).unwrap();
            assert_eq!(document.json.as_str(), Some(name));
        }
    }
    for alias in ["=f8", "f8", "<i3", "<f16", "i4", "<c8", "|b1"] {
        subject(Format::V3Draft, Mode::Lenient, &format!("\"{alias}\"")).unwrap_err();
    }
}

/// Tests D3-DTX-01, D3-DTX-02, D3-DTX-08, D3-DTX-10, D3-CONTRA-10.
#[test]
fn extension_documents_have_a_uri_a_type_and_fallbacks() {
    let reading = zarr_spec::Reading::new(Mode::Strict);
    let document = |json: &str| {
        let json = zarr_json::parse(json.as_bytes(), &zarr_json::ParseOptions::default());
        zarr_spec::data_type::DataTypeDocument::draft(&json.unwrap().value, &reading)
    };
    let plain = document(r#"{"extension":"https://example.org/dt/1.0","type":"foo"}"#).unwrap();
    assert_eq!(plain.identifier, "https://example.org/dt/1.0");
    assert_eq!(plain.type_name.unwrap().as_str(), Some("foo"));
    assert!(plain.fallback.is_empty());
    let with = |fallback: &str| {
        let json = format!(r#"{{"extension":"https://e.org/1.0","type":null,"fallback":{fallback}}}"#);
        document(&json).map(|document| {
            document.fallback.into_iter().map(|fallback| fallback.identifier).collect::<Vec<_>>()
        })
    };
    assert_eq!(with("\"int64\"").unwrap(), ["int64"]);
    assert_eq!(with("\"<i8\"").unwrap(), ["i8"]);
    assert_eq!(with("[\"float64\",\"r64\"]").unwrap(), ["float64", "r64"]);
    let nested = r#"[{"extension":"https://e.org/t/1","type":"q"},"r64"]"#;
    assert_eq!(with(nested).unwrap(), ["https://e.org/t/1", "r64"]);
    assert!(with("null").unwrap().is_empty());
    assert!(with("[]").unwrap().is_empty());
    for fallback in ["5", "true", "[5]", "[[\"r64\"]]"] {
        with(fallback).unwrap_err();
    }
    for json in [
        r#"{"type":"foo"}"#,
        r#"{"extension":"https://example.org/dt/1.0"}"#,
        r#"{"extension":5,"type":"foo"}"#,
        r#"{"extension":"","type":"foo"}"#,
        r#"{"extension":"example.org/dt/1.0","type":"foo"}"#,
        r#"{"extension":"https://example.org/dt/1.0","type":"foo","x":1}"#,
        r#"["int8","int16"]"#,
    ] {
        document(json).unwrap_err();
    }
    let alias = subject(Format::V3Draft, Mode::Strict, "\"<i8\"").unwrap();
    assert_eq!(alias.data_type.name(), "int64");
}

/// Tests DX-DT-07.
#[test]
fn complex_extensions_are_the_core_types() {
    for uri in [
        "https://purl.org/zarr/spec/extensions/data-types/complex/1.0",
        "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html",
    ] {
        for (name, core, order) in [
            ("<c8", "complex64", ByteOrder::Little),
            (">c8", "complex64", ByteOrder::Big),
            ("<c16", "complex128", ByteOrder::Little),
        ] {
            let json = format!(r#"{{"extension":"{uri}","type":"{name}","fallback":null}}"#);
            let subject = subject(Format::V3Draft, Mode::Strict, &json).unwrap();
            assert_eq!((&*subject.data_type.name(), &subject.order), (core, &order));
        }
        for wrong in ["\"c8\"", "\"<c4\"", "5"] {
            let json = format!(r#"{{"extension":"{uri}","type":{wrong}}}"#);
            subject(Format::V3Draft, Mode::Lenient, &json).unwrap_err();
        }
    }
}

/// Tests D3-FILL-04, D3-FILL-05, D3-FILL-06, D3-FILL-07.
#[test]
fn plain_fill_values_are_strict_in_every_mode() {
    refuses(&draft("bool"), &["0", "1", "\"true\"", "null"]);
    assert_eq!(little("bool", "true"), [1]);
    assert_eq!(little("bool", "false"), [0]);
    assert_eq!(little("int8", "-128"), [0x80]);
    assert_eq!(little("int8", "127"), [0x7f]);
    assert_eq!(little("uint64", "18446744073709551615"), [0xff; 8]);
    refuses(&draft("int8"), &["128", "1.0", "1e2", "\"5\"", "true", "null"]);
    refuses(&draft("uint8"), &["-1"]);
    // GDAL 3.6 writes numbers that float64 cannot represent as strings of digits.
    assert_eq!(little("uint64", "\"18446744073709551615\""), [0xff; 8]);
    refuses(&draft("uint64"), &["\"5\"", "\"18446744073709551616\"", "\"\""]);
    refuses(&draft("int64"), &["\"18446744073709551615\""]);
    assert_eq!(little("int32", "-0"), [0; 4]);
    assert_eq!(little("float32", "0.1"), hex("cdcccc3d"));
    refuses(&draft("float32"), &["true", "[1]", "null"]);
}

/// Tests D3-FILL-08, D3-FILL-09, D3-FILL-10, D3-CONTRA-04, D3-FILL-22.
#[test]
fn positive_infinity_is_written_with_its_sign() {
    let float64 = draft("float64");
    assert_eq!(little("float64", "\"+Infinity\""), hex("000000000000f07f"));
    assert_eq!(little("float64", "\"Infinity\""), hex("000000000000f07f"));
    assert_eq!(float64.json(&f64::INFINITY.to_ne_bytes()).unwrap(), "\"+Infinity\"");
    assert_eq!(float64.json(&f64::NEG_INFINITY.to_ne_bytes()).unwrap(), "\"-Infinity\"");
    assert_eq!(float64.json(&(-0.0f64).to_ne_bytes()).unwrap(), "-0.0");
    let payload = float64.fill("\"0x7ff8000000000001\"").unwrap();
    assert_eq!(float64.json(&payload).unwrap(), "\"0x7ff8000000000001\"");
    for (name, bits) in [("float16", "7e00"), ("float32", "7fc00000"), ("float64", "7ff8000000000000")] {
        assert_eq!(pattern(&draft(name), "\"NaN\""), bits);
        refuses(&draft(name), &["\"nan\"", "\"inf\"", "\"+NaN\""]);
    }
    let v3 = subject(Format::V3, Mode::Strict, "\"float64\"").unwrap();
    assert_eq!(v3.json(&f64::INFINITY.to_ne_bytes()).unwrap(), "\"Infinity\"");
}

/// Tests D3-FILL-11, D3-FILL-12, D3-FILL-13, D3-CONTRA-22, DX-A-20.
#[test]
fn bit_patterns_are_hexadecimal_or_binary() {
    assert_eq!(pattern(&draft("float32"), "\"0x7fc00001\""), "7fc00001");
    assert_eq!(pattern(&draft("float32"), "\"0x7FC00000\""), "7fc00000");
    assert_eq!(pattern(&draft("<f4"), "\"0x7fc00000\""), "7fc00000");
    assert_eq!(pattern(&draft("float64"), "\"0x3ff0000000000000\""), "3ff0000000000000");
    assert_eq!(pattern(&draft("float16"), "\"0x3c00\""), "3c00");
    assert_eq!(pattern(&draft("float16"), "\"0b0011110000000000\""), "3c00");
    assert_eq!(little("r8", "\"0b00000001\""), [1]);
    let wrong =
        ["\"0x7fc0\"", "\"0x07fc00000\"", "\"7fc00000\"", "\"0x\"", "\"0xg0000000\"", "\"0X7fc00000\""];
    refuses(&draft("float32"), &wrong);
    refuses(&draft("float16"), &["\"0b11110000000000\"", "\"0b2011110000000000\"", "\"0B0011110000000000\""]);
}

/// Tests D3-FILL-14, D3-FILL-15, D3-CONTRA-20.
#[test]
fn integers_and_bools_read_bit_patterns_of_their_width() {
    assert_eq!(pattern(&draft("int16"), "\"0xfffe\""), "fffe");
    assert_eq!(draft("int16").json(&(-2i16).to_ne_bytes()).unwrap(), "-2");
    assert_eq!(pattern(&draft("uint64"), "\"0x8000000000000000\""), "8000000000000000");
    refuses(&draft("int16"), &["\"0xfe\""]);
    assert_eq!(little("bool", "\"0x01\""), [1]);
    assert_eq!(little("bool", "\"0x00\""), [0]);
    refuses(&draft("bool"), &["\"0x02\""]);
    assert_eq!(draft("bool").json(&[1]).unwrap(), "true");
}

/// Tests D3-FILL-16, D3-FILL-17, D3-CONTRA-21.
#[test]
fn complex_fill_values_are_pairs_or_one_bit_pattern() {
    let complex64 = draft("complex64");
    for fill in ["[1,2]", "[\"NaN\",\"-Infinity\"]", "[\"0x7fc00000\",0]"] {
        complex64.fill(fill).unwrap();
    }
    refuses(&complex64, &["1", "[1]", "[1,2,3]", "\"1+2j\"", "\"0x3f800000\"", "\"0x3f8000004000000\""]);
    assert_eq!(complex64.fill("\"0x3f80000040000000\"").unwrap(), complex64.fill("[1,2]").unwrap());
}

/// Tests D3-FILL-18, D3-FILL-19, D3-FILL-20.
#[test]
fn raw_fill_values_have_three_forms() {
    assert_eq!(little("r16", "\"0x00ff\""), [0, 0xff]);
    assert_eq!(little("r8", "\"0b00000001\""), [1]);
    assert_eq!(little("r16", "[0,255]"), [0, 255]);
    assert_eq!(little("r24", "0"), [0; 3]);
    refuses(&draft("r16"), &["\"0xff\"", "[0]", "[0,256]", "1", "\"AP8=\"", "null"]);
    refuses(&draft("r24"), &["1", "0.0"]);
    assert_eq!(draft("r16").json(&[0, 255]).unwrap(), "\"0x00ff\"");
}

#[test]
fn an_unknown_extension_type_is_an_error_that_names_it() {
    let json = r#"{"extension":"https://e.org/x/1.0","type":"y"}"#;
    let Err(DataTypeError::Unknown(what)) = subject(Format::V3Draft, Mode::Lenient, json) else {
        panic!("it was read");
    };
    assert!(what.contains("https://e.org/x/1.0"));
}
