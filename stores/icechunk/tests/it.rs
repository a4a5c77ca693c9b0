//! `icechunk`: versions, commits and conflicts, virtual chunks, damaged repositories. `conformance/interop` exchanges
//! repositories with the Python package.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use zarr_kit::archive::{CopyProgress, CopyRequest, Settings, plan_copy};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Prefix};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, open_store};
use zarr_store_icechunk::{IcechunkStore, Options, Version};

#[path = "it/sessions.rs"]
mod sessions;
#[path = "it/virtual_chunks.rs"]
mod virtual_chunks;
#[path = "it/within.rs"]
mod within;

/// The repository that the Python package wrote.
const STORED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/formats/wild/icechunk/repository.icechunk");

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn context() -> Context {
    Context::linked().unwrap()
}

fn opened(location: &str) -> Result<Arc<dyn Store>, Error> {
    open_store(context().registry(), location)
}

fn hierarchy(location: &str) -> Result<Hierarchy, Error> {
    let context = context();
    Hierarchy::open(open_store(context.registry(), location)?, &context)
}

/// Returns the store of the branch `main`, which is created if it is missing.
fn store(path: &Path) -> Arc<dyn Store> {
    Arc::new(IcechunkStore::open(path, Options::new()).unwrap())
}

/// A folder, and the path of a repository in it, which does not exist yet.
fn scratch() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data.icechunk");
    (folder, path)
}

/// Commits an array of 4 elements in 2 chunks.
fn write_numbers(path: &Path, numbers: [i16; 4]) {
    let store = store(path);
    let context = context();
    let hierarchy = match Hierarchy::open(Arc::clone(&store), &context) {
        Ok(hierarchy) => hierarchy,
        Err(_) => Hierarchy::create(Arc::clone(&store), &context, Format::V3).unwrap(),
    };
    let array = hierarchy
        .array("/a")
        .or_else(|_| hierarchy.create_array("/a", &ArrayBuilder::new([4], "int16").chunks([2])));
    array.unwrap().write_values::<i16>(.., &numbers).unwrap();
    store.commit().unwrap();
}

fn numbers(location: &str) -> Vec<i16> {
    hierarchy(location).unwrap().array("/a").unwrap().read_values::<i16>(..).unwrap().to_vec()
}

fn listed(store: &dyn Store) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

/// Written by the Python package icechunk 2.3.0 with zarr 3.4.2.
#[test]
fn a_repository_of_the_python_package_is_read() {
    for location in [STORED.to_owned(), format!("icechunk:{STORED}"), format!("{STORED}|icechunk:|zarr3:")] {
        let hierarchy = hierarchy(&location).unwrap();
        assert_eq!(hierarchy.array("/small").unwrap().read_values::<i32>(..).unwrap(), [1, 20, 3]);
        let read = hierarchy.array("/g/numbers").unwrap().read_values::<f64>(..).unwrap();
        // The last chunks are missing.
        let expected = (0..600).map(|number| if number < 300 { f64::from(number).sqrt() } else { -1.0 });
        assert_eq!(read, expected.collect::<Vec<_>>(), "{location}");
    }
    let array = hierarchy(&format!("{STORED}|icechunk:@branch.main/g/numbers")).unwrap();
    assert_eq!(array.array("/").unwrap().shape(), [20, 30]);
}

#[test]
fn listings_have_documents_and_stored_chunks() {
    let store = opened(STORED).unwrap();
    let chunks = ["g/numbers/c/0/0", "g/numbers/c/0/1", "g/numbers/c/0/2"];
    let others = ["g/numbers/zarr.json", "g/zarr.json", "small/c/0", "small/zarr.json", "zarr.json"];
    assert_eq!(listed(&*store), [&chunks[..], &others[..]].concat());
    for key in store.list().unwrap() {
        let size = usize::try_from(store.size(&key).unwrap().unwrap()).unwrap();
        assert_eq!(get_value(&*store, &key, size).unwrap().unwrap().len(), size, "{key}");
    }
    for (prefix, keys, prefixes) in [
        ("", &["zarr.json"][..], &["g/", "small/"][..]),
        ("g/", &["g/zarr.json"], &["g/numbers/"]),
        ("g/numbers/", &["g/numbers/zarr.json"], &["g/numbers/c/"]),
        ("g/numbers/c/", &[], &["g/numbers/c/0/"]),
        ("g/numbers/c/0/", &chunks, &[]),
        ("s/", &[], &[]),
    ] {
        let prefix = Prefix::new(prefix).unwrap();
        let found = store.list_dir(&prefix).unwrap();
        assert_eq!(found.keys.iter().map(Key::as_str).collect::<Vec<_>>(), keys, "{prefix}");
        assert_eq!(found.prefixes.iter().map(Prefix::as_str).collect::<Vec<_>>(), prefixes, "{prefix}");
    }
    let below = store.list_sorted(&Prefix::new("g/numbers/c/0/").unwrap()).unwrap();
    assert_eq!(below.iter().map(Key::as_str).collect::<Vec<_>>(), chunks);
    for missing in ["g/numbers/c/1/0", "g/numbers/c/9/9", "g/c/0", "x/zarr.json", ".zgroup", "x"] {
        assert_eq!(store.size(&key(missing)).unwrap(), None, "{missing}");
    }
}

