//! Checks that the encoded bytes in the fixtures of the codec suite are what the named programs write.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zarr_conformance::hex;
use zarr_interop::environment::{Packages, python, run_script};
use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;

/// The program of the rows that the script does not print. Another test compares these rows with the output of zarrs.
const ZARRS: &str = "zarrs 0.23.14";

/// Programs that wrote rows of the table, but are not in the environment: the script does not print these rows.
const OTHERS: [&str; 6] = [
    "wavpack-numcodecs 0.3.0",
    "gribberish 1.9.0",
    "kerchunk 0.2.7",
    "kerchunk 0.2.10",
    "gribscan 0.0.16",
    "gdeflate-sys 0.4.1",
];

fn table() -> (PathBuf, String) {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/suite/codec/fixtures.tsv");
    let text = fs::read_to_string(&table).unwrap();
    (table, text)
}

#[test]
fn the_table_equals_the_output_of_its_script() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let (table, stored) = table();
    let (printed, good) = run_script(&python, "fixtures.py", &[table.as_os_str()]);
    assert!(good, "{printed}");
    let stored: Vec<_> = stored
        .lines()
        .filter(|row| !row.ends_with(ZARRS) && OTHERS.iter().all(|program| !row.ends_with(program)))
        .collect();
    for (stored, printed) in stored.iter().zip(printed.lines()) {
        assert_eq!(*stored, printed);
    }
    assert_eq!(stored.len(), printed.lines().count());
}

/// Encodes one chunk with zarrs and returns the stored value.
fn by_zarrs(codec: &str, data_type: &str, shape: &str, decoded: &[u8]) -> Vec<u8> {
    let is_named = !data_type.starts_with('{');
    let quoted = if is_named { format!("\"{data_type}\"") } else { data_type.to_owned() };
    let fill_value = match data_type {
        "bool" => "false",
        _ if is_named => "0",
        _ => "null",
    };
    let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    let is_array_to_array = codec.contains("reshape") || codec.contains("squeeze");
    let chain = if is_array_to_array { format!("{codec}, {little}") } else { codec.to_owned() };
    let document = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{shape}], "data_type": {quoted},
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{shape}]}}}},
        "chunk_key_encoding": {{"name": "v2"}}, "fill_value": {fill_value}, "codecs": [{chain}]}}"#
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("zarr.json"), document).unwrap();
    let array = Array::open(Arc::new(FilesystemStore::new(folder.path()).unwrap()), "/").unwrap();
    let first = vec![0; shape.split(',').count()];
    if data_type.contains("optional") {
        array.store_chunk(&first, optional(decoded)).unwrap();
    } else {
        array.store_chunk(&first, ArrayBytes::new_flen(decoded)).unwrap();
    }
    let key = vec!["0"; first.len()].join(".");
    fs::read(folder.path().join(key)).unwrap()
}

/// Parses optional integers: offsets, followed by one byte for each element that is present and its value.
fn optional(decoded: &[u8]) -> Vec<Option<i32>> {
    let offset = |bytes: &[u8]| usize::try_from(u64::from_le_bytes(bytes.try_into().unwrap())).unwrap();
    let count = (0..).find(|count| 8 * (count + 1) + offset(&decoded[8 * count..][..8]) == decoded.len());
    let (offsets, payload) = decoded.split_at(8 * (count.unwrap() + 1));
    let offsets: Vec<_> = offsets.chunks(8).map(offset).collect();
    let items = offsets.windows(2).map(|ends| &payload[ends[0]..ends[1]]);
    items.map(|item| Some(i32::from_le_bytes(item.get(1..)?.try_into().unwrap()))).collect()
}

/// Tests EX-CODEC-13, EX-CODEC-15, EX-SEEN-06.
#[test]
fn rows_of_zarrs_equal_what_it_writes() {
    let (_, table) = table();
    let rows: Vec<_> = table.lines().filter(|row| row.ends_with(ZARRS)).collect();
    assert!(!rows.is_empty());
    for row in rows {
        let [_, codec, data_type, shape, decoded, encoded, _] =
            row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let written = by_zarrs(codec, data_type, shape, &hex(decoded));
        assert_eq!(written, hex(encoded), "{row}");
    }
}
