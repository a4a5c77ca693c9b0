//! Libraries that need other libraries: only hashed code runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use zarr_plugin::host::{
    Loader, Lock, Manifest as Parsed, Needed, Needs, Pin, Policy, Refusal, Search, sha256,
};
use zarr_spec::{Codec, Output, Registry, json};

use crate::built::{Installed, XOR_C, compiled};
use crate::loaded::create;

/// Builds a library `name` whose function `needed_number` returns `number`.
fn library(folder: &Path, name: &str, number: u8) -> PathBuf {
    let source = folder.join("needed.c");
    fs::write(&source, format!("int needed_number(void) {{ return {number}; }}")).unwrap();
    let path = folder.join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", &format!("-Wl,-soname,{name}"), "-o"]).arg(&path).arg(source);
    assert!(compiler.status().unwrap().success());
    path
}

/// Builds `xor.c` so that it works only if `needed_number` of the library returns 7.
fn using(folder: &Path, name: &str, more: &[&str]) -> Vec<u8> {
    let path = folder.join(name);
    let check = "IN_RUN={extern int needed_number(void); if (needed_number() != 7) return 8;}";
    compiled("xor.c", &[check], &[&[path.to_str().unwrap()], more].concat())
}

struct Using {
    folder: TempDir,
    installed: Installed,
    pin: Pin,
}

impl Using {
    /// Builds a plugin, and a pin for the plugin and the library `name`.
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = library(folder.path(), name, 7).canonicalize().unwrap();
        let installed = Installed::new(&using(folder.path(), name, &[]), &XOR_C);
        let needed = Needed { name: name.to_owned(), sha256: sha256(&fs::read(&path).unwrap()), path };
        let pin = Pin { needs: vec![needed], ..installed.pin() };
        Self { folder, installed, pin }
    }

    fn loader(&self, pin: Pin) -> Loader {
        let mut lock = Lock::default();
        lock.trust(pin);
        Loader::new(&Search::nowhere().given(self.installed.folder.path()), Policy::Pinned, lock)
    }

    fn refusal(&self, pin: Pin) -> String {
        let loader = self.loader(pin);
        loader.open(&loader.candidates()[0]).unwrap_err().to_string()
    }
}

#[test]
fn only_the_trusted_version_of_a_needed_library_runs() {
    let using = Using::new("libzarr-needed-a.so.1");
    let loader = using.loader(using.pin.clone());
    let mut registry = Registry::empty();
    assert_eq!(loader.register(&mut registry), []);
    let Codec::BytesToBytes(codec) = create(&registry, "example.xor", &json!({"key": 1})).unwrap() else {
        panic!("unexpected kind of codec");
    };
    // The file is read only once, so its replacement does not run.
    library(using.folder.path(), "libzarr-needed-a.so.1", 8);
    let mut output = Output::exactly(1);
    codec.decode(&[1], &mut output).unwrap();
    assert_eq!(output.written(), [0]);
    // A second plugin that needs the same file shares the open copy.
    let again = Using::new("libzarr-needed-a.so.1");
    assert_eq!(again.pin.needs[0].sha256, using.pin.needs[0].sha256);
    let loader = again.loader(again.pin.clone());
    assert!(loader.open(&loader.candidates()[0]).is_ok());
}

#[test]
fn a_changed_or_untrusted_needed_library_is_refused() {
    let using = Using::new("libzarr-needed-b.so.1");
    let refusal = using.refusal(Pin { needs: Vec::new(), ..using.pin.clone() });
    assert_eq!(
        refusal,
        "it needs libzarr-needed-b.so.1, which was not trusted with it; `zarrctl plugins trust` trusts both"
    );
    library(using.folder.path(), "libzarr-needed-b.so.1", 8);
    let refusal = using.refusal(using.pin.clone());
    assert!(refusal.contains("which is not the file that was trusted with it: SHA-256 is"), "{refusal}");
}

