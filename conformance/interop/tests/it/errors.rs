//! Errors as programs handle them.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_interop::{created, memory};
use zarr_kit::spec::Key;
use zarr_kit::spec::host::registry::{CatalogueEntry, ExtensionPoint, Unknown};
use zarr_kit::{
    ArrayBuilder, Context, Error, ErrorKind, Format, Hierarchy, Registry, json, metadata, open_store,
};

/// Returns a context that knows the feature of the codec `example.none`.
fn context() -> Context {
    let mut registry = Registry::linked().unwrap();
    let names = &["example.none"];
    registry.add_catalogue_entry(CatalogueEntry::new(ExtensionPoint::Codec, names, "codec-none", "example"));
    Context::new(registry)
}

#[track_caller]
fn assert_is_missing(error: &Error) {
    let missing: Vec<&Unknown> = error.missing_plugins().collect();
    let [missing] = missing[..] else { panic!("{missing:?} of {error}") };
    assert_eq!((missing.point, missing.identifier.as_str()), (ExtensionPoint::Codec, "example.none"));
    let feature = missing.feature.unwrap();
    assert_eq!((feature.name, feature.package), ("codec-none", "example"));
    assert_eq!(error.kind(), ErrorKind::NotUnderstood);
}

#[test]
fn an_error_has_a_kind() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3).unwrap();
    let builder = ArrayBuilder::new([4], "uint8").chunks([2]).codec("crc32c");
    let array = hierarchy.create_array("/a", &builder).unwrap();
    array.write_values(.., &[1u8, 2, 3, 4]).unwrap();
    array.write_encoded_chunk(&[1], &[0; 6]).unwrap();
    let errors = [
        (hierarchy.array("/b").unwrap_err(), ErrorKind::NotFound),
        (Hierarchy::open(memory(), &context()).unwrap_err(), ErrorKind::NotFound),
        (hierarchy.create_array("/a", &builder).unwrap_err(), ErrorKind::AlreadyExists),
        (hierarchy.group("/a").unwrap_err(), ErrorKind::WrongKind),
        (array.read(3..5).unwrap_err(), ErrorKind::InvalidInput),
        (array.read_values::<f32>(..).unwrap_err(), ErrorKind::InvalidInput),
        (array.read(..).unwrap_err(), ErrorKind::Damaged),
        (hierarchy.consolidate("/b").unwrap_err(), ErrorKind::NotFound),
    ];
    for (error, kind) in errors {
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[test]
fn missing_plugins_are_values_when_an_array_is_opened() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3).unwrap();
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let sharded = |codecs| json!({"chunk_shape": [2], "codecs": codecs, "index_codecs": [(little.clone())]});
    let none = json!([{"name": "bytes"}, {"name": "example.none"}]);
    let nested = json!([{"name": "sharding_indexed", "configuration": (sharded(none.clone()))}]);
    for (path, codecs) in [("a", none), ("b", nested)] {
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
            "chunk_key_encoding": {"name": "default"}, "codecs": codecs
        });
        let key = Key::new(format!("{path}/zarr.json")).unwrap();
        hierarchy.store().set(&key, document.to_string().into_bytes().into()).unwrap();
        assert_is_missing(&hierarchy.array(path).unwrap_err());
        assert!(matches!(hierarchy.metadata(path).unwrap(), metadata::NodeMetadata::Array(_)));
    }
}

#[test]
fn missing_plugins_are_values_when_an_array_is_created() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3).unwrap();
    let builder = || ArrayBuilder::new([4], "uint8").chunks([4]);
    assert_is_missing(&hierarchy.create_array("/a", &builder().codec("example.none")).unwrap_err());
    let codecs = json!([{"name": "bytes"}, {"name": "example.none"}]);
    let index_codecs = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let sharded = json!({"chunk_shape": [2], "codecs": codecs, "index_codecs": index_codecs});
    let nested = builder().codec(("sharding_indexed", sharded));
    assert_is_missing(&hierarchy.create_array("/a", &nested).unwrap_err());
    assert!(matches!(hierarchy.array("/a"), Err(Error::NoNode(_))));
}

#[test]
fn a_store_that_no_plugin_opens_is_a_missing_plugin() {
    let registry = Registry::linked().unwrap();
    for (location, identifier) in [("nothing://a", "nothing:"), (r#"{"type": "nothing"}"#, "nothing")] {
        let error = open_store(&registry, location).unwrap_err();
        let missing: Vec<&Unknown> = error.missing_plugins().collect();
        let [missing] = missing[..] else { panic!("{missing:?} of {error}") };
        assert_eq!((missing.point, missing.identifier.as_str()), (ExtensionPoint::Store, identifier));
        assert_eq!(missing.feature, None);
        assert_eq!(error.kind(), ErrorKind::NotUnderstood);
    }
}

#[test]
fn a_damaged_inner_chunk_is_named_by_its_index_in_the_shard() {
    let builder = ArrayBuilder::new([4, 4], "uint8").chunks([2, 2]).shards([4, 4]).codec("crc32c");
    let array = created(Format::V3, &builder);
    array.write_values(.., &(1..=16u8).collect::<Vec<_>>()).unwrap();
    let mut shard = array.read_encoded_chunk(&[0, 0]).unwrap().unwrap().to_vec();
    // The shard begins with inner chunks of four bytes in C order, each followed by its checksum.
    let third = 2 * (4 + 4);
    assert_eq!(shard[third..third + 4], [9, 10, 13, 14]);
    shard[third] ^= 1;
    array.write_encoded_chunk(&[0, 0], &shard).unwrap();
    assert_eq!(array.read_values::<u8>((..2, ..)).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    let error = array.read((2.., ..2)).unwrap_err();
    assert!(matches!(&error, Error::Chunk(error) if error.inner.as_deref() == Some(&[1, 0])), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with("chunk [0, 0] of /a (key `a/c/0/0`), inner chunk [1, 0], codec `crc32c`: "),
        "{text}"
    );
}

/// With a codec after the sharding codec, a shard is decoded as a whole. Here that codec does not change bytes.
#[test]
fn a_damaged_inner_chunk_of_a_shard_that_is_decoded_as_a_whole_is_named() {
    let sharding = json!({
        "chunk_shape": [2, 2],
        "codecs": [{"name": "bytes"}, {"name": "crc32c"}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    });
    let builder = ArrayBuilder::new([4, 4], "uint8").chunks([4, 4]);
    let builder = builder.codec(("sharding_indexed", sharding)).codec(("shuffle", json!({"elementsize": 1})));
    let array = created(Format::V3, &builder);
    array.write_values(.., &(1..=16u8).collect::<Vec<_>>()).unwrap();
    let mut shard = array.read_encoded_chunk(&[0, 0]).unwrap().unwrap().to_vec();
    let third = 2 * (4 + 4);
    assert_eq!(shard[third..third + 4], [9, 10, 13, 14]);
    shard[third] ^= 1;
    array.write_encoded_chunk(&[0, 0], &shard).unwrap();
    let error = array.read(..).unwrap_err();
    assert!(matches!(&error, Error::Chunk(error) if error.inner.as_deref() == Some(&[1, 0])), "{error:?}");
    let text = error.to_string();
    let start = "chunk [0, 0] of /a (key `a/c/0/0`), inner chunk [1, 0], codec `sharding_indexed`: ";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("codec `crc32c`: ") && text.contains("the stored checksum"), "{text}");
}
