//! The Icechunk store as a loaded plugin: repositories are exchanged with the Python package.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use zarr_interop::environment::run_script;
use zarr_interop::icechunk::{cargo, is_unavailable};
use zarr_interop::{Packages, icechunk, python, skip, with_icechunk, zarrctl};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, open_store};
use zarr_loopback::{Options, Server};

/// A folder with a repository, and the Python that has the package.
struct Repository {
    folder: TempDir,
    python: PathBuf,
}

impl Repository {
    fn new() -> Option<Self> {
        let python = python(Packages::Wild("icechunk"))?;
        Some(Self { folder: tempfile::tempdir().unwrap(), python })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data.icechunk")
    }

    fn at(&self, version: &str) -> String {
        format!("{}|icechunk:@{version}", self.path().display())
    }

    /// Runs the script, and returns what it prints.
    fn run(&self, action: &str, arguments: &[&str]) -> Value {
        let path = self.path();
        let mut all = vec![OsStr::new(action), path.as_os_str()];
        all.extend(arguments.iter().map(OsStr::new));
        let (output, is_good) = run_script(&self.python, "icechunk/repository.py", &all);
        assert!(is_good, "{output}");
        let last = output.lines().rev().find(|line| line.starts_with(['{', '"']));
        last.map_or(Value::Null, |line| serde_json::from_str(line).unwrap())
    }
}

fn numbers(context: &Context, location: &str) -> Result<Vec<i16>, Error> {
    let hierarchy = Hierarchy::open(open_store(context.registry(), location)?, context)?;
    Ok(hierarchy.array("/a")?.read_values::<i16>(..)?.to_vec())
}

