//! The sharding storage transformer, byte for byte.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::CountingStore;
use zarr_kit::convert::convert_metadata;
use zarr_kit::spec::Object;
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, ArrayBuilder, Error, Format, Hierarchy, Mode, Selection};

use super::support::{
    array, array_document, context, context_with, get, get_json, hex, keys, memory, message, set, value,
    with_array,
};
use super::tagging::{self, IDENTITY};

const SHARDING: &str = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0";

/// Returns the index entry of a chunk: offset and size.
fn pair(offset: u64, size: u64) -> Vec<u8> {
    [offset.to_le_bytes(), size.to_le_bytes()].concat()
}

/// Returns the index entry of a missing chunk.
fn missing() -> Vec<u8> {
    vec![0xff; 16]
}

fn sharding(uri: &str, configuration: &Value) -> Value {
    json!([{"configuration": configuration, "extension": uri, "type": "indexed"}])
}

/// Returns the document of an array of bytes in chunks of `chunk`, with `chunks_per_shard` of them in a
/// shard.
fn sharded(shape: &[u64], chunk: &[u64], chunks_per_shard: &Value, changes: Value) -> Value {
    let mut document = array_document(json!({
        "data_type": "uint8",
        "shape": shape,
        "chunk_grid": {"type": "regular", "chunk_shape": chunk, "separator": "/"},
        "storage_transformers": sharding(SHARDING, &json!({"chunks_per_shard": chunks_per_shard})),
    }));
    let Value::Object(changes) = changes else { return document };
    document.as_object_mut().unwrap().extend(changes);
    document
}

fn read(store: &Arc<dyn Store>) -> Vec<u8> {
    array(store, &context()).unwrap().read_values::<u8>(&Selection::All).unwrap().into_vec()
}

fn part(ranges: &[std::ops::Range<u64>]) -> Selection {
    ranges.into()
}

/// Tests DX-SHARD-01, DX-SHARD-02, DX-SHARD-03, DX-SHARD-04, DX-SHARD-23.
#[test]
fn all_spellings_of_the_uri_and_only_valid_configurations_are_accepted() {
    let document = |list: Value| {
        let mut document = sharded(&[2, 2], &[1, 1], &json!([2, 2]), json!({}));
        document["storage_transformers"] = list;
        with_array(&document)
    };
    let good = json!({"chunks_per_shard": [2, 2]});
    for uri in [
        SHARDING,
        "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
        "http://purl.org/zarr/spec/storage-transformers/sharding/1.0",
    ] {
        let store = document(sharding(uri, &good));
        let value = [vec![7, 8], missing(), pair(0, 1), missing(), pair(1, 1)].concat();
        set(&*store, "data/a/c0/0", &value);
        assert_eq!(read(&store), [0, 7, 0, 8], "{uri}");
    }
    for configuration in [
        json!({}),
        json!({"chunks_per_shard": [2]}),
        json!({"chunks_per_shard": [0, 1]}),
        json!({"chunks_per_shard": [1.5, 1]}),
        json!({"chunks_per_shard": [-1, 1]}),
        json!({"chunks_per_shard": [2, 2], "strategy": "eager"}),
    ] {
        let error = message(array(&document(sharding(SHARDING, &configuration)), &context()));
        assert!(error.contains("`storage_transformers[0]`"), "{configuration}: {error}");
    }
    let other = json!([{"configuration": good, "extension": SHARDING, "type": "morton"}]);
    assert!(message(array(&document(other), &context())).contains("\"morton\""));

    for chunks_per_shard in [json!([1]), json!([])] {
        let store = with_array(&sharded(&[], &[], &chunks_per_shard, json!({})));
        set(&*store, "data/a/c", &[vec![7], pair(0, 1)].concat());
        assert_eq!(read(&store), [7]);
    }

    let builder = ArrayBuilder::new([4], "uint8").chunks([2]).uncompressed();
    let transformer = sharding(SHARDING, &json!({"chunks_per_shard": [2]}))[0].clone();
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    hierarchy.create_array("/a", &builder.storage_transformer(value(&transformer))).unwrap();
    assert_eq!(
        get_json(&**hierarchy.store(), "meta/a.array.json")["storage_transformers"],
        json!([transformer])
    );
}

