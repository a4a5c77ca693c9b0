//! Databases as stores: LMDB databases that zarr-python 2 writes and reads, and hierarchies in LMDB and redb.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::path::Path;

use zarr_interop::environment::{Packages, python, run_script};
use zarr_kit::spec::Value;
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

fn elements() -> Vec<i32> {
    (0..5).flat_map(|row| (0..7).map(move |column| 100 * row + column)).collect()
}

fn run(python: &Path, action: &str, database: &Path) -> String {
    let (output, good) =
        run_script(python, "databases/lmdb_store.py", &[OsStr::new(action), database.as_os_str()]);
    assert!(good, "{output}");
    output
}

fn create(location: &str) -> Hierarchy {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), location).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V2).unwrap();
    let array =
        ArrayBuilder::new([5, 7], "int32").chunks([2, 3]).codec(("zlib", zarr_kit::json!({"level": 1})));
    let array = hierarchy.create_array("/ours", &array).unwrap();
    array.write_values(&Selection::All, &elements()).unwrap();
    hierarchy
}

/// Tests V2-STORE-01.
#[test]
fn databases_of_zarr_python_2_are_read_and_written() {
    let Some(python) = python(Packages::Databases) else { return };
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs.lmdb");
    run(&python, "write", &theirs);
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), &format!("lmdb:{}", theirs.display())).unwrap();
    let hierarchy = Hierarchy::open(store, &context).unwrap();
    let title = hierarchy.group("/").unwrap().attributes().get("title").cloned();
    assert_eq!(title.as_ref().and_then(Value::as_str), Some("written by LMDBStore"));
    let array = hierarchy.array("/g/a").unwrap();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), elements());
}

/// The versions of LMDB have different lock files, so one program closes the database before the other one opens it.
#[test]
fn zarr_python_2_and_the_engine_change_one_database() {
    let Some(python) = python(Packages::Databases) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.lmdb");
    let location = format!("lmdb:{}", path.display());
    drop(create(&location));
    let read: Vec<Vec<i32>> = serde_json::from_str(&run(&python, "read", &path)).unwrap();
    assert_eq!(read.concat(), elements());
    run(&python, "change", &path);
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), &location).unwrap();
    let array = Hierarchy::open(store, &context).unwrap().array("/ours").unwrap();
    let changed: Vec<i32> = elements().iter().map(|element| element + 1).collect();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), changed);
}

#[test]
fn hierarchies_in_databases_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["lmdb", "redb"] {
        let path = folder.path().join(name);
        drop(create(&format!("{name}:{}", path.display())));
        let context = Context::linked().unwrap();
        let store = open_store(context.registry(), &format!("{}|{name}:", path.display())).unwrap();
        let hierarchy = Hierarchy::open(store, &context).unwrap();
        let array = hierarchy.array("/ours").unwrap();
        assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), elements(), "{name}");
        hierarchy.erase("/ours").unwrap();
        assert!(hierarchy.array("/ours").is_err(), "{name}");
    }
}
