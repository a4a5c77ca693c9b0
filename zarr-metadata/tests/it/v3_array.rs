//! Keys of final v3 and its array documents.

use zarr_metadata::{ArrayMetadata, v3};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{Format, Key, NodePath};

use crate::support::{AR, accepted, json, refused, tolerated, v3_array, v3_node, warned, with, without};

#[track_caller]
fn round_trip(array: &ArrayMetadata) {
    let document = v3::array_document(array).unwrap();
    assert_eq!(&accepted(v3_array, &document), array);
}

fn path(text: &str) -> NodePath {
    NodePath::parse(text, Format::V3).unwrap()
}

/// Tests V3-KEY-01, V3-KEY-02, V3-KEY-03.
#[test]
fn every_node_has_its_documents_and_chunks_below_its_path() {
    let key = |text: &str| v3::node_key(&path(text)).unwrap().to_string();
    assert_eq!(key("/"), "zarr.json");
    assert_eq!(key("/foo/bar"), "foo/bar/zarr.json");
    let chunk = |text: &str| v3::prefix(&path(text)).unwrap().key("c/1/0").unwrap().to_string();
    assert_eq!(chunk("/foo/baz"), "foo/baz/c/1/0");
    assert_eq!(chunk("/"), "c/1/0");
    let node = |key: &str| v3::node_of(&Key::new(key).unwrap());
    assert_eq!(node("zarr.json"), Some(path("/")));
    assert_eq!(node("foo/bar/zarr.json"), Some(path("/foo/bar")));
    for other in ["meta/foo.array.json", ".zgroup", "foo/bar", "__x/zarr.json", "foo/xzarr.json"] {
        assert_eq!(node(other), None, "{other}");
    }
}

/// Tests V3-NAME-09.
#[test]
fn keys_are_utf8() {
    let key = v3::node_key(&path("/é")).unwrap();
    assert_eq!(key.as_str().as_bytes(), b"\xc3\xa9/zarr.json");
}

/// Tests V3-ARR-01, V3-ARR-02, V3-ARR-03.
#[test]
fn a_document_specifies_version_and_kind() {
    let array = accepted(v3_array, &json(AR));
    assert_eq!(array.format, Format::V3);
    round_trip(&array);
    refused(v3_node, &without(AR, "zarr_format"), "`zarr_format`: is missing");
    for version in ["\"3\"", "2", "\"https://purl.org/zarr/spec/core/3.0\""] {
        refused(v3_node, &with(AR, &[("zarr_format", version)]), "`zarr_format`");
    }
    tolerated(v3_array, &with(AR, &[("zarr_format", "3.0")]), "`zarr_format`: is 3.0");
    refused(v3_node, &without(AR, "node_type"), "`node_type`: is missing");
    refused(v3_node, &with(AR, &[("node_type", "\"Array\"")]), "`node_type`");
    refused(v3_node, &with(AR, &[("node_type", "\"group\"")]), "`shape`: unknown member");
}

/// Tests V3-ARR-04, V3-GRID-01, V3-GRID-02, V3-EXT-09.
#[test]
fn shapes_are_lengths_and_chunk_lengths_are_positive() {
    let shapes = |shape: &str, chunks: &str| {
        let grid = format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{chunks}}}}}"#);
        with(AR, &[("shape", shape), ("chunk_grid", &grid)])
    };
    for (shape, chunks) in [("[]", "[]"), ("[0,3]", "[1,1]"), ("[4]", "[2]"), ("[4]", "[10]"), ("[0]", "[1]")]
    {
        round_trip(&accepted(v3_array, &shapes(shape, chunks)));
    }
    refused(v3_node, &without(AR, "shape"), "`shape`: is missing");
    for shape in ["[-1]", "[1.0]", "4"] {
        refused(v3_node, &shapes(shape, "[1]"), "`shape");
    }
    for chunks in ["[0]", "[-1]", "[2,2]"] {
        refused(v3_node, &shapes("[4]", chunks), "`chunk_grid.configuration.chunk_shape");
    }
    refused(v3_node, &shapes("[0]", "[0]"), "`chunk_grid.configuration.chunk_shape[0]`");
    for grid in [
        "\"regular\"",
        r#"{"name":"regular","configuration":{}}"#,
        r#"{"name":"regular","configuration":{"chunk_shape":[2],"x":1}}"#,
    ] {
        refused(v3_node, &with(AR, &[("chunk_grid", grid)]), "`chunk_grid.configuration");
    }
}

