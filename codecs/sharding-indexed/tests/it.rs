//! `sharding_indexed`: configurations. The engine tests the bytes of shards.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_sharding_indexed as _;
use zarr_conformance::{array, creation, types};
use zarr_spec::codec::{BytesToBytesCodec, Checksum, Shard};
use zarr_spec::host::pipeline::ShardPipeline;
use zarr_spec::{
    ByteOrder, Codec, CodecError, CodecPlugin, Creation, Format, Identifiers, Mode, Output, Registry,
    Representation, Size,
};

/// Stands in for a checksum, since plugins do not depend on each other.
#[derive(Debug)]
struct FourBytes;

impl Checksum for FourBytes {
    fn size(&self) -> usize {
        4
    }

    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), CodecError> {
        checksum.copy_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        Ok(())
    }
}

/// Stands in for a compressor: the encoded size depends on the bytes.
#[derive(Debug)]
struct WithoutTrailingZeros;

impl BytesToBytesCodec for WithoutTrailingZeros {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        let len = decoded.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Ok(encoded.put(&decoded[..len])?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        Ok(decoded.put(encoded)?)
    }
}

fn registry() -> Registry {
    let mut registry = zarr_conformance::registry();
    for plugin in Registry::linked().unwrap().codecs().iter() {
        registry.register(*plugin).unwrap();
    }
    registry
        .register(CodecPlugin::new(Identifiers::name("bytes"), &|_: &Creation<'_>, _: &Representation| {
            Ok(Codec::Binary(ByteOrder::Little))
        }))
        .unwrap();
    registry
        .register(CodecPlugin::new(Identifiers::name("crc32c"), &|_: &Creation<'_>, _: &Representation| {
            Ok(Codec::Checksum(Arc::new(FourBytes)))
        }))
        .unwrap();
    registry
        .register(CodecPlugin::new(Identifiers::name("gzip"), &|_: &Creation<'_>, _: &Representation| {
            Ok(Codec::BytesToBytes(Arc::new(WithoutTrailingZeros)))
        }))
        .unwrap();
    registry
}

/// Creates the codec for a shard of `uint16`.
fn create_in(
    registry: &Registry,
    configuration: &str,
    shard_shape: &[u64],
    mode: Mode,
) -> Result<Arc<Shard>, CodecError> {
    creation(Format::V3, "sharding_indexed", configuration, mode, |creation| {
        let creation = creation.with_registry(registry);
        let plugin = registry.codecs().find(creation.format, creation.identifier, creation.reading).unwrap();
        let decoded = Representation::Array(array(shard_shape, types::UINT16));
        match (plugin.create)(&creation, &decoded)? {
            Codec::Shard(shard) => Ok(shard),
            other => panic!("{other:?}"),
        }
    })
}

fn create(configuration: &str, shard_shape: &[u64]) -> Result<Arc<Shard>, CodecError> {
    create_in(&registry(), configuration, shard_shape, Mode::Lenient)
}

/// Returns the message for an invalid configuration.
fn invalid(configuration: &str, shard_shape: &[u64]) -> String {
    match create(configuration, shard_shape) {
        Err(CodecError::InvalidConfiguration(error)) => error.to_string(),
        other => panic!("{configuration}: {other:?}"),
    }
}

/// Returns the usual configuration of final v3 with some members replaced.
fn with(chunk_shape: &str, codecs: &str, index_codecs: &str) -> String {
    format!(r#"{{"chunk_shape":{chunk_shape},"codecs":{codecs},"index_codecs":{index_codecs}}}"#)
}

fn resolved(shard: &Arc<Shard>, shard_shape: &[u64]) -> Arc<ShardPipeline> {
    let registry = registry();
    let document = zarr_spec::extension::ExtensionDocument::new(
        "sharding_indexed",
        zarr_json::parse(with("[32,32]", BYTES, INDEX).as_bytes(), &Default::default()).unwrap().value,
    );
    let reading = zarr_spec::Reading::new(Mode::Strict);
    let creation = zarr_spec::host::chain::ChainCreation::new(Format::V3, &registry, &reading);
    let array = array(shard_shape, types::UINT16);
    let chain = zarr_spec::CodecChain::create(&creation, None, &[document], &array).unwrap();
    assert_eq!(chain.shard().unwrap().inner_shape, shard.inner_shape);
    Arc::clone(chain.resolve(&array).unwrap().shard().unwrap())
}

const BYTES: &str = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
const INDEX: &str = r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]"#;

