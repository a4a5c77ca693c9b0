//! `fanout`: the keys in the proposal, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_key_encoding_fanout::FanoutKeyEncoding;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{Format, Invalid, Mode, Registry};

fn create(configuration: &str) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let registry = Registry::linked().unwrap();
    creation(Format::V3, "fanout", configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_key_encodings().find(Format::V3, "fanout", creation.reading).unwrap();
        (plugin.create)(creation)
    })
}

fn key(encoding: &dyn ChunkKeyEncoding, index: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(index, &mut key);
    key
}

/// Tests EX-GRID-13.
#[test]
fn the_keys_are_those_of_the_proposal() {
    let encoding = create("").unwrap();
    for (index, expected) in [
        (&[][..], "c"),
        (&[0], "c/0/000"),
        (&[12], "c/0/012"),
        (&[1_234_567], "c/2/001/234/567"),
        (&[1234, 5, 0, 6_789_012], "c/1/001/234/0/005/0/000/2/006/789/012"),
    ] {
        assert_eq!(key(&*encoding, index), expected);
        assert_eq!(encoding.decode(expected, index.len()).unwrap().as_deref(), Some(index));
    }
}

#[test]
fn the_limit_is_rounded_down_to_a_power_of_ten() {
    for (max_children, expected) in [
        (100, "c/1/12/34"),
        (250, "c/1/12/34"),
        (999, "c/1/12/34"),
        (1234, "c/1/001/234"),
        (10_000, "c/0/1234"),
    ] {
        let encoding = create(&format!(r#"{{"max_children": {max_children}}}"#)).unwrap();
        assert_eq!(key(&*encoding, &[1234]), expected, "{max_children}");
    }
    let largest = FanoutKeyEncoding::new(u64::MAX).unwrap();
    for index in [0, 1, u64::MAX] {
        assert_eq!(largest.decode(&key(&largest, &[index, 7]), 2).unwrap(), Some(vec![index, 7]));
    }
}

#[test]
fn only_its_own_keys_are_read_back() {
    let encoding = FanoutKeyEncoding::new(1000).unwrap();
    for wrong in [
        "c/0/12",
        "c/1/000/012",
        "c/0/1234",
        "c/1/012",
        "c/0/012/",
        "d/0/012",
        "c/0/+12",
        "c/00/012",
        "c/-1/012",
        "",
        "c",
        "c/18446744073709551615/012",
        "c/6/999/999/999/999/999/999/999",
        "c/0/012/0/013",
    ] {
        assert_eq!(encoding.decode(wrong, 1).unwrap(), None, "{wrong}");
    }
}

#[test]
fn keys_have_the_order_of_the_indices() {
    let encoding = FanoutKeyEncoding::new(100).unwrap();
    let indices = [0, 9, 10, 99, 100, 101, 9999, 10_000, 123_456_789, u64::MAX];
    let keys: Vec<String> = indices.iter().map(|&index| key(&encoding, &[index, 3])).collect();
    assert!(keys.is_sorted(), "{keys:?}");
}

#[test]
fn other_limits_are_refused() {
    for wrong in [
        r#"{"max_children": 99}"#,
        r#"{"max_children": -1}"#,
        r#"{"max_children": "100"}"#,
        r#"{"base": 10}"#,
    ] {
        assert!(create(wrong).is_err(), "{wrong}");
    }
}
