//! `filesystem`: the rules for stores, files of other programs, and leftovers of crashes.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

#[path = "it/crashes.rs"]
mod crashes;
#[cfg(target_os = "linux")]
#[path = "it/faults.rs"]
mod faults;
#[cfg(unix)]
#[path = "it/links.rs"]
mod links;
#[path = "it/locks.rs"]
mod locks;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use zarr_conformance::stores::{check_rules, rule_names};
use zarr_spec::store::{GetOptions, Store, StoreConfiguration, StoreError, StorePlugin, get_value};
use zarr_spec::{ByteRange, Bytes, Key, Output, Prefix, inventory};
use zarr_store_filesystem::{Durability, FilesystemStore, Locking};

/// A store in a folder that is removed at the end.
#[derive(Debug)]
struct Scratch {
    store: FilesystemStore,
    folder: TempDir,
}

impl Scratch {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.store.set(&Key::new(key)?, value.into())
    }

    fn get(&self, key: &str) -> Result<Option<Bytes>, StoreError> {
        get_value(&self.store, &Key::new(key)?, usize::MAX)
    }

    fn erase(&self, key: &str) -> Result<(), StoreError> {
        self.store.erase(&Key::new(key)?)
    }

    fn list(&self) -> Vec<String> {
        let store: &dyn Store = &self.store;
        texts(&store.list().unwrap_or_default())
    }

    /// Returns everything in the folder of the store; folders end in `/`.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        files_below(self.store.path(), "", &mut files);
        files.sort();
        files
    }
}

fn files_below(folder: &Path, begin: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{begin}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files_below(&entry.path(), &format!("{name}/"), files);
            files.push(format!("{name}/"));
        } else {
            files.push(name);
        }
    }
}

fn texts(keys: &[Key]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

fn scratch() -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    Scratch { store: FilesystemStore::open(folder.path().join("root")).unwrap(), folder }
}

/// Checks rules on stores in new folders.
fn check_store_rules(configure: impl Fn(FilesystemStore) -> FilesystemStore, rules: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let make = || -> Arc<dyn Store> {
        let root = tempfile::tempdir_in(&folder).unwrap().keep().join("root");
        Arc::new(configure(FilesystemStore::open(root).unwrap()))
    };
    assert_eq!(check_rules(&make, rules), Ok(()));
}

fn holds(rules: &[&str]) {
    check_store_rules(|store| store, rules);
}

#[test]
fn every_rule_holds_for_a_durable_store() {
    check_store_rules(|store| store.durable(Durability::Full), &rule_names().collect::<Vec<_>>());
}

#[test]
fn every_rule_holds_with_each_kind_of_lock() {
    let rules = &rule_names().collect::<Vec<_>>();
    check_store_rules(FilesystemStore::locks_files, rules);
    check_store_rules(|store| store.locking(Locking::Lockfile), rules);
    check_store_rules(|store| store.locking(Locking::None), rules);
}

/// Tests V3-STORE-03.
#[test]
fn every_rule_for_stores_holds() {
    holds(&rule_names().collect::<Vec<_>>());
}

zarr_conformance::test_rules! { holds;
    /// Tests V2-STORE-01, V2-STORE-02, V2-STORE-03, V3-STORE-01, V3-STORE-11.
    #[test]
    fn keys_of_all_formats_are_stored();

    /// Tests D3-STORE-04, D3-STORE-05, D3-STORE-06, D3-STORE-08, D3-STORE-16.
    #[test]
    fn values_of_any_bytes_are_set();

    /// Tests D3-STORE-10, D3-STORE-11, D3-STORE-12, D3-STORE-13, D3-STORE-14.
    #[test]
    fn values_and_parts_of_them_are_read();

    /// Tests D3-STORE-17, D3-STORE-18, D3-STORE-19, D3-STORE-20, D3-STORE-21.
    #[test]
    fn values_are_changed_and_erased();

    /// Tests D3-STORE-22, D3-STORE-23, D3-STORE-25, D3-STORE-26, D3-STORE-27.
    #[test]
    fn prefixes_are_erased_and_listed();

    /// Tests D3-STORE-28, D3-STORE-29, D3-STORE-30, D3-STORE-32.
    #[test]
    fn directories_are_listed();
}

