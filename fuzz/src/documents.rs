//! JSON, and metadata documents of the three formats.

use std::collections::BTreeSet;
use std::io;
use std::sync::LazyLock;

use zarr_conformance::fuzz::within;
use zarr_kit::json::{self, Limits, Number, ParseOptions, Value};
use zarr_kit::metadata::draft::{self, Generation};
use zarr_kit::metadata::{
    ArrayMetadata, DocumentError, DocumentKind, NodeMetadata, parse_json, parse_json_member, v2, v3,
};
use zarr_kit::spec::Reading;
use zarr_kit::{Format, Mode, Registry};

use crate::formats;

/// The maximum size of a document, and of the memory for it, in bytes.
const SIZE: usize = 1 << 16;
const MEMORY: usize = 32 << 20;

/// The size from which elements are not checked, in bytes.
const LARGE: usize = 1 << 16;

/// Compares the JSON parser with `serde_json`, and checks that parsed JSON makes the round trip.
pub(crate) fn json(input: &[u8]) {
    let options = ParseOptions { limits: Limits { bytes: SIZE, depth: 100 }, bare_non_finite: false };
    let parsed = within(MEMORY, "JSON", || json::parse(input, &options));
    let peer = serde_json::from_slice::<serde_json::Value>(input);
    if let Some(number) = str::from_utf8(input).ok().and_then(Number::parse) {
        check_number(&number);
    }
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let is_limit = ["nested", "longer", "more than"].iter().any(|it| error.to_string().contains(it));
            assert!(peer.is_err() || is_limit, "{error}, but serde_json parses it");
            return;
        }
    };
    let has_mark = matches!(parsed.remarks.first(), Some(json::Remark::ByteOrderMark));
    if let Err(error) = peer {
        let is_other = error.to_string().contains("number out of range") || has_mark;
        assert!(is_other, "{} is read, and serde_json says: {error}", parsed.value);
    }
    for written in [json::to_vec(&parsed.value), json::to_vec_pretty(&parsed.value)] {
        let read = written.as_deref().map(|text| json::parse(text, &ParseOptions::default()));
        let Ok(Ok(again)) = read else { panic!("{} is written, but read as {read:?}", parsed.value) };
        assert_eq!(again.value.to_string(), parsed.value.to_string(), "the value changed in the round trip");
        assert!(again.remarks.is_empty(), "{:?}", again.remarks);
    }
}

fn check_number(number: &Number) {
    let integer = number.to_integer();
    let _views = (number.as_f64(), number.as_f32(), number.as_i128(), number.compare_magnitude(1.5));
    if let (Some(unsigned), Some(integer)) = (number.as_u64(), integer) {
        assert_eq!(i128::from(unsigned), integer, "{number:?}");
    }
    if let (Some(signed), Some(integer)) = (number.as_i64(), integer) {
        assert_eq!(i128::from(signed), integer, "{number:?}");
    }
}

