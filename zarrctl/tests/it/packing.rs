//! `pack`, and archives as stores of all commands.

use std::fs;

use crate::support::{Place, bytes, refused, text};

/// Creates the hierarchy `a.zarr` with an array `/g/a` of the numbers 0 to 5.
fn filled(place: &Place, format: &str) -> String {
    let store = place.at("a.zarr");
    let elements = place.file("elements", &[0, 1, 2, 3, 4, 5]);
    let create = ["create", &store, "/g/a", "--shape", "6", "--chunks", "4", "--dtype", "uint8"];
    text(&[&create[..], &["--format", format]].concat());
    text(&["put", "--format", "raw", &store, "/g/a", &elements]);
    store
}

#[test]
fn a_packed_hierarchy_is_read_like_a_folder() {
    for format in ["v2", "v3-draft", "v3"] {
        let place = Place::new();
        let store = filled(&place, format);
        let archive = place.at("a.zip");
        text(&["pack", &store, &archive]);
        for location in [archive.clone(), format!("zip:{archive}"), format!("file://{archive}")] {
            assert_eq!(bytes(&["get", &location, "/g/a"]), [0, 1, 2, 3, 4, 5], "{location}");
        }
        let tree = |location: &str| text(&["tree", location]);
        assert_eq!(tree(&archive), tree(&store));
        // The archive can be copied back to a folder.
        let copy = place.at("copy.zarr");
        text(&["copy", &archive, &copy]);
        assert_eq!(bytes(&["get", &copy, "/g/a"]), [0, 1, 2, 3, 4, 5]);
        // An archive can be packed like any other store.
        let again = place.at("again.ozx");
        text(&["pack", &archive, &again]);
        assert!(fs::read(&again).unwrap() == fs::read(&archive).unwrap());
    }
}

#[test]
fn a_part_of_a_hierarchy_is_packed_as_a_root() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive, "--path", "/g"]);
    assert_eq!(bytes(&["get", &archive, "/a"]), [0, 1, 2, 3, 4, 5]);
    assert!(refused(&["pack", &store, &place.at("b.zip"), "--path", "/h"], 1).contains("no node at /h"));
    let draft = Place::new();
    let message = refused(&["pack", &filled(&draft, "v3-draft"), &draft.at("b.zip"), "--path", "/g"], 1);
    assert!(
        message.contains("--path is not supported for the v3 draft") && !draft.path("b.zip").exists(),
        "{message}"
    );
}

#[test]
fn the_ome_zarr_version_is_the_comment_of_the_archive() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let archive = place.at("a.ozx");
    text(&["attrs", &store, "/", "--set", r#"ome={"version":"0.5"}"#]);
    text(&["pack", &store, &archive]);
    assert!(fs::read(archive).unwrap().ends_with(br#"{"ome":{"version":"0.5"}}"#));
}

#[test]
fn an_archive_is_written_atomically_and_never_replaces_a_file() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let there = place.file("there.zip", b"mine");
    assert!(refused(&["pack", &store, &there], 1).contains("already exists"));
    assert_eq!(fs::read(&there).unwrap(), b"mine");
    assert!(
        refused(&["pack", &store, &place.at("a.zarr/inside.zip")], 1).contains("is inside the packed folder")
    );
    assert!(refused(&["pack", &store, &place.at("none/a.zip")], 1).contains("none"));
    assert!(refused(&["pack", &place.at("nothing"), &place.at("b.zip")], 1).contains("no Zarr hierarchy"));
    // A failed read leaves no files.
    let broken = place.file("broken.zip", &broken());
    assert!(refused(&["pack", &broken, &place.at("b.zip")], 1).contains("CRC-32"));
    let files = place.files("");
    assert!(!files.iter().any(|file| file.contains(".zarr-tmp-") || file == "b.zip"), "{files:?}");
}

/// Returns a packed hierarchy with one bit of a chunk flipped.
fn broken() -> Vec<u8> {
    let place = Place::new();
    let store = filled(&place, "v3");
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive]);
    let mut bytes = fs::read(archive).unwrap();
    let name = b"g/a/c/0";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at + name.len()] ^= 1;
    bytes
}

#[test]
fn nothing_is_written_into_an_archive() {
    let place = Place::new();
    let store = filled(&place, "v3");
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive]);
    let before = fs::read(&archive).unwrap();
    let elements = place.at("elements");
    let url = format!("zip:{archive}");
    let new = place.at("new.zip");
    for arguments in [
        &["create", &archive, "/b", "--shape", "4", "--dtype", "int8"][..],
        &["create", &url, "/b", "--shape", "4", "--dtype", "int8"],
        &["create", &new, "/b", "--shape", "4", "--dtype", "int8"],
        &["put", "--format", "raw", &archive, "/g/a", &elements],
        &["erase", &archive, "/g/a"],
        &["resize", &archive, "/g/a", "--shape", "2"],
        &["attrs", &archive, "/", "--set", "n=1"],
        &["consolidate", &archive],
        &["copy", &store, &archive],
        &["copy", &store, &new],
    ] {
        let message = refused(arguments, 1);
        assert!(message.contains("with `zarrctl pack`"), "{arguments:?}: {message}");
    }
    assert!(fs::read(&archive).unwrap() == before);
    assert!(!place.path("new.zip").exists());
}

#[test]
fn invalid_archives_are_named() {
    let place = Place::new();
    let tree = |location: &str| refused(&["tree", location], 1);
    let empty = place.file("empty.zip", b"");
    assert!(tree(&empty).contains("cannot be read as a zip archive"));
    assert!(tree(&format!("zip:{empty}")).contains("it is empty"));
    assert!(tree(&place.file("text.zip", b"some text")).contains("cannot be read as a zip archive"));
    assert!(tree(&place.at("nowhere.zip")).contains("nowhere.zip` does not exist"));
    assert!(tree(&format!("zip:{}", place.at("nowhere.zip"))).contains("nowhere.zip"));
    let without_entries = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    assert!(tree(&place.file("none.zip", without_entries)).contains("the store is empty"));

    let store = filled(&place, "v3");
    let archive = place.at("a.zip");
    text(&["pack", &store, &archive]);
    let whole = fs::read(&archive).unwrap();
    assert!(tree(&place.file("cut.zip", &whole[..whole.len() - 30])).contains("truncated"));
    // A folder may have the extension of an archive.
    fs::rename(&store, place.path("folder.zip")).unwrap();
    assert_eq!(bytes(&["get", &place.at("folder.zip"), "/g/a"]), [0, 1, 2, 3, 4, 5]);
}
