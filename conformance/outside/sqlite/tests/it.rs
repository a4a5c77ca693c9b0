//! `outside.sqlite` with another program that uses the same file, and with invalid files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use outside_sqlite as _;
use rusqlite::Connection;
use zarr_spec::store::{Store, StoreError, get_value, open_described};
use zarr_spec::{ByteRange, Key, Output, Prefix, Registry, json};

fn store(path: &Path) -> Arc<dyn Store> {
    let registry = Registry::linked().unwrap();
    let path = path.display().to_string();
    open_described(&registry, &json!({"type": "outside.sqlite", "path": path})).unwrap()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

#[test]
fn rows_are_keys_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let store = store(&path);
    assert_eq!(store.list().unwrap(), []);
    assert!(!path.exists(), "reading does not create the file");
    store.set(&key("a/b"), b"value".into()).unwrap();

    let other = Connection::open(&path).unwrap();
    let value = |key: &str| -> Vec<u8> {
        other.query_row("SELECT v FROM zarr WHERE k = ?", [key], |row| row.get(0)).unwrap()
    };
    assert_eq!(value("a/b"), b"value");
    other.execute("UPDATE zarr SET v = x'0102' WHERE k = 'a/b'", ()).unwrap();
    other.execute("INSERT INTO zarr VALUES ('a0', 'text'), ('a/c', x'')", ()).unwrap();
    assert_eq!(get_value(&*store, &key("a/b"), 10).unwrap().unwrap(), b"\x01\x02"[..]);
    assert_eq!(get_value(&*store, &key("a0"), 10).unwrap().unwrap(), b"text"[..]);
    assert_eq!(store.list_sorted(&Prefix::new("a/").unwrap()).unwrap(), [key("a/b"), key("a/c")]);
    assert_eq!(store.list().unwrap(), [key("a/b"), key("a/c"), key("a0")]);
}

#[test]
fn a_part_of_a_value_needs_only_its_own_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder.path().join("a.sqlite"));
    store.set(&key("a"), (&[7; 100_000]).into()).unwrap();
    let mut output = Output::at_most(3);
    let got = store
        .get(&key("a"), ByteRange::Range { offset: 99_997, size: 9 }.into(), &mut output)
        .unwrap()
        .unwrap();
    assert_eq!((output.written(), got.size), (&[7; 3][..], 100_000));
    let whole = store.get(&key("a"), ByteRange::Full.into(), &mut Output::at_most(99_999));
    assert!(matches!(whole, Err(StoreError::TooLarge { .. })), "{whole:?}");
}

#[test]
fn invalid_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    fs::write(
        &path,
        "no SQLite file, and longer than the hundred bytes of a header, which begin with other words",
    )
    .unwrap();
    let refused = store(&path).list().unwrap_err();
    assert!(matches!(&refused, StoreError::Io { operation: "listing", .. }), "{refused:?}");
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute("CREATE TABLE other (k TEXT)", ()).unwrap();
    let refused = store(&path).size(&key("a")).unwrap_err();
    assert!(refused.to_string().contains("no such table: zarr"), "{refused}");
    Connection::open(&path).unwrap().execute("CREATE TABLE zarr (k TEXT PRIMARY KEY, v BLOB)", ()).unwrap();
    Connection::open(&path).unwrap().execute("INSERT INTO zarr VALUES ('../a', x'')", ()).unwrap();
    assert!(store(&path).list().is_err());
}

#[test]
fn a_url_has_a_path_and_no_host() {
    let registry = Registry::linked().unwrap();
    let plugin = registry.stores().iter().find(|plugin| plugin.name == "outside.sqlite").unwrap();
    assert!(open_described(&registry, &json!({"type": "outside.sqlite", "path": ""})).is_err());
    for url in ["sqlite:", "sqlite://", "sqlite://a.sqlite"] {
        let refused = (plugin.open)(url).unwrap_err().to_string();
        assert!(refused.contains("sqlite:PATH or sqlite:///PATH"), "{refused}");
    }
    let location = |url| (plugin.open)(url).unwrap().location();
    assert_eq!(location("sqlite:///a/b.sqlite"), "sqlite:/a/b.sqlite");
    // SQLite would use memory for this name if the path were not absolute.
    assert!(location("sqlite::memory:").ends_with("/:memory:"));
}
