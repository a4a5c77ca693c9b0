//! `redb`: the rules for stores, processes that share a file, kills, full disks and damaged files.
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
use zarr_spec::store::{Store, StorePlugin, get_value};
use zarr_spec::{Prefix, inventory};
use zarr_store_redb::{RedbDatabase, RedbStore};

/// The environment variable with the path of the database, in a test that runs as another process.
const FILE: &str = "ZARR_REDB_TEST_FILE";

/// The size of a value in bytes.
const SIZE: usize = 1000;

fn open(path: &Path) -> RedbStore {
    RedbStore::new(RedbDatabase::open(path).unwrap())
}

/// Runs the test `name` of this program in another process, as the second part of that test. `limit` is the largest
/// size of a file in blocks of 512 bytes.
fn second_process(name: &str, file: &Path, limit: &str) -> Child {
    let program = env::current_exe().unwrap();
    let script = r#"ulimit -f "$1"; trap '' XFSZ; exec "$0" --exact "$2" --nocapture"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(program).args([limit, name]);
    shell.env(FILE, file).stdout(Stdio::piped()).spawn().unwrap()
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
    holds_every_rule("redb", &|| {
        *count.borrow_mut() += 1;
        Arc::new(open(&folder.path().join(count.borrow().to_string())))
    });
}

#[test]
fn stores_of_one_file_share_it_and_its_values_remain() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.redb");
    let first = open(&path);
    assert_eq!((&first as &dyn Store).list().unwrap(), []);
    assert!(!path.exists(), "reading creates no file");
    first.set(&key("d/a"), b"1".into()).unwrap();
    let second = open(&folder.path().join(".").join("data.redb"));
    second.set(&key("d/b"), b"2".into()).unwrap();
    assert_eq!((&first as &dyn Store).list().unwrap(), [key("d/a"), key("d/b")]);
    drop((first, second));
    let again = described(&format!(r#"{{"type": "redb", "path": {path:?}, "durable": "full"}}"#)).unwrap();
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
    let path = folder.path().join("data.redb");
    let mut known = 0;
    for round in 1..4 {
        let mut writer =
            second_process("a_killed_writer_leaves_every_value_that_it_wrote", &path, "unlimited");
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

#[test]
fn a_second_writer_is_refused_until_the_first_one_ends() {
    if let Some(file) = in_second_process() {
        let opened = RedbDatabase::open(&file).map(RedbStore::new);
        let written = opened.and_then(|store| store.set(&key("a/1"), b"x".into()));
        println!("second: {}", written.map_or_else(|error| error.to_string(), |()| "written".to_owned()));
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.redb");
    let outcome = || {
        let second =
            second_process("a_second_writer_is_refused_until_the_first_one_ends", &path, "unlimited");
        let output = second.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    open(&path).set(&key("a/0"), b"0".into()).unwrap();
    let reader = open(&path);
    assert!(outcome().contains("another process has the database open"), "a reader is open");
    reader.set(&key("a/0"), b"1".into()).unwrap();
    assert!(outcome().contains("another process has the database open"), "a writer is open");
    drop(reader);
    let written = outcome();
    assert!(written.contains("second: written"), "{written}");
}

#[test]
fn a_full_disk_is_an_error_and_what_was_written_remains() {
    if let Some(file) = in_second_process() {
        let store = open(&file);
        let error = write_values(&store);
        println!("full: {error}");
        // The file is opened again; a smaller change than the refused one may fit.
        println!("read: {}", count_values(&store));
        return;
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.redb");
    let writer = second_process("a_full_disk_is_an_error_and_what_was_written_remains", &path, "8000");
    let output = String::from_utf8(writer.wait_with_output().unwrap().stdout).unwrap();
    assert!(output.contains("full: writing `"), "{output}");
    let written = output.lines().filter(|line| line.contains("wrote ")).count();
    assert!(written > 100, "{written} values fit");
    assert!(output.contains(&format!("read: {written}")), "{output}");
    let store = open(&path);
    assert_eq!(count_values(&store), written);
    store.set(&key("a/0"), (&[0; SIZE]).into()).unwrap();
}

#[test]
fn damaged_files_are_errors() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.redb");
    let store = open(&path);
    for number in 0_u8..50 {
        store.set(&key(&format!("a/{number}")), (&[number; SIZE]).into()).unwrap();
    }
    drop(store);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, "text, not a database").unwrap();
    assert!(RedbDatabase::open(&path).unwrap_err().to_string().contains("data.redb"));
    let mut refused = 0;
    for at in (0..whole.len()).step_by(whole.len() / 97) {
        let mut damaged = whole.clone();
        for byte in damaged.iter_mut().skip(at).take(64) {
            *byte ^= 0x5a;
        }
        damaged.truncate(if at % 2 == 0 { whole.len() } else { at });
        fs::write(&path, damaged).unwrap();
        let read = RedbDatabase::open(&path).and_then(|database| {
            let store = RedbStore::new(database);
            let keys = (&store as &dyn Store).list()?;
            keys.iter().try_for_each(|key| get_value(&store, key, SIZE).map(drop))
        });
        refused += usize::from(read.is_err());
    }
    assert!(refused > 0, "no damage was found");
}

#[test]
fn paths_are_recognized_and_wrong_locations_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.redb");
    open(&path).set(&key("a"), b"1".into()).unwrap();
    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "redb").unwrap();
    assert!((plugin.recognizes)(&path));
    assert!(!(plugin.recognizes)(folder.path()));
    let store = (plugin.open)(&format!("redb:{}", path.display())).unwrap();
    assert_eq!(store.location(), format!("redb:{}", path.canonicalize().unwrap().display()));
    for (location, part) in [
        ("redb:", "expected the path"),
        ("redb://host/a", "expected the path"),
        ("redb:/no/such/folder/a", "opening `/no/such/folder/a`"),
    ] {
        let error = (plugin.open)(location).unwrap_err().to_string();
        assert!(error.contains(part), "{location}: {error}");
    }
    assert!((plugin.open)(&format!("redb:{}", folder.path().display())).is_err());
}
