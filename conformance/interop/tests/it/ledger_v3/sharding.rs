//! Section 13 of `v3-final.md`: `sharding_indexed`.

use serde_json::{Value, json};
use zarr_kit::{ArrayBuilder, Selection};

use super::support::{Stored, all, changed, hex, reading_fails};
use super::{chunks_of, stored};

const NOTHING: &str = "ffffffffffffffff ffffffffffffffff";

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

/// Returns the codec with inner chunks of this shape and changed members of its configuration.
fn sharding(inner: &[u64], changes: &Value) -> Value {
    let base = json!({
        "chunk_shape": inner, "codecs": ["bytes"], "index_codecs": [little(), {"name": "crc32c"}],
    });
    json!({"name": "sharding_indexed", "configuration": changed(base, changes)})
}

/// Creates an array of `uint8` whose chunks are shards.
fn shards(shape: &[u64], shard: &[u64], inner: &[u64], changes: &Value) -> Stored {
    let codecs = json!([sharding(inner, changes)]);
    stored(&json!({"shape": shape, "data_type": "uint8", "chunk_grid": chunks_of(shard), "codecs": codecs}))
}

/// Returns changes that remove the checksum, so that tests can write out indexes.
fn unchecked() -> Value {
    json!({"index_codecs": [little()]})
}

/// Returns an entry of an index.
fn entry(offset: u64, size: u64) -> Vec<u8> {
    [offset.to_le_bytes(), size.to_le_bytes()].concat()
}

/// Tests V3-SHARD-14.
#[test]
fn the_first_example_of_the_ledger_is_read_and_written() {
    let value = format!(
        "01010101 02020202 0000000000000000 0400000000000000 {NOTHING} {NOTHING} 0400000000000000 0400000000000000 1a829a30"
    );
    let shard = shards(&[4, 4], &[4, 4], &[2, 2], &json!({"index_location": "end"})).strictly();
    shard.set("c/0/0", hex(&value));
    let elements = [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 2, 0, 0, 2, 2];
    assert_eq!(shard.array().read_values::<u8>(&Selection::All).unwrap(), elements);
    let written = shards(&[4, 4], &[4, 4], &[2, 2], &json!({}));
    written.array().write_values::<u8>(&Selection::All, &elements).unwrap();
    assert_eq!(written.value("c/0/0"), super::support::to_hex(&hex(&value)));
}

/// Tests V3-SHARD-15, V3-SHARD-08.
#[test]
fn offsets_are_relative_to_the_start_of_the_shard() {
    let value = "2400000000000000 0200000000000000 ffffffffffffffff ffffffffffffffff 2609790d 0102";
    let at_start = json!({"index_location": "start"});
    let shard = shards(&[4], &[4], &[2], &at_start).strictly().with("c/0", hex(value));
    assert_eq!(all(&shard.array()), "01 02 00 00");
    let written = shards(&[4], &[4], &[2], &at_start);
    written.array().write_values::<u8>(&Selection::parse("0:2", &[4]).unwrap(), &[1, 2]).unwrap();
    assert_eq!(written.value("c/0"), super::support::to_hex(&hex(value)));
    // Offsets relative to the end of the index would begin at 0; the engine does not accept them.
    let without_checksum = changed(at_start, &unchecked());
    let behind = [entry(0, 2), entry(u64::MAX, u64::MAX), vec![1, 2]].concat();
    let other = shards(&[4], &[4], &[2], &without_checksum).with("c/0", behind);
    assert!(reading_fails(&other.array()).contains("key `c/0`"), "{}", reading_fails(&other.array()));
}

/// Tests V3-SHARD-09, V3-SHARD-13.
#[test]
fn entries_mark_missing_chunks_or_are_errors_if_out_of_bounds() {
    let shard = |index: &[Vec<u8>]| {
        let value = [&[1, 2, 3, 4][..], &index.concat()].concat();
        shards(&[4], &[4], &[2], &unchecked()).with("c/0", value)
    };
    assert_eq!(all(&shard(&[entry(0, 2), entry(u64::MAX, u64::MAX)]).array()), "01 02 00 00");
    assert_eq!(all(&shard(&[entry(u64::MAX, u64::MAX), entry(2, 2)]).array()), "00 00 03 04");
    let wrong = [
        entry(u64::MAX, 2),
        entry(2, u64::MAX),
        entry(35, 2),
        entry(36, 2),
        entry(u64::MAX - 1, 2),
        entry(0, 1 << 40),
    ];
    for wrong in wrong {
        let stored = shard(&[wrong.clone(), entry(2, 2)]);
        assert!(
            reading_fails(&stored.array()).contains("key `c/0`"),
            "{wrong:?}: {}",
            reading_fails(&stored.array())
        );
    }
    // The value is shorter than its index, or has a wrong checksum.
    for short in [&[][..], &[1], &[0xff; 31]] {
        let stored = shards(&[4], &[4], &[2], &unchecked()).with("c/0", short);
        assert!(reading_fails(&stored.array()).contains("key `c/0`"));
    }
    let damaged = [entry(0, 2), entry(u64::MAX, u64::MAX), vec![0; 4]].concat();
    let stored = shards(&[4], &[4], &[2], &json!({})).with("c/0", damaged);
    assert!(reading_fails(&stored.array()).contains("key `c/0`"));
}

