//! Sharding of the draft: configurations. The engine tests the bytes of shards.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::creation;
use zarr_spec::transformer::{ShardingTransformer, StorageTransformer};
use zarr_spec::{Format, Mode, Registry, Representation, Size, Value};
use zarr_transformer_sharding as _;

const URI: &str = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0";

fn registry() -> Registry {
    let mut registry = zarr_conformance::registry();
    for plugin in Registry::linked().unwrap().storage_transformers().iter() {
        registry.register(*plugin).unwrap();
    }
    registry
}

fn create_in(
    registry: &Registry,
    uri: &str,
    type_name: &str,
    configuration: &str,
    shape: &[u64],
) -> Result<ShardingTransformer, String> {
    let type_name = Value::from(type_name);
    creation(Format::V3Draft, uri, configuration, Mode::Strict, |creation| {
        let creation = creation.with_registry(registry).with_type_name(Some(&type_name));
        let table = registry.storage_transformers();
        let plugin = table.find(creation.format, uri, creation.reading).map_err(|error| error.to_string())?;
        match (plugin.create)(&creation, shape).map_err(|error| error.to_string())? {
            StorageTransformer::Shard(sharding) => Ok(sharding),
            StorageTransformer::Wrap(other) => panic!("{other:?}"),
        }
    })
}

fn create(configuration: &str, shape: &[u64]) -> Result<ShardingTransformer, String> {
    create_in(&registry(), URI, "indexed", configuration, shape)
}

#[test]
fn the_index_has_one_plain_pair_per_chunk() {
    let sharding = create(r#"{"chunks_per_shard":[32,2]}"#, &[160, 20]).unwrap();
    assert_eq!(sharding.chunks_per_shard, [32, 2]);
    assert_eq!(sharding.index_codecs.encoded_size(), Size::Exact(1024));
    let Representation::Array(index) = &sharding.index_codecs.links()[0].decoded else {
        panic!("the index is an array")
    };
    assert_eq!((index.shape.as_slice(), index.fill_value.bytes()), (&[32, 2, 2][..], &[0xff; 8][..]));
}

#[test]
fn an_array_without_dimensions_has_one_chunk() {
    for configuration in [r#"{"chunks_per_shard":[]}"#, r#"{"chunks_per_shard":[1]}"#] {
        let sharding = create(configuration, &[]).unwrap();
        assert!(sharding.chunks_per_shard.is_empty());
        assert_eq!(sharding.index_codecs.encoded_size(), Size::Exact(16));
    }
    assert!(create(r#"{"chunks_per_shard":[2]}"#, &[]).is_err());
}

#[test]
fn invalid_chunk_counts_are_refused() {
    for (configuration, reason) in [
        (r#"{"chunks_per_shard":[2]}"#, "1 entry, but the array has 2"),
        (r#"{"chunks_per_shard":[0,1]}"#, "contains a zero"),
        (r#"{"chunks_per_shard":[1.5,1]}"#, "1.5"),
        (r#"{"chunks_per_shard":[2,2],"order":"c"}"#, "`order`"),
        ("{}", "chunks_per_shard"),
    ] {
        let error = create(configuration, &[4, 4]).unwrap_err();
        assert!(error.contains(reason), "{configuration}: {error}");
    }
    let good = r#"{"chunks_per_shard":[2]}"#;
    let error = create_in(&registry(), URI, "linear", good, &[4]).unwrap_err();
    assert_eq!(error, "`type` is \"linear\"; expected \"indexed\"");
    // A registry without the plugin of `uint64`, which the index needs.
    let mut without = Registry::empty();
    for plugin in Registry::linked().unwrap().storage_transformers().iter() {
        without.register(*plugin).unwrap();
    }
    let error = create_in(&without, URI, "indexed", good, &[4]).unwrap_err();
    assert!(error.contains("needs data type `uint64`"), "{error}");
}
