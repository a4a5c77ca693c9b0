//! Archives that need zip64: with an entry of more than 4 GiB, and with more than 65,535 entries. The engine and Python's
//! programs write, extend and read them in turn.
//!
//! Each test runs only with `ZARR_LONG`, and needs up to 5 GB of disk for some seconds: all bytes of the large entry are
//! zeros, and are replaced by holes as soon as a program has written them.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use zarr_interop::environment::run_script;
use zarr_interop::{Packages, python, zarrctl};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, open_store};

/// The number of elements of `/a`, each of one byte, as in the script.
const SIZE: u64 = (4 << 30) + 4096;

/// The elements of small arrays, as in the script.
const ELEMENTS: [i16; 4] = [5, 6, 7, 8];

fn is_short() -> bool {
    std::env::var_os("ZARR_LONG").is_none()
}

fn script(python: &Path, arguments: &[&str]) {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let (output, is_good) = run_script(python, "large_archives.py", &arguments);
    assert!(is_good, "{arguments:?}: {output}");
}

fn open(location: &str) -> Hierarchy {
    let context = Context::linked().unwrap();
    Hierarchy::open(open_store(context.registry(), location).unwrap(), &context).unwrap()
}

fn add(hierarchy: &Hierarchy, path: &str) {
    let builder = ArrayBuilder::new([4], "int16").chunks([4]).uncompressed();
    hierarchy.create_array(path, &builder).unwrap().write_values::<i16>(.., &ELEMENTS).unwrap();
}

/// Replaces zeros in a file by holes.
fn dig_holes(file: &str) {
    let status = Command::new("fallocate").args(["--dig-holes", file]).status().unwrap();
    assert!(status.success(), "{file}: {status}");
}

/// Checks the end of `/a`, and small arrays.
fn check(location: &str, small: &[&str]) {
    let hierarchy = open(location);
    let end = hierarchy.array("/a").unwrap().read_values::<u8>(SIZE - 4..SIZE).unwrap();
    assert_eq!(end, [0, 1, 2, 3], "{location}");
    for path in small {
        assert_eq!(hierarchy.array(*path).unwrap().read_values::<i16>(..).unwrap(), ELEMENTS, "{path}");
    }
}

/// Writes a hierarchy whose large chunk is a file with a hole.
fn write_sparse(folder: &str) {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    hierarchy.create_array("/a", &ArrayBuilder::new([SIZE], "uint8").chunks([SIZE]).uncompressed()).unwrap();
    add(&hierarchy, "/z");
    let chunk = Path::new(folder).join("a/c/0");
    fs::create_dir_all(chunk.parent().unwrap()).unwrap();
    File::create(chunk).unwrap().write_all_at(&[1, 2, 3], SIZE - 3).unwrap();
    check(folder, &["/z"]);
}

#[test]
fn archives_over_4_gib_are_exchanged_with_zipfile_and_zarr_python() {
    if is_short() {
        return;
    }
    let Some(python) = python(Packages::Zarr3) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [source, archive] = [at("a.zarr"), at("a.zip")];
    write_sparse(&source);
    let packed = Command::new(zarrctl()).args(["pack", &source, &archive]).output().unwrap();
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    fs::remove_dir_all(source).unwrap();
    dig_holes(&archive);
    check(&archive, &["/z"]);
    script(&python, &["check", &archive]);

    let hierarchy = open(&archive);
    add(&hierarchy, "/ours");
    hierarchy.store().commit().unwrap();
    drop(hierarchy);
    dig_holes(&archive);
    script(&python, &["check", &archive]);
    script(&python, &["add", &archive, "theirs"]);
    check(&archive, &["/z", "/ours", "/theirs"]);
    fs::remove_file(archive).unwrap();

    let theirs = at("theirs.zip");
    script(&python, &["write", &theirs]);
    dig_holes(&theirs);
    check(&theirs, &["/z"]);
}

#[test]
fn archives_with_over_65_535_entries_are_exchanged_with_zipfile_and_zarr_python() {
    if is_short() {
        return;
    }
    let Some(python) = python(Packages::Zarr3) else { return };
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("many.zip").to_str().unwrap().to_owned();
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), &archive).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let elements: Vec<u32> = (1..=70_000).collect();
    let builder = ArrayBuilder::new([70_000], "uint32").chunks([1]).uncompressed();
    hierarchy.create_array("/many", &builder).unwrap().write_values::<u32>(.., &elements).unwrap();
    hierarchy.store().commit().unwrap();
    drop(hierarchy);
    script(&python, &["check-many", &archive, "70000"]);

    let hierarchy = open(&archive);
    add(&hierarchy, "/ours");
    hierarchy.store().commit().unwrap();
    drop(hierarchy);
    script(&python, &["add", &archive, "theirs"]);
    script(&python, &["check-many", &archive, "70000"]);
    let hierarchy = open(&archive);
    assert_eq!(hierarchy.array("/many").unwrap().read_values::<u32>(..).unwrap(), elements);
    for path in ["/ours", "/theirs"] {
        assert_eq!(hierarchy.array(path).unwrap().read_values::<i16>(..).unwrap(), ELEMENTS, "{path}");
    }
    // The root, and two values of each small array.
    let keys = hierarchy.store().list().unwrap();
    assert_eq!(keys.len(), 70_000 + 1 + 1 + 2 + 2);
}