/// Tests DX-SHARD-06, DX-SHARD-07, DX-SHARD-08, DX-SHARD-24, D3-CONTRA-27.
#[test]
fn shards_have_the_keys_of_a_grid_of_shards() {
    for (separator, first, second) in [("/", "c3/9", "c4/9"), (".", "c3.9", "c4.9")] {
        let grid = json!({"type": "regular", "chunk_shape": [1, 1], "separator": separator});
        let store = with_array(&sharded(&[160, 20], &[1, 1], &json!([32, 2]), json!({"chunk_grid": grid})));
        let array = array(&store, &context()).unwrap();
        let write = |row: u64, column: u64, value: u8| {
            let element = part(&[row..row + 1, column..column + 1]);
            array.write_values::<u8>(&element, &[value]).unwrap();
        };
        write(96, 18, 1);
        write(127, 19, 2);
        write(128, 18, 3);
        let documents = ["meta/a.array.json", "zarr.json"].map(str::to_owned);
        let wanted = [format!("data/a/{first}"), format!("data/a/{second}")].into_iter().chain(documents);
        assert_eq!(keys(&*store), wanted.collect::<Vec<_>>());
        assert_eq!(get(&*store, &format!("data/a/{first}")).unwrap().len(), 2 + 1024);
        assert_eq!(get(&*store, &format!("data/a/{second}")).unwrap().len(), 1 + 1024);
    }
}

