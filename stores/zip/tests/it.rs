//! `zip`: damaged and malicious archives, and packing. `conformance/interop` reads archives of other programs.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, RwLock, RwLockReadGuard};
use std::{fs, thread};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::holds_every_rule;
use zarr_spec::store::{
    Capabilities, Directory, GetOptions, GetResult, IoKind, Keys, Payload, ReadHints, Store,
    StoreConfiguration, StoreError, StorePlugin, get_value,
};
use zarr_spec::{ByteRange, Key, Output, Prefix, inventory, json};
use zarr_store_zip::{ZipStore, pack};

#[path = "it/local.rs"]
mod local;
#[path = "it/stored.rs"]
mod stored_archives;
#[path = "it/within.rs"]
mod within;

/// An entry, as it is declared in the archive.
#[derive(Debug, Clone)]
struct Entry {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    crc32: u32,
    encoded: Vec<u8>,
    size: u32,
    /// The declared offset, if it differs from the real one.
    at: Option<u32>,
    attributes: u32,
}

fn stored(name: impl Into<Vec<u8>>, value: &[u8]) -> Entry {
    Entry {
        name: name.into(),
        flags: 0,
        method: 0,
        crc32: crc32fast::hash(value),
        encoded: value.to_vec(),
        size: value.len().try_into().unwrap(),
        at: None,
        attributes: 0,
    }
}

fn deflated(name: &str, value: &[u8]) -> Entry {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(value).unwrap();
    Entry { method: 8, encoded: encoder.finish().unwrap(), ..stored(name, value) }
}

fn put(to: &mut Vec<u8>, numbers: &[(u64, usize)]) {
    numbers.iter().for_each(|(number, size)| to.extend_from_slice(&number.to_le_bytes()[..*size]));
}

/// Writes the fields that local header and directory share, starting with the flags.
fn put_middle(to: &mut Vec<u8>, entry: &Entry) {
    put(to, &[(entry.flags.into(), 2), (entry.method.into(), 2), (0, 4), (entry.crc32.into(), 4)]);
    put(to, &[(entry.encoded.len() as u64, 4), (entry.size.into(), 4), (entry.name.len() as u64, 2), (0, 2)]);
}

/// Returns an archive with the layout of APPNOTE.TXT: local headers and bytes, the directory, its end.
fn archive(entries: &[Entry], comment: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let at = entry.at.map_or(bytes.len() as u64, u64::from);
        bytes.extend_from_slice(b"PK\x03\x04\x14\0");
        put_middle(&mut bytes, entry);
        bytes.extend_from_slice(&entry.name);
        bytes.extend_from_slice(&entry.encoded);
        // Declares Unix as the origin, so that the attributes have a meaning.
        directory.extend_from_slice(b"PK\x01\x02\x14\x03\x14\0");
        put_middle(&mut directory, entry);
        put(&mut directory, &[(0, 2), (0, 2), (0, 2), (entry.attributes.into(), 4), (at, 4)]);
        directory.extend_from_slice(&entry.name);
    }
    let start = bytes.len() as u64;
    let count = entries.len() as u64;
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    put(
        &mut bytes,
        &[(count, 2), (count, 2), (directory.len() as u64, 4), (start, 4), (comment.len() as u64, 2)],
    );
    bytes.extend_from_slice(comment);
    bytes
}

