//! Blocks of N5 that TensorStore wrote, and blocks that it reads.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use zarr_interop::environment::{Packages, python, run_script};
use zarr_interop::raw;
use zarr_kit::spec::{Value, json};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

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

/// The script `n5_containers.py` writes an array with each of these compressions.
#[test]
fn arrays_of_tensorstore_are_read_with_every_compression() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (output, good) =
        run_script(&python, "n5_containers.py", &["tensorstore".as_ref(), folder.path().as_os_str()]);
    assert!(good, "{output}");
    let hierarchy = open_container(folder.path());
    for compression in ["raw", "gzip", "zlib", "bzip2", "xz", "zstd", "blosc"] {
        let group = hierarchy.group(format!("/{compression}")).unwrap();
        assert_eq!(group.children().unwrap().len(), 2, "{compression}");
        let array = hierarchy.array(format!("/{compression}/uint16")).unwrap();
        assert_eq!(array.read_values::<u16>(&Selection::All).unwrap(), elements(), "{compression}");
        let names = ["x", "y"].map(|name| Some(name.to_owned()));
        assert_eq!(array.dimension_names(), Some(&names[..]));
        let array = hierarchy.array(format!("/{compression}/float64")).unwrap();
        let expected: Vec<f64> = elements().into_iter().map(f64::from).collect();
        assert_eq!(array.read_values::<f64>(&Selection::All).unwrap(), expected, "{compression}");
    }
}

/// `N5Store` of zarr-python reverses dimensions.
#[test]
fn hierarchies_of_zarr_python_2_are_read_with_reversed_dimensions() {
    let Some(python) = python(Packages::Zarr2) else { return };
    let folder = tempfile::tempdir().unwrap();
    let container = folder.path().join("data.n5");
    let (output, good) = run_script(&python, "n5_containers.py", &["zarr".as_ref(), container.as_os_str()]);
    assert!(good, "{output}");
    let hierarchy = open_container(&container);
    assert_eq!(hierarchy.group("/").unwrap().attributes().get("n").and_then(Value::as_u64), Some(5));
    let transposed: Vec<i32> = (0..7).flat_map(|column| (0..5).map(move |row| 100 * row + column)).collect();
    for name in ["gzip", "bz2", "none", "lzma"] {
        let array = hierarchy.array(format!("/deep/{name}")).unwrap();
        assert_eq!(array.shape(), [7, 5]);
        assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), transposed, "{name}");
        assert_eq!(array.attributes().get("units").and_then(Value::as_str), Some("nm"));
    }
    let low: Vec<u8> = transposed.iter().map(|element| element.to_le_bytes()[0]).collect();
    assert_eq!(hierarchy.array("/bytes").unwrap().read_values::<u8>(&Selection::All).unwrap(), low);
    let empty = hierarchy.array("/empty").unwrap().read_values::<f32>(&Selection::All).unwrap();
    assert_eq!(empty, [0.0; 35]);
}

fn open_container(folder: &Path) -> Hierarchy {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), &format!("n5:{}", folder.to_str().unwrap())).unwrap();
    Hierarchy::open(store, &context).unwrap()
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

/// Returns what a program reads from an array of a container.
fn read_by(python: &Path, program: &str, folder: &Path, array: &str) -> serde_json::Value {
    let arguments = [program.as_ref(), folder.as_os_str(), array.as_ref()];
    let (output, good) = run_script(python, "n5_read.py", &arguments);
    assert!(good, "{program}, {array}: {output}");
    serde_json::from_str(&output).unwrap()
}

/// Blocks at the end of the arrays are smaller, and one block is missing.
#[test]
fn containers_that_the_engine_writes_are_read_by_other_programs() {
    let (Some(new), Some(old), Some(z5)) =
        (python(Packages::Zarr3), python(Packages::Zarr2), python(Packages::Wild("z5py")))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let container = folder.path().join("data.n5");
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), &format!("n5:{}", container.to_str().unwrap())).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    hierarchy.create_group("/g", [("n", 5)]).unwrap();
    let blosc =
        ("blosc", json!({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}));
    let xz = ("numcodecs.lzma", json!({"format": 1, "check": -1, "preset": 2, "filters": null}));
    let codecs = [
        ("raw", None),
        ("gzip", Some(("gzip", json!({"level": 4})))),
        ("zlib", Some(("numcodecs.zlib", json!({"level": 4})))),
        ("bzip2", Some(("numcodecs.bz2", json!({"level": 5})))),
        ("xz", Some(xz)),
        ("zstd", Some(("zstd", json!({"level": 3, "checksum": false})))),
        ("blosc", Some(blosc)),
    ];
    for (name, codec) in codecs {
        let builder = ArrayBuilder::new([5, 7], "uint16").chunks([3, 4]).dimension_names(["x", "y"]);
        let builder = builder.attributes([("unit", "nm")]);
        let builder = match codec {
            Some(codec) => builder.codec(codec),
            None => builder.uncompressed(),
        };
        let array = hierarchy.create_array(format!("/g/{name}"), &builder).unwrap();
        let mut expected = elements();
        (0..3).for_each(|row| expected[7 * row..][..4].fill(0));
        array.write_values(&Selection::All, &expected).unwrap();
        assert!(!container.join(format!("g/{name}/0/0")).exists());
        let block = fs::read(container.join(format!("g/{name}/1/1"))).unwrap();
        assert_eq!(block[..12], [0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3], "{name}");
        assert_eq!(array.read_values::<u16>(&Selection::All).unwrap(), expected, "{name}");

        let expected: Vec<Vec<u16>> = expected.chunks(7).map(<[u16]>::to_vec).collect();
        let at = format!("g/{name}");
        let read = read_by(&new, "tensorstore", &container, &at);
        assert_eq!(read, serde_json::json!({"elements": expected, "axes": ["x", "y"]}), "{name}");
        if name != "zstd" {
            let read = read_by(&old, "zarr", &container, &at);
            assert_eq!(read["elements"], serde_json::json!(expected), "{name}");
            assert_eq!(read["attributes"]["unit"], "nm", "{name}");
            assert_eq!(read["groups"], serde_json::json!(["g", ""]), "{name}");
        }
        if !["zlib", "zstd"].contains(&name) {
            let read = read_by(&z5, "z5py", &container, &at);
            assert_eq!(read["elements"], serde_json::json!(expected), "{name}");
            assert_eq!(read["attributes"]["unit"], "nm", "{name}");
        }
    }
}
