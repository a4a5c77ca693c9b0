//! Local archives that are created and changed: commits, crashes, several writers, and what remains in the archive.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tempfile::TempDir;
use zarr_conformance::stores::around::holds_every_rule;
use zarr_spec::store::{Condition, ConditionalWrite, Store, StoreError};
use zarr_spec::{Bytes, Prefix};
use zarr_store_zip::{LocalZipStore, ZipStore};

use super::{archive, deflated, key, keys, ramp, stored, value};

/// The files that exist while an archive is changed.
const TEMPORARY: [&str; 2] = [".zarr-tmp-a.zip", ".zarr-tmp-a.zip.lock"];

fn place() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.zip");
    (folder, path)
}

fn set(store: &dyn Store, at: &str, value: &[u8]) {
    store.set(&key(at), value.into()).unwrap();
}

/// Returns all values, as another program reads them.
fn read(path: &Path) -> BTreeMap<String, Bytes> {
    let store = ZipStore::open(path).unwrap();
    keys(&store).into_iter().map(|at| (at.clone(), value(&store, &at).unwrap().unwrap())).collect()
}

fn expected(values: &[(&str, &[u8])]) -> BTreeMap<String, Bytes> {
    values.iter().map(|(at, value)| ((*at).to_owned(), Bytes::copy_from_slice(value))).collect()
}

fn files(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the number of records in the directory of an archive. Its values must not contain the signature of records.
fn count_records(path: &Path) -> usize {
    fs::read(path).unwrap().windows(4).filter(|window| window == b"PK\x01\x02").count()
}

#[test]
fn every_rule_for_stores_holds_for_an_archive_that_is_changed() {
    let folder = TempDir::new().unwrap();
    let count = RefCell::new(0);
    holds_every_rule("a new archive", &|| {
        *count.borrow_mut() += 1;
        Arc::new(LocalZipStore::open(folder.path().join(count.borrow().to_string())).unwrap())
    });
}

#[test]
fn a_commit_creates_an_archive_and_later_ones_add_to_it() {
    let (folder, path) = place();
    let store = LocalZipStore::open(&path).unwrap();
    set(&store, "zarr.json", b"{}");
    set(&store, "a/é", b"chunk");
    assert_eq!(value(&store, "a/é").unwrap().unwrap(), b"chunk"[..]);
    assert_eq!(files(&folder), TEMPORARY, "before the commit, there is no archive");
    store.commit().unwrap();
    assert_eq!(files(&folder), ["a.zip"]);
    assert_eq!(read(&path), expected(&[("a/é", b"chunk"), ("zarr.json", b"{}")]));

    set(&store, "b", &ramp(100_000));
    assert_eq!(read(&path).len(), 2, "other programs read the old archive");
    assert_eq!(keys(&store), ["a/é", "b", "zarr.json"]);
    store.commit().unwrap();
    assert_eq!(read(&path)["b"], ramp(100_000));
    let inode = fs::read(&path).unwrap();
    store.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), inode, "without changes, a commit does nothing");
}

#[test]
fn dropping_the_last_store_commits() {
    let (folder, path) = place();
    let store = LocalZipStore::open(&path).unwrap();
    let other = LocalZipStore::open(folder.path().join(".").join("a.zip")).unwrap();
    set(&store, "a", b"1");
    assert_eq!(value(&other, "a").unwrap().unwrap(), b"1"[..], "stores of one archive share its changes");
    drop(store);
    assert!(!path.exists());
    drop(other);
    assert_eq!(read(&path), expected(&[("a", b"1")]));
}

#[test]
fn replaced_and_erased_values_leave_no_second_entry() {
    let (_folder, path) = place();
    let base = [stored("a", b"1"), deflated("b", b"22222"), stored("c", b"3"), stored("a", b"one")];
    fs::write(&path, archive(&base, b"")).unwrap();
    let store = LocalZipStore::open(&path).unwrap();
    for number in 0..5_u8 {
        set(&store, "b", &[number]);
        set(&store, "new", &[number]);
    }
    store.erase(&key("c")).unwrap();
    set(&store, "gone", b"x");
    store.erase(&key("gone")).unwrap();
    store.erase(&key("missing")).unwrap();
    assert_eq!(keys(&store), ["a", "b", "new"]);
    store.commit().unwrap();
    assert_eq!(read(&path), expected(&[("a", b"one"), ("b", &[4]), ("new", &[4])]));
    assert_eq!(count_records(&path), 3);
    set(&store, "c", b"again");
    store.erase_prefix(&Prefix::root()).unwrap();
    store.commit().unwrap();
    assert_eq!((read(&path).len(), count_records(&path)), (0, 0));
}

