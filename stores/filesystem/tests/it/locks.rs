//! Locks between writers, their files, and versions.

use std::fs;
use std::time::{Duration, Instant};

use zarr_spec::store::{Condition, ConditionalWrite, GetOptions, IoKind, Store, StoreError, Version};
use zarr_spec::{ByteRange, Key, Output};
use zarr_store_filesystem::{FilesystemStore, Locking};

use super::{Scratch, scratch};

fn scratch_with(configure: impl Fn(FilesystemStore) -> FilesystemStore) -> Scratch {
    let Scratch { store, folder } = scratch();
    Scratch { store: configure(store), folder }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn version(store: &FilesystemStore, at: &str) -> Option<Version> {
    let mut output = Output::at_most(1 << 20);
    store.get(&key(at), GetOptions::for_update(ByteRange::Full), &mut output).unwrap()?.version
}

#[test]
fn locks_leave_no_files_on_a_local_file_system() {
    let scratch = scratch();
    scratch.set("a/b", b"1").unwrap();
    let condition = Condition::of(version(&scratch.store, "a/b").as_ref()).unwrap();
    assert!(!scratch.store.set_if(&key("a/b"), b"2".into(), &condition).unwrap().is_conflict());
    let lock = scratch.store.lock(&key("a/b")).unwrap().unwrap();
    assert_eq!(scratch.files(), ["a/", "a/.zarr-tmp-change-b", "a/b"]);
    assert_eq!(scratch.list(), ["a/b"]);
    drop(lock);
    assert_eq!(scratch.files(), ["a/", "a/b"]);
    scratch.erase("a/b").unwrap();
    assert_eq!(scratch.files(), [""; 0]);
}

#[test]
fn lock_files_are_hidden_and_vanish_with_their_folder() {
    let scratch = scratch_with(FilesystemStore::locks_files);
    scratch.set("a/b/c", b"1").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b/", "a/b/.zarr-tmp-lock", "a/b/c"]);
    assert_eq!(scratch.list(), ["a/b/c"]);
    assert_eq!(scratch.store.leftovers().unwrap().len(), 1);
    scratch.erase("a/b/c").unwrap();
    assert_eq!(scratch.files(), [""; 0]);
}

#[test]
fn a_leftover_lock_of_the_system_is_ignored() {
    for locks_files in [false, true] {
        let scratch = scratch_with(|store| if locks_files { store.locks_files() } else { store });
        scratch.set("a/b", b"1").unwrap();
        // The state after a process was killed: the files exist, but no process holds them.
        for name in [".zarr-tmp-lock", ".zarr-tmp-change-b", ".zarr-tmp-lock-b"] {
            fs::write(scratch.path("root/a").join(name), b"process 1 on elsewhere").unwrap();
        }
        scratch.set("a/b", b"2").unwrap();
        let condition = Condition::of(version(&scratch.store, "a/b").as_ref()).unwrap();
        assert!(!scratch.store.set_if(&key("a/b"), b"3".into(), &condition).unwrap().is_conflict());
        drop(scratch.store.lock(&key("a/b")).unwrap().unwrap());
    }
}

#[test]
fn a_leftover_lock_file_is_an_error_that_names_the_file_and_the_remedy() {
    let patience = Duration::from_millis(50);
    let scratch = scratch_with(|store| store.locking(Locking::Lockfile).lock_patience(patience));
    scratch.set("a/b", b"old").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b"]);
    let lock = scratch.path("root/a/.zarr-tmp-lock-b");
    fs::write(&lock, "process 7 on node3 (lock 0)\n").unwrap();
    let start = Instant::now();
    let failed = [
        scratch.set("a/b", b"new").unwrap_err(),
        scratch.store.set_if(&key("a/b"), b"new".into(), &Condition::Missing).unwrap_err(),
        scratch.erase("a/b").unwrap_err(),
    ];
    assert!(start.elapsed() > 3 * patience);
    for error in failed {
        let text = error.to_string();
        assert!(matches!(error, StoreError::Io { kind: IoKind::TimedOut, .. }), "{text}");
        assert!(text.contains("process 7 on node3 (lock 0) has held this lock for"), "{text}");
        assert!(text.contains(&format!("rm '{}'", lock.display())), "{text}");
    }
    assert_eq!(scratch.get("a/b").unwrap().unwrap(), "old");
    // Another value in the folder has its own lock.
    scratch.set("a/c", b"new").unwrap();
    fs::remove_file(&lock).unwrap();
    scratch.set("a/b", b"new").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b", "a/c"]);
}

/// The variable with the folder of a process that holds locks until it is killed.
#[cfg(unix)]
const HOLDER: &str = "ZARR_KIT_LOCK_HOLDER";

/// Holds the lock of a change of `a/c`, and writes `a/b` again and again.
#[cfg(unix)]
fn hold_locks(root: &str) -> ! {
    let store = FilesystemStore::open(root).unwrap().locking(Locking::Lockfile);
    let _change = store.lock(&key("a/c")).unwrap().unwrap();
    println!("\n{HOLDER}");
    loop {
        store.set(&key("a/b"), b"new".into()).unwrap();
    }
}

/// Starts a process that holds locks, and kills it. Returns the number of the process.
#[cfg(unix)]
fn kill_holder(root: &str, delay: Duration) -> u32 {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["locks::locks_of_a_killed_process_are_errors_that_name_the_file_and_the_remedy", "--exact"]);
    command.args(["--nocapture", "--test-threads=1"]).env(HOLDER, root);
    let mut holder = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == HOLDER), "the process did not start");
    std::thread::sleep(delay);
    holder.kill().unwrap();
    holder.wait().unwrap();
    holder.id()
}