#[test]
fn parts_of_values_are_read() {
    use zarr_kit::spec::store::GetOptions;
    use zarr_kit::spec::{ByteRange, Output};

    let (_folder, path) = scratch();
    let store = store(&path);
    let context = context();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([4000], "uint8").uncompressed();
    let all: Vec<u8> = (0..4000_u16).map(|number| number.to_le_bytes()[0]).collect();
    hierarchy.create_array("/a", &builder).unwrap().write_values::<u8>(.., &all).unwrap();
    for is_committed in [false, true] {
        for (range, expected) in [
            (ByteRange::Full, 0..4000),
            (ByteRange::Range { offset: 10, size: 20 }, 10..30),
            (ByteRange::Range { offset: 3990, size: 20 }, 3990..4000),
            (ByteRange::Range { offset: 5000, size: 1 }, 0..0),
            (ByteRange::Last(5), 3995..4000),
        ] {
            let mut output = Output::at_most(4000);
            let found = store.get(&key("a/c/0"), GetOptions::from(range), &mut output).unwrap().unwrap();
            assert_eq!(found.size, 4000);
            assert_eq!(found.bytes(&output), &all[expected], "{range:?}, {is_committed}");
        }
        let error = get_value(&*store, &key("a/c/0"), 3999).unwrap_err().to_string();
        assert!(error.contains("value of key `a/c/0`"), "{error}");
        store.commit().unwrap();
    }
}

#[test]
fn a_copy_is_one_commit_and_can_be_copied_back() {
    let (_folder, path) = scratch();
    let context = context();
    let source = hierarchy(STORED).unwrap();
    let copy = |source: &Hierarchy, target: &Arc<dyn Store>| {
        let plan = plan_copy(&[source], target, &context, &CopyRequest::new(), &Settings::new()).unwrap();
        plan.run(&CopyProgress::default()).unwrap();
    };
    copy(&source, &store(&path));
    assert_eq!(listed(&*store(&path)), listed(&*opened(STORED).unwrap()));
    let back = opened("memory:").unwrap();
    copy(&hierarchy(path.to_str().unwrap()).unwrap(), &back);
    assert_eq!(listed(&*back), listed(&*opened(STORED).unwrap()));
}

#[test]
fn nodes_are_erased_with_everything_below_them() {
    let (_folder, path) = scratch();
    let context = context();
    let store = store(&path);
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([4], "int16").chunks([2]);
    for name in ["/g/a", "/g/b", "/h"] {
        hierarchy.create_array(name, &builder).unwrap().write_values::<i16>(.., &[1, 2, 3, 4]).unwrap();
    }
    store.commit().unwrap();
    store.erase_prefix(&Prefix::new("g/a/c/").unwrap()).unwrap();
    store.erase(&key("h/c/1")).unwrap();
    store.erase(&key("h/c/7")).unwrap();
    let left =
        ["g/a/zarr.json", "g/b/c/0", "g/b/c/1", "g/b/zarr.json", "g/zarr.json", "h/c/0", "h/zarr.json"];
    assert_eq!(listed(&*store), [&left[..], &["zarr.json"]].concat());
    assert_eq!(hierarchy.array("/h").unwrap().read_values::<i16>(..).unwrap(), [1, 2, 0, 0]);
    hierarchy.erase("/g").unwrap();
    store.commit().unwrap();
    assert_eq!(listed(&*store), ["h/c/0", "h/zarr.json", "zarr.json"]);
    // A node of another kind can replace an erased one.
    hierarchy.create_array("/g", &builder).unwrap();
    store.commit().unwrap();
    assert_eq!(listed(&*store), ["g/zarr.json", "h/c/0", "h/zarr.json", "zarr.json"]);
}

