//! The codec `zarrs.squeeze` and the crate `zarrs`, the only other program that has it: the engine and `zarrs` read
//! each other's data.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};
use zarrs::filesystem::FilesystemStore;

/// Writes the document of an array whose chunks are stored with their last two dimensions exchanged.
fn write_document(folder: &Path) {
    let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [2, 3, 4], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 3, 4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "zarrs.squeeze"},
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "little"}}]}"#;
    fs::write(folder.join("zarr.json"), document).unwrap();
}

fn ours(folder: &Path) -> Array {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    Hierarchy::open(store, &context).unwrap().array("/").unwrap()
}

fn theirs(folder: &Path) -> zarrs::array::Array<FilesystemStore> {
    zarrs::array::Array::open(Arc::new(FilesystemStore::new(folder).unwrap()), "/").unwrap()
}

#[test]
fn zarrs_and_this_program_read_squeezed_chunks_of_each_other() {
    let elements: Vec<u16> = (0..24).collect();
    let their_folder = tempfile::tempdir().unwrap();
    write_document(their_folder.path());
    let array = theirs(their_folder.path());
    array.store_array_subset(&array.subset_all(), &elements[..]).unwrap();
    let read = ours(their_folder.path()).read_values::<u16>(&Selection::All).unwrap();
    assert_eq!(read, elements);

    let our_folder = tempfile::tempdir().unwrap();
    write_document(our_folder.path());
    ours(our_folder.path()).write_values(&Selection::All, &elements).unwrap();
    let array = theirs(our_folder.path());
    let again: Vec<u16> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    assert_eq!(again, elements);
    for chunk in ["c/0/0/0", "c/1/0/0"] {
        let stored = fs::read(our_folder.path().join(chunk)).unwrap();
        assert_eq!(stored, fs::read(their_folder.path().join(chunk)).unwrap());
        assert_eq!(stored[..4], [stored[0], 0, stored[0] + 4, 0], "the dimensions are exchanged");
    }
}
