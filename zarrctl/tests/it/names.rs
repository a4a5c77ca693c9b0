//! Nodes with unusual names and unreadable nodes: nothing is left out silently.

use std::fs;

use crate::support::{Place, bytes, refused, run, text};

const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

/// Creates a v3 group with the nodes `ok` and `tab\tx`, as zarr-python creates them.
fn hierarchy(place: &Place) -> String {
    let store = place.at("store");
    bytes(&["create", &store, "/ok", "--shape", "2", "--dtype", "int8"]);
    let document = fs::read(place.path("store/ok/zarr.json")).unwrap();
    place.file("store/tab\tx/zarr.json", &document);
    place.file("store/tab\tx/c/0", b"");
    store
}

#[test]
fn nodes_with_control_characters_in_their_names_are_listed_and_copied() {
    let place = Place::new();
    let store = hierarchy(&place);
    let tree = text(&["tree", &store]);
    assert!(tree.contains("└─ tab\\tx int8 [2]"), "{tree}");
    bytes(&["get", &store, "tab\tx", "--select", "0:0", "--format", "json"]);
    fs::remove_dir_all(place.path("store/tab\tx/c")).unwrap();
    for format in ["v3", "v2"] {
        let copy = place.at(format);
        assert_eq!(run(&["copy", &store, &copy, "--format", format]).status.code(), Some(0));
        assert!(text(&["tree", &copy]).contains("tab\\tx int8 [2]"), "{format}");
    }
    let archive = place.at("a.zip");
    bytes(&["pack", &store, &archive]);
    assert_eq!(tree.lines().count(), text(&["tree", &archive]).lines().count());
}

#[test]
fn a_reserved_name_is_listed_with_the_reason_and_stops_a_copy() {
    let place = Place::new();
    let store = hierarchy(&place);
    place.file("store/__x/zarr.json", GROUP.as_bytes());
    let reason = "`__x` is not a node name in v3: names that begin with `__` are reserved";
    let tree = text(&["tree", &store]);
    assert!(tree.contains(&format!("├─ __x unreadable: {reason}")), "{tree}");
    assert!(text(&["tree", &store, "--json"]).contains("unreadable"));
    let message = refused(&["copy", &store, &place.at("copy")], 1);
    assert!(message.contains(&format!("nothing is copied:\n  /__x: {reason}")), "{message}");
    assert!(refused(&["info", &store, "__x"], 1).contains(reason));
    // `pack` copies every value unchanged.
    let archive = place.at("a.zip");
    bytes(&["pack", &store, &archive]);
    assert!(text(&["tree", &archive]).contains(reason));
    // Consolidated metadata contains only valid nodes.
    let consolidated = run(&["consolidate", &store]);
    let told = String::from_utf8(consolidated.stderr).unwrap();
    assert!(
        consolidated.status.success() && told.contains("/__x is left out of the consolidated metadata"),
        "{told}"
    );
}

#[cfg(unix)]
#[test]
fn a_document_that_cannot_be_read_does_not_end_a_tree() {
    let place = Place::new();
    for (format, document) in [("v3", "zarr.json"), ("v2", ".zarray"), ("v3-draft", "")] {
        let store = place.at(format);
        for path in ["/a", "/b", "/c"] {
            bytes(&["create", &store, path, "--shape", "2", "--dtype", "int8", "--format", format]);
        }
        let document = match format {
            "v3-draft" => place.path("v3-draft/meta/b.array.json"),
            _ => place.path(format).join("b").join(document),
        };
        // Not even a privileged user can read a pipe as a document.
        fs::remove_file(&document).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&document).status().unwrap();
        assert!(made.success());
        let output = run(&["tree", &store]);
        let tree = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(tree.contains("─ a int8") && tree.contains("─ c int8"), "{format}: {tree}");
        assert!(tree.contains("─ b unreadable: "), "{format}: {tree}");
        // Warnings about the listing may precede the message.
        let output = run(&["copy", &store, &place.at(&format!("{format}-copy"))]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{format}: {message}");
        assert!(message.contains("nothing is copied:\n  /b: "), "{format}: {message}");
    }
}

#[test]
fn a_path_may_end_in_a_slash() {
    let place = Place::new();
    let store = hierarchy(&place);
    assert_eq!(text(&["info", &store, "ok/"]), text(&["info", &store, "/ok"]));
    assert!(refused(&["info", &store, "ok//"], 1).contains("ends in `/`"));
}