/// Tests V3-SHARD-11.
#[test]
fn the_index_has_entries_for_inner_chunks_beyond_the_edge() {
    let stored = shards(&[3], &[4], &[2], &unchecked());
    stored.array().write_values::<u8>(&Selection::All, &[1, 2, 3]).unwrap();
    let value = hex(&stored.value("c/0"));
    assert_eq!(value.len(), 4 + 32);
    assert_eq!(value[4..], [entry(0, 2), entry(2, 2)].concat());
    // The index also has an entry for an inner chunk that is completely outside the array.
    let outside = shards(&[2], &[4], &[2], &unchecked());
    outside.array().write_values::<u8>(&Selection::All, &[1, 2]).unwrap();
    assert_eq!(hex(&outside.value("c/0"))[2..], [entry(0, 2), entry(u64::MAX, u64::MAX)].concat());
    let one = [&[1, 2][..], &entry(0, 2)].concat();
    outside.set("c/0", one);
    assert!(reading_fails(&outside.array()).contains("key `c/0`"));
}

/// Tests V3-SHARD-12.
#[test]
fn inner_chunks_may_be_anywhere_in_a_shard() {
    let read = |data: &[u8], index: [Vec<u8>; 2]| {
        let stored = shards(&[4], &[4], &[2], &unchecked()).with("c/0", [data, &index.concat()].concat());
        all(&stored.array())
    };
    assert_eq!(read(&[1, 2, 3, 4], [entry(0, 2), entry(2, 2)]), "01 02 03 04");
    assert_eq!(read(&[3, 4, 1, 2], [entry(2, 2), entry(0, 2)]), "01 02 03 04");
    assert_eq!(read(&[9, 1, 2, 9, 9, 3, 4, 9], [entry(1, 2), entry(5, 2)]), "01 02 03 04");
    assert_eq!(read(&[1, 2], [entry(0, 2), entry(0, 2)]), "01 02 01 02");
    assert_eq!(read(&[1, 2, 3], [entry(0, 2), entry(1, 2)]), "01 02 02 03");
}

/// Tests V3-SHARD-16, V3-SHARD-17.
#[test]
fn inner_chunks_of_only_fill_values_need_not_be_stored() {
    let stored = shards(&[4], &[4], &[2], &unchecked());
    let array = stored.array();
    array.write_values::<u8>(&Selection::All, &[0; 4]).unwrap();
    assert!(!stored.has("c/0"));
    array.write_values::<u8>(&Selection::All, &[0, 0, 3, 4]).unwrap();
    assert_eq!(hex(&stored.value("c/0")), [&[3, 4][..], &entry(u64::MAX, u64::MAX), &entry(0, 2)].concat());
    // A stored chunk of zeros does not change the array.
    let explicit = [&[0, 0, 3, 4][..], &entry(0, 2), &entry(2, 2)].concat();
    let other = shards(&[4], &[4], &[2], &unchecked()).with("c/0", explicit);
    assert_eq!(all(&other.array()), all(&array));
    // Erasing the last inner chunk erases the shard.
    array.write_values::<u8>(&Selection::parse("2:", &[4]).unwrap(), &[0, 0]).unwrap();
    assert!(!stored.has("c/0"));
    assert_eq!(all(&array), "00 00 00 00");
}

/// Tests V3-SHARD-18.
#[test]
fn write_options_of_a_shard_are_not_in_its_metadata() {
    for member in ["write_order", "subchunk_write_order", "max_chunks"] {
        let error = shards(&[4], &[4], &[2], &json!({(member): "c"})).strictly().error();
        assert!(error.contains(member), "{error}");
    }
    let stored = Stored::new().json("zarr.json", &super::gr());
    stored.open().create_array("/a", &ArrayBuilder::new([8], "uint8").chunks([2]).shards([4])).unwrap();
    let document = stored.document("a/zarr.json");
    let configuration = document["codecs"][0]["configuration"].as_object().unwrap();
    let known = ["chunk_shape", "codecs", "index_codecs", "index_location"];
    assert!(configuration.keys().all(|member| known.contains(&member.as_str())), "{document}");
}