/// Tests D3-STORE-03, V2-STORE-06.
#[test]
fn no_key_leads_out_of_the_root() {
    let scratch = scratch();
    for key in ["../x", "/etc", "a//b", "a/../../x", ".", "..", "a/..", "a/./b"] {
        assert!(matches!(scratch.set(key, b"v"), Err(StoreError::Key(_))), "{key}");
        assert!(matches!(scratch.get(key), Err(StoreError::Key(_))), "{key}");
    }
    assert!(!scratch.path("x").exists());
    for key in ["..x", "a/...", "x.."] {
        scratch.set(key, b"v").unwrap();
        assert!(scratch.path("root").join(key).is_file(), "{key}");
    }
}

/// Tests D3-FS-01, D3-FS-02, DX-FS-02.
#[test]
fn keys_are_paths_and_paths_are_keys() {
    let scratch = scratch();
    let keys = ["foo/bar", "data/a/c0/1", "zarr.json", ".zarray", "ä/b c"];
    for key in keys {
        scratch.set(key, key.as_bytes()).unwrap();
        let path = key.split('/').fold(scratch.path("root"), |path, name| path.join(name));
        assert_eq!(fs::read(path).unwrap(), key.as_bytes());
        fs::write(scratch.path("root").join("foo").join("other"), key).unwrap();
        assert_eq!(scratch.get("foo/other").unwrap().unwrap(), key);
    }
    let mut listed = scratch.list();
    listed.retain(|key| key != "foo/other");
    let mut keys = keys.map(str::to_owned);
    keys.sort();
    assert_eq!(listed, keys);
}

/// Tests D3-FS-03, DX-FS-04, DX-FS-05, D3-STORE-31.
#[test]
fn files_are_keys_and_folders_are_prefixes() {
    let scratch = scratch();
    scratch.set("zarr.json", b"{}").unwrap();
    scratch.set("meta/a.array.json", b"{}").unwrap();
    scratch.set("meta/foo/b.array.json", b"{}").unwrap();
    fs::create_dir_all(scratch.path("root/empty/deep/deeper")).unwrap();
    fs::create_dir_all(scratch.path("root/meta/none")).unwrap();
    assert_eq!(scratch.list(), ["meta/a.array.json", "meta/foo/b.array.json", "zarr.json"]);
    let directory = |prefix: &str| scratch.store.list_dir(&Prefix::new(prefix).unwrap()).unwrap();
    assert_eq!(texts(&directory("meta/").keys), ["meta/a.array.json"]);
    // Listings include empty folders, because they do not open each folder.
    assert_eq!(
        directory("meta/").prefixes,
        ["meta/foo/", "meta/none/"].map(|text| Prefix::new(text).unwrap())
    );
    assert_eq!(directory("").prefixes, ["empty/", "meta/"].map(|text| Prefix::new(text).unwrap()));
    assert_eq!(directory("empty/").prefixes, [Prefix::new("empty/deep/").unwrap()]);
    assert_eq!(directory("empty/deep/deeper/"), Default::default());
    // A value replaces empty folders. Erasing a prefix also removes them.
    scratch.set("empty", b"v").unwrap();
    assert_eq!(scratch.get("empty").unwrap().unwrap(), "v");
    scratch.store.erase_prefix(&Prefix::new("meta/").unwrap()).unwrap();
    assert_eq!(scratch.files(), ["empty", "zarr.json"]);
}

#[test]
fn a_name_that_the_system_refuses_is_an_error_and_leaves_nothing() {
    let scratch = scratch();
    scratch.set("a/b", b"old").unwrap();
    let key = format!("a/{}", "n".repeat(300));
    assert!(matches!(scratch.set(&key, b"v"), Err(StoreError::Io { operation: "writing", .. })));
    assert!(matches!(scratch.get(&key), Err(StoreError::Io { operation: "reading", .. })));
    assert_eq!(scratch.files(), ["a/", "a/b"]);
}

