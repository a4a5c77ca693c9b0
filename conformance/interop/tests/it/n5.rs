//! Blocks of N5 that TensorStore wrote, and blocks that it reads.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use zarr_interop::environment::{Packages, python, run_script};
use zarr_interop::raw;
use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};

/// Returns a Zarr v3 document for the array that N5's `attributes.json` describes.
fn document(compression: &str) -> String {
    let compression =
        if compression == "gzip" { r#", {"name": "gzip", "configuration": {"level": 5}}"# } else { "" };
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [5, 7], "data_type": "uint16",
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [3, 4]}}}},
            "chunk_key_encoding": {{"name": "v2", "configuration": {{"separator": "/"}}}},
            "fill_value": 0,
            "codecs": [{{"name": "n5_default", "configuration": {{"codecs": [
                {{"name": "transpose", "configuration": {{"order": [1, 0]}}}},
                {{"name": "bytes", "configuration": {{"endian": "big"}}}}{compression}]}}}}]}}"#
    )
}

fn open(folder: &Path) -> Array {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    Hierarchy::open(store, &context).unwrap().array("/").unwrap()
}

fn elements() -> Vec<u16> {
    (0..5).flat_map(|row| (0..7).map(move |column| 100 * row + column)).collect()
}

fn run(python: &Path, arguments: &[&OsStr]) -> String {
    let (output, good) = run_script(python, "n5_blocks.py", arguments);
    assert!(good, "{output}");
    output
}

/// Tests EX-CODEC-25, EX-CODEC-26.
#[test]
fn tensorstore_and_the_engine_read_each_others_n5_blocks() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let bytes: Vec<u8> = elements().iter().flat_map(|element| element.to_le_bytes()).collect();
    for compression in ["raw", "gzip"] {
        let folder = tempfile::tempdir().unwrap();
        let [theirs, ours] = ["theirs", "ours"].map(|name| folder.path().join(name));
        let path = folder.path().as_os_str();
        run(&python, &["write".as_ref(), path, "theirs".as_ref(), compression.as_ref()]);
        fs::write(theirs.join("zarr.json"), document(compression)).unwrap();
        assert_eq!(raw::of(&open(&theirs).read(&Selection::All).unwrap()), bytes, "{compression}");

        fs::create_dir(&ours).unwrap();
        fs::write(ours.join("zarr.json"), document(compression)).unwrap();
        fs::copy(theirs.join("attributes.json"), ours.join("attributes.json")).unwrap();
        let native: Vec<u8> = elements().iter().flat_map(|element| element.to_ne_bytes()).collect();
        open(&ours).write(&Selection::All, &native).unwrap();
        let read: Vec<Vec<u16>> =
            serde_json::from_str(&run(&python, &["read".as_ref(), path, "ours".as_ref()])).unwrap();
        assert_eq!(read.concat(), elements(), "{compression}");
    }
}
