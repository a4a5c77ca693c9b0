//! Storage transformers between an array and its store.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_conformance::stores::check_store;
use zarr_interop::CountingStore;
use zarr_kit::spec::store::{Capabilities, Store};
use zarr_kit::spec::transformer::WrappingTransformer;
use zarr_kit::spec::{Object, Prefix};
use zarr_kit::{ArrayBuilder, Error, Format, Hierarchy, Mode, Selection};

use super::support::{
    array, array_document, context, context_with, get, get_json, keys, memory, message, set, set_json, value,
    with_array,
};
use super::tagging::{self, IDENTITY, Identity, TAGGING, Tagging};

fn tag(letter: char) -> Value {
    json!({"extension": TAGGING, "type": "tagging", "configuration": {"tag": letter.to_string()}})
}

fn with_transformers(list: Value) -> Value {
    array_document(json!({"data_type": "uint8", "storage_transformers": list}))
}

/// Tests D3-ST-03.
#[test]
fn an_unknown_transformer_makes_an_array_unusable() {
    let list = json!([{"extension": "https://e.org/st/1", "type": "x"}]);
    let store = with_array(&with_transformers(list));
    set(&*store, "data/a/c0", &[1, 2]);
    for mode in [Mode::Strict, Mode::Lenient, Mode::Compatibility] {
        let error = message(array(&store, &context().with_mode(mode)));
        assert!(
            error.contains("`storage_transformers[0]`") && error.contains("https://e.org/st/1"),
            "{error}"
        );
    }
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    let unknown = value(&json!({"extension": "https://e.org/st/1", "type": "x"}));
    let builder = ArrayBuilder::new([2], "int8").storage_transformer(unknown);
    assert!(matches!(hierarchy.create_array("/a", &builder), Err(Error::NotUnderstood { .. })));
    assert_eq!(keys(&**hierarchy.store()), ["zarr.json"]);
}

/// Tests D3-ST-04.
#[test]
fn a_transformer_is_a_store() {
    let array = Prefix::new("data/a/").unwrap();
    let identity = || Identity.wrap(memory(), &array);
    // Keys of other arrays pass through, so the rules hold for a store with one tagged array, too.
    let tagging = || Tagging { tag: b'x' }.wrap(memory(), &array);
    let everything = || Tagging { tag: b'x' }.wrap(memory(), &Prefix::root());
    for make in [&identity as &dyn Fn() -> Arc<dyn Store>, &tagging, &everything] {
        assert_eq!(make().capabilities().unconditional(), Capabilities::ALL);
        for (rule, verdict) in check_store(make) {
            assert_eq!(verdict, Ok(()), "{rule}");
        }
    }
    let context = context_with(tagging::register);
    for list in [json!([]), json!([{"extension": IDENTITY, "type": "same"}])] {
        let store = with_array(&with_transformers(list));
        let array = super::support::array(&store, &context).unwrap();
        array.write_values::<u8>(&Selection::All, &[1, 2, 3, 4]).unwrap();
        assert_eq!(get(&*store, "data/a/c1").unwrap(), [3, 4]);
        assert_eq!(array.stored_chunks().unwrap(), [[0], [1]]);
        array.erase_chunk(&[0]).unwrap();
        assert_eq!(keys(&*store), ["data/a/c1", "meta/a.array.json", "zarr.json"]);
    }
}