/// Tests DX-FS-03.
#[test]
fn erasing_removes_a_file_and_its_empty_folders() {
    let scratch = scratch();
    for key in ["a/b/c/d", "a/b/x", "e/f"] {
        scratch.set(key, b"v").unwrap();
    }
    scratch.erase("a/b").unwrap();
    scratch.erase("a").unwrap();
    assert_eq!(scratch.list(), ["a/b/c/d", "a/b/x", "e/f"]);
    scratch.erase("a/b/c/d").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b/", "a/b/x", "e/", "e/f"]);
    scratch.erase("a/b/x").unwrap();
    assert_eq!(scratch.files(), ["e/", "e/f"]);
    scratch.store.erase_prefix(&Prefix::new("e/f/").unwrap()).unwrap();
    assert_eq!(scratch.files(), ["e/", "e/f"]);
    scratch.erase("e/f").unwrap();
    scratch.erase("e/f").unwrap();
    assert!(scratch.files().is_empty() && scratch.path("root").is_dir());
}

/// Tests D3-FS-05, D3-KEY-14.
#[test]
fn a_path_is_either_a_file_or_a_folder() {
    let scratch = scratch();
    scratch.set("foo.array.json", b"{}").unwrap();
    scratch.set("meta/x", b"v").unwrap();
    assert_eq!(scratch.get("meta").unwrap(), None);
    assert_eq!(scratch.store.size(&Key::new("meta").unwrap()).unwrap(), None);
    for (key, reason) in [
        ("foo.array.json/x", "foo.array.json` is a file, not a folder"),
        ("foo.array.json/x/y/z", "is a file, not a folder"),
        ("meta", "`meta/` is a folder"),
    ] {
        let error = scratch.set(key, b"v").unwrap_err();
        assert!(matches!(error, StoreError::Key(_)) && error.to_string().contains(reason), "{error}");
        assert_eq!(scratch.get(key).unwrap(), None);
        scratch.erase(key).unwrap();
    }
    assert_eq!(scratch.get("foo.array.json").unwrap().unwrap(), "{}");
    assert_eq!(scratch.files(), ["foo.array.json", "meta/", "meta/x"]);
}

#[test]
fn a_value_replaces_an_empty_folder_inside_of_a_folder_that_the_store_created() {
    let scratch = scratch();
    scratch.set("a/x", b"v").unwrap();
    fs::create_dir_all(scratch.path("root/a/y/z")).unwrap();
    scratch.set("a/y", b"v").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/x", "a/y"]);
    // A value also replaces an empty folder in a folder that another program created.
    fs::create_dir_all(scratch.path("root/a/b/c/d")).unwrap();
    scratch.set("a/b/c", b"v").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b/", "a/b/c", "a/x", "a/y"]);
    // A file of another program blocks a folder.
    fs::write(scratch.path("root/a/file"), b"v").unwrap();
    let error = scratch.set("a/file/x", b"v").unwrap_err();
    assert!(matches!(error, StoreError::Key(_)), "{error}");
    let error = scratch.set("a/file/x/y", b"v").unwrap_err();
    assert!(matches!(error, StoreError::Key(_)), "{error}");
}

#[cfg(unix)]
#[test]
fn files_whose_names_are_not_utf_8_are_not_listed() {
    use std::os::unix::ffi::OsStrExt;

    let scratch = scratch();
    scratch.set("a", b"v").unwrap();
    for name in [b"\xff".as_slice(), b"new\nline"] {
        fs::write(scratch.path("root").join(std::ffi::OsStr::from_bytes(name)), b"v").unwrap();
    }
    assert_eq!(scratch.list(), ["a", "new\nline"]);
}

#[test]
fn a_store_without_its_folder_is_empty_and_reads_do_not_create_it() {
    let scratch = scratch();
    assert_eq!(scratch.get("a").unwrap(), None);
    assert_eq!((&scratch.store as &dyn Store).list().unwrap(), []);
    assert_eq!(scratch.store.list_dir(&Prefix::root()).unwrap(), Default::default());
    scratch.erase("a/b").unwrap();
    scratch.store.erase_prefix(&Prefix::root()).unwrap();
    assert!(!scratch.path("root").exists());
    scratch.set("a/b", b"v").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b"]);
    // Another program may remove folders that this store has written to.
    fs::remove_dir_all(scratch.path("root")).unwrap();
    scratch.set("a/b", b"v").unwrap();
    assert_eq!(scratch.files(), ["a/", "a/b"]);
}

