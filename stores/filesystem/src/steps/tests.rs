//! The states that a power cut between any two steps leaves, for each durability.

use std::collections::BTreeSet;
use std::path::Path;

use tempfile::TempDir;
use zarr_spec::store::{Condition, GetOptions, Store, StoreError, Version};
use zarr_spec::{ByteRange, Key, Output, Prefix};

use super::simulation::{Disk, Files, Recorded, recorded};
use crate::place::TEMPORARY;
use crate::{Durability, FilesystemStore, Locking};

const OLD: &[u8] = b"old value";
const NEW: &[u8] = b"another, longer value";

type Call = fn(&FilesystemStore) -> Result<(), StoreError>;

/// Calls that change a store, each with the calls before it.
const CALLS: [(&str, Call, Call); 10] = [
    ("create", |_| Ok(()), |store| set(store, "a/b/k", NEW)),
    ("create next to another value", |store| set(store, "a/k", OLD), |store| set(store, "a/l", NEW)),
    ("replace", |store| set(store, "a/k", OLD), |store| set(store, "a/k", NEW)),
    (
        "replace under a condition",
        |store| set(store, "k", OLD),
        |store| {
            let version = version(store, "k")?;
            store.set_if(&key("k"), NEW.into(), &Condition::Unchanged(version)).map(drop)
        },
    ),
    (
        "refuse a condition",
        |store| set(store, "k", OLD),
        |store| store.set_if(&key("k"), NEW.into(), &Condition::Missing).map(drop),
    ),
    (
        "erase under a condition",
        |store| set(store, "a/b/k", OLD).and_then(|()| set(store, "a/l", OLD)),
        |store| {
            let version = version(store, "a/b/k")?;
            store.erase_if(&key("a/b/k"), &version).map(drop)
        },
    ),
    (
        "write a part",
        |store| set(store, "a/k", OLD),
        |store| store.set_partial_values(&[(key("a/k"), 0, &NEW[..9]), (key("a/k"), 9, &NEW[9..])]),
    ),
    (
        "erase",
        |store| set(store, "a/b/k", OLD).and_then(|()| set(store, "a/l", OLD)),
        |store| store.erase(&key("a/b/k")),
    ),
    (
        "erase a prefix",
        |store| set(store, "a/k", OLD).and_then(|()| set(store, "a/l", OLD)),
        |store| store.erase_prefix(&Prefix::new("a/")?),
    ),
    (
        "erase everything",
        |store| set(store, "a/k", OLD).and_then(|()| set(store, "l", OLD)),
        |store| store.erase_prefix(&Prefix::root()),
    ),
];

type Configure = fn(FilesystemStore) -> FilesystemStore;

/// How writers exclude each other, each with its name.
const LOCKS: [(&str, Configure); 4] = [
    ("locked folders", |store| store),
    ("lock files of the system", FilesystemStore::locks_files),
    ("lock files", |store| store.locking(Locking::Lockfile)),
    ("no locks", |store| store.locking(Locking::None)),
];

/// Checks all calls with each kind of lock.
fn each_call(durability: Durability, check: impl Fn(&Recording) -> bool) {
    for (lock, configure) in LOCKS {
        for (name, before, call) in CALLS {
            if lock == "no locks" && name.contains("condition") {
                continue;
            }
            let recording = Recording::with(durability, configure, before, call);
            assert!(check(&recording), "{name}, {lock}: {:#?}", recording.call);
        }
    }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn set(store: &FilesystemStore, text: &str, value: &[u8]) -> Result<(), StoreError> {
    store.set(&key(text), value.into())
}

fn version(store: &FilesystemStore, text: &str) -> Result<Version, StoreError> {
    let mut output = Output::at_most(100);
    let got = store.get(&key(text), GetOptions::for_update(ByteRange::Full), &mut output)?;
    Ok(got.unwrap().version.unwrap())
}

/// The steps of a call and of the calls before it, in a new folder.
struct Recording {
    folder: TempDir,
    before: Vec<Recorded>,
    call: Vec<Recorded>,
    /// The files of values before and after the call.
    old: Files,
    new: Files,
}

impl Recording {
    fn new(durability: Durability, before: Call, call: Call) -> Self {
        Self::with(durability, |store| store, before, call)
    }

    fn with(durability: Durability, configure: Configure, before: Call, call: Call) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The root does not exist yet.
        let store = FilesystemStore::open(folder.path().join("root/data")).unwrap();
        let store = configure(store.durable(durability));
        let before = recorded(|| before(&store).unwrap());
        let old = without_temporary(files_below(folder.path()));
        let call = recorded(|| call(&store).unwrap());
        let new = without_temporary(files_below(folder.path()));
        Self { folder, before, call, old, new }
    }

    /// Returns the states that a power cut may leave before the call and after each step of the call, without temporary
    /// files.
    fn states(&self) -> Vec<BTreeSet<Files>> {
        let mut disk = Disk::new(self.folder.path());
        self.before.iter().for_each(|step| disk.apply(step));
        let mut states = vec![disk.after_power_cut()];
        for step in &self.call {
            disk.apply(step);
            states.push(disk.after_power_cut());
        }
        assert_eq!(disk.now(), self.new, "a step was not recorded: {:?}", self.call);
        states.into_iter().map(|states| states.into_iter().map(without_temporary).collect()).collect()
    }

    /// Returns whether a power cut never undoes a call that has returned, and never leaves a part of a call in
    /// progress.
    fn is_kept(&self) -> bool {
        let states = self.states();
        let is_one = |files: &Files| *files == self.old || *files == self.new;
        states[0] == BTreeSet::from([self.old.clone()])
            && states[states.len() - 1] == BTreeSet::from([self.new.clone()])
            // A call that erases several values may be interrupted between them.
            && (self.new.len() + 1 < self.old.len() || states.iter().flatten().all(is_one))
    }

    /// Returns whether every value is complete.
    fn is_whole(&self) -> bool {
        let is_complete =
            |files: &Files| files.values().all(|bytes| bytes.as_slice() == OLD || bytes.as_slice() == NEW);
        self.states().iter().flatten().all(is_complete)
    }
}

fn without_temporary(mut files: Files) -> Files {
    files.retain(|path, _| !path.file_name().unwrap().to_str().unwrap().starts_with(TEMPORARY));
    files
}

fn files_below(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => drop(files.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    files
}

#[test]
fn with_full_durability_a_finished_call_is_not_undone() {
    each_call(Durability::Full, |recording| recording.is_whole() && recording.is_kept());
}

#[test]
fn with_data_durability_every_value_is_complete() {
    each_call(Durability::Data, Recording::is_whole);
    // With this durability, a power cut may undo a finished call.
    let (_, before, call) = CALLS[2];
    assert!(!Recording::new(Durability::Data, before, call).is_kept());
}

#[test]
fn without_durability_a_value_may_be_empty_or_incomplete() {
    let (_, before, call) = CALLS[2];
    let recording = Recording::new(Durability::None, before, call);
    assert!(!recording.is_whole());
    let path = recording.folder.path().join("root/data/a/k");
    let states = recording.states();
    let last = states.last().unwrap();
    for value in [Some(&NEW[..0]), Some(&NEW[..NEW.len() / 2]), Some(NEW), Some(OLD), None] {
        assert!(last.iter().any(|files| files.get(&path).map(Vec::as_slice) == value), "{value:?}");
    }
}
