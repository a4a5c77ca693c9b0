//! Plugins that the tests build, each in its own folder with a manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;
use zarr_plugin::host::{Loader, Lock, Pin, Policy, Search, platform, sha256};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A folder with one library and its manifest.
pub(crate) struct Installed {
    pub(crate) folder: TempDir,
    pub(crate) name: String,
}

/// The contents of a manifest.
pub(crate) struct Manifest<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) major: u16,
    pub(crate) path: &'a str,
    pub(crate) provides: &'a str,
}

pub(crate) const XOR_C: Manifest<'static> = Manifest {
    name: "xor-c",
    version: "1.2.0",
    major: 2,
    path: "libplugin.so",
    provides: "[[provides]]\nkind = 'codec'\nname = 'example.xor'\nsummary = 'Combines bytes with a key.'\n",
};

impl Installed {
    /// Writes `library` and its manifest to a new folder.
    pub(crate) fn new(library: &[u8], manifest: &Manifest<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("libplugin.so"), library).unwrap();
        let installed = Self { folder, name: manifest.name.to_owned() };
        installed.write_manifest(manifest, &sha256(library));
        installed
    }

    pub(crate) fn write_manifest(&self, manifest: &Manifest<'_>, sha256: &str) {
        let Manifest { name, version, major, path, provides } = manifest;
        let platform = platform();
        let text = format!(
            "manifest_version = 1\nname = '{name}'\nversion = '{version}'\nlicense = 'MIT'\n\
             [abi]\nmajor = {major}\nminor = 0\n\
             [library.{platform}]\npath = '{path}'\nsha256 = '{sha256}'\n{provides}"
        );
        fs::write(self.manifest(), text).unwrap();
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.folder.path().join(format!("{}.toml", self.name))
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.folder.path().join("libplugin.so")
    }

    /// Returns a loader that searches only this folder.
    pub(crate) fn loader(&self, policy: Policy) -> Loader {
        Loader::new(&Search::nowhere().given(self.folder.path()), policy, Lock::default())
    }

    pub(crate) fn pin(&self) -> Pin {
        Pin {
            name: self.name.clone(),
            version: "1.2.0".to_owned(),
            target: platform(),
            path: self.library(),
            sha256: sha256(&fs::read(self.library()).unwrap()),
            date: "2026-11-22".to_owned(),
            needs: Vec::new(),
        }
    }
}

/// Compiles `tests/plugins/xor.c` with these macros.
pub(crate) fn in_c(macros: &[&str]) -> Vec<u8> {
    compiled("xor.c", macros, &[])
}

/// Compiles a file of `tests/plugins` with these macros and linker arguments.
pub(crate) fn compiled(file: &str, macros: &[&str], linked: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libplugin.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&library);
    compiler.arg(format!("-I{HERE}/include")).arg(format!("{HERE}/tests/plugins/{file}"));
    compiler.args(macros.iter().map(|name| format!("-D{name}"))).args(linked);
    run(&mut compiler);
    fs::read(library).unwrap()
}

/// Builds `tests/plugins/extensions.rs` as a library.
pub(crate) fn in_rust() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| built("example-extensions", "extensions.rs"))
}

/// Builds `tests/plugins/kinds` as a library.
pub(crate) fn kinds() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| built("kinds-rust", "kinds/lib.rs"))
}

/// Builds a source file of `tests/plugins` as a library.
fn built(name: &str, source: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    write_crate(folder.path(), name, source, "");
    run(&mut cargo(folder.path()));
    fs::read(target().join(format!("debug/lib{}.so", name.replace('-', "_")))).unwrap()
}

/// Writes a crate for a source file of `tests/plugins`. Its manifest ends in `more`.
pub(crate) fn write_crate(folder: &Path, name: &str, source: &str, more: &str) {
    let above = Path::new(HERE).parent().unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = '{name}'\nversion = '1.2.0'\nedition = '2024'\nlicense = 'MIT'\n\
             [lib]\npath = '{HERE}/tests/plugins/{source}'\ncrate-type = ['cdylib']\n\
             [dependencies]\nserde = {{ version = '1', features = ['derive'] }}\n\
             zarr-spec.path = '{0}/zarr-spec'\nzarr-plugin.path = '{HERE}'\n[workspace]\n{more}",
            above.display()
        ),
    )
    .unwrap();
    // These versions of the dependencies are already downloaded.
    fs::copy(above.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

/// Returns the command `cargo build` for a folder.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet"]).current_dir(folder).env("CARGO_TARGET_DIR", target());
    cargo
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
