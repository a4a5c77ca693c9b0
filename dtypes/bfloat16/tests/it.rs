//! `bfloat16`: bits, rounding, fill values and documents.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_conformance::hex;
use zarr_dtype_bfloat16::BFloat16;
use zarr_spec::{ByteOrder, DataType, DataTypeError, Format, Mode, Registry};

const URI: &str = "https://zarr-kit.example/spec/data-types/bfloat16/1.0";

fn v3(mode: Mode) -> Subject {
    Subject::new(&Registry::linked().unwrap(), Format::V3, mode, "\"bfloat16\"").unwrap()
}

fn draft(type_name: &str) -> Result<Subject, DataTypeError> {
    let json = format!(r#"{{"extension":"{URI}","type":{type_name},"fallback":["r16"]}}"#);
    Subject::new(&Registry::linked().unwrap(), Format::V3Draft, Mode::Strict, &json)
}

/// Returns the bits of a fill value.
fn bits(subject: &Subject, fill: &str) -> u16 {
    u16::from_ne_bytes(subject.fill(fill).unwrap().try_into().unwrap())
}

/// Tests EX-NUM-05.
#[test]
fn bits_and_byte_order_match_the_definition() {
    let subject = v3(Mode::Strict);
    let one = subject.fill("1.0").unwrap();
    assert_eq!(subject.stored(&one, &ByteOrder::Little), hex("80 3f"));
    assert_eq!(subject.stored(&one, &ByteOrder::Big), hex("3f 80"));
    for (fill, wanted) in [
        ("\"NaN\"", 0x7fc0),
        ("\"0x7fc0\"", 0x7fc0),
        ("\"0xFFc1\"", 0xffc1),
        ("\"Infinity\"", 0x7f80),
        ("\"-Infinity\"", 0xff80),
        ("0", 0),
        ("-0.0", 0x8000),
        ("-2", 0xc000),
        ("3.140625", 0x4049),
        ("3.3895313892515355e38", 0x7f7f),
        ("1.1754943508222875e-38", 0x0080),
        ("9.183549615799121e-41", 0x0001),
    ] {
        assert_eq!(bits(&subject, fill), wanted, "{fill}");
    }
    let fills = ["1", "-0.0", "0.1", "\"NaN\"", "\"0x7fc1\"", "\"0xff81\"", "\"-Infinity\"", "1e-40", "3e38"];
    assert_eq!(subject.check(&Registry::linked().unwrap(), &fills), Ok(()));
    for wrong in [
        "\"0x7fc\"",
        "\"0x7fc00\"",
        "\"0x7fc00000\"",
        "\"0X7fc0\"",
        "\"0x+fc0\"",
        "\"7fc0\"",
        "\"nan\"",
        "\"1\"",
        "\"+Infinity\"",
        "\"\"",
        "true",
        "null",
        "[1]",
        "{}",
        "\"0b0111111111000000\"",
    ] {
        let result = subject.fill(wrong);
        assert!(matches!(result, Err(DataTypeError::FillValue(_))), "{wrong}: {result:?}");
    }
    assert_eq!(bits(&v3(Mode::Lenient), "\"+Infinity\""), 0x7f80);
}

#[test]
fn decimals_are_rounded_once_and_ties_go_to_even() {
    let subject = v3(Mode::Strict);
    for (fill, wanted) in [
        // The middle between 1 and 1 + 2^-7 is 1 + 2^-8.
        ("1.00390625", 0x3f80),
        ("1.00390625000000000000000000000000000001", 0x3f81),
        ("1.0039062499999999999999999999999999999", 0x3f80),
        ("1.01171875", 0x3f82),
        ("-1.00390625000000000000000000000000000001", 0xbf81),
        // The largest element is 255 × 2^120; numbers from 255.5 × 2^120 on become infinite.
        ("3.3961775e38", 0x7f7f),
        ("339617752923046005526922703901628039168", 0x7f80),
        ("339617752923046005526922703901628039167", 0x7f7f),
        ("1e39", 0x7f80),
        ("1e999", 0x7f80),
        ("-1e999", 0xff80),
        // Half of the smallest element, 2^-134.
        (
            "4.591774807899560578002877098524397178979162331140966880893561352650067419745028018951416015625E-41",
            0x0000,
        ),
        ("4.5917748078995605780028770985244e-41", 0x0001),
        ("4.5917748078995605780028770985243e-41", 0x0000),
        ("4.592e-41", 0x0001),
        ("1e-999", 0x0000),
    ] {
        assert_eq!(bits(&subject, fill), wanted, "{fill}");
    }
}

#[test]
fn every_element_is_written_and_read_back() {
    let subject = v3(Mode::Strict);
    let little = draft("\"bfloat16\"").unwrap();
    let big = draft("\">bfloat16\"").unwrap();
    for pattern in 0..=u16::MAX {
        let element = pattern.to_ne_bytes();
        assert_eq!(subject.fill(&subject.json(&element).unwrap()).unwrap(), element, "{pattern:#x}");
        let [first, second] = pattern.to_be_bytes();
        assert_eq!(little.json(&element).unwrap(), format!("\"0x{second:02x}{first:02x}\""));
        assert_eq!(big.json(&element).unwrap(), format!("\"0x{first:02x}{second:02x}\""));
        for draft in [&little, &big] {
            assert_eq!(draft.fill(&draft.json(&element).unwrap()).unwrap(), element);
        }
    }
    assert_eq!(subject.json(&0x3dcdu16.to_ne_bytes()).unwrap(), "0.1");
    assert_eq!(subject.print(&0x3dcdu16.to_ne_bytes()), "0.1");
    assert_eq!(subject.print(&0x3f80u16.to_ne_bytes()), "1");
}

#[test]
fn the_draft_has_an_extension_with_raw_bits_as_fallback() {
    for (order, type_name) in [(ByteOrder::Little, "bfloat16"), (ByteOrder::Big, ">bfloat16")] {
        let document = BFloat16.document(Format::V3Draft, &order).unwrap();
        let wanted = format!(r#"{{"extension":"{URI}","type":"{type_name}","fallback":["r16"]}}"#);
        assert_eq!(document.json.to_string(), wanted);
        let subject = draft(&format!("\"{type_name}\"")).unwrap();
        assert_eq!((subject.data_type.name().as_ref(), &subject.order), ("bfloat16", &order));
        assert_eq!(bits(&subject, "1.0"), 0x3f80);
        assert_eq!(bits(&subject, "\"+Infinity\""), 0x7f80);
        let registry = Registry::linked().unwrap();
        assert_eq!(subject.check(&registry, &["1", "\"NaN\"", "\"0x7fc1\""]), Ok(()));
    }
    for wrong in ["\"<bfloat16\"", "\"float16\"", "1", "null"] {
        assert!(matches!(draft(wrong), Err(DataTypeError::InvalidConfiguration(_))), "{wrong}");
    }
}

#[test]
fn v2_and_configurations_are_refused() {
    let error = BFloat16.document(Format::V2, &ByteOrder::Little).unwrap_err();
    assert!(matches!(error, DataTypeError::NotInFormat { .. }), "{error}");
    let registry = Registry::linked().unwrap();
    let subject = |configuration: &str| {
        let json = format!(r#"{{"name":"bfloat16","configuration":{configuration}}}"#);
        Subject::new(&registry, Format::V3, Mode::Strict, &json)
    };
    assert_eq!(subject("{}").unwrap().data_type.name(), "bfloat16");
    assert!(matches!(subject(r#"{"bits":16}"#), Err(DataTypeError::InvalidConfiguration(_))));
}

#[test]
fn a_number_in_a_string_causes_one_warning_and_is_refused_in_strict_mode() {
    let (element, warnings) = v3(Mode::Lenient).fill_and_warnings("\"1.5\"").unwrap();
    assert_eq!(element, 0x3fc0_u16.to_ne_bytes());
    assert_eq!(warnings, ["fill value \"1.5\" is a number in a string"]);
    assert!(v3(Mode::Strict).fill("\"1.5\"").is_err());
    assert!(v3(Mode::Lenient).fill("\"1.5x\"").is_err());
}
