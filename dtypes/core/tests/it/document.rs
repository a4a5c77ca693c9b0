//! Names and documents.

use zarr_spec::{ByteOrder, DataTypeError, Format, Mode, Registry};

use crate::subject;

const SIZES: [(&str, usize); 14] = [
    ("bool", 1),
    ("int8", 1),
    ("int16", 2),
    ("int32", 4),
    ("int64", 8),
    ("uint8", 1),
    ("uint16", 2),
    ("uint32", 4),
    ("uint64", 8),
    ("float16", 2),
    ("float32", 4),
    ("float64", 8),
    ("complex64", 8),
    ("complex128", 16),
];

/// Tests DT-ID-01, DT-ID-02, DT-ID-06, D3-DT-19, D3-DT-24.
#[test]
fn every_core_type_exists_in_v3_and_the_draft_with_its_size() {
    for format in [Format::V3, Format::V3Draft] {
        for (name, size) in SIZES {
            let subject = subject(format, Mode::Strict, &format!("\"{name}\"")).unwrap();
            assert_eq!(subject.data_type.elements().size(), Some(size), "{name}");
            let document = subject.data_type.document(format, &ByteOrder::Little).unwrap();
            assert_eq!(document.json.as_str(), Some(name));
        }
        subject(format, Mode::Strict, "\"r7\"").unwrap_err();
    }
}

/// Tests DT-ID-04, DT-ID-09, D3-DT-01.
#[test]
fn names_are_exact() {
    for name in [
        "Int32",
        "i4",
        "<i4",
        "uint",
        "complex256",
        "float128",
        "Float64",
        "FLOAT64",
        "double",
        "float64 ",
        "b1",
        "",
    ] {
        let result = subject(Format::V3, Mode::Lenient, &format!("\"{name}\""));
        assert!(
            matches!(result, Err(DataTypeError::Unknown(_) | DataTypeError::InvalidConfiguration(_))),
            "{name}"
        );
        if name != "<i4" {
            subject(Format::V3Draft, Mode::Lenient, &format!("\"{name}\"")).unwrap_err();
        }
    }
    assert_eq!(subject(Format::V3, Mode::Strict, "\"float64\"").unwrap().data_type.name(), "float64");
}

/// Tests V3-ARR-06, V3-EXT-01, V3-EXT-05, V3-EXT-07, V3-EXT-08.
#[test]
fn v3_takes_a_name_or_an_object() {
    for json in [
        r#""int32""#,
        r#"{"name":"int32"}"#,
        r#"{"name":"int32","configuration":{}}"#,
        r#"{"name":"int32","must_understand":false}"#,
    ] {
        assert_eq!(subject(Format::V3, Mode::Strict, json).unwrap().data_type.name(), "int32");
    }
    for json in [
        r#"{"name":5}"#,
        r#"{"configuration":{}}"#,
        r#"{"name":"int32","configuration":[]}"#,
        r#"{"name":"int32","configuration":{"x":1}}"#,
        r#"{"name":"int32","must_understand":"false"}"#,
        r#"{"name":"nope","must_understand":false}"#,
        "5",
        "null",
        r#"["int32"]"#,
    ] {
        subject(Format::V3, Mode::Lenient, json).unwrap_err();
    }
    let further = r#"{"name":"int32","x":1}"#;
    subject(Format::V3, Mode::Strict, further).unwrap_err();
    assert_eq!(subject(Format::V3, Mode::Lenient, further).unwrap().warnings.len(), 1);
}

#[test]
fn every_type_is_written_and_read_again_in_every_format() {
    let registry = Registry::linked().unwrap();
    for (name, _) in SIZES.iter().chain([&("r24", 3)]) {
        let fills: &[&str] = match *name {
            "bool" => &["true", "false"],
            "r24" => &["[1,2,255]"],
            name if name.starts_with("float") => {
                &["0", "-0.0", "0.1", "1e30", "\"NaN\"", "\"-Infinity\"", "\"Infinity\""]
            }
            name if name.starts_with("complex") => &["[0.1,-0.0]", "[\"NaN\",\"Infinity\"]"],
            _ => &["0", "127"],
        };
        let v3 = subject(Format::V3, Mode::Strict, &format!("\"{name}\"")).unwrap();
        v3.check(&registry, fills).unwrap();
        for (format, order) in [
            (Format::V2, ByteOrder::Little),
            (Format::V2, ByteOrder::Big),
            (Format::V3Draft, ByteOrder::Little),
        ] {
            if (*name, format) == ("r24", Format::V2) {
                continue;
            }
            let document = v3.data_type.document(format, &order).unwrap();
            let other = subject(format, Mode::Strict, &document.json.to_string()).unwrap();
            assert_eq!(other.data_type.name(), *name);
            let rewritten: Vec<String> = fills
                .iter()
                .map(|fill| {
                    v3.data_type.fill_value_json(&v3.fill(fill).unwrap(), format, &order).unwrap().to_string()
                })
                .collect();
            let rewritten: Vec<&str> = rewritten.iter().map(String::as_str).collect();
            other.check(&registry, &rewritten).unwrap();
        }
    }
}
