//! `zarrs.optional`: documents and fill values.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_dtype_optional as _;
use zarr_spec::{DataTypeError, Elements, Format, Mode, Registry};

const V3: &str = r#"{"name":"zarrs.optional","configuration":{"name":"int32","configuration":{}}}"#;
const NESTED: &str = r#"{"name":"zarrs.optional","configuration":{"name":"zarrs.optional","configuration":{"name":"uint8","configuration":{}}}}"#;
const TEXT: &str = r#"{"name":"zarrs.optional","configuration":{"name":"string","configuration":{}}}"#;
const DRAFT: &str = r#"{"extension":"https://zarr-kit.example/spec/data-types/optional/1.0","type":"int16"}"#;
const NESTED_DRAFT: &str = r#"{"extension":"https://zarr-kit.example/spec/data-types/optional/1.0","type":{"extension":"https://zarr-kit.example/spec/data-types/optional/1.0","type":"uint8"}}"#;

/// Returns a registry with the plugin and possible inner types.
fn registry() -> Registry {
    let mut registry = zarr_conformance::registry();
    for plugin in Registry::linked().unwrap().data_types().iter() {
        registry.register(*plugin).unwrap();
    }
    registry
}

fn subject(format: Format, text: &str) -> Result<Subject, DataTypeError> {
    Subject::new(&registry(), format, Mode::Strict, text)
}

/// Returns a present element.
fn present(inner: &[u8]) -> Vec<u8> {
    [&[1], inner].concat()
}

/// The documentation of zarrs 0.23.14 has these forms: `null`, `[42]`, and for a nested type `null`, `[null]`,
/// `[[42]]`.
///
/// Tests EX-TYPE-13.
#[test]
fn fill_values_are_null_or_a_list_of_one() {
    let optional = subject(Format::V3, V3).unwrap();
    optional.check(&registry(), &["null", "[42]", "[-1]"]).unwrap();
    assert_eq!(optional.fill("null").unwrap(), [0; 0]);
    assert_eq!(optional.fill("[42]").unwrap(), present(&42_i32.to_ne_bytes()));
    assert_eq!(optional.json(&[]).unwrap(), "null");
    assert_eq!(optional.data_type.default_fill_value().bytes(), [0; 0]);

    let nested = subject(Format::V3, NESTED).unwrap();
    nested.check(&registry(), &["null", "[null]", "[[42]]"]).unwrap();
    assert_eq!(nested.fill("null").unwrap(), [0; 0]);
    assert_eq!(nested.fill("[null]").unwrap(), [1]);
    assert_eq!(nested.fill("[[42]]").unwrap(), [1, 1, 42]);

    for wrong in ["42", "[]", "[1,2]", "[null]", "[[1]]", "\"null\"", "{}", "[\"x\"]"] {
        let error = optional.fill(wrong).unwrap_err();
        assert!(matches!(error, DataTypeError::FillValue(_)), "{wrong}: {error}");
    }
}

#[test]
fn the_draft_refuses_null_so_an_empty_list_is_a_missing_element() {
    let optional = subject(Format::V3Draft, DRAFT).unwrap();
    optional.check(&registry(), &["[]", "[42]"]).unwrap();
    assert_eq!(optional.fill("[]").unwrap(), [0; 0]);
    assert_eq!(optional.json(&[]).unwrap(), "[]");
    optional.fill("null").unwrap_err();
    let nested = subject(Format::V3Draft, NESTED_DRAFT).unwrap();
    nested.check(&registry(), &["[]", "[[]]", "[[7]]"]).unwrap();
    assert_eq!(nested.fill("[[]]").unwrap(), [1]);
    subject(Format::V3, V3).unwrap().fill("[]").unwrap_err();
}

#[test]
fn documents_contain_the_inner_type() {
    for (format, text, name) in [
        (Format::V3, V3, "zarrs.optional{int32}"),
        (Format::V3, NESTED, "zarrs.optional{zarrs.optional{uint8}}"),
        (Format::V3, TEXT, "zarrs.optional{string}"),
        (Format::V3Draft, DRAFT, "zarrs.optional{int16}"),
        (Format::V3Draft, NESTED_DRAFT, "zarrs.optional{zarrs.optional{uint8}}"),
    ] {
        let optional = subject(format, text).unwrap();
        assert_eq!(optional.data_type.name(), name);
        assert_eq!(optional.data_type.elements(), Elements::Variable);
        assert!(name.ends_with(&format!("{{{}}}", optional.data_type.optional().unwrap().name())));
        let document = optional.data_type.document(format, &optional.order).unwrap();
        assert_eq!(document.json.to_string(), text);
        let refused = optional.data_type.document(Format::V2, &optional.order).unwrap_err();
        assert!(matches!(refused, DataTypeError::NotInFormat { .. }), "{refused}");
    }
}

