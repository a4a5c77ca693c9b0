//! Tests of numbers: texts, conversions and invalid numbers.

use super::*;

/// Tests DT-I-11, DT-G-04.
#[test]
fn numbers_follow_the_grammar_and_preserve_their_text() {
    let accepted = [
        "0",
        "-0",
        "7",
        "10",
        "-0.0",
        "0.0",
        "1.0",
        "1",
        "1e400",
        "-1E-400",
        "1e+3",
        "0e0",
        "0.10",
        "100000000000000000000",
        "18446744073709551615",
        "9007199254740993",
        "3.141592653589793238462643383279",
    ];
    for text in accepted {
        assert_eq!(Number::parse(text).unwrap().text(), text);
        let value = read(&format!("[{text}]"));
        assert_eq!(value, array([text]));
        assert_eq!(value.to_string(), format!("[{text}]"));
    }
    assert_ne!(read("1"), read("1.0"));
    let refused = [
        ("007", "number with a leading zero"),
        ("-01", "number with a leading zero"),
        ("00", "number with a leading zero"),
        ("+1", "number with a plus sign"),
        ("+Infinity", "number with a plus sign"),
        ("-", "unexpected end, expected a digit"),
        ("1.", "unexpected end, expected a digit"),
        ("1.e3", "unexpected character 'e', expected a digit"),
        ("1e", "unexpected end, expected a digit"),
        ("1e+", "unexpected end, expected a digit"),
        ("-a", "unexpected character 'a', expected a digit"),
        (".5", "unexpected character '.', expected a value"),
        ("0x10", "content after the document"),
        ("1_000", "content after the document"),
    ];
    for (text, message) in refused {
        assert!(refuse(text).to_string().ends_with(message), "{text}: {}", refuse(text));
        assert_eq!(Number::parse(text), None, "{text}");
    }
    for text in ["", " 1", "1 ", "NaN", "Infinity", "-Infinity", "inf", "1,"] {
        assert_eq!(Number::parse(text), None, "{text}");
    }
}

#[test]
fn numbers_become_integers_only_from_integer_texts() {
    let number = |text| Number::parse(text).unwrap();
    assert!(["0", "-0", "-7", "99999999999999999999999999"].iter().all(|text| number(text).is_integer()));
    assert!(["0.0", "1e3", "1E3", "-1.5"].iter().all(|text| !number(text).is_integer()));
    assert_eq!(
        (number("-0").as_u64(), number("-0").as_i64(), number("-0").as_i128()),
        (Some(0), Some(0), Some(0))
    );
    assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
    assert_eq!(number("18446744073709551616").as_u64(), None);
    assert_eq!(number("18446744073709551616").as_i128(), Some(1 << 64));
    assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(number("9223372036854775808").as_i64(), None);
    assert_eq!((number("-1").as_u64(), number("1.0").as_u64(), number("1e3").as_i64()), (None, None, None));
}

#[test]
fn numbers_become_the_nearest_float() {
    let float = |text| Number::parse(text).unwrap().as_f64().unwrap();
    assert_eq!(float("9007199254740993").to_bits(), 9007199254740992_f64.to_bits());
    assert_eq!(float("9007199254740993.0000000000000000000001").to_bits(), 9007199254740994_f64.to_bits());
    assert_eq!(float("-0").to_bits(), (-0.0_f64).to_bits());
    assert_eq!(float("5e-324").to_bits(), 1);
    assert_eq!((float("1e400"), float("-1e400")), (f64::INFINITY, f64::NEG_INFINITY));
    assert_eq!(float(&format!("1e{}", "9".repeat(50))), f64::INFINITY);
    // Rounding through f64 would round twice, to 16777216.
    assert_eq!(Number::parse("16777217.0000000001").unwrap().as_f32(), Some(16777218.0));
}

#[test]
fn floats_are_written_with_the_fewest_digits_that_restore_them() {
    let table = [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e300, "1e300"),
        (5e-324, "5e-324"),
        (-2.5e-7, "-2.5e-7"),
        (f64::MAX, "1.7976931348623157e308"),
        (9007199254740992.0, "9007199254740992.0"),
    ];
    for (value, text) in table {
        let number = Number::from_f64(value).unwrap();
        assert_eq!(number.text(), text);
        assert_eq!(Number::parse(text).unwrap(), number);
        assert_eq!(number.as_f64().unwrap().to_bits(), value.to_bits());
        assert!(!number.is_integer());
    }
    assert_eq!(Number::from_f32(0.1).unwrap().text(), "0.1");
    for value in [f64::NAN, f64::from_bits(0x7ff8_0000_0000_0001), f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Number::from_f64(value), None);
    }
    assert_eq!(Number::from_f32(f32::NAN), None);
}

