//! Integers of less than a byte: forms, ranges and unused bits.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_dtype_sub_byte::SubByte;
use zarr_spec::{ByteOrder, DataType, DataTypeError, Format, Mode, Registry};

const URI: &str = "https://zarr-kit.example/spec/data-types/sub-byte/1.0";

fn v3(name: &str) -> Subject {
    Subject::new(&Registry::linked().unwrap(), Format::V3, Mode::Strict, &format!("\"{name}\"")).unwrap()
}

fn draft(type_name: &str) -> Result<Subject, DataTypeError> {
    let json = format!(r#"{{"extension":"{URI}","type":{type_name},"fallback":["r8"]}}"#);
    Subject::new(&Registry::linked().unwrap(), Format::V3Draft, Mode::Strict, &json)
}

fn accepts(name: &str, fills: &[(&str, u8)]) {
    let subject = v3(name);
    let draft = draft(&format!("\"{name}\"")).unwrap();
    let registry = Registry::linked().unwrap();
    for &(fill, byte) in fills {
        assert_eq!(subject.fill(fill).unwrap(), [byte], "{name} {fill}");
        assert_eq!(draft.fill(fill).unwrap(), [byte], "{name} {fill} in the draft");
        assert_eq!(subject.json(&[byte]).unwrap(), fill);
        assert_eq!(draft.json(&[byte]).unwrap(), format!("\"0x{byte:02x}\""));
        assert_eq!(subject.print(&[byte]), fill);
        for subject in [&subject, &draft] {
            assert_eq!(subject.check(&registry, &[fill]), Ok(()));
        }
    }
}

fn refuses(name: &str, fills: &[&str]) {
    let further = ["1.0", "1e0", "\"1\"", "true", "null", "[1]", "\"\"", "{}", "-99", "99", "1e99"];
    for fill in fills.iter().chain(&further) {
        for subject in [v3(name), draft(&format!("\"{name}\"")).unwrap()] {
            let result = subject.fill(fill);
            assert!(matches!(result, Err(DataTypeError::FillValue(_))), "{name} {fill}: {result:?}");
        }
    }
}

/// Tests EX-NUM-01, EX-NUM-02.
#[test]
fn two_bits_hold_four_integers() {
    accepts("int2", &[("-2", 0xfe), ("-1", 0xff), ("0", 0), ("1", 1)]);
    refuses("int2", &["2", "-3"]);
    accepts("uint2", &[("0", 0), ("1", 1), ("2", 2), ("3", 3)]);
    refuses("uint2", &["4", "-1"]);
}

/// Tests EX-NUM-03, EX-NUM-04.
#[test]
fn four_bits_hold_sixteen_integers() {
    accepts("int4", &[("-8", 0xf8), ("-1", 0xff), ("0", 0), ("7", 7)]);
    refuses("int4", &["8", "-9"]);
    accepts("uint4", &[("0", 0), ("8", 8), ("15", 15)]);
    refuses("uint4", &["16", "-1"]);
}

#[test]
fn upper_bits_of_stored_bytes_are_ignored() {
    for sub_byte in SubByte::ALL {
        let used = (1u8 << sub_byte.bits()) - 1;
        for stored in 0..=255u8 {
            let mut element = [stored];
            sub_byte.settle(&mut element, Mode::Strict).unwrap();
            assert_eq!(element[0] & used, stored & used);
            sub_byte.check(&element).unwrap();
            assert_eq!(sub_byte.check(&[stored]).is_ok(), element[0] == stored);
            let negative = sub_byte.name().starts_with('i') && stored & (used / 2 + 1) != 0;
            assert_eq!(element[0] & !used, if negative { !used } else { 0 }, "{sub_byte:?} {stored:#x}");
        }
    }
}

#[test]
fn the_draft_has_an_extension_with_raw_bits_as_fallback() {
    for sub_byte in SubByte::ALL {
        let document = sub_byte.document(Format::V3Draft, &ByteOrder::Little).unwrap();
        let wanted = format!(r#"{{"extension":"{URI}","type":"{}","fallback":["r8"]}}"#, sub_byte.name());
        assert_eq!(document.json.to_string(), wanted);
        assert_eq!(document.fallback[0].identifier, "r8");
    }
    for wrong in ["\"int8\"", "1", "null", "\"\"", "[\"int2\"]"] {
        assert!(matches!(draft(wrong), Err(DataTypeError::InvalidConfiguration(_))), "{wrong}");
    }
    let int2 = draft("\"int2\"").unwrap();
    assert_eq!(int2.fill("\"0xFE\"").unwrap(), [0xfe]);
    for wrong in ["\"0x02\"", "\"0x1\"", "\"0x001\"", "\"0x+1\"", "\"fe\"", "\"0b00000001\""] {
        assert!(int2.fill(wrong).is_err(), "{wrong}");
    }
    assert!(v3("int2").fill("\"0xfe\"").is_err());
}

#[test]
fn v2_cannot_represent_them() {
    for sub_byte in SubByte::ALL {
        let error = sub_byte.document(Format::V2, &ByteOrder::Little).unwrap_err();
        assert!(matches!(error, DataTypeError::NotInFormat { .. }), "{error}");
    }
}

#[test]
fn a_configuration_is_refused() {
    let registry = Registry::linked().unwrap();
    let subject = |configuration: &str| {
        let json = format!(r#"{{"name":"int4","configuration":{configuration}}}"#);
        Subject::new(&registry, Format::V3, Mode::Strict, &json)
    };
    assert_eq!(subject("{}").unwrap().data_type.name(), "int4");
    assert!(matches!(subject(r#"{"bits":4}"#), Err(DataTypeError::InvalidConfiguration(_))));
}

#[test]
fn a_number_in_a_string_causes_one_warning_and_is_refused_in_strict_mode() {
    let lenient = Subject::new(&Registry::linked().unwrap(), Format::V3, Mode::Lenient, "\"int4\"").unwrap();
    let (element, warnings) = lenient.fill_and_warnings("\"-3\"").unwrap();
    assert_eq!(element, v3("int4").fill("-3").unwrap());
    assert_eq!(warnings, ["fill value \"-3\" is a number in a string"]);
    assert!(v3("int4").fill("\"-3\"").is_err());
    assert!(lenient.fill("\"8\"").is_err());
}
