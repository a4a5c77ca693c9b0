//! Damaged values and documents, hostile sizes, concurrent writers, and which chunks are stored.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod shards;
mod together;

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::documents::{DRAFT_TYPES, Description, TYPES};
use zarr_interop::{Random, memory, raw};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Prefix};
use zarr_kit::{Array, Context, DimensionSelection, Error, Format, Hierarchy, Limits, Selection};

fn set(store: &dyn Store, key: &str, bytes: &[u8]) {
    store.set(&Key::new(key.to_owned()).unwrap(), bytes.into()).unwrap();
}

fn get(store: &dyn Store, key: &str) -> Option<Vec<u8>> {
    get_value(store, &Key::new(key.to_owned()).unwrap(), usize::MAX).unwrap().map(Into::into)
}

fn chunk_keys(store: &dyn Store) -> Vec<String> {
    let keys = store.list_sorted(&Prefix::root()).unwrap();
    let keys = keys.iter().map(|key| key.as_str().to_owned());
    keys.filter(|key| !key.ends_with(".json") && !key.contains("/.z") && !key.starts_with(".z")).collect()
}

fn v3(shape: &Value, chunk: &Value, data_type: &str, fill: &Value, codecs: &Value) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs,
        "attributes": {},
    })
}

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn sharding(inner: &Value, location: &str) -> Value {
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner,
        "codecs": [{"name": "bytes"}],
        "index_codecs": [little(), {"name": "crc32c"}],
        "index_location": location,
    }})
}