#[test]
fn what_a_repository_cannot_hold_is_refused_or_adapted() {
    let (_folder, path) = scratch();
    let store = store(&path);
    let context = context();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, Format::V3).unwrap();
    let encoding = zarr_kit::json!({"name": "v2", "configuration": {"separator": "."}});
    let builder = ArrayBuilder::new([4, 4], "int16").chunks([2, 2]).chunk_key_encoding(encoding);
    let array = hierarchy.create_array("/a", &builder).unwrap();
    array.write_values::<i16>(.., &[7; 16]).unwrap();
    assert!(listed(&*store).contains(&"a/c/1/1".to_owned()));
    for (name, value, part) in [
        (".zgroup", "{}", "holds only `zarr.json` of nodes"),
        ("a/readme.txt", "x", "holds only `zarr.json` of nodes"),
        ("b/zarr.json", r#"{"zarr_format": 2}"#, "zarr_format"),
        ("a/zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#, "erase it first"),
        ("a/c/2/0", "x", "not valid for array"),
        ("a/c/0/0", "", "empty chunk"),
    ] {
        let error = store.set(&key(name), value.as_bytes().into()).unwrap_err().to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
    let other = self::store(&path.with_extension("v2"));
    let v2 = Hierarchy::create(other, &context, Format::V2).unwrap();
    let error = v2.create_group("/g", zarr_kit::json!({})).unwrap_err().to_string();
    assert!(error.contains("holds only `zarr.json` of nodes"), "{error}");
}

#[test]
fn locations_that_are_not_repositories_are_refused() {
    let (folder, path) = scratch();
    fs::write(folder.path().join("file"), "x").unwrap();
    let at = |name: &str| format!("icechunk:{}", folder.path().join(name).display());
    for (location, part) in [
        (at("file"), "file"),
        (at(""), "is not an Icechunk repository"),
        (at("a/b"), ""),
        ("icechunk:".to_owned(), "expected the location of a repository, such as `icechunk:data.icechunk`"),
        ("icechunk:s3://bucket/a".to_owned(), "`s3:"),
        (
            r#"{"type": "icechunk", "path": "s3://bucket/a"}"#.to_owned(),
            "is not a local folder; a description names",
        ),
        (r#"{"type": "icechunk"}"#.to_owned(), "expected either `path`"),
        (
            r#"{"type": "icechunk", "path": "a", "store": {"type": "memory"}}"#.to_owned(),
            "expected either `path`",
        ),
        (r#"{"type": "icechunk", "store": {"type": "memory"}, "version": "tag.v1"}"#.to_owned(), "`tag.v1`"),
        (format!("{}|icechunk:@tag.v1", path.display()), "does not have the version `tag.v1`"),
        (format!("{STORED}|icechunk:@tag.v1"), "v1"),
        (format!("{STORED}|icechunk:@branch.dev"), "dev"),
        (format!("{STORED}|icechunk:@00000000000000000000"), "00000000000000000000"),
        (format!("{STORED}|icechunk:@main"), "expected `branch.NAME`, `tag.NAME`"),
        (format!("{STORED}|icechunk:?a=b"), "does not have the option `a`"),
    ] {
        let store = opened(&location);
        if part.is_empty() {
            let written =
                store.unwrap().set(&key("zarr.json"), br#"{"zarr_format":3,"node_type":"group"}"#.into());
            assert!(written.is_err(), "{location}");
            continue;
        }
        let error = store.unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains("context"), "{location}: {error}");
    }
}

#[test]
fn damaged_repositories_are_errors() {
    let (_folder, path) = scratch();
    let copy = |from: &Path, to: &Path| {
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            fs::create_dir_all(to.join(&folder)).unwrap();
            for entry in fs::read_dir(from.join(&folder)).unwrap() {
                let name = folder.join(entry.unwrap().file_name());
                match from.join(&name).is_dir() {
                    true => folders.push(name),
                    false => drop(fs::copy(from.join(&name), to.join(&name)).unwrap()),
                }
            }
        }
    };
    let files: Vec<PathBuf> = ["repo", "snapshots", "manifests", "chunks"]
        .iter()
        .flat_map(|name| match Path::new(STORED).join(name) {
            folder if folder.is_dir() => {
                fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
            }
            file => vec![file],
        })
        .collect();
    let mut refused = 0;
    for file in &files {
        let whole = fs::read(file).unwrap();
        let name = file.strip_prefix(STORED).unwrap();
        for damage in 0..6 {
            let _removed = fs::remove_dir_all(&path);
            copy(Path::new(STORED), &path);
            let mut bytes = whole.clone();
            match damage {
                0 => bytes.clear(),
                1 => bytes.truncate(whole.len() / 2),
                part => {
                    let at = whole.len() * (part - 2) / 4;
                    bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte ^= 0x5a);
                }
            }
            fs::write(path.join(name), bytes).unwrap();
            let read = hierarchy(path.to_str().unwrap()).and_then(|hierarchy| {
                hierarchy.array("/small")?.read_values::<i32>(..)?;
                hierarchy.array("/g/numbers")?.read_values::<f64>(..)
            });
            refused += usize::from(read.is_err_and(|error| !error.to_string().contains("panicked")));
        }
    }
    assert!(refused > 3 * files.len(), "{refused} of {}", 6 * files.len());
    fs::remove_dir_all(path.join("chunks")).unwrap();
    fs::remove_dir_all(path.join("snapshots")).unwrap();
    assert!(hierarchy(&format!("icechunk:{}", path.display())).is_err());
    let error = Version::try_from("x".to_owned()).unwrap_err().to_string();
    assert!(error.contains("unknown version `x`"), "{error}");
}
