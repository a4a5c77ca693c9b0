//! `get -o` over a file that exists.

#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{Place, bytes, refused};

/// Creates an array of two bytes at `/a`.
fn created(place: &Place) -> String {
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "2", "--dtype", "uint8"]);
    store
}

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let place = Place::new();
    let store = created(&place);
    let file = place.file("private.raw", b"old");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    bytes(&["get", &store, "/a", "--format", "raw", "-o", &file]);
    assert_eq!(std::fs::read(&file).unwrap(), [0, 0]);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_symbolic_link_stays_and_its_target_is_replaced() {
    let place = Place::new();
    let store = created(&place);
    let target = place.file("elsewhere/target.raw", b"old");
    symlink("elsewhere/target.raw", place.path("link.raw")).unwrap();
    bytes(&["get", &store, "/a", "--format", "raw", "-o", &place.at("link.raw")]);
    assert!(place.path("link.raw").is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), [0, 0]);
    assert_eq!(place.files("elsewhere"), ["target.raw"]);
}

#[test]
fn a_symbolic_link_without_a_target_is_refused() {
    let place = Place::new();
    let store = created(&place);
    symlink("missing/target.raw", place.path("link.raw")).unwrap();
    let message = refused(&["get", &store, "/a", "--format", "raw", "-o", &place.at("link.raw")], 1);
    assert!(message.contains("link.raw") && message.contains("No such file"), "{message}");
    assert!(place.path("link.raw").is_symlink());
}
