//! The crates that `plugins new` generates build, follow the rules of their kind and are formatted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, refused, text};

/// Kinds of plugins with their URI, which may be empty. `docs/plugins.md` covers the codec.
const KINDS: [(&str, &str); 9] = [
    ("codec", "https://example.org/codecs/try/1.0"),
    ("dtype", "https://example.org/data-types/try/1.0"),
    ("grid", ""),
    ("key-encoding", ""),
    ("layout", "https://example.org/layouts/try/1.0"),
    ("metadata-encoding", "https://example.org/metadata/try/1.0"),
    ("extension", "https://example.org/extensions/try/1.0"),
    ("transformer", "https://example.org/transformers/try/1.0"),
    ("store", ""),
];

fn made(place: &Place, kind: &str, uri: &str) -> PathBuf {
    let folder = place.at(kind);
    let name = format!("example.{kind}");
    let mut arguments = vec!["plugins", "new", kind, &name, "--folder", &folder];
    if !uri.is_empty() {
        arguments.extend(["--uri", uri]);
    }
    let said = text(&arguments);
    assert!(said.contains("\n  cargo test\n"), "{said}");
    assert!(said.contains("they are not published yet"), "{said}");
    folder.into()
}

/// Runs cargo in `folder` with the lock file of the workspace, and returns its output.
pub(crate) fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).current_dir(folder).env("CARGO_NET_OFFLINE", "true");
    let output = cargo.env("CARGO_TARGET_DIR", shared_target()).output().unwrap();
    let [said, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{}: {arguments:?}\n{said}\n{error}", folder.display());
    said
}

/// Returns the target folder of all crates that are built outside the workspace.
pub(crate) fn shared_target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins")
}

#[test]
fn a_new_crate_follows_the_rules_of_its_kind() {
    let place = Place::new();
    // The first kind is the codec, which the test of the guide builds.
    for (kind, uri) in &KINDS[1..] {
        let folder = made(&place, kind, uri);
        let said = cargo(&folder, &["test", "--quiet", "--tests"]);
        assert!(said.contains("test result: ok") && !said.contains("FAILED"), "{kind}: {said}");
        #[cfg(target_os = "linux")]
        loaded::holds_to_the_rules_as_a_library(&place, kind, &folder);
    }
    #[cfg(target_os = "linux")]
    loaded::an_array_is_of_the_data_type(&place);
}

#[test]
fn a_new_crate_is_formatted_and_complete() {
    for (kind, uri) in KINDS.into_iter().chain([("codec", ""), ("dtype", "")]) {
        let place = Place::new();
        let folder = made(&place, kind, uri);
        let files = place.files(kind);
        let sources: Vec<_> =
            files.iter().filter(|file| file.ends_with(".rs")).map(|file| folder.join(file)).collect();
        let mut rustfmt = Command::new("rustfmt");
        let output = rustfmt.args(["--check", "--edition", "2024"]).args(&sources).output().unwrap();
        assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stdout));
        for file in &files {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            assert!(!text.contains("{{"), "{kind}/{file}: {text}");
        }
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(
            readme.contains("not published yet") && readme.contains("/docs/plugins.md) of the framework"),
            "{readme}"
        );
    }
}

