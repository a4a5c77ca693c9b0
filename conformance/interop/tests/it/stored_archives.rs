//! Zip archives in other stores, which are created and changed: in memory, folders, databases and buckets.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use zarr_conformance::stores::around::holds_every_rule;
use zarr_interop::environment::run_script;
use zarr_interop::{Packages, key, python, zarrctl};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::stores::{LocalZipStore, StoredZipStore};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};
use zarr_loopback::{BUCKET, Fault, Options, Request, Server};

const SHAPE: [u64; 2] = [10, 7];

fn elements() -> Vec<i32> {
    (0..70).collect()
}

fn opened(description: &Value) -> Arc<dyn Store> {
    open_store(Context::linked().unwrap().registry(), &description.to_string()).unwrap()
}

/// Returns the description of a folder in a bucket.
fn bucket(server: &Server, folder: &str) -> Value {
    let url = format!("s3://{BUCKET}/{folder}");
    json!({"type": "s3", "url": url, "endpoint": server.endpoint(), "anonymous": true, "retry-seconds": 1})
}

/// Returns the description of the archive `a.zip` in a store.
fn within(store: &Value) -> Value {
    json!({"type": "zip", "key": "a.zip", "store": store})
}

/// Opens the hierarchy in an archive.
fn hierarchy(archive: &Value) -> Hierarchy {
    Hierarchy::open(opened(archive), &Context::linked().unwrap()).unwrap()
}

/// Creates a hierarchy with the attribute `n`, which is 5, and the array `/g/a`.
fn create(archive: Arc<dyn Store>) -> Array {
    let hierarchy = Hierarchy::create(archive, &Context::linked().unwrap(), Format::V3).unwrap();
    hierarchy.create_group("/", [("n", 5)]).unwrap();
    let builder = ArrayBuilder::new(SHAPE, "int32").chunks([4, 3]);
    let array = hierarchy.create_array("/g/a", &builder).unwrap();
    array.write_values(&Selection::All, &elements()).unwrap();
    array
}

fn read(archive: &Value) -> Vec<i32> {
    hierarchy(archive).array("/g/a").unwrap().read_values::<i32>(&Selection::All).unwrap().into_vec()
}

fn run(server: &Server, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(zarrctl());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.args(arguments).env("AWS_ENDPOINT_URL", server.endpoint());
    command.env("AWS_ALLOW_HTTP", "true").env("AWS_SKIP_SIGNATURE", "true");
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// Runs a command that succeeds, and returns its output.
fn done(server: &Server, arguments: &[&str]) -> String {
    let (is_done, text) = run(server, arguments);
    assert!(is_done, "{arguments:?}: {text}");
    text
}

#[test]
fn every_rule_for_stores_holds_for_archives_in_stores_of_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Options::in_memory()).unwrap();
    let count = AtomicU64::new(0);
    let next = || count.fetch_add(1, Ordering::Relaxed);
    let at = |number: u64| folder.path().join(number.to_string()).to_str().unwrap().to_owned();
    let check = |what: &str, describe: &dyn Fn(u64) -> Value| {
        holds_every_rule(what, &|| opened(&within(&describe(next()))));
    };
    check("an archive in memory", &|_| json!({"type": "memory"}));
    check("an archive in a folder", &|number| json!({"type": "filesystem", "path": at(number)}));
    check(
        "an archive in a folder without locks",
        &|number| json!({"type": "filesystem", "path": at(number), "locking": "none"}),
    );
    check("an archive in lmdb", &|number| json!({"type": "lmdb", "path": at(number)}));
    check("an archive in redb", &|number| json!({"type": "redb", "path": at(number)}));
    check("an archive in a bucket", &|number| bucket(&server, &number.to_string()));
    check("an archive in an archive in a bucket", &|number| within(&bucket(&server, &number.to_string())));
}

