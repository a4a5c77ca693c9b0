//! `bench`: its counts and its advice. Durations are not asserted.

use zarr_kit::json::{self, ParseOptions};
use zarr_kit::spec::Value;

use crate::support::{Place, bytes, refused, run_with_input, text};

/// Creates an array of `uint16` with these options of `create`, and writes the `count` elements that `select` selects.
fn create(place: &Place, options: &[&str], select: &str, count: usize) -> String {
    let store = place.at("store");
    bytes(&[&["create", &store, "/a", "--dtype", "uint16", "--shape"], options].concat());
    let elements: Vec<u8> = (1..=u16::MAX).cycle().take(count).flat_map(u16::to_le_bytes).collect();
    let put = run_with_input(&["put", &store, "/a", "-", "--select", select], &elements);
    assert_eq!(put.status.code(), Some(0), "{}", String::from_utf8_lossy(&put.stderr));
    store
}

/// Returns the output of `bench --json` after the shortest possible measurement.
fn measured(store: &str, path: &str) -> Value {
    measured_for(store, path, "0.01")
}

fn measured_for(store: &str, path: &str, seconds: &str) -> Value {
    let printed = bytes(&["bench", store, path, "--seconds", seconds, "--json"]);
    json::parse(&printed, &ParseOptions::default()).unwrap().value
}

fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.as_object().and_then(|object| object.get(name)).unwrap_or_else(|| panic!("{name} in {value}"))
}

/// Returns member `name` of each row of this kind of access.
fn numbers(report: &Value, access: &str, name: &str) -> Vec<String> {
    let accesses = member(report, "accesses").as_array().unwrap().iter();
    let of_kind = accesses.filter(|row| member(row, "access").as_str() == Some(access));
    of_kind.map(|row| member(row, name).to_string()).collect()
}

