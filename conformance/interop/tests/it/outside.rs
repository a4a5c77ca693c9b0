//! Uses the plugins of `conformance/outside` like a third party, which has only the published crates. The plugins are
//! copied to a folder outside of this tree, built there, run through the conformance suite as crates and as
//! libraries, and used by arrays.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;
use zarr_interop::environment::bytecode;
use zarr_interop::{Packages, python, skip, zarrctl};

/// The crates, and the number of plugins in each.
const PLUGINS: [(&str, usize); 5] =
    [("hilbert", 1), ("months", 1), ("sqlite", 1), ("twelve-bits", 3), ("xor", 1)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn source() -> PathBuf {
    root().join("conformance/outside")
}

/// The built plugins, and the program that loads them.
struct Outside {
    folder: PathBuf,
    program: PathBuf,
    /// Prevents other processes from changing the folder while this one runs.
    _lock: File,
}

/// Copies and builds everything once; returns `None` after a visible skip if the dependencies cannot be
/// downloaded.
fn outside() -> Option<&'static Outside> {
    static BUILT: OnceLock<Result<Outside, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        // Uses the same folder each time, so that Cargo can reuse its build.
        let mut hasher = DefaultHasher::new();
        root().hash(&mut hasher);
        let folder = std::env::temp_dir().join(format!("zarr-outside-{:016x}", hasher.finish()));
        let lock = File::create(folder.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        copy(&source(), &folder);
        let outside = Outside { folder, program: zarrctl(), _lock: lock };
        let built = outside.cargo().args(["build", "--workspace"]).output().unwrap();
        let complaint = String::from_utf8_lossy(&built.stderr);
        let is_alone = ["failed to download", "--offline"].iter().any(|it| complaint.contains(it));
        if !built.status.success() && is_alone {
            return Err(complaint.into_owned());
        }
        without_a_warning(&built, &["build"]);
        Ok(outside)
    });
    built.as_ref().inspect_err(|reason| skip(&format!("third-party plugins: {reason}"))).ok()
}

/// Copies the files of a folder with their modification times. Relative paths in manifests become absolute
/// paths to the crates of the framework.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = {
            let entry = entry.unwrap();
            (entry.path(), to.join(entry.file_name()))
        };
        match from.file_name().unwrap().to_str().unwrap() {
            "target" => {}
            _ if from.is_dir() => copy(&from, &to),
            name => {
                let mut text = fs::read_to_string(&from).unwrap();
                if name == "Cargo.toml" && text.contains("[workspace.dependencies]") {
                    let root = root().display().to_string();
                    text = text.replace("\"../../", &format!("\"{root}/"));
                    text = text.replace("\"..\"", &format!("\"{root}/conformance\""));
                }
                fs::write(&to, text).unwrap();
                let modified = fs::metadata(&from).unwrap().modified().unwrap();
                let file = File::options().write(true).open(&to).unwrap();
                file.set_times(FileTimes::new().set_modified(modified)).unwrap();
            }
        }
    }
}

/// Returns the target folder that all builds outside of the workspace share.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins")
}

impl Outside {
    /// Returns the command `cargo`, which runs in the copied folder. If Clippy is installed, it checks everything
    /// that is compiled.
    fn cargo(&self) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.arg("--quiet").current_dir(&self.folder).env("CARGO_TARGET_DIR", target());
        if Command::new("clippy-driver").arg("--version").output().is_ok_and(|output| output.status.success())
        {
            cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        }
        cargo
    }

    fn library(&self, name: &str) -> PathBuf {
        target().join(format!("debug/liboutside_{}_plugin.so", name.replace('-', "_")))
    }
}

