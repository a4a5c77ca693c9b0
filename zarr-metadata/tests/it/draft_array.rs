//! Documents of arrays and groups of the draft.

use zarr_metadata::{ArrayMetadata, draft};
use zarr_spec::Format;
use zarr_spec::extension::ExtensionDocument;

use crate::support::{
    ARR, EP, accepted, compatible, draft_array, draft_group, entry_point, json, refused, tolerated, warned,
    with, without,
};

const GZIP: &str = "https://purl.org/zarr/spec/codecs/gzip/1.0";

fn regular(chunk_shape: &str) -> ExtensionDocument {
    ExtensionDocument::new("regular", json(&format!(r#"{{"chunk_shape":{chunk_shape}}}"#)))
}

fn default_keys(separator: &str) -> ExtensionDocument {
    ExtensionDocument::new("default", json(&format!(r#"{{"separator":"{separator}"}}"#)))
}

#[track_caller]
fn round_trip(array: &ArrayMetadata) {
    let document = draft::array_document(array).unwrap();
    assert_eq!(&accepted(draft_array, &document), array);
}

#[test]
fn a_document_becomes_the_common_form() {
    let document = with(
        ARR,
        &[
            ("shape", "[4,6]"),
            ("chunk_grid", r#"{"type":"regular","chunk_shape":[2,3],"separator":"."}"#),
            ("chunk_memory_layout", "\"F\""),
            ("codecs", &format!(r#"[{{"type":"{GZIP}","configuration":{{"level":1}}}}]"#)),
            ("attributes", r#"{"filters":[1],"b":null}"#),
        ],
    );
    let array = accepted(draft_array, &document);
    assert_eq!(array.format, Format::V3Draft);
    assert_eq!(array.shape, [4, 6]);
    assert_eq!(array.data_type.identifier, "int32");
    assert_eq!(array.chunk_grid, regular("[2,3]"));
    assert_eq!(array.chunk_key_encoding, default_keys("."));
    assert_eq!(array.memory_layout, Some(ExtensionDocument::new("F", json("null"))));
    assert_eq!(array.codecs, [ExtensionDocument::new(GZIP, json(r#"{"level":1}"#))]);
    assert_eq!(draft::array_document(&array).unwrap(), document);
}

/// Tests D3-SHAPE-01, D3-ARR-08, D3-ARR-09.
#[test]
fn a_shape_is_a_list_of_lengths() {
    let with_shape = |shape: &str, chunks: &str| {
        let grid = format!(r#"{{"type":"regular","chunk_shape":{chunks},"separator":"/"}}"#);
        with(ARR, &[("shape", shape), ("chunk_grid", &grid)])
    };
    for (shape, chunks) in
        [("[]", "[]"), ("[0]", "[1]"), ("[10,20]", "[5,5]"), ("[9223372036854775807]", "[2]")]
    {
        round_trip(&accepted(draft_array, &with_shape(shape, chunks)));
    }
    for shape in ["[-1]", "[1.5]", "[1e3]", "[\"4\"]", "null", "4"] {
        refused(draft_array, &with_shape(shape, "[2]"), "`shape");
    }
    refused(draft_array, &with_shape("[9223372036854775808]", "[2]"), "unsupported");
    refused(draft_array, &with_shape("[18446744073709551616]", "[2]"), "unsupported");
}

/// Tests D3-SHAPE-03.
#[test]
fn an_array_has_one_data_type() {
    accepted(draft_array, &json(ARR));
    refused(draft_array, &with(ARR, &[("data_type", r#"["int8","int16"]"#)]), "`data_type`");
}

/// Tests D3-SHAPE-04, D3-SHAPE-05, D3-SHAPE-06, D3-SHAPE-07.
#[test]
fn chunks_have_the_rank_of_the_array_and_positive_lengths() {
    let grid = |shape: &str, chunks: &str| {
        let grid = format!(r#"{{"type":"regular","chunk_shape":{chunks},"separator":"/"}}"#);
        with(ARR, &[("shape", shape), ("chunk_grid", &grid)])
    };
    for (shape, chunks) in [("[4,4]", "[2,2]"), ("[4]", "[2]"), ("[0]", "[1]"), ("[3]", "[10]")] {
        assert_eq!(accepted(draft_array, &grid(shape, chunks)).chunk_grid, regular(chunks));
    }
    refused(draft_array, &grid("[4,4]", "[2]"), "`chunk_grid.chunk_shape`: has 1 entry for 2 dimensions");
    refused(draft_array, &grid("[4]", "[0]"), "`chunk_grid.chunk_shape[0]`: is 0");
    let array = warned(draft_array, &grid("[0]", "[0]"), "`chunk_grid.chunk_shape[0]`");
    assert_eq!(
        array.chunk_grid,
        regular("[1]"),
        "callers can divide by the length, and zero is never written"
    );
}

/// Tests D3-GRID-02, D3-GRID-03, D3-GRID-04, D3-GRID-06.
#[test]
fn a_regular_grid_has_three_members() {
    let grid = |grid: &str| with(ARR, &[("chunk_grid", grid)]);
    let lengths =
        |chunks: &str| grid(&format!(r#"{{"type":"regular","chunk_shape":{chunks},"separator":"/"}}"#));
    let separator =
        |text: &str| grid(&format!(r#"{{"type":"regular","chunk_shape":[2],"separator":{text}}}"#));
    assert_eq!(accepted(draft_array, &lengths("[1]")).chunk_grid, regular("[1]"));
    let two = with(
        ARR,
        &[
            ("shape", "[4,4]"),
            ("chunk_grid", r#"{"type":"regular","chunk_shape":[1000,100],"separator":"/"}"#),
        ],
    );
    assert_eq!(accepted(draft_array, &two).chunk_grid, regular("[1000,100]"));
    for text in ["/", "."] {
        let array = accepted(draft_array, &separator(&format!("\"{text}\"")));
        assert_eq!(array.chunk_key_encoding, default_keys(text));
    }
    refused(draft_array, &grid("\"regular\""), "`chunk_grid`: is \"regular\", not an object");
    refused(
        draft_array,
        &grid(r#"{"type":"Regular","chunk_shape":[2],"separator":"/"}"#),
        "`chunk_grid.type`",
    );
    refused(
        draft_array,
        &grid(r#"{"type":"regular","separator":"/"}"#),
        "`chunk_grid.chunk_shape`: is missing",
    );
    for chunks in ["[1.0]", "[\"2\"]", "2", "null", "[-2]"] {
        refused(draft_array, &lengths(chunks), "`chunk_grid.chunk_shape");
    }
    for text in ["\"-\"", "\"\"", "\"//\"", "null", "1"] {
        refused(draft_array, &separator(text), "`chunk_grid.separator`");
    }
    let offset = grid(r#"{"type":"regular","chunk_shape":[2],"separator":"/","offset":[1]}"#);
    refused(draft_array, &offset, "`chunk_grid.offset`");
}

/// Tests D3-GRID-05, D3-CONTRA-08.
#[test]
fn a_missing_separator_is_a_slash_and_always_written() {
    let document = with(ARR, &[("chunk_grid", r#"{"type":"regular","chunk_shape":[2]}"#)]);
    let array = accepted(draft_array, &document);
    assert_eq!(array.chunk_key_encoding, default_keys("/"));
    assert_eq!(draft::array_document(&array).unwrap(), json(ARR));
}

/// Tests D3-GRID-18.
#[test]
fn a_grid_of_an_extension_keeps_its_type() {
    let grid = r#"{"extension":"https://e.org/grid/1.0","type":"rectilinear","configuration":{"a":[1]}}"#;
    let document = with(ARR, &[("chunk_grid", grid)]);
    let array = accepted(draft_array, &document);
    assert_eq!(array.chunk_grid.identifier, "https://e.org/grid/1.0");
    assert_eq!(array.chunk_grid.type_name, Some("rectilinear".into()));
    assert_eq!(array.chunk_grid.configuration, json(r#"{"a":[1]}"#));
    assert_eq!(draft::array_document(&array).unwrap(), document);
    let grid = r#"{"extension":"https://e.org/grid/1.0","type":"rectilinear","separator":"/"}"#;
    refused(draft_array, &with(ARR, &[("chunk_grid", grid)]), "`chunk_grid.separator`");
    refused(draft_array, &with(ARR, &[("chunk_grid", r#"{"extension":"grid","type":"a"}"#)]), "not a URI");
}

/// Tests D3-LAYOUT-01.
#[test]
fn a_layout_is_a_letter_or_an_extension() {
    for letter in ["C", "F"] {
        let array = accepted(draft_array, &with(ARR, &[("chunk_memory_layout", &format!("\"{letter}\""))]));
        assert_eq!(array.memory_layout.as_ref().unwrap().identifier, letter);
        round_trip(&array);
    }
    let morton = r#"{"extension":"https://e.org/l/1","type":"morton"}"#;
    let array = accepted(draft_array, &with(ARR, &[("chunk_memory_layout", morton)]));
    assert_eq!(array.memory_layout.as_ref().unwrap().type_name, Some("morton".into()));
    round_trip(&array);
    for layout in ["\"c\"", "\"A\"", "null"] {
        refused(draft_array, &with(ARR, &[("chunk_memory_layout", layout)]), "`chunk_memory_layout`");
    }
    assert!(draft_array(zarr_spec::Mode::Strict, &without(ARR, "chunk_memory_layout")).is_err());
}

/// Tests D3-CODEC-01, D3-CODEC-02, D3-CODEC-03, D3-CODEC-04.
#[test]
fn codecs_are_uris_with_configurations() {
    let codecs = |codecs: &str| with(ARR, &[("codecs", codecs)]);
    assert!(accepted(draft_array, &codecs("[]")).codecs.is_empty());
    assert!(accepted(draft_array, &without(ARR, "codecs")).codecs.is_empty());
    let gzip = codecs(&format!(r#"[{{"type":"{GZIP}","configuration":{{"level":1}}}}]"#));
    assert_eq!(accepted(draft_array, &gzip).codecs, [ExtensionDocument::new(GZIP, json(r#"{"level":1}"#))]);
    for configuration in ["", r#","configuration":{}"#] {
        let array = accepted(draft_array, &codecs(&format!(r#"[{{"type":"{GZIP}"{configuration}}}]"#)));
        assert_eq!(array.codecs[0].identifier, GZIP);
        round_trip(&array);
    }
    for value in ["{}", "\"gzip\"", "[\"gzip\"]", "[null]"] {
        refused(draft_array, &codecs(value), "`codecs");
    }
    for value in [r#"[{"configuration":{}}]"#, r#"[{"type":5}]"#, &format!(r#"[{{"codec":"{GZIP}"}}]"#)] {
        refused(draft_array, &codecs(value), "`codecs[0].type`");
    }
    for configuration in ["[]", "\"x\""] {
        let value = format!(r#"[{{"type":"{GZIP}","configuration":{configuration}}}]"#);
        refused(draft_array, &codecs(&value), "`codecs[0].configuration`");
    }
    refused(draft_array, &codecs(&format!(r#"[{{"type":"{GZIP}","level":1}}]"#)), "`codecs[0].level`");
}

/// Tests DX-URI-06.
#[test]
fn an_id_of_v2_is_not_a_codec_of_generation_b() {
    refused(draft_array, &with(ARR, &[("codecs", r#"[{"type":"zlib"}]"#)]), "not a URI");
    let mut array = accepted(draft_array, &json(ARR));
    array.codecs.push(ExtensionDocument::new("zlib", json("null")));
    assert!(draft::array_document(&array).unwrap_err().to_string().contains("not a URI"));
}

/// Tests D3-DOC-01.
#[test]
fn three_kinds_of_documents_are_distinguished() {
    accepted(entry_point, &json(EP));
    accepted(draft_array, &json(ARR));
    accepted(draft_group, &json(r#"{"attributes":{}}"#));
    for member in ["`shape`", "`data_type`", "`chunk_grid`", "`fill_value`"] {
        refused(draft_array, &json(r#"{"attributes":{}}"#), member);
    }
}

/// Tests D3-DOC-05.
#[test]
fn the_order_of_members_is_not_significant() {
    let shuffled = r#"{"codecs":[],"attributes":{},"fill_value":0,"extensions":[],"data_type":"int32",
        "chunk_grid":{"separator":"/","chunk_shape":[2],"type":"regular"},"chunk_memory_layout":"C","shape":[4]}"#;
    assert_eq!(accepted(draft_array, &json(shuffled)), accepted(draft_array, &json(ARR)));
}

/// Tests D3-ARR-02, D3-ARR-03, D3-ARR-04, D3-CONTRA-11.
#[test]
fn seven_members_are_mandatory() {
    accepted(draft_array, &json(ARR));
    for member in ["shape", "data_type", "chunk_grid", "fill_value"] {
        refused(draft_array, &without(ARR, member), &format!("`{member}`: is missing"));
    }
    compatible(draft_array, &without(ARR, "chunk_memory_layout"), "`chunk_memory_layout`: is missing");
    for member in ["extensions", "attributes"] {
        let array = tolerated(draft_array, &without(ARR, member), &format!("`{member}`: is missing"));
        assert_eq!(draft::array_document(&array).unwrap(), json(ARR));
    }
    let array = accepted(draft_array, &without(ARR, "codecs"));
    assert!(array.codecs.is_empty() && array.storage_transformers.is_empty());
}

/// Tests D3-ARR-05, D3-ARR-06, D3-ARR-07, D3-VER-02, D3-CONTRA-07.
#[test]
fn no_other_member_is_allowed_in_any_version() {
    let newer = with(EP, &[("zarr_format", "\"https://purl.org/zarr/spec/core/3.9\""), ("foo", "{}")]);
    warned(entry_point, &newer, "`foo`");
    for (member, value) in [
        ("foo", "1"),
        ("foo", "{}"),
        ("foo", r#"{"must_understand":false}"#),
        ("zarr_format", "\"https://purl.org/zarr/spec/core/3.0\""),
        ("compressor", "null"),
        ("dimension_separator", "\"/\""),
    ] {
        refused(draft_array, &with(ARR, &[(member, value)]), &format!("`{member}`: unknown member"));
    }
    compatible(draft_array, &with(ARR, &[("dimension_names", "[\"x\"]")]), "`dimension_names`");
    refused(draft_group, &json(r#"{"attributes":{},"foo":{}}"#), "`foo`: unknown member");
}

#[test]
fn extensions_of_arrays_follow_the_rules_of_the_entry_point() {
    let extensions = r#"[{"extension":"https://e.org/x/1","must_understand":false,"configuration":{"a":1}},
        {"extension":"https://e.org/y/1","must_understand":true}]"#;
    let document = with(ARR, &[("extensions", extensions)]);
    let array = accepted(draft_array, &document);
    assert!(!array.extensions[0].must_understand);
    assert!(array.extensions[1].must_understand, "readers that do not know it must stop");
    assert_eq!(draft::array_document(&array).unwrap(), document);
    let missing = with(ARR, &[("extensions", r#"[{"extension":"https://e.org/x/1"}]"#)]);
    refused(draft_array, &missing, "`extensions[0].must_understand`");
}

/// Tests D3-ARR-11, D3-ARR-12.
#[test]
fn attributes_are_preserved() {
    for attributes in [
        "{}",
        r#"{"a":{"b":[null,1.5]}}"#,
        r#"{"é":"\u0000","n":1e300,"m":1.50,"big":123456789012345678901234567890}"#,
    ] {
        let document = with(ARR, &[("attributes", attributes)]);
        let array = accepted(draft_array, &document);
        let written = draft::array_document(&array).unwrap();
        assert_eq!(written, document, "the text of numbers is preserved");
    }
    for attributes in ["null", "[]", "\"x\""] {
        refused(draft_array, &with(ARR, &[("attributes", attributes)]), "`attributes`");
    }
}

#[test]
fn members_of_v2_are_unknown() {
    accepted(draft_array, &json(ARR));
    for member in ["dtype", "chunks", "order", "filters", "compressor", "zarr_format"] {
        refused(draft_array, &with(ARR, &[(member, "null")]), &format!("`{member}`: unknown member"));
    }
}

/// Tests D3-FILL-01, D3-FILL-02, D3-CONTRA-03.
#[test]
fn a_fill_value_is_mandatory_and_never_written_as_null() {
    refused(draft_array, &without(ARR, "fill_value"), "`fill_value`: is missing");
    let array = tolerated(draft_array, &with(ARR, &[("fill_value", "null")]), "`fill_value`: is null");
    assert!(array.fill_value.is_null());
    assert_eq!(draft::array_document(&array).unwrap_err().member.as_deref(), Some("fill_value"));
}

/// Tests DX-GEN-06.
#[test]
fn documents_of_january_2023_open_in_compatibility_mode() {
    let mut late = with(ARR, &[("dimension_names", "[\"x\"]")]);
    late.as_object_mut().unwrap().remove("chunk_memory_layout");
    let array = compatible(draft_array, &late, "is missing");
    assert_eq!(array.memory_layout, None);
    assert_eq!(array.dimension_names, Some(vec![Some("x".to_owned())]));
}

#[test]
fn typestrings_are_read_but_not_written() {
    for (old, new) in [("<f8", "float64"), ("u1", "uint8")] {
        let array = accepted(draft_array, &with(ARR, &[("data_type", &format!("\"{old}\""))]));
        let document = draft::array_document(&array).unwrap();
        assert_eq!(document, with(ARR, &[("data_type", &format!("\"{new}\""))]));
    }
    let array = accepted(draft_array, &with(ARR, &[("data_type", "\">f8\"")]));
    assert_eq!(draft::array_document(&array).unwrap_err().member.as_deref(), Some("data_type"));
}

/// Tests D3-ST-01, D3-ST-02.
#[test]
fn storage_transformers_are_extensions_with_a_type() {
    let with_transformers = |value: &str| with(ARR, &[("storage_transformers", value)]);
    assert_eq!(accepted(draft_array, &with_transformers("[]")), accepted(draft_array, &json(ARR)));
    let sharding = r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
        "type":"indexed","configuration":{"chunks_per_shard":[2]}}]"#;
    let array = accepted(draft_array, &with_transformers(sharding));
    assert_eq!(array.storage_transformers[0].type_name, Some("indexed".into()));
    assert_eq!(array.storage_transformers[0].configuration, json(r#"{"chunks_per_shard":[2]}"#));
    assert_eq!(draft::array_document(&array).unwrap(), with_transformers(sharding));
    for value in ["{}", "\"x\"", r#"[{"type":"x"}]"#, r#"[{"extension":"https://e.org/st/1"}]"#] {
        refused(draft_array, &with_transformers(value), "`storage_transformers");
    }
}

/// Tests D3-GRP-01, D3-GRP-02, D3-GRP-03, D3-GRP-05, D3-EXT-05.
#[test]
fn a_group_has_only_attributes() {
    let group = accepted(draft_group, &json(r#"{"attributes":{}}"#));
    assert_eq!(tolerated(draft_group, &json("{}"), "`attributes`: is missing"), group);
    assert_eq!(draft::group_document(&group).unwrap(), json(r#"{"attributes":{}}"#));
    refused(draft_group, &json("[]"), "not an object");
    refused(draft_group, &json(r#"{"attributes":{},"extensions":[]}"#), "`extensions`");
    let versioned = r#"{"attributes":{},"zarr_format":"https://purl.org/zarr/spec/core/3.0"}"#;
    refused(draft_group, &json(versioned), "`zarr_format`");
}

/// Tests D3-GRP-04, DX-A-21.
#[test]
fn attributes_of_groups_are_an_object() {
    let document = json(r#"{"attributes":{"spam":"ham","eggs":42}}"#);
    let group = accepted(draft_group, &document);
    assert_eq!(draft::group_document(&group).unwrap(), document);
    refused(draft_group, &json(r#"{"attributes":null}"#), "`attributes`");
    assert!(draft_group(zarr_spec::Mode::Strict, &json("{}")).is_err());
}

#[test]
fn metadata_that_the_draft_cannot_express_is_not_written() {
    let array = accepted(draft_array, &json(ARR));
    let refused = |change: &dyn Fn(&mut ArrayMetadata), word: &str| {
        let mut array = array.clone();
        change(&mut array);
        let error = draft::array_document(&array).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(&|array| array.format = Format::V2, "convert it first");
    refused(&|array| array.dimension_names = Some(vec![None]), "`dimension_names`");
    refused(&|array| array.chunk_grid.identifier = "rectangular".into(), "`rectangular`");
    refused(&|array| array.chunk_key_encoding.identifier = "v2".into(), "`chunk_key_encoding`");
    refused(&|array| array.chunk_key_encoding = default_keys("-"), "`chunk_grid.separator`");
    refused(&|array| array.chunk_grid = regular("[2,2]"), "`chunk_grid.chunk_shape`");
    refused(&|array| drop(array.ignored.insert("foo", 1)), "`foo`");
    refused(&|array| drop(array.ignored.insert("shape", 1)), "`shape`");
}
