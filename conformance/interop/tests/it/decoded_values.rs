//! `zarrctl get --cf` prints the values that xarray decodes: missing values, packed values, signs and times.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use zarr_interop::environment::run_script;
use zarr_interop::{Packages, python, zarrctl};

/// Datasets, and the Python that wrote them.
struct Written {
    python: PathBuf,
    folder: TempDir,
}

/// The values of each variable.
type Values = BTreeMap<String, Vec<Value>>;

impl Written {
    fn new() -> Option<Self> {
        let written = Self { python: python(Packages::Xarray)?, folder: tempfile::tempdir().unwrap() };
        written.run(&["write".as_ref(), written.folder.path().as_os_str()]);
        Some(written)
    }

    fn run(&self, arguments: &[&OsStr]) -> String {
        let (output, is_good) = run_script(&self.python, "copies/decoded.py", arguments);
        assert!(is_good, "{output}");
        output
    }

    fn at(&self, store: &str) -> PathBuf {
        self.folder.path().join(store)
    }

    /// Returns the values that xarray decodes.
    fn theirs(&self, store: &str, more: &[&OsStr]) -> Values {
        let store = self.at(store);
        let arguments = [&["values".as_ref(), store.as_os_str()][..], more].concat();
        serde_json::from_str(&self.run(&arguments)).unwrap()
    }
}

/// Returns the values that `zarrctl` decodes.
fn ours(store: &Path, variable: &str) -> Vec<Value> {
    let path = format!("/{variable}");
    let mut command = Command::new(zarrctl());
    command.arg("get").arg(store).args([&path, "--cf", "--format", "json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    match serde_json::from_slice(&output.stdout).unwrap() {
        Value::Array(values) => values,
        value => vec![value],
    }
}

/// Returns the variables whose values differ. Numbers are compared as numbers: `1` equals `1.0`.
fn different<'v>(theirs: &'v Values, store: &Path) -> BTreeSet<&'v str> {
    let is_same = |one: &Value, other: &Value| match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    };
    let differs = |(variable, theirs): &(&String, &Vec<Value>)| {
        let ours = ours(store, variable);
        let is_same =
            ours.len() == theirs.len() && ours.iter().zip(*theirs).all(|(one, other)| is_same(one, other));
        if !is_same {
            println!("{variable}: {ours:?} instead of {theirs:?}");
        }
        !is_same
    };
    theirs.iter().filter(differs).map(|(variable, _)| variable.as_str()).collect()
}

#[test]
fn values_are_those_that_xarray_decodes() {
    let Some(written) = Written::new() else { return };
    for store in ["v2.zarr", "v3.zarr"] {
        let theirs = written.theirs(store, &[]);
        assert!(theirs.len() >= 20, "{theirs:?}");
        assert_eq!(different(&theirs, &written.at(store)), BTreeSet::new(), "{store}");
    }
}

/// In v2, the fill value replaces the attribute `_FillValue`. Booleans are the exception: xarray has no `false` if it is
/// the fill value.
#[test]
fn fill_values_of_v2_that_other_programs_wrote_are_missing() {
    let Some(written) = Written::new() else { return };
    let theirs = written.theirs("plain.zarr", &[]);
    assert_eq!(theirs["both"], ["NaN".into(), Value::from(5.0), "NaN".into(), Value::from(7.0)]);
    assert_eq!(different(&theirs, &written.at("plain.zarr")), BTreeSet::from(["flags"]));
    assert_eq!(ours(&written.at("plain.zarr"), "flags"), [true, false, true, false].map(Value::from));
    // xarray does not open an array without names of dimensions.
    assert_eq!(ours(&written.at("unnamed.zarr"), "zero"), [0, 5, 0, 7].map(Value::from));
}

/// In v3, the fill value does not mark missing values, as in xarray without its option for this.
#[test]
fn fill_values_of_v3_are_not_missing() {
    let Some(written) = Written::new() else { return };
    let masked = written.theirs("v3.zarr", &[OsStr::new("masked")]);
    assert_eq!(masked["integers"], [0.0.into(), "NaN".into(), 0.0.into(), Value::from(7.0)]);
    assert!(different(&masked, &written.at("v3.zarr")).contains("integers"));
    assert_eq!(ours(&written.at("v3.zarr"), "integers"), [0, 5, 0, 7].map(Value::from));
}