/// Returns the output of a program, which must succeed.
fn said(output: &Output, arguments: &[impl AsRef<OsStr>]) -> (String, String) {
    let [said, complained] =
        [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    let arguments: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
    assert!(output.status.success(), "{arguments:?}\n{said}\n{complained}");
    (said, complained)
}

/// Returns the output of Cargo, which must not warn.
fn without_a_warning(output: &Output, arguments: &[&str]) -> String {
    let (said, complained) = said(output, arguments);
    assert!(!complained.contains("warning"), "{complained}");
    said
}

/// A user with a separate home folder and one installed plugin.
struct Person {
    home: TempDir,
    outside: &'static Outside,
    plugin: &'static str,
}

impl Person {
    fn with(plugin: &'static str) -> Option<Self> {
        let person = Self { home: tempfile::tempdir().unwrap(), outside: outside()?, plugin };
        let library = person.outside.library(plugin);
        person.zarrctl(&["plugins", "pack", library.to_str().unwrap(), "--output", &person.at("dist")]);
        person.zarrctl(&["plugins", "install", &person.at("dist")]);
        Some(person)
    }

    fn at(&self, name: &str) -> String {
        self.home.path().join(name).into_os_string().into_string().unwrap()
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut program = Command::new(&self.outside.program);
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZARR_PLUGIN_PATH"] {
            program.env_remove(variable);
        }
        program.args(arguments).env("HOME", self.home.path()).output().unwrap()
    }

    fn zarrctl(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.run(arguments);
        said(&output, arguments);
        output.stdout
    }

    /// Checks that the command fails with a hint until the plugin is trusted, and succeeds afterwards.
    fn trusts(&self, missing: &str, arguments: &[&str]) -> Vec<u8> {
        let output = self.run(arguments);
        let refusal = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {refusal}");
        let leads = format!("`zarrctl plugins trust outside-{}`", self.plugin);
        assert!(refusal.contains(missing) && refusal.contains(&leads), "{refusal}");
        assert!(!Path::new(&self.at("a.zarr")).exists(), "nothing is created");
        self.zarrctl(&["plugins", "trust", &format!("outside-{}", self.plugin)]);
        self.zarrctl(arguments)
    }

    /// Returns the selected elements in raw form.
    fn get(&self, store: &str, path: &str, select: &str) -> Vec<u8> {
        self.zarrctl(&["get", store, path, "--select", select, "--format", "raw"])
    }
}

fn expected(python: &Path, arguments: &[&str]) -> Value {
    let mut script = Command::new(python);
    script.arg(source().join("expected.py")).args(arguments).envs(bytecode());
    serde_json::from_str(&said(&script.output().unwrap(), arguments).0).unwrap()
}

fn little_endian(elements: impl IntoIterator<Item = i16>) -> Vec<u8> {
    elements.into_iter().flat_map(i16::to_le_bytes).collect()
}

#[test]
fn outside_plugins_are_formatted() {
    let mut format = Command::new(env!("CARGO"));
    let arguments = ["fmt", "--all", "--check"];
    said(&format.args(arguments).current_dir(source()).output().unwrap(), &arguments);
}

/// Clippy checks everything that is compiled, including the tests.
#[test]
fn outside_plugins_pass_all_rules_as_crates() {
    let Some(outside) = outside() else { return };
    let arguments = ["test", "--workspace", "--tests", "--no-fail-fast"];
    let tested = without_a_warning(&outside.cargo().args(arguments).output().unwrap(), &arguments);
    assert!(!tested.contains("FAILED"), "{tested}");
    assert!(tested.matches("test result: ok.").count() >= 2 * PLUGINS.len(), "{tested}");
}

#[test]
fn outside_plugins_pass_all_rules_as_libraries() {
    let Some(outside) = outside() else { return };
    for (name, plugins) in PLUGINS {
        let library = outside.library(name);
        let arguments = ["conformance", "plugin", library.to_str().unwrap(), "--level", "L4"];
        let (report, _) = said(&Command::new(&outside.program).args(arguments).output().unwrap(), &arguments);
        assert_eq!(report.matches(" passed, 0 failed, ").count(), plugins, "{report}");
    }
}

