//! Sections 3 and 5 of `v3-final.md`: the members of an array document, and entries that name extensions.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_kit::spec::host::registry::Table;
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::{ArrayBuilder, Error, Format, Hierarchy, Selection};

use super::support::Stored;
use super::{ar, stored};

/// Tests V3-ARR-05, V3-CONTRA-03.
#[test]
fn a_data_type_is_a_plain_name_without_a_byte_order() {
    for mode in [Stored::strictly as fn(Stored) -> Stored, |stored| stored] {
        let float = mode(stored(&json!({"data_type": "float64", "fill_value": 0.0})));
        assert_eq!(float.array().data_type().name(), "float64");
        let refused = [("<f8", "is unknown"), (">f8", "is unknown"), ("f8", "is not a name in this format")];
        for (wrong, reason) in refused {
            let error = mode(stored(&json!({"data_type": wrong, "fill_value": 0.0}))).error();
            assert!(error.contains(&format!("`data_type`: data type `{wrong}` {reason}")), "{error}");
        }
        let error = mode(stored(&json!({"-data_type": null}))).error();
        assert!(error.contains("`data_type`: is missing"), "{error}");
    }
}

/// Tests V3-ARR-08.
#[test]
fn a_chunk_key_encoding_is_an_extension_definition() {
    for encoding in [json!({"name": "default"}), json!("default")] {
        let stored = stored(&json!({"chunk_key_encoding": encoding})).strictly();
        stored.array().write_values::<i32>(&Selection::All, &[1, 1, 0, 0]).unwrap();
        assert_eq!(stored.keys(), ["c/0", "zarr.json"]);
    }
    let missing = stored(&json!({"-chunk_key_encoding": null})).error();
    assert!(missing.contains("`chunk_key_encoding`: is missing"), "{missing}");
    let slash = stored(&json!({"chunk_key_encoding": "/"})).error();
    assert!(slash.contains("chunk key encoding `/` is unknown"), "{slash}");
}

/// Tests V3-ARR-09, V3-CONTRA-01, V3-EXT-12.
#[test]
fn a_fill_value_must_match_the_type() {
    assert_eq!(stored(&json!({"fill_value": 7})).array().fill_value().bytes(), 7i32.to_ne_bytes());
    let missing = stored(&json!({"-fill_value": null})).error();
    assert!(missing.contains("`fill_value`: is missing"), "{missing}");
    for data_type in
        ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128", "r16"]
    {
        for wrong in [json!(null), json!({"name": "x"})] {
            let stored = stored(&json!({"data_type": data_type, "fill_value": wrong}));
            let Err(Error::NotUnderstood(error)) = stored.try_array() else { panic!("{data_type} {wrong}") };
            assert_eq!(error.problems[0].place, "fill_value", "{data_type} {wrong}");
        }
    }
    // A trailing comma makes the document invalid JSON in every mode.
    let text = ar(&json!({})).to_string().replace('}', ",}");
    let error = Stored::new().with("zarr.json", text).try_open().unwrap_err().to_string();
    assert!(error.contains("document `zarr.json`"), "{error}");
    // The other members that name extensions accept an object, or only the name of an extension without a
    // configuration.
    let points = [
        ("data_type", json!("int32"), json!({"name": "int32"})),
        ("chunk_key_encoding", json!("v2"), json!({"name": "v2"})),
        (
            "codecs",
            json!([{"name": "bytes", "configuration": {"endian": "big"}}, "crc32c"]),
            json!([
                {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}
            ]),
        ),
        ("storage_transformers", json!([]), json!([])),
    ];
    for (member, short, long) in points {
        for form in [short, long] {
            assert!(stored(&json!({(member): form})).strictly().try_array().is_ok(), "{member} {form}");
        }
    }
    let grid = stored(&json!({"chunk_grid": "regular"})).error();
    assert!(grid.contains("`chunk_grid.configuration`: is missing"), "{grid}");
}

/// Tests V3-ARR-10, V3-EXT-03, V3-EXT-13, V3-GRID-12.
#[test]
fn builders_write_documents_in_forms_that_all_readers_know() {
    let stored = Stored::new();
    let hierarchy = Hierarchy::create(Arc::clone(&stored.store), &stored.context, Format::V3).unwrap();
    for (name, fill) in [
        ("int8", json!(0)),
        ("float32", json!(0.0)),
        ("bool", json!(false)),
        ("complex64", json!([0.0, 0.0])),
    ] {
        let array = hierarchy.create_array(name, &ArrayBuilder::new([4, 5], name)).unwrap();
        let document = stored.document(&format!("{name}/zarr.json"));
        assert_eq!(document["fill_value"], fill, "{name}");
        assert!(document["codecs"].as_array().unwrap().iter().all(Value::is_object));
        assert!(!document.to_string().contains("must_understand"));
        assert_eq!(document["chunk_key_encoding"]["name"], "default");
        assert!(document["chunk_key_encoding"].is_object());
        let known = [
            "zarr_format",
            "node_type",
            "shape",
            "data_type",
            "chunk_grid",
            "chunk_key_encoding",
            "fill_value",
            "codecs",
            "attributes",
            "dimension_names",
            "storage_transformers",
        ];
        assert!(
            document.as_object().unwrap().keys().all(|member| known.contains(&member.as_str())),
            "{document}"
        );
        let elements = array.read(&Selection::All).unwrap();
        assert!(elements.bytes().iter().all(|&byte| byte == 0));
    }
    let null = ArrayBuilder::new([4], "int8").fill_value(zarr_kit::spec::Value::Null);
    assert!(hierarchy.create_array("null", &null).is_err());
}