#[test]
fn replaced_values_of_one_commit_do_not_stay_in_the_archive() {
    let (_folder, path) = place();
    let store = LocalZipStore::open(&path).unwrap();
    let chunk = |number: u8| ramp(100_000).into_iter().map(|byte| byte ^ number).collect::<Vec<u8>>();
    for number in 0..20 {
        set(&store, "a", &chunk(number));
        set(&store, &format!("b/{number}"), &[number; 10]);
        set(&store, "c", &chunk(number + 100));
    }
    store.commit().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 210_000, "{:?}", fs::metadata(&path));
    let values = read(&path);
    assert_eq!((values.len(), &values["a"][..], &values["c"][..]), (22, &chunk(19)[..], &chunk(119)[..]));
    assert_eq!(values["b/7"], [7; 10][..]);
    assert_eq!(value(&store, "a").unwrap().unwrap(), chunk(19));
}

#[test]
fn what_else_is_in_an_archive_stays() {
    let (_folder, path) = place();
    let base = [stored("folder/", b""), deflated("a", &ramp(1000)), stored("../outside", b"x")];
    fs::write(&path, archive(&base, b"the comment")).unwrap();
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let store = LocalZipStore::open(&path).unwrap();
    set(&store, "b", b"2");
    store.commit().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.ends_with(b"the comment"));
    for name in ["folder/", "../outside"] {
        let found = bytes.windows(name.len()).filter(|window| *window == name.as_bytes()).count();
        assert_eq!(found, 2, "`{name}` has a local header and a record");
    }
    assert_eq!(read(&path), expected(&[("a", &ramp(1000)), ("b", b"2")]));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o640);
    }
}

/// Copies the files before the commit: a process that is killed leaves them in this state.
#[test]
fn a_crash_leaves_the_old_archive_and_the_next_change_removes_the_rest() {
    let (_folder, path) = place();
    let old = [stored("a", b"old"), stored("b", b"b")];
    fs::write(&path, archive(&old, b"")).unwrap();
    let store = LocalZipStore::open(&path).unwrap();
    set(&store, "a", b"new");
    set(&store, "c", b"c");
    let crashed = TempDir::new().unwrap();
    for name in TEMPORARY.into_iter().chain(["a.zip"]) {
        fs::copy(path.with_file_name(name), crashed.path().join(name)).unwrap();
    }
    store.commit().unwrap();

    let path = crashed.path().join("a.zip");
    assert_eq!(read(&path), expected(&[("a", b"old"), ("b", b"b")]));
    let store = LocalZipStore::open(&path).unwrap();
    assert_eq!(value(&store, "a").unwrap().unwrap(), b"old"[..]);
    set(&store, "d", b"d");
    store.commit().unwrap();
    assert_eq!(files(&crashed), ["a.zip"]);
    assert_eq!(read(&path), expected(&[("a", b"old"), ("b", b"b"), ("d", b"d")]));
}

#[test]
fn one_program_changes_an_archive_at_a_time() {
    let (folder, path) = place();
    fs::write(&path, archive(&[stored("a", b"1")], b"")).unwrap();
    let store = LocalZipStore::open(&path).unwrap();
    let lock = File::create(path.with_file_name(TEMPORARY[1])).unwrap();
    lock.lock().unwrap();
    let error = store.set(&key("b"), b"2".into()).unwrap_err();
    assert!(matches!(&error, StoreError::Io { operation: "writing", source, .. }
        if source.to_string().contains("another program is changing the archive")));
    assert_eq!(value(&store, "a").unwrap().unwrap(), b"1"[..]);
    lock.unlock().unwrap();
    set(&store, "b", b"2");
    store.commit().unwrap();
    assert_eq!(files(&folder), ["a.zip"]);
}

#[test]
fn an_archive_that_another_program_replaces_is_not_overwritten() {
    let (folder, path) = place();
    fs::write(&path, archive(&[stored("a", b"1")], b"")).unwrap();
    let store = LocalZipStore::open(&path).unwrap();
    let replace = |entries: &[super::Entry]| {
        let other = folder.path().join("other");
        fs::write(&other, archive(entries, b"")).unwrap();
        fs::rename(&other, &path).unwrap();
    };
    replace(&[stored("b", b"22")]);
    let replaced = |error: StoreError| match error {
        StoreError::Io { source, .. } => source.to_string().contains("replaced after it was opened"),
        _ => false,
    };
    assert!(replaced(store.set(&key("c"), b"3".into()).unwrap_err()));
    assert_eq!(value(&store, "a").unwrap().unwrap(), b"1"[..], "the old archive is still open");
    let again = LocalZipStore::open(&path).unwrap();
    set(&again, "c", b"3");
    replace(&[stored("d", b"4444")]);
    assert!(replaced(again.commit().unwrap_err()));
    assert_eq!(read(&path), expected(&[("d", b"4444")]));
    drop((store, again));
    assert_eq!(read(&path), expected(&[("d", b"4444")]), "dropping the store reports the failure");
    assert_eq!(files(&folder), ["a.zip"]);
}

