//! Copies by `zarrctl` of data that xarray and zarr-python wrote, read back by these programs.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use zarr_interop::environment::run_script;
use zarr_interop::{Packages, python, zarrctl};

/// A folder with the output of one of the scripts.
struct Written {
    python: PathBuf,
    folder: TempDir,
}

impl Written {
    /// Runs a script; returns `None` after a visible skip.
    fn by(script: &str) -> Option<Self> {
        let python = python(Packages::Xarray)?;
        let written = Self { python, folder: tempfile::tempdir().unwrap() };
        let (said, ok) = written.run(script, &["write", written.folder.path().to_str().unwrap()]);
        assert!(ok, "{said}");
        Some(written)
    }

    fn run(&self, script: &str, arguments: &[&str]) -> (String, bool) {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        run_script(&self.python, &format!("copies/{script}"), &arguments)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }
}

/// Runs the program, which must succeed, and returns its messages.
fn run(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

#[test]
fn a_copy_between_formats_is_read_back_by_xarray() {
    let Some(written) = Written::by("datasets.py") else { return };
    let program = zarrctl();
    for (from, to) in [("v2", "v3"), ("v3", "v2"), ("v2", "v2"), ("v3", "v3")] {
        for more in [&[][..], &["--codec", "zstd"]] {
            let source = written.path(&format!("{from}.zarr"));
            let copy = written.path(&format!("{from}-to-{to}-{}", more.len()));
            let said = run(&program, &[&["copy", &source, &copy, "--format", to], more].concat());
            assert!(!said.contains("xarray"), "{said}");
            let (said, ok) = written.run("datasets.py", &["compare", &source, &copy]);
            assert!(ok, "{from} to {to} with {more:?}:\n{said}");
        }
    }
}

#[test]
fn xarray_reads_the_same_data_after_a_copy_there_and_back() {
    let Some(written) = Written::by("datasets.py") else { return };
    let program = zarrctl();
    for (from, to) in [("v2", "v3"), ("v3", "v2")] {
        let source = written.path(&format!("{from}.zarr"));
        let there = written.path(&format!("{to}-there"));
        let back = written.path(&format!("{from}-back"));
        run(&program, &["copy", &source, &there, "--format", to]);
        run(&program, &["copy", &there, &back, "--format", from]);
        let (said, ok) = written.run("datasets.py", &["compare", &source, &back]);
        assert!(ok, "{from}:\n{said}");
    }
}

#[test]
fn a_copy_warns_if_xarray_will_read_fill_values_as_missing() {
    let Some(written) = Written::by("datasets.py") else { return };
    let program = zarrctl();
    let source = written.path("sparse");
    let copy = written.path("sparse-copy");
    let create = ["create", &source, "/a", "--shape", "4", "--chunks", "2", "--dtype", "int16"];
    run(&program, &[&create[..], &["--dimension-names", "x", "--fill", "7"]].concat());
    let said = run(&program, &["copy", &source, &copy, "--format", "v2"]);
    assert!(said.contains("/a: `fill_value`: xarray will read elements that equal 7 as missing"), "{said}");
}

#[test]
fn codecs_keep_names_that_zarr_python_knows() {
    let Some(written) = Written::by("names.py") else { return };
    let program = zarrctl();
    for (from, to, more) in [
        ("v3", "v3", &["--chunks", "6"][..]),
        ("v3", "v3", &["--shards", "12", "--chunks", "4"]),
        ("v2", "v3", &[]),
        ("v2", "v3", &["--chunks", "6"]),
    ] {
        let source = written.path(from);
        let copy = written.path(&format!("{from}-to-{to}{}", more.concat()));
        run(&program, &[&["copy", &source, &copy, "--format", to], more].concat());
        let (said, ok) = written.run("names.py", &["compare", &source, &copy]);
        assert!(ok, "{from} to {to} with {more:?}:\n{said}");
    }
}

#[test]
fn a_codec_is_written_by_its_given_name() {
    let Some(written) = Written::by("names.py") else { return };
    let program = zarrctl();
    for (name, is_known) in [("numcodecs.bitround", true), ("bitround", false)] {
        let store = written.path(name);
        let codec = format!(r#"{name}:{{"keepbits":3}}"#);
        let create = ["create", &store, "/a", "--shape", "4", "--dtype", "float32", "--codec", &codec];
        run(&program, &create);
        let document = std::fs::read_to_string(format!("{store}/a/zarr.json")).unwrap();
        assert!(document.contains(&format!(r#""name": "{name}""#)), "{document}");
        let (said, ok) = written.run("names.py", &["open", &format!("{store}/a")]);
        assert_eq!(ok, is_known, "{said}");
    }
}