/// Tests V3-SHARD-05, V3-SHARD-19.
#[test]
fn the_grid_describes_shards_and_the_codec_describes_inner_chunks() {
    let stored = Stored::new().json("zarr.json", &super::gr());
    let builder = ArrayBuilder::new([4, 4], "uint8").chunks([2, 2]).shards([4, 4]).uncompressed();
    let array = stored.open().create_array("/a", &builder).unwrap();
    array.write_values::<u8>(&Selection::All, &(1..17).collect::<Vec<_>>()).unwrap();
    assert_eq!(stored.keys(), ["a/c/0/0", "a/zarr.json", "zarr.json"]);
    let document = stored.document("a/zarr.json");
    assert_eq!(document["chunk_grid"], chunks_of(&[4, 4]));
    let configuration = &document["codecs"][0]["configuration"];
    assert_eq!(configuration["chunk_shape"], json!([2, 2]));
    assert_eq!(configuration["index_codecs"], json!([little(), {"name": "crc32c"}]));
    assert_eq!(array.inner_chunk_shape().unwrap(), Some(vec![2, 2]));
    assert_eq!(array.chunk_grid().grid_shape(), [1, 1]);
}

/// Tests V3-SHARD-20.
#[test]
fn codecs_around_a_shard_apply_to_the_whole_shard() {
    let elements: Vec<u8> = (1..25).collect();
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let write = |codecs: Value| {
        let members = json!({"shape": [4, 6], "data_type": "uint8", "chunk_grid": chunks_of(&[4, 6]), "codecs": codecs});
        let stored = stored(&members).strictly();
        stored.array().write_values::<u8>(&Selection::All, &elements).unwrap();
        let array = stored.array();
        assert_eq!(array.read_values::<u8>(&Selection::All).unwrap(), elements, "{codecs}");
        let part = Selection::parse("1:3, 2:5", &[4, 6]).unwrap();
        assert_eq!(array.read_values::<u8>(&part).unwrap(), [9, 10, 11, 15, 16, 17], "{codecs}");
        stored
    };
    // The inner chunks divide the transposed shard, which has 6 by 4 elements.
    let inner = sharding(&[3, 2], &unchecked());
    let plain = write(json!([transpose, inner]));
    assert_eq!(hex(&plain.value("c/0/0"))[..6], [1, 7, 2, 8, 3, 9]);
    let zipped = write(json!([transpose, inner, gzip]));
    assert!(zipped.value("c/0/0").starts_with("1f 8b"));
    let members = json!({"shape": [88], "data_type": "uint8", "chunk_grid": chunks_of(&[88]), "codecs": ["bytes", gzip]});
    let unzipped = stored(&members).with("c/0", hex(&zipped.value("c/0/0"))).array();
    assert_eq!(all(&unzipped), plain.value("c/0/0"));
}

/// Tests V3-CONTRA-09, V3-SHARD-02.
#[test]
fn inner_chunks_must_divide_their_shard() {
    let array = shards(&[128, 128], &[64, 64], &[32, 2], &json!({})).array();
    let shard = array.codecs().shard().unwrap();
    assert_eq!(
        zarr_kit::spec::host::chain::inner_grid_shape(&[64, 64], &shard.inner_shape).unwrap(),
        [2, 32]
    );
    assert!(shards(&[4], &[4], &[2], &json!({})).strictly().try_array().is_ok());
    for wrong in [&[3][..], &[2, 2], &[0], &[8], &[]] {
        let error = shards(&[4], &[4], wrong, &json!({})).error();
        assert!(error.contains("`codecs[0]`: codec `sharding_indexed`"), "{error}");
    }
}

/// Tests V3-CONTRA-10, V3-SHARD-06.
#[test]
fn the_document_specifies_the_location_of_the_index() {
    let at_end = [&[1, 2, 3, 4][..], &entry(0, 2), &entry(2, 2)].concat();
    let at_start = [entry(32, 2), entry(34, 2), vec![1, 2, 3, 4]].concat();
    let location = |place: &str| changed(unchecked(), &json!({"index_location": place}));
    for (members, value) in
        [(unchecked(), &at_end), (location("end"), &at_end), (location("start"), &at_start)]
    {
        let stored = shards(&[4], &[4], &[2], &members).strictly().with("c/0", value);
        assert_eq!(all(&stored.array()), "01 02 03 04");
        let written = shards(&[4], &[4], &[2], &members);
        written.array().write_values::<u8>(&Selection::All, &[1, 2, 3, 4]).unwrap();
        assert_eq!(hex(&written.value("c/0")), *value);
    }
    let error = shards(&[4], &[4], &[2], &location("middle")).error();
    assert!(error.contains("middle"), "{error}");
}

#[test]
fn stored_inner_chunks_are_listed_in_the_coordinates_of_the_array() {
    let codecs =
        json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, sharding(&[2, 1], &json!({}))]);
    let members =
        json!({"shape": [2, 6], "data_type": "uint8", "chunk_grid": chunks_of(&[2, 6]), "codecs": codecs});
    let array = stored(&members).array();
    assert_eq!(array.inner_chunk_shape().unwrap(), Some(vec![1, 2]));
    array.write_values::<u8>(&Selection::parse("0:2,4", &[2, 6]).unwrap(), &[1, 1]).unwrap();
    array.write_values::<u8>(&Selection::parse("1,0", &[2, 6]).unwrap(), &[1]).unwrap();
    assert_eq!(array.stored_inner_chunks(&[0, 0]).unwrap(), [[0, 2], [1, 0], [1, 2]]);
}
