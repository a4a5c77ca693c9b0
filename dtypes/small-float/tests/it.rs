//! Small floats: codes, fill values and unused bits.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_dtype_small_float::SmallFloat;
use zarr_spec::{ByteOrder, DataType, DataTypeError, Format, Mode, Registry};

const URI: &str = "https://zarr-kit.example/spec/data-types/small-float/1.0";
const REAL: [&str; 11] = [
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
];

fn v3(name: &str) -> Subject {
    Subject::new(&Registry::linked().unwrap(), Format::V3, Mode::Strict, &format!("\"{name}\"")).unwrap()
}

fn draft(type_name: &str) -> Result<Subject, DataTypeError> {
    let json = format!(r#"{{"extension":"{URI}","type":{type_name},"fallback":["r8"]}}"#);
    Subject::new(&Registry::linked().unwrap(), Format::V3Draft, Mode::Strict, &json)
}

/// Checks the bytes of fill values, and which fill values are refused.
fn fills(name: &str, accepted: &[(&str, &[u8])], refused: &[&str]) {
    let subject = v3(name);
    let texts: Vec<_> = accepted.iter().map(|(fill, _)| *fill).collect();
    for (fill, bytes) in accepted {
        assert_eq!(subject.fill(fill).unwrap(), *bytes, "{name} {fill}");
    }
    assert_eq!(subject.check(&Registry::linked().unwrap(), &texts), Ok(()));
    let never =
        ["true", "null", "{}", "\"\"", "\"1\"", "\"nan\"", "\"+Infinity\"", "\"0x\"", "\"0x001\"", "[1]"];
    for fill in refused.iter().chain(&never) {
        let result = subject.fill(fill);
        assert!(matches!(result, Err(DataTypeError::FillValue(_))), "{name} {fill}: {result:?}");
    }
}

/// Tests EX-NUM-06, EX-NUM-07, EX-NUM-08.
#[test]
fn floats_of_less_than_a_byte_have_neither_nan_nor_infinity() {
    let specials = ["\"NaN\"", "\"Infinity\"", "\"-Infinity\""];
    let refused = |more: &[&'static str]| [&specials[..], more].concat();
    let halves = ["0.0", "0.5", "1.0", "1.5", "2.0", "3.0", "4.0", "6.0"];
    let float4 = v3("float4_e2m1fn");
    for (code, text) in (0u8..).zip(halves) {
        assert_eq!(float4.fill(text).unwrap(), [code]);
        assert_eq!(float4.fill(&format!("-{text}")).unwrap(), [8 | code]);
    }
    fills("float4_e2m1fn", &[("\"0x0f\"", &[15]), ("6.9", &[7])], &refused(&["7", "\"0x10\"", "-1e9"]));
    fills(
        "float6_e2m3fn",
        &[("7.5", &[0x1f]), ("-0.125", &[0x21]), ("1", &[8])],
        &refused(&["8", "\"0x40\""]),
    );
    fills(
        "float6_e3m2fn",
        &[("28", &[0x1f]), ("0.0625", &[1]), ("-1", &[0x2c])],
        &refused(&["30", "\"0xff\""]),
    );
}

/// Tests EX-NUM-09, EX-NUM-10, EX-NUM-13.
#[test]
fn ieee_floats_of_a_byte_have_nan_and_infinity() {
    for (name, nan, infinity, largest) in [
        ("float8_e3m4", 0x78, 0x70, "15.5"),
        ("float8_e4m3", 0x7c, 0x78, "240"),
        ("float8_e5m2", 0x7e, 0x7c, "57344"),
    ] {
        let nan_in_hex = format!("\"{nan:#04x}\"");
        let other = format!("\"{:#04x}\"", infinity | 0x81);
        fills(
            name,
            &[
                ("\"NaN\"", &[nan]),
                (&nan_in_hex, &[nan]),
                (&other, &[infinity | 0x81]),
                ("\"Infinity\"", &[infinity]),
                ("\"-Infinity\"", &[infinity | 0x80]),
                (largest, &[infinity - 1]),
                ("-0.0", &[0x80]),
                ("1e9", &[infinity]),
            ],
            &[],
        );
        let subject = v3(name);
        assert_eq!(subject.json(&[nan]).unwrap(), "\"NaN\"");
        assert_eq!(subject.json(&[nan | 0x80]).unwrap(), format!("\"{:#04x}\"", nan | 0x80));
    }
}

/// Tests EX-NUM-11, EX-NUM-12, EX-NUM-14.
#[test]
fn one_code_is_nan_where_there_is_no_negative_zero() {
    for (name, largest, one) in [
        ("float8_e4m3b11fnuz", "30", 0x58),
        ("float8_e4m3fnuz", "240", 0x40),
        ("float8_e5m2fnuz", "57344", 0x40),
    ] {
        let accepted: &[(&str, &[u8])] = &[
            ("\"NaN\"", &[0x80]),
            ("\"0x80\"", &[0x80]),
            ("-0.0", &[0]),
            ("-1e-9", &[0]),
            ("1", &[one]),
            (largest, &[0x7f]),
        ];
        fills(name, accepted, &["\"Infinity\"", "\"-Infinity\"", "1e9", "-1e9", "1e999"]);
    }
}

/// Compares the codes of `NaN` and of the largest number, 448, with those of `ml_dtypes` 0.6.
#[test]
fn all_bits_are_nan_in_a_float_of_a_byte_without_infinity() {
    let accepted: &[(&str, &[u8])] = &[
        ("\"NaN\"", &[0x7f]),
        ("\"0xff\"", &[0xff]),
        ("448", &[0x7e]),
        ("-448", &[0xfe]),
        ("464", &[0x7e]),
        ("1", &[0x38]),
        ("-0.0", &[0x80]),
        ("0.001953125", &[1]),
    ];
    fills("float8_e4m3fn", accepted, &["\"Infinity\"", "\"-Infinity\"", "464.1", "1e9", "1e999"]);
    let subject = v3("float8_e4m3fn");
    assert_eq!(subject.json(&[0x7f]).unwrap(), "\"NaN\"");
    assert_eq!(subject.json(&[0xff]).unwrap(), "\"0xff\"");
}

/// Tests EX-NUM-15.
#[test]
fn a_float_without_mantissa_is_a_power_of_two() {
    fills(
        "float8_e8m0fnu",
        &[
            ("1", &[0x7f]),
            ("1.4", &[0x7f]),
            ("1.6", &[0x80]),
            ("\"NaN\"", &[0xff]),
            ("\"0xFF\"", &[0xff]),
            ("5.877471754111438e-39", &[0]),
            ("1.7014118346046923e38", &[0xfe]),
        ],
        &["0", "-0.0", "-1", "1e-50", "1e39", "\"Infinity\"", "\"-Infinity\""],
    );
}

/// Tests EX-NUM-16, EX-NUM-18, EX-NUM-19.
#[test]
fn complex_numbers_are_a_real_and_an_imaginary_part() {
    for name in REAL {
        let real = v3(name);
        let complex = v3(&format!("complex_{name}"));
        let [one, two] = ["1", "2"].map(|fill| real.fill(fill).unwrap());
        assert_eq!(complex.fill("[1, 2]").unwrap(), [one, two].concat());
        assert_eq!(complex.print(&complex.fill("[1, 2]").unwrap()), "1+2i");
        fills(&format!("complex_{name}"), &[], &["1", "[1]", "[1,2,3]", "\"0x0000\"", "[1,\"0x\"]"]);
    }
    for (name, one) in [("complex_bfloat16", 0x3f80u16), ("complex_float16", 0x3c00)] {
        let subject = v3(name);
        let element = subject.fill("[-0.0, 1]").unwrap();
        assert_eq!(element, [0x8000u16.to_ne_bytes(), one.to_ne_bytes()].concat());
        assert_eq!(
            subject.stored(&element, &ByteOrder::Big),
            [0x8000u16.to_be_bytes(), one.to_be_bytes()].concat()
        );
        assert_eq!(subject.fill("[0, \"0x7fff\"]").unwrap()[2..], 0x7fffu16.to_ne_bytes());
        fills(name, &[], &["[\"0x7f\", 0]", "[0]"]);
    }
}

/// Tests EX-NUM-20.
#[test]
fn numbers_are_rounded_once_to_the_nearest_and_ties_go_to_even() {
    fills(
        "float8_e5m2",
        &[
            ("1.125", &[0x3c]),
            ("1.12500000000000000000000000000000001", &[0x3d]),
            ("1.375", &[0x3e]),
            ("61439.99999999999999999999999999", &[0x7b]),
            ("61440", &[0x7c]),
            ("-1e999", &[0xfc]),
            // Half of the smallest element, 2^-17.
            ("7.62939453125e-6", &[0]),
            ("7.6293945312500000000000000000000001e-6", &[1]),
            ("1e-999", &[0]),
        ],
        &[],
    );
    fills("float8_e4m3fnuz", &[("247.9", &[0x7f])], &["1e9", "248", "-248"]);
}

#[test]
fn every_element_is_written_and_read_back() {
    for name in REAL {
        let subject = v3(name);
        let draft = draft(&format!("\"{name}\"")).unwrap();
        let bits = name["float".len()..].split('_').next().unwrap().parse::<u32>().unwrap();
        for code in 0..1u16 << bits {
            let element = [u8::try_from(code).unwrap()];
            assert_eq!(subject.fill(&subject.json(&element).unwrap()).unwrap(), element, "{name} {code:#x}");
            assert_eq!(draft.json(&element).unwrap(), format!("\"{code:#04x}\""));
            assert_eq!(draft.fill(&draft.json(&element).unwrap()).unwrap(), element);
        }
    }
}

/// Tests EX-CODEC-27.
#[test]
fn upper_bits_of_stored_bytes_are_ignored() {
    for (name, used) in [("float4_e2m1fn", 0x0f), ("float6_e2m3fn", 0x3f), ("complex_float6_e3m2fn", 0x3f)] {
        let small = SmallFloat::named(name).unwrap();
        for stored in 0..=255u8 {
            let mut element = vec![stored; small.elements().size().unwrap()];
            assert_eq!(small.check(&element).is_ok(), stored <= used);
            small.settle(&mut element, Mode::Strict).unwrap();
            assert!(element.iter().all(|byte| *byte == stored & used));
        }
    }
    let whole = SmallFloat::named("float8_e5m2").unwrap();
    assert!(!whole.settles());
    assert_eq!(whole.check(&[0xff]), Ok(()));
}

#[test]
fn the_draft_has_an_extension_with_raw_bits_as_fallback() {
    for (name, order, type_name, fallback) in [
        ("float8_e4m3", ByteOrder::Big, "float8_e4m3", "r8"),
        ("complex_float8_e4m3", ByteOrder::Little, "complex_float8_e4m3", "r16"),
        ("complex_float16", ByteOrder::Little, "complex_float16", "r32"),
        ("complex_float16", ByteOrder::Big, ">complex_float16", "r32"),
    ] {
        let document = SmallFloat::named(name).unwrap().document(Format::V3Draft, &order).unwrap();
        let wanted = format!(r#"{{"extension":"{URI}","type":"{type_name}","fallback":["{fallback}"]}}"#);
        assert_eq!(document.json.to_string(), wanted);
        assert!(draft(&format!("\"{type_name}\"")).is_ok());
    }
    let complex = draft("\">complex_float16\"").unwrap();
    let element = complex.fill("[1, -2]").unwrap();
    assert_eq!(element, [0x3c00u16.to_ne_bytes(), 0xc000u16.to_ne_bytes()].concat());
    assert_eq!(complex.json(&element).unwrap(), "\"0x3c00c000\"");
    assert_eq!(complex.fill("\"0x3c00c000\"").unwrap(), element);
    for wrong in
        ["\"float16\"", "\"bfloat16\"", "\">float8_e4m3\"", "1", "null", "\"\"", "\"complex_float32\""]
    {
        assert!(matches!(draft(wrong), Err(DataTypeError::InvalidConfiguration(_))), "{wrong}");
    }
}

#[test]
fn v2_and_configurations_are_refused() {
    for name in REAL {
        let error = SmallFloat::named(name).unwrap().document(Format::V2, &ByteOrder::Little).unwrap_err();
        assert!(matches!(error, DataTypeError::NotInFormat { .. }), "{error}");
        let json = format!(r#"{{"name":"{name}","configuration":{{"bits":8}}}}"#);
        let configured = Subject::new(&Registry::linked().unwrap(), Format::V3, Mode::Strict, &json);
        assert!(matches!(configured, Err(DataTypeError::InvalidConfiguration(_))));
    }
    for name in ["float16", "bfloat16", "complex_complex_float16", "complex_", ""] {
        assert_eq!(SmallFloat::named(name), None);
    }
}

#[test]
fn a_number_in_a_string_causes_one_warning_and_is_refused_in_strict_mode() {
    let registry = Registry::linked().unwrap();
    let one = v3("float8_e4m3").fill("1").unwrap();
    for (name, fill, wanted) in
        [("float8_e4m3", "\"1\"", one.clone()), ("complex_float8_e4m3", "[\"1\", 1]", one.repeat(2))]
    {
        let json = format!("\"{name}\"");
        let lenient = Subject::new(&registry, Format::V3, Mode::Lenient, &json).unwrap();
        let (element, warnings) = lenient.fill_and_warnings(fill).unwrap();
        assert_eq!(element, wanted, "{name}");
        assert_eq!(warnings, ["fill value \"1\" is a number in a string"], "{name}");
        assert!(v3(name).fill(fill).is_err(), "{name}");
        assert!(lenient.fill("\"1x\"").is_err(), "{name}");
    }
}
