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
fn what_is_no_store_says_what_one_is() {
    let place = Place::new();
    assert!(refused(&["tree", ""], 1).contains("a path, a URL or a JSON description"));
    let file = place.file("a.txt", b"text");
    assert!(refused(&["tree", &file], 1).contains("is a file, not a store"));
    let zip = refused(&["tree", r#"{"type":"zip","path":"a.zip"}"#], 1);
    assert!(zip.contains("`zip` are not in this build, and come later; there are "), "{zip}");
    let unknown = refused(&["tree", r#"{"type":"tape"}"#], 1);
    assert!(
        unknown.contains("store `tape` is unknown; there are ") && unknown.contains("`memory`"),
        "{unknown}"
    );
}

#[test]
fn what_is_written_to_memory_is_not_kept_and_told_so() {
    let output = run(&["create", "memory:", "/a", "--shape", "4", "--dtype", "int8"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("is gone when this program ends"));
}

#[test]
fn names_that_are_almost_right_are_told() {
    let place = Place::new();
    let store = place.at("store");
    let create = ["create", &store, "/a", "--shape", "4", "--dtype"];
    for (more, part) in [
        (&["floot32"][..], "data type `floot32` is unknown; there is `float32`"),
        (&["float"], "there are `float16`, `float32`, `float64`"),
        (&["int8", "--codec", "gzp"], "codec `gzp` is unknown; there is `gzip`"),
        (&["int8", "--chunks", "2,2"], "`chunks`: has 2 entries, and the array has 1 dimension"),
    ] {
        let message = refused(&[&create[..], more].concat(), 1);
        assert!(message.contains(part), "{part} in {message}");
    }
    let negative = refused(&["create", &store, "/a", "--shape", "-1", "--dtype", "int8"], 2);
    assert!(negative.contains("`-1` is no number of elements"), "{negative}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_to_is_named_without_numbers_of_the_system() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "4", "--dtype", "int8"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut tree = Command::new(env!("CARGO_BIN_EXE_zarrctl"));
    let output = tree.args(["tree", &store]).stdout(full).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "error: writing to standard output: No space left on device\n");
    assert_eq!(output.status.code(), Some(1));
    let message = refused(&["get", &store, "/a", "-o", &place.at("no/such/folder")], 1);
    assert!(message.contains("no/such/folder") && !message.contains("os error"), "{message}");
}

#[test]
fn a_missing_node_and_one_of_the_wrong_kind_are_named() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/g/a", "--shape", "2", "--dtype", "int8"]);
    assert!(refused(&["get", &store, "/g/b"], 1).contains("/g/b"));
    assert!(refused(&["get", &store, "/g"], 1).contains("is a group"));
    let message = refused(&["info", &store, "/x"], 1);
    assert!(message.contains("no node at /x; `zarrctl tree` lists"), "{message}");
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
    assert!(refused(&["demo", &folder], 1).contains("is not empty"));
}

#[test]
fn the_commands_of_the_readme_work_as_they_are_written() {
    let readme = include_str!("../../../README.md");
    let section = readme.split("## From the terminal").nth(1).unwrap();
    let commands = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let place = Place::new();
    for line in commands.lines() {
        let (command, _) = line.split_once("  #").unwrap_or((line, ""));
        // What is between quotes is one argument.
        let parts = command.strip_prefix("zarrctl ").unwrap().split('"').enumerate();
        let arguments = parts.flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let mut program = Command::new(env!("CARGO_BIN_EXE_zarrctl"));
        let output = program.args(arguments).current_dir(place.path("")).output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), messages.as_str()), (Some(0), ""), "{line}");
    }
    let part = ["get", &place.at("demo/v3"), "image/mandelbrot", "--select", "0:100, ::2", "--format", "raw"];
    assert_eq!(bytes(&part), bytes(&["get", &place.at("new.zarr"), "a", "--format", "raw"]));
}