/// Tests V3-SHARD-07, V3-SHARD-10.
#[test]
fn the_index_is_an_array_of_one_pair_for_each_inner_chunk() {
    let shard = create(&with("[32,32]", BYTES, INDEX), &[128, 128]).unwrap();
    assert_eq!(shard.inner_shape, [32, 32]);
    assert_eq!(shard.inner_codecs.encoded_size(), Size::Exact(32 * 32 * 2));
    let Representation::Array(index) = &shard.index_codecs.links()[0].decoded else {
        panic!("the index is an array")
    };
    assert_eq!(index.shape, [4, 4, 2]);
    assert_eq!(index.data_type.name(), "uint64");
    assert_eq!(index.fill_value.bytes(), [0xff; 8]);
    assert_eq!(shard.index_codecs.encoded_size(), Size::Exact(16 * 16 + 4));
    let pipeline = resolved(&shard, &[128, 128]);
    assert_eq!((pipeline.grid_shape.as_slice(), pipeline.index_size), (&[4, 4][..], 260));

    let four = create(&with("[2]", BYTES, INDEX), &[8]).unwrap();
    assert_eq!(four.index_codecs.encoded_size(), Size::Exact(68));
    let without_checksum = create(&with("[2]", BYTES, BYTES), &[8]).unwrap();
    assert_eq!(without_checksum.index_codecs.encoded_size(), Size::Exact(64));
}

