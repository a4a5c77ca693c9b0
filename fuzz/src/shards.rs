//! Foreign shards, read through an array.

use std::io;
use std::sync::{Arc, LazyLock};

use zarr_conformance::fuzz::within;
use zarr_kit::spec::Key;
use zarr_kit::{Array, Context, Hierarchy, Selection};

use crate::far::Far;
use crate::hierarchies::{context, memory};

const MEMORY: usize = 96 << 20;

/// Documents of arrays with one shard: the key of the document, the document, and the key of the shard.
const ARRAYS: [(&str, &str, &str); 7] = [
    ("zarr.json", V3_PLAIN, "c/0/0"),
    ("zarr.json", V3_AT_START, "c/0/0"),
    ("zarr.json", V3_CHECKED, "c/0/0"),
    ("zarr.json", V3_NESTED, "c/0/0"),
    ("zarr.json", V3_TEXTS, "c/0/0"),
    ("zarr.json", V3_TRANSPOSED, "c/0/0"),
    ("meta/a.array.json", DRAFT, "data/a/c0/0"),
];

/// Builds the `zarr.json` of an array of 4 × 6 elements in one shard, with a data type, a fill value and codecs.
macro_rules! v3 {
    ($data_type:literal, $fill_value:literal, $codecs:literal) => {
        concat!(
            r#"{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"#,
            $data_type,
            r#","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,6]}},"chunk_key_encoding":"default","fill_value":"#,
            $fill_value,
            r#","codecs":["#,
            $codecs,
            "]}"
        )
    };
}

const V3_PLAIN: &str = v3!(
    "\"uint16\"",
    "7",
    r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}"#
);
const V3_AT_START: &str = v3!(
    "\"uint16\"",
    "7",
    r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":[{"name":"bytes","configuration":{"endian":"big"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}"#
);
const V3_CHECKED: &str = v3!(
    "\"uint16\"",
    "7",
    r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[4,1],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":1}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}"#
);
const V3_NESTED: &str = v3!(
    "\"uint16\"",
    "7",
    r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[4,3],"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,1],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}"#
);
const V3_TEXTS: &str = v3!(
    "\"string\"",
    "\"x\"",
    r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":["vlen-utf8"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}"#
);
const V3_TRANSPOSED: &str = v3!(
    "\"uint16\"",
    "7",
    r#"{"name":"transpose","configuration":{"order":[1,0]}},{"name":"sharding_indexed","configuration":{"chunk_shape":[3,2],"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"little"}},{"name":"blosc","configuration":{"cname":"lz4","clevel":1,"shuffle":"shuffle","typesize":2,"blocksize":0}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}"#
);
const DRAFT: &str = r#"{"shape":[4,6],"data_type":"uint16","chunk_grid":{"type":"regular","chunk_shape":[2,3],"separator":"/"},"chunk_memory_layout":"C","fill_value":7,"extensions":[],"attributes":{},"storage_transformers":[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2,2]}}]}"#;
const ENTRY_POINT: &str = r#"{"zarr_format":"https://purl.org/zarr/spec/core/3.0","metadata_encoding":{"type":"json","metadata_key_suffix":".json"},"extensions":[]}"#;

/// Parts of the array. Selected elements are in the order of NumPy.
const PARTS: [&str; 4] = ["0, 0", "1:3, 2:5", "3, ::2", "[3, 0, 1], 5"];

static CONTEXT: LazyLock<Context> = LazyLock::new(context);

/// Reads and writes a shard. The first byte of the input selects the array, the rest is its shard.
pub(crate) fn run(input: &[u8]) {
    let Some((&number, shard)) = input.split_first() else { return };
    let (key, document, shard_key) = ARRAYS[usize::from(number) % ARRAYS.len()];
    within(MEMORY, "a shard", || {
        let array = array(key, document, shard_key, shard);
        let whole = texts(&array, &Selection::All);
        let far = from_far(&array);
        match (&whole, texts(&far, &Selection::All)) {
            (Ok(near), Ok(far)) => assert_eq!(*near, far, "from far: {document}"),
            (Err(_), Err(_)) => {}
            (near, far) => panic!("{document}: {near:?} directly, but {far:?} through the remote store"),
        }
        for part in PARTS.iter().filter_map(|part| Selection::parse(part, array.shape()).ok()) {
            let read = texts(&array, &part);
            if let Ok(whole) = &whole {
                let wanted: Vec<_> = places(&part).into_iter().map(|place| whole[place].clone()).collect();
                assert_eq!(read.as_deref(), Ok(&wanted[..]), "{part:?} of {document}");
                assert_eq!(
                    texts(&far, &part).as_deref(),
                    Ok(&wanted[..]),
                    "{part:?} through the remote store of {document}"
                );
            }
        }
        let _stored = array.stored_inner_chunks(&[0, 0]);
        write(&array);
    });
}

