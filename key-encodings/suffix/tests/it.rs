//! `suffix`: the keys in the proposal, with a stand-in for the base encoding.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_json::ParseOptions;
use zarr_key_encoding_suffix as _;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin, decode_indices, encode_index};
use zarr_spec::{BoxError, Creation, Format, Identifiers, Invalid, Mode, Reading, Registry};

/// A base encoding with keys such as `c/1/2`.
#[derive(Debug)]
struct Slashes;

impl ChunkKeyEncoding for Slashes {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        key.push('c');
        for index in chunk_index {
            key.push('/');
            encode_index(*index, key);
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        match rank {
            0 => Ok((key == "c").then(Vec::new)),
            1..=3 => Ok(key.strip_prefix("c/").and_then(|rest| decode_indices(rest, '/', rank))),
            _ => Err("more than three dimensions".into()),
        }
    }
}

fn create_slashes(_creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    Ok(Arc::new(Slashes))
}

fn create(configuration: &str) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let mut registry = Registry::linked().unwrap();
    let slashes = ChunkKeyEncodingPlugin::new(Identifiers::name("slashes"), &create_slashes);
    registry.register(slashes).unwrap();
    let configuration = zarr_json::parse(configuration.as_bytes(), &ParseOptions::default()).unwrap().value;
    let reading = Reading::new(Mode::Strict);
    let creation = Creation::new("suffix", &configuration, Format::V3, &registry, &reading);
    let plugin = registry.chunk_key_encodings().find(Format::V3, "suffix", &reading).unwrap();
    (plugin.create)(&creation)
}

fn key(encoding: &dyn ChunkKeyEncoding, index: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(index, &mut key);
    key
}

/// Tests EX-GRID-12.
#[test]
fn the_suffix_follows_the_key_of_the_base_encoding() {
    for base in [r#"{"name": "slashes"}"#, r#""slashes""#] {
        let encoding = create(&format!(r#"{{"suffix": ".tiff", "base_encoding": {base}}}"#)).unwrap();
        assert_eq!(key(&*encoding, &[1, 2]), "c/1/2.tiff");
        assert_eq!(key(&*encoding, &[]), "c.tiff");
        assert_eq!(encoding.decode("c/1/2.tiff", 2).unwrap(), Some(vec![1, 2]));
        for wrong in ["c/1/2", "c/1/2.tif", "c/1/2.tiff.tiff", "c/1.tiff", ".tiff", "", "c/01/2.tiff"] {
            assert_eq!(encoding.decode(wrong, 2).unwrap(), None, "{wrong}");
        }
    }
}

#[test]
fn suffixes_nest() {
    let inner = r#"{"name": "suffix", "configuration": {"suffix": ".a", "base_encoding": "slashes"}}"#;
    let encoding = create(&format!(r#"{{"suffix": ".b", "base_encoding": {inner}}}"#)).unwrap();
    assert_eq!(key(&*encoding, &[7]), "c/7.a.b");
    assert_eq!(encoding.decode("c/7.a.b", 1).unwrap(), Some(vec![7]));
}

#[test]
fn dimensions_that_the_base_encoding_does_not_support_are_errors() {
    let encoding = create(r#"{"suffix": ".tiff", "base_encoding": "slashes"}"#).unwrap();
    for key in ["", "c/1/2/3/4.tiff"] {
        assert!(encoding.decode(key, 4).is_err());
    }
}

#[test]
fn invalid_suffixes_and_bases_are_refused() {
    for wrong in [
        "{}",
        r#"{"suffix": ".tiff"}"#,
        r#"{"base_encoding": "slashes"}"#,
        r#"{"suffix": 1, "base_encoding": "slashes"}"#,
        r#"{"suffix": ".tiff", "base_encoding": null}"#,
        r#"{"suffix": ".tiff", "base_encoding": "nope"}"#,
        r#"{"suffix": ".tiff", "base_encoding": ["slashes"]}"#,
        r#"{"suffix": "/", "base_encoding": "slashes"}"#,
        r#"{"suffix": "/../a", "base_encoding": "slashes"}"#,
        r#"{"suffix": "/zarr.json", "base_encoding": "slashes"}"#,
        r#"{"suffix": ".tiff", "base_encoding": "slashes", "separator": "/"}"#,
    ] {
        assert!(create(wrong).is_err(), "{wrong}");
    }
}
