//! Decoding and encoding chunks without the store.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::key;
use zarr_interop::v3::{document, sharded, zstd};
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, Context, Error, Hierarchy, Selection, open_store};

fn array(document: &Value) -> (Arc<dyn Store>, Array) {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), "memory:").unwrap();
    let group = json!({"zarr_format": 3, "node_type": "group"});
    store.set(&key("zarr.json"), group.to_string().as_bytes().into()).unwrap();
    store.set(&key("a/zarr.json"), document.to_string().as_bytes().into()).unwrap();
    let array = Hierarchy::open(Arc::clone(&store), &context).unwrap().array("/a").unwrap();
    (store, array)
}

fn strings() -> Value {
    let mut document = document(&[7, 5], &[4, 3], &json!([{"name": "vlen-utf8"}]));
    document["data_type"] = json!("string");
    document["fill_value"] = json!("none");
    document
}

#[test]
fn a_value_decodes_to_the_elements_that_a_read_returns() {
    let shards = sharded(&[2, 2], &sharded(&[1, 2], &zstd()));
    for document in [document(&[7, 5], &[4, 3], &zstd()), document(&[7, 5], &[4, 4], &shards)] {
        let (_store, array) = array(&document);
        array.write_values(Selection::All, &(1..=35).collect::<Vec<u16>>()).unwrap();
        for index in array.chunk_indices() {
            let value = array.read_encoded_chunk(&index).unwrap();
            let decoded = array.decode_chunk(&index, value.as_deref()).unwrap();
            let read = array.read_chunk(&index).unwrap();
            assert_eq!((decoded.shape(), decoded.bytes()), (read.shape(), read.bytes()));
        }
    }
}

#[test]
fn a_missing_value_decodes_to_the_fill_value() {
    for document in [document(&[7, 5], &[4, 3], &zstd()), strings()] {
        let (_store, array) = array(&document);
        let decoded = array.decode_chunk(&[1, 1], None).unwrap();
        assert_eq!(decoded.shape(), [4, 3]);
        assert!(decoded.iter().all(|element| element == array.fill_value().bytes()));
    }
}

#[test]
fn an_encoded_chunk_is_stored_by_the_caller_and_read_by_the_array() {
    let (store, array) = array(&document(&[7, 5], &[4, 3], &zstd()));
    let elements: Vec<u16> = (1..=12).collect();
    let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
    let value = array.encode_chunk(&[1, 0], &bytes).unwrap().unwrap();
    assert_eq!(array.read_encoded_chunk(&[1, 0]).unwrap(), None, "nothing is stored");
    store.set(&array.chunk_key(&[1, 0]).unwrap(), value.as_slice().into()).unwrap();
    assert_eq!(*array.read_values::<u16>([4..7, 0..3]).unwrap(), elements[..9]);
    assert_eq!(array.encode_chunk(&[1, 0], &[0; 24]).unwrap(), None, "fill values are not stored");
}

#[test]
fn a_chunk_is_encoded_from_a_box_of_a_larger_array_in_memory() {
    for codecs in [zstd(), json!([{"name": "bytes", "configuration": {"endian": "little"}}])] {
        let (_store, array) = array(&document(&[7, 5], &[4, 3], &codecs));
        let elements: Vec<u16> = (1..=60).collect();
        let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
        let source = array.chunk_source(&bytes, 60).unwrap();
        let value =
            array.encode_chunk_from(&[0, 0], source, &[6, 10], &[2, 5], |value| value.map(<[u8]>::to_vec));
        let decoded = array.decode_chunk(&[0, 0], value.unwrap().as_deref()).unwrap();
        let expected = (2..6).flat_map(|row| (5..8).map(move |column| row * 10 + column + 1_u16));
        let expected: Vec<u8> = expected.flat_map(u16::to_ne_bytes).collect();
        assert_eq!(decoded.bytes(), expected);
        for (shape, first) in [([6, 10], [3, 5]), ([6, 10], [2, 8]), ([6, 9], [0, 0]), ([10, 6], [7, 0])] {
            let refused = array.encode_chunk_from(&[0, 0], source, &shape, &first, |_| ());
            assert!(matches!(refused, Err(Error::Elements(_))), "{shape:?} {first:?}");
        }
        assert!(array.encode_chunk_from(&[0, 0], source, &[60], &[0], |_| ()).is_err());
        assert!(array.chunk_source(&bytes, 59).is_err());
    }
}

#[test]
fn wrong_sizes_and_damaged_values_are_errors_that_name_the_chunk() {
    let (_store, array) = array(&document(&[7, 5], &[4, 3], &zstd()));
    assert!(matches!(array.encode_chunk(&[0, 0], &[0; 23]), Err(Error::Elements(_))));
    let error = array.decode_chunk(&[0, 1], Some(b"not zstd")).unwrap_err().to_string();
    assert!(error.contains("chunk [0, 1] of /a") && error.contains("codec `zstd`"), "{error}");
    assert!(array.decode_chunk(&[2, 0], None).is_err());
}