#[test]
fn archives_in_other_stores_are_created_changed_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Options::in_memory()).unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for inside in [
        json!({"type": "filesystem", "path": at("folder")}),
        json!({"type": "lmdb", "path": at("a.lmdb")}),
        json!({"type": "redb", "path": at("a.redb")}),
        json!({"type": "prefix", "prefix": "in/here", "store": {"type": "filesystem", "path": at("folder")}}),
        json!({"type": "zip", "path": at("outer.zip")}),
        within(&json!({"type": "zip", "path": at("outermost.zip")})),
        bucket(&server, "data"),
        json!({"type": "cache", "bytes": 100_000, "store": bucket(&server, "cached")}),
        within(&bucket(&server, "nested")),
    ] {
        let archive = within(&inside);
        drop(create(opened(&archive)));
        assert_eq!(read(&archive), elements(), "{archive}");
        let changed = hierarchy(&archive);
        changed.group("/").unwrap().set_attribute("more", 1).unwrap();
        let array = changed.array("/g/a").unwrap();
        array.write_values(Selection::parse("3:5", &SHAPE).unwrap(), &[-1; 14]).unwrap();
        assert_eq!(read(&archive), elements(), "{archive}: before the commit, others read the old archive");
        changed.store().commit().unwrap();
        let mut wanted = elements();
        wanted[21..35].fill(-1);
        assert_eq!(read(&archive), wanted, "{archive}");
        let root = hierarchy(&archive).group("/").unwrap();
        assert!(root.attributes().get("more").is_some(), "{archive}");
    }
}

#[test]
fn of_two_programs_the_second_one_gets_an_error_that_names_the_archive() {
    let server = Server::start(Options::in_memory()).unwrap();
    let archive = within(&bucket(&server, "data"));
    drop(create(opened(&archive)));
    let [first, second] = [(); 2].map(|()| hierarchy(&archive));
    first.group("/").unwrap().set_attribute("first", 1).unwrap();
    second.group("/g").unwrap().set_attribute("second", 2).unwrap();
    first.store().commit().unwrap();
    let error = second.store().commit().unwrap_err().to_string();
    assert!(error.contains("s3://bench/data/a.zip") && error.contains("were not written"), "{error}");
    let now = hierarchy(&archive);
    assert!(now.group("/").unwrap().attributes().get("first").is_some());
    assert!(now.group("/g").unwrap().attributes().get("second").is_none());
}

