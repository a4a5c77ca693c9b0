//! Metadata encodings and generic extensions.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use zarr_kit::json as spec_json;
use zarr_kit::metadata::draft::EntryPoint;
use zarr_kit::spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_kit::spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_kit::spec::{BoxError, Identifiers, Object, Reading};
use zarr_kit::{ArrayBuilder, Error, Format, Hierarchy, Mode, Registry, Selection};

use super::support::{
    array, array_document, children, context, context_with, draft, get, get_json, keys, memory, message,
    object, open, set, set_json, with_array,
};

const BACKWARDS: &str = "https://e.org/enc/1.0";
const NOTED: &str = "https://e.org/noted/1.0";

const MODES: [Mode; 3] = [Mode::Strict, Mode::Lenient, Mode::Compatibility];

/// JSON with its bytes in reverse order.
#[derive(Debug)]
struct Backwards;

impl MetadataEncoding for Backwards {
    fn decode(&self, bytes: &[u8], _reading: &Reading) -> Result<zarr_kit::spec::Value, BoxError> {
        let text: Vec<u8> = bytes.iter().rev().copied().collect();
        Ok(spec_json::parse(&text, &spec_json::ParseOptions::default())?.value)
    }

    fn encode(&self, document: &zarr_kit::spec::Value) -> Result<Vec<u8>, BoxError> {
        let mut text = spec_json::to_vec(document)?;
        text.reverse();
        Ok(text)
    }

    fn key_suffix(&self) -> &str {
        ".nosj"
    }
}

fn with_backwards(registry: &mut Registry) {
    let identifiers = Identifiers::name("backwards").with_uri(BACKWARDS);
    registry.register(MetadataEncodingPlugin::new(identifiers, &|_| Ok(Arc::new(Backwards)))).unwrap();
}

/// Tests D3-META-13, D3-EXT-03.
#[test]
fn extensions_that_affect_every_node_must_be_known() {
    let encoding = json!({"extension": BACKWARDS, "type": "backwards", "metadata_key_suffix": ".nosj"});
    let mut document = super::support::entry_point();
    document["metadata_encoding"] = encoding;
    let store = memory();
    set_json(&*store, "zarr.json", &document);
    let group = br#"{"attributes":{"a":1}}"#;
    set(&*store, "meta/g.group.nosj", &group.iter().rev().copied().collect::<Vec<_>>());
    for mode in MODES {
        let error = message(Hierarchy::open(Arc::clone(&store), &context().with_mode(mode)));
        assert!(error.contains("`metadata_encoding`") && error.contains(BACKWARDS), "{error}");
    }
    let context_backwards = context_with(with_backwards);
    let hierarchy = open(&store, &context_backwards);
    assert_eq!(hierarchy.group("/g").unwrap().attributes().get("a").unwrap().as_u64(), Some(1));
    hierarchy.create_array("/g/a", &ArrayBuilder::new([2], "int8").uncompressed()).unwrap();
    assert_eq!(children(&hierarchy, "/g"), super::support::named([("/g/a", zarr_kit::EntryKind::Array)]));
    let stored = get(&*store, "meta/g/a.array.nosj").unwrap();
    assert_eq!(stored.first().zip(stored.last()), Some((&b'}', &b'{')));
    assert_eq!(open(&store, &context_backwards).array("/g/a").unwrap().shape(), [2]);
    // Creates a new hierarchy in that encoding.
    let point = Hierarchy::draft_entry_point(context_backwards.registry(), "backwards").unwrap();
    let created = Hierarchy::create_draft(memory(), &context_backwards, &point).unwrap();
    created.create_group("/g", Object::new()).unwrap();
    assert_eq!(keys(&**created.store()), ["meta/g.group.nosj", "zarr.json"]);
    assert_eq!(get_json(&**created.store(), "zarr.json"), document);

    let unknown = json!({"extension": "https://e.org/enc/1", "type": "cbor", "metadata_key_suffix": ".cbor"});
    document["metadata_encoding"] = unknown;
    set_json(&*store, "zarr.json", &document);
    assert!(message(Hierarchy::open(store, &context_backwards)).contains("https://e.org/enc/1"));
    // An unknown grid, layout or transformer of an array is reported by its URI.
    let foreign = json!({"extension": "https://e.org/y/1.0", "type": "y"});
    for member in ["chunk_grid", "chunk_memory_layout", "storage_transformers"] {
        let value = if member == "storage_transformers" { json!([foreign]) } else { foreign.clone() };
        let mut document = array_document(json!({}));
        document[member] = value;
        for mode in MODES {
            let error = message(array(&with_array(&document), &context().with_mode(mode)));
            assert!(error.contains(member) && error.contains("https://e.org/y/1.0"), "{error}");
        }
    }
}

/// The places and configurations with which the extension was created.
static APPLIED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Noted;

impl Extension for Noted {}

