//! The engine reads zip archives of other programs, and they read archives packed by `zarrctl`.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use zarr_interop::environment::run_script;
use zarr_interop::{Packages, python, zarrctl};
use zarr_kit::spec::Value;
use zarr_kit::spec::store::Store;
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

fn open(location: &str) -> Arc<dyn Store> {
    open_store(Context::linked().unwrap().registry(), location).unwrap()
}

fn elements() -> Vec<i32> {
    (0..70).collect()
}

/// Returns all elements of the array that each of these hierarchies has.
fn read(location: &str) -> Result<Vec<i32>, zarr_kit::Error> {
    let hierarchy = Hierarchy::open(open(location), &Context::linked().unwrap())?;
    let root = hierarchy.group("/")?;
    assert_eq!(root.attributes().get("n").and_then(Value::as_u64), Some(5), "{location}");
    Ok(hierarchy.array("/g/a")?.read_values::<i32>(&Selection::All)?.into_vec())
}

/// Runs the script, which must succeed.
fn script(python: &Path, arguments: &[&OsStr]) {
    let (output, ended_well) = run_script(python, "zip_archives.py", arguments);
    assert!(ended_well, "{arguments:?}: {output}");
}

#[test]
fn archives_of_zarr_python_and_zipfile_are_read() {
    let Some(python) = python(Packages::Zarr3) else { return };
    let folder = tempfile::tempdir().unwrap();
    script(&python, &["write".as_ref(), folder.path().as_ref()]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in [
        "zarr-python-v2-stored.zip",
        "zarr-python-v2-deflated.zip",
        "zarr-python-v3-stored.zip",
        "zarr-python-v3-deflated.zip",
        "zarr-python-shards.ozx",
        "streamed.zip",
        "zip64.zip",
        "commented.zip",
        "twice.zip",
        "folders.zip",
        "many.zip",
    ] {
        let path = at(name);
        // The archive is opened by its path, by a URL, by a JSON description, and through a cache.
        let described = json!({"type": "zip", "path": path});
        let cached = json!({"type": "cache", "bytes": 100_000, "chunks": "decoded", "store": described});
        for location in [path.clone(), format!("zip:{path}"), described.to_string(), cached.to_string()] {
            assert_eq!(read(&location).unwrap(), elements(), "{location}");
        }
    }
    assert_eq!(open(&at("many.zip")).list().unwrap().len(), 66_000 + 3 + 9);
    let keys = open(&at("folders.zip")).list().unwrap();
    assert!(keys.iter().any(|key| key.as_str() == "é/ß") && !keys.iter().any(|key| key.as_str() == "empty/"));

    let nested = read(&at("nested.zip")).unwrap_err().to_string();
    assert!(nested.contains("these subfolders are Zarr hierarchies: `data.zarr/`"), "{nested}");
    let inside =
        json!({"type": "prefix", "prefix": "data.zarr", "store": {"type": "zip", "path": at("nested.zip")}});
    assert_eq!(read(&inside.to_string()).unwrap(), elements());

    let bzip2 = read(&at("bzip2.zip")).unwrap_err().to_string();
    assert!(bzip2.contains("bzip2.zip/g/a/c/") && bzip2.contains("BZIP2 (method 12)"), "{bzip2}");
    let in_another = read(&at("in-another.zip")).unwrap_err().to_string();
    assert!(in_another.contains("found `nested.zip`"), "{in_another}");
}

#[test]
fn other_programs_read_packed_archives() {
    let (Some(new), Some(old)) = (python(Packages::Zarr3), python(Packages::Zarr2)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let context = Context::linked().unwrap();
    for (format, number) in [(Format::V2, "2"), (Format::V3, "3"), (Format::V3Draft, "draft")] {
        let source = at(&format!("{number}.zarr"));
        let hierarchy = Hierarchy::create(open(&source), &context, format).unwrap();
        hierarchy.create_group("/", [("n", 5)]).unwrap();
        let builder = ArrayBuilder::new([10, 7], "int32").chunks([4, 3]);
        hierarchy.create_array("/g/a", &builder).unwrap().write_values(&Selection::All, &elements()).unwrap();

        let packed = at(&format!("{number}.zip"));
        let done = Command::new(zarrctl()).args(["pack", &source, &packed]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(read(&packed).unwrap(), elements(), "{number}");
        if format == Format::V3Draft {
            continue;
        }
        script(&new, &["check".as_ref(), packed.as_ref(), number.as_ref()]);
        if format == Format::V2 {
            script(&old, &["check".as_ref(), packed.as_ref(), number.as_ref()]);
        }
    }
}

/// Archives are created by the engine, and zarr-python and the engine add arrays in turn.
#[test]
fn other_programs_read_and_extend_archives_that_are_changed() {
    let (Some(new), Some(old)) = (python(Packages::Zarr3), python(Packages::Zarr2)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let context = Context::linked().unwrap();
    for (format, number, programs) in [(Format::V2, "2", vec![&new, &old]), (Format::V3, "3", vec![&new])] {
        let path = folder.path().join(format!("{number}.zip")).to_str().unwrap().to_owned();
        let builder = ArrayBuilder::new([10, 7], "int32").chunks([4, 3]);
        let hierarchy = Hierarchy::create(open(&path), &context, format).unwrap();
        hierarchy.create_group("/", [("n", 4)]).unwrap();
        let array = hierarchy.create_array("/g/a", &builder).unwrap();
        array.write_values(&Selection::All, &vec![7_i32; 70]).unwrap();
        array.write_values(&Selection::All, &elements()).unwrap();
        hierarchy.group("/").unwrap().set_attribute("n", 5).unwrap();
        hierarchy.store().commit().unwrap();
        drop((array, hierarchy));
        for program in &programs {
            script(program, &["change".as_ref(), path.as_ref(), number.as_ref()]);
            assert_eq!(read(&path).unwrap(), elements(), "{number}");
            let hierarchy = Hierarchy::open(open(&path), &context).unwrap();
            let added: Vec<_> = hierarchy.children("/g").unwrap();
            let added = added.iter().filter(|node| node.path.to_string().starts_with("/g/b"));
            for node in added {
                let array = hierarchy.array(node.path.to_string()).unwrap();
                assert_eq!(array.read_values::<i16>(&Selection::All).unwrap().into_vec(), [1, 2, 3, 4]);
                array.write_values(&Selection::All, &[1_i16, 2, 3, 4]).unwrap();
            }
            hierarchy.store().commit().unwrap();
            drop(hierarchy);
            script(program, &["change".as_ref(), path.as_ref(), number.as_ref()]);
        }
    }
}
