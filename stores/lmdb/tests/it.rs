//! `lmdb`: the rules for stores, processes that share a database, kills, and full databases.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::cell::RefCell;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use zarr_conformance::stores::around::{described, holds_every_rule, key};
use zarr_spec::store::{Backoff, Condition, Durability, GetOptions, Store, StorePlugin, get_value};
use zarr_spec::{ByteRange, Key, Output, Prefix, inventory};
use zarr_store_lmdb::{LmdbDatabase, LmdbStore, Options};

/// The environment variable with the path of the database, in a test that runs as another process.
const FILE: &str = "ZARR_LMDB_TEST_PATH";

/// The size of a value in bytes.
const SIZE: usize = 1000;

/// A map that fits into little address space.
const SMALL: Options = Options { map_size: Some(1 << 20), durable: Durability::None };

fn open(path: &Path) -> LmdbStore {
    LmdbStore::new(LmdbDatabase::open(path, Options::default()).unwrap())
}

/// Runs the test `name` of this program in another process, as the second part of that test.
fn second_process(name: &str, path: &Path) -> Child {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", name, "--nocapture"]).env(FILE, path);
    program.stdout(Stdio::piped()).spawn().unwrap()
}

/// Returns the file of a test that runs as another process.
fn in_second_process() -> Option<PathBuf> {
    env::var_os(FILE).map(PathBuf::from)
}

/// Writes values until it fails or is killed, and prints the number of each one after it is written.
fn write_values(store: &dyn Store) -> String {
    for number in 0_u32.. {
        let value = [number.to_le_bytes()[0]; SIZE];
        if let Err(error) = store.set(&key(&format!("a/{number}")), (&value).into()) {
            return error.to_string();
        }
        println!("wrote {number}");
        std::io::stdout().flush().unwrap();
    }
    unreachable!("a test does not write all numbers")
}

/// Returns the number of values, each of which must be whole.
fn count_values(store: &dyn Store) -> usize {
    let keys = store.list().unwrap();
    for key in &keys {
        let number: u32 = key.name().parse().unwrap();
        let value = get_value(store, key, SIZE).unwrap().unwrap();
        assert_eq!(value, vec![number.to_le_bytes()[0]; SIZE], "{key}");
    }
    keys.len()
}

#[test]
fn every_rule_for_stores_holds() {
    let folder = TempDir::new().unwrap();
    let count = RefCell::new(0);
    holds_every_rule("lmdb", &|| {
        *count.borrow_mut() += 1;
        Arc::new(open(&folder.path().join(count.borrow().to_string())))
    });
}