/// Creates a store with this array of v3 at `/a`.
fn store_of(document: &Value) -> Arc<dyn Store> {
    let store = memory();
    set(&*store, "zarr.json", br#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#);
    set(&*store, "a/zarr.json", document.to_string().as_bytes());
    store
}

fn open_with(store: &Arc<dyn Store>, context: &Context, path: &str) -> Array {
    Hierarchy::open(Arc::clone(store), context).unwrap().array(path).unwrap()
}

fn open(store: &Arc<dyn Store>) -> Array {
    open_with(store, &Context::linked().unwrap(), "/a")
}

/// Reads everything, which must fail because of a chunk, and returns the message.
fn chunk_failure(array: &Array) -> String {
    match array.read(&Selection::All) {
        Err(error @ Error::Chunk { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Damages the value at random.
fn damage(value: &[u8], random: &mut Random) -> Vec<u8> {
    let mut damaged = value.to_vec();
    match random.below(6) {
        0 => damaged.truncate(random.index(value.len() + 1)),
        1 => damaged.extend((0..random.between(1, 40)).map(|_| random.number().to_le_bytes()[0])),
        2 if !value.is_empty() => {
            for _ in 0..random.between(1, 4) {
                let place = random.index(value.len());
                damaged[place] ^= 1 << random.below(8);
            }
        }
        3 if !value.is_empty() => {
            let place = random.index(value.len());
            let end = value.len().min(place + 8);
            damaged[place..end].fill(*random.one(&[0, 0x7F, 0x80, 0xFF]));
        }
        4 => damaged = (0..random.below(60)).map(|_| random.number().to_le_bytes()[0]).collect(),
        _ => damaged.clear(),
    }
    damaged
}

#[test]
fn damaged_chunks_are_read_or_are_errors_that_name_the_chunk() {
    // This is enough memory for every chunk in this test; damaged sizes that ask for more are errors.
    let limits = Limits::new().with_memory(1 << 22);
    let context = Context::linked().unwrap().with_one_thread().with_limits(limits);
    let mut refused = 0;
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let format = *random.one(&[Format::V2, Format::V3, Format::V3, Format::V3Draft]);
        let types = if format == Format::V3Draft { DRAFT_TYPES } else { TYPES };
        let data_type = *random.one(types);
        let description = Description::new(&mut random, format, vec![6, 5], vec![3, 2], data_type);
        let store = memory();
        description.write(&*store);
        let array = open_with(&store, &context, "/array");
        let items: Vec<_> = (0..30).map(|_| data_type.item(&mut random)).collect();
        array.write(&Selection::All, &raw::to_write(&**array.data_type(), &items)).unwrap();
        let keys = chunk_keys(&*store);
        if keys.is_empty() {
            continue;
        }
        for _ in 0..12 {
            let key = random.one(&keys);
            // A write below may have left only fill values, so that the chunk was erased.
            let Some(value) = get(&*store, key) else { continue };
            let damaged = damage(&value, &mut random);
            set(&*store, key, &damaged);
            let array = open_with(&store, &context, "/array");
            if let Err(error) = array.read(&Selection::All) {
                refused += 1;
                let message = error.to_string();
                let is_of_chunk = matches!(error, Error::Chunk { .. } | Error::OverBudget { .. });
                assert!(is_of_chunk, "seed {seed}: {error:?}");
                assert!(
                    message.contains("of /array") && message.contains(&format!("`{key}`")),
                    "seed {seed}: {message}"
                );
            }
            // Changes a part of the damaged chunk: the write fails, or leaves a readable chunk.
            let some = Selection::parse("1:4,1:4", array.shape()).unwrap();
            let bytes = raw::to_write(&**array.data_type(), &items[..9]);
            if array.write(&some, &bytes).is_ok() {
                assert_eq!(raw::items(&array.read(&some).unwrap()), items[..9], "seed {seed}");
            }
            set(&*store, key, &value);
        }
    }
    assert!(refused > 1000, "only {refused} damaged chunks were detected");
}

#[test]
fn an_error_of_a_damaged_chunk_names_node_index_key_and_codec() {
    let codecs =
        json!([{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}]);
    let store = store_of(&v3(&json!([4, 4]), &json!([2, 2]), "uint8", &json!(0), &codecs));
    open(&store).write(&Selection::All, &(1..=16).collect::<Vec<u8>>()).unwrap();
    let value = get(&*store, "a/c/1/0").unwrap();

    set(&*store, "a/c/1/0", &[&value[..value.len() - 1], &[!value[value.len() - 1]]].concat());
    let message = chunk_failure(&open(&store));
    assert!(message.starts_with("chunk [1, 0] of /a (key `a/c/1/0`), codec `crc32c`: "), "{message}");

    set(&*store, "a/c/1/0", b"abc");
    assert!(chunk_failure(&open(&store)).contains("codec `crc32c`"));
    set(&*store, "a/c/1/0", b"");
    assert!(chunk_failure(&open(&store)).contains("codec `crc32c`"));

    // A gzip stream of five bytes is stored as a chunk of four bytes and as a chunk of six bytes.
    let codecs = json!([{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}]);
    let document = |length: u64| v3(&json!([length]), &json!([length]), "uint8", &json!(0), &codecs);
    let five = store_of(&document(5));
    open(&five).write(&Selection::All, &[1, 2, 3, 4, 5]).unwrap();
    for length in [4, 6] {
        let other = store_of(&document(length));
        set(&*other, "a/c/0", &get(&*five, "a/c/0").unwrap());
        assert!(chunk_failure(&open(&other)).contains("codec `gzip`"), "{}", chunk_failure(&open(&other)));
    }
}

/// Tests V2-CHUNK-07, V2-STORE-04.
#[test]
fn chunks_of_v2_are_whole_at_the_edge_and_padded_with_the_fill_value() {
    let store = memory();
    set(&*store, ".zarray", json!({
        "zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "<i2", "compressor": null, "fill_value": 7,
        "order": "C", "filters": null,
    }).to_string().as_bytes());
    let array = open_with(&store, &Context::linked().unwrap(), "/");
    assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [7, 7, 7]);
    array.write_values::<i16>(&Selection::All, &[1, 2, 3]).unwrap();
    assert_eq!(get(&*store, "1").unwrap(), [3, 0, 7, 0]);
    assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1, 2, 3]);
    for (wrong, size) in [(&[3u8, 0][..], 2), (&[], 0), (&[3, 0, 7, 0, 0], 5)] {
        set(&*store, "1", wrong);
        let message = chunk_failure(&array);
        assert!(message.contains(&format!("{size} bytes")) && message.contains("key `1`"), "{message}");
        let message = array.read(Selection::parse("2:", &[3]).unwrap()).unwrap_err().to_string();
        assert!(message.contains(&format!("{size} bytes")), "{message}");
        let message = array.read_chunk(&[1]).unwrap_err().to_string();
        assert!(message.contains(&format!("{size} bytes")), "{message}");
    }
}

/// Tests D3-GRID-10.
#[test]
fn chunks_of_the_draft_are_whole_at_the_edge_and_padded_with_the_fill_value() {
    let store = memory();
    set(&*store, "zarr.json", zarr_interop::documents::entry_point().to_string().as_bytes());
    set(&*store, "meta/a.array.json", json!({
        "shape": [3], "data_type": "int16", "chunk_memory_layout": "C", "fill_value": 7, "extensions": [],
        "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"}, "attributes": {}, "codecs": [],
    }).to_string().as_bytes());
    let array = open(&store);
    array.write_values::<i16>(&Selection::All, &[1, 2, 3]).unwrap();
    assert_eq!(get(&*store, "data/a/c1").unwrap(), [3, 0, 7, 0]);
    set(&*store, "data/a/c1", &[3, 0]);
    assert!(chunk_failure(&array).contains("2 bytes"));
}

