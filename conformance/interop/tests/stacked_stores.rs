//! Hierarchies in stores around stores, as JSON describes them.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::path::Path;

use zarr_kit::spec::store::{Capabilities, Store};
use zarr_kit::spec::{Key, Value};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, json, open_store};

fn context() -> Context {
    Context::linked().unwrap()
}

fn open(location: &str) -> Result<std::sync::Arc<dyn Store>, String> {
    open_store(context().registry(), location).map_err(|error| error.to_string())
}

fn folder(path: &Path) -> String {
    let path = Value::from(path.to_str().unwrap());
    format!(r#"{{"type": "filesystem", "path": {path}}}"#)
}

fn around(kind: &str, more: &str, store: &str) -> String {
    format!(r#"{{"type": "{kind}"{more}, "store": {store}}}"#)
}

fn value(text: &str) -> Value {
    json::parse(text.as_bytes(), &json::ParseOptions::default()).unwrap().value
}

/// Shards of the draft and of v3, written and read through all of them, in every order.
#[test]
fn stores_are_stacked_in_any_order() {
    let values: Vec<u32> = (0..64).collect();
    let sharding = r#"{"extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
        "type": "indexed", "configuration": {"chunks_per_shard": [2, 2]}}"#;
    let draft = ArrayBuilder::new([8, 8], "uint32").chunks([2, 2]).storage_transformer(value(sharding));
    let v3 = ArrayBuilder::new([8, 8], "uint32").chunks([2, 2]).shards([4, 4]);
    for (format, builder) in [(Format::V3Draft, draft), (Format::V3, v3)] {
        let kinds =
            [("cache", r#", "bytes": 2000"#), ("prefix", r#", "prefix": "in/here""#), ("statistics", "")];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let directory = tempfile::tempdir().unwrap();
            let inside = folder(directory.path());
            let stacked = order.iter().fold(inside, |store, &at| around(kinds[at].0, kinds[at].1, &store));
            let hierarchy = Hierarchy::create(open(&stacked).unwrap(), &context(), format).unwrap();
            let array = hierarchy.create_array("/a", &builder).unwrap();
            array.write_values::<u32>(&Selection::All, &values).unwrap();
            for _ in 0..2 {
                assert_eq!(array.read_values::<u32>(&Selection::All).unwrap(), values);
            }
            array.write_values::<u32>(&Selection::from(&[0..1, 0..1][..]), &[99]).unwrap();
            assert_eq!(array.read_values::<u32>(&Selection::All).unwrap()[..2], [99, 1]);
            assert!(directory.path().join("in/here/zarr.json").is_file());

            let plain =
                Hierarchy::open_location(directory.path().join("in/here").to_str().unwrap(), &context());
            let plain = plain.unwrap().array("/a").unwrap();
            assert_eq!(plain.read_values::<u32>(&Selection::All).unwrap()[1..], values[1..]);

            // Nothing is written through a store that is for reading.
            let read_only = open(&around("read-only", "", &stacked)).unwrap();
            assert_eq!(
                read_only.capabilities(),
                Capabilities { writeable: false, erasable: false, ..Capabilities::ALL }
            );
            assert!(read_only.set(&Key::new("k").unwrap(), b"v").is_err());
            let read_only = Hierarchy::open(read_only, &context()).unwrap();
            assert!(read_only.read_only().is_some());
            assert_eq!(read_only.array("/a").unwrap().read_values::<u32>(&Selection::All).unwrap()[0], 99);
        }
    }
}

#[test]
fn what_cannot_be_stacked_is_refused_with_a_reason() {
    let memory = r#"{"type": "memory"}"#;
    for (description, reason) in [
        (around("cache", "", memory), "bytes"),
        (around("cache", r#", "bytes": 0"#, memory), "keeps nothing"),
        (around("prefix", r#", "prefix": "../x""#, memory), "../x"),
        (
            around("read-only", "", &around("statistics", "", r#"{"type": "nothing"}"#)),
            "store `nothing` is unknown",
        ),
        (around("read-only", "", "1"), "`type` is missing"),
        (r#"{"type": "read-only"}"#.to_owned(), "store"),
    ] {
        let error = open(&description).unwrap_err();
        assert!(error.contains(reason), "{description}: {error}");
    }
}
