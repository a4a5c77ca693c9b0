//! Exit status and messages.

use std::process::{Command, Stdio};

use crate::support::{Place, bytes, refused, run, text};

#[test]
fn wrong_usage_ends_with_status_two() {
    for arguments in [
        &["no-such-verb"][..],
        &["tree"],
        &["get", "store"],
        &["tree", "store", "--strict", "--compat"],
        &["tree", "store", "--as", "v4"],
        &["create", "store", "/a", "--shape", "3,x", "--dtype", "int8"],
        &["create", "store", "/a", "--shape", "3"],
        &["create", "store", "/a", "--shape", "3", "--dtype", "int8", "--codec", "gzip:5"],
        &["create", "store", "/a", "--shape", "3", "--dtype", "int8", "--attr", "a"],
        &["create", "store", "/a", "--shape", "3", "--dtype", "int8", "--grid", "{}", "--chunks", "3"],
        &["get", "store", "/a", "--format", "xml"],
        &["attrs", "store", "/a", "--set", "a=not json"],
        &["completions", "no-such-shell"],
    ] {
        refused(arguments, 2);
    }
}

#[test]
fn no_arguments_at_all_show_the_verbs() {
    let output = run::<&str>(&[]);
    assert_eq!(output.status.code(), Some(2));
    let help = String::from_utf8(output.stderr).unwrap();
    for verb in [
        "demo",
        "tree",
        "info",
        "get",
        "create",
        "put",
        "copy",
        "erase",
        "resize",
        "attrs",
        "consolidate",
        "plugins",
    ] {
        assert!(help.contains(&format!("\n  {verb} ")), "{verb} in {help}");
    }
}

#[test]
fn help_and_version_are_no_errors() {
    assert!(text(&["--version"]).starts_with("zarrctl "));
    assert!(text(&["copy", "--help"]).contains("--chunks"));
}

#[test]
fn a_store_without_hierarchy_is_named() {
    let place = Place::new();
    let message = refused(&["tree", &place.at("nothing")], 1);
    assert!(message.contains("nothing") && message.contains("no Zarr hierarchy"), "{message}");
    assert!(!place.path("nothing").exists());
}

#[test]
fn stores_that_come_later_say_so() {
    let place = Place::new();
    for location in ["https://example.org/a.zarr", "s3://bucket/a.zarr"] {
        assert!(refused(&["tree", location], 1).contains("come later"), "{location}");
    }
    let zip = place.file("a.zip", b"PK\x05\x06");
    assert!(refused(&["tree", &zip], 1).contains("zip stores are not in this build"));
}

#[test]
fn a_missing_node_and_one_of_the_wrong_kind_are_named() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/g/a", "--shape", "2", "--dtype", "int8"]);
    assert!(refused(&["get", &store, "/g/b"], 1).contains("/g/b"));
    assert!(refused(&["get", &store, "/g"], 1).contains("is a group"));
    assert!(refused(&["info", &store, "/x"], 1).contains("/x"));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "4000,4000", "--chunks", "1000,1000", "--dtype", "uint8"]);
    let mut get = Command::new(env!("CARGO_BIN_EXE_zarrctl"));
    let pipes =
        get.args(["get", &store, "a", "--format", "raw"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(text(&["completions", shell]).contains("consolidate"), "{shell}");
    }
}

#[test]
fn plugins_are_listed_with_their_identifiers_and_crates() {
    let list = text(&["plugins"]);
    assert_eq!(list, text(&["plugins", "list"]));
    let gzip = list.lines().find(|line| line.trim_start().starts_with("gzip ")).unwrap();
    for part in
        ["zarr-codec-gzip", "v2 gzip", "v3-draft https://purl.org/zarr/spec/codecs/gzip/1.0", "v3 gzip"]
    {
        assert!(gzip.contains(part), "{part} in {gzip}");
    }
    for point in ["codec", "data type", "chunk grid", "chunk key encoding", "metadata encoding", "store"] {
        assert!(list.lines().any(|line| line == point), "{point}");
    }
    let json = text(&["plugins", "--json"]);
    assert_eq!(json, text(&["plugins", "list", "--json"]));
    assert!(json.contains(r#""package": "zarr-codec-gzip""#), "{json}");
}

#[test]
fn the_demonstration_reads_back_what_it_wrote() {
    let place = Place::new();
    let folder = place.at("demo");
    let shown = text(&["demo", &folder]);
    assert!(shown.contains("Everything that was written was read back equal."), "{shown}");
    assert!(!shown.contains("DIFFERENT"), "{shown}");
    for part in
        ["── ", "v3-draft", "zarr.json", ".zarray", "sharding_indexed", "numpy.datetime64[s]", "complex64"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(shown.contains("@@@"), "no picture in {shown}");
    assert!(!shown.contains('\x1b'), "colours where there is no terminal");
    // What is there already is not written over.
    assert_eq!(run(&["demo", &folder]).status.code(), Some(1));
}