fn open(archive: Vec<u8>) -> ZipStore {
    ZipStore::from_bytes(archive.into()).unwrap()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn value(store: &dyn Store, at: &str) -> Result<Option<Bytes>, StoreError> {
    get_value(store, &key(at), 1 << 20)
}

fn part(store: &dyn Store, at: &str, range: ByteRange) -> Vec<u8> {
    let mut output = Output::at_most(1 << 20);
    let got = store.get(&key(at), range.into(), &mut output).unwrap().unwrap();
    got.into_bytes(output).to_vec()
}

/// Returns why a value cannot be read.
fn refusal(store: &dyn Store, at: &str) -> String {
    match value(store, at) {
        Err(error @ StoreError::Io { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn keys(store: &dyn Store) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

/// Returns bytes that can be compressed and that differ at every position.
fn ramp(size: usize) -> Vec<u8> {
    (0_u32..).flat_map(|number| number.to_le_bytes()).take(size).collect()
}

/// A writable store that packs its archive again after each change, for rules that write first.
#[derive(Debug)]
struct Repacked {
    values: MinimalStore,
    archive: RwLock<ZipStore>,
}

impl Repacked {
    fn new() -> Self {
        Self { values: MinimalStore::new(Capabilities::ALL), archive: RwLock::new(open(archive(&[], b""))) }
    }

    fn change(&self, change: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut archive = self.archive.write().unwrap();
        change()?;
        let mut bytes = Vec::new();
        pack(&self.values, &Prefix::root(), &mut bytes, "", &mut |_| ())?;
        *archive = ZipStore::from_bytes(bytes.into())?;
        Ok(())
    }

    fn archive(&self) -> RwLockReadGuard<'_, ZipStore> {
        self.archive.read().unwrap()
    }
}

impl Store for Repacked {
    fn location(&self) -> String {
        self.archive().location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn read_hints(&self) -> ReadHints {
        self.archive().read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.archive().get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.change(|| self.values.set(key, value))
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.change(|| self.values.erase(key))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let keys: Vec<_> = self.archive().list_prefix(prefix)?.collect();
        Ok(Box::new(keys.into_iter()))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        self.archive().list_dir(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.archive().size(key)
    }
}

/// Tests V3-STORE-03.
#[test]
fn every_rule_for_stores_holds_for_packed_values() {
    holds_every_rule("packed values", &|| Arc::new(Repacked::new()));
}

#[test]
fn parts_of_stored_and_deflated_values_are_those_of_the_whole() {
    let bytes = ramp(300_000);
    let store = open(archive(&[stored("s", &bytes), deflated("d", &bytes), stored("none", b"")], b""));
    for at in ["s", "d"] {
        assert_eq!(value(&store, at).unwrap().unwrap(), bytes);
        assert_eq!(store.size(&key(at)).unwrap(), Some(300_000));
        for range in [
            ByteRange::Range { offset: 0, size: 5 },
            ByteRange::Range { offset: 65_530, size: 10 },
            ByteRange::Range { offset: 299_990, size: 100 },
            ByteRange::Range { offset: 300_000, size: 1 },
            ByteRange::Range { offset: u64::MAX, size: u64::MAX },
            ByteRange::From(299_999),
            ByteRange::From(1),
            ByteRange::Last(7),
            ByteRange::Last(u64::MAX),
        ] {
            let wanted = range.within(300_000);
            let wanted = usize::try_from(wanted.start).unwrap()..usize::try_from(wanted.end).unwrap();
            assert_eq!(part(&store, at, range), bytes[wanted], "{range:?} of {at}");
        }
        let small = store.get(&key(at), ByteRange::Full.into(), &mut Output::at_most(299_999));
        assert!(matches!(small, Err(StoreError::TooLarge { .. })), "{small:?}");
    }
    assert_eq!(value(&store, "none").unwrap().unwrap(), b""[..]);
    assert_eq!(value(&store, "missing").unwrap(), None);
}

#[test]
fn many_threads_read_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let values: Vec<Vec<u8>> = (1..40).map(|number| ramp(number * 999)).collect();
    let entry = |(number, value): (usize, &Vec<u8>)| match number % 2 {
        0 => stored(number.to_string(), value),
        _ => deflated(&number.to_string(), value),
    };
    let entries: Vec<Entry> = values.iter().enumerate().map(entry).collect();
    fs::write(&path, archive(&entries, b"")).unwrap();
    let store = ZipStore::open(&path).unwrap();
    thread::scope(|scope| {
        for start in 0..4 {
            let store = &store;
            let values = &values;
            scope.spawn(move || {
                for number in (0..values.len()).map(|number| (number + 10 * start) % values.len()) {
                    assert_eq!(value(store, &number.to_string()).unwrap().unwrap(), values[number]);
                }
            });
        }
    });
}

/// Tests V2-HIER-24, D3-STORE-24.
#[test]
fn keys_are_the_names_of_entries() {
    let names = [".zgroup", "foo/bar/0.0", "foo/bar!", "foo/.zarray", "./z", "empty/"];
    let entries: Vec<Entry> = names.iter().map(|name| stored(*name, name.as_bytes())).collect();
    let store = open(archive(&entries, b""));
    assert_eq!(keys(&store), [".zgroup", "foo/.zarray", "foo/bar!", "foo/bar/0.0", "z"]);
    let root = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!(
        (root.keys, root.prefixes),
        (vec![key(".zgroup"), key("z")], vec![Prefix::new("foo/").unwrap()])
    );
    let foo = store.list_dir(&Prefix::new("foo/").unwrap()).unwrap();
    assert_eq!(foo.keys, [key("foo/.zarray"), key("foo/bar!")]);
    assert_eq!(foo.prefixes, [Prefix::new("foo/bar/").unwrap()]);
    let nowhere = Prefix::new("fo/").unwrap();
    assert!(store.list_prefix(&nowhere).unwrap().next().is_none());
    assert_eq!(store.list_dir(&nowhere).unwrap(), Default::default());
    assert_eq!(value(&store, "foo/bar/0.0").unwrap().unwrap(), b"foo/bar/0.0"[..]);
    let erased = store.erase(&key("z"));
    assert!(matches!(erased, Err(StoreError::NotSupported { quality: "not erasable", .. })), "{erased:?}");
    assert_eq!(value(&store, "z").unwrap().unwrap(), b"./z"[..]);
}

#[test]
fn names_are_utf_8_or_code_page_437() {
    let utf_8 = Entry { flags: 0x800, ..stored("é/ß", b"1") };
    let wrong = Entry { flags: 0x800, ..stored(*b"\xff", b"2") };
    let store = open(archive(&[utf_8, wrong, stored(*b"\x81/\xe1", b"3")], b""));
    assert_eq!(keys(&store), ["é/ß", "ü/ß"]);
    assert_eq!(value(&store, "ü/ß").unwrap().unwrap(), b"3"[..]);
}

#[test]
fn names_that_are_not_keys_are_not_listed() {
    let names = ["../x", "/x", "a/../b", "a//b", "", "a\nb", "c"];
    let entries: Vec<Entry> = names.iter().map(|name| stored(*name, b"")).collect();
    assert_eq!(keys(&open(archive(&entries, b""))), ["a\nb", "c"]);
}

#[test]
fn the_last_entry_with_a_name_counts() {
    let store = open(archive(&[stored("a", b"old"), stored("b", b"b"), stored("a", b"new")], b""));
    assert_eq!(
        (keys(&store), value(&store, "a").unwrap().unwrap()),
        (vec!["a".into(), "b".into()], "new".into())
    );
}

#[test]
fn unreadable_entries_are_listed_and_name_the_reason() {
    let bytes = ramp(1000);
    let entries = [
        Entry { flags: 1, ..stored("encrypted", &bytes) },
        Entry { method: 14, ..stored("lzma", &bytes) },
        Entry { method: 4711, ..stored("unknown", &bytes) },
        Entry { attributes: 0o120_777 << 16, ..stored("link", b"elsewhere") },
        Entry { crc32: 1, ..stored("stored", &bytes) },
        Entry { crc32: 1, ..deflated("deflated", &bytes) },
        Entry { size: 999, ..stored("sizes", &bytes) },
        Entry { size: u32::MAX, ..deflated("bomb", &bytes) },
        Entry { size: 999, ..deflated("longer", &bytes) },
        Entry { size: 1001, ..deflated("shorter", &bytes) },
        Entry { method: 8, ..stored("garbage", b"\xff\xff\xff\xff") },
        stored("good", &bytes),
    ];
    let store = open(archive(&entries, b""));
    assert_eq!((&store as &dyn Store).list().unwrap().len(), entries.len());
    for (at, reason) in [
        ("encrypted", "it is encrypted"),
        ("lzma", "compressed with LZMA (method 14), and only stored and deflated"),
        ("unknown", "compressed with method 4711"),
        ("link", "it is a symbolic link"),
        ("stored", "CRC-32"),
        ("deflated", "CRC-32"),
        ("sizes", "an impossible size for it"),
        ("bomb", "an impossible size for it"),
        ("longer", "does not inflate to the 999 bytes"),
        ("shorter", "does not inflate to the 1001 bytes"),
        ("garbage", ""),
    ] {
        let refusal = refusal(&store, at);
        assert!(
            refusal.starts_with(&format!("reading `memory/{at}`: ")) && refusal.contains(reason),
            "{refusal}"
        );
    }
    for damaged in ["stored", "deflated", "longer", "shorter", "garbage"] {
        let error = value(&store, damaged).unwrap_err();
        assert!(matches!(error, StoreError::Io { kind: IoKind::Damaged, .. }), "{damaged}: {error:?}");
    }
    assert_eq!(value(&store, "good").unwrap().unwrap(), bytes);
    // The store does not verify a part of a value, because the CRC-32 covers the whole value.
    assert_eq!(part(&store, "deflated", ByteRange::Last(10)), bytes[990..]);
}

/// The store refuses overlapping entries, because a small archive of them could expand to a large one.
#[test]
fn overlapping_entries_are_not_read() {
    let bytes = ramp(100);
    let twice = Entry { at: Some(0), ..stored("b", &bytes) };
    let store = open(archive(&[stored("a", &bytes), twice, stored("c", &bytes)], b""));
    assert!(refusal(&store, "a").contains("overlaps another"));
    assert!(refusal(&store, "b").contains("overlaps another"));
    assert_eq!(value(&store, "c").unwrap().unwrap(), bytes);

    for (at, reason) in [(u32::MAX - 1, "past the end"), (250, "past the end"), (40, "overlaps another")] {
        let store = open(archive(&[stored("a", &bytes), Entry { at: Some(at), ..stored("b", &bytes) }], b""));
        assert!(refusal(&store, "b").contains(reason), "{at}: {}", refusal(&store, "b"));
    }
    let nowhere = Entry { at: Some(1), ..stored("a", b"") };
    assert!(refusal(&open(archive(&[stored("z", b""), nowhere], b"")), "z").contains("overlaps another"));
    let mut no_header = archive(&[stored("a", &bytes), stored("b", &bytes)], b"");
    no_header[131] = b'X';
    let store = open(no_header);
    assert!(refusal(&store, "b").contains("expected a local header"), "{}", refusal(&store, "b"));
    assert_eq!(value(&store, "a").unwrap().unwrap(), bytes);
}

#[test]
fn incomplete_archives_are_refused_when_they_are_opened() {
    let refused = |bytes: &[u8]| match ZipStore::from_bytes(Bytes::copy_from_slice(bytes)) {
        Err(StoreError::Invalid(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(refused(b"").contains("it is empty"));
    assert!(refused(b"some text").contains("does not have the signature"));
    let whole = archive(&[stored("a", &ramp(100)), stored("b", b"b")], b"a comment");
    for size in 1..whole.len() {
        let message = refused(&whole[..size]);
        if size > 40 && size < 200 {
            assert!(message.contains("truncated"), "{size}: {message}");
        }
    }
    // The end record declares one entry more or less than there are.
    for count in [1, 3] {
        let mut other = whole.clone();
        let end = other.len() - 22 - "a comment".len();
        other[end + 10] = count;
        assert!(refused(&other).contains("has 2 entries"), "{}", refused(&other));
    }
}

#[test]
fn comments_and_bytes_before_an_archive_are_ignored() {
    let entries = [stored("a", b"1"), deflated("b", b"22222")];
    for comment in
        [&b"PK\x05\x06"[..], &[b'x'; 65535], b"PK\x05\x06 and more than twenty-two bytes \xff\xff\xff\xff"]
    {
        for before in [&b""[..], b"#!/bin/sh\n"] {
            let store = open([before, &archive(&entries, comment)].concat());
            assert_eq!(value(&store, "a").unwrap().unwrap(), b"1"[..]);
            assert_eq!(value(&store, "b").unwrap().unwrap(), b"22222"[..]);
        }
    }
    assert_eq!(keys(&open(archive(&[], b""))), [""; 0]);
}

#[test]
fn a_truncated_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    fs::write(&path, archive(&[stored("a", &ramp(100))], b"")).unwrap();
    let store = ZipStore::open(&path).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(50).unwrap();
    assert!(matches!(value(&store, "a"), Err(StoreError::Io { operation: "reading", .. })));
}

#[test]
fn an_archive_is_packed_with_documents_first() {
    let values: &[(&str, &[u8])] = &[
        ("a/b/c/0", b"chunk"),
        ("a/b/zarr.json", b"{}"),
        ("a/c/0", b""),
        ("a/é", "é".as_bytes()),
        ("a/with:colon\\and", b"x"),
        ("a/zarr.json", b"{\"a\": 1}"),
        ("zarr.json", b"{\"root\": 1}"),
    ];
    let source = MinimalStore::with_values(Capabilities::ALL, values);
    let mut bytes = Vec::new();
    let mut told = Vec::new();
    let count =
        pack(&source, &Prefix::root(), &mut bytes, "a comment", &mut |packed| told.push(packed)).unwrap();
    let total: usize = values.iter().map(|(_, value)| value.len()).sum();
    assert_eq!(count, values.len());
    assert_eq!(told.iter().map(|packed| packed.bytes).sum::<u64>(), total as u64);
    assert!(told.iter().all(|packed| packed.of == count) && told.is_sorted_by_key(|packed| packed.values));
    assert!(bytes.ends_with(b"a comment"));
    // The first header contains the first day of 1980.
    assert_eq!(bytes[10..14], [0, 0, 0x21, 0]);
    let at = |text: &str| bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    let places = ["zarr.json", "a/zarr.json", "a/b/zarr.json", "a/b/c/0"].map(at);
    assert!(places.is_sorted() && places[0] == 30, "{places:?}");
    let store = open(bytes.clone());
    for (key, wanted) in values {
        assert_eq!(value(&store, key).unwrap().unwrap(), *wanted, "{key}");
    }
    // Packing below a prefix removes it from the names. Values can come from an archive.
    let mut part = Vec::new();
    assert_eq!(pack(&store, &Prefix::new("a/b/").unwrap(), &mut part, "", &mut |_| ()).unwrap(), 2);
    assert_eq!(keys(&open(part)), ["c/0", "zarr.json"]);
    // Packing the same values again gives the same bytes.
    let mut again = Vec::new();
    pack(&source, &Prefix::root(), &mut again, "a comment", &mut |_| ()).unwrap();
    assert!(again == bytes);
}

#[test]
fn a_value_larger_than_one_piece_is_packed_in_pieces() {
    let large = ramp((32 << 20) + 5);
    let source = MinimalStore::with_values(Capabilities::ALL, &[("a", &large)]);
    let mut bytes = Vec::new();
    pack(&source, &Prefix::root(), &mut bytes, "", &mut |_| ()).unwrap();
    let store = open(bytes);
    assert!(get_value(&store, &key("a"), usize::MAX).unwrap().unwrap() == large);
}

#[test]
fn values_that_cannot_be_packed_are_an_error() {
    let source = MinimalStore::with_values(Capabilities::ALL, &[("é:é", b"1")]);
    let refused = pack(&source, &Prefix::root(), &mut Vec::new(), "", &mut |_| ()).unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)) && refused.to_string().contains("`é:é`"), "{refused}");
    let blind = MinimalStore::with_values(Capabilities::ALL.unlistable(), &[]);
    let refused = pack(&blind, &Prefix::root(), &mut Vec::new(), "", &mut |_| ());
    assert!(matches!(refused, Err(StoreError::NotSupported { quality: "not listable", .. })), "{refused:?}");
    let long = "x".repeat(65536);
    let source = MinimalStore::with_values(Capabilities::ALL, &[(&long, b"1")]);
    let refused = pack(&source, &Prefix::root(), &mut Vec::new(), "", &mut |_| ());
    assert!(matches!(refused, Err(StoreError::Io { operation: "packing", .. })), "{refused:?}");
}

#[test]
fn descriptions_urls_and_other_texts_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b%20c.zip");
    fs::write(&path, archive(&[stored("k", b"v")], b"")).unwrap();
    let path = path.to_str().unwrap();
    let described = |description: &str| -> Result<Arc<dyn Store>, String> {
        let value =
            zarr_json::parse(description.as_bytes(), &zarr_json::ParseOptions::default()).unwrap().value;
        let description: Box<dyn StoreConfiguration> =
            zarr_json::from_value(&value).map_err(|error| error.to_string())?;
        description.open(None).map_err(|error| error.to_string())
    };
    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "zip").unwrap();
    let by_url = |url: &str| (plugin.open)(url).map_err(|error| error.to_string());
    let stores = [
        described(&json!({"type": "zip", "path": (path)}).to_string()),
        by_url(&format!("zip:{path}")),
        by_url(&format!("ZIP://{path}")),
    ];
    for store in stores.map(Result::unwrap) {
        assert_eq!(value(&*store, "k").unwrap().unwrap(), b"v"[..]);
        assert!(store.location().starts_with("zip:/") && store.location().ends_with("/a b%20c.zip"));
        assert!(by_url(&store.location()).is_ok());
        assert_eq!(store.capabilities(), Capabilities::ALL_AND_CONDITIONAL);
    }
    assert!(described(r#"{"type": "zip"}"#).unwrap_err().contains("path"));
    assert!(described(r#"{"type": "zip", "path": "a", "mode": "r"}"#).unwrap_err().contains("mode"));
    let inside = r#"{"type": "zip", "key": "a", "durable": "full", "store": {"type": "given"}}"#;
    assert!(described(inside).unwrap_err().contains("`durable` is an option of an archive with `path`"));
    for url in ["zip:", "zip://", "zip://a.zip"] {
        assert!(by_url(url).unwrap_err().contains("such as `zip:data.zip`"), "{url}");
    }
    let is_folder = by_url(&format!("zip:{}", folder.path().display())).unwrap_err();
    assert!(is_folder.contains("is a folder, expected a zip archive"), "{is_folder}");
    assert!(!Path::new("nowhere.zip").exists());
    let missing = by_url("zip:nowhere.zip").unwrap();
    assert!(missing.list().unwrap().is_empty());
    drop(missing);
    assert!(!Path::new("nowhere.zip").exists(), "a store without changes does not create an archive");
    let nowhere = by_url("zip:nowhere/a.zip").unwrap_err();
    assert!(nowhere.starts_with("opening `nowhere/a.zip`"), "{nowhere}");
}

#[test]
fn versions_distinguish_values() {
    let store = open(archive(&[stored("a", b"1"), stored("b", b"1"), stored("c", b"2")], b""));
    let version = |at: &str| {
        let got =
            store.get(&key(at), ByteRange::Range { offset: 0, size: 0 }.into(), &mut Output::at_most(0));
        got.unwrap().unwrap().version.unwrap()
    };
    assert_eq!(version("a"), version("a"));
    assert!(version("a") != version("b") && version("b") != version("c"));
}
