//! Complex numbers in v3.

use zarr_conformance::hex;
use zarr_spec::{ByteOrder, Format, Mode};

use crate::{refuses, strict, subject};

fn little(name: &str, fill: &str) -> Vec<u8> {
    let subject = strict(name);
    let element = subject.fill(fill).unwrap();
    assert_eq!(subject.fill(&subject.json(&element).unwrap()).unwrap(), element, "{fill}");
    subject.stored(&element, &ByteOrder::Little)
}

/// Tests DT-C-01, DT-C-02, DT-C-03, DT-C-04, DT-ID-08.
#[test]
fn a_complex_number_is_a_pair_of_floats() {
    assert_eq!(little("complex64", "[1,2]"), hex("0000803f 00000040"));
    assert_eq!(little("complex128", "[1,2]").len(), 16);
    assert_eq!(little("complex64", "[\"-Infinity\",\"NaN\"]"), hex("000080ff 0000c07f"));
    assert_eq!(little("complex128", "[\"NaN\",\"-Infinity\"]"), hex("000000000000f87f 000000000000f0ff"));
    assert_eq!(little("complex64", "[\"0x7fc00001\",0]"), hex("0100c07f 00000000"));
    assert_eq!(little("complex64", "[0.0,-0.0]"), hex("00000000 00000080"));
    let complex64 = strict("complex64");
    refuses(&complex64, &["1", "[1]", "[1,2,3]", "\"1+2i\"", "{\"re\":1,\"im\":2}", "null"]);
    refuses(&complex64, &["[\"x\",0]", "[true,0]", "[null,0]", "[\"0x7ff8000000000000\",0]"]);
    refuses(&complex64, &["\"0x3f80000040000000\""]);
    assert!(strict("complex128").json(&[0; 8]).is_err());
}

/// Tests EX-NUM-17.
#[test]
fn the_registered_aliases_are_the_same_types() {
    assert_eq!(strict("complex_float32").data_type.name(), "complex64");
    assert_eq!(strict("complex_float64").data_type.name(), "complex128");
}

#[test]
fn parts_in_strings_cause_one_warning_each_and_are_refused_in_strict_mode() {
    for (format, name) in [(Format::V3, "\"complex64\""), (Format::V2, "\"<c8\"")] {
        let lenient = subject(format, Mode::Lenient, name).unwrap();
        let (element, warnings) = lenient.fill_and_warnings("[\"1.5\", \"-2\"]").unwrap();
        assert_eq!(element, lenient.fill("[1.5, -2]").unwrap());
        let expected = ["1.5", "-2"].map(|part| format!("fill value \"{part}\" is a number in a string"));
        assert_eq!(warnings, expected);
        assert!(subject(format, Mode::Strict, name).unwrap().fill("[\"1.5\", -2]").is_err());
    }
}