#[test]
fn invalid_documents_are_refused() {
    for wrong in [
        r#""zarrs.optional""#,
        r#"{"name":"zarrs.optional","configuration":{}}"#,
        r#"{"name":"zarrs.optional","configuration":{"name":"int32"}}"#,
        r#"{"name":"zarrs.optional","configuration":{"name":"int32","configuration":null}}"#,
        r#"{"name":"zarrs.optional","configuration":{"name":"int32","configuration":{},"x":1}}"#,
        r#"{"name":"zarrs.optional","configuration":{"name":5,"configuration":{}}}"#,
    ] {
        let error = subject(Format::V3, wrong).unwrap_err();
        assert!(matches!(error, DataTypeError::InvalidConfiguration(_)), "{wrong}: {error}");
    }
    let unknown = subject(Format::V3, &V3.replace("int32", "int33")).unwrap_err();
    assert!(unknown.to_string().contains("`int33` is unknown"), "{unknown}");
    for wrong in ["\"zarrs.optional\"", &DRAFT.replace("\"int16\"", "null"), &DRAFT.replace("int16", "int17")]
    {
        subject(Format::V3Draft, wrong).unwrap_err();
    }
}

#[test]
fn types_are_nested_up_to_a_limit() {
    let around =
        |depth: usize, open: &str, inner: &str| format!("{}{inner}{}", open.repeat(depth), "}".repeat(depth));
    let v3 = r#"{"name":"zarrs.optional","configuration":"#;
    let draft = r#"{"extension":"https://zarr-kit.example/spec/data-types/optional/1.0","type":"#;
    for (format, open, inner) in
        [(Format::V3, v3, r#"{"name":"int8","configuration":{}}"#), (Format::V3Draft, draft, r#""int8""#)]
    {
        subject(format, &around(32, open, inner)).unwrap();
        for depth in [33, 100, 120] {
            let error = subject(format, &around(depth, open, inner)).unwrap_err().to_string();
            let expected = format!("{depth} optional data types are nested; the maximum is 32");
            assert!(error.contains(&expected), "{depth}: {error}");
        }
    }
}

#[test]
fn missing_elements_print_as_null_and_present_ones_as_their_value() {
    let nested = subject(Format::V3, NESTED).unwrap();
    for (element, printed) in [(&[][..], "null"), (&[1], "null"), (&[1, 1, 42], "2a"), (&[2, 42], "022a")] {
        assert_eq!(nested.print(element), printed);
    }
}

#[test]
fn invalid_elements_are_refused() {
    let optional = subject(Format::V3, V3).unwrap();
    for element in [&[][..], &[1, 0, 0, 0, 0]] {
        optional.data_type.check(element).unwrap();
    }
    for wrong in [&[0][..], &[1], &[0, 0, 0, 0, 0], &[1, 0, 0, 0], &[1, 0, 0, 0, 0, 0], &[2, 0, 0, 0, 0]] {
        optional.data_type.check(wrong).unwrap_err();
        optional.json(wrong).unwrap_err();
    }
    let nested = subject(Format::V3, NESTED).unwrap();
    for (element, is_one) in [(&[1][..], true), (&[1, 1, 9], true), (&[1, 0], false), (&[1, 1], false)] {
        assert_eq!(nested.data_type.check(element).is_ok(), is_one, "{element:?}");
    }
}

#[test]
fn the_name_of_the_proposal_is_kept() {
    for document in [
        r#"{"name":"optional","configuration":{"name":"int16","configuration":{}}}"#,
        r#"{"name":"optional","configuration":{"name":"int16"}}"#,
    ] {
        let optional = subject(Format::V3, document).unwrap();
        let written = optional.data_type.document(Format::V3, &optional.order).unwrap();
        assert_eq!(written.identifier, "optional");
        assert_eq!(optional.fill("null").unwrap(), []);
        assert_eq!(optional.fill("[42]").unwrap(), [&[1][..], &42_i16.to_ne_bytes()].concat());
    }
    let nested =
        r#"{"name":"optional","configuration":{"name":"optional","configuration":{"name":"int16"}}}"#;
    assert_eq!(subject(Format::V3, nested).unwrap().fill("[null]").unwrap(), [1]);
    subject(Format::V3, r#"{"name":"zarrs.optional","configuration":{"name":"int16"}}"#).unwrap_err();
}