#[test]
fn the_xor_codec_combines_bytes_with_a_key() {
    let Some(person) = Person::with("xor") else { return };
    let store = person.at("a.zarr");
    let create = ["create", &store, "/a", "--shape", "6", "--chunks", "4", "--dtype", "uint8"];
    person.trusts(
        "codec `outside.xor`",
        &[&create[..], &["--codec", r#"outside.xor:{"key": "a500ff"}"#]].concat(),
    );
    person.zarrctl(&["put", "--format", "raw", &store, "/a", &person.file("elements", [1, 2, 3, 4, 5, 6])]);
    assert_eq!(fs::read(person.at("a.zarr/a/c/0")).unwrap(), [0xa4, 0x02, 0xfc, 0xa1]);
    assert_eq!(person.get(&store, "/a", "1:5"), [2, 3, 4, 5]);
}

#[test]
fn the_packed12_codec_stores_two_integers_in_three_bytes() {
    let Some(person) = Person::with("twelve-bits") else { return };
    let store = person.at("a.zarr");
    let create = |path, codec| {
        ["create", &store, path, "--shape", "5", "--dtype", "outside.int12", "--fill", "-1", "--codec", codec]
    };
    let elements = [0x123, -2048, 2047, -1, -0x123];
    let file = person.file("elements", little_endian(elements));
    person.trusts("data type `outside.int12`", &create("/own", "outside.packed12"));
    // `packbits`, a codec of the framework, does not know this data type, only that its elements are integers.
    person.zarrctl(&create("/other", r#"packbits:{"last_bit": 11}"#));
    for path in ["/own", "/other"] {
        person.zarrctl(&["put", "--format", "raw", &store, path, &file]);
        let stored = fs::read(person.at(&format!("a.zarr{path}/c/0"))).unwrap();
        assert_eq!(stored, [0x23, 0x01, 0x80, 0xff, 0xf7, 0xff, 0xdd, 0x0e], "{path}");
        assert_eq!(person.get(&store, path, ":"), little_endian(elements), "{path}");
    }
    fs::remove_file(person.at("a.zarr/own/c/0")).unwrap();
    assert_eq!(
        person.zarrctl(&["get", &store, "/own", "--format", "json"]).trim_ascii(),
        b"[-1, -1, -1, -1, -1]"
    );
}

#[test]
fn the_hilbert_layout_orders_elements_along_a_hilbert_curve() {
    let Some(python) = python(Packages::Zarr2) else { return };
    let Some(person) = Person::with("hilbert") else { return };
    let store = person.at("a.zarr");
    let layout = r#"{"extension": "https://outside.example/layouts/hilbert/1.0", "type": "hilbert"}"#;
    let create = |path, shape| {
        [
            "create", &store, path, "--format", "v3-draft", "--shape", shape, "--chunks", shape, "--dtype",
            "uint8", "--layout", layout, "--codec", "none",
        ]
    };
    person.trusts(
        "chunk memory layout `https://outside.example/layouts/hilbert/1.0`",
        &create("/begun", "2,2"),
    );
    for (path, shape) in [("/square", "8,8"), ("/strip", "5,12"), ("/cube", "4,4,4"), ("/box", "3,7,5")] {
        person.zarrctl(&create(path, shape));
        let count: u8 = shape.split(',').map(|length| length.parse::<u8>().unwrap()).product();
        let elements: Vec<u8> = (0..count).collect();
        person.zarrctl(&["put", "--format", "raw", &store, path, &person.file("elements", &elements)]);
        let arguments: Vec<_> = ["hilbert"].into_iter().chain(shape.split(',')).collect();
        let key = format!("a.zarr/data{path}/c{}", vec!["0"; arguments.len() - 1].join("/"));
        assert_eq!(json!(fs::read(person.at(&key)).unwrap()), expected(&python, &arguments), "{shape}");
        assert_eq!(person.get(&store, path, ":"), elements, "{shape}");
    }
    assert_eq!(person.get(&store, "/strip", "1:3, 4:7"), [16, 17, 18, 28, 29, 30]);
}

#[test]
fn the_months_grid_has_one_chunk_per_month() {
    let Some(python) = python(Packages::Zarr2) else { return };
    let Some(person) = Person::with("months") else { return };
    let store = person.at("a.zarr");
    let grid =
        r#"{"name": "outside.months", "configuration": {"first_month": "2023-11", "chunk_shape": [2]}}"#;
    let create =
        ["create", &store, "/a", "--shape", "500,3", "--dtype", "int16", "--grid", grid, "--codec", "none"];
    person.trusts("chunk grid `outside.months`", &create);
    let elements = little_endian(0..1500);
    person.zarrctl(&["put", "--format", "raw", &store, "/a", &person.file("elements", &elements)]);
    let lengths = expected(&python, &["months", "2023", "11", "500"]);
    let stored = (0..lengths.as_array().unwrap().len()).map(|month| {
        let [left, right] =
            [0, 1].map(|chunk| fs::read(person.at(&format!("a.zarr/a/c/{month}/{chunk}"))).unwrap());
        assert_eq!(left.len(), right.len());
        left.len() / 4
    });
    assert_eq!(json!(stored.collect::<Vec<_>>()), lengths);
    assert!(!Path::new(&person.at("a.zarr/a/c/17")).exists());
    // The last day of January, and the leap day.
    assert_eq!(person.get(&store, "/a", "91"), little_endian(273..276));
    assert_eq!(fs::read(person.at("a.zarr/a/c/3/0")).unwrap()[28 * 4..], little_endian([360, 361]));
    assert_eq!(person.get(&store, "/a", ":"), elements);
}

#[test]
fn the_sqlite_store_holds_a_hierarchy_in_one_file() {
    let Some(python) = python(Packages::Zarr2) else { return };
    let Some(person) = Person::with("sqlite") else { return };
    let theirs = person.at("theirs.sqlite");
    expected(&python, &["sqlite", "write", &theirs]);
    let store = format!("sqlite:{theirs}");
    let tree = person.trusts("the store for `sqlite:`", &["tree", &store]);
    assert!(String::from_utf8(tree).unwrap().contains("int16"));
    assert_eq!(person.get(&store, "/a", ":"), little_endian(0..24));
    person.zarrctl(&[
        "put",
        "--format",
        "raw",
        &store,
        "/a",
        &person.file("elements", little_endian([-1, -2])),
        "--select",
        "1, 2:4",
    ]);
    let read = expected(&python, &["sqlite", "zarr", &theirs, "a"]);
    assert_eq!(read[1], json!([6, 7, -1, -2, 10, 11]));

    // Writes the same array to a SQLite file and to a folder, which must then hold the same keys and values. Reads
    // parts of a shard.
    let ours = format!(r#"{{"type": "outside.sqlite", "path": "{}"}}"#, person.at("ours.sqlite"));
    for store in [&ours, &person.at("folder")] {
        let sizes = ["--shape", "8,6", "--chunks", "2,3", "--shards", "4,6", "--dtype", "int16"];
        person.zarrctl(&[&["create", store, "/g/a"], &sizes[..]].concat());
        person.zarrctl(&[
            "put",
            "--format",
            "raw",
            store,
            "/g/a",
            &person.file("elements", little_endian(0..48)),
        ]);
        assert_eq!(person.get(store, "/g/a", "3:5, 2"), little_endian([20, 26]));
    }
    let rows = expected(&python, &["sqlite", "rows", &person.at("ours.sqlite")]);
    let keys: Vec<_> = rows.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["g/a/c/0/0", "g/a/c/1/0", "g/a/zarr.json", "g/zarr.json", "zarr.json"]);
    for key in keys {
        let value = fs::read(person.at(&format!("folder/{key}"))).unwrap();
        let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(rows[key], digits, "{key}");
    }
    let description = format!("sqlite://{}", person.at("ours.sqlite"));
    assert!(String::from_utf8(person.zarrctl(&["tree", &description])).unwrap().contains("int16"));
}
