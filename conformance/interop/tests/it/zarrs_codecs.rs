//! Codecs and data types that only the crate `zarrs` also combines: the engine and `zarrs` read each other's data.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};
use zarrs::array::ArrayBytes;
use zarrs::filesystem::FilesystemStore;

const CHUNKS: [&str; 2] = ["c/0", "c/1"];

fn write_document(folder: &Path, data_type: &str, lengths: [usize; 2], codecs: &Value) {
    let fill_value = if data_type == "string" { json!("") } else { json!(0) };
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [lengths[0]], "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [lengths[1]]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill_value, "codecs": codecs});
    fs::write(folder.join("zarr.json"), document.to_string()).unwrap();
}

fn ours(folder: &Path) -> Array {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    Hierarchy::open(store, &context).unwrap().array("/").unwrap()
}

fn theirs(folder: &Path) -> zarrs::array::Array<FilesystemStore> {
    zarrs::array::Array::open(Arc::new(FilesystemStore::new(folder).unwrap()), "/").unwrap()
}

fn stored(folder: &Path) -> Vec<Vec<u8>> {
    CHUNKS.iter().map(|chunk| fs::read(folder.join(chunk)).unwrap()).collect()
}

/// Both programs write the same bytes for texts, and read those of the other.
fn check_texts(codecs: &Value) {
    let texts = ["a", "", "é日本", "a longer text", "z", ""].map(str::to_owned);
    let [their_folder, our_folder] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for folder in [&their_folder, &our_folder] {
        write_document(folder.path(), "string", [6, 3], codecs);
    }
    let array = theirs(their_folder.path());
    array.store_array_subset(&array.subset_all(), &texts[..]).unwrap();
    assert_eq!(ours(their_folder.path()).read_values::<String>(&Selection::All).unwrap(), texts, "{codecs}");

    ours(our_folder.path()).write_values(&Selection::All, &texts).unwrap();
    let array = theirs(our_folder.path());
    let again: Vec<String> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    assert_eq!(again, texts, "{codecs}");
    assert_eq!(stored(our_folder.path()), stored(their_folder.path()), "{codecs}");
}

#[test]
fn zarrs_and_this_program_read_texts_of_vlen_v2() {
    for name in ["zarrs.vlen_v2", "https://codec.zarrs.dev/array_to_bytes/vlen_v2"] {
        check_texts(&json!([{"name": name}]));
    }
}

#[test]
fn zarrs_and_this_program_read_texts_of_vlen_with_every_index() {
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let plain = json!([{"name": "bytes"}]);
    for data_type in ["uint32", "uint64"] {
        for (index_codecs, data_codecs) in [
            (json!([little]), plain.clone()),
            (json!([little, {"name": "crc32c"}]), json!([{"name": "bytes"}, {"name": "crc32c"}])),
        ] {
            let mut configuration = json!({"index_codecs": index_codecs, "data_codecs": data_codecs, "index_data_type": data_type});
            check_texts(&json!([{"name": "zarrs.vlen", "configuration": configuration}]));
            for location in ["start", "end"] {
                configuration["index_location"] = location.into();
                check_texts(&json!([{"name": "zarrs.vlen", "configuration": configuration}]));
            }
        }
    }
}

/// Returns the first chunk of the array that zarrs stores for these elements, as zarrs and as this program read it.
fn both_read(data_type: &str, codecs: &Value, fill_value: &Value, elements: &[u8]) -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let size = if data_type.ends_with("64") { 8 } else { 4 };
    let count = elements.len() / if data_type == "bfloat16" { 2 } else { size };
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [count], "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill_value, "codecs": codecs});
    fs::write(folder.path().join("zarr.json"), document.to_string()).unwrap();
    let array = theirs(folder.path());
    array.store_chunk(&[0], ArrayBytes::new_flen(elements)).unwrap();
    let read: ArrayBytes<'static> = array.retrieve_chunk(&[0]).unwrap();
    let read = read.into_fixed().unwrap().into_owned();
    [read, zarr_interop::raw::of(&ours(folder.path()).read(&Selection::All).unwrap())]
}

/// Finite floats of two bytes, of both forms.
fn halves() -> Vec<u8> {
    (0..=255_u8).flat_map(|number| [number.wrapping_mul(37), 0x20 + number % 32]).collect()
}

/// Finite numbers of any real type.
fn floats() -> Vec<u8> {
    (0..64_u16).flat_map(|number| (f32::from(number) / 3.).to_le_bytes()).collect()
}

#[test]
fn rounded_complex_numbers_and_bfloat16_of_zarrs_are_read() {
    let codecs = json!([{"name": "bitround", "configuration": {"keepbits": 3}},
        {"name": "bytes", "configuration": {"endian": "little"}}]);
    for (data_type, fill_value, elements) in [
        ("bfloat16", json!(0), halves()),
        ("complex_bfloat16", json!([0, 0]), halves()),
        ("complex_float16", json!([0, 0]), halves()),
        ("complex64", json!([0, 0]), floats()),
    ] {
        let [theirs, ours] = both_read(data_type, &codecs, &fill_value, &elements);
        assert_ne!(theirs, elements, "{data_type}");
        assert_eq!(ours, theirs, "{data_type}");
    }
}

#[test]
fn complex_numbers_that_zarrs_compresses_with_pcodec_are_read() {
    let pcodec = json!({"level": 8, "mode_spec": "auto", "delta_spec": "auto", "paging_spec": "equal_pages_up_to",
        "delta_encoding_order": null, "equal_pages_up_to": 262_144});
    let codecs = json!([{"name": "numcodecs.pcodec", "configuration": pcodec}]);
    for (data_type, elements) in [("complex_float16", halves()), ("complex64", floats())] {
        let [theirs, ours] = both_read(data_type, &codecs, &json!([0, 0]), &elements);
        assert_eq!(theirs, elements, "{data_type}");
        assert_eq!(ours, theirs, "{data_type}");
    }
}
