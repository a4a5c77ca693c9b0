//! N5 containers as stores of commands that write.

use crate::support::{Place, bytes, refused, run, text};

/// Creates a hierarchy with a group and an array of 5 times 7 elements that begins with missing elements.
fn source(place: &Place, format: &str) -> String {
    let store = place.at("source");
    let create = ["create", &store, "/g/a", "--shape", "5,7", "--chunks", "3,4", "--dtype", "int16"];
    bytes(&[&create[..], &["--format", format, "--attr", "units=\"nm\""]].concat());
    let elements: Vec<u8> = (0..35_i16).flat_map(|number| (number / 20).to_le_bytes()).collect();
    bytes(&["put", "--format", "raw", &store, "/g/a", &place.file("a", &elements)]);
    bytes(&["attrs", &store, "/g", "--set", "n=1"]);
    store
}

#[test]
fn hierarchies_are_copied_to_n5_and_back() {
    for format in ["v2", "v3"] {
        let place = Place::new();
        let store = source(&place, format);
        let container = format!("n5:{}", place.at("copy.n5"));
        bytes(&["copy", &store, &container, "--codec", r#"gzip:{"level":1}"#]);
        let document = std::fs::read_to_string(place.path("copy.n5/g/a/attributes.json")).unwrap();
        assert!(document.contains(r#""type":"gzip""#), "{document}");
        let files = place.files("copy.n5");
        let expected =
            ["attributes.json", "g/a/0/1", "g/a/1/0", "g/a/1/1", "g/a/attributes.json", "g/attributes.json"];
        assert!(files.iter().all(|file| expected.contains(&&**file)), "{files:?}");
        let elements = |store: &str| bytes(&["get", store, "/g/a", "--format", "raw"]);
        assert_eq!(elements(&container), elements(&store), "{format}");
        // A second copy is refused as in every store, and replaces the arrays on request.
        let again = ["copy", &store, &container, "--codec", r#"gzip:{"level":1}"#];
        let message = refused(&again, 1);
        assert!(message.contains("/g/a") && message.contains("exist"), "{message}");
        bytes(&[&again[..], &["--overwrite"]].concat());
        assert_eq!(elements(&container), elements(&store), "{format}");
        let back = place.at("back");
        bytes(&["copy", &container, &back, "--codec", "none"]);
        assert_eq!(text(&["digest", &back]), text(&["digest", &store]), "{format}");
    }
}

#[test]
fn arrays_are_created_and_changed_in_n5() {
    let place = Place::new();
    let container = format!("n5:{}", place.at("new.n5"));
    let create = ["create", &container, "/a", "--shape", "4", "--chunks", "3", "--dtype", "uint8"];
    bytes(&[&create[..], &["--codec", "zstd"]].concat());
    bytes(&["put", "--format", "raw", &container, "/a", &place.file("a", &[1, 2, 3, 4])]);
    bytes(&["resize", &container, "/a", "--shape", "6"]);
    assert_eq!(bytes(&["get", &container, "/a", "--format", "raw"]), [1, 2, 3, 4, 0, 0]);
    bytes(&["attrs", &container, "/a", "--set", "n=1"]);
    assert!(text(&["attrs", &container, "/a"]).contains("\"n\": 1"));
    assert!(run(&["erase", &container, "/a"]).status.success());
    assert!(place.files("new.n5").iter().all(|file| file == "attributes.json"));
}

#[test]
fn everything_that_n5_cannot_hold_is_named_before_anything_is_written() {
    let place = Place::new();
    let store = place.at("source");
    let create = |path: &str, more: &[&str]| {
        bytes(&[&["create", &store, path, "--shape", "4", "--chunks", "2"], more].concat());
    };
    create("/complex", &["--dtype", "complex64", "--codec", "gzip"]);
    create("/filled", &["--dtype", "int8", "--fill", "1", "--codec", "gzip"]);
    create("/good", &["--dtype", "int8", "--codec", "gzip"]);
    let container = format!("n5:{}", place.at("copy.n5"));
    let message = refused(&["copy", &store, &container], 1);
    assert!(message.contains("/complex: ") && message.contains("data type \"complex64\""), "{message}");
    assert!(message.contains("/filled: ") && message.contains("the fill value is 1"), "{message}");
    assert!(!message.contains("/good"), "{message}");
    assert!(place.files("copy.n5").is_empty());
}