/// Tests DT-G-03.
#[test]
fn chunks_are_compared_with_the_fill_value_bit_by_bit() {
    let nan = |payload: u32| f32::from_bits(0x7FC0_0000 | payload);
    let cases = [
        (json!(0.0), 0.0, -0.0),
        (json!(-0.0), -0.0, 0.0),
        (json!("0x7fc00001"), nan(1), nan(0)),
        (json!("NaN"), nan(0), nan(1)),
    ];
    for (fill, same, other) in cases {
        for codecs in [json!([little()]), json!([sharding(&json!([2]), "end")])] {
            let mut codecs = codecs;
            if codecs[0]["name"] == "sharding_indexed" {
                codecs[0]["configuration"]["codecs"] = json!([little()]);
            }
            let store = store_of(&v3(&json!([4]), &json!([4]), "float32", &fill, &codecs));
            let array = open(&store);
            array.write_values(&Selection::All, &[other; 4]).unwrap();
            assert!(array.chunk_exists(&[0]).unwrap(), "fill {fill}, chunk of {other:?}");
            let read = array.read_values::<f32>(&Selection::All).unwrap();
            assert!(read.iter().all(|value| value.to_bits() == other.to_bits()));
            for place in 0..4 {
                let one = Selection::Orthogonal(vec![DimensionSelection::Index(place)]);
                array.write_values(&one, &[same]).unwrap();
                assert_eq!(array.chunk_exists(&[0]).unwrap(), place < 3, "fill {fill}");
            }
            let read = array.read_values::<f32>(&Selection::All).unwrap();
            assert!(read.iter().all(|value| value.to_bits() == same.to_bits()));
        }
    }
}

#[test]
fn empty_chunks_are_stored_if_configured() {
    let context = Context::linked().unwrap().with_empty_chunks();
    for codecs in [json!([{"name": "bytes"}]), json!([sharding(&json!([2]), "end")])] {
        let store = store_of(&v3(&json!([4]), &json!([4]), "uint8", &json!(3), &codecs));
        let array = open_with(&store, &context, "/a");
        array.write_values::<u8>(&Selection::All, &[3; 4]).unwrap();
        assert!(array.chunk_exists(&[0]).unwrap(), "{codecs}");
        array.write_values::<u8>(&Selection::parse("1:3", &[4]).unwrap(), &[3; 2]).unwrap();
        assert!(array.chunk_exists(&[0]).unwrap(), "{codecs}");
        assert_eq!(open(&store).read_values::<u8>(&Selection::All).unwrap(), [3; 4]);
    }
}

#[test]
fn frames_that_declare_enormous_sizes_are_errors() {
    let zstd = json!([{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 0, "checksum": false}}]);
    // A frame of zstd with a single segment and a content size of 2^60 in eight bytes, followed by one last raw block
    // of one byte.
    let header = [&[0x28, 0xB5, 0x2F, 0xFD, 0xE0][..], &(1u64 << 60).to_le_bytes()].concat();
    let frame = [&header[..], &[0b0000_1001, 0, 0, 1]].concat();
    for data_type in ["uint8", "string"] {
        let mut codecs = zstd.clone();
        let fill = if data_type == "string" { json!("") } else { json!(0) };
        if data_type == "string" {
            codecs[0] = json!({"name": "vlen-utf8"});
        }
        let store = store_of(&v3(&json!([4]), &json!([4]), data_type, &fill, &codecs));
        set(&*store, "a/c/0", &frame);
        match open(&store).read(&Selection::All).unwrap_err() {
            // The length of strings is only known once they are decoded.
            Error::OverBudget(error) => assert_eq!((error.needed, data_type), (None, "string")),
            Error::Chunk(error) => assert_eq!((error.codec.as_deref(), data_type), (Some("zstd"), "uint8")),
            other => panic!("{other:?}"),
        }
    }

    // A few kilobytes decode to 256 MiB of zeros: too many for a chunk of 4 bytes, and too many for a memory budget of
    // 1 MiB.
    let gzip = json!([{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 9}}]);
    let store = store_of(&v3(&json!([1 << 28]), &json!([1 << 28]), "uint8", &json!(1), &gzip));
    open(&store).write(&Selection::All, &vec![0; 1 << 28]).unwrap();
    let bomb = get(&*store, "a/c/0").unwrap();
    assert!(bomb.len() < 1 << 20);
    let store = store_of(&v3(&json!([4]), &json!([4]), "uint8", &json!(0), &gzip));
    set(&*store, "a/c/0", &bomb);
    assert!(chunk_failure(&open(&store)).contains("codec `gzip`"));
    let codecs = json!([{"name": "vlen-utf8"}, {"name": "gzip", "configuration": {"level": 9}}]);
    let store = store_of(&v3(&json!([4]), &json!([4]), "string", &json!(""), &codecs));
    set(&*store, "a/c/0", &bomb);
    let context = Context::linked().unwrap();
    let context = context.with_limits(Limits::new().with_memory(1 << 20));
    let error = open_with(&store, &context, "/a").read(&Selection::All).unwrap_err();
    assert!(matches!(&error, Error::OverBudget(over) if over.budget == 1_048_576), "{error:?}");
}

