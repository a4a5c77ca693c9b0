//! The program with default features: verbs and stores of other builds are refused with the command that adds them.
#![cfg(not(feature = "full"))]
#![expect(clippy::unwrap_used, reason = "a failure to run the program is a failed test")]

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zarrctl")).args(arguments).output().unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn missing_verbs_and_stores_are_refused_with_the_command_that_adds_them() {
    let command = "cargo run --release -p zarrctl --features full -- ";
    let verb = refused(&["conformance", "plugin", "zstd", "--level", "L1"]);
    assert!(verb.ends_with(&format!("{command}conformance plugin zstd --level L1\n")), "{verb}");
    let store = refused(&["tree", "s3://bucket/a b.zarr"]);
    assert!(store.ends_with(&format!("{command}tree 's3://bucket/a b.zarr'\n")), "{store}");
    #[cfg(target_os = "linux")]
    assert!(refused(&["plugins", "probe", "xor.so"]).ends_with(&format!("{command}plugins probe xor.so\n")));
}

#[test]
fn the_demo_works_with_default_features() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["demo", folder.path().join("demo").to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
