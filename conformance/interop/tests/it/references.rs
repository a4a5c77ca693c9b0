//! References of kerchunk and virtualizarr are read, and fsspec and zarr-python read references of `zarrctl`.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use tempfile::TempDir;
use zarr_interop::environment::run_script;
use zarr_interop::{Packages, python, zarrctl};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

/// The folder with the references that the script wrote, once for all tests.
struct Written {
    python: PathBuf,
    folder: TempDir,
}

static WRITTEN: LazyLock<Option<Written>> = LazyLock::new(|| {
    let python = python(Packages::References)?;
    let folder = tempfile::tempdir().unwrap();
    let written = Written { python, folder };
    written.script(&["write".as_ref(), written.folder.path().as_ref()]);
    Some(written)
});

impl Written {
    fn script(&self, arguments: &[&OsStr]) -> String {
        let (output, good) = run_script(&self.python, "references/references.py", arguments);
        assert!(good, "{arguments:?}: {output}");
        output
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Returns the values of a reference file in hexadecimal, as fsspec reads them.
    fn values(&self, file: &str) -> BTreeMap<String, String> {
        serde_json::from_str(&self.script(&["values".as_ref(), file.as_ref()])).unwrap()
    }
}

fn open(location: &str) -> Result<Arc<dyn Store>, zarr_kit::Error> {
    open_store(Context::linked().unwrap().registry(), location)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn values(store: &dyn Store) -> BTreeMap<String, String> {
    let value = |key: &zarr_kit::spec::Key| get_value(store, key, 1 << 20).unwrap().unwrap();
    store.list().unwrap().iter().map(|key| (key.to_string(), hexadecimal(&value(key)))).collect()
}

fn elements() -> Vec<i32> {
    (0..70).collect()
}

#[test]
fn arrays_of_kerchunk_and_virtualizarr_are_read() {
    let Some(written) = &*WRITTEN else { return };
    let context = Context::linked().unwrap();
    for name in ["absolute", "url", "inline", "relative", "templated", "version-0", "virtualizarr"] {
        let file = format!("{name}.json");
        let path = written.path(&file);
        let folder = json!({"type": "filesystem", "path": written.folder.path()});
        let described = json!({"type": "reference", "key": file, "store": folder});
        for location in [format!("reference:{path}"), format!("{path}|reference:"), described.to_string()] {
            let hierarchy = Hierarchy::open(open(&location).unwrap(), &context).unwrap();
            let group = if name == "virtualizarr" { "" } else { "/g" };
            let array = hierarchy.array(format!("{group}/a")).unwrap();
            assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), elements(), "{location}");
            let plain = hierarchy.array(format!("{group}/plain")).unwrap();
            let part = Selection::parse("3,2:4", plain.shape()).unwrap();
            assert_eq!(plain.read_values::<f64>(&part).unwrap(), [23., 24.], "{location}");
            if name != "virtualizarr" {
                let root = hierarchy.group("/").unwrap();
                assert_eq!(root.attributes().get("n").and_then(zarr_kit::spec::Value::as_u64), Some(5));
            }
        }
        let group = format!("{path}|reference:g|zarr2:");
        if name != "virtualizarr" {
            let hierarchy = Hierarchy::open(open(&group).unwrap(), &context).unwrap();
            assert_eq!(hierarchy.array("a").unwrap().shape(), [10, 7]);
            assert!(
                open(&format!("{path}|reference:g|zarr3:"))
                    .unwrap_err()
                    .to_string()
                    .contains("expected `zarr.json`")
            );
        }
    }
}

#[test]
fn values_are_those_that_fsspec_reads() {
    let Some(written) = &*WRITTEN else { return };
    for name in ["generators.json", "templated.json", "inline.json"] {
        let path = written.path(name);
        let theirs = written.values(&path);
        assert!(theirs.len() > 15);
        assert_eq!(values(&*open(&format!("reference:{path}")).unwrap()), theirs, "{name}");
    }
}

