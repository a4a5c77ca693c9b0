//! Limits on memory and time for hostile data, in proportion to what documents declare and stores hold.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_conformance::suite::{CountingAllocator, highest};
use zarr_interop::book::value;
use zarr_interop::{Random, key, memory};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Limits, NodePath, Selection};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A codec of v2 and its configuration.
type Codec<'c> = (&'c str, Value);

/// Creates an array of bytes in one chunk.
fn array(size: u64, codecs: &[Codec<'_>]) -> (Arc<dyn Store>, Array) {
    let store = memory();
    let context = Context::linked().unwrap().with_one_thread();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, Format::V2).unwrap();
    let mut builder = ArrayBuilder::new([size], "uint8").chunks([size]).uncompressed();
    for (codec, configuration) in codecs {
        builder = builder.codec((*codec, value(configuration)));
    }
    let array = hierarchy.create_array("/a", &builder).unwrap();
    (store, array)
}

/// Returns the stored chunk of `size` equal bytes.
fn monotonous(size: u64, codec: &Codec<'_>) -> Vec<u8> {
    let (store, array) = array(size, std::slice::from_ref(codec));
    array.write(&Selection::All, &vec![7; usize::try_from(size).unwrap()]).unwrap();
    get_value(&*store, &key("a/0"), usize::MAX).unwrap().unwrap().into()
}

/// Codecs that do not declare a maximum encoded size, because it depends on the data.
const UNBOUNDED: &[&str] = &["bz2", "gzip", "lzma", "zlib"];

#[test]
fn an_undeclared_intermediate_size_is_limited_to_twice_the_chunk_plus_one_mebibyte() {
    for name in UNBOUNDED {
        let codec = (*name, json!({}));
        let (store, array) = array(4, &[codec.clone(), codec.clone()]);
        store.set(&key("a/0"), (&monotonous(16 << 20, &codec)).into()).unwrap();
        let mut result = Ok(());
        let taken = highest(|| result = array.read(&Selection::All).map(drop)).unwrap();
        let message = result.unwrap_err().to_string();
        assert!(message.contains("more than 1048584 bytes") && message.contains("`a/0`"), "{message}");
        assert!(taken < 4 << 20, "{name}: {taken}");
    }
}

/// Incompressible bytes grow only a little with each codec, so they stay below the limit on intermediate sizes. A
/// codec that widens elements raises the limit.
#[test]
fn incompressible_bytes_pass_through_several_codecs() {
    let mut random = Random::new(1);
    let stored = ("gzip", json!({"level": 0}));
    let wider = ("astype", json!({"encode_dtype": "<f8", "decode_dtype": "|u1"}));
    let chains = [
        vec![stored.clone(), stored.clone(), stored.clone()],
        vec![wider, stored.clone(), stored],
        UNBOUNDED.iter().map(|name| (*name, json!({}))).collect(),
    ];
    for codecs in &chains {
        for size in [1, 1_000_000] {
            let noise: Vec<u8> = (0..size).map(|_| random.number().to_le_bytes()[0]).collect();
            let (store, array) = array(size, codecs);
            array.write(&Selection::All, &noise).unwrap();
            assert!(get_value(&*store, &key("a/0"), usize::MAX).unwrap().is_some());
            assert!(array.read(&Selection::All).unwrap().bytes() == noise, "{codecs:?}");
        }
    }
}

/// Opens the hierarchy with this root document; returns the peak memory use, without the document itself, and
/// the result.
fn opening(document: &str) -> (usize, Result<(), String>) {
    let store = memory();
    store.set(&key("zarr.json"), document.as_bytes().into()).unwrap();
    let limits = Limits::new().with_document_size(document.len());
    let context = Context::linked().unwrap().with_one_thread().with_limits(limits);
    let mut result = Ok(());
    let taken = highest(|| {
        let opened = Hierarchy::open(store, &context).and_then(|hierarchy| {
            hierarchy.group("/")?;
            Ok(hierarchy.walk(NodePath::root())?.len())
        });
        result = opened.map(drop).map_err(|error| error.to_string());
    });
    (taken.unwrap(), result)
}

#[test]
fn a_document_of_many_small_values_fails_with_the_limit_and_takes_little_memory() {
    for part in ["[],", "{},", "0,", "[0],", "{\"a\":0},", "\"\","] {
        let list = part.repeat((4 << 20) / part.len());
        let document =
            format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"list":[{list}0]}}}}"#);
        let (taken, result) = opening(&document);
        let message = result.unwrap_err();
        let limit = format!("more than {} bytes", 4 * document.len() + (1 << 20));
        assert!(message.contains(&limit) && message.contains("four times"), "{part} {message}");
        // A list is copied when it grows, so both copies count.
        assert!(taken < 7 * document.len(), "{part} {}", taken / document.len());
    }
}
