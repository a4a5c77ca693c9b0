//! Blocks of N5 that TensorStore wrote, and blocks that it reads.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use zarr_interop::environment::{Packages, python, run_script};
use zarr_interop::raw;
use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};

/// The array that stands in N5's `attributes.json`, as a document of Zarr v3 beside it.
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
fn blocks_of_tensorstore_are_read_and_it_reads_ours() {
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

/// Tests EX-CODEC-14, EX-CODEC-23.
#[test]
fn reshape_and_conditional_work_in_a_chain_and_in_a_shard() {
    let context = Context::linked().unwrap();
    let memory = open_store(context.registry(), "memory:").unwrap();
    let hierarchy = Hierarchy::create(memory, &context, zarr_kit::Format::V3).unwrap();
    let conditional = zarr_kit::json!({"codecs": ["shuffle_of_nobody"]});
    let builder = || zarr_kit::ArrayBuilder::new([12, 10], "uint16").chunks([6, 10]).uncompressed();
    let refused = hierarchy.create_array("/unknown", &builder().codec("conditional", conditional));
    assert!(refused.unwrap_err().to_string().contains("shuffle_of_nobody"));

    let gzip = zarr_kit::json!({"codecs": [{"name": "gzip", "configuration": {"level": 5}}]});
    let builder = builder()
        .codec("reshape", zarr_kit::json!({"shape": [[0, 1]]}))
        .codec("numcodecs.delta", zarr_kit::json!({"dtype": "<u2"}))
        .codec("bytes", zarr_kit::json!({"endian": "little"}))
        .codec("conditional", gzip)
        .codec("crc32c", zarr_kit::json!({}));
    let array = hierarchy.create_array("/a", &builder).unwrap();
    // The first chunk has an order that gzip finds, the second one none.
    let mut state = 1u64;
    let elements: Vec<u8> = (0..120u64)
        .map(|number| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = if number < 60 { 3 * number } else { state >> 40 }.to_le_bytes();
            u16::from_le_bytes([bytes[0], bytes[1]])
        })
        .flat_map(u16::to_ne_bytes)
        .collect();
    array.write(&Selection::All, &elements).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), elements);
    let stored = |chunk| array.encoded_chunk(&[chunk, 0]).unwrap().unwrap();
    assert_eq!((stored(0)[0], stored(1)[0]), (1, 0));
    assert!(stored(0).len() < 60);
    assert_eq!(stored(1).len(), 1 + 120 + 4);
}
