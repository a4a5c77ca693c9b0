//! `zarrctl serve`, read by zarr-python and xarray with fsspec, by zarrita.js, by curl and by the engine.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use zarr_interop::environment::{Packages, ZARRITA, node_package, python, run_script, skip};
use zarr_interop::{wild, zarrctl};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

/// A running server, which stops when this value is dropped.
struct Server(Child, String);

impl Server {
    fn start(store: &Path) -> Self {
        let mut program = Command::new(zarrctl());
        let program = program.arg("serve").arg(store).args(["--port", "0"]).stdout(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn elements() -> Vec<i32> {
    (0..40).map(|element| element * 3 - 7).collect()
}

/// Writes an array in shards, whose indexes are at their ends, so that readers ask for suffixes.
fn write(folder: &Path) {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let array = ArrayBuilder::new([40], "int32").shards([20]).chunks([5]);
    let array = hierarchy.create_array("/g/a", &array).unwrap();
    array.write_values(&Selection::All, &elements()).unwrap();
}

#[test]
fn zarr_python_with_fsspec_reads_a_served_array() {
    let Some(python) = python(Packages::References) else { return };
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let server = Server::start(folder.path());
    let (output, good) =
        run_script(&python, "references/served.py", &[OsStr::new(&server.1), OsStr::new("g/a")]);
    assert!(good, "{output}");
    let read: Vec<i32> = serde_json::from_str(&output).unwrap();
    assert_eq!(read, elements());
}

/// Tests consolidated datasets in v2 and in v3, whose shards have their indexes at the end.
#[test]
fn xarray_reads_served_datasets() {
    let Some(python) = python(Packages::References) else { return };
    for name in ["v2.zarr", "v3.zarr"] {
        let folder = wild::folder().join("xarray").join(name);
        let server = Server::start(&folder);
        let arguments = [OsStr::new(&server.1), folder.as_os_str()];
        let (output, good) = run_script(&python, "references/served_datasets.py", &arguments);
        assert!(good, "{name}: {output}");
    }
}

#[test]
fn zarrita_reads_served_arrays() {
    let packages = match node_package(ZARRITA) {
        Ok(packages) => packages,
        Err(reason) => return skip(&format!("zarrita.js: {reason}")),
    };
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../adapters/zarrita_read.mjs");
    let read = |url: &str, path: &str| {
        let out = tempfile::NamedTempFile::new().unwrap();
        let mut node = Command::new("node");
        let done = node.arg(script).arg(&packages).args([url, path]).arg(out.path()).output().unwrap();
        assert!(done.status.success(), "{url}{path}: {}", String::from_utf8_lossy(&done.stderr));
        std::fs::read(out.path()).unwrap()
    };
    let server = Server::start(folder.path());
    let expected: Vec<u8> = elements().iter().flat_map(|element| element.to_le_bytes()).collect();
    assert_eq!(read(&server.1, "/g/a"), expected);
    let server = Server::start(&wild::folder().join("xarray/v2.zarr"));
    assert_eq!(read(&server.1, "/crs"), 4326_i32.to_le_bytes());
    drop(server);
    // An archive is served like a folder.
    let files = tempfile::tempdir().unwrap();
    let archive = files.path().join("a.zip");
    let packed = Command::new(zarrctl()).arg("pack").arg(folder.path()).arg(&archive).output().unwrap();
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    assert_eq!(read(&Server::start(&archive).1, "/g/a"), expected);
}

#[test]
fn the_engine_reads_a_served_array() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let server = Server::start(folder.path());
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), &server.1).unwrap();
    let array = Hierarchy::open(store, &context).unwrap().array("/g/a").unwrap();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), elements());
}

#[test]
fn curl_resumes_a_transfer_and_asks_for_changes() {
    let curl = |arguments: &[&str]| Command::new("curl").arg("--silent").args(arguments).output();
    if curl(&["--version"]).is_err() {
        return skip("curl is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let server = Server::start(folder.path());
    let url = format!("{}zarr.json", server.1);
    let whole = std::fs::read(folder.path().join("zarr.json")).unwrap();
    assert_eq!(curl(&["--fail", &url]).unwrap().stdout, whole);
    let files = tempfile::tempdir().unwrap();
    let [part, tag] = ["part", "tag"].map(|name| files.path().join(name).to_str().unwrap().to_owned());
    std::fs::write(&part, &whole[..5]).unwrap();
    assert!(curl(&["--fail", "--continue-at", "-", "--output", &part, &url]).unwrap().status.success());
    assert_eq!(std::fs::read(&part).unwrap(), whole);
    let status = |arguments: &[&str]| {
        let output = curl(&[arguments, &["--output", &part, "--write-out", "%{http_code}", &url]].concat());
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(status(&["--etag-save", &tag]), "200");
    assert_eq!(status(&["--etag-compare", &tag]), "304");
    assert_eq!(status(&["--head"]), "200");
}