/// Tests V3-ARR-07.
#[test]
fn grid_and_key_encoding_are_extension_definitions() {
    for member in ["data_type", "chunk_grid", "chunk_key_encoding"] {
        refused(v3_node, &without(AR, member), &format!("`{member}`: is missing"));
    }
    let array = accepted(v3_array, &json(AR));
    assert_eq!(array.chunk_grid, ExtensionDocument::new("regular", json(r#"{"chunk_shape":[2]}"#)));
    assert_eq!(array.chunk_key_encoding, ExtensionDocument::new("default", json(r#"{"separator":"/"}"#)));
    for encoding in [r#"{"name":"default"}"#, "\"default\""] {
        let array = accepted(v3_array, &with(AR, &[("chunk_key_encoding", encoding)]));
        assert_eq!(array.chunk_key_encoding, ExtensionDocument::new("default", json("null")));
    }
    // The registry, not the parser, reports that no encoding has this name.
    let slash = accepted(v3_array, &with(AR, &[("chunk_key_encoding", "\"/\"")]));
    assert_eq!(slash.chunk_key_encoding.identifier, "/");
}

#[test]
fn a_fill_value_and_a_codec_are_mandatory() {
    refused(v3_node, &without(AR, "fill_value"), "`fill_value`: is missing");
    refused(v3_node, &without(AR, "codecs"), "`codecs`: is missing");
}

/// Tests V3-ARR-11.
#[test]
fn codecs_are_never_empty() {
    accepted(v3_array, &json(AR));
    refused(v3_node, &without(AR, "codecs"), "`codecs`: is missing");
    refused(v3_node, &with(AR, &[("codecs", "[]")]), "`codecs`: is empty");
    refused(v3_node, &with(AR, &[("codecs", "{}")]), "`codecs`: is an object");
}

/// Tests V3-ARR-12, V3-ARR-14.
#[test]
fn attributes_are_an_object() {
    let plain = accepted(v3_array, &json(AR));
    let document = with(AR, &[("attributes", "{}"), ("storage_transformers", "[]")]);
    assert_eq!(accepted(v3_array, &document), plain);
    for attributes in ["[]", "null", "\"x\""] {
        refused(v3_node, &with(AR, &[("attributes", attributes)]), "`attributes`");
    }
}

#[test]
fn storage_transformers_are_a_list() {
    refused(v3_node, &with(AR, &[("storage_transformers", "{}")]), "`storage_transformers`");
    let skippable = r#"[{"name":"x","must_understand":false},{"name":"y","configuration":{"a":1}}]"#;
    let document = with(AR, &[("storage_transformers", skippable)]);
    let array = accepted(v3_array, &document);
    assert!(!array.storage_transformers[0].must_understand);
    let written = v3::array_document(&array).unwrap();
    assert_eq!(written.as_object().unwrap().get("storage_transformers"), Some(&json(skippable)));
}

/// Tests V3-ARR-15, V3-ARR-16, V3-ARR-17, V3-ARR-18.
#[test]
fn dimension_names_are_strings_or_null() {
    let names = |shape: &str, names: &str| {
        let ones = shape.replace(|digit: char| digit.is_ascii_digit(), "1");
        let grid = format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{ones}}}}}"#);
        with(AR, &[("shape", shape), ("chunk_grid", &grid), ("dimension_names", names)])
    };
    for (shape, text) in [("[4,4]", "[\"x\",null]"), ("[4]", "[null]"), ("[]", "[]"), ("[4]", "[\"\"]")] {
        round_trip(&accepted(v3_array, &names(shape, text)));
    }
    let empty = accepted(v3_array, &names("[4]", "[\"\"]")).dimension_names;
    assert_ne!(empty, accepted(v3_array, &names("[4]", "[null]")).dimension_names);
    refused(v3_node, &names("[4]", "[\"x\",\"y\"]"), "`dimension_names`: has 2 entries for 1 dimension");
    for text in ["\"x\"", "[1]"] {
        refused(v3_node, &names("[4]", text), "`dimension_names");
    }
    warned(v3_array, &names("[4,4]", "[\"x\",\"x\"]"), "`dimension_names`");
    let array = tolerated(v3_array, &names("[4]", "null"), "`dimension_names`: is null");
    assert_eq!(array.dimension_names, None);
}

/// Tests V3-ARR-19, V3-ARR-20.
#[test]
fn ignorable_members_of_arrays_are_preserved() {
    for value in [r#"{"must_understand":false}"#, r#"{"name":"x","must_understand":false,"n":1.50}"#] {
        let array = accepted(v3_array, &with(AR, &[("foo", value)]));
        let document = v3::array_document(&array).unwrap();
        assert_eq!(document.as_object().unwrap().get("foo"), Some(&json(value)));
    }
    for value in ["1", "{}", r#"{"must_understand":true}"#, r#"{"must_understand":"false"}"#, "null"] {
        refused(v3_node, &with(AR, &[("foo", value)]), "`foo`: unknown member");
    }
}

/// Tests V3-ARR-21.
#[test]
fn a_document_in_the_order_of_zarr_python_opens() {
    let document = r#"{"shape":[4],"data_type":"int32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0,
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{},"zarr_format":3,
        "node_type":"array","storage_transformers":[]}"#;
    assert_eq!(accepted(v3_array, &json(document)), accepted(v3_array, &json(AR)));
}

/// Tests V3-ARR-22.
#[test]
fn members_of_the_draft_are_unknown() {
    refused(v3_node, &with(AR, &[("chunk_memory_layout", "\"C\"")]), "`chunk_memory_layout`");
    refused(v3_node, &with(AR, &[("extensions", "[1]")]), "`extensions`");
    let array = tolerated(v3_array, &with(AR, &[("extensions", "[]")]), "`extensions`");
    assert!(v3::array_document(&array).unwrap().as_object().unwrap().get("extensions").is_none());
}

/// Tests V3-EXT-01, V3-EXT-08.
#[test]
fn an_extension_definition_is_a_name_and_a_configuration() {
    let codec = |codec: &str| with(AR, &[("codecs", &format!("[{codec}]"))]);
    let array = accepted(v3_array, &codec(r#"{"name":"gzip","configuration":{"level":1}}"#));
    assert_eq!(array.codecs, [ExtensionDocument::new("gzip", json(r#"{"level":1}"#))]);
    refused(v3_node, &codec(r#"{"name":5}"#), "`codecs[0].name`");
    refused(v3_node, &codec(r#"{"configuration":{}}"#), "`codecs[0].name`");
    refused(v3_node, &codec(r#"{"name":"x","configuration":[]}"#), "`codecs[0].configuration`");
    refused(v3_node, &codec("\"\""), "`codecs[0]`");
    refused(v3_node, &codec("5"), "`codecs[0]`");
    tolerated(v3_array, &codec(r#"{"name":"bytes","x":1}"#), "`codecs[0].x`");
}

/// Tests V3-EXT-02, V3-EXT-03.
#[test]
fn short_forms_are_read_but_not_written() {
    let document = with(
        AR,
        &[("codecs", "[\"bytes\",\"crc32c\"]"), ("chunk_key_encoding", "\"v2\""), ("data_type", "\"uint8\"")],
    );
    let array = accepted(v3_array, &document);
    assert_eq!(
        array.codecs,
        [ExtensionDocument::new("bytes", json("null")), ExtensionDocument::new("crc32c", json("null")),]
    );
    let written = v3::array_document(&array).unwrap();
    let written = written.as_object().unwrap();
    assert_eq!(written.get("codecs"), Some(&json(r#"[{"name":"bytes"},{"name":"crc32c"}]"#)));
    assert_eq!(written.get("chunk_key_encoding"), Some(&json(r#"{"name":"v2"}"#)));
    assert_eq!(written.get("data_type"), Some(&json("\"uint8\"")));
}

#[test]
fn must_understand_is_true_unless_it_is_false() {
    let codec = |codec: &str| with(AR, &[("codecs", &format!("[{codec}]"))]);
    assert!(accepted(v3_array, &json(AR)).codecs[0].must_understand);
    let explicit = r#"{"name":"bytes","configuration":{"endian":"little"},"must_understand":false}"#;
    let array = accepted(v3_array, &codec(explicit));
    assert!(!array.codecs[0].must_understand);
    let written = v3::array_document(&array).unwrap();
    assert_eq!(
        written.as_object().unwrap().get("codecs"),
        Some(&json(r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#)),
        "readers of version 3.0 do not expect it there"
    );
    refused(v3_node, &codec(r#"{"name":"bytes","must_understand":"false"}"#), "must_understand");
}

/// Tests V3-EXT-11.
#[test]
fn uris_are_names() {
    for name in ["urn:example:datetime", "https://e.org/codec/1.0"] {
        let array = accepted(v3_array, &with(AR, &[("codecs", &format!(r#"[{{"name":"{name}"}}]"#))]));
        assert_eq!(array.codecs[0].identifier, name);
    }
}

/// Tests V3-GRID-11.
#[test]
fn a_separator_next_to_the_name_is_accepted_in_lenient_mode() {
    let document = with(AR, &[("chunk_key_encoding", r#"{"name":"v2","separator":"/"}"#)]);
    let array = tolerated(v3_array, &document, "`chunk_key_encoding.separator`");
    assert_eq!(array.chunk_key_encoding, ExtensionDocument::new("v2", json(r#"{"separator":"/"}"#)));
}

#[test]
fn metadata_that_v3_cannot_express_is_not_written() {
    let array = accepted(v3_array, &json(AR));
    let refused = |change: &dyn Fn(&mut ArrayMetadata), word: &str| {
        let mut array = array.clone();
        change(&mut array);
        let error = v3::array_document(&array).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(&|array| array.format = Format::V2, "convert it first");
    refused(&|array| array.codecs.clear(), "`codecs`");
    refused(&|array| array.shape.push(1), "`chunk_grid.configuration.chunk_shape`");
    refused(
        &|array| array.memory_layout = Some(ExtensionDocument::new("C", json("null"))),
        "is not supported by v3",
    );
    refused(&|array| array.dimension_names = Some(vec![]), "`dimension_names`");
    refused(&|array| drop(array.ignored.insert("foo", 1)), "`foo`");
    refused(&|array| drop(array.ignored.insert("shape", 1)), "`shape`");
}