#[test]
fn enormous_shapes_and_chunks_are_errors_before_memory_is_allocated() {
    let open_error = |document: &Value| {
        let store = store_of(document);
        let hierarchy = Hierarchy::open(store, &Context::linked().unwrap()).unwrap();
        hierarchy.array("/a").map(drop).unwrap_err().to_string()
    };
    let codecs = json!([{"name": "bytes"}]);
    let huge = v3(&json!([1u64 << 62]), &json!([1u64 << 61]), "uint8", &json!(0), &codecs);
    let array = open(&store_of(&huge));
    assert!(array.read(&Selection::All).is_err());
    let one = Selection::parse("7", array.shape()).unwrap();
    assert!(matches!(array.write_values(&one, &[1u8]), Err(Error::OverBudget { .. })));
    let many = v3(&json!([u64::MAX, u64::MAX]), &json!([u64::MAX, u64::MAX]), "uint8", &json!(0), &codecs);
    open_error(&many);
    let shards = json!([sharding(&json!([1]), "end")]);
    open_error(&v3(&json!([1u64 << 61]), &json!([1u64 << 61]), "uint8", &json!(0), &shards));

    // An array with huge lengths can be read and written if its chunks are small.
    let store =
        store_of(&v3(&json!([(1u64 << 63) - 1, 1u64 << 40]), &json!([10, 10]), "uint8", &json!(3), &codecs));
    let array = open(&store);
    assert!(array.read(&Selection::All).is_err());
    let corner = Selection::Orthogonal(vec![
        DimensionSelection::Range { start: (1 << 63) - 4, stop: (1 << 63) - 1, step: 1 },
        DimensionSelection::List(vec![(1 << 40) - 1, 0]),
    ]);
    assert_eq!(array.read_values::<u8>(&corner).unwrap(), [3; 6]);
    array.write_values::<u8>(&corner, &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(array.read_values::<u8>(&corner).unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn errors_of_damaged_documents_name_the_key() {
    let mut failures = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let description = Description::random(&mut random);
        let store = memory();
        description.write(&*store);
        let keys: Vec<_> = store.list().unwrap().iter().map(|key| key.as_str().to_owned()).collect();
        let originals: Vec<_> = keys.iter().map(|key| get(&*store, key).unwrap()).collect();
        for _ in 0..60 {
            let which = random.index(keys.len());
            set(&*store, &keys[which], &damage(&originals[which], &mut random));
            let context = Context::linked().unwrap();
            let opened = Hierarchy::open(Arc::clone(&store), &context);
            let result = opened.and_then(|hierarchy| {
                let array = hierarchy.array("/array")?;
                hierarchy.walk(hierarchy.path("/")?)?;
                array.stored_chunks()?;
                Ok(())
            });
            if let Err(error) = result {
                failures += 1;
                if let Error::Document(document) = &error {
                    assert_eq!(document.key, keys[which]);
                }
                assert!(!error.to_string().is_empty());
            }
            set(&*store, &keys[which], &originals[which]);
        }
    }
    assert!(failures > 1500, "only {failures} damaged documents were detected");
}

#[test]
fn invalid_booleans_read_as_true_and_are_never_written_and_invalid_text_is_an_error() {
    let store = store_of(&v3(&json!([2]), &json!([2]), "bool", &json!(false), &json!([{"name": "bytes"}])));
    set(&*store, "a/c/0", &[1, 2]);
    let array = open(&store);
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), [1, 1]);
    assert_eq!(array.read_many(&[Selection::All]).unwrap()[0].bytes(), [1, 1]);
    assert_eq!(array.read_chunk(&[0]).unwrap().bytes(), [1, 1]);
    let mut bools = [0, 0];
    array.read_into(&Selection::All, &mut bools).unwrap();
    assert_eq!(bools, [1, 1]);
    assert!(array.write(&Selection::All, &[0, 2]).is_err());
    assert_eq!(get(&*store, "a/c/0").unwrap(), [1, 2]);
    let store =
        store_of(&v3(&json!([1]), &json!([1]), "string", &json!(""), &json!([{"name": "vlen-utf8"}])));
    set(&*store, "a/c/0", &[1, 0, 0, 0, 1, 0, 0, 0, 0xFF]);
    assert!(chunk_failure(&open(&store)).contains("codec `vlen-utf8`"));
}