#[test]
fn targets_outside_of_the_folder_are_read_only_with_permission() {
    let Some(written) = &*WRITTEN else { return };
    let other = tempfile::tempdir().unwrap();
    let moved = other.path().join("refs.json");
    fs::copy(written.path("absolute.json"), &moved).unwrap();
    let moved = moved.to_str().unwrap();
    let context = Context::linked().unwrap();
    let read = |location: &str| {
        let hierarchy = Hierarchy::open(open(location).unwrap(), &context).unwrap();
        hierarchy.array("/g/a").unwrap().read_values::<i32>(&Selection::All)
    };
    let refused = read(&format!("reference:{moved}")).unwrap_err().to_string();
    assert!(refused.contains("is not below `file://") && refused.contains("?target=URL"), "{refused}");
    let folder = written.folder.path();
    let allowed = format!("{moved}|reference:?target={}", folder.to_str().unwrap());
    assert_eq!(read(&allowed).unwrap(), elements());
    let described = json!({"type": "reference", "key": "refs.json",
        "store": {"type": "filesystem", "path": other.path()}, "targets": [{"type": "filesystem", "path": folder}]});
    assert_eq!(read(&described.to_string()).unwrap(), elements());
    let unknown = open(&format!("{moved}|reference:?allow=x")).unwrap_err().to_string();
    assert!(unknown.contains("unknown option `allow`"), "{unknown}");
}

fn references(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).arg("references").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Removes the escapes of slashes that fsspec leaves in documents.
fn without_escapes(values: BTreeMap<String, String>) -> BTreeMap<String, String> {
    values.into_iter().map(|(key, value)| (key, value.replace("5c2f", "2f"))).collect()
}

/// The files have at most 5, 4 and 1000 references: with absolute paths, with inline values, and with paths as
/// categories.
#[test]
fn references_in_parquet_files_are_read_like_those_in_json() {
    let Some(written) = &*WRITTEN else { return };
    let context = Context::linked().unwrap();
    for name in ["absolute.parq", "inline.parq", "categories.parq"] {
        let path = written.path(name);
        let folder = json!({"type": "filesystem", "path": written.folder.path()});
        let described = json!({"type": "reference", "key": name, "store": folder});
        for location in [format!("reference:{path}"), format!("{path}/|reference:"), described.to_string()] {
            let store = open(&location).unwrap();
            assert_eq!(
                without_escapes(values(&*store)),
                without_escapes(written.values(&path)),
                "{location}"
            );
            let hierarchy = Hierarchy::open(store, &context).unwrap();
            let array = hierarchy.array("/g/a").unwrap();
            assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), elements(), "{location}");
            let nodes = hierarchy.walk("/").unwrap();
            assert_eq!(nodes.len(), 7, "{nodes:?}");
        }
    }
}

#[test]
fn chunks_without_a_reference_in_parquet_files_are_missing() {
    let Some(written) = &*WRITTEN else { return };
    let path = written.path("some parts");
    let store = open(&format!("{path}|reference:")).unwrap();
    assert_eq!(without_escapes(values(&*store)), without_escapes(written.values(&path)));
    let value = |name: &str| get_value(&*store, &zarr_kit::spec::Key::new(name).unwrap(), 1 << 10).unwrap();
    assert_eq!(value("g/a/1.0").unwrap(), b"whole"[..]);
    // For some of these chunks, a file lacks the reference; for others, the whole file is missing. The other keys do
    // not name chunks.
    for missing in
        ["g/a/0.1", "g/a/2.0", "g/a/2.1", "g/a/3.0", "g/a/0.00", "g/a/0", "g/a/0.0.0", "g/b/0", ".zmetadata"]
    {
        assert_eq!(value(missing), None, "{missing}");
    }
    let moved = tempfile::tempdir().unwrap();
    let copy = moved.path().join("refs.parq");
    fs::create_dir_all(copy.join("g/a")).unwrap();
    for name in [".zmetadata", "g/a/refs.0.parq"] {
        fs::copy(Path::new(&path).join(name), copy.join(name)).unwrap();
    }
    let outside = open(copy.to_str().map(|path| format!("reference:{path}")).as_deref().unwrap()).unwrap();
    let key = zarr_kit::spec::Key::new("g/a/0.0").unwrap();
    let refused = get_value(&*outside, &key, 1 << 10).unwrap_err().to_string();
    assert!(refused.contains("is not below `file://") && refused.contains("?target=URL"), "{refused}");
}

