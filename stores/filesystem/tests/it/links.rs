//! Links, pipes, sockets and devices.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use zarr_spec::store::{GetOptions, Store, StoreError};
use zarr_spec::{ByteRange, Key, Output, Prefix};
use zarr_store_filesystem::FilesystemStore;

use super::{scratch, texts};

/// Tests DX-FS-06.
#[test]
fn links_are_read_but_writes_and_erasures_stay_inside_of_the_root() {
    let scratch = scratch();
    scratch.set("real/x", b"inside").unwrap();
    fs::create_dir_all(scratch.path("outside/deep")).unwrap();
    fs::write(scratch.path("outside/deep/y"), b"outside").unwrap();
    symlink(scratch.path("outside"), scratch.path("root/out")).unwrap();
    symlink(scratch.path("outside/deep/y"), scratch.path("root/value")).unwrap();
    symlink("real", scratch.path("root/in")).unwrap();

    assert_eq!(scratch.get("out/deep/y").unwrap().unwrap(), "outside");
    assert_eq!(scratch.get("value").unwrap().unwrap(), "outside");
    assert_eq!(scratch.list(), ["in/x", "out/deep/y", "real/x", "value"]);

    for key in ["out/new", "out/deep/y", "out/deep/new", "out/new/new"] {
        let error = scratch.set(key, b"v").unwrap_err();
        assert!(matches!(error, StoreError::Key(_)) && error.to_string().contains("outside"), "{error}");
    }
    assert!(matches!(scratch.erase("out/deep/y"), Err(StoreError::Key(_))));
    assert!(scratch.store.erase_prefix(&Prefix::new("out/deep/").unwrap()).is_err());
    assert!(matches!(scratch.set("out", b"v"), Err(StoreError::Key(_))));
    scratch.erase("out").unwrap();
    assert_eq!(scratch.get("out/deep/y").unwrap().unwrap(), "outside");

    // Inside of the root, a link to a folder is treated as a folder. A value replaces a link, not its target.
    scratch.set("in/new", b"v").unwrap();
    assert_eq!(scratch.get("real/new").unwrap().unwrap(), "v");
    scratch.set("value", b"new").unwrap();
    assert_eq!(scratch.get("value").unwrap().unwrap(), "new");
    scratch.store.erase_prefix(&Prefix::new("out/").unwrap()).unwrap();
    scratch.store.erase_prefix(&Prefix::new("in/").unwrap()).unwrap();
    assert_eq!(scratch.list(), ["real/new", "real/x", "value"]);
    symlink(scratch.path("outside"), scratch.path("root/out")).unwrap();
    scratch.store.erase_prefix(&Prefix::root()).unwrap();
    assert_eq!(scratch.files(), [""; 0]);
    assert_eq!(fs::read(scratch.path("outside/deep/y")).unwrap(), b"outside");
}

#[test]
fn circular_and_dangling_links_are_not_listed() {
    let scratch = scratch();
    scratch.set("a/x", b"v").unwrap();
    scratch.set("b/y", b"v").unwrap();
    symlink("..", scratch.path("root/a/up")).unwrap();
    symlink(".", scratch.path("root/a/here")).unwrap();
    symlink("../b", scratch.path("root/a/b")).unwrap();
    symlink("../a", scratch.path("root/b/a")).unwrap();
    symlink("nowhere", scratch.path("root/b/nothing")).unwrap();
    assert_eq!(scratch.list(), ["a/b/y", "a/x", "b/a/x", "b/y"]);
    assert_eq!(scratch.get("b/nothing").unwrap(), None);
    assert!(scratch.set("b/nothing/x", b"v").is_err());
}

#[test]
fn circular_links_do_not_exist_as_values() {
    let scratch = scratch();
    scratch.set("a/x", b"v").unwrap();
    symlink("x", scratch.path("root/x")).unwrap();
    symlink("two", scratch.path("root/a/one")).unwrap();
    symlink("one", scratch.path("root/a/two")).unwrap();
    assert_eq!(scratch.list(), ["a/x"]);
    let root = scratch.store.list_dir(&Prefix::root()).unwrap();
    assert_eq!((root.keys, root.prefixes), (vec![], vec![Prefix::new("a/").unwrap()]));
    for key in ["x", "x/y", "a/one", "a/two/y"] {
        assert_eq!(scratch.get(key).unwrap(), None, "{key}");
        assert_eq!(scratch.store.size(&Key::new(key).unwrap()).unwrap(), None, "{key}");
    }
    assert!(scratch.set("x/y", b"v").is_err());
    scratch.store.erase_prefix(&Prefix::new("a/two/").unwrap()).unwrap();
    assert_eq!(scratch.list(), ["a/x"]);
}

/// Reads an empty pipe, a pipe with as many bytes as requested, a socket and a device.
#[test]
fn special_files_are_listed_and_refused_without_blocking() {
    use std::io::Write;

    let scratch = scratch();
    scratch.set("a/file", b"1234").unwrap();
    make_pipe(&scratch.path("root/a/full"));
    make_pipe(&scratch.path("root/a/pipe"));
    let mut full = fs::File::options().read(true).write(true).open(scratch.path("root/a/full")).unwrap();
    full.write_all(b"1234").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path("root/a/socket")).unwrap();
    symlink("/dev/zero", scratch.path("root/a/zero")).unwrap();
    let keys = ["a/file", "a/full", "a/pipe", "a/socket", "a/zero"];
    assert_eq!(scratch.list(), keys);
    assert_eq!(texts(&scratch.store.list_dir(&Prefix::new("a/").unwrap()).unwrap().keys), keys);

    let (done, waiting) = mpsc::channel();
    thread::spawn(move || {
        let messages: Vec<_> = keys[1..].iter().flat_map(|key| read_errors(&scratch.store, key)).collect();
        done.send((scratch, messages)).unwrap();
    });
    let (scratch, messages) = waiting.recv_timeout(Duration::from_secs(20)).expect("reading a pipe blocks");
    let whats = ["named pipe", "named pipe", "socket", "device"].into_iter().flat_map(|what| [what; 5]);
    for (error, what) in messages.iter().zip(whats) {
        let said = format!(": found a {what}, expected a regular file");
        assert!(matches!(error, StoreError::Io { operation: "reading", .. }), "{error:?}");
        assert!(error.to_string().ends_with(&said), "{error}");
    }
    // A value replaces a pipe, and a pipe can be erased like a file.
    scratch.set("a/pipe", b"v").unwrap();
    assert_eq!(scratch.get("a/pipe").unwrap().unwrap(), "v");
    scratch.erase("a/full").unwrap();
    scratch.store.erase_prefix(&Prefix::new("a/").unwrap()).unwrap();
    assert_eq!(scratch.files(), [""; 0]);
    let root = scratch.path("pipe");
    make_pipe(&root);
    let error = FilesystemStore::open(&root).unwrap_err().to_string();
    assert!(error.ends_with("` is a named pipe, not a folder"), "{error}");
}

fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Returns the errors of reading a value in five ways.
fn read_errors(store: &FilesystemStore, key: &str) -> Vec<StoreError> {
    let key = Key::new(key).unwrap();
    let ranges =
        [ByteRange::Full, ByteRange::Range { offset: 1, size: 2 }, ByteRange::Range { offset: 0, size: 0 }];
    let read = |options, limit| store.get(&key, options, &mut Output::at_most(limit)).unwrap_err();
    let mut errors: Vec<_> = ranges.into_iter().map(|range| read(range.into(), 100)).collect();
    errors.push(read(GetOptions::uncached(ByteRange::Full), 5));
    errors.push(store.size(&key).unwrap_err());
    errors
}
