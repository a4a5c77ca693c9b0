//! `reference`: damaged reference files, targets, and the rules for stores. `conformance/interop` reads files of
//! kerchunk and virtualizarr.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::stores::around::{described, empty, filled, key, value};
use zarr_spec::store::{IoKind, Request, Store, StoreError, get_value};
use zarr_spec::{ByteRange, Output, Prefix};
use zarr_store_reference::ReferenceStore;

/// Opens references to the values of the store `filled`: `a` is `0123456789`, `d/b` is `22`.
fn opened(document: &str) -> Result<ReferenceStore, StoreError> {
    let store = filled();
    store.set(&key("refs.json"), document.as_bytes().into()).unwrap();
    ReferenceStore::open(store, &key("refs.json"), Vec::new())
}

fn refused(document: &str) -> String {
    opened(document).unwrap_err().to_string()
}

const REFERENCES: &str = r#"{"inline": "text", "part": ["a", 2, 4], "whole": ["./d/b"], "empty": ["a", 10, 0],
    "short": ["a", 8, 3], "missing": ["x"], "outside": ["/etc/passwd", 0, 1], "up": ["../a"], "g/.zattrs": {"n": 1}}"#;

#[test]
fn values_are_parts_of_other_values() {
    let store = opened(REFERENCES).unwrap();
    let at = |name: &str| value(&store, name).unwrap();
    assert_eq!((at("inline"), at("part"), at("whole")), (b"text".to_vec(), b"2345".to_vec(), b"22".to_vec()));
    assert_eq!((at("empty"), at("g/.zattrs")), (Vec::new(), br#"{"n":1}"#.to_vec()));
    assert_eq!(value(&store, "a"), None);
    assert_eq!((&store as &dyn Store).list().unwrap().len(), 9);
    let directory = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!((directory.keys.len(), directory.prefixes), (8, vec![Prefix::new("g/").unwrap()]));
    for (name, size) in [("inline", 4), ("part", 4), ("whole", 2), ("short", 3)] {
        assert_eq!(store.size(&key(name)).unwrap(), Some(size), "{name}");
    }
    assert_eq!(store.size(&key("a")).unwrap(), None);
    assert_eq!(store.location(), "minimal:refs.json|reference:");
    assert!(store.set(&key("a"), b"".into()).is_err() && store.erase(&key("part")).is_err());
}

#[test]
fn ranges_are_those_of_the_part() {
    let store = opened(REFERENCES).unwrap();
    for (range, expected) in [
        (ByteRange::Full, "2345"),
        (ByteRange::From(1), "345"),
        (ByteRange::From(9), ""),
        (ByteRange::Last(3), "345"),
        (ByteRange::Last(9), "2345"),
        (ByteRange::Range { offset: 1, size: 2 }, "34"),
        (ByteRange::Range { offset: 3, size: u64::MAX }, "5"),
    ] {
        let mut output = Output::at_most(4);
        let found = store.get(&key("part"), range.into(), &mut output).unwrap().unwrap();
        assert_eq!(found.size, 4, "{range:?}");
        assert_eq!(found.into_bytes(output), expected, "{range:?}");
        let mut responses = store.get_many(vec![Request::new(key("part"), range, 4)], 100);
        let (index, response) = responses.next().unwrap();
        let response = response.unwrap().unwrap();
        assert_eq!((index, response.size, &response.bytes[..]), (0, 4, expected.as_bytes()), "{range:?}");
    }
    for name in ["part", "inline"] {
        let found = get_value(&store, &key(name), 3);
        assert!(matches!(found, Err(StoreError::TooLarge { .. })), "{found:?}");
    }
}

#[test]
fn references_without_bytes_are_errors() {
    let store = opened(REFERENCES).unwrap();
    for (name, part) in [
        ("short", "its target has only 10 bytes"),
        ("missing", "its target `x` does not exist"),
        ("outside", "is not below `minimal:/`"),
        ("up", "its target"),
    ] {
        let alone = get_value(&store, &key(name), 10).unwrap_err();
        let requests = vec![Request::new(key(name), ByteRange::Full, 10)];
        let together = store.get_many(requests, 100).next().unwrap().1.unwrap_err();
        for error in [&alone, &together] {
            assert!(error.to_string().contains(part), "{name}: {error}");
        }
        let is_refused = matches!(alone, StoreError::Io { kind: IoKind::NotPermitted, .. });
        assert_eq!(is_refused, ["outside", "up"].contains(&name), "{alone:?}");
    }
}

#[test]
fn many_requests_are_completed_once_each() {
    let store = opened(REFERENCES).unwrap();
    let names = ["part", "inline", "nothing", "short", "whole", "part"];
    let requests = names.map(|name| Request::new(key(name), ByteRange::Full, 10)).to_vec();
    let mut responses: Vec<_> = store.get_many(requests, 1).collect();
    responses.sort_by_key(|(index, _)| *index);
    assert!(responses.iter().map(|(index, _)| *index).eq(0..6));
    let bytes =
        |index: usize| responses[index].1.as_ref().unwrap().as_ref().map(|response| &response.bytes[..]);
    assert_eq!([bytes(0), bytes(1), bytes(2)], [Some(&b"2345"[..]), Some(&b"text"[..]), None]);
    assert!(responses[3].1.is_err());
    assert_eq!([bytes(4), bytes(5)], [Some(&b"22"[..]), Some(&b"2345"[..])]);
}

#[test]
fn damaged_reference_files_are_refused_with_the_reference() {
    for (document, part) in [
        ("", "not a valid reference file"),
        ("[]", "expected a JSON object"),
        (r#"{"version": 2, "refs": {}}"#, "version 2 is unknown; expected 1"),
        (r#"{"version": 1}"#, "`refs` is missing"),
        (r#"{"a": 1}"#, "reference `a`: expected a string"),
        (r#"{"a": []}"#, "reference `a`: the target is missing"),
        (r#"{"a": [null, 0, 1]}"#, "the target is missing or not a string"),
        (r#"{"a": ["x", 0]}"#, "found 2 items"),
        (r#"{"a": ["x", -1, 5]}"#, "integers from 0"),
        (r#"{"a": ["x", 1.5, 5]}"#, "integers from 0"),
        (r#"{"a": ["x", 18446744073709551615, 1]}"#, "are too large"),
        (r#"{"a": "base64:?"}"#, "reference `a`: invalid base64"),
        (r#"{"../a": "x"}"#, "reference `../a`: "),
        (r#"{"version": 1, "refs": {"a": ["{{x}}"]}}"#, "`x` is not defined"),
        (r#"{"version": 1, "refs": {}, "templates": {"u": 1}}"#, "template `u` is not a string"),
        (r#"{"version": 1, "refs": {}, "gen": {}}"#, "`gen` is not an array"),
        (r#"{"version": 1, "refs": {}, "gen": [{"key": "a", "url": "b"}]}"#, "`dimensions` is missing"),
    ] {
        let refused = refused(document);
        assert!(refused.contains(part), "{document}: {refused}");
    }
    let missing = ReferenceStore::open(empty(), &key("refs.json"), Vec::new()).unwrap_err().to_string();
    assert_eq!(missing, "`minimal:refs.json`, the file with references, does not exist");
}

#[test]
fn generators_are_bounded() {
    for (dimensions, more, part) in [
        (r#"{"i": {"stop": 99999999999}}"#, "", "generates more than"),
        (r#"{"i": {"stop": 9999}, "j": {"stop": 9999}}"#, "", "generates more than"),
        (r#"{"i": {"stop": 1, "step": 0}}"#, "", "`step` is 0"),
        (r#"{"i": {"start": 1}}"#, "", "`stop` is missing"),
        (r#"{"i": [1.5]}"#, "", "integers and strings"),
        (r#"{"i": [1]}"#, r#", "offset": 1"#, "must both be there"),
        (r#"{"i": [1]}"#, r#", "offset": "{{ i - 2 }}", "length": 1"#, "`-1` is not an integer from 0"),
        (r#"{"i": {"stop": 9223372036854775807, "start": -9223372036854775808}}"#, "", "generates more than"),
    ] {
        let generator = format!(r#"{{"key": "{{{{i}}}}", "url": "u", "dimensions": {dimensions}{more}}}"#);
        let refused = refused(&format!(r#"{{"version": 1, "refs": {{}}, "gen": [{generator}]}}"#));
        assert!(refused.contains(part), "{dimensions}: {refused}");
    }
    let none =
        r#"{"version": 1, "refs": {}, "gen": [{"key": "a", "url": "b", "dimensions": {"i": {"stop": -5}}}]}"#;
    assert_eq!((&opened(none).unwrap() as &dyn Store).list().unwrap(), []);
}

#[test]
fn a_description_names_the_folder_and_the_file() {
    let store = r#""store": {"type": "filled"}"#;
    let missing = described(&format!(r#"{{"type": "reference", "key": "refs.json", {store}}}"#)).unwrap_err();
    assert!(missing.contains("does not exist"), "{missing}");
    let targets = r#""targets": [{"type": "filled"}]"#;
    let invalid =
        described(&format!(r#"{{"type": "reference", "key": "a", {targets}, {store}}}"#)).unwrap_err();
    assert!(invalid.contains("is not a valid reference file"), "{invalid}");
    assert!(described(&format!(r#"{{"type": "reference", "key": "../a", {store}}}"#)).is_err());
    let other: Arc<dyn Store> = filled();
    other.set(&key("refs.json"), br#"{"x": ["a", 0, 1]}"#.into()).unwrap();
    let store = ReferenceStore::open(other, &key("refs.json"), vec![filled()]).unwrap();
    assert_eq!(value(&store, "x").unwrap(), b"0");
}
