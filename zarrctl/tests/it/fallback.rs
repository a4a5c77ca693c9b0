//! Arrays of an unknown data type, read and written as the fallback data type of their documents.

use crate::support::{Place, bytes, refused, run, text};

/// Creates an array `/a` of four elements, of an unknown data type with the fallback `int64`.
fn unknown(place: &Place) -> String {
    let store = place.at("store");
    let create =
        ["create", &store, "/a", "--shape", "4", "--chunks", "2", "--dtype", "<M8[s]", "--codec", "none"];
    bytes(&[&create[..], &["--format", "v3-draft", "--fill", "0"]].concat());
    let raw: Vec<u8> = [1i64, 2, 3, 4].into_iter().flat_map(i64::to_le_bytes).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", &raw)]);
    let document = std::fs::read_to_string(place.path("store/meta/a.array.json")).unwrap();
    let uri = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0";
    assert!(document.contains(uri), "{document}");
    place.file("store/meta/a.array.json", document.replace(uri, "https://e.org/times/1.0").as_bytes());
    store
}

/// Runs a command that succeeds, and returns its standard output and standard error.
fn both(arguments: &[&str]) -> (String, String) {
    let output = run(arguments);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {messages}");
    (String::from_utf8(output.stdout).unwrap(), messages)
}

#[test]
fn all_output_names_the_fallback() {
    let place = Place::new();
    let store = unknown(&place);
    for verb in ["get", "put"] {
        let file = place.at("raw");
        let arguments =
            if verb == "get" { vec![verb, &store, "/a"] } else { vec![verb, &store, "/a", &file] };
        let message = refused(&arguments, 1);
        assert!(
            message.contains("it has the fallback int64, which is used only when asked for"),
            "{message}"
        );
    }
    assert!(text(&["tree", &store]).contains("unreadable"));
    for (verb, part) in [
        ("tree", "int64 (fallback of {"),
        ("info", "fallback          int64 stands in for {"),
        ("get", "[1, 2, 3, 4]"),
    ] {
        let mut arguments = vec![verb, &store, "/a", "--use-fallback"];
        if verb == "get" {
            arguments.extend(["--format", "json"]);
        }
        let (shown, warned) = both(&arguments);
        assert!(shown.contains(part), "{shown}");
        assert!(warned.contains("https://e.org/times/1.0") && warned.contains("fallback int64"), "{warned}");
    }
    for verb in ["tree", "info"] {
        let (shown, _) = both(&[verb, &store, "/a", "--use-fallback", "--json"]);
        assert!(shown.contains(r#""fallback": "int64 stands in for "#), "{shown}");
    }
}

#[test]
fn elements_of_a_fallback_are_written_only_on_request() {
    let place = Place::new();
    let store = unknown(&place);
    let before = std::fs::read(place.path("store/meta/a.array.json")).unwrap();
    let raw: Vec<u8> = [5i64, 6].into_iter().flat_map(i64::to_le_bytes).collect();
    let put = ["put", "--format", "raw", &store, "/a", &place.file("two", &raw), "--select", "2:"];
    let output = run(&[&put[..], &["--use-fallback"]].concat());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && message.contains("written only when asked for"), "{message}");
    let (_, warned) = both(&[&put[..], &["--write-fallback"]].concat());
    assert!(warned.contains("fallback int64"), "{warned}");
    assert_eq!(std::fs::read(place.path("store/data/a/c1")).unwrap(), raw);
    assert_eq!(std::fs::read(place.path("store/meta/a.array.json")).unwrap(), before);
    let (shown, _) = both(&["get", &store, "/a", "--use-fallback", "--format", "json"]);
    assert_eq!(shown, "[1, 2, 5, 6]\n");
}
