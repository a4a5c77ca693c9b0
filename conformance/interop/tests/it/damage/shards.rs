//! The bytes of shards.

use serde_json::json;
use zarr_conformance::hex;
use zarr_kit::Selection;

use super::{chunk_failure, get, little, open, set, sharding, store_of, v3};

/// Tests V3-SHARD-14, V3-SHARD-09.
#[test]
fn a_shard_with_its_index_at_the_end_has_these_bytes() {
    let codecs = json!([sharding(&json!([2, 2]), "end")]);
    let store = store_of(&v3(&json!([4, 4]), &json!([4, 4]), "uint8", &json!(0), &codecs));
    let array = open(&store);
    let elements = [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 2, 0, 0, 2, 2];
    array.write_values::<u8>(&Selection::All, &elements).unwrap();
    let number = u64::to_le_bytes;
    let shard = [
        &[1, 1, 1, 1, 2, 2, 2, 2][..],
        &[number(0), number(4), number(u64::MAX), number(u64::MAX), number(u64::MAX), number(u64::MAX)]
            .concat(),
        &[number(4), number(4)].concat(),
        &[0x1a, 0x82, 0x9a, 0x30],
    ]
    .concat();
    assert_eq!(get(&*store, "a/c/0/0").unwrap(), shard);
    assert_eq!(open(&store).read_values::<u8>(&Selection::All).unwrap(), elements);

    // An inner chunk is missing only if both numbers of its entry are the marker. This index has no checksum.
    let mut document = v3(&json!([4, 4]), &json!([4, 4]), "uint8", &json!(0), &codecs);
    document["codecs"][0]["configuration"]["index_codecs"] = json!([little()]);
    for (place, inner) in [(24, 1), (32, 1), (8, 0)] {
        let store = store_of(&document);
        let mut shard = shard[..72].to_vec();
        shard[8 + inner * 16..8 + inner * 16 + 16].copy_from_slice(&[0xFF; 16]);
        set(&*store, "a/c/0/0", &shard);
        open(&store).read_values::<u8>(&Selection::All).unwrap();
        shard[place..place + 8].fill(0);
        set(&*store, "a/c/0/0", &shard);
        let message = chunk_failure(&open(&store));
        assert!(message.contains(&format!("inner chunk {inner}")), "{message}");
    }
}

/// Tests V3-SHARD-15.
#[test]
fn a_shard_with_its_index_at_the_start_has_these_bytes() {
    let codecs = json!([sharding(&json!([2]), "start")]);
    let store = store_of(&v3(&json!([4]), &json!([4]), "uint8", &json!(0), &codecs));
    open(&store).write_values::<u8>(&Selection::All, &[1, 2, 0, 0]).unwrap();
    let shard = hex("24000000000000000200000000000000ffffffffffffffffffffffffffffffff2609790d0102");
    assert_eq!(get(&*store, "a/c/0").unwrap(), shard);
    assert_eq!(open(&store).read_values::<u8>(&Selection::All).unwrap(), [1, 2, 0, 0]);
}

/// Tests V3-SHARD-12, V3-SHARD-13.
#[test]
fn a_shard_may_have_any_order_and_gaps_but_not_entries_out_of_bounds() {
    let mut sharding = sharding(&json!([2]), "end");
    sharding["configuration"]["index_codecs"] = json!([little()]);
    let store = store_of(&v3(&json!([6]), &json!([6]), "uint8", &json!(9), &json!([sharding])));
    let index = |entries: [(u64, u64); 3]| {
        entries
            .iter()
            .flat_map(|&(offset, size)| [offset, size])
            .flat_map(u64::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let read = |payload: &[u8], entries| {
        set(&*store, "a/c/0", &[payload, &index(entries)].concat());
        open(&store).read_values::<u8>(&Selection::All).map_err(|error| error.to_string())
    };
    let missing = (u64::MAX, u64::MAX);
    assert_eq!(read(b"__34_12", [(5, 2), (2, 2), missing]).unwrap(), *b"1234\x09\x09");
    assert_eq!(read(b"12", [(0, 2), (0, 2), (0, 2)]).unwrap(), *b"121212");
    for entry in [(6, 2), (1, 7), (u64::MAX - 1, 2), (7, 2), (1 << 60, 1 << 60), (1, u64::MAX - 1)] {
        let message = read(b"1234567", [missing, entry, (0, 2)]).unwrap_err();
        assert!(message.contains("inner chunk 1") && message.contains("a/c/0"), "{entry:?}: {message}");
    }
    let message = read(b"1234567", [(0, 1), (1, 3), (4, 2)]).unwrap_err();
    assert!(message.contains("bytes"), "{message}");
    set(&*store, "a/c/0", &[0; 47]);
    let message = chunk_failure(&open(&store));
    assert!(message.contains("47 bytes") && message.contains("index"), "{message}");
}

/// Tests V3-SHARD-16, V3-SHARD-17, V3-SHARD-11.
#[test]
fn a_shard_of_only_fill_values_is_not_stored_and_explicit_fill_chunks_are_read() {
    let mut sharding = sharding(&json!([2]), "end");
    sharding["configuration"]["index_codecs"] = json!([little()]);
    let store = store_of(&v3(&json!([3]), &json!([4]), "uint8", &json!(9), &json!([sharding])));
    let array = open(&store);
    array.write_values::<u8>(&Selection::All, &[9, 9, 9]).unwrap();
    assert_eq!(get(&*store, "a/c/0"), None);
    array.write_values::<u8>(&Selection::All, &[9, 9, 1]).unwrap();
    // The index has two entries, although the array ends inside the second inner chunk.
    assert_eq!(get(&*store, "a/c/0").unwrap().len(), 2 + 2 * 16);
    array.write_values::<u8>(&Selection::parse("2", &[3]).unwrap(), &[9]).unwrap();
    assert_eq!(get(&*store, "a/c/0"), None);
    let explicit = [&[9, 9, 9, 9][..], &[0u64, 2, 2, 2].map(u64::to_le_bytes).concat()].concat();
    set(&*store, "a/c/0", &explicit);
    assert_eq!(open(&store).read_values::<u8>(&Selection::All).unwrap(), [9, 9, 9]);
}