#[test]
fn zarrctl_creates_and_changes_archives_in_a_bucket() {
    let server = Server::start(Options::in_memory()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = at("a.zarr");
    create(opened(&json!({"type": "filesystem", "path": source})));
    let location = format!("s3://{BUCKET}/data.zip|zip:");
    let (is_done, text) = run(&server, &["tree", &location]);
    assert!(!is_done && text.contains("data.zip` does not exist"), "{text}");
    assert!(server.values().unwrap().is_empty());
    for location in [&location, &format!("s3://{BUCKET}/outer.zip|zip:d/inner.zip|zip:")] {
        done(&server, &["copy", &source, location]);
        done(&server, &["attrs", location, "/g", "--set", "x=1"]);
        done(&server, &["create", location, "/b", "--shape", "4", "--dtype", "uint8"]);
        done(&server, &["resize", location, "/g/a", "--shape", "12,7"]);
        assert!(done(&server, &["attrs", location, "/g"]).contains("\"x\": 1"));
        done(&server, &["verify", location]);
        done(&server, &["--require-conditional", "erase", location, "/b"]);
    }
    let keys: Vec<String> = server.values().unwrap().into_keys().collect();
    assert_eq!(keys, ["data.zip", "outer.zip"]);
    // The bytes are an archive like any other.
    fs::write(at("copy.zip"), &server.values().unwrap()["data.zip"]).unwrap();
    assert_eq!(done(&server, &["digest", &at("copy.zip")]), done(&server, &["digest", &location]));
    let web = format!("{}/{BUCKET}/data.zip|zip:", server.endpoint());
    let (is_done, text) = run(&server, &["attrs", &web, "/g", "--set", "x=2"]);
    assert!(!is_done && text.contains("the store that contains it is read only"), "{text}");
}

#[test]
fn a_server_that_fails_leaves_the_old_archive() {
    let is_failing = Arc::new(AtomicBool::new(false));
    let fails = Arc::clone(&is_failing);
    let faults = move |asked: &Request| {
        let is_write = asked.method == "PUT" && asked.path.ends_with("a.zip");
        (is_write && fails.load(Ordering::Relaxed)).then_some(Fault::Close)
    };
    let server = Server::start(Options::in_memory().with_faults(faults)).unwrap();
    let archive = within(&bucket(&server, "data"));
    drop(create(opened(&archive)));
    let before = server.values().unwrap();
    let changed = hierarchy(&archive);
    changed.group("/").unwrap().set_attribute("more", 1).unwrap();
    is_failing.store(true, Ordering::Relaxed);
    let error = changed.store().commit().unwrap_err().to_string();
    assert!(error.contains("s3://bench/data/a.zip"), "{error}");
    assert_eq!(server.values().unwrap(), before);
    is_failing.store(false, Ordering::Relaxed);
    changed.store().commit().unwrap();
    assert!(hierarchy(&archive).group("/").unwrap().attributes().get("more").is_some());
    assert_eq!(read(&archive), elements());
}

#[test]
fn a_server_that_ignores_conditions_is_written_with_a_warning_or_refused() {
    let server = Server::start(Options::in_memory().ignoring_conditions()).unwrap();
    let source = TempDir::new().unwrap();
    let folder = source.path().join("a.zarr").to_str().unwrap().to_owned();
    create(opened(&json!({"type": "filesystem", "path": folder})));
    let location = format!("s3://{BUCKET}/data.zip|zip:");
    done(&server, &["copy", &folder, &location]);
    done(&server, &["copy", &folder, &format!("s3://{BUCKET}/data.zarr")]);
    let text = done(&server, &["attrs", &location, "/g", "--set", "x=1"]);
    assert_eq!(text.matches("does not have conditional writes").count(), 1, "{text}");
    let before = server.values().unwrap();
    let (is_done, text) = run(&server, &["--require-conditional", "attrs", &location, "/g", "--set", "x=2"]);
    assert!(!is_done && text.contains("conditional writes, which are required"), "{text}");
    assert!(server.values().unwrap() == before);
}

/// Runs the script, which must succeed.
fn script(python: &Path, archive: &Path) {
    let arguments: [&OsStr; 3] = ["change".as_ref(), archive.as_os_str(), "3".as_ref()];
    let (output, ended_well) = run_script(python, "zip_archives.py", &arguments);
    assert!(ended_well, "{arguments:?}: {output}");
}

/// The archive is created and changed in a folder of another store; zarr-python and `zipfile` read it, and zarr-python
/// adds an array.
#[test]
fn other_programs_read_and_extend_archives_that_are_changed_in_other_stores() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let outer = folder.path().join("outer.zip");
    let inside = json!({"type": "filesystem", "path": folder.path()});
    let archive = within(&inside);
    let array = create(opened(&archive));
    array.write_values(&Selection::All, &[7; 70]).unwrap();
    array.hierarchy().store().commit().unwrap();
    array.write_values(&Selection::All, &elements()).unwrap();
    drop(array);
    script(&python, &path);
    let changed = hierarchy(&archive);
    let added = changed.array("/g/b3").unwrap();
    assert_eq!(added.read_values::<i16>(&Selection::All).unwrap().into_vec(), [1, 2, 3, 4]);
    added.write_values(&Selection::All, &[1_i16, 2, 3, 4]).unwrap();
    drop((added, changed));
    script(&python, &path);
    // An archive in an archive has the same bytes as one in a folder.
    let store: Arc<dyn Store> = Arc::new(LocalZipStore::open(&outer).unwrap());
    let inner = Arc::new(StoredZipStore::open(Arc::clone(&store), key("a.zip")).unwrap());
    drop(create(inner));
    let bytes = get_value(&*store, &key("a.zip"), usize::MAX).unwrap().unwrap();
    fs::write(&path, bytes).unwrap();
    script(&python, &path);
}
