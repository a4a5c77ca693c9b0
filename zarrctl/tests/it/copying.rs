//! `copy`: between formats, stores and chunkings.

use crate::support::{Place, bytes, refused, run, text};

/// Creates a hierarchy of two groups with attributes and arrays.
pub(crate) fn source(place: &Place, format: &str) -> String {
    let store = place.at("source");
    let more = ["--format", format, "--attr", "n=1", "--fill", "-1", "--codec", r#"gzip:{"level":1}"#];
    bytes(
        &[&["create", &store, "/g/a", "--shape", "7,10", "--chunks", "3,4", "--dtype", "int16"], &more[..]]
            .concat(),
    );
    let raw: Vec<u8> = (0..140).collect();
    bytes(&["put", "--format", "raw", &store, "/g/a", &place.file("a", &raw)]);
    bytes(&["attrs", &store, "/g", "--set", "title=\"t\""]);
    bytes(&["create", &store, "/h/scalar", "--shape", "", "--dtype", "float64", "--fill", "NaN"]);
    bytes(&[
        "create",
        &store,
        "/h/sparse",
        "--shape",
        "1000000,1000000",
        "--chunks",
        "1000,1000",
        "--dtype",
        "uint8",
    ]);
    bytes(&[
        "put",
        "--format",
        "raw",
        &store,
        "/h/sparse",
        &place.file("five", &[5]),
        "--select",
        "999999,500000",
    ]);
    store
}

/// Runs a command that succeeds, and returns what it prints to standard error.
pub(crate) fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {messages}");
    assert_eq!(output.stdout, b"", "{arguments:?}");
    messages
}

