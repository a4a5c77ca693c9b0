//! The default chunk key encoding: keys printed in the specifications.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_key_encoding_default::DefaultKeyEncoding;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{Format, Invalid, Mode, Registry};

fn create(format: Format, configuration: &str) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let registry = Registry::linked().unwrap();
    creation(format, "default", configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_key_encodings().find(format, "default", creation.reading).unwrap();
        (plugin.create)(creation)
    })
}

fn key(encoding: &dyn ChunkKeyEncoding, index: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(index, &mut key);
    key
}

/// Tests V3-GRID-06, V3-GRID-07, V3-GRID-10.
#[test]
fn final_v3_puts_a_separator_before_each_index() {
    let slash = create(Format::V3, "").unwrap();
    assert_eq!(key(&*slash, &[1, 23, 45]), "c/1/23/45");
    assert_eq!(key(&*create(Format::V3, "{}").unwrap(), &[0, 0]), "c/0/0");
    let dot = create(Format::V3, r#"{"separator":"."}"#).unwrap();
    assert_eq!(key(&*dot, &[1, 23, 45]), "c.1.23.45");
    for encoding in [slash, dot] {
        assert_eq!(key(&*encoding, &[]), "c");
        assert_eq!(encoding.decode("c", 0).unwrap(), Some(vec![]));
        assert_eq!(encoding.decode("c/0", 0).unwrap(), None);
        assert_eq!(encoding.decode("c/", 0).unwrap(), None);
    }
    for separator in [r#""-""#, r#""""#, r#""//""#, "null", "1"] {
        let configuration = format!(r#"{{"separator":{separator}}}"#);
        assert!(create(Format::V3, &configuration).is_err(), "{configuration}");
    }
}

/// Tests D3-GRID-04, D3-GRID-05, D3-GRID-13, D3-GRID-14.
#[test]
fn the_draft_puts_the_first_index_directly_after_the_c() {
    let slash = create(Format::V3Draft, r#"{"separator":"/"}"#).unwrap();
    assert_eq!(key(&*slash, &[1, 23, 45]), "c1/23/45");
    assert_eq!(slash.decode("c/1/23/45", 3).unwrap(), None);
    let dot = create(Format::V3Draft, r#"{"separator":"."}"#).unwrap();
    assert_eq!(key(&*dot, &[1, 23, 45]), "c1.23.45");
    let absent = create(Format::V3Draft, "").unwrap();
    assert_eq!(key(&*absent, &[1]), "c1");
    assert_eq!(key(&*absent, &[0, 1]), "c0/1");
    for encoding in [slash, dot, absent] {
        assert_eq!(key(&*encoding, &[7]), "c7");
        assert_eq!(key(&*encoding, &[]), "c");
        assert_eq!(encoding.decode("c", 0).unwrap(), Some(vec![]));
        assert_eq!(encoding.decode("c0", 0).unwrap(), None);
        assert_eq!(encoding.decode("0", 0).unwrap(), None);
    }
    for separator in [r#""-""#, r#""""#, r#""//""#, "null", "1"] {
        let configuration = format!(r#"{{"separator":{separator}}}"#);
        assert!(create(Format::V3Draft, &configuration).is_err(), "{configuration}");
    }
}

/// Tests D3-GRID-16, D3-GRID-17.
#[test]
fn only_canonical_decimals_are_keys_and_each_chunk_has_one_key() {
    let draft = DefaultKeyEncoding::draft('/').unwrap();
    assert_eq!(draft.decode("c0/10", 2).unwrap(), Some(vec![0, 10]));
    for wrong in
        ["c00/10", "c0/010", "c+1/0", "c-1/0", "c1_0/0", "c0", "c0/1/2", "c0.10", "c", "", "d0/1", "c 0/1"]
    {
        assert_eq!(draft.decode(wrong, 2).unwrap(), None, "{wrong}");
    }
    for wrong in ["c+1", "c-1", "c1_0", "c00", "c18446744073709551616", "c\u{661}"] {
        assert_eq!(draft.decode(wrong, 1).unwrap(), None, "{wrong}");
    }
    for separator in ['/', '.'] {
        for encoding in
            [DefaultKeyEncoding::new(separator).unwrap(), DefaultKeyEncoding::draft(separator).unwrap()]
        {
            let mut keys = std::collections::HashSet::new();
            for index in (0..12).flat_map(|row| [0, 1, 10, 11, 101, u64::MAX].map(|column| [row, column])) {
                let key = key(&encoding, &index);
                assert!(key.is_ascii());
                assert_eq!(encoding.decode(&key, 2).unwrap().as_deref(), Some(&index[..]));
                assert!(keys.insert(key));
            }
        }
    }
}

#[test]
fn an_unknown_member_is_refused() {
    let error = create(Format::V3, r#"{"separator":"/","prefix":"d"}"#).unwrap_err();
    assert!(error.to_string().contains("`prefix`"), "{error}");
    assert!(DefaultKeyEncoding::new('-').is_err());
}
