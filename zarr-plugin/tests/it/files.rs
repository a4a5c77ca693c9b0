//! FIFOs, devices and oversized files in place of regular files.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use zarr_plugin::host::{Lock, Manifest as Parsed, Policy, Refusal};
use zarr_spec::Registry;

use crate::built::{Installed, XOR_C, in_c};

/// Creates a FIFO. Opening a FIFO waits until another process opens it.
fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_fifo_in_a_plugin_folder_is_refused_and_does_not_block() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    make_fifo(&installed.folder.path().join("a.toml"));
    let loader = installed.loader(Policy::Any);
    let mut registry = Registry::empty();
    let passed_over = loader.register(&mut registry);
    assert_eq!(passed_over.len(), 1);
    assert_eq!(passed_over[0].refusal, Refusal::Manifest("it is not a regular file".to_owned()));
    assert_eq!(registry.codecs().iter().count(), 1);
}

#[test]
fn a_fifo_or_a_device_in_place_of_a_library_is_refused() {
    for device in [false, true] {
        let installed = Installed::new(&in_c(&[]), &XOR_C);
        fs::remove_file(installed.library()).unwrap();
        let refused = if device {
            std::os::unix::fs::symlink("/dev/zero", installed.library()).unwrap();
            "which is outside of its folder"
        } else {
            make_fifo(&installed.library());
            "cannot be read: it is not a regular file"
        };
        let loader = installed.loader(Policy::Any);
        let refusal = loader.open(&loader.candidates()[0]).unwrap_err().to_string();
        assert!(refusal.contains(refused), "{refusal}");
    }
}

#[test]
fn a_lock_file_that_is_a_fifo_or_too_long_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo.lock");
    make_fifo(&fifo);
    assert!(Lock::read(&fifo).unwrap_err().to_string().ends_with("it is not a regular file"));
    let long = folder.path().join("long.lock");
    File::create(&long).unwrap().set_len(1 << 40).unwrap();
    assert!(Lock::read(&long).unwrap_err().to_string().ends_with("it has more than 4194304 bytes"));
}

#[test]
fn an_oversized_manifest_is_refused_without_reading_it() {
    let installed = Installed::new(&in_c(&[]), &XOR_C);
    File::create(installed.manifest()).unwrap().set_len(1 << 40).unwrap();
    let loader = installed.loader(Policy::Any);
    let refusal = loader.judge(&loader.candidates()[0]).unwrap_err();
    assert_eq!(refusal, Refusal::Manifest("it has more than 1048576 bytes".to_owned()));
}

/// Replaces each number in the headers of a library with the largest number.
#[test]
fn damaged_library_headers_never_cause_a_panic() {
    let library = in_c(&[]);
    for at in (0..2048.min(library.len() - 8)).step_by(8) {
        let mut damaged = library.clone();
        damaged[at..at + 8].fill(0xff);
        // A damaged library that still opens would run its code, so it is only parsed.
        let _needs = zarr_plugin::host::Needs::of_library(&damaged);
    }
    assert!(matches!(Parsed::of_library(&library[..100], "a.so"), Err(Refusal::Open(_))));
}
