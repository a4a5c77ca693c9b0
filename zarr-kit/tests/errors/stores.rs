//! The messages of stores and of their transformers.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::expect_file;
use zarr_kit::json::{ParseOptions, parse};
use zarr_kit::open_store;
use zarr_kit::spec::store::{Store, StoreError, get_value, open_described};
use zarr_kit::spec::{Key, Prefix, Registry};
use zarr_kit::stores::{CacheStore, FilesystemStore, MemoryStore, ReadOnlyStore, ZipStore, pack};

use super::Messages;

/// Returns the kind of an error of a store. A new kind does not have a name until it has an example below.
fn kind(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    error.downcast_ref().map(|error| match error {
        StoreError::NotSupported { .. } => "NotSupported",
        StoreError::Key(_) => "Key",
        StoreError::Invalid(_) => "Invalid",
        StoreError::TooLarge { .. } => "TooLarge",
        StoreError::Io { .. } => "Io",
        other => panic!("no example of {other:?}"),
    })
}

#[test]
fn messages_of_stores_are_in_the_snapshot() {
    let registry = Registry::linked().unwrap();
    let mut messages = Messages::new(kind);
    of_locations(&registry, &mut messages);
    of_folders(&mut messages);
    of_archives(&mut messages);
    of_memory(&mut messages);
    of_servers(&registry, &mut messages);
    of_wrappers(&registry, &mut messages);
    assert_eq!(messages.kinds.len(), 5, "{:?}", messages.kinds);
    expect_file!["../snapshots/stores.txt"].assert_eq(&messages.text);
}

fn of_locations(registry: &Registry, messages: &mut Messages) {
    for url in [
        "file://host/a",
        "memory://name",
        "zip:",
        "s3://",
        "s3://bucket with spaces/a",
        "http:///a",
        "https://user:secret@example.org/a?b#c",
        "abfss://container/a",
        "tape:///dev/st0",
    ] {
        messages.add(&format!("opening `{url}`"), open_store(registry, url));
    }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Returns an empty folder of this test run.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn of_folders(messages: &mut Messages) {
    let folder = folder("errors-folder");
    fs::write(folder.join("file"), b"0123").unwrap();
    messages.add("a file as the folder of a store", FilesystemStore::open(folder.join("file")));
    let store = FilesystemStore::open(&folder).unwrap();
    messages.add("reading more than the limit", get_value(&store, &key("file"), 3));
    messages.add("writing below a value", store.set(&key("file/a"), (&b"x"[..]).into()));
    store.set(&key("a/b"), (&b"x"[..]).into()).unwrap();
    messages.add("writing where a folder is", store.set(&key("a"), (&b"x"[..]).into()));
    messages.add("writing to a reserved name", store.set(&key(".zarr-tmp-1"), (&b"x"[..]).into()));
    let long = "n".repeat(256);
    messages.add("writing to a name that is too long", store.set(&key(&long), (&b"x"[..]).into()));
    messages.text = messages.text.replace(&long, "NAME");
}

fn of_archives(messages: &mut Messages) {
    let folder = folder("errors-archives");
    messages.add("opening an archive that does not exist", ZipStore::open(folder.join("none.zip")));
    messages.add("opening a folder as an archive", ZipStore::open(&folder));
    fs::write(folder.join("text.zip"), b"not an archive").unwrap();
    messages.add("opening a text as an archive", ZipStore::open(folder.join("text.zip")));
    let memory = MemoryStore::new();
    memory.set(&key("a"), (&[7; 100][..]).into()).unwrap();
    let whole = folder.join("whole.zip");
    let mut bytes = Vec::new();
    pack(&memory, &Prefix::root(), &mut bytes, "", &mut |_| ()).unwrap();
    fs::write(&whole, &bytes).unwrap();
    fs::write(folder.join("cut.zip"), &bytes[..bytes.len() - 1]).unwrap();
    messages.add("opening an archive that is cut off", ZipStore::open(folder.join("cut.zip")));
    let store = ZipStore::open(&whole).unwrap();
    messages.add("writing to an archive", store.set(&key("b"), (&b"x"[..]).into()));
    messages.add("reading more than the limit from an archive", get_value(&store, &key("a"), 10));
    let mut damaged = bytes;
    let at = damaged.windows(4).position(|bytes| bytes == [7; 4]).unwrap();
    damaged[at] = 8;
    let store = ZipStore::from_bytes(damaged.into()).unwrap();
    messages.add("reading a damaged entry", get_value(&store, &key("a"), 1000));
}

fn of_memory(messages: &mut Messages) {
    let store = MemoryStore::new();
    store.set(&key("a"), (&b"0123"[..]).into()).unwrap();
    messages.add("reading more than the limit from memory", get_value(&store, &key("a"), 3));
    let read_only = ReadOnlyStore::new(Arc::new(store));
    messages.add("writing to a read-only store", read_only.set(&key("a"), (&b"x"[..]).into()));
    messages.add("erasing from a read-only store", read_only.erase(&key("a")));
}

/// A server that refuses connections: its port is closed.
fn of_servers(registry: &Registry, messages: &mut Messages) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = open_store(registry, &format!("http://127.0.0.1:{port}/a")).unwrap();
    messages.add("reading from a closed port", get_value(&*store, &key("zarr.json"), 10));
    messages.add("writing by HTTP", store.set(&key("a"), (&b"x"[..]).into()));
    // The number of the port differs in each run.
    messages.text = messages.text.replace(&port.to_string(), "PORT");
}

fn of_wrappers(registry: &Registry, messages: &mut Messages) {
    for description in [
        r#"{"type": "cache", "store": {"type": "memory"}, "bytes": 0}"#,
        r#"{"type": "cache", "bytes": 10}"#,
        r#"{"type": "prefix", "store": {"type": "memory"}, "prefix": "a//b"}"#,
        r#"{"type": "read-only", "store": {"type": "memroy"}}"#,
        r#"{"type": "filesystem"}"#,
        r#"{"type": "http", "url": "http://127.0.0.1/", "redirects": "some"}"#,
    ] {
        let value = parse(description.as_bytes(), &ParseOptions::default()).unwrap().value;
        messages.add(&format!("the store {description}"), open_described(registry, &value));
    }
    let cache = CacheStore::new(Arc::new(MemoryStore::new()), 100);
    let description =
        parse(br#"{"type": "cache", "store": {"type": "given"}, "bytes": 10}"#, &ParseOptions::default());
    let plugin = registry.stores().iter().find(|plugin| plugin.name == "cache").unwrap();
    let cached: Arc<dyn Store> = Arc::new(cache);
    messages.add("a cache around a cache", plugin.describe(&description.unwrap().value, Some(&cached)));
}