pub(crate) fn json_seeds() -> io::Result<Vec<Vec<u8>>> {
    let texts: [&str; 6] = [
        r#"{"a": [1, -0.0, 1e400, 18446744073709551616], "b": {"c": null, "c": true}, "": "\ud834\udd1e"}"#,
        "[[[[]]], \"\\u0000\\/\", false]",
        "-12345678901234567890.5e-7",
        "1E400",
        "\u{feff}{}",
        "NaN",
    ];
    let own = texts.map(|text| text.as_bytes().to_vec());
    Ok(own.into_iter().chain(all_documents()?.into_iter().take(40)).collect())
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(registry);

#[expect(clippy::expect_used, reason = "the plugins of `zarr-kit` are tested")]
fn registry() -> Registry {
    Registry::linked().expect("the identifiers of plugins are unique")
}

/// Parses a document as each kind. A document that is read leniently must be written so that strict reading gives the
/// same metadata.
pub(crate) fn documents(input: &[u8]) {
    for mode in [Mode::Strict, Mode::Lenient, Mode::Compatibility] {
        within(MEMORY, "a document", || read_as_all(input, mode));
    }
}

fn read_as_all(input: &[u8], mode: Mode) {
    let reading = || Reading::new(mode).with_document_size(SIZE);
    let whole = reading();
    let alone = reading();
    let document = parse_json(input, DocumentKind::V3, &whole);
    let members = document.as_ref().map(Value::as_object);
    let member = members.map(|members| members.and_then(|members| members.get("node_type")).cloned());
    let found = parse_json_member(input, DocumentKind::V3, "node_type", &alone);
    assert_eq!(
        found.as_ref(),
        member.as_ref().map_err(|error| *error),
        "the member on its own and in the whole document"
    );
    assert_eq!(alone.take_warnings(), whole.take_warnings());
    if let Ok(value) = document {
        read_as_v3(&value, mode);
        read_as_draft(&value, mode);
    }
    read_as_v2(input, mode);
}

fn read_as_v3(value: &Value, mode: Mode) {
    let reading = || Reading::new(mode).with_document_size(SIZE);
    match v3::parse_node(value, &reading()) {
        Ok(NodeMetadata::Array(array)) => {
            again(&*array, v3::array_document, |value, reading| match v3::parse_node(value, reading)? {
                NodeMetadata::Array(array) => Ok(*array),
                NodeMetadata::Group(_) => Err(DocumentError::document("a group")),
            });
            data_type(&array, mode);
        }
        Ok(NodeMetadata::Group(group)) => {
            again(&group, v3::group_document, |value, reading| match v3::parse_node(value, reading)? {
                NodeMetadata::Group(group) => Ok(group),
                NodeMetadata::Array(_) => Err(DocumentError::document("an array")),
            });
        }
        Err(_) => {}
    }
}

fn read_as_draft(value: &Value, mode: Mode) {
    let reading = || Reading::new(mode).with_document_size(SIZE);
    for generation in [Generation::A, Generation::B] {
        if let Ok(array) = draft::parse_array(value, generation, &reading()) {
            again(&array, draft::array_document, |value, reading| {
                draft::parse_array(value, Generation::B, reading)
            });
            data_type(&array, mode);
        }
    }
    if let Ok(group) = draft::parse_group(value, &reading()) {
        again(&group, draft::group_document, draft::parse_group);
    }
    if let Ok(entry_point) = draft::parse_entry_point(value, &reading()) {
        again(&entry_point, draft::entry_point_document, draft::parse_entry_point);
    }
}

fn read_as_v2(input: &[u8], mode: Mode) {
    let reading = || Reading::new(mode).with_document_size(SIZE);
    if let Ok(value) = parse_json(input, DocumentKind::V2, &reading()) {
        if let Ok(array) = v2::parse_array(&value, None, &reading()) {
            again(&array, v2::array_document, |value, reading| v2::parse_array(value, None, reading));
            data_type(&array, mode);
        }
        if let Ok(group) = v2::parse_group(&value, None, &reading()) {
            again(&group, v2::group_document, |value, reading| v2::parse_group(value, None, reading));
        }
    }
    if let Ok(value) = parse_json(input, DocumentKind::V2Attributes, &reading()) {
        let _attributes = v2::parse_attributes(&value);
    }
    if let Ok(value) = parse_json(input, DocumentKind::V2Consolidated, &reading())
        && let Ok(consolidated) = v2::parse_consolidated(&value, &reading())
    {
        again(&consolidated, v2::consolidated_document, v2::parse_consolidated);
    }
}

/// Checks that metadata that can be written makes the round trip.
fn again<T: PartialEq + std::fmt::Debug>(
    metadata: &T,
    write: impl Fn(&T) -> Result<Value, DocumentError>,
    read: impl Fn(&Value, &Reading) -> Result<T, DocumentError>,
) {
    // Some tolerated metadata cannot be written.
    let Ok(written) = write(metadata) else { return };
    let read = match read(&written, &Reading::new(Mode::Strict)) {
        Ok(read) => read,
        Err(error) => panic!("{metadata:?} is written as {written}, which is refused: {error}"),
    };
    let twice = write(&read);
    assert!(twice.as_ref().is_ok_and(|twice| *twice == written), "{written} is written again as {twice:?}");
}

/// Creates the data type of an array, writes its document, and reads the fill value.
fn data_type(array: &ArrayMetadata, mode: Mode) {
    let reading = Reading::new(mode);
    let Ok((data_type, order)) = REGISTRY.data_type(array.format, &array.data_type, &reading) else { return };
    let Ok(document) = data_type.document(array.format, &order) else { return };
    let made = REGISTRY.data_type(array.format, &document, &Reading::new(Mode::Strict));
    match made {
        Ok((again, _)) => assert_eq!(again.name(), data_type.name(), "of {}", document.json),
        Err(error) => panic!("{} is written as {}: {error}", array.data_type.json, document.json),
    }
    // The memory limit of this target is too small for large elements.
    let is_large = data_type.elements().size().is_some_and(|size| size > LARGE);
    if is_large || (array.fill_value.is_null() && array.format != Format::V3) {
        return;
    }
    let context = zarr_kit::spec::data_type::FillContext::new(array.format, &reading).with_byte_order(&order);
    if let Ok(fill) = data_type.fill_value(&array.fill_value, &context) {
        let mut text = String::new();
        assert!(data_type.print(fill.bytes(), &mut text).is_ok(), "{} is not printed", array.fill_value);
    }
}

pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    all_documents()
}

/// Returns all distinct documents of the format suite.
fn all_documents() -> io::Result<Vec<Vec<u8>>> {
    let is_document = |key: &str| {
        key.ends_with("json") || key.rsplit('/').next().is_some_and(|name| name.starts_with(".z"))
    };
    let all = formats::hierarchies()?.into_iter().flatten();
    let documents: BTreeSet<_> = all.filter(|(key, _)| is_document(key)).map(|(_, value)| value).collect();
    Ok(documents.into_iter().collect())
}