/// Tests D3-ST-05, D3-ST-06, D3-ST-07.
#[test]
fn the_first_transformer_is_nearest_to_the_array() {
    for (list, name, tags) in [
        (json!([tag('x')]), "x-c0", &b"x"[..]),
        (json!([tag('x'), tag('y')]), "y-x-c0", b"xy"),
        (json!([tag('y'), tag('x')]), "x-y-c0", b"yx"),
    ] {
        let store = with_array(&with_transformers(list));
        // Each step creates its transformers anew from the document.
        array(&store, &context_with(tagging::register))
            .unwrap()
            .write_values::<u8>(&Selection::All, &[1, 2, 0, 0])
            .unwrap();
        assert_eq!(keys(&*store), [&format!("data/a/{name}"), "meta/a.array.json", "zarr.json"]);
        assert_eq!(get(&*store, &format!("data/a/{name}")).unwrap(), [&[1, 2], tags].concat());
        let again = array(&store, &context_with(tagging::register)).unwrap();
        assert_eq!(again.read_values::<u8>(&Selection::All).unwrap(), [1, 2, 0, 0]);
        assert_eq!(again.read_encoded_chunk(&[0]).unwrap().unwrap()[..], [1, 2]);
        assert_eq!(again.chunk_size(&[0]).unwrap(), Some(2));
        assert_eq!(again.stored_chunks().unwrap(), [[0]]);
        assert_eq!(again.chunk_key(&[0]).unwrap().as_str(), "data/a/c0");
    }
}

/// Tests D3-ST-09.
#[test]
fn a_transformer_does_not_change_other_keys() {
    let context = context_with(tagging::register);
    let hierarchy = Hierarchy::create(memory(), &context, Format::V3Draft).unwrap();
    let builder = ArrayBuilder::new([2], "uint8").uncompressed();
    let tagged = builder.clone().storage_transformer(value(&tag('x')));
    let a = hierarchy.create_array("/a", &tagged).unwrap();
    let ab = hierarchy.create_array("/ab", &builder).unwrap();
    hierarchy.create_group("/g", Object::new()).unwrap();
    for array in [&a, &ab] {
        array.write_values::<u8>(&Selection::All, &[1, 2]).unwrap();
    }
    hierarchy.set_attributes("/a", Object::new()).unwrap();
    let mut wanted =
        ["data/a/x-c0", "data/ab/c0", "meta/a.array.json", "meta/ab.array.json", "meta/g.group.json"]
            .to_vec();
    wanted.push("zarr.json");
    assert_eq!(keys(&**hierarchy.store()), wanted);
    assert_eq!(get(&**hierarchy.store(), "data/ab/c0").unwrap(), [1, 2]);
    assert_eq!(
        get_json(&**hierarchy.store(), "meta/a.array.json")["storage_transformers"],
        json!([tag('x')])
    );
    hierarchy.erase("/a").unwrap();
    assert!(
        !keys(&**hierarchy.store())
            .iter()
            .any(|key| key.starts_with("data/a/") || key.starts_with("meta/a."))
    );
}

/// Tests D3-ST-08, D3-ST-10, D3-CONTRA-25.
#[test]
fn wrappers_that_do_not_change_stored_values_are_not_recorded() {
    // A wrapper that exists only while the program runs.
    let counting = Arc::new(CountingStore::new(memory()));
    let hierarchy =
        Hierarchy::create(Arc::<CountingStore>::clone(&counting), &context(), Format::V3Draft).unwrap();
    let array = hierarchy.create_array("/a", &ArrayBuilder::new([2], "uint8").uncompressed()).unwrap();
    assert!(array.metadata().storage_transformers.is_empty());
    drop(counting.take());
    array.write_values::<u8>(&Selection::All, &[1, 2]).unwrap();
    assert_eq!(counting.take().get("set"), Some(&1));
    let document = get_json(&*counting, "meta/a.array.json");
    assert!(document.as_object().unwrap().keys().all(|name| name != "storage_transformers"), "{document}");
    assert_eq!(keys(&*counting), ["data/a/c0", "meta/a.array.json", "zarr.json"]);
    assert_eq!(get(&*counting, "data/a/c0").unwrap(), [1, 2]);

    // The text defines no transformers, so a plain name is not valid.
    for name in ["sharding", "indexed", "cache"] {
        let store = memory();
        set_json(&*store, "zarr.json", &super::support::entry_point());
        set_json(
            &*store,
            "meta/a.array.json",
            &with_transformers(json!([{"extension": name, "type": name}])),
        );
        assert!(super::support::array(&store, &context()).is_err());
    }
}