fn with_noted(registry: &mut Registry) {
    let identifiers = Identifiers::uri(NOTED);
    let plugin = ExtensionPlugin::new(identifiers, &|creation, place| {
        let place = match place {
            ExtensionPlace::EntryPoint => "entry point".to_owned(),
            ExtensionPlace::Array(shape) => format!("array of shape {shape:?}"),
        };
        let configuration = creation.configuration.to_string();
        APPLIED.lock().unwrap_or_else(PoisonError::into_inner).push((place, configuration));
        if creation.configuration.as_str() == Some("refuse") {
            return Err(zarr_kit::spec::Invalid::new("invalid configuration"));
        }
        Ok(Arc::new(Noted))
    });
    registry.register(plugin).unwrap();
}

fn applied() -> Vec<(String, String)> {
    std::mem::take(&mut *APPLIED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn with_extension(entry: Value) -> Value {
    let mut document = super::support::entry_point();
    document["extensions"] = json!([entry]);
    document
}

/// Tests D3-META-20.
#[test]
fn a_known_extension_is_applied_with_its_configuration() {
    let context = context_with(with_noted);
    for must_understand in [true, false] {
        let entry = |configuration: Value| json!({"extension": NOTED, "must_understand": must_understand, "configuration": configuration});
        let store = with_array(&array_document(json!({"extensions": [entry(json!([1]))]})));
        set_json(&*store, "zarr.json", &with_extension(entry(json!({"foo": "bar"}))));
        applied();
        let hierarchy = open(&store, &context);
        assert_eq!(applied(), [("entry point".to_owned(), r#"{"foo":"bar"}"#.to_owned())]);
        hierarchy.array("/a").unwrap();
        assert_eq!(applied(), [("array of shape [4]".to_owned(), "[1]".to_owned())]);
        set_json(&*store, "zarr.json", &with_extension(entry(json!("refuse"))));
        let error = message(Hierarchy::open(store, &context));
        assert!(error.contains("extensions[0]") && error.contains("invalid configuration"), "{error}");
    }
}

/// Tests D3-META-18, D3-META-19, D3-EXT-01, DX-DT-14.
#[test]
fn must_understand_applies_to_extensions_of_the_hierarchy() {
    let filters = "http://purl.org/zarr/spec/extensions/filters/1.0";
    for uri in ["https://e.org/x/1", filters] {
        let entry =
            |must: bool| json!({"extension": uri, "must_understand": must, "configuration": {"foo": "bar"}});
        for mode in MODES {
            let context = context().with_mode(mode);
            let store = draft(&[("zarr.json", with_extension(entry(true)))]);
            let error = message(Hierarchy::open(store, &context));
            assert!(error.contains("extensions[0]") && error.contains(uri), "{error}");

            let store = draft(&[("zarr.json", with_extension(entry(false)))]);
            let hierarchy = Hierarchy::open(Arc::clone(&store), &context).unwrap();
            hierarchy.create_group("/g", Object::new()).unwrap();
            hierarchy.set_attributes("/", object(&json!({"a": 1}))).unwrap();
            assert_eq!(get_json(&*store, "zarr.json"), with_extension(entry(false)));
        }
    }
    // Entries are preserved when an entry point that was read is written again.
    let ignorable = with_extension(json!({"extension": "https://e.org/x/1", "must_understand": false}));
    let document = super::support::value(&ignorable);
    let reading = Reading::new(Mode::Strict);
    let read: EntryPoint = zarr_kit::metadata::draft::parse_entry_point(&document, &reading).unwrap();
    let created = Hierarchy::create_draft(memory(), &context(), &read).unwrap();
    assert_eq!(get_json(&**created.store(), "zarr.json"), ignorable);
    let mut required = read;
    required.extensions[0].must_understand = true;
    assert!(matches!(Hierarchy::create_draft(memory(), &context(), &required), Err(Error::Document { .. })));
}

/// Tests D3-ARR-10, D3-EXT-02.
#[test]
fn must_understand_applies_to_extensions_of_an_array() {
    let entry =
        |must: bool| json!({"extension": "https://e.org/x/1", "must_understand": must, "configuration": [1]});
    for mode in MODES {
        let context = context().with_mode(mode);
        for extensions in [json!([]), json!([entry(false)])] {
            let document = array_document(json!({"extensions": extensions}));
            let store = with_array(&document);
            let mut array = array(&store, &context).unwrap();
            array.write_values::<i32>(&Selection::All, &[1, 2, 3, 4]).unwrap();
            array.set_attribute("a", 1).unwrap();
            assert_eq!(get_json(&*store, "meta/a.array.json")["extensions"], extensions);
        }
        let store = with_array(&array_document(json!({"extensions": [entry(false), entry(true)]})));
        let error = message(array(&store, &context));
        assert!(error.contains("`extensions[1]`") && error.contains("https://e.org/x/1"), "{error}");
        assert!(!error.contains("extensions[0]"), "{error}");
    }
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    let builder = ArrayBuilder::new([2], "int8").extension(super::support::value(&entry(true)));
    assert!(matches!(hierarchy.create_array("/a", &builder), Err(Error::NotUnderstood { .. })));
    assert_eq!(keys(&**hierarchy.store()), ["zarr.json"]);
    let builder = ArrayBuilder::new([2], "int8").extension(super::support::value(&entry(false)));
    hierarchy.create_array("/a", &builder).unwrap();
    assert_eq!(get_json(&**hierarchy.store(), "meta/a.array.json")["extensions"], json!([entry(false)]));
}
