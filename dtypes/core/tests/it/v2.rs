//! Typestrings and fill values of v2.

use zarr_conformance::hex;
use zarr_spec::data_type::{DataTypeDocument, Typestring};
use zarr_spec::{ByteOrder, DataTypeError, Format, Mode, Reading, Value};

use crate::{refuses, subject, warns};
use zarr_conformance::data_types::Subject;

fn strict(dtype: &str) -> Subject {
    subject(Format::V2, Mode::Strict, &format!("\"{dtype}\"")).unwrap()
}

fn lenient(dtype: &str) -> Subject {
    subject(Format::V2, Mode::Lenient, &format!("\"{dtype}\"")).unwrap()
}

fn refuses_type(mode: Mode, typestrings: &[&str]) {
    for dtype in typestrings {
        assert!(subject(Format::V2, mode, &format!("\"{dtype}\"")).is_err(), "{dtype}");
    }
}

/// Tests V2-DT-01, V2-DT-04, V2-DT-05.
#[test]
fn typestrings_are_order_kind_and_size() {
    assert_eq!(strict("<f8").order, ByteOrder::Little);
    assert_eq!(strict(">i4").order, ByteOrder::Big);
    assert_eq!(strict("|b1").data_type.name(), "bool");
    assert_eq!(strict("|b1").fill("false").unwrap(), [0]);
    assert_eq!(strict("|b1").fill("true").unwrap(), [1]);
    let bytes = Typestring::parse("|S12", &Reading::new(Mode::Strict)).unwrap();
    assert_eq!((bytes.kind, bytes.size, &*bytes.identifier()), ('S', 12, "S"));
    refuses_type(
        Mode::Lenient,
        &["<f8 ", "<i3", "f", "<", "", "|b2", "<i04", "<i+4", "<i", "<f8[s]", "\u{e9}4"],
    );
    for harmless in ["<b1", ">u1", "<i1"] {
        let subject = strict(harmless);
        assert!(subject.warnings.is_empty());
        let written = subject.data_type.document(Format::V2, &subject.order).unwrap().json;
        assert_eq!(written.as_str(), Some(&*harmless.replace(['<', '>'], "|")));
    }
}

/// Tests V2-DT-02, V2-DT-03, V2-CONTRA-05.
#[test]
fn a_missing_byte_order_is_tolerated_as_little_endian() {
    for dtype in ["i4", "=i4", "|i4"] {
        refuses_type(Mode::Strict, &[dtype]);
        let subject = lenient(dtype);
        assert_eq!((&*subject.data_type.name(), &subject.order), ("int32", &ByteOrder::Little));
        assert_eq!(subject.warnings.len(), 1);
    }
    assert_eq!(lenient("b1").warnings.len(), 1);
    refuses_type(Mode::Lenient, &["int32", "float64", "bool", "?", "B", "<q"]);
}

/// Tests V2-DT-06, V2-DT-07, V2-DT-08, V2-DT-09, V2-DT-10.
#[test]
fn numbers_have_their_sizes() {
    for (dtype, name) in [
        ("|i1", "int8"),
        ("<i2", "int16"),
        (">i4", "int32"),
        ("<i8", "int64"),
        ("|u1", "uint8"),
        (">u2", "uint16"),
        ("<u4", "uint32"),
        ("<u8", "uint64"),
        ("<f2", "float16"),
        (">f4", "float32"),
        ("<f8", "float64"),
        ("<c8", "complex64"),
        (">c16", "complex128"),
    ] {
        assert_eq!(strict(dtype).data_type.name(), name);
    }
    refuses_type(Mode::Lenient, &["<i16", "<i3", "<u3", "<f3", "<c4"]);
    let complex = strict("<c8");
    let one = complex.fill("[1.0,1.0]").unwrap();
    assert_eq!(complex.stored(&one, &complex.order), hex("0000803f0000803f"));
    for unsupported in ["<f16", "<c32"] {
        let result = subject(Format::V2, Mode::Strict, &format!("\"{unsupported}\""));
        assert!(matches!(result, Err(DataTypeError::Unknown(_))), "{result:?}");
    }
}