/// Checks that an error names a lock file and its holder, and runs the command in it.
#[cfg(unix)]
fn follow_advice(error: &StoreError, lock: &std::path::Path, process: u32) {
    let text = error.to_string();
    assert!(matches!(error, StoreError::Io { kind: IoKind::TimedOut, .. }), "{text}");
    assert!(
        text.contains(&format!("process {process} on ")) && text.contains(lock.to_str().unwrap()),
        "{text}"
    );
    let (_, command) = text.split_once("if that process has ended, remove the lock: ").unwrap();
    assert!(lock.exists());
    let status = std::process::Command::new("sh").args(["-c", command]).status().unwrap();
    assert!(status.success() && !lock.exists(), "{command}");
}

#[cfg(unix)]
#[test]
fn locks_of_a_killed_process_are_errors_that_name_the_file_and_the_remedy() {
    if let Ok(root) = std::env::var(HOLDER) {
        hold_locks(&root);
    }
    let patience = Duration::from_millis(50);
    let scratch = scratch_with(|store| store.locking(Locking::Lockfile).lock_patience(patience));
    scratch.set("a/b", b"old").unwrap();
    let lock = scratch.path("root/a/.zarr-tmp-lock-b");
    let change_lock = scratch.path("root/a/.zarr-tmp-change-c");
    // The process holds the lock of `a/b` for a part of the time.
    let killed = (0..200).find_map(|number| {
        for left in scratch.store.leftovers().unwrap() {
            left.remove().unwrap();
        }
        let killed =
            kill_holder(scratch.store.path().to_str().unwrap(), Duration::from_micros(number * 97 % 5000));
        fs::read_to_string(&lock).is_ok_and(|holder| holder.ends_with('\n')).then_some(killed)
    });
    let killed = killed.expect("no process was killed while it held the lock");
    let start = Instant::now();
    let failed = scratch.set("a/b", b"newer").unwrap_err();
    assert!(start.elapsed() > patience);
    follow_advice(&failed, &lock, killed);
    let value = scratch.get("a/b").unwrap().unwrap();
    assert!(value == "old" || value == "new", "{value:?}");
    scratch.set("a/b", b"newer").unwrap();
    // A change of several values may hold its lock longer.
    let start = Instant::now();
    let failed = scratch.store.lock(&key("a/c")).map(drop).unwrap_err();
    assert!(start.elapsed() > 20 * patience);
    follow_advice(&failed, &change_lock, killed);
    drop(scratch.store.lock(&key("a/c")).unwrap().unwrap());
    assert_eq!(scratch.get("a/b").unwrap().unwrap(), "newer");
}

#[test]
fn without_locks_there_are_no_conditions() {
    let scratch = scratch_with(|store| store.locking(Locking::None));
    scratch.set("a/b", b"1").unwrap();
    assert!(!scratch.store.capabilities().conditional_set);
    assert!(scratch.store.lock(&key("a/b")).unwrap().is_none());
    let refused = scratch.store.set_if(&key("a/b"), b"2".into(), &Condition::Missing);
    assert!(matches!(refused, Err(StoreError::NotSupported { quality: "not conditional", .. })));
    assert_eq!(scratch.files(), ["a/", "a/b"]);
}

/// Versions differ although a file system often uses a file number again immediately, and its clock ticks in
/// milliseconds.
#[test]
fn quick_changes_of_one_size_have_different_versions() {
    for locks_files in [false, true] {
        let scratch = scratch_with(|store| if locks_files { store.locks_files() } else { store });
        let mut versions = Vec::new();
        for value in 0..100_u8 {
            scratch.set("k", &[value]).unwrap();
            versions.push(version(&scratch.store, "k").unwrap());
            scratch.erase("k").unwrap();
        }
        let count = versions.len();
        versions.sort_by(|one, other| one.bytes().cmp(other.bytes()));
        versions.dedup();
        assert_eq!(versions.len(), count, "{locks_files}");
    }
}

/// Some file systems round times. The version is then a hash of the contents.
#[test]
fn a_value_with_a_rounded_time_is_compared_by_its_contents() {
    let scratch = scratch();
    scratch.set("k", b"aaaa").unwrap();
    let path = scratch.path("root/k");
    let rounded = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    let round = || fs::File::options().write(true).open(&path).unwrap().set_modified(rounded).unwrap();
    round();
    let before = version(&scratch.store, "k").unwrap();
    // Writes in place, so that the number, the size and the time of the file stay the same.
    fs::write(&path, b"bbbb").unwrap();
    round();
    let condition = Condition::Unchanged(before);
    assert_eq!(
        scratch.store.set_if(&key("k"), b"lost".into(), &condition).unwrap(),
        ConditionalWrite::Conflict
    );
    fs::write(&path, b"aaaa").unwrap();
    round();
    assert!(!scratch.store.set_if(&key("k"), b"cccc".into(), &condition).unwrap().is_conflict());
    assert_eq!(scratch.get("k").unwrap().unwrap(), "cccc");
}