/// Returns the same array through [`Far`].
#[expect(clippy::expect_used, reason = "it has been opened before")]
fn from_far(array: &Array) -> Array {
    let store = Arc::new(Far(Arc::clone(array.hierarchy().store())));
    let hierarchy = Hierarchy::open(store, &CONTEXT).expect("a hierarchy");
    hierarchy.array(array.path()).expect("an array")
}

/// Returns the elements as text, or the error.
fn texts(array: &Array, selection: &Selection) -> Result<Vec<String>, String> {
    let read = array.read(selection).map_err(|error| error.to_string())?;
    (0..read.count()).map(|position| read.print(position).map_err(|error| error.to_string())).collect()
}

/// Returns the positions of the elements of a part.
fn places(part: &Selection) -> Vec<usize> {
    crate::selections::naive(part, &[4, 6])
}

/// Checks that elements written to a hostile shard are read back, and that readable elements are unchanged.
fn write(array: &Array) {
    if array.data_type().elements().size().is_none() {
        return;
    }
    let Ok(part) = Selection::parse("1:3, 2:5", array.shape()) else { return };
    let before = array.read_values::<u16>(&Selection::All);
    let written = [1_u16, 2, 3, 4, 5, 6];
    if array.write_values(&part, &written).is_err() {
        assert!(before.is_err(), "a readable shard must be writable");
        return;
    }
    let found = array.read_values::<u16>(&part);
    assert!(found.as_ref().is_ok_and(|found| *found == written), "written, and then {found:?}");
    if let Ok(mut wanted) = before {
        for (place, value) in places(&part).into_iter().zip(written) {
            wanted[place] = value;
        }
        let after = array.read_values::<u16>(&Selection::All);
        assert!(after.as_ref().is_ok_and(|after| *after == wanted), "{wanted:?} are now {after:?}");
    }
}

#[expect(clippy::expect_used, reason = "the documents are part of this file")]
fn array(key: &str, document: &str, shard_key: &str, shard: &[u8]) -> Array {
    let store = memory(&CONTEXT);
    let is_draft = key != "zarr.json";
    let entry_point = is_draft.then_some(("zarr.json", ENTRY_POINT.as_bytes()));
    for (key, value) in [(key, document.as_bytes()), (shard_key, shard)].into_iter().chain(entry_point) {
        store.set(&Key::new(key).expect("a key"), value.into()).expect("memory takes any value");
    }
    let hierarchy = Hierarchy::open(store, &CONTEXT).expect("a hierarchy");
    hierarchy.array(if is_draft { "/a" } else { "/" }).expect("an array")
}

/// Returns shards that the engine writes, completely and partially.
pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for ((key, document, shard_key), number) in ARRAYS.into_iter().zip(0..) {
        for part in ["...", "0:2, 0:3", "3, 5"] {
            let array = array(key, document, "unused", &[]);
            let selection = Selection::parse(part, array.shape()).map_err(io::Error::other)?;
            let count = places(&selection).len();
            let written = if array.data_type().elements().size().is_some() {
                array.write_values::<u16>(
                    &selection,
                    &(0..count).zip(100..).map(|(_, it)| it).collect::<Vec<_>>(),
                )
            } else {
                array.write_values(&selection, &vec!["text"; count])
            };
            written.map_err(io::Error::other)?;
            let shard = Key::new(shard_key).map_err(io::Error::other)?;
            let store = array.hierarchy().store();
            let shard =
                zarr_kit::spec::store::get_value(&**store, &shard, 1 << 20).map_err(io::Error::other)?;
            let shard = shard.ok_or_else(|| io::Error::other(format!("there is no shard {shard_key}")))?;
            seeds.push([&[number][..], &shard].concat());
        }
    }
    Ok(seeds)
}
