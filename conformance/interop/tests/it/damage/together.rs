//! Concurrent access to one array.

use std::sync::Barrier;
use std::thread;

use serde_json::json;
use zarr_kit::{Context, DimensionSelection, Selection, open_store};

use super::{open, open_with, set, sharding, store_of, v3};

#[test]
fn concurrent_writers_of_adjacent_regions_of_one_chunk_lose_nothing() {
    let plain =
        json!([{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 0, "checksum": false}}]);
    let folder = tempfile::tempdir().unwrap();
    for (name, codecs) in [("plain", plain), ("shards", json!([sharding(&json!([8]), "end")]))] {
        let location = folder.path().join(name);
        let context = Context::linked().unwrap();
        let store = open_store(context.registry(), location.to_str().unwrap()).unwrap();
        set(&*store, "zarr.json", br#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#);
        let document = v3(&json!([64]), &json!([64]), "uint8", &json!(0), &codecs);
        set(&*store, "a/zarr.json", document.to_string().as_bytes());
        let shared = open_with(&store, &context, "/a");
        // Half of the writers share a handle, the others open their own.
        let writers = 8u8;
        let start = Barrier::new(usize::from(writers));
        thread::scope(|scope| {
            for writer in 0..writers {
                let array = if writer % 2 == 0 { shared.clone() } else { open_with(&store, &context, "/a") };
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    for place in 0..8 {
                        let one = Selection::Orthogonal(vec![DimensionSelection::Index(
                            u64::from(writer) * 8 + place,
                        )]);
                        array.write_values(&one, &[writer + 1]).unwrap();
                    }
                });
            }
        });
        let wanted: Vec<u8> = (0..64).map(|place| place / 8 + 1).collect();
        assert_eq!(shared.read_values::<u8>(&Selection::All).unwrap(), wanted, "{name}");
    }
}

#[test]
fn a_handle_sees_writes_of_another_handle() {
    let store =
        store_of(&v3(&json!([8]), &json!([8]), "uint8", &json!(0), &json!([sharding(&json!([2]), "end")])));
    let one = open(&store);
    let other = open(&store);
    let part = |text| Selection::parse(text, &[8]).unwrap();
    one.write_values::<u8>(&part("0:2"), &[1, 2]).unwrap();
    assert_eq!(other.read_values::<u8>(&Selection::All).unwrap(), [1, 2, 0, 0, 0, 0, 0, 0]);
    one.write_values::<u8>(&part("4:6"), &[5, 6]).unwrap();
    assert_eq!(other.read_values::<u8>(&part("4:6")).unwrap(), [5, 6]);
    one.write_values::<u8>(&Selection::All, &[0; 8]).unwrap();
    assert_eq!(other.read_values::<u8>(&Selection::All).unwrap(), [0; 8]);
    one.write_values::<u8>(&part("7"), &[8]).unwrap();
    assert_eq!(other.read_values::<u8>(&part("6:8")).unwrap(), [0, 8]);
    one.write_values::<u8>(&part("6"), &[7]).unwrap();
    assert_eq!(other.read_values::<u8>(&part("5:8")).unwrap(), [0, 7, 8]);
}

#[test]
fn readers_during_a_write_see_the_old_or_the_new_shard() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.path().to_str().unwrap()).unwrap();
    set(&*store, "zarr.json", br#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#);
    let document = v3(&json!([64]), &json!([64]), "uint8", &json!(0), &json!([sharding(&json!([8]), "end")]));
    set(&*store, "a/zarr.json", document.to_string().as_bytes());
    let writer = open_with(&store, &context, "/a");
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let array = open_with(&store, &context, "/a");
                scope.spawn(move || {
                    for _ in 0..300 {
                        let Ok(read) = array.read_values::<u8>(&Selection::All) else { continue };
                        assert!(
                            read.windows(2).all(|pair| pair[0] == pair[1]),
                            "read a mixture of states: {read:?}"
                        );
                    }
                })
            })
            .collect();
        let mut number = 0u8;
        while readers.iter().any(|reader| !reader.is_finished()) {
            number = (number + 1) % 3;
            writer.write_values(&Selection::All, &[number; 64]).unwrap();
        }
    });
}