#[test]
fn stores_of_one_database_share_it_and_its_values_remain() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.lmdb");
    let first = open(&path);
    assert_eq!((&first as &dyn Store).list().unwrap(), []);
    assert!(!path.exists(), "reading creates no file");
    first.set(&key("d/a"), b"1".into()).unwrap();
    let second = open(&folder.path().join(".").join("data.lmdb"));
    second.set(&key("d/b"), b"2".into()).unwrap();
    assert_eq!((&first as &dyn Store).list().unwrap(), [key("d/a"), key("d/b")]);
    drop((first, second));
    let again = described(&format!(r#"{{"type": "lmdb", "path": {path:?}, "durable": "full"}}"#)).unwrap();
    assert_eq!(get_value(&*again, &key("d/b"), 9).unwrap().unwrap(), "2");
    again.erase_prefix(&Prefix::new("d/").unwrap()).unwrap();
    assert_eq!(again.list().unwrap(), []);
}

#[test]
fn a_killed_writer_leaves_every_value_that_it_wrote() {
    if let Some(file) = in_second_process() {
        panic!("{}", write_values(&open(&file)));
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.lmdb");
    let mut known = 0;
    for round in 1..4 {
        let mut writer = second_process("a_killed_writer_leaves_every_value_that_it_wrote", &path);
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let written = lines.map(Result::unwrap).filter(|line| line.contains("wrote ")).take(40 * round);
        known = known.max(written.count());
        writer.kill().unwrap();
        writer.wait().unwrap();
        let store = open(&path);
        assert!(count_values(&store) >= known, "round {round}");
        store.set(&key("a/0"), (&[0; SIZE]).into()).unwrap();
    }
    assert_eq!(known, 120);
}

/// Adds one to a number in the store.
fn add_one(store: &dyn Store, at: &Key) {
    let mut backoff = Backoff::new();
    loop {
        let mut output = Output::at_most(8);
        let found = store.get(at, GetOptions::for_update(ByteRange::Full), &mut output).unwrap();
        let number =
            found.as_ref().map_or(0, |found| u64::from_le_bytes(found.bytes(&output).try_into().unwrap()));
        let condition = match &found {
            Some(found) => Condition::of(found.version.as_ref()).unwrap(),
            None => Condition::Missing,
        };
        let next = (number + 1).to_le_bytes();
        if !store.set_if(at, (&next).into(), &condition).unwrap().is_conflict() {
            return;
        }
        backoff.wait(at).unwrap();
    }
}

#[test]
fn processes_that_change_one_value_lose_nothing() {
    let add = |path: &Path| {
        let store = open(path);
        (0..200).for_each(|_| add_one(&store, &key("count")));
    };
    if let Some(path) = in_second_process() {
        return add(&path);
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.lmdb");
    let others: Vec<Child> =
        (0..2).map(|_| second_process("processes_that_change_one_value_lose_nothing", &path)).collect();
    add(&path);
    for other in others {
        assert!(other.wait_with_output().unwrap().status.success());
    }
    let count = get_value(&open(&path), &key("count"), 8).unwrap().unwrap();
    assert_eq!(count[..], 600_u64.to_le_bytes());
}

#[test]
fn a_full_database_is_an_error_and_a_larger_map_accepts_more() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.lmdb");
    let store = LmdbStore::new(LmdbDatabase::open(&path, SMALL).unwrap());
    let error = write_values(&store);
    assert!(error.contains("the database is full at 1048576 bytes"), "{error}");
    let count = count_values(&store);
    assert!(count > 100, "{count} values fit");
    drop(store);
    let store = open(&path);
    store.set(&key("a/0"), (&[0; SIZE]).into()).unwrap();
    store.set(&key("a/1000000"), (&[64; SIZE]).into()).unwrap();
    assert_eq!(count_values(&store), count + 1);
    store.erase_prefix(&Prefix::root()).unwrap();
    assert_eq!((&store as &dyn Store).list().unwrap(), []);
}

#[test]
fn long_keys_are_refused_and_never_found() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder.path().join("data.lmdb"));
    let [fits, long] = [511, 512].map(|size| key(&"k".repeat(size)));
    store.set(&fits, b"1".into()).unwrap();
    let error = store.set(&long, b"1".into()).unwrap_err().to_string();
    assert!(error.contains("at most 511 bytes"), "{error}");
    assert_eq!(store.size(&long).unwrap(), None);
    store.erase(&long).unwrap();
    assert_eq!((&store as &dyn Store).list().unwrap(), [fits]);
    let below = Prefix::new(format!("{}/", "p".repeat(600))).unwrap();
    assert_eq!((&store as &dyn Store).list_sorted(&below).unwrap(), []);
}

#[test]
fn files_that_are_not_databases_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, vec![b'x'; 20_000]).unwrap();
    assert!(LmdbDatabase::open(&path, SMALL).is_err());
}

#[test]
fn plain_paths_and_wrong_locations_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.lmdb");
    open(&path).set(&key("a"), b"1".into()).unwrap();
    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "lmdb").unwrap();
    assert!(!(plugin.recognizes)(&path));
    let store = (plugin.open)(&format!("lmdb:{}", path.display())).unwrap();
    assert_eq!(store.location(), format!("lmdb:{}", path.canonicalize().unwrap().display()));
    for (location, part) in [
        ("lmdb:", "expected the path"),
        ("lmdb://host/a", "expected the path"),
        ("lmdb:/no/such/folder/a", "opening `/no/such/folder/a`"),
    ] {
        let error = (plugin.open)(location).unwrap_err().to_string();
        assert!(error.contains(part), "{location}: {error}");
    }
}