#[test]
fn two_needed_libraries_of_one_name_cannot_both_be_used() {
    let first = Using::new("libzarr-needed-c.so.1");
    let loader = first.loader(first.pin.clone());
    assert!(loader.open(&loader.candidates()[0]).is_ok());
    let second = Using::new("libzarr-needed-c.so.1");
    let path = library(second.folder.path(), "libzarr-needed-c.so.1", 9);
    let mut pin = second.pin.clone();
    pin.needs[0].sha256 = sha256(&fs::read(path).unwrap());
    let refusal = second.refusal(pin);
    assert!(refusal.contains("but this program has already loaded another file"), "{refusal}");
}

#[test]
fn a_library_outside_the_system_folders_or_without_its_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    library(folder.path(), "libzarr-needed-d.so.1", 7);
    let plugin = using(folder.path(), "libzarr-needed-d.so.1", &[]);
    let refusal = Needs::of_library(&plugin).unwrap_err().to_string();
    assert!(
        refusal.starts_with("it needs libzarr-needed-d.so.1, which is not in a folder of the system "),
        "{refusal}"
    );
    let mut other = Using::new("libzarr-needed-e.so.1");
    let renamed = library(folder.path(), "libzarr-needed-f.so.1", 7).canonicalize().unwrap();
    other.pin.needs[0].sha256 = sha256(&fs::read(&renamed).unwrap());
    other.pin.needs[0].path = renamed;
    let refusal = other.refusal(other.pin.clone());
    assert!(refusal.ends_with("libzarr-needed-f.so.1 is libzarr-needed-f.so.1"), "{refusal}");
}

/// Build systems add `cc -Wl,-rpath`. Empty and relative entries mean the working directory.
#[test]
fn a_library_with_search_folders_is_refused() {
    let linked = [
        ("-Wl,-rpath,/opt/lib,--enable-new-dtags", "RUNPATH `/opt/lib`"),
        ("-Wl,-rpath,/opt/lib,--disable-new-dtags", "RPATH `/opt/lib`"),
        ("-Wl,-rpath,$ORIGIN,--enable-new-dtags", "RUNPATH `$ORIGIN`"),
        ("-Wl,-rpath,.,--enable-new-dtags", "RUNPATH `.`"),
        ("-Wl,-rpath,/usr/lib:,--enable-new-dtags", "RUNPATH `/usr/lib:`"),
    ];
    for (argument, shown) in linked {
        let plugin = compiled("xor.c", &[], &[argument]);
        let expected = format!("its library has {shown}, a list of search folders");
        let installed = Installed::new(&plugin, &XOR_C);
        let loader = installed.loader(Policy::Any);
        let refusals = [
            loader.open(&loader.candidates()[0]).unwrap_err(),
            loader.pin(&loader.candidates()[0], "").unwrap_err(),
            Parsed::of_library(&plugin, "a.so").unwrap_err(),
        ];
        for refusal in refusals {
            assert!(refusal.to_string().starts_with(&expected), "{refusal}");
            assert!(matches!(refusal, Refusal::Needs(_)));
        }
    }
}

#[test]
fn needed_libraries_are_listed_with_the_version_of_the_c_library() {
    let plugin = compiled("xor.c", &[], &["-Wl,--no-as-needed", "-l:libresolv.so.2", "-lm"]);
    let needs = Needs::of_library(&plugin).unwrap();
    assert!(["libc.so.6", "libm.so.6"].iter().all(|name| needs.system.iter().any(|it| it == name)));
    assert!(needs.glibc.is_some_and(|version| version.starts_with("2.")));
    let [needed] = &needs.others[..] else { panic!("{:?}", needs.others) };
    assert_eq!(needed.name, "libresolv.so.2");
    assert_eq!(needed.sha256, sha256(&fs::read(&needed.path).unwrap()));
    // These libraries are pinned, and the plugin can be opened.
    let installed = Installed::new(&plugin, &XOR_C);
    let loader = installed.loader(Policy::Any);
    let pin = loader.pin(&loader.candidates()[0], "").unwrap();
    assert_eq!(pin.needs, needs.others);
    let mut lock = Lock::default();
    lock.trust(pin);
    let loader = Loader::new(&Search::nowhere().given(installed.folder.path()), Policy::Pinned, lock);
    assert!(loader.open(&loader.candidates()[0]).is_ok());
}
