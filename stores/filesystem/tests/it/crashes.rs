//! Temporary files that a crash leaves, and their removal.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{fs, thread};

use zarr_spec::Prefix;
use zarr_spec::store::{Store, StoreError};

use super::scratch;

/// Tests D3-FS-04, V2-STORE-05.
#[test]
fn a_crash_leaves_the_old_value_and_only_hidden_files() {
    let scratch = scratch();
    scratch.set("a/b", b"old").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b"]);
    // Simulates a crash during a write.
    let left = ".zarr-tmp-0123456789abcdef-0";
    fs::write(scratch.path("root/a").join(left), b"ne").unwrap();
    fs::create_dir(scratch.path("root/c")).unwrap();
    fs::write(scratch.path("root/c").join(left), b"ne").unwrap();
    assert_eq!(scratch.get("a/b").unwrap().unwrap(), "old");
    assert_eq!(scratch.list(), ["a/b"]);
    let root = scratch.store.list_dir(&Prefix::root()).unwrap();
    let folders = ["a/", "c/"].map(|text| Prefix::new(text).unwrap());
    assert_eq!((root.keys, root.prefixes), (vec![], folders.to_vec()));
    let key = format!("a/{left}");
    assert!(matches!(scratch.get(&key), Err(StoreError::Key(_))));
    assert!(matches!(scratch.set(&key, b"v"), Err(StoreError::Key(_))));
    assert!(matches!(scratch.set(&format!("{left}/x"), b"v"), Err(StoreError::Key(_))));

    scratch.set("a/b", b"new").unwrap();
    assert_eq!(scratch.get("a/b").unwrap().unwrap(), "new");
    scratch.set("c", b"replaces a folder without keys").unwrap();
    scratch.store.erase_prefix(&Prefix::new("a/").unwrap()).unwrap();
    assert_eq!(scratch.files(), ["c"]);
}

#[test]
fn leftovers_are_listed_with_their_age_and_removed() {
    let scratch = scratch();
    assert_eq!(scratch.store.leftovers().unwrap(), []);
    scratch.set("a/b/value", b"v").unwrap();
    let leave = |name: &str, bytes: &[u8], written: SystemTime| {
        let file = fs::File::create(scratch.path("root").join(name)).unwrap();
        std::io::Write::write_all(&mut &file, bytes).unwrap();
        file.set_modified(written).unwrap();
    };
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    leave("a/b/.zarr-tmp-0123456789abcdef-0-1", b"half", now - 2 * hour);
    leave(".zarr-tmp-x", b"", now + hour);
    fs::create_dir(scratch.path("root/.zarr-tmp-folder")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(scratch.path("root/a"), scratch.path("root/link")).unwrap();
    let found = scratch.store.leftovers().unwrap();
    let paths: Vec<_> =
        found.iter().map(|one| one.path.strip_prefix(scratch.path("root")).unwrap().to_owned()).collect();
    assert_eq!(paths, [".zarr-tmp-x", "a/b/.zarr-tmp-0123456789abcdef-0-1"].map(PathBuf::from));
    assert_eq!((found[0].size, found[0].age), (0, Duration::ZERO));
    assert_eq!((found[1].size, found[1].age.as_secs() / 3600), (4, 2));
    for leftover in &found {
        leftover.remove().unwrap();
        leftover.remove().unwrap();
    }
    assert_eq!(scratch.store.leftovers().unwrap(), []);
    assert_eq!(scratch.get("a/b/value").unwrap().unwrap(), "v");
}

/// Removing a file that is being written does not lose the value.
#[test]
fn a_value_is_written_again_if_its_temporary_file_is_removed() {
    let scratch = scratch();
    let value = vec![7; 64 << 10];
    let writing = std::sync::atomic::AtomicBool::new(true);
    let removed = thread::scope(|scope| {
        let remover = scope.spawn(|| {
            let mut removed = 0;
            while writing.load(std::sync::atomic::Ordering::Relaxed) {
                for leftover in scratch.store.leftovers().unwrap() {
                    leftover.remove().unwrap();
                    removed += 1;
                }
                // Without a pause, this thread may win every race on a busy machine.
                thread::sleep(Duration::from_micros(200));
            }
            removed
        });
        let written: Vec<_> =
            (0..300).map(|number| scratch.set(&format!("a/{}", number % 3), &value)).collect();
        writing.store(false, std::sync::atomic::Ordering::Relaxed);
        written.into_iter().for_each(|result| result.unwrap());
        remover.join().unwrap()
    });
    assert_eq!(scratch.files(), ["a/", "a/0", "a/1", "a/2"], "{removed} were removed");
    assert_eq!(scratch.get("a/0").unwrap().unwrap(), value);
}
