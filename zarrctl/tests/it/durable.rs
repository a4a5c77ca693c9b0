//! `--durable`: which commands wait until their writes are on the disk.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use crate::kills::trace::{End, run};
use crate::support::{Place, bytes, program};

/// Runs a command in the folder of `place`. Returns the files and folders below it that the command syncs.
fn synced(place: &Place, command: &mut Command, arguments: &[&str]) -> BTreeSet<String> {
    let root = place.path("").canonicalize().unwrap();
    let run = run(command.args(arguments), &root, None);
    assert_eq!(run.end, End::Exited(0), "{arguments:?}");
    let below = |path: &PathBuf| Some(path.strip_prefix(&root).ok()?.to_str().unwrap().to_owned());
    run.synced.iter().filter_map(below).collect()
}

/// Creates a store with an array of two chunks, and a file with elements to write to it.
fn prepared() -> Place {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/g/a", "--shape", "4", "--chunks", "2", "--dtype", "int8"]);
    bytes(&["put", &store, "/g/a", &place.file("in.raw", &[1; 4]), "--format", "raw"]);
    place
}

/// Every command that writes, with folders that it syncs with `--durable`.
const COMMANDS: [(&[&str], &[&str]); 12] = [
    (
        &["create", "new/store", "/b", "--shape", "4", "--dtype", "int8"],
        &["new/store/b", "new/store", "new", ""],
    ),
    (&["put", "store", "/g/a", "in.raw", "--format", "raw"], &["store/g/a/c"]),
    (&["copy", "store", "copy"], &["copy/g/a/c", "copy/g/a", "copy", ""]),
    (&["pack", "store", "store.zip"], &[""]),
    (&["copy", "store", "copy.zip"], &[""]),
    (&["erase", "store", "/g/a"], &["store/g"]),
    (&["erase", "store", "/g", "--all"], &["store"]),
    (&["resize", "store", "/g/a", "--shape", "2"], &["store/g/a"]),
    (&["attrs", "store", "/g/a", "--set", "k=1"], &["store/g/a"]),
    (&["consolidate", "store"], &["store"]),
    (&["get", "store", "/g/a", "-o", "out.npy"], &[""]),
    (&["demo", "demo"], &["demo/v2", "demo/v3", "demo/v3-draft", "demo", ""]),
];

#[test]
fn every_command_that_writes_syncs_with_durable() {
    for (arguments, folders) in COMMANDS {
        let without = synced(&prepared(), &mut program(), arguments);
        // An archive is never named before its contents are on the disk.
        let is_archive = arguments.iter().any(|argument| argument.ends_with(".zip"));
        let is_expected = |file: &String| is_archive && file.starts_with(".zarr-tmp-");
        assert!(without.iter().all(is_expected), "{arguments:?}: {without:?}");
        let found = synced(&prepared(), program().arg("--durable"), arguments);
        for folder in folders {
            assert!(found.contains(*folder), "{arguments:?}: {folder} is not in {found:?}");
        }
        // Linux shows a file without a name as `#`, a number and `(deleted)`.
        let is_unnamed = |file: &String| file.contains('#') && file.ends_with(" (deleted)");
        let is_new =
            |file: &String| file.contains(".zarr-tmp-") || file.ends_with(".part") || is_unnamed(file);
        let has_contents = found.iter().any(is_new);
        assert!(has_contents || arguments[0] == "erase", "{arguments:?}: {found:?}");
    }
}

#[test]
fn clean_syncs_with_durable() {
    let clean = ["clean", "store", "--older-than", "0s"];
    for (option, waits) in [(&[][..], false), (&["--durable"], true)] {
        let place = prepared();
        std::fs::remove_file(place.path("store/g/a/zarr.json")).unwrap();
        assert_eq!(synced(&place, program().args(option), &clean).contains("store/g"), waits);
        assert!(!place.path("store/g/a").exists());
    }
}

#[test]
fn the_description_of_a_store_overrides_the_option() {
    for (more, waits) in [("", true), (r#","durable":"none""#, false), (r#","durable":"full""#, true)] {
        let place = prepared();
        let store = format!(r#"{{"type":"filesystem","path":"store"{more}}}"#);
        let set = ["--durable", "attrs", &store, "/g/a", "--set", "k=1"];
        assert_eq!(synced(&place, &mut program(), &set).contains("store/g/a"), waits, "{more}");
    }
}

#[test]
fn the_environment_variable_is_the_default_and_must_be_valid() {
    let place = prepared();
    let set = ["attrs", "store", "/g/a", "--set", "k=1"];
    for value in ["0", "false", ""] {
        assert!(synced(&place, program().env("ZARR_KIT_DURABLE", value), &set).is_empty(), "{value}");
    }
    for value in ["1", "true"] {
        assert!(!synced(&place, program().env("ZARR_KIT_DURABLE", value), &set).is_empty(), "{value}");
    }
    let output = program().env("ZARR_KIT_DURABLE", "yes").args(["tree", "store"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("ZARR_KIT_DURABLE is `yes`; expected 1, true, 0 or false"), "{error}");
    assert!(!synced(&place, program().env("ZARR_KIT_DURABLE", "0").arg("--durable"), &set).is_empty());
}