/// Files of 2 and of 1000 references to a folder and to an archive, with missing chunks, a file without references,
/// chunks in folders, and an array without dimensions.
#[test]
fn fsspec_and_zarr_python_read_references_of_zarrctl_in_parquet_files() {
    let Some(written) = &*WRITTEN else { return };
    let program = zarrctl();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let context = Context::linked().unwrap();
    let data = at("données");
    let hierarchy = Hierarchy::create(open(&data).unwrap(), &context, Format::V2).unwrap();
    let builder = ArrayBuilder::new(vec![10, 7], "int32").chunks([4, 3]);
    hierarchy.create_array("/g/a", &builder).unwrap().write_values(&Selection::All, &elements()).unwrap();
    let nested = hierarchy.create_array("/g/n", &builder.clone().separator("/")).unwrap();
    let part = Selection::parse("8:10,0:7", nested.shape()).unwrap();
    nested.write_values(&part, &elements()[..14]).unwrap();
    let scalar = ArrayBuilder::new(Vec::new(), "float64");
    hierarchy.create_array("/s", &scalar).unwrap().write_values(&Selection::All, &[1.5_f64]).unwrap();
    let archive = at("data.zip");
    assert!(Command::new(&program).args(["pack", &data, &archive]).status().unwrap().success());
    for (name, source, size) in
        [("a", &data, "2"), ("b", &data, "1000"), ("c", &archive, "5"), ("d", &archive, "1000")]
    {
        let refs = at(&format!("{name}.parq"));
        references(&program, &[source, "--parquet", &refs, "--record-size", size]);
        assert_eq!(Path::new(&refs).join("g/n/refs.0.parq").exists(), size != "2" && size != "5");
        let again = Command::new(&program).args(["references", source, "--parquet", &refs]).output().unwrap();
        assert!(!again.status.success());
        for path in ["g/a", "g/n"] {
            let theirs = written.script(&["read".as_ref(), refs.as_ref(), path.as_ref()]);
            let ours = Hierarchy::open(open(&format!("reference:{refs}")).unwrap(), &context).unwrap();
            let ours = ours.array(format!("/{path}")).unwrap().read_values::<i32>(&Selection::All).unwrap();
            let rows: Vec<_> = ours.chunks(7).map(<[i32]>::to_vec).collect();
            assert_eq!(serde_json::from_str::<Value>(&theirs).unwrap(), json!(rows), "{refs} {path}");
            let stored = hierarchy.array(format!("/{path}")).unwrap();
            assert_eq!(stored.read_values::<i32>(&Selection::All).unwrap(), ours);
        }
        let store = open(&format!("reference:{refs}")).unwrap();
        assert_eq!(without_escapes(values(&*store)), without_escapes(written.values(&refs)), "{refs}");
        assert_eq!(
            Hierarchy::open(store, &context)
                .unwrap()
                .array("/s")
                .unwrap()
                .read_values::<f64>(&Selection::All)
                .unwrap(),
            [1.5]
        );
    }
    let v3 = at("v3");
    let hierarchy = Hierarchy::create(open(&v3).unwrap(), &context, Format::V3).unwrap();
    hierarchy.create_array("/a", &ArrayBuilder::new(vec![1], "uint8")).unwrap();
    let refused =
        Command::new(&program).args(["references", &v3, "--parquet", &at("v3.parq")]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("describe v2"), "{refused:?}");
}

/// The engine writes the hierarchies to a folder whose name must be escaped in URLs, and to an archive.
#[test]
fn zarr_python_reads_references_of_zarrctl() {
    let Some(written) = &*WRITTEN else { return };
    let program = zarrctl();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let context = Context::linked().unwrap();
    for format in [Format::V2, Format::V3] {
        let data = at(&format!("données {format}"));
        let hierarchy = Hierarchy::create(open(&data).unwrap(), &context, format).unwrap();
        let builder = ArrayBuilder::new(vec![10, 7], "int32").chunks([4, 3]);
        let array = hierarchy.create_array("/g/a", &builder).unwrap();
        array.write_values(&Selection::All, &elements()).unwrap();
        let archive = at(&format!("{format}.zip"));
        let packed = Command::new(&program).args(["pack", &data, &archive]).status().unwrap();
        assert!(packed.success());
        for (source, number) in [&data, &archive].into_iter().zip(0..) {
            let file = at(&format!("{format}-{number}.json"));
            references(&program, &[source, "-o", &file]);
            assert_eq!(references(&program, &[source]), fs::read_to_string(&file).unwrap());
            let theirs: Value =
                serde_json::from_str(&written.script(&["read".as_ref(), file.as_ref(), "g/a".as_ref()]))
                    .unwrap();
            let rows: Vec<_> = elements().chunks(7).map(<[i32]>::to_vec).collect();
            assert_eq!(theirs, json!(rows), "{source}");
            assert_eq!(
                values(&*open(&format!("reference:{file}")).unwrap()),
                values(&*open(source).unwrap())
            );
        }
    }
}