/// Tests V2-FILL-01, V2-FILL-02, V2-FILL-20.
#[test]
fn floats_have_three_words_and_tolerated_spellings() {
    for dtype in ["<f2", "<f4", ">f8"] {
        let subject = strict(dtype);
        for word in ["\"NaN\"", "\"Infinity\"", "\"-Infinity\""] {
            assert_eq!(subject.json(&subject.fill(word).unwrap()).unwrap(), word);
        }
        let spellings = ["\"+Infinity\"", "\"inf\"", "\"Inf\"", "\"nan\"", "\"-inf\"", "NaN"];
        refuses(&subject, &spellings);
        warns(
            &lenient(dtype),
            &[
                ("\"+Infinity\"", "\"Infinity\""),
                ("\"inf\"", "\"Infinity\""),
                ("\"Inf\"", "\"Infinity\""),
                ("\"-inf\"", "\"-Infinity\""),
                ("\"nan\"", "\"NaN\""),
                ("NaN", "\"NaN\""),
            ],
        );
        warns(&lenient(dtype), &[("\"1.5\"", "1.5"), ("\"0\"", "0.0")]);
        refuses(&subject, &["\"1.5\"", "\"0\""]);
        refuses(&lenient(dtype), &["\"0x7fc00000\"", "\"\"", "true"]);
        assert_eq!(subject.json(&subject.fill("-0.0").unwrap()).unwrap(), "-0.0");
    }
}

/// Tests V2-FILL-16, V2-FILL-17, V2-FILL-18.
#[test]
fn bools_and_integers_of_v2() {
    assert_eq!(strict("|b1").fill("true").unwrap(), [1]);
    warns(&lenient("|b1"), &[("0", "false"), ("1", "true")]);
    refuses(&strict("|b1"), &["0", "1", "\"true\"", "2"]);
    refuses(&lenient("|b1"), &["\"true\"", "2"]);
    for (dtype, fill) in
        [("<u8", "18446744073709551615"), ("<i8", "-9223372036854775808"), ("<u8", "9007199254740993")]
    {
        assert_eq!(strict(dtype).json(&strict(dtype).fill(fill).unwrap()).unwrap(), fill);
    }
    refuses(
        &lenient("<i4"),
        &["2147483648", "2147483648.0", "1.5", "1e-1", "1e400", "1e99999999999999999999"],
    );
    warns(
        &lenient("<i4"),
        &[("1.0", "1"), ("\"-7\"", "-7"), ("1e3", "1000"), ("-12.50e1", "-125"), ("0e5", "0")],
    );
    refuses(&strict("<i4"), &["1.0", "1e3", "\"1\"", "true"]);
}

/// Tests V2-FILL-19, V2-FILL-21.
#[test]
fn floats_are_written_as_doubles() {
    for (dtype, fill, written) in [
        ("<f4", "0.1", "0.10000000149011612"),
        ("<f2", "0.1", "0.0999755859375"),
        ("<f8", "1e-07", "1e-7"),
        ("<f8", "1e+22", "1e22"),
        ("<f8", "1", "1.0"),
        ("<c8", "[1.0,2.0]", "[1.0,2.0]"),
        ("<c16", "[\"NaN\",\"-Infinity\"]", "[\"NaN\",\"-Infinity\"]"),
    ] {
        let subject = strict(dtype);
        let element = subject.fill(fill).unwrap();
        assert_eq!(subject.json(&element).unwrap(), written);
        assert_eq!(subject.fill(written).unwrap(), element);
    }
    refuses(&lenient("<c8"), &["1", "[1]", "\"1+2j\""]);
}

#[test]
fn errors_name_values_that_v2_cannot_represent() {
    let payload = 0x7fc0_0001u32.to_ne_bytes();
    let Err(DataTypeError::FillValue(what)) = strict("<f4").json(&payload) else { panic!("it was written") };
    assert!(what.contains("0x7fc00001"), "{what}");
}

/// Tests V2-DT-23.
#[test]
fn objects_need_an_object_codec() {
    let reading = Reading::new(Mode::Lenient);
    let objects = Value::from("|O");
    assert!(DataTypeDocument::v2(&objects, None, &reading).is_err());
    let document = DataTypeDocument::v2(&objects, Some("vlen-utf8"), &reading).unwrap();
    assert_eq!(document.identifier, "O/vlen-utf8");
}

/// Tests V2-ARR-08.
#[test]
fn a_dtype_is_a_string_or_a_list() {
    let reading = Reading::new(Mode::Lenient);
    for json in ["{}", "5", "null", "\"str\""] {
        let json = zarr_json::parse(json.as_bytes(), &zarr_json::ParseOptions::default()).unwrap();
        assert!(DataTypeDocument::v2(&json.value, None, &reading).is_err());
    }
    let list = zarr_json::parse(br#"[["a","<i4"]]"#, &zarr_json::ParseOptions::default()).unwrap();
    assert_eq!(DataTypeDocument::v2(&list.value, None, &reading).unwrap().identifier, "struct");
    assert_eq!(DataTypeDocument::v2(&Value::from("<i4"), None, &reading).unwrap().identifier, "i4");
}
