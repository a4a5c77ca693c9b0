//! A full disk, a read-only folder and a process without file handles: each is an error, and the old values stay.
//!
//! The limits belong to a process, so each test starts this program again, with a shell that sets the limit.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use zarr_spec::store::{Condition, GetOptions, Store, StoreError, get_value};
use zarr_spec::{ByteRange, Key, Output};
use zarr_store_filesystem::{Durability, FilesystemStore, Locking};

/// The environment variable with the folder of the limited process.
const FOLDER: &str = "ZARR_KIT_FAULTS_FOLDER";

const OLD: &[u8] = b"the old value";
const NEW: &[u8] = b"the new value";

/// The size in bytes of a value that exceeds the small disk and the limit for files.
const TOO_LARGE: usize = 1 << 20;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Runs `test` in a process that a shell script starts as `"$0" "$@"`, with `folder` in [`FOLDER`].
fn limited(test: &str, script: &str, folder: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(FOLDER, folder);
    let output = command.output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Returns the folder, in a process that another test has started.
fn folder() -> Option<String> {
    std::env::var(FOLDER).ok()
}

/// The stores that write in different ways.
fn stores(root: &str) -> Vec<FilesystemStore> {
    let open = || FilesystemStore::open(root).unwrap();
    vec![
        open(),
        open().durable(Durability::Full),
        open().locks_files(),
        open().locking(Locking::Lockfile),
        open().locking(Locking::None),
    ]
}

/// Writes the values `k`, `a/k` and `new/k` with every method for writing. Returns the errors.
fn changed(store: &FilesystemStore, value: &[u8]) -> Vec<StoreError> {
    let mut errors = Vec::new();
    for name in ["k", "a/k", "new/k"] {
        errors.extend(store.set(&key(name), value.into()).err());
        errors.extend(store.set_partial_values(&[(key(name), 3, value)]).err());
        if store.capabilities().conditional_set {
            let condition = version(store, name).map_or(Condition::Missing, Condition::Unchanged);
            errors.extend(store.set_if(&key(name), value.into(), &condition).err());
        }
    }
    errors
}

/// Returns the version of a value; `None` if it cannot be read.
fn version(store: &FilesystemStore, name: &str) -> Option<zarr_spec::store::Version> {
    let mut output = Output::at_most(100);
    let got = store.get(&key(name), GetOptions::for_update(ByteRange::Full), &mut output);
    got.ok().flatten().and_then(|got| got.version)
}

fn write_old(root: &str) {
    let store = FilesystemStore::open(root).unwrap();
    for name in ["k", "a/k"] {
        store.set(&key(name), OLD.into()).unwrap();
    }
}

/// Checks that the old values are there, and nothing else.
fn check_old(root: &str) {
    let store = FilesystemStore::open(root).unwrap();
    for name in ["k", "a/k"] {
        assert_eq!(get_value(&store, &key(name), 100).unwrap().unwrap(), OLD);
    }
    let store: &dyn Store = &store;
    let mut names: Vec<String> = store.list().unwrap().iter().map(ToString::to_string).collect();
    names.sort();
    assert_eq!(names, ["a/k", "k"]);
}

/// Writes values that do not fit, in every store, and checks that nothing is left of them.
fn writes_fail(root: &str, reasons: &[&str]) {
    write_old(root);
    for store in stores(root) {
        let errors = changed(&store, &vec![7; TOO_LARGE]);
        let count = if store.capabilities().conditional_set { 9 } else { 6 };
        assert_eq!(errors.len(), count, "{errors:?}");
        for error in errors {
            let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
            assert!(text.contains(root) && reasons.iter().any(|reason| text.contains(reason)), "{text}");
        }
        let leftovers = store.leftovers().unwrap();
        assert!(leftovers.iter().all(|left| left.path.ends_with(".zarr-tmp-lock")), "{leftovers:?}");
        check_old(root);
    }
    // A value that fits is still written.
    let store = FilesystemStore::open(root).unwrap();
    store.set(&key("k"), OLD.into()).unwrap();
}

#[test]
fn a_value_larger_than_the_largest_file_is_an_error() {
    let Some(folder) = folder() else {
        let scratch = tempfile::tempdir().unwrap();
        // The signal would end the process.
        let limit = r#"trap "" XFSZ; ulimit -f 64; exec "$0" "$@""#;
        return limited(
            "faults::a_value_larger_than_the_largest_file_is_an_error",
            limit,
            scratch.path().to_str().unwrap(),
        );
    };
    writes_fail(&folder, &["File too large"]);
}

/// Needs the permission to mount: as root, or in a user namespace.
#[test]
fn a_full_disk_is_an_error() {
    let Some(folder) = folder() else {
        let scratch = tempfile::tempdir().unwrap();
        let can_mount = ["unshare -m", "unshare -rm"].into_iter().find(|unshare| {
            let script = format!("{unshare} mount -t tmpfs none {}", scratch.path().display());
            Command::new("sh").args(["-c", &script]).output().is_ok_and(|output| output.status.success())
        });
        let Some(unshare) = can_mount else {
            return eprintln!("SKIPPED: this system does not let the test mount a small disk");
        };
        let mount = r#"mount -t tmpfs -o size=256k none "$ZARR_KIT_FAULTS_FOLDER" && exec "$0" "$@""#;
        let limit = format!(r#"exec {unshare} sh -c '{mount}' "$0" "$@""#);
        return limited("faults::a_full_disk_is_an_error", &limit, scratch.path().to_str().unwrap());
    };
    writes_fail(&folder, &["No space left"]);
}

#[test]
fn a_read_only_folder_is_an_error() {
    let Some(folder) = folder() else {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().to_str().unwrap();
        write_old(root);
        for folder in ["a", ""] {
            fs::set_permissions(scratch.path().join(folder), Permissions::from_mode(0o555)).unwrap();
        }
        // The superuser may write to any folder, so the process becomes another user.
        let limit = r#"[ "$(id -u)" != 0 ] || exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@"
            exec "$0" "$@""#;
        limited("faults::a_read_only_folder_is_an_error", limit, root);
        for folder in ["", "a"] {
            fs::set_permissions(scratch.path().join(folder), Permissions::from_mode(0o755)).unwrap();
        }
        return;
    };
    for store in stores(&folder) {
        let mut errors = changed(&store, b"new");
        errors.extend(["k", "a/k"].map(|name| store.erase(&key(name)).unwrap_err()));
        for error in errors {
            let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
            assert!(text.contains(&folder) && text.contains("Permission denied"), "{text}");
        }
        assert_eq!(store.leftovers().unwrap(), []);
        check_old(&folder);
    }
}

#[test]
fn a_process_without_file_handles_gets_errors() {
    let Some(folder) = folder() else {
        let scratch = tempfile::tempdir().unwrap();
        return limited(
            "faults::a_process_without_file_handles_gets_errors",
            r#"ulimit -n 64; exec "$0" "$@""#,
            scratch.path().to_str().unwrap(),
        );
    };
    for store in 0..stores(&folder).len() {
        // No handle, then one, then two: calls fail at different places.
        for free in 0..3 {
            for change in &CHANGES {
                for name in ["k", "a/k", "new/k"] {
                    Case { store, free, change, name }.check(&folder);
                }
            }
        }
    }
}

/// A call that changes a value.
struct Change {
    name: &'static str,
    make: fn(&FilesystemStore, &Key, &Condition) -> Result<(), StoreError>,
}

/// All calls that change a value. Those that write make it [`NEW`].
const CHANGES: [Change; 4] = [
    Change { name: "set", make: |store, key, _| store.set(key, NEW.into()) },
    Change { name: "set a part", make: |store, key, _| store.set_partial_values(&[(key.clone(), 0, NEW)]) },
    Change {
        name: "set under a condition",
        make: |store, key, condition| {
            store.set_if(key, NEW.into(), condition).map(|set| assert!(!set.is_conflict()))
        },
    },
    Change { name: "erase", make: |store, key, _| store.erase(key) },
];

/// A change of the value `name` in a store of [`stores`], when the process can open only `free` files.
struct Case<'c> {
    store: usize,
    free: usize,
    change: &'c Change,
    name: &'static str,
}

impl Case<'_> {
    /// Checks that the change fails and leaves the old value, or is complete.
    fn check(&self, root: &str) {
        let Self { free, change, name, .. } = *self;
        write_old(root);
        let _new = fs::remove_dir_all(format!("{root}/new"));
        let store = &stores(root)[self.store];
        if change.name == "set under a condition" && !store.capabilities().conditional_set {
            return;
        }
        let condition = version(store, name).map_or(Condition::Missing, Condition::Unchanged);
        let before = get_value(store, &key(name), 100).unwrap();
        let mut files = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            files.push(file);
        }
        files.truncate(files.len() - free);
        let changed = (change.make)(store, &key(name), &condition);
        drop(files);
        let case = format!("{} {name} with {free} handles, {store:?}", change.name);
        let after = get_value(store, &key(name), 100).unwrap();
        match changed {
            Ok(()) if change.name == "erase" => assert_eq!(after, None, "{case}"),
            Ok(()) => {
                assert!(free > 0, "{case}");
                assert_eq!(after.unwrap(), NEW, "{case}");
            }
            Err(error) => {
                let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
                assert!(text.contains(root) && text.contains("Too many open files"), "{case}: {text}");
                assert_eq!(after, before, "{case}");
            }
        }
        let leftovers = store.leftovers().unwrap();
        assert!(leftovers.iter().all(|left| left.path.ends_with(".zarr-tmp-lock")), "{case}: {leftovers:?}");
        store.set(&key(name), OLD.into()).unwrap();
        assert_eq!(get_value(store, &key(name), 100).unwrap().unwrap(), OLD, "{case}");
    }
}
