//! Arrays whose chunks are stored at larger lengths than they have in the array.

use std::fs;

use crate::support::{Place, bytes, run, text};

/// Creates an array of 5 × 3 elements from 1 to 15, in chunks of up to 3 × 2 that are stored as 3 × 3.
fn padded(place: &Place) -> String {
    let store = place.at("padded");
    let grid = r#"{"name": "rectilinear", "configuration":
        {"kind": "inline", "chunk_shapes": [[2, 3], 2], "encoded_chunk_shapes": [3, 3]}}"#;
    let grid = ["--grid", grid, "--codec", "none"];
    bytes(&[&["create", &store, "/a", "--shape", "5,3", "--dtype", "uint8"][..], &grid].concat());
    let elements: Vec<u8> = (1..16).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("elements", &elements)]);
    store
}

/// Runs a command, and returns whether it succeeds, and everything that it prints.
fn ran(arguments: &[&str]) -> (bool, String) {
    let output = run(arguments);
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

/// Tests EX-GRID-16.
#[test]
fn padded_chunks_are_described_shown_and_checked() {
    let place = Place::new();
    let store = padded(&place);
    assert_eq!(fs::read(place.path("padded/a/c/0/0")).unwrap(), [1, 2, 0, 4, 5, 0, 0, 0, 0]);
    let info = text(&["info", &store, "/a"]);
    assert!(info.contains("2 × 2 chunks of up to 3 × 3"), "{info}");
    let json = text(&["info", &store, "/a", "--json"]);
    assert!(json.contains("encoded_chunk_shapes"), "{json}");
    let raw: Vec<u8> = (1..16).collect();
    assert_eq!(bytes(&["get", &store, "/a", "--format", "raw"]), raw);
    let (is_good, found) = ran(&["verify", &store]);
    assert!(is_good, "{found}");
    fs::write(place.path("padded/a/c/0/0"), [1, 2, 4, 5]).unwrap();
    let (is_good, found) = ran(&["verify", &store]);
    assert!(!is_good && found.contains("a/c/0/0"), "{found}");
}

/// Tests EX-GRID-16, EX-GRID-17.
#[test]
fn padded_chunks_are_copied_as_they_are_or_without_padding() {
    let place = Place::new();
    let store = padded(&place);
    // Other elements after those of a chunk are ignored, so that digests are equal.
    fs::write(place.path("padded/a/c/0/0"), [1, 2, 70, 4, 5, 71, 72, 73, 74]).unwrap();
    let copied = |name: &str, options: &[&str]| {
        let copy = place.at(name);
        let (is_good, printed) = ran(&[&["copy", &store, &copy], options].concat());
        assert!(is_good, "{name}: {printed}");
        assert_eq!(text(&["digest", &copy]), text(&["digest", &store]), "{name}");
        bytes(&["diff", &store, &copy]);
        copy
    };
    copied("same", &[]);
    assert_eq!(fs::read(place.path("same/a/c/0/0")).unwrap(), [1, 2, 70, 4, 5, 71, 72, 73, 74]);
    copied("regular", &["--chunks", "2,2"]);
    assert_eq!(fs::read(place.path("regular/a/c/0/0")).unwrap(), [1, 2, 4, 5]);
    // Chunks that are encoded again have one shape.
    let packed = copied("packed", &["--codec", "zstd"]);
    assert!(text(&["info", &packed, "/a", "--json"]).contains("regular"));
    for format in ["v2", "v3-draft"] {
        let (is_good, message) = ran(&["copy", &store, &place.at("refused"), "--format", format]);
        assert!(!is_good && message.contains("/a") && message.contains("rectilinear"), "{message}");
        copied(format, &["--format", format, "--chunks", "2,2"]);
    }
    let (is_good, message) = ran(&["resize", &store, "/a", "--shape", "6,3"]);
    assert!(!is_good && message.contains("chunk_grid"), "{message}");
}