/// Tests V3-ARR-13, V3-EXT-04, V3-ST-01, V3-ST-02.
#[test]
fn an_unknown_storage_transformer_is_an_error_unless_it_may_be_ignored() {
    for members in [json!({}), json!({"storage_transformers": []})] {
        assert!(stored(&members).strictly().try_array().is_ok());
    }
    let skipped = json!([{"name": "x", "configuration": {"y": 1}, "must_understand": false}]);
    let stored_array = stored(&json!({"storage_transformers": skipped})).with("c/0", [1; 8]);
    assert_eq!(
        stored_array.array().read_values::<i32>(&Selection::parse("0", &[4]).unwrap()).unwrap(),
        [0x0101_0101]
    );
    let required = [json!(["x"]), json!([{"name": "x"}]), json!([{"name": "x", "must_understand": true}])];
    for transformers in required {
        let stored = stored(&json!({"storage_transformers": transformers}));
        let Err(Error::NotUnderstood(error)) = stored.try_array() else { panic!("{transformers}") };
        let problems = &error.problems;
        assert_eq!(problems[0].place, "storage_transformers[0]");
        assert!(problems[0].reason.contains("storage transformer `x` is unknown"), "{}", problems[0].reason);
    }
    let object = stored(&json!({"storage_transformers": {}})).error();
    assert!(object.contains("`storage_transformers`"), "{object}");
    // Ignored transformers are preserved when the document is rewritten.
    let mut array = stored_array.array();
    let shape = array.shape().to_vec();
    array.resize(&shape).unwrap();
    assert_eq!(stored_array.document("zarr.json")["storage_transformers"], skipped);
    // An unknown member of the document may be ignored, too, if its `must_understand` is false.
    assert!(stored(&json!({"foo": {"name": "x", "must_understand": false}})).strictly().try_array().is_ok());
    assert!(stored(&json!({"foo": {"name": "x"}})).error().contains("foo"));
}

/// Tests V3-EXT-06.
#[test]
fn an_unknown_codec_is_an_error_even_with_must_understand_false() {
    for must_understand in [false, true] {
        let codec = json!({"name": "nope", "must_understand": must_understand});
        let codecs = json!([{"name": "bytes", "configuration": {"endian": "little"}}, codec]);
        let error = stored(&json!({"codecs": codecs})).error();
        assert!(error.contains("`codecs[1]`: codec `nope` is unknown"), "{error}");
    }
}

fn is_registered_form(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_lowercase())
        && name.len() > 1
        && characters
            .all(|other| other.is_ascii_lowercase() || other.is_ascii_digit() || "-_.".contains(other))
}

fn names<K: PluginKind + ?Sized>(table: &Table<K>) -> Vec<&'static str> {
    table.iter().filter_map(|plugin| plugin.identifiers.name).collect()
}

/// Tests V3-EXT-10, V3-CONTRA-06, V3-CONTRA-02.
#[test]
fn our_names_have_the_registered_form_and_other_names_are_unknown() {
    for name in ["zstd", "numcodecs.adler32", "r16"] {
        assert!(is_registered_form(name), "{name}");
    }
    let context = Stored::new().context;
    let registry = context.registry();
    let ours =
        [names(registry.codecs()), names(registry.data_types()), names(registry.chunk_grids())].concat();
    assert!(ours.len() > 20);
    for name in ours.into_iter().chain(names(registry.chunk_key_encodings())) {
        // A star stands for a number.
        assert!(is_registered_form(&name.replace('*', "16")), "{name}");
    }
    for name in ["foo/bar", "foo:bar", "Foo", "1a", "a"] {
        assert!(!is_registered_form(name), "{name}");
        let error = stored(&json!({"codecs": [name]})).error();
        assert!(error.contains(&format!("codec `{name}` is unknown")), "{error}");
        let error = stored(&json!({"data_type": {"name": name, "configuration": {}}})).error();
        assert!(error.contains(&format!("data type `{name}` is unknown")), "{error}");
    }
    // Values that are neither a name nor an object with a name.
    for wrong in
        [json!(""), json!(5), json!(null), json!(["int32"]), json!({"name": 5}), json!({"configuration": {}})]
    {
        let error = stored(&json!({"data_type": wrong})).error();
        assert!(error.contains("`data_type`") && !error.contains("unknown"), "{error}");
        let error = stored(&json!({"codecs": [wrong]})).error();
        assert!(error.contains("`codecs[0]") && !error.contains("unknown"), "{error}");
    }
    assert!(
        stored(&json!({"data_type": {"name": "int32", "configuration": []}})).error().contains("`data_type`")
    );
}
