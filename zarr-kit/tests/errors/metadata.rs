//! The messages about metadata documents.

use expect_test::expect_file;
use zarr_kit::json::{ParseOptions, Value, parse};
use zarr_kit::metadata::{NodeMetadata, draft, identify, v2, v3};
use zarr_kit::spec::metadata_encoding::DocumentError;
use zarr_kit::spec::{Format, Mode, Reading};

use super::Messages;

const V2: &str = r#"{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": null,
    "fill_value": 0, "order": "C", "filters": null}"#;
const DRAFT: &str = r#"{"shape": [4], "data_type": "int32",
    "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
    "chunk_memory_layout": "C", "fill_value": 0, "extensions": [], "attributes": {}, "codecs": []}"#;
const ENTRY_POINT: &str = r#"{"zarr_format": "https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"}, "extensions": []}"#;
const V3: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#;

type Parse = fn(&Value, &Reading) -> Result<(), DocumentError>;

const PARSE_V2: Parse = |document, reading| v2::parse_array(document, None, reading).map(drop);
const PARSE_ENTRY_POINT: Parse = |document, reading| draft::parse_entry_point(document, reading).map(drop);
const PARSE_DRAFT: Parse =
    |document, reading| draft::parse_array(document, draft::Generation::B, reading).map(drop);
const PARSE_V3: Parse = |document, reading| v3::parse_node(document, reading).map(drop);

/// Members of a document and their new JSON text. An empty text removes the member.
type Changes = &'static [(&'static str, &'static str)];

const OF_V2: Changes = &[
    ("zarr_format", "3"),
    ("shape", "[4, -1]"),
    ("shape", "4"),
    ("shape", ""),
    ("chunks", "[2, 2]"),
    ("chunks", "[0]"),
    ("dtype", "\"i4\""),
    ("dtype", "\"<i3x\""),
    ("order", "\"A\""),
    ("compressor", "{\"level\": 1}"),
    ("filters", "{}"),
    ("dimension_separator", "\":\""),
];

const OF_THE_ENTRY_POINT: Changes = &[
    ("zarr_format", "\"3\""),
    ("zarr_format", "\"https://purl.org/zarr/spec/core/4.0\""),
    ("zarr_format", "\"https://example.org/3.0\""),
    ("metadata_encoding", "{\"type\": \"yaml\", \"metadata_key_suffix\": \".yaml\"}"),
    ("metadata_encoding", "{\"type\": \"json\", \"metadata_key_suffix\": \"/json\"}"),
    ("metadata_encoding", ""),
];

const OF_THE_DRAFT: Changes = &[
    ("chunk_grid", "{\"type\": \"irregular\"}"),
    ("chunk_memory_layout", "\"A\""),
    ("chunk_memory_layout", ""),
    ("extensions", "{}"),
    ("codecs", "[{\"configuration\": {}}]"),
    ("attributes", "[]"),
    ("fill_value", ""),
];

const OF_V3: Changes = &[
    ("zarr_format", "\"3\""),
    ("node_type", "\"table\""),
    ("node_type", ""),
    ("shape", "[9223372036854775808]"),
    ("shape", "[1.5]"),
    ("data_type", "7"),
    ("data_type", "{\"configuration\": {}}"),
    ("chunk_grid", "[]"),
    ("chunk_grid", "{\"name\": \"regular\", \"configuration\": {}}"),
    ("chunk_key_encoding", "{\"name\": \"\"}"),
    ("codecs", "[]"),
    ("codecs", "\"bytes\""),
    ("attributes", "null"),
    ("dimension_names", "[\"x\", \"y\"]"),
    ("dimension_names", "[1]"),
    ("colour", "\"red\""),
    ("colour", "{\"must_understand\": true}"),
    ("storage_transformers", "{}"),
];

#[test]
fn messages_about_documents_are_in_the_snapshot() {
    let mut messages = Messages::new(|_| None);
    for (format, document, parse, changes) in [
        ("v2", V2, PARSE_V2, OF_V2),
        ("entry point of the draft", ENTRY_POINT, PARSE_ENTRY_POINT, OF_THE_ENTRY_POINT),
        ("draft", DRAFT, PARSE_DRAFT, OF_THE_DRAFT),
        ("v3", V3, PARSE_V3, OF_V3),
    ] {
        let reading = Reading::new(Mode::Strict);
        parse(&json(document), &reading).unwrap();
        for (member, text) in changes {
            let change = if text.is_empty() { "is missing".to_owned() } else { format!("is {text}") };
            let changed = changed(document, member, text);
            messages.add(&format!("{format}: `{member}` {change}"), parse(&changed, &reading));
        }
        messages.add(&format!("{format}: a list instead of an object"), parse(&json("[1]"), &reading));
    }
    messages.add("a document of a future format", identify(&json(r#"{"zarr_format": 4}"#)));
    of_writing(&mut messages);
    expect_file!["../snapshots/zarr-metadata.txt"].assert_eq(&messages.text);
}

/// Metadata that a format cannot express.
fn of_writing(messages: &mut Messages) {
    let array = |format, document: &str| {
        let NodeMetadata::Array(mut array) =
            v3::parse_node(&json(document), &Reading::new(Mode::Strict)).unwrap()
        else {
            panic!("unexpected kind of node")
        };
        array.format = format;
        array
    };
    messages.add("writing metadata of another format", v2::array_document(&array(Format::V3, V3)));
    for (what, from, to) in [
        ("dimension names", "\"fill_value\"", "\"dimension_names\": [\"x\"], \"fill_value\""),
        ("another chunk grid", "\"regular\"", "\"rectilinear\""),
        ("another chunk key encoding", "\"default\"", "\"reversed\""),
        (
            "a storage transformer",
            "\"fill_value\"",
            "\"storage_transformers\": [{\"name\": \"mirror\"}], \"fill_value\"",
        ),
    ] {
        let changed = V3.replace(from, to);
        messages.add(&format!("writing {what} in v2"), v2::array_document(&array(Format::V2, &changed)));
        let draft = array(Format::V3Draft, &changed);
        messages.add(&format!("writing {what} in the draft"), draft::array_document(&draft));
    }
}

fn json(text: &str) -> Value {
    parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
}

fn changed(document: &str, member: &str, text: &str) -> Value {
    let mut document = json(document);
    let members = document.as_object_mut().unwrap();
    match text {
        "" => drop(members.remove(member).unwrap()),
        text => drop(members.insert(member, json(text))),
    }
    document
}