#[test]
fn an_archive_after_other_bytes_is_not_changed() {
    let (_folder, path) = place();
    fs::write(&path, [&b"#!/bin/sh\n"[..], &archive(&[stored("a", b"1")], b"")].concat()).unwrap();
    let store = LocalZipStore::open(&path).unwrap();
    assert_eq!(value(&store, "a").unwrap().unwrap(), b"1"[..]);
    let error = store.set(&key("b"), b"2".into()).unwrap_err();
    assert!(
        matches!(&error, StoreError::Io { source, .. } if source.to_string().contains("preceded by bytes"))
    );
}

#[test]
fn more_entries_than_16_bits_count_are_written() {
    let (_folder, path) = place();
    let store = LocalZipStore::open(&path).unwrap();
    for number in 0..70_000 {
        set(&store, &number.to_string(), b"");
    }
    store.commit().unwrap();
    assert!(fs::read(&path).unwrap().windows(4).any(|window| window == b"PK\x06\x06"));
    assert_eq!(ZipStore::open(&path).unwrap().list_dir(&Prefix::root()).unwrap().keys.len(), 70_000);
    set(&store, "one more", b"1");
    store.erase(&key("0")).unwrap();
    let listed = store.list_dir(&Prefix::root()).unwrap();
    store.commit().unwrap();
    assert_eq!(store.list_dir(&Prefix::root()).unwrap(), listed);
    assert_eq!((listed.keys.len(), value(&store, "one more").unwrap().unwrap()), (70_000, "1".into()));
}

#[test]
fn listings_have_changes_between_old_keys() {
    let (_folder, path) = place();
    let old: Vec<_> = ["a/1", "a/3", "b", "c/x/1", "d"].map(|at| stored(at, at.as_bytes())).into();
    fs::write(&path, archive(&old, b"")).unwrap();
    let store = LocalZipStore::open(&path).unwrap();
    for at in ["0", "a/2", "a/4", "c/x/0", "c/y", "e"] {
        set(&store, at, at.as_bytes());
    }
    for at in ["a/1", "d"] {
        store.erase(&key(at)).unwrap();
    }
    assert_eq!(keys(&store), ["0", "a/2", "a/3", "a/4", "b", "c/x/0", "c/x/1", "c/y", "e"]);
    let at = |prefix: &str| {
        let found = store.list_dir(&Prefix::new(prefix).unwrap()).unwrap();
        (found.keys.iter().map(ToString::to_string).collect::<Vec<_>>(), found.prefixes)
    };
    let prefix = |text: &str| Prefix::new(text).unwrap();
    assert_eq!(at(""), (vec!["0".into(), "b".into(), "e".into()], vec![prefix("a/"), prefix("c/")]));
    assert_eq!(at("c/"), (vec!["c/y".into()], vec![prefix("c/x/")]));
    assert_eq!(at("f/"), (vec![], vec![]));
    let before = keys(&store);
    store.commit().unwrap();
    assert_eq!(keys(&store), before);
}

#[test]
fn threads_lose_no_conditional_write() {
    let (_folder, path) = place();
    let store = LocalZipStore::open(&path).unwrap();
    let add = |store: &dyn Store| loop {
        let mut output = zarr_spec::Output::at_most(8);
        let options = zarr_spec::store::GetOptions::for_update(zarr_spec::ByteRange::Full);
        let found = store.get(&key("n"), options, &mut output).unwrap();
        let (old, condition) = match &found {
            Some(found) => (output.written()[0], Condition::of(found.version.as_ref()).unwrap()),
            None => (0, Condition::Missing),
        };
        match store.set_if(&key("n"), (&[old + 1]).into(), &condition).unwrap() {
            ConditionalWrite::Done(_) => break,
            ConditionalWrite::Conflict => {}
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| add(&store)));
        }
        scope.spawn(|| (0..5).for_each(|_| store.commit().unwrap()));
    });
    store.commit().unwrap();
    assert_eq!(read(&path), expected(&[("n", &[200])]));
}

#[test]
fn a_name_that_is_too_long_is_refused() {
    let (folder, path) = place();
    let store = LocalZipStore::open(&path).unwrap();
    let long = key(&"x".repeat(65_536));
    assert!(matches!(store.set(&long, b"".into()), Err(StoreError::Key(_))));
    assert!(files(&folder).is_empty());
    set(&store, &"x".repeat(65_535), b"1");
    store.commit().unwrap();
    assert_eq!(read(&path).len(), 1);
}