#[test]
fn two_stores_of_one_folder_see_each_other() {
    let scratch = scratch();
    let other = FilesystemStore::open(scratch.path("root")).unwrap();
    let key = Key::new("a/b/c").unwrap();
    for _ in 0..3 {
        scratch.set("a/b/c", b"v").unwrap();
        other.erase(&key).unwrap();
        assert_eq!(scratch.get("a/b/c").unwrap(), None);
        other.set(&key, b"w".into()).unwrap();
        scratch.erase("a/b/c").unwrap();
        assert_eq!(get_value(&other, &key, 9).unwrap(), None);
    }
}

#[test]
fn paths_urls_and_descriptions_open_the_same_store() {
    let scratch = scratch();
    scratch.set("k", b"v").unwrap();
    let path = scratch.path("root").to_str().unwrap().to_owned();
    let plugin =
        inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "filesystem").unwrap();
    assert_eq!((plugin.schemes, plugin.origin.package), (&["", "file"][..], "zarr-store-filesystem"));
    for text in [path.clone(), scratch.store.location(), format!("file:{path}")] {
        let store = (plugin.open)(&text).unwrap();
        assert_eq!(texts(&store.list().unwrap()), ["k"], "{text}");
        assert_eq!(store.location(), scratch.store.location());
    }
    let described = |members: &str| {
        let text = format!(r#"{{"type": "filesystem", {members}}}"#);
        let value = zarr_json::parse(text.as_bytes(), &zarr_json::ParseOptions::default()).unwrap().value;
        zarr_json::from_value::<Box<dyn StoreConfiguration>>(&value).map_err(|error| error.to_string())
    };
    for members in [format!(r#""path": "{path}""#), format!(r#""path": "{path}", "durable": "data""#)] {
        assert_eq!(texts(&described(&members).unwrap().open(None).unwrap().list().unwrap()), ["k"]);
    }
    assert!(described(r#""paths": "x""#).unwrap_err().contains("paths"));
    assert!(described(r#""durable": "full""#).unwrap_err().contains("path"));

    let open = |text: &str| (plugin.open)(text).unwrap_err().to_string();
    let url = scratch.store.location();
    assert_eq!((plugin.open)(&format!("{url}?durable=full")).unwrap().location(), url);
    let refused = described(&format!(r#""path": "{path}", "durable": true"#)).unwrap_err();
    assert!(refused.contains("durable"), "{refused}");
    assert!(open("file://host/x").contains("`file://host/x`"));
    assert!(open("").contains("opening"));
    assert!(open(&format!("{path}/k")).contains("is a file, not a folder"));
}

#[test]
fn a_relative_path_is_resolved_when_the_store_opens() {
    let store = FilesystemStore::open("some/where").unwrap();
    assert_eq!(store.path(), std::env::current_dir().unwrap().join("some").join("where"));
    assert!(store.location().starts_with("file:///") && store.location().ends_with("/some/where"));
}

/// Callers usually reserve one byte more than they expect. The store also reads values that are shorter or longer than
/// expected.
#[test]
fn a_value_is_read_with_any_buffer_size() {
    let scratch = scratch();
    scratch.set("a/b", b"1234").unwrap();
    scratch.set("a/empty", b"").unwrap();
    let get_once = |key: &str, room: usize| {
        let mut output = Output::at_most(room);
        let got =
            scratch.store.get(&Key::new(key).unwrap(), GetOptions::uncached(ByteRange::Full), &mut output);
        got.map(|got| got.map(|got| (got.size, output.into_written())))
    };
    for room in [4, 5, 6, 100, 1 << 20] {
        assert_eq!(get_once("a/b", room).unwrap(), Some((4, b"1234".to_vec())), "{room}");
    }
    for room in [0, 3] {
        assert!(matches!(get_once("a/b", room).unwrap_err(), StoreError::TooLarge { .. }), "{room}");
    }
    for room in [0, 1, 2] {
        assert_eq!(get_once("a/empty", room).unwrap(), Some((0, Vec::new())), "{room}");
        assert_eq!(get_once("a", room).unwrap(), None, "{room}");
        assert_eq!(get_once("missing", room).unwrap(), None, "{room}");
    }
}