#[test]
fn random_floats_survive_writing_and_reading() {
    for bits in random().take(20_000) {
        let value = f64::from_bits(bits);
        if let Some(number) = Number::from_f64(value) {
            assert_eq!(Number::parse(number.text()).unwrap().as_f64().unwrap().to_bits(), bits);
        } else {
            assert!(!value.is_finite());
        }
    }
}

/// Tests DT-F-20, V2-ARR-22.
#[test]
fn bare_non_finite_tokens_are_read_only_on_request_and_never_written() {
    for token in ["NaN", "Infinity", "-Infinity"] {
        let text = format!(r#"{{"attributes":{{"a/b":[0,{token}]}}}}"#);
        let kind = refuse(&text).kind;
        assert!(matches!(kind, ParseErrorKind::BareNonFinite { token: found } if found == token));
        assert!(matches!(
            refuse(format!("{{\"fill_value\": {token}}}")).kind,
            ParseErrorKind::BareNonFinite { .. }
        ));

        let parsed = read_bare(&text);
        let path = "/attributes/a~1b/1".to_owned();
        assert_eq!(parsed.remarks, [Remark::BareNonFinite { path: path.clone(), token }]);
        assert_eq!(parsed.value.find_non_finite(), Some(path.clone()));
        assert_eq!(to_vec(&parsed.value), Err(WriteError { path: path.clone() }));
        assert_eq!(to_vec_pretty(&parsed.value), Err(WriteError { path }));
        assert_eq!(parsed.value.to_string(), text);
    }
    let number = read_bare("-Infinity").value.as_number().unwrap().clone();
    assert!(!number.is_finite_token() && !number.is_integer());
    assert_eq!((number.as_f64(), number.as_i64()), (Some(f64::NEG_INFINITY), None));
    assert!(read_bare("NaN").value.as_f64().unwrap().is_nan());
    assert!(read("1e400").as_number().unwrap().is_finite_token());
    let bare = ParseOptions { bare_non_finite: true, ..Default::default() };
    for text in ["nan", "-NaN", "+NaN", "Inf", "NaNs", "+Infinity", "[Infinityy]"] {
        assert!(parse(text.as_bytes(), &bare).is_err(), "{text}");
    }
}

#[test]
fn numbers_are_compared_and_converted_to_integers_without_rounding() {
    use std::cmp::Ordering::{Equal, Greater, Less};

    let number = |text: &str| Number::parse(text).unwrap();
    let integers = [
        ("1.0", Some(1)),
        ("-1e3", Some(-1000)),
        ("1.5", None),
        ("0e9", Some(0)),
        ("-12.50e1", Some(-125)),
        ("1e39", None),
    ];
    for (text, wanted) in integers {
        assert_eq!(number(text).to_integer(), wanted, "{text}");
    }
    for (text, float, wanted) in [
        ("1.00390625", 1.003_906_25, Equal),
        ("-1.00390625000000000000000000000001", 1.003_906_25, Greater),
        ("100390624.9999999999999999999999e-8", 1.003_906_25, Less),
        ("1e-999", 2f64.powi(-134), Less),
        ("0", 0.5, Less),
    ] {
        assert_eq!(number(text).compare_magnitude(float), Some(wanted), "{text}");
    }
    assert_eq!(number("1e99999999999999999999").compare_magnitude(1.0), None);
}

#[test]
fn floats_become_their_shortest_text_or_the_strings_of_fill_values() {
    let value = crate::json!({"scale": 0.1, "list": [(-0.0), 1e300], "f32": (0.1f32)});
    assert_eq!(value.to_string(), r#"{"scale":0.1,"list":[-0.0,1e300],"f32":0.1}"#);
    assert_eq!(Value::from(16_777_216f32).to_string(), "16777216.0");
    for (float, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")] {
        assert_eq!(Value::from(float), Value::from(text));
        #[expect(clippy::cast_possible_truncation, reason = "NaN and infinities lose no precision")]
        let single = float as f32;
        assert_eq!(Value::from(single), Value::from(text));
    }
}
