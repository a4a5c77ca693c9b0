//! How often `put` and `get` read and write the chunks of arrays that exceed the memory budget.

use std::fs::File;
use std::process::{Command, Output, Stdio};

use crate::support::{Place, bytes, program};

/// The size of the array in bytes: two planes of 81 MB each. Each of the 81 chunks spans both planes.
const SIZE: u64 = 2 * 9000 * 9000;
const CHUNKS: u64 = 81;

/// Creates an array of ones without stored chunks, and returns the description of a store that counts operations.
fn counted(place: &Place, codec: &str) -> String {
    let store = place.at("store");
    let create = ["create", &store, "/a", "--shape", "2,9000,9000", "--chunks", "2,1000,1000"];
    bytes(&[&create[..], &["--dtype", "uint8", "--fill", "1", "--codec", codec]].concat());
    format!(r#"{{"type": "statistics", "store": {{"type": "filesystem", "path": "{store}"}}}}"#)
}

/// Returns the number of values that passed through the store in operations whose name begins with `operation`.
fn values(output: &Output, operation: &str) -> u64 {
    sum(output, operation, 2)
}

/// Returns the size in bytes of the values that [`values`] counts. The engine may read the planes of one chunk as two
/// values.
fn size(output: &Output, operation: &str) -> u64 {
    sum(output, operation, 3)
}

fn sum(output: &Output, operation: &str, column: usize) -> u64 {
    let table = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{table}");
    let rows = table.lines().filter(|line| line.starts_with(operation));
    rows.map(|row| row.split_whitespace().nth(column).unwrap().parse::<u64>().unwrap()).sum()
}

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// Creates a sparse file of zeros.
fn zeros(place: &Place) -> String {
    let file = place.at("zeros");
    File::create(&file).unwrap().set_len(SIZE).unwrap();
    file
}

#[test]
fn each_chunk_is_written_and_read_once_although_only_one_plane_fits() {
    let place = Place::new();
    let store = counted(&place, "none");
    let zeros = zeros(&place);
    let output = run(&["put", &store, "/a", &zeros, "--format", "raw"]);
    assert_eq!(values(&output, "set"), CHUNKS);
    let opening = run(&["get", &store, "/a", "--select", ":0", "--format", "raw"]);
    // Only metadata is read before the write.
    assert!(values(&output, "get") <= values(&opening, "get"));
    let copy = place.at("copy.raw");
    let output = run(&["get", &store, "/a", "-o", &copy]);
    assert_eq!(size(&output, "get") - size(&opening, "get"), SIZE);
    let mut same = Command::new("cmp");
    assert!(same.args([&zeros, &copy]).status().unwrap().success());
}

#[test]
fn each_chunk_is_written_once_from_standard_input() {
    let place = Place::new();
    let store = counted(&place, "none");
    let zeros = zeros(&place);
    let mut command = program();
    command.args(["put", &store, "/a", "-"]).stdin(File::open(zeros).unwrap()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert_eq!(values(&output, "set"), CHUNKS);
}

#[test]
fn each_chunk_is_read_once_for_a_pipe() {
    let place = Place::new();
    // Compressed chunks are read whole. Uncompressed chunks can be read in parts.
    let store = counted(&place, "zstd");
    let zeros = zeros(&place);
    run(&["put", &store, "/a", &zeros, "--format", "raw"]);
    let opening = run(&["get", &store, "/a", "--select", ":0", "--format", "raw"]);
    let reads = |memory: &str| {
        let output = run(&["--memory", memory, "get", &store, "/a", "--format", "raw"]);
        assert_eq!(output.stdout.len() as u64, SIZE);
        let warning = "warning: chunks are decoded several times, because a row of chunks exceeds the memory";
        let is_warned = String::from_utf8_lossy(&output.stderr).contains(warning);
        (values(&output, "get") - values(&opening, "get"), is_warned)
    };
    // All chunks lie in one row, which fits into a quarter of 1 GiB but not into a quarter of 512 MiB.
    assert_eq!(reads("1GiB"), (CHUNKS, false));
    let (times, is_warned) = reads("512MiB");
    assert!(times > CHUNKS && is_warned, "{times}");
}

#[test]
fn a_stream_whose_rows_of_chunks_do_not_fit_into_memory_is_refused() {
    let place = Place::new();
    let store = counted(&place, "none");
    let zeros = zeros(&place);
    let mut command = program();
    command.args(["--memory", "512MiB", "put", &store, "/a", "-"]).stdin(File::open(zeros).unwrap());
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    let part =
        "a row of chunks takes 154.5 MiB of memory, but the limit for elements is 128.0 MiB: raise --memory";
    assert!(message.contains(part), "{message}");
}