/// Tests V3-SHARD-01, V3-SHARD-06.
#[test]
fn three_members_are_required_and_the_index_is_at_the_end_by_default() {
    let location = |location: &str| {
        with("[2]", BYTES, INDEX).replacen('{', &format!(r#"{{"index_location":{location},"#), 1)
    };
    assert!(!create(&with("[2]", BYTES, INDEX), &[4]).unwrap().index_at_start);
    assert!(!create(&location(r#""end""#), &[4]).unwrap().index_at_start);
    assert!(create(&location(r#""start""#), &[4]).unwrap().index_at_start);
    for wrong in [r#""middle""#, "null", "0", r#""START""#] {
        invalid(&location(wrong), &[4]);
    }
    for (missing, configuration) in [
        ("chunk_shape", format!(r#"{{"codecs":{BYTES},"index_codecs":{INDEX}}}"#)),
        ("codecs", format!(r#"{{"chunk_shape":[2],"index_codecs":{INDEX}}}"#)),
        ("index_codecs", format!(r#"{{"chunk_shape":[2],"codecs":{BYTES}}}"#)),
        ("chunk_shape", String::new()),
    ] {
        let message = invalid(&configuration, &[4]);
        assert!(message.contains(&format!("`configuration.{missing}` is missing")), "{message}");
    }
    let unknown = with("[2]", BYTES, INDEX).replacen('{', r#"{"write_empty":true,"#, 1);
    assert!(invalid(&unknown, &[4]).contains("`write_empty`"));
}

/// Tests V3-SHARD-02.
#[test]
fn inner_chunks_divide_the_shard() {
    create(&with("[2]", BYTES, INDEX), &[4]).unwrap();
    create(&with("[]", BYTES, INDEX), &[]).unwrap();
    for wrong in ["[3]", "[2,2]", "[0]", "[]", "[8]"] {
        let message = invalid(&with(wrong, BYTES, INDEX), &[4]);
        assert!(message.contains("do not divide"), "{message}");
    }
    for wrong in ["[-2]", "[2.5]", "2", "[\"2\"]"] {
        invalid(&with(wrong, BYTES, INDEX), &[4]);
    }
}

/// Tests V3-SHARD-03.
#[test]
fn each_list_contains_one_array_to_bytes_codec_and_shards_may_nest() {
    let nested = format!(r#"[{{"name":"sharding_indexed","configuration":{}}}]"#, with("[2]", BYTES, INDEX));
    let shard = create(&with("[4]", &nested, INDEX), &[8]).unwrap();
    let inner = shard.inner_codecs.shard().unwrap();
    assert_eq!(inner.inner_shape, [2]);
    assert_eq!(inner.index_codecs.encoded_size(), Size::Exact(2 * 16 + 4));

    for mode in [Mode::Strict, Mode::Lenient] {
        for wrong in ["[]", r#"["gzip"]"#, r#"["bytes","bytes"]"#] {
            let registry = registry();
            create_in(&registry, &with("[2]", wrong, INDEX), &[4], mode).unwrap_err();
            create_in(&registry, &with("[2]", BYTES, wrong), &[4], mode).unwrap_err();
        }
    }
    let message = invalid(&with("[2]", "[]", INDEX), &[4]);
    assert!(message.contains("`codecs`"), "{message}");
}

/// Tests V3-SHARD-04.
#[test]
fn the_size_of_the_index_must_be_fixed() {
    create(&with("[2]", BYTES, r#"["bytes","crc32c"]"#), &[4]).unwrap();
    let nested =
        format!(r#"[{{"name":"sharding_indexed","configuration":{}}}]"#, with("[1,2]", BYTES, INDEX));
    for (wrong, name) in [
        (r#"["bytes","gzip"]"#, "gzip"),
        (r#"["bytes","gzip","crc32c"]"#, "gzip"),
        (&nested, "sharding_indexed"),
    ] {
        let message = invalid(&with("[2]", BYTES, wrong), &[4]);
        assert!(message.contains(&format!("`{name}`")), "{message}");
    }
}

#[test]
fn entries_of_both_lists_are_names_or_objects() {
    create(&with("[2]", r#"["bytes",{"name":"gzip","must_understand":false}]"#, INDEX), &[4]).unwrap();
    for wrong in [
        r#"[1]"#,
        r#"[null]"#,
        r#"[{}]"#,
        r#"[{"name":1}]"#,
        r#"[{"name":"bytes","configuration":[]}]"#,
        r#"[{"name":"bytes","must_understand":1}]"#,
    ] {
        invalid(&with("[2]", wrong, INDEX), &[4]);
    }
    let further = with("[2]", r#"[{"name":"bytes","x":1}]"#, INDEX);
    create(&further, &[4]).unwrap();
    assert!(matches!(
        create_in(&registry(), &further, &[4], Mode::Strict),
        Err(CodecError::InvalidConfiguration(_))
    ));
    let unknown = create(&with("[2]", r#"["nope"]"#, INDEX), &[4]).unwrap_err();
    assert!(matches!(unknown, CodecError::Inner(_)), "{unknown}");
    assert!(unknown.to_string().contains("`nope`"), "{unknown}");
}

#[test]
fn missing_data_types_and_arrays_are_an_error() {
    let mut without_types = Registry::linked().unwrap();
    without_types
        .register(CodecPlugin::new(Identifiers::name("bytes"), &|_: &Creation<'_>, _: &Representation| {
            Ok(Codec::Binary(ByteOrder::Little))
        }))
        .unwrap();
    let error = create_in(&without_types, &with("[2]", BYTES, BYTES), &[4], Mode::Lenient).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("uint64"), "{error}");

    let registry = registry();
    creation(Format::V3, "sharding_indexed", &with("[2]", BYTES, INDEX), Mode::Lenient, |creation| {
        let creation = creation.with_registry(&registry);
        let plugin = registry.codecs().find(Format::V3, "sharding_indexed", creation.reading).unwrap();
        let error = (plugin.create)(&creation, &Representation::Bytes(Size::Exact(8))).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    });
}
