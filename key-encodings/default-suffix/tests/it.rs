//! `zarrs.default_suffix`: keys in the documentation of the `zarrs` crate.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::HashSet;
use std::sync::Arc;

use zarr_conformance::creation;
use zarr_key_encoding_default_suffix::DefaultSuffixKeyEncoding;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{Format, Invalid, Mode, Registry};

const NAME: &str = "zarrs.default_suffix";

fn create(configuration: &str) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let registry = Registry::linked().unwrap();
    creation(Format::V3, NAME, configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_key_encodings().find(Format::V3, NAME, creation.reading).unwrap();
        (plugin.create)(creation)
    })
}

fn key(encoding: &dyn ChunkKeyEncoding, index: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(index, &mut key);
    key
}

#[test]
fn the_suffix_follows_the_last_index() {
    let slash = create(r#"{"separator":"/","suffix":".tiff"}"#).unwrap();
    assert_eq!(key(&*slash, &[1, 23, 45]), "c/1/23/45.tiff");
    assert_eq!(key(&*slash, &[]), "c.tiff");
    let dot = create(r#"{"separator":".","suffix":".tiff"}"#).unwrap();
    assert_eq!(key(&*dot, &[1, 23, 45]), "c.1.23.45.tiff");
    assert_eq!(key(&*dot, &[]), "c.tiff");
    let absent = create(r#"{"suffix":".tiff"}"#).unwrap();
    assert_eq!(key(&*absent, &[0, 1]), "c/0/1.tiff");
    assert_eq!(key(&*create(r#"{"suffix":""}"#).unwrap(), &[0, 1]), "c/0/1");
}

#[test]
fn only_its_own_keys_are_read_back() {
    let encoding = DefaultSuffixKeyEncoding::new('/', ".tiff").unwrap();
    for wrong in
        ["c/0/1", "c/0/1.tif", "c/0/01.tiff", "c/0.tiff", "c/0/1/2.tiff", "d/0/1.tiff", "c/0/.tiff", ""]
    {
        assert_eq!(encoding.decode(wrong, 2).unwrap(), None, "{wrong}");
    }
    assert_eq!(encoding.decode("c.tiff", 0).unwrap(), Some(vec![]));
    assert_eq!(encoding.decode("c/0.tiff", 0).unwrap(), None);
}

#[test]
fn each_chunk_has_its_own_key() {
    for suffix in ["", ".tiff", "/0", ".0", "-", "/x.0", "\u{e9}"] {
        for separator in ['/', '.'] {
            let encoding = DefaultSuffixKeyEncoding::new(separator, suffix).unwrap();
            let mut keys = HashSet::new();
            for index in (0..12).flat_map(|row| [0, 1, 10, 101, u64::MAX].map(|column| [row, column])) {
                let key = key(&encoding, &index);
                assert_eq!(encoding.decode(&key, 2).unwrap().as_deref(), Some(&index[..]), "{key}");
                assert!(keys.insert(key));
            }
        }
    }
}

#[test]
fn invalid_separators_and_suffixes_are_refused() {
    for wrong in [
        "",
        "{}",
        r#"{"separator":"/"}"#,
        r#"{"suffix":1}"#,
        r#"{"suffix":null}"#,
        r#"{"separator":"-","suffix":".tiff"}"#,
        r#"{"separator":"","suffix":".tiff"}"#,
        r#"{"suffix":"0"}"#,
        r#"{"suffix":"/"}"#,
        r#"{"suffix":"//a"}"#,
        r#"{"suffix":"/../a"}"#,
        r#"{"suffix":".tiff","prefix":"d"}"#,
    ] {
        assert!(create(wrong).is_err(), "{wrong}");
    }
}
