//! Programs read what this framework writes instead of them. Each store of `conformance/formats/wild` is copied, every chunk
//! of the copy is encoded again, and the library of its family compares the copy with the original.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::{self, available_parallelism};

use serde::Deserialize;
use zarr_interop::environment::{gdal, run_script};
use zarr_interop::wild::{WildArray, families, folder};
use zarr_interop::{Packages, python, skip, with_icechunk, zarrctl};
use zarr_kit::archive::{CodecFor, CopyProgress, CopyRequest, Settings, plan_copy};
use zarr_kit::spec::json;
use zarr_kit::{
    Context, EntryKind, Format, Hierarchy, NodePath, OpenOptions, Progress, Selection, open_store,
};

/// A family and the library that reads it.
struct Library {
    family: &'static str,
    environment: Environment,
    /// The store and the array of which the library also gets a copy with another element, which it must find.
    changed: (&'static str, &'static str),
}

enum Environment {
    /// Packages that other tests install too.
    Usual(Packages),
    /// Packages that are installed only with `ZARR_LONG`.
    Long(&'static str),
    /// The GDAL of the system.
    Gdal,
}

use Environment::{Gdal, Long, Usual};

const LIBRARIES: &[Library] = &[
    library("anndata", Long("anndata"), ("v3.zarr", "/layers/dense")),
    library("bio2zarr", Long("vcztools"), ("v3.vcz", "/variant_position")),
    library("gdal", Gdal, ("v2.zarr", "/data/i2_zstd")),
    library("gribberish", Usual(Packages::Wild("readers")), ("forecast.zarr", "/simple")),
    library("hdf5plugin", Usual(Packages::Wild("readers")), ("reference:kerchunk.json", "/g/zstd")),
    library("hdmf-zarr", Long("hdmf-zarr"), ("recording.zarr", "/acquisition/voltage/data")),
    library("icechunk", Usual(Packages::Wild("icechunk")), ("icechunk:repository.icechunk", "/g/numbers")),
    library("imagecodecs", Usual(Packages::Wild("readers")), ("v3.zarr", "/bytes/lzw")),
    library("kerchunk", Usual(Packages::References), ("reference:targets.json", "/g/compressed")),
    library("n5", Usual(Packages::Zarr3), ("n5:container.n5", "/gzip/int16")),
    library("netcdf-c", Long("netcdf-c"), ("nczarr.zarr", "/station/height")),
    library("ngff-zarr", Long("ome-zarr"), ("05-sharded.zarr", "/scale0/pixels")),
    library("ome-zarr", Long("ome-zarr"), ("image-05-sharded.zarr", "/labels/cells/s0")),
    library("rioxarray", Long("rioxarray"), ("cf-v3.zarr", "/raster")),
    library("spatialdata", Long("spatialdata"), ("dataset.zarr", "/images/pixels/s0")),
    library("virtualizarr", Usual(Packages::References), ("reference:virtual.json", "/compressed")),
    library("wavpack-numcodecs", Long("wavpack-numcodecs"), ("v3.zarr", "/five/int32")),
    library("xarray", Usual(Packages::Xarray), ("v3.zarr", "/t2m")),
    library("z5py", Usual(Packages::Wild("z5py")), ("n5:container.n5", "/volumes/gzip_uint64")),
    library("zarr-n5", Usual(Packages::Wild("readers")), ("container.zarr", "/gzip/uint16")),
    library("zarr-python-2", Usual(Packages::Zarr2), ("filters.zarr", "/compressors/zstd")),
];

const fn library(
    family: &'static str,
    environment: Environment,
    changed: (&'static str, &'static str),
) -> Library {
    Library { family, environment, changed }
}

/// A family whose codecs only decode. Copies are compressed with gzip.
const DECODED: &str = "gribberish";

/// A store that becomes one of v2: GDAL does not read the standard form of the draft.
const TO_V2: (&str, &str) = ("gdal", "draft.zarr");

/// Arrays that are not copied, because neither this framework nor the library reads them.
const LEFT_OUT: &[(&str, &str, &str)] = &[("hdf5plugin", "reference:virtualizarr.json", "/lzf")];

/// An array that this framework reads with other elements, and a warning. Its chunks are copied, not encoded.
const MISREAD: (&str, &str, &str) = ("netcdf-c", "zarr.zarr", "/t");

#[test]
fn every_family_has_a_library() {
    let families = families(&folder());
    assert!(
        families.iter().map(|family| family.name.as_str()).eq(LIBRARIES.iter().map(|library| library.family))
    );
    for Library { family, changed: (store, array), .. } in LIBRARIES {
        let family = families.iter().find(|found| found.name == *family).unwrap();
        assert!(family.arrays.iter().any(|known| known.store == *store && known.array == *array), "{array}");
    }
}

#[test]
fn libraries_read_what_this_framework_writes_instead_of_them() {
    read_back(|environment| !matches!(environment, Long(_)));
}

/// The packages take minutes to install.
#[test]
fn more_libraries_read_what_this_framework_writes_instead_of_them() {
    if std::env::var_os("ZARR_LONG").is_some() {
        read_back(|environment| matches!(environment, Long(_)));
    }
}

fn read_back(is_chosen: fn(&Environment) -> bool) {
    let Some(context) = with_icechunk() else { return };
    let chosen: Vec<&Library> = LIBRARIES.iter().filter(|library| is_chosen(&library.environment)).collect();
    let share = chosen.len().div_ceil(available_parallelism().map_or(1, usize::from));
    let faults: Vec<String> = thread::scope(|scope| {
        let context = &context;
        let checked = |libraries: &[&Library]| -> Vec<String> {
            libraries.iter().flat_map(|library| library.faults(context)).collect()
        };
        let parts: Vec<_> = chosen.chunks(share).map(|part| scope.spawn(move || checked(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The output of the script.
#[derive(Debug, Deserialize)]
struct Compared {
    versions: String,
    pairs: Vec<Pair>,
}

/// The number of items that the library reads from an original, and those that differ in the copy.
#[derive(Debug, Deserialize)]
struct Pair {
    items: usize,
    differences: Vec<String>,
}

impl Library {
    fn python(&self) -> Option<PathBuf> {
        match self.environment {
            Usual(packages) => python(packages),
            Long(name) => python(Packages::Wild(name)),
            Gdal => gdal().map(|(python, _)| python).inspect_err(|reason| skip(reason)).ok(),
        }
    }

    /// Returns the differences between the stores of the family and their copies.
    fn faults(&self, context: &Context) -> Vec<String> {
        let Some(python) = self.python() else { return Vec::new() };
        let scratch = tempfile::tempdir().unwrap();
        let stores = self.stores();
        let mut arguments: Vec<OsString> = vec![self.family.into()];
        for (number, store) in stores.iter().enumerate() {
            let copy = store.copied(context, &scratch.path().join(number.to_string()), None);
            arguments.extend([store.path.clone().into_os_string(), copy.into_os_string()]);
        }
        let (name, array) = self.changed;
        let store = stores.iter().find(|store| store.name == name).unwrap();
        let changed = store.copied(context, &scratch.path().join("changed"), Some(array));
        arguments.extend([store.path.clone().into_os_string(), changed.into_os_string()]);
        let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
        let (output, is_good) = run_script(&python, "wild/read_back.py", &arguments);
        let last = output.lines().rev().find(|line| line.starts_with("{\"versions\""));
        match last.filter(|_| is_good) {
            Some(line) => self.faults_of(&stores, &serde_json::from_str(line).unwrap()),
            None => vec![format!("{}: {output}", self.family)],
        }
    }

    fn stores(&self) -> Vec<WildStore> {
        let family = families(&folder()).into_iter().find(|family| family.name == self.family).unwrap();
        let names: BTreeSet<(&str, &str)> = family.arrays.iter().map(WildArray::location).collect();
        let store = |(scheme, path): (&str, &str)| WildStore {
            family: self.family,
            name: format!("{scheme}{path}"),
            scheme: scheme.to_owned(),
            path: folder().join(self.family).join(path),
        };
        names.into_iter().map(store).collect()
    }

    fn faults_of(&self, stores: &[WildStore], compared: &Compared) -> Vec<String> {
        let (changed, copies) = compared.pairs.split_last().unwrap();
        assert_eq!(copies.len(), stores.len());
        let items: usize = copies.iter().map(|pair| pair.items).sum();
        println!("{} by {}: {} stores, {items} items", self.family, compared.versions, stores.len());
        let mut faults = Vec::new();
        for (store, pair) in stores.iter().zip(copies) {
            faults.extend(pair.differences.iter().map(|it| format!("{}/{}: {it}", self.family, store.name)));
            if pair.items < 5 {
                faults.push(format!("{}/{}: only {} items", self.family, store.name, pair.items));
            }
        }
        let (_, array) = self.changed;
        match &changed.differences[..] {
            [] => faults.push(format!("{}: a changed element of {array} is not found", self.family)),
            // An error would hide that the elements are not compared.
            [first, ..] if first.contains("Error: ") => faults.push(format!("{}: {first}", self.family)),
            _ => {}
        }
        faults
    }
}

/// A store of a family.
struct WildStore {
    family: &'static str,
    /// The name in the index.
    name: String,
    scheme: String,
    path: PathBuf,
}

impl WildStore {
    /// Copies the store to `folder` and encodes all chunks of the copy again. If `changed` is an array, another element
    /// is written instead of its first one. Returns what the library opens.
    fn copied(&self, context: &Context, folder: &Path, changed: Option<&str>) -> PathBuf {
        fs::create_dir(folder).unwrap();
        let copy = folder.join(self.path.file_name().unwrap());
        let extension = self.path.extension().and_then(OsStr::to_str).unwrap();
        let is_folder = !["json", "parq", "ozx"].contains(&extension);
        let target = if is_folder { copy.clone() } else { folder.join("values") };
        let scheme = if is_folder { self.scheme.as_str() } else { "" };
        self.copy_to(context, &format!("{scheme}{}", target.display()), changed);
        let [verb, option] = match extension {
            "json" => ["references", "--output"],
            "parq" => ["references", "--parquet"],
            "ozx" => ["pack", "--"],
            _ => return copy,
        };
        let mut command = Command::new(zarrctl());
        let output = command.arg(verb).arg(&target).arg(option).arg(&copy).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        copy
    }

    fn copy_to(&self, context: &Context, location: &str, changed: Option<&str>) {
        let open = |location: &str| open_store(context.registry(), location).unwrap();
        let source = open(&format!("{}{}", self.scheme, self.path.display()));
        let mut request = CopyRequest::new();
        request.consolidate = Hierarchy::open(Arc::clone(&source), context).unwrap().is_consolidated();
        if self.family == DECODED {
            request.codecs = vec![CodecFor::new(None, "gzip", json!({"level": 1}))];
        }
        let is_here = |family: &str, store: &str| family == self.family && store == self.name;
        request.format = is_here(TO_V2.0, TO_V2.1).then_some(Format::V2);
        let left_out = LEFT_OUT.iter().filter(|(family, store, _)| is_here(family, store));
        request.exclude = left_out.map(|(.., array)| array.parse().unwrap()).collect();
        let options = OpenOptions::new().consolidated(false);
        let source = Hierarchy::open_with(source, context, options).unwrap();
        let destination = open(location);
        let plan = plan_copy(&[&source], &destination, context, &request, &Settings::new()).unwrap();
        plan.run(&CopyProgress::new(&Progress::new())).unwrap();
        // A commit ends the session of a repository.
        let kept = is_here(MISREAD.0, MISREAD.1).then_some(MISREAD.2);
        encode_again(&Hierarchy::open_with(open(location), context, options).unwrap(), kept, changed);
    }
}

/// Removes all chunks and writes their elements, except those of codecs that only decode and of the array `kept`.
fn encode_again(hierarchy: &Hierarchy, kept: Option<&str>, changed: Option<&str>) {
    let mut count = 0;
    for node in hierarchy.walk(NodePath::root()).unwrap() {
        if node.kind != EntryKind::Array {
            continue;
        }
        let path = node.path.to_string();
        let array = hierarchy.array(&node.path).unwrap();
        if array.decode_only_codec().is_some() || kept == Some(&path) {
            continue;
        }
        let mut elements = array.read(Selection::All).unwrap();
        if changed == Some(&path) {
            elements.bytes_mut()[0] ^= 1;
        }
        let stored = array.stored_chunks().unwrap();
        count += stored.len();
        array.erase_chunks(&stored).unwrap();
        array.write(Selection::All, elements.bytes()).unwrap();
    }
    hierarchy.store().commit().unwrap();
    assert!(count > 0, "{}: nothing is encoded", hierarchy.store().location());
}