#[test]
fn the_store_is_formatted() {
    let mut format = Command::new(env!("CARGO"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stores/icechunk");
    assert!(format.args(["fmt", "--all", "--check"]).current_dir(folder).status().unwrap().success());
}

/// Clippy checks everything that is compiled, including the tests.
#[test]
fn the_store_passes_its_tests() {
    let tested = cargo().args(["test", "--locked", "--tests", "--no-fail-fast"]).output().unwrap();
    if let Some(reason) = is_unavailable(&tested) {
        return skip(&format!("the store for Icechunk: {reason}"));
    }
    let text =
        [&tested.stdout, &tested.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
    assert!(tested.status.success() && !text.contains("\nwarning"), "{text}");
}

#[test]
fn repositories_of_the_python_package_are_read_in_all_versions() {
    let Some(repository) = Repository::new() else { return };
    let Some(context) = with_icechunk() else { return };
    let first = repository.run("write", &[]);
    let snapshot = first.as_str().unwrap();
    let path = repository.path().display().to_string();
    for (location, expected) in [
        (format!("icechunk:{path}"), [5, 6, 7, 8]),
        (format!("file://{path}|icechunk:|zarr3:"), [5, 6, 7, 8]),
        (repository.at("branch.main"), [5, 6, 7, 8]),
        (repository.at("branch.dev/"), [1, 2, 3, 4]),
        (repository.at("tag.v1"), [1, 2, 3, 4]),
        (format!("{path}|icechunk://tag.v1/"), [1, 2, 3, 4]),
        (repository.at(snapshot), [1, 2, 3, 4]),
        (format!(r#"{{"type": "icechunk", "path": "{path}", "version": "tag.v1"}}"#), [1, 2, 3, 4]),
    ] {
        assert_eq!(numbers(&context, &location).unwrap(), expected, "{location}");
    }
    let array = open_store(context.registry(), &repository.at("tag.v1/a")).unwrap();
    let array = Hierarchy::open(array, &context).unwrap().array("/").unwrap();
    assert_eq!(array.read_values::<i16>(..).unwrap(), [1, 2, 3, 4]);
    for (location, part) in [
        (repository.at("tag.v2"), "v2"),
        (repository.at("main"), "expected `branch.NAME`, `tag.NAME`"),
        (format!("{path}|icechunk:?path=/etc"), "cannot have the option `path`"),
        (format!("{path}|icechunk:?color=red"), "color"),
    ] {
        let error = open_store(context.registry(), &location).unwrap_err().to_string();
        assert!(error.contains(part), "{location}: {error}");
    }
}

#[test]
fn the_python_package_reads_what_was_committed_here() {
    let Some(repository) = Repository::new() else { return };
    let Some(context) = with_icechunk() else { return };
    let location = format!("{}|icechunk:?message=from%20here", repository.path().display());
    let store = open_store(context.registry(), &location).unwrap();
    let hierarchy = Hierarchy::create(store.clone(), &context, Format::V3).unwrap();
    let large: Vec<i32> = (0..4000).collect();
    for (name, builder) in [
        ("/g/compressed", ArrayBuilder::new([4000], "int32").chunks([900])),
        ("/g/sharded", ArrayBuilder::new([4000], "int32").chunks([100]).shards([1000])),
    ] {
        hierarchy.create_array(name, &builder).unwrap().write_values::<i32>(.., &large).unwrap();
    }
    let scalar = hierarchy.create_array("/scalar", &ArrayBuilder::new([], "int16")).unwrap();
    scalar.write_values::<i16>(.., &[7]).unwrap();
    store.commit().unwrap();
    let read = repository.run("read", &["branch.main"]);
    let expected = json!({"/g/compressed": large, "/g/sharded": large, "/scalar": 7});
    assert_eq!(read["arrays"], expected);
    assert_eq!(read["messages"][0], "from here");
    assert_eq!(hierarchy.array("/g/sharded").unwrap().read_values::<i32>(150..153).unwrap(), [150, 151, 152]);
}

#[test]
fn a_commit_of_the_python_package_in_between_is_a_conflict_or_is_kept() {
    let Some(repository) = Repository::new() else { return };
    let Some(context) = with_icechunk() else { return };
    repository.run("write", &[]);
    let changed = |location: &str, index: u64| {
        let store = open_store(context.registry(), location).unwrap();
        let array = Hierarchy::open(store.clone(), &context).unwrap().array("/a").unwrap();
        array.write_values::<i16>(index..index + 1, &[9]).unwrap();
        store
    };
    // Element 0 is in the same chunk as 1, and not in that of 2.
    let refused = changed(&repository.at("branch.main"), 1);
    let merged = changed(&repository.at("branch.dev"), 2);
    repository.run("change", &[]);
    let error = refused.commit().unwrap_err().to_string();
    assert!(
        error.contains("another one committed to the branch `main`") && error.contains("`a/c/0`"),
        "{error}"
    );
    merged.commit().unwrap();
    drop((refused, merged));
    assert_eq!(repository.run("read", &["branch.main"])["arrays"], json!({"/a": [-1, 6, 7, 8]}));
    assert_eq!(repository.run("read", &["branch.dev"])["arrays"], json!({"/a": [-2, 2, 9, 4]}));
}

#[test]
fn virtual_chunks_of_the_python_package_need_permission() {
    let Some(repository) = Repository::new() else { return };
    let Some(context) = with_icechunk() else { return };
    repository.run("write", &[]);
    let folder = repository.folder.path().canonicalize().unwrap().display().to_string();
    repository.run("virtual", &[&folder]);
    let read = |location: &str| -> Result<Vec<i16>, Error> {
        let hierarchy = Hierarchy::open(open_store(context.registry(), location)?, &context)?;
        Ok(hierarchy.array("/v")?.read_values::<i16>(..)?.to_vec())
    };
    let location = format!("{}|icechunk:", repository.path().display());
    let error = read(&location).unwrap_err().to_string();
    assert!(error.contains(&format!("`file://{folder}/data.bin`")), "{error}");
    assert!(error.contains("option `virtual_chunks`"), "{error}");
    assert_eq!(read(&format!("{location}?virtual_chunks=file://{folder}/")).unwrap(), [1, 2, 3]);
}

/// The repository names the server of the bucket. Without permission, the server gets no request.
#[test]
fn virtual_chunks_in_a_bucket_need_permission() {
    let Some(repository) = Repository::new() else { return };
    let Some(context) = with_icechunk() else { return };
    let server = Server::start(Options::in_memory().logged()).unwrap();
    let values: Vec<u8> = (0..5_i16).flat_map(i16::to_le_bytes).collect();
    server.put("virtual/data.bin", values).unwrap();
    repository.run("write", &[]);
    repository.run("virtual-s3", &[server.endpoint()]);
    let _written = server.take_log();
    let read = |location: &str| -> Result<Vec<i16>, Error> {
        let hierarchy = Hierarchy::open(open_store(context.registry(), location)?, &context)?;
        Ok(hierarchy.array("/v")?.read_values::<i16>(..)?.to_vec())
    };
    let location = format!("{}|icechunk:", repository.path().display());
    for refused in [&location, &format!("{location}?virtual_chunks=s3://bench/other/")] {
        let error = read(refused).unwrap_err().to_string();
        assert!(error.contains("`s3://bench/virtual/data.bin`"), "{error}");
        assert!(error.contains("allow `s3://bench/virtual/` with the option `virtual_chunks`"), "{error}");
    }
    assert_eq!(server.take_log().len(), 0);
    for allowed in ["s3://bench/virtual/", "s3://bench/"] {
        let location = format!("{location}?virtual_chunks={allowed}");
        assert_eq!(read(&location).unwrap(), [1, 2, 3], "{allowed}");
    }
    let log = server.take_log();
    assert!(log.iter().all(|request| request.header("authorization").is_none()) && !log.is_empty());
    server.put("virtual/data.bin", [0]).unwrap();
    let error = read(&format!("{location}?virtual_chunks=s3://bench/")).unwrap_err().to_string();
    assert!(error.contains("v/c/0"), "{error}");
}

/// A user with a home folder.
struct Person(TempDir);

impl Person {
    fn run(&self, arguments: &[&str]) -> Output {
        let mut program = Command::new(zarrctl());
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZARR_PLUGIN_PATH"] {
            program.env_remove(variable);
        }
        program.args(arguments).env("HOME", self.0.path()).output().unwrap()
    }

    fn said(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn complaint(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// The commands of `docs/stores.md`.
#[test]
fn the_plugin_is_installed_and_used_from_the_command_line() {
    let Some(library) = icechunk() else { return };
    let person = Person(tempfile::tempdir().unwrap());
    let at = |name: &str| person.0.path().join(name).display().to_string();
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/wild/icechunk/repository.icechunk");
    let provider = "the plugin `icechunk` (crate zarr-store-icechunk) has it";
    for location in [stored.to_owned(), format!("icechunk:{stored}"), format!("{stored}|icechunk:@tag.v1")] {
        let complaint = person.complaint(&["tree", &location]);
        assert!(complaint.contains(provider), "{complaint}");
    }
    person.said(&["plugins", "pack", library.to_str().unwrap(), "--output", &at("dist")]);
    person.said(&["plugins", "install", &at("dist")]);
    person.said(&["plugins", "trust", "icechunk"]);
    assert!(person.said(&["tree", &format!("icechunk:{stored}")]).contains("numbers"));
    let complaint = person.complaint(&["tree", stored]);
    assert!(
        complaint.contains(&format!("found an Icechunk repository; open it as `icechunk:{stored}`")),
        "{complaint}"
    );

    let ours = format!("icechunk:{}", at("ours.icechunk"));
    person.said(&["copy", &format!("icechunk:{stored}"), &ours]);
    assert_eq!(person.said(&["digest", &ours]), person.said(&["digest", &format!("icechunk:{stored}")]));
    person.said(&["attrs", &ours, "/small", "--set", "checked=true"]);
    assert!(person.said(&["attrs", &ours, "/small"]).contains("checked"));
    person.said(&["erase", &ours, "/g"]);
    assert!(!person.said(&["tree", &ours]).contains("numbers"));
}
