//! `--require-conditional`, and the warning of stores without conditional writes.

use crate::support::{Place, bytes, refused, run};

/// Creates an array of two chunks in a folder. Returns a description of the folder without locks, so that the store does
/// not have conditional writes.
fn without_conditions(place: &Place) -> String {
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "4", "--chunks", "2", "--dtype", "int8"]);
    format!(r#"{{"type": "filesystem", "path": "{store}", "locking": "none"}}"#)
}

fn changes<'a>(store: &'a str, part: &'a str) -> [Vec<&'a str>; 5] {
    [
        vec!["attrs", store, "/a", "--set", "k=1"],
        vec!["put", store, "/a", part, "--format", "raw", "--select", "1:2"],
        vec!["resize", store, "/a", "--shape", "6"],
        vec!["create", store, "/b", "--shape", "4", "--dtype", "int8"],
        vec!["consolidate", store],
    ]
}

#[test]
fn changes_without_conditions_are_refused_if_they_are_required() {
    let place = Place::new();
    let store = without_conditions(&place);
    let part = place.file("part.raw", &[7]);
    let before = place.files("store");
    for change in changes(&store, &part) {
        let message = refused(&[&["--require-conditional"][..], &change[..]].concat(), 1);
        assert!(message.contains("does not have conditional writes, which are required"), "{message}");
    }
    // The description of the store may require them, too.
    let requiring = store.replace("\"none\"", "\"none\", \"conditional\": \"require\"");
    for change in changes(&requiring, &part) {
        let message = refused(&change, 1);
        assert!(message.contains("does not have conditional writes, which are required"), "{message}");
    }
    assert_eq!(place.files("store"), before);
    // A whole chunk is not read before it is written.
    let whole = place.file("whole.raw", &[1; 4]);
    bytes(&["--require-conditional", "put", &store, "/a", &whole, "--format", "raw"]);
    // A local folder with its locks has conditional writes.
    for change in changes(&place.at("store"), &part) {
        bytes(&[&["--require-conditional"][..], &change[..]].concat());
    }
}

#[test]
fn a_change_without_conditions_prints_one_warning() {
    let place = Place::new();
    let store = without_conditions(&place);
    let part = place.file("part.raw", &[7]);
    let [attributes, put, resize, _create, consolidate] = changes(&store, &part);
    for change in [attributes, put, resize, consolidate] {
        let output = run(&change);
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{messages}");
        let warnings = messages.matches("does not have conditional writes").count();
        assert_eq!(warnings, 1, "{change:?}: {messages}");
        assert!(messages.starts_with("warning: "), "{messages}");
    }
    let whole = place.file("whole.raw", &[1; 6]);
    bytes(&["put", &store, "/a", &whole, "--format", "raw"]);
}