fn advice(report: &Value) -> String {
    let sentences = member(report, "advice").as_array().unwrap();
    sentences.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_format_has_all_accesses_and_the_same_amplification() {
    for format in ["v2", "v3-draft", "v3"] {
        let place = Place::new();
        let more = ["--format", format, "--codec", r#"gzip:{"level":1}"#];
        let store = create(
            &place,
            &[&["64,128,32", "--chunks", "16,32,32"], &more[..]].concat(),
            "...",
            64 * 128 * 32,
        );
        let report = measured(&store, "/a");
        assert_eq!(numbers(&report, "plane", "amplification"), ["16.0", "32.0", "32.0"], "{format}");
        assert_eq!(numbers(&report, "plane", "dimension"), ["0", "1", "2"], "{format}");
        for access in ["slab", "chunk"] {
            assert_eq!(numbers(&report, access, "amplification"), ["1.0"], "{format} {access}");
        }
        assert_eq!(numbers(&report, "box", "amplification").len(), 1, "{format}");
        // One value is fetched for each chunk.
        let calls = numbers(&report, "chunk", "store_calls");
        assert_eq!(calls, numbers(&report, "chunk", "chunks_decoded"), "{format}");
        let sentence =
            "reading a plane of dimension 1 decodes 32 × the requested elements: chunks shorter than 32";
        assert!(advice(&report).contains(sentence), "{format}: {report}");
    }
}

#[test]
fn the_table_fits_a_page_and_is_explained() {
    let place = Place::new();
    let store = create(&place, &["256,256", "--chunks", "64,256"], "...", 1 << 16);
    let table = text(&["bench", &store, "/a", "--seconds", "0"]);
    for part in [
        "/a  uint16 [256 × 256]\nchunks of 64 × 256 elements, 32.0 KiB each; 4 of 4 chunks are stored; on ",
        "\naccess ",
        "\nplanes of dimension 0 ",
        "\nplanes of dimension 1 ",
        "\nslabs of chunks ",
        "\nchunk by chunk ",
        "\nrandom boxes ",
        "\ncopy     the rest",
        "\n- reading a plane of dimension 0 decodes 64 × ",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
}

#[test]
fn shards_are_measured_by_their_inner_chunks() {
    let place = Place::new();
    let store = create(&place, &["256,256", "--chunks", "16,64", "--shards", "128,128"], "...", 1 << 16);
    let report = measured(&store, "/a");
    assert_eq!(member(&report, "chunk_shape").to_string(), "[16,64]");
    assert_eq!(numbers(&report, "plane", "amplification"), ["16.0", "64.0"]);
    assert_eq!(numbers(&report, "chunk", "amplification"), ["1.0"]);
    assert!(advice(&report).contains("inner chunks shorter than 64 along dimension 1"), "{report}");
}

#[test]
fn uncompressed_chunks_are_fetched_in_parts() {
    let place = Place::new();
    let store = create(&place, &["256,256", "--chunks", "128,128", "--codec", "none"], "...", 1 << 16);
    let report = measured(&store, "/a");
    // Rows are one run in their chunks, columns are not.
    assert_eq!(numbers(&report, "plane", "amplification"), ["1.0", "128.0"]);
    assert_eq!(numbers(&report, "plane", "chunks_decoded"), ["0", "0"]);
    assert!(advice(&report).contains("reading a plane of dimension 1 fetches 128 ×"), "{report}");
}

#[test]
fn only_stored_chunks_are_sampled() {
    let place = Place::new();
    let store = create(&place, &["100000,100000", "--chunks", "100,100"], "500:600,99900:", 10_000);
    let report = measured(&store, "/a");
    assert_eq!(member(&report, "chunks_stored").to_string(), "1");
    assert_eq!(member(&report, "chunks").to_string(), "1000000");
    assert_eq!(numbers(&report, "chunk", "chunks_decoded"), ["1"]);
    assert_eq!(numbers(&report, "chunk", "elements"), ["10000"]);
    let place = Place::new();
    let store = create(&place, &["100,100", "--chunks", "10,10", "--shards", "100,100"], "20:30,40:50", 100);
    let table = text(&["bench", &store, "/a", "--seconds", "0"]);
    assert!(table.contains("; 1 of 1 shards are stored;"), "{table}");
}

#[test]
fn small_and_empty_arrays_get_no_advice() {
    let place = Place::new();
    let store = create(&place, &["5", "--chunks", "2"], "...", 5);
    assert!(
        text(&["bench", &store, "/a"]).ends_with("\n- the array is too small to measure: 10 B of elements\n")
    );
    let new = |path: &str, shape: &str| {
        bytes(&["create", &store, path, "--shape", shape, "--dtype", "uint16", "--fill", "7"]);
    };
    new("/scalar", "");
    new("/empty", "3,0");
    new("/unwritten", "300,300");
    for (path, sentence) in [
        ("/scalar", "no chunk is stored, so all elements are the fill value"),
        ("/empty", "the array does not have elements"),
        ("/unwritten", "no chunk is stored, so all elements are the fill value"),
    ] {
        let report = measured(&store, path);
        assert_eq!(advice(&report), format!("nothing to measure: {sentence}"), "{path}");
        assert!(member(&report, "accesses").as_array().unwrap().is_empty(), "{path}");
        assert!(text(&["bench", &store, path]).ends_with(&format!("{sentence}\n")), "{path}");
    }
    run_with_input(&["put", &store, "/scalar", "-"], &[1, 2]);
    let report = measured(&store, "/scalar");
    assert_eq!(numbers(&report, "chunk", "amplification"), ["1.0"]);
    assert_eq!(numbers(&report, "chunk", "elements_decoded"), ["1"]);
}

#[test]
fn elements_of_variable_size_are_measured_too() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "4000", "--chunks", "500", "--dtype", "string"]);
    let words: Vec<u8> = (0..4000u32)
        .flat_map(|number| {
            let word = format!("word {number}");
            let size = u32::try_from(word.len()).unwrap().to_le_bytes();
            [&size[..], word.as_bytes()].concat()
        })
        .collect();
    assert_eq!(run_with_input(&["put", &store, "/a", "-"], &words).status.code(), Some(0));
    let report = measured(&store, "/a");
    assert_eq!(numbers(&report, "plane", "amplification"), ["500.0"]);
    assert_eq!(numbers(&report, "chunk", "amplification"), ["1.0"]);
    assert_eq!(numbers(&report, "chunk", "store_calls"), numbers(&report, "chunk", "chunks_decoded"));
}

#[test]
fn chunks_of_several_shapes_are_measured_too() {
    let place = Place::new();
    let store = place.at("store");
    let grid =
        r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[100,[50,100,150]]}}"#;
    bytes(&["create", &store, "/a", "--shape", "200,300", "--dtype", "uint16", "--grid", grid]);
    let elements = vec![3; 200 * 300 * 2];
    assert_eq!(run_with_input(&["put", &store, "/a", "-"], &elements).status.code(), Some(0));
    // The time suffices for part of a plane only; the part begins and ends inside chunks.
    let report = measured_for(&store, "/a", "0.3");
    assert_eq!(numbers(&report, "chunk", "amplification"), ["1.0"]);
    assert_eq!(numbers(&report, "plane", "amplification")[0], "100.0");
}

#[test]
fn measuring_writes_nothing_and_needs_an_array() {
    let place = Place::new();
    let store = create(&place, &["256,256", "--chunks", "64,64"], "...", 1 << 16);
    let before = place.files("store");
    measured(&store, "/a");
    assert_eq!(place.files("store"), before);
    assert!(refused(&["bench", &store, "/"], 1).contains("`zarrctl tree STORE` lists the nodes"));
    assert!(refused(&["bench", &store, "/b"], 1).contains("there is no node at /b; did you mean /a?"));
}

#[test]
fn a_truncated_chunk_ends_the_measurement() {
    let place = Place::new();
    let store = create(&place, &["256,256", "--chunks", "256,256"], "...", 1 << 16);
    let chunk = std::fs::read(place.path("store/a/c/0/0")).unwrap();
    place.file("store/a/c/0/0", &chunk[..chunk.len() / 2]);
    assert!(refused(&["bench", &store, "/a", "--seconds", "0"], 1).contains("/a"));
}