fn same_elements(place: &Place, copy: &str) {
    let raw: Vec<u8> = (0..140).collect();
    assert_eq!(bytes(&["get", copy, "/g/a", "--format", "raw"]), raw);
    assert_eq!(text(&["attrs", copy, "/g/a"]), "{\n  \"n\": 1\n}\n");
    assert_eq!(text(&["attrs", copy, "/g"]), "{\n  \"title\": \"t\"\n}\n");
    assert_eq!(text(&["get", copy, "h/scalar", "--format", "csv"]), "NaN\r\n");
    let corner = text(&["get", copy, "h/sparse", "--select", "-2:,500000", "--format", "json"]);
    assert_eq!(corner, "[0, 5]\n");
    let info = text(&["info", copy, "h/sparse", "--json"]);
    assert!(info.contains(r#""chunks_stored": 1"#), "{info} in {:?}", place.path(""));
}

#[test]
fn hierarchies_are_copied_between_all_formats() {
    for from in ["v2", "v3", "v3-draft"] {
        for to in ["v2", "v3", "v3-draft"] {
            let place = Place::new();
            let store = source(&place, from);
            let copy = place.at("copy");
            bytes(&["copy", &store, &copy, "--format", to]);
            assert!(text(&["info", &copy, "--json"]).contains(&format!(r#""format": "{to}""#)));
            same_elements(&place, &copy);
        }
    }
}

#[test]
fn unchanged_chunks_are_copied_without_decoding() {
    let place = Place::new();
    let store = source(&place, "v3");
    // This is not a gzip stream, so the copy must not decode it.
    place.file("source/g/a/c/0/0", b"not gzip");
    bytes(&["copy", &store, &place.at("copy")]);
    assert_eq!(place.files("copy"), place.files("source"));
    assert_eq!(std::fs::read(place.path("copy/g/a/c/0/0")).unwrap(), b"not gzip");
    let message = refused(&["copy", &store, &place.at("other"), "--chunks", "7,10", "--path", "/g"], 1);
    assert!(message.contains("c/0/0"), "{message}");
    // A failed copy does not leave metadata documents.
    assert!(
        place.files("other").iter().all(|file| !file.ends_with("zarr.json")),
        "{:?}",
        place.files("other")
    );
    assert!(refused(&["tree", &place.at("other")], 1).contains("no Zarr hierarchy"));
}

#[test]
fn chunks_shards_and_codecs_can_change() {
    let place = Place::new();
    let store = source(&place, "v2");
    let raw: Vec<u8> = (0..140).collect();
    for (number, (more, part)) in [
        (
            &["--chunks", "2,2", "--shards", "4,6", "--format", "v3"][..],
            "2 × 2 shards of 4 × 6, inner chunks of 2 × 2",
        ),
        (&["--shards", "6,8", "--format", "v3"], "2 × 2 shards of 6 × 8, inner chunks of 3 × 4"),
        (&["--chunks", "100,1"], "1 × 10 chunks of 100 × 1"),
        (&["--codec", "zstd", "--codec", "crc32c", "--format", "v3"], "crc32c"),
        (&["--codec", "none", "--format", "v3"], "codecs            bytes {\"endian\":\"little\"}"),
        (&["--codec", r#"blosc:{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#], "blosc"),
    ]
    .into_iter()
    .enumerate()
    {
        let copy = place.at(&format!("copy{number}"));
        bytes(&[&["copy", &store, &copy, "--path", "/g/a"], more].concat());
        assert_eq!(bytes(&["get", &copy, "/g/a", "--format", "raw"]), raw, "{more:?}");
        let info = text(&["info", &copy, "/g/a", "--verbose"]);
        assert!(info.contains(part), "{part} in {info}");
        assert!(info.contains("fill value        -1"), "{info}");
    }
    // Shards are copied to a format without shards, and then to shards with another codec.
    let told = said(&["copy", &place.at("copy0"), &place.at("flat"), "--format", "v2"]);
    let shards =
        "/g/a: `codecs`: shards, which v2 does not support; their inner chunks are the chunks of the copy";
    assert!(told.contains(shards) && told.lines().count() == 2, "{told}");
    assert!(text(&["info", &place.at("flat"), "/g/a"]).contains("4 × 5 chunks of 2 × 2"));
    bytes(&["copy", &place.at("copy0"), &place.at("gzip"), "--codec", r#"gzip:{"level":9}"#]);
    let info = text(&["info", &place.at("gzip"), "/g/a"]);
    assert!(info.contains("shards of 4 × 6, inner chunks of 2 × 2") && info.contains("gzip"), "{info}");
    for copy in ["flat", "gzip"] {
        assert_eq!(bytes(&["get", &place.at(copy), "/g/a", "--format", "raw"]), raw);
    }
}

#[test]
fn a_subtree_keeps_its_path_and_joins_the_existing_hierarchy() {
    let place = Place::new();
    let store = source(&place, "v3");
    let copy = place.at("copy");
    bytes(&["copy", &store, &copy, "--path", "h"]);
    assert_eq!(text(&["tree", &copy]).lines().count(), 4);
    bytes(&["copy", &store, &copy, "--path", "/g"]);
    same_elements(&place, &copy);
    let before = place.files("copy");
    let message = refused(&["copy", &store, &copy, "--path", "/g"], 1);
    assert!(message.contains("/g/a"), "{message}");
    assert_eq!(place.files("copy"), before);
}

#[test]
fn chunks_of_an_earlier_attempt_are_not_read() {
    let place = Place::new();
    let store = source(&place, "v3");
    place.file("copy/h/sparse/c/0/0", b"from another time");
    bytes(&["copy", &store, &place.at("copy")]);
    same_elements(&place, &place.at("copy"));
}

#[test]
fn a_copy_onto_or_into_itself_is_refused() {
    let place = Place::new();
    let store = source(&place, "v3");
    let before = place.files("source");
    assert!(refused(&["copy", &store, &store], 1).contains("SRC and DST are the same folder"));
    let inside = place.at("source/deeper/copy");
    assert!(refused(&["copy", &store, &inside], 1).contains("is inside SRC"));
    assert!(refused(&["copy", &store, &place.at("source/g/../copy")], 1).contains("is inside SRC"));
    assert_eq!(place.files("source"), before);
    // A folder whose name begins with the name of SRC is not inside SRC.
    bytes(&["copy", &store, &place.at("source2")]);
    bytes(&["copy", &inside.replace("/deeper/copy", "/g"), &place.at("part")]);
}

#[test]
fn files_in_folders_of_groups_are_copied_and_folders_that_are_not_nodes_are_named() {
    let place = Place::new();
    let store = source(&place, "v3");
    place.file("source/g/METADATA.ome.xml", b"<OME/>");
    place.file("source/notes/thesis.txt", b"text");
    let copy = place.at("copy");
    let other = place.at("other");
    let message = said(&["copy", &store, &copy]);
    assert!(message.contains("/: not part of Zarr and not copied: `notes/`"), "{message}");
    assert_eq!(std::fs::read(place.path("copy/g/METADATA.ome.xml")).unwrap(), b"<OME/>");
    assert!(!place.path("copy/notes").exists() && !place.path("copy/g/a/METADATA.ome.xml").exists());
    same_elements(&place, &copy);
    // The draft does not have a folder for each group, so other files are not copied.
    let message = said(&["copy", &store, &other, "--format", "v3-draft"]);
    assert!(message.contains("/g: not part of Zarr and not copied: `METADATA.ome.xml`"));
}

#[test]
fn repeating_a_killed_copy_completes_it() {
    let place = Place::new();
    let store = place.at("store");
    let copy = place.at("copy");
    let ones = place.file("ones", &[1; 8]);
    for path in ["/a", "/b"] {
        bytes(&["create", &store, path, "--shape", "8", "--chunks", "4", "--dtype", "uint8"]);
        bytes(&["put", &store, path, &ones, "--format", "raw"]);
    }
    bytes(&["copy", &store, &copy]);
    // A complete copy is not repeated.
    let message = refused(&["copy", &store, &copy], 1);
    assert!(message.contains("\n  /a: ") && message.contains("\n  /b: "), "{message}");
    std::fs::remove_file(place.path("copy/b/zarr.json")).unwrap();
    bytes(&["copy", &store, &copy]);
    assert_eq!(bytes(&["get", &copy, "/b", "--format", "raw"]), [1; 8]);
    // An existing array with other elements does not count as copied.
    std::fs::remove_file(place.path("copy/b/zarr.json")).unwrap();
    bytes(&["put", &copy, "/a", &place.file("twos", &[2; 4]), "--format", "raw", "--select", ":4"]);
    let message = refused(&["copy", &store, &copy], 1);
    assert!(message.contains("\n  /a: ") && !message.contains("\n  /b: "), "{message}");
}

#[test]
fn a_group_missing_from_consolidated_metadata_is_reused() {
    for format in ["v2", "v3"] {
        let place = Place::new();
        let store = place.at("store");
        let copy = place.at("copy");
        let create = |store: &str, path: &str| {
            bytes(&["create", store, path, "--shape", "8", "--dtype", "uint8", "--format", format]);
        };
        create(&store, "/g/a");
        create(&copy, "/b");
        bytes(&["consolidate", &copy]);
        let before =
            ["zarr.json", ".zmetadata"].map(|name| (name, std::fs::read(place.path("copy").join(name))));
        create(&copy, "/g/c");
        // Restores the old consolidated metadata. A program that is killed before it writes the new metadata leaves
        // this state.
        for (name, contents) in before.into_iter().filter_map(|(name, contents)| Some((name, contents.ok()?)))
        {
            std::fs::write(place.path("copy").join(name), contents).unwrap();
        }
        bytes(&["copy", &store, &copy]);
        assert_eq!(
            bytes(&["get", &copy, "/g/a", "--no-consolidated", "--format", "raw"]),
            [0; 8],
            "{format}"
        );
    }
}
