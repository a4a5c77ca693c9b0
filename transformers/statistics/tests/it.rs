//! `statistics`: the rules for stores, and the counts.

use std::sync::Arc;

use zarr_conformance::stores::around::{described, empty, filled, has_no_url, holds_every_rule, key, value};
use zarr_spec::store::{GetOptions, Request, Store};
use zarr_spec::{ByteRange, Output, Prefix};
use zarr_transformer_statistics::StatisticsStore;

#[test]
fn every_rule_for_stores_holds() {
    holds_every_rule("statistics", &|| Arc::new(StatisticsStore::new(empty())));
}

#[test]
fn calls_values_bytes_and_errors_are_counted() {
    let store = StatisticsStore::new(filled());
    let counted = |operation: &str| {
        let usage = store.statistics().of(operation);
        (usage.calls, usage.values, usage.bytes, usage.errors)
    };
    assert_eq!(value(&store, "d/b").unwrap(), b"22");
    assert_eq!(value(&store, "missing"), None);
    let short = store.get(&key("d/b"), ByteRange::Full.into(), &mut Output::at_most(1));
    assert!(short.is_err());
    assert_eq!(counted("get"), (3, 3, 2, 1));
    let got = store.get(&key("d/b"), GetOptions::uncached(ByteRange::From(1)), &mut Output::at_most(1));
    assert_eq!(got.unwrap().unwrap().size, 2);
    assert_eq!(counted("get"), (4, 4, 3, 1));

    let request = |at: &str, limit| Request::new(key(at), ByteRange::Full, limit);
    let requests = vec![request("a", 10), request("x", 9), request("d/b", 9), request("d/b", 1)];
    assert_eq!(store.get_many(requests, 9).count(), 4);
    assert_eq!(counted("get_many"), (1, 4, 12, 1));

    store.set(&key("n"), b"12345".into()).unwrap();
    store.set_partial_values(&[(key("n"), 0, b"ab"), (key("a"), 0, b"x")]).unwrap();
    assert_eq!(counted("set"), (1, 1, 5, 0));
    assert_eq!(counted("set_partial_values"), (1, 2, 3, 0));
    store.size(&key("n")).unwrap();
    assert_eq!(store.list_prefix(&Prefix::root()).unwrap().count(), 3);
    store.list_dir(&Prefix::root()).unwrap();
    store.erase(&key("n")).unwrap();
    store.erase_values(&[key("a"), key("b")]).unwrap();
    store.erase_prefix(&Prefix::root()).unwrap();
    assert_eq!(counted("erase_values"), (1, 2, 0, 0));
    let taken = store.take();
    let operations: Vec<_> = taken.0.keys().copied().collect();
    let wanted = [
        "erase",
        "erase_prefix",
        "erase_values",
        "get",
        "get_many",
        "list_dir",
        "list_prefix",
        "set",
        "set_partial_values",
        "size",
    ];
    assert_eq!(operations, wanted);
    assert!(store.statistics().0.is_empty());
    let table = taken.to_string();
    assert_eq!(table.lines().count(), 1 + wanted.len());
    let line = table.lines().find(|line| line.starts_with("get_many")).unwrap();
    assert_eq!(line.split_whitespace().take(5).collect::<Vec<_>>(), ["get_many", "1", "4", "12", "1"]);
}

#[test]
fn time_is_measured_inside_of_the_store() {
    let store = StatisticsStore::new(empty());
    let value = vec![7; 8 << 20];
    let start = std::time::Instant::now();
    store.set(&key("a"), (&value).into()).unwrap();
    let whole = start.elapsed();
    // Copying this value takes some time, but at most as long as the caller waits.
    let time = store.statistics().of("set").time;
    assert!(time > std::time::Duration::ZERO && time <= whole, "{time:?} of {whole:?}");
    assert_eq!(store.statistics().of("get").time, std::time::Duration::ZERO);
}

#[test]
fn a_description_names_the_store() {
    let store = described(r#"{"type": "statistics", "store": {"type": "filled"}}"#).unwrap();
    assert_eq!(value(&*store, "d/b").unwrap(), b"22");
    described(r#"{"type": "statistics", "store": {"type": "filled"}, "report": false}"#).unwrap();
    for wrong in [
        r#"{"type": "statistics"}"#,
        r#"{"type": "statistics", "store": {"type": "filled"}, "report": 1}"#,
        r#"{"type": "statistics", "store": {"type": "filled"}, "x": 1}"#,
    ] {
        assert!(described(wrong).is_err(), "{wrong}");
    }
    assert!(has_no_url("statistics"));
}
