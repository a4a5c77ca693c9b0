//! `--durable`: which commands wait for the disk.

use std::process::Command;

use crate::kills::trace::{End, run};
use crate::support::{Place, bytes, program};

/// Runs a command in the folder of `place`. Returns how often it waits for the disk.
fn syncs(place: &Place, command: &mut Command, arguments: &[&str]) -> usize {
    let run = run(command.args(arguments), &place.path(""), None);
    assert_eq!(run.end, End::Exited(0), "{arguments:?}");
    run.syncs
}

/// A store with an array of two chunks, and elements to write to it.
fn prepared() -> Place {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/g/a", "--shape", "4", "--chunks", "2", "--dtype", "int8"]);
    bytes(&["put", &store, "/g/a", &place.file("in.raw", &[1; 4]), "--format", "raw"]);
    place
}

/// Every command that writes, and how often it waits without the option.
const COMMANDS: [(&[&str], usize); 11] = [
    (&["create", "store", "/b", "--shape", "4", "--dtype", "int8"], 0),
    (&["put", "store", "/g/a", "in.raw", "--format", "raw"], 0),
    (&["copy", "store", "copy"], 0),
    // The begin and the end of one call: an archive is never named before it is on the disk.
    (&["pack", "store", "store.zip"], 2),
    (&["erase", "store", "/g/a"], 0),
    (&["erase", "store", "/g", "--all"], 0),
    (&["resize", "store", "/g/a", "--shape", "2"], 0),
    (&["attrs", "store", "/g/a", "--set", "k=1"], 0),
    (&["consolidate", "store"], 0),
    (&["get", "store", "/g/a", "-o", "out.npy"], 0),
    (&["demo", "demo"], 0),
];

#[test]
fn every_command_that_writes_waits_for_the_disk_if_asked_to() {
    for (arguments, without) in COMMANDS {
        assert_eq!(syncs(&prepared(), &mut program(), arguments), without, "{arguments:?}");
        let option = syncs(&prepared(), program().arg("--durable"), arguments);
        // The contents of a file, and the folder of its name; each call begins and ends.
        let least = if arguments[0] == "erase" { 2 } else { 4 };
        assert!(option >= without.max(least), "{arguments:?}: {option}");
    }
}

#[test]
fn clean_waits_for_the_disk_if_asked_to() {
    let clean = ["clean", "store", "--older-than", "0s"];
    for (option, waits) in [(&[][..], false), (&["--durable"], true)] {
        let place = prepared();
        std::fs::remove_file(place.path("store/g/a/zarr.json")).unwrap();
        assert_eq!(syncs(&place, program().args(option), &clean) > 0, waits);
        assert!(!place.path("store/g/a").exists());
    }
}

#[test]
fn a_description_of_a_store_decides_for_itself() {
    for (more, waits) in [("", true), (r#","durable":false"#, false), (r#","durable":true"#, true)] {
        let place = prepared();
        let store = format!(r#"{{"type":"filesystem","path":"store"{more}}}"#);
        let set = ["--durable", "attrs", &store, "/g/a", "--set", "k=1"];
        assert_eq!(syncs(&place, &mut program(), &set) > 0, waits, "{more}");
    }
}

#[test]
fn the_variable_is_a_default_that_must_be_understood() {
    let place = prepared();
    let set = ["attrs", "store", "/g/a", "--set", "k=1"];
    for value in ["0", "false", ""] {
        assert_eq!(syncs(&place, program().env("ZARR_KIT_DURABLE", value), &set), 0, "{value}");
    }
    for value in ["1", "true"] {
        assert!(syncs(&place, program().env("ZARR_KIT_DURABLE", value), &set) > 0, "{value}");
    }
    let output = program().env("ZARR_KIT_DURABLE", "yes").args(["tree", "store"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("ZARR_KIT_DURABLE is `yes`, expected 1, true, 0 or false"), "{error}");
    assert!(syncs(&place, program().env("ZARR_KIT_DURABLE", "0").arg("--durable"), &set) > 0);
}