#[test]
fn the_source_of_the_framework_crates_can_be_chosen() {
    let place = Place::new();
    let with = |source: &str, expected: &str| {
        let folder = place.at("made");
        let _said = text(&["plugins", "new", "codec", "example-xor", "--deps", source, "--folder", &folder]);
        let manifest = fs::read_to_string(place.path("made/Cargo.toml")).unwrap();
        assert!(manifest.contains(expected), "{manifest}");
        fs::remove_dir_all(&folder).unwrap();
    };
    with("registry", concat!("zarr-spec = \"", env!("CARGO_PKG_VERSION"), "\""));
    let version = env!("CARGO_PKG_VERSION");
    with(
        "git:https://example.org/zarr",
        &format!("zarr-spec = {{ git = \"https://example.org/zarr\", version = \"{version}\" }}"),
    );
    with(
        "git:https://example.org/zarr#0a1b2c",
        &format!(
            "zarr-spec = {{ git = \"https://example.org/zarr\", rev = \"0a1b2c\", version = \"{version}\" }}"
        ),
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().canonicalize().unwrap();
    with(
        &format!("path:{}", root.display()),
        &format!("zarr-spec = {{ path = \"{}/zarr-spec\", version = \"{version}\" }}", root.display()),
    );
    assert!(
        refused(&["plugins", "new", "codec", "a", "--deps", "svn:x"], 2)
            .contains("`registry`, `path:FOLDER`, `git:URL` or `git:URL#REVISION`")
    );
    assert!(
        refused(&["plugins", "new", "codec", "a", "--deps", "git:x#"], 2)
            .contains("expected a revision after the `#`")
    );
    let no_tree = refused(&["plugins", "new", "codec", "a", "--deps", &format!("path:{}", place.at(""))], 1);
    assert!(no_tree.contains("is not a source tree of this framework"), "{no_tree}");
}

/// `plugins new` gives each dependency a version, because Cargo requires that of a crate that it packages.
#[test]
fn a_new_crate_can_be_packaged_for_a_registry() {
    let place = Place::new();
    let folder = made(&place, "codec", "");
    let package = [
        "package",
        "--allow-dirty",
        "--no-verify",
        "--exclude-lockfile",
        "--quiet",
        "--package",
        "example-codec",
    ];
    cargo(&folder, &package);
    let file = shared_target().join("package/example-codec-0.1.0.crate");
    assert!(file.is_file(), "{}", file.display());
}

#[test]
fn invalid_names_and_uris_are_refused_before_anything_is_written() {
    let place = Place::new();
    let folder = place.at("made");
    let refuses = |arguments: &[&str], told: &str| {
        let arguments = [&["plugins", "new"], arguments, &["--folder", &folder]].concat();
        let error = refused(&arguments, 1);
        assert!(error.contains(told), "{error}");
        assert!(!place.path("made").exists());
    };
    for name in ["Example", "1st", "a/b", "a b", "", "a."] {
        refuses(&["codec", name], "expected 1 to 60 lower case letters");
    }
    for name in ["fn", "type", "std", "self", "zarr-spec", "serde"] {
        refuses(&["codec", name], "is reserved; add a prefix, such as example.");
    }
    for (kind, name) in [("codec", "zstd"), ("dtype", "uint8"), ("grid", "regular"), ("store", "memory")] {
        refuses(&[kind, name], "already exists in this framework (zarr-");
    }
    refuses(&["layout", "mine"], "a memory layout needs a URI: --uri https://example.org/mine/1.0");
    refuses(&["store", "mine", "--uri", "https://example.org/mine/1.0"], "--uri is not supported for a");
    for uri in ["https://example.org/mine", "mine/1.0", "https://example.org/\"/1.0", "https://example.org/1"]
    {
        refuses(&["codec", "mine", "--uri", uri], "expected https://…/MAJOR.MINOR");
    }
    place.file("made/there", b"");
    let error = refused(&["plugins", "new", "codec", "mine", "--folder", &folder], 1);
    assert!(error.contains("made already exists; choose another folder with --folder"), "{error}");
    assert!(refused(&["plugins", "new", "codecs", "mine"], 2).contains("codec"));
}

#[cfg(target_os = "linux")]
mod loaded {
    use std::path::Path;

    use super::{cargo, shared_target};
    use crate::support::{Place, program};

    /// Runs the program with the home folder in `place`, and returns its output.
    fn zarrctl(place: &Place, arguments: &[&str]) -> String {
        let output = program().args(arguments).env("HOME", place.path("home")).output().unwrap();
        let [said, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{arguments:?}\n{said}\n{error}");
        said
    }

    pub(super) fn holds_to_the_rules_as_a_library(place: &Place, kind: &str, folder: &Path) {
        let package = format!("example-{kind}");
        cargo(folder, &["build", "--quiet", "--package", &format!("{package}-plugin")]);
        let file = format!("debug/lib{}_plugin.so", package.replace('-', "_"));
        let library = shared_target().join(file).into_os_string().into_string().unwrap();
        let dist = place.at("dist");
        let packed = zarrctl(place, &["plugins", "pack", &library, "--output", &dist]);
        assert!(packed.starts_with(&format!("packed {package} 0.1.0: ")), "{packed}");
        let said = zarrctl(place, &["plugins", "probe", &format!("{dist}/{package}.toml"), "--level", "L1"]);
        assert!(said.ends_with(&format!("{package} passes.\n")), "{said}");
    }

    /// Panics unless an array can use the data type of the library after it is installed and trusted.
    pub(super) fn an_array_is_of_the_data_type(place: &Place) {
        let array = place.at("a.zarr");
        let create = ["create", &array, "/a", "--shape", "3", "--dtype", "example.dtype", "--fill", "4095"];
        zarrctl(place, &["plugins", "install", &place.at("dist/example-dtype.toml")]);
        let output = program().args(create).env("HOME", place.path("home")).output().unwrap();
        let refusal = String::from_utf8(output.stderr).unwrap();
        assert!(refusal.contains("`zarrctl plugins trust example-dtype`"), "{refusal}");
        zarrctl(place, &["plugins", "trust", "example-dtype"]);
        zarrctl(place, &create);
        let elements = place.file("elements", &[1, 0, 255, 15]);
        zarrctl(place, &["put", "--format", "raw", &array, "/a", &elements, "--select", ":2"]);
        assert_eq!(zarrctl(place, &["get", &array, "/a", "--format", "json"]).trim(), "[1, 4095, 4095]");
    }
}