/// Tests DX-SHARD-13, DX-SHARD-14, DX-SHARD-15, DX-SHARD-16.
#[test]
fn shards_of_zarr_python_are_read() {
    let store = with_array(&sharded(&[4, 4], &[1, 2], &json!([2, 2]), json!({})));
    let none = "ffffffffffffffffffffffffffffffff";
    let first = "03040102 0200000000000000 0200000000000000 0000000000000000 0200000000000000";
    let first = hex(&format!("{first}{none}{none}"));
    assert_eq!(first.len(), 68);
    set(&*store, "data/a/c0/0", &first);
    let last = [vec![0, 9], missing(), missing(), missing(), pair(0, 2)].concat();
    set(&*store, "data/a/c1/0", &last);
    assert_eq!(read(&store), [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);

    let store = with_array(&sharded(&[5], &[1], &json!([2]), json!({})));
    set(&*store, "data/a/c2", &[vec![7], pair(0, 1), missing()].concat());
    set(&*store, "data/a/c0", &[vec![3], missing(), pair(0, 1)].concat());
    assert_eq!(read(&store), [0, 3, 0, 0, 7]);

    // zarr-python uses `c0` where the text specifies `c`.
    let store = with_array(&sharded(&[], &[], &json!([1]), json!({})));
    set(&*store, "data/a/c0", &hex("07 0000000000000000 0100000000000000"));
    let compatible = context().with_mode(Mode::Compatibility);
    assert_eq!(array(&store, &compatible).unwrap().read_values::<u8>(&Selection::All).unwrap(), [7]);
    set(&*store, "data/a/c0", &hex("0000000000000000 0100000000000000"));
    assert!(array(&store, &compatible).unwrap().read_values::<u8>(&Selection::All).is_err());
}

/// Tests DX-SHARD-10, DX-SHARD-12, DX-SHARD-17.
#[test]
fn shards_are_written_with_an_index_without_checksum() {
    let store = with_array(&sharded(&[5], &[1], &json!([2]), json!({})));
    array(&store, &context()).unwrap().write_values::<u8>(&Selection::All, &[0, 3, 0, 0, 7]).unwrap();
    assert_eq!(keys(&*store), ["data/a/c0", "data/a/c2", "meta/a.array.json", "zarr.json"]);
    assert_eq!(get(&*store, "data/a/c0").unwrap(), [vec![3], missing(), pair(0, 1)].concat());
    assert_eq!(get(&*store, "data/a/c2").unwrap(), [vec![7], pair(0, 1), missing()].concat());

    // With a checksum of four bytes at its end, as the codec of final v3 writes it, the index is invalid.
    let with_checksum = [vec![7], pair(0, 1), missing(), vec![1, 2, 3, 4]].concat();
    set(&*store, "data/a/c2", &with_checksum);
    assert!(array(&store, &context()).unwrap().read_values::<u8>(&Selection::All).is_err());

    // Every chunk passes through all codecs separately.
    let gzip = json!([{"type": super::support::GZIP, "configuration": {"level": 1}}]);
    let store = with_array(&sharded(&[4], &[2], &json!([2]), json!({"codecs": gzip})));
    array(&store, &context()).unwrap().write_values::<u8>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    let shard = get(&*store, "data/a/c0").unwrap();
    let index = &shard[shard.len() - 32..];
    let number =
        |at: usize| usize::try_from(u64::from_le_bytes(index[at..at + 8].try_into().unwrap())).unwrap();
    for at in [0, 16] {
        let member = &shard[number(at)..number(at) + number(at + 8)];
        assert_eq!(member[..2], [0x1f, 0x8b], "a gzip member");
    }
    assert_eq!(read(&store), [1, 2, 3, 4]);
}

/// Tests DX-SHARD-09, DX-SHARD-11, DX-SHARD-19.
#[test]
fn a_shard_with_a_bad_index_is_an_error() {
    let store = with_array(&sharded(&[2], &[1], &json!([2]), json!({})));
    let result = |value: &[u8]| {
        set(&*store, "data/a/c0", value);
        array(&store, &context()).unwrap().read_values::<u8>(&Selection::All)
    };
    // Chunks may be in any order, with gaps between them.
    let good = [vec![0xaa, 2, 0xbb, 1, 0xcc], pair(3, 1), pair(1, 1)].concat();
    assert_eq!(result(&good).unwrap(), [1, 2]);
    let index_first = [pair(32, 1), pair(33, 1), vec![1, 2]].concat();
    assert!(result(&index_first).is_err());
    for half in [(u64::MAX, 1), (0, u64::MAX)] {
        assert!(result(&[vec![1], pair(half.0, half.1), missing()].concat()).is_err(), "{half:?}");
    }
    // One byte of the chunk would be in the index.
    assert!(result(&[vec![1], pair(1, 1), missing()].concat()).is_err());
    assert!(result(&[vec![1], pair(u64::MAX - 1, 1), missing()].concat()).is_err());
    assert!(result(&missing()).is_err(), "shorter than the index");
    assert!(result(&[]).is_err());
}

/// Tests DX-SHARD-18, DX-SHARD-20, DX-SHARD-21.
#[test]
fn chunks_of_a_shard_are_read_and_changed_individually() {
    let counting =
        Arc::new(CountingStore::new(with_array(&sharded(&[4, 4], &[2, 2], &json!([2, 2]), json!({})))));
    let store: Arc<dyn Store> = Arc::<CountingStore>::clone(&counting);
    let array = array(&store, &context().with_one_thread()).unwrap();
    let corner = |at: u64| part(&[at..at + 2, at..at + 2]);
    array.write_values::<u8>(&corner(0), &[1, 2, 3, 4]).unwrap();
    array.write_values::<u8>(&corner(2), &[5, 6, 7, 8]).unwrap();
    let wanted = [1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8];
    assert_eq!(read(&store), wanted);

    // Two reads: the index, then one chunk.
    let again = super::support::array(&store, &context().with_one_thread()).unwrap();
    drop(counting.take());
    assert_eq!(again.read_values::<u8>(&corner(2)).unwrap(), [5, 6, 7, 8]);
    let calls = counting.take();
    let reads = ["get", "get_many"].iter().filter_map(|call| calls.get(call)).sum::<usize>();
    assert_eq!(reads, 2, "{calls:?}");

    array.write_values::<u8>(&corner(0), &[0; 4]).unwrap();
    let shard = get(&*store, "data/a/c0/0").unwrap();
    assert_eq!(shard[shard.len() - 64..shard.len() - 16], [0xff; 48]);
    array.write_values::<u8>(&corner(2), &[0; 4]).unwrap();
    assert_eq!(get(&*store, "data/a/c0/0"), None);
    // A shard without any chunk can still be read.
    set(&*store, "data/a/c0/0", &[0xff; 64]);
    assert_eq!(read(&store), [0; 16]);
}

/// Returns the stored chunks, by their indices in the grid of chunks.
fn stored(array: &Array, chunks_per_shard: &[u64]) -> Vec<Vec<u64>> {
    let mut chunks = Vec::new();
    for shard in array.stored_chunks().unwrap() {
        for position in array.stored_inner_chunks(&shard).unwrap() {
            let along = shard.iter().zip(chunks_per_shard).zip(position);
            chunks.push(along.map(|((shard, count), at)| shard * count + at).collect());
        }
    }
    chunks.sort();
    chunks
}

/// Tests DX-SHARD-22.
#[test]
fn chunks_of_a_shard_are_listed_and_erased_individually() {
    let store = with_array(&sharded(&[5, 4], &[1, 2], &json!([2, 2]), json!({})));
    let array = array(&store, &context()).unwrap();
    array.write_values::<u8>(&part(&[0..2, 0..4]), &[1; 8]).unwrap();
    array.write_values::<u8>(&part(&[4..5, 3..4]), &[1]).unwrap();
    // Each row of shards is listed as a prefix, and only existing chunks are listed as chunks.
    let prefix = |text: &str| zarr_kit::spec::Prefix::new(text).unwrap();
    let directory = store.list_dir(&prefix("data/a/")).unwrap();
    assert_eq!(directory.prefixes, [prefix("data/a/c0/"), prefix("data/a/c2/")]);
    assert_eq!(stored(&array, &[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1], [4, 1]]);
    assert!(array.stored_inner_chunks(&[1, 0]).unwrap().is_empty());
    // Writing fill values erases a row of chunks in the first shard, and then a shard with its last chunk.
    array.write_values::<u8>(&part(&[0..1, 0..4]), &[0; 4]).unwrap();
    assert_eq!(stored(&array, &[2, 2]), [[1, 0], [1, 1], [4, 1]]);
    array.write_values::<u8>(&part(&[4..5, 0..4]), &[0; 4]).unwrap();
    assert_eq!(stored(&array, &[2, 2]), [[1, 0], [1, 1]]);
    assert_eq!(keys(&*store), ["data/a/c0/0", "meta/a.array.json", "zarr.json"]);
    array.erase_chunk(&[0, 0]).unwrap();
    assert!(stored(&array, &[2, 2]).is_empty());
    assert!(array.stored_inner_chunks(&[3, 0]).is_err());

    let plain = super::support::array(&with_array(&array_document(json!({}))), &context()).unwrap();
    let found = message(plain.stored_inner_chunks(&[0]));
    assert_eq!(
        found,
        "/a is not sharded, or has codecs around `sharding_indexed`; its inner chunks cannot be listed"
    );
}

#[test]
fn sharding_must_be_nearest_to_the_array() {
    let identity = json!({"extension": IDENTITY, "type": "same"});
    let shards = sharding(SHARDING, &json!({"chunks_per_shard": [2]}))[0].clone();
    let context = context_with(tagging::register);
    let with = |list: Value| {
        let mut document = sharded(&[4], &[1], &json!([2]), json!({}));
        document["storage_transformers"] = list;
        array(&with_array(&document), &context)
    };
    let good = with(json!([shards, identity])).unwrap();
    good.write_values::<u8>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    assert_eq!(good.stored_chunks().unwrap(), [[0], [1]]);
    for bad in [json!([identity, shards]), json!([shards, shards])] {
        match with(bad) {
            Err(Error::NotUnderstood(error)) => {
                let problems = &error.problems;
                assert_eq!(problems[0].place, "storage_transformers[1]");
                assert!(problems[0].reason.contains("nearest to the array"), "{}", problems[0].reason);
            }
            other => panic!("{other:?}"),
        }
    }
    let too_large = sharded(&[4], &[4], &json!([u64::MAX]), json!({}));
    assert!(message(array(&with_array(&too_large), &context)).contains("too large"));
}

#[test]
fn sharded_arrays_are_resized_and_their_attributes_changed() {
    let store = with_array(&sharded(&[4], &[1], &json!([2]), json!({})));
    let mut array = array(&store, &context()).unwrap();
    array.write_values::<u8>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    array.set_attributes(Object::new()).unwrap();
    array.resize(&[3]).unwrap();
    assert_eq!(read(&store), [1, 2, 3]);
    array.resize(&[6]).unwrap();
    assert_eq!(read(&store)[..3], [1, 2, 3]);
    assert_eq!(array.inner_chunk_shape().unwrap(), Some(vec![1]));
    let document = get_json(&*store, "meta/a.array.json");
    assert_eq!(document["chunk_grid"]["chunk_shape"], json!([1]));
    assert_eq!(document["storage_transformers"][0]["configuration"], json!({"chunks_per_shard": [2]}));
}

/// Tests DX-MAP-07.
#[test]
fn shards_of_the_draft_are_shards_of_v3_with_the_same_bytes() {
    let gzip = json!([{"type": super::support::GZIP, "configuration": {"level": 1}}]);
    let values = [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 9];
    for (codecs, layout) in [(json!([]), "C"), (gzip, "F")] {
        let changes = json!({"codecs": codecs, "chunk_memory_layout": layout});
        let store = with_array(&sharded(&[4, 4], &[1, 2], &json!([2, 2]), changes));
        let source = array(&store, &context()).unwrap();
        source.write_values::<u8>(&Selection::All, &values).unwrap();

        let to_v3 = convert_metadata(source.metadata(), Format::V3, context().registry()).unwrap();
        assert!(to_v3.storage_transformers.is_empty());
        let hierarchy = Hierarchy::create(memory(), &context(), Format::V3).unwrap();
        let target = hierarchy.prepare_array("/a", to_v3).unwrap();
        hierarchy.publish_array(&target).unwrap();
        let document = get_json(&**hierarchy.store(), "a/zarr.json");
        assert_eq!(document["chunk_grid"]["configuration"]["chunk_shape"], json!([2, 4]));
        let codec = &document["codecs"][0]["configuration"];
        assert_eq!(codec["chunk_shape"], json!([1, 2]));
        assert_eq!(codec["index_codecs"], json!([{"name": "bytes", "configuration": {"endian": "little"}}]));
        assert_eq!(codec["index_location"], "end");
        for index in source.stored_chunks().unwrap() {
            target.write_encoded_chunk(&index, &source.read_encoded_chunk(&index).unwrap().unwrap()).unwrap();
        }
        assert_eq!(target.read_values::<u8>(&Selection::All).unwrap(), values);

        // Converting back gives the same document, so the bytes are the same.
        let back = convert_metadata(target.metadata(), Format::V3Draft, context().registry()).unwrap();
        assert_eq!(back.storage_transformers, source.metadata().storage_transformers);
        assert_eq!(back.chunk_grid.configuration, source.metadata().chunk_grid.configuration);
        assert_eq!(back.codecs, source.metadata().codecs);
    }
    // v2 does not support shards, and the draft supports only its own kind of index.
    let store = with_array(&sharded(&[4], &[1], &json!([2]), json!({})));
    let source = array(&store, &context()).unwrap();
    let to_v2 = convert_metadata(source.metadata(), Format::V2, context().registry()).unwrap();
    assert!(to_v2.storage_transformers.is_empty());
    let v3 = Hierarchy::create(memory(), &context(), Format::V3).unwrap();
    let with_checksum = ArrayBuilder::new([4], "uint8").chunks([1]).shards([2]);
    let with_checksum = v3.create_array("/a", &with_checksum).unwrap();
    let apart = convert_metadata(with_checksum.metadata(), Format::V3Draft, context().registry()).unwrap();
    assert!(apart.storage_transformers.is_empty());
    assert_eq!(apart.chunk_grid.configuration, source.metadata().chunk_grid.configuration);
}
