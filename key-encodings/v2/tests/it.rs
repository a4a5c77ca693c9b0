//! The chunk key encoding of v2: keys printed in the specifications.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_key_encoding_v2::V2KeyEncoding;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{Format, Invalid, Mode, Registry};

fn create(format: Format, configuration: &str) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let registry = Registry::linked().unwrap();
    creation(format, "v2", configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_key_encodings().find(format, "v2", creation.reading).unwrap();
        (plugin.create)(creation)
    })
}

fn key(encoding: &dyn ChunkKeyEncoding, index: &[u64]) -> String {
    let mut key = String::new();
    encoding.encode(index, &mut key);
    key
}

/// Tests V3-GRID-08, V3-GRID-09, V3-GRID-10.
#[test]
fn indices_are_joined_by_a_dot_or_the_configured_separator() {
    for configuration in ["", "{}", r#"{"separator":"."}"#] {
        let encoding = create(Format::V3, configuration).unwrap();
        assert_eq!(key(&*encoding, &[1, 23, 45]), "1.23.45");
        assert_eq!(key(&*encoding, &[]), "0");
        assert_eq!(encoding.decode("0", 0).unwrap(), Some(vec![]));
        assert_eq!(encoding.decode("1/23/45", 3).unwrap(), None);
    }
    let slash = create(Format::V3, r#"{"separator":"/"}"#).unwrap();
    assert_eq!(key(&*slash, &[1, 23, 45]), "1/23/45");
    for wrong in [r#"{"separator":"-"}"#, r#"{"separator":null}"#, r#"{"separator":"."  ,"x":1}"#] {
        assert!(create(Format::V3, wrong).is_err(), "{wrong}");
    }
}

/// Tests V2-CHUNK-02, V2-CHUNK-04.
#[test]
fn keys_of_v2_arrays_match_the_specification() {
    let dot = create(Format::V2, r#"{"separator":"."}"#).unwrap();
    assert_eq!(key(&*dot, &[0, 0]), "0.0");
    assert_eq!(key(&*dot, &[2, 4]), "2.4");
    let mut inside = "foo/bar/".to_owned();
    dot.encode(&[0, 1], &mut inside);
    assert_eq!(inside, "foo/bar/0.1");
    assert_eq!(dot.decode("2.4", 2).unwrap(), Some(vec![2, 4]));
    assert_eq!(dot.decode("c0.0", 2).unwrap(), None);
    assert_eq!(dot.decode("00.1", 2).unwrap(), None);

    let slash = create(Format::V2, r#"{"separator":"/"}"#).unwrap();
    let mut inside = "foo/bar/".to_owned();
    slash.encode(&[0, 1], &mut inside);
    assert_eq!(inside, "foo/bar/0/1");
    for encoding in [dot, slash] {
        assert_eq!(key(&*encoding, &[]), "0");
        assert_eq!(encoding.decode("0", 0).unwrap(), Some(vec![]));
        assert_eq!(encoding.decode("", 0).unwrap(), None);
        assert_eq!(encoding.decode("c", 0).unwrap(), None);
    }
}

#[test]
fn decoding_is_the_exact_inverse() {
    for separator in ['.', '/'] {
        let encoding = V2KeyEncoding::new(separator).unwrap();
        for index in [[0, 0, 0], [1, 10, 100], [u64::MAX, 0, 7]] {
            assert_eq!(encoding.decode(&key(&encoding, &index), 3).unwrap().as_deref(), Some(&index[..]));
        }
        for wrong in ["", ".", "/", "0", ".zarray", "+1.0", "1.-0", "1_0.0", "01.0", "1.0.0", "1..0", "1//0"]
        {
            assert_eq!(encoding.decode(wrong, 2).unwrap(), None, "{wrong}");
        }
    }
    assert!(V2KeyEncoding::new('_').is_err());
}
