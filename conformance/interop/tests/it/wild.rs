//! Data in the wild: every element of every array that is stored in `conformance/formats/wild` is read.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use zarr_conformance::hex;
use zarr_interop::environment::run_script;
use zarr_interop::wild::{Family, WildArray, families, folder};
use zarr_interop::{Packages, python, raw, wild, with_icechunk};
use zarr_kit::archive::{Checks, FindingKind, Level, Settings, verify};
use zarr_kit::{Context, EntryKind, Error, Hierarchy, NodePath, Selection, open_store};

/// An array that is not read as its writer means, and a part of the message.
type Exception = (&'static str, &'static str, &'static str, &'static str);

/// Arrays that are not read: the family, the store, the path of the array, and a part of the error.
const REFUSED: &[Exception] = &[
    // HDF5 stores the stream of LZF without a header, but virtualizarr declares one.
    ("hdf5plugin", "reference:virtualizarr.json", "/lzf", "codec `imagecodecs_lzf`"),
];

/// Arrays that are read with other elements than their writer means: the family, the store, the path of the array, and a
/// part of the warning.
const MISREAD: &[Exception] = &[
    // Plain Zarr of netCDF-C does not state its writer in the documents of the array.
    ("netcdf-c", "zarr.zarr", "/t", "If netCDF-C wrote the array, its elements are wrong"),
];

/// Families whose stores are not opened, and a part of the message.
const UNOPENED: &[(&str, &str)] = &[];

/// The families with the environments that write them; GDAL is a package of the system.
const WRITERS: &[(&str, Option<Packages>)] = &[
    ("anndata", Some(Packages::Wild("anndata"))),
    ("bio2zarr", Some(Packages::Wild("bio2zarr"))),
    ("gdal", None),
    ("gribberish", Some(Packages::Wild("gribberish"))),
    ("hdf5plugin", Some(Packages::Wild("hdf5plugin"))),
    ("hdmf-zarr", Some(Packages::Wild("hdmf-zarr"))),
    ("icechunk", Some(Packages::Wild("icechunk"))),
    ("imagecodecs", Some(Packages::Zarr3)),
    ("kerchunk", Some(Packages::References)),
    ("n5", Some(Packages::Zarr3)),
    ("netcdf-c", Some(Packages::Wild("netcdf-c"))),
    ("ngff-zarr", Some(Packages::Wild("ome-zarr"))),
    ("ome-zarr", Some(Packages::Wild("ome-zarr"))),
    ("rioxarray", Some(Packages::Wild("rioxarray"))),
    ("spatialdata", Some(Packages::Wild("spatialdata"))),
    ("virtualizarr", Some(Packages::References)),
    ("wavpack-numcodecs", Some(Packages::Wild("wavpack-numcodecs"))),
    ("xarray", Some(Packages::Xarray)),
    ("z5py", Some(Packages::Wild("z5py"))),
    ("zarr-n5", Some(Packages::Wild("zarr-n5"))),
    ("zarr-python-2", Some(Packages::Zarr2)),
];

#[test]
fn every_element_that_other_programs_stored_is_read() {
    let families = families(&folder());
    assert!(families.iter().map(|family| family.name.as_str()).eq(WRITERS.iter().map(|(name, _)| *name)));
    let Some(context) = with_icechunk() else { return };
    let faults: Vec<String> =
        families.iter().flat_map(|family| faults(&context, family, &folder())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns how the arrays of a family deviate from the index.
fn faults(context: &Context, family: &Family, folder: &Path) -> Vec<String> {
    let mut stores: BTreeMap<&str, Vec<&WildArray>> = BTreeMap::new();
    for array in &family.arrays {
        stores.entry(&array.store).or_default().push(array);
    }
    let mut faults = Vec::new();
    for (store, arrays) in stores {
        let (scheme, path) = arrays[0].location();
        let location = format!("{scheme}{}", folder.join(&family.name).join(path).display());
        let unopened = UNOPENED.iter().find(|(name, _)| *name == family.name);
        match (open(context, &location), unopened) {
            (Ok(hierarchy), None) => faults.extend(
                faults_of(&hierarchy, family, &arrays)
                    .into_iter()
                    .map(|fault| format!("{}/{store}{fault}", family.name)),
            ),
            (Err(error), Some((_, part))) if error.to_string().contains(part) => {}
            (Ok(_), Some(_)) => {
                faults.push(format!("{}/{store} is opened, but listed as unopened", family.name))
            }
            (Err(error), _) => faults.push(format!("{}/{store}: {error}", family.name)),
        }
    }
    faults
}

fn open(context: &Context, location: &str) -> Result<Hierarchy, Error> {
    Hierarchy::open(open_store(context.registry(), location)?, context)
}

fn faults_of(hierarchy: &Hierarchy, family: &Family, arrays: &[&WildArray]) -> Vec<String> {
    let nodes = hierarchy.walk(NodePath::root()).unwrap();
    let mut faults: Vec<String> = nodes
        .iter()
        .filter(|node| node.kind == EntryKind::Unreadable)
        .map(|node| format!("{}: unreadable", node.path))
        .collect();
    let is_array = |kind| kind == EntryKind::Array;
    let listed: BTreeSet<String> =
        nodes.iter().filter(|node| is_array(node.kind)).map(|node| node.path.to_string()).collect();
    let expected: BTreeSet<String> = arrays.iter().map(|array| array.array.clone()).collect();
    faults.extend(
        listed.symmetric_difference(&expected).map(|path| format!("{path}: listed or expected only")),
    );
    for array in arrays {
        let refused = exception(REFUSED, family, array);
        if let Some(warning) = exception(MISREAD, family, array) {
            faults.extend(fault_of_misread(hierarchy, array, warning));
            continue;
        }
        match (elements(hierarchy, &array.array), refused) {
            (Ok(elements), None) if elements == hex(&array.elements) => {}
            (Ok(_), None) => faults.push(format!("{}: other elements", array.array)),
            (Ok(_), Some(_)) => faults.push(format!("{}: read, but listed as refused", array.array)),
            (Err(error), Some(part)) if error.to_string().contains(part) => {}
            (Err(error), _) => faults.push(format!("{}: {error}", array.array)),
        }
    }
    faults
}

/// Returns the part of the message that is expected for an array.
fn exception(exceptions: &[Exception], family: &Family, array: &WildArray) -> Option<&'static str> {
    let is_array = |(name, store, path, _): &&Exception| {
        *name == family.name && *store == array.store && *path == array.array
    };
    exceptions.iter().find(is_array).map(|(.., part)| *part)
}

fn fault_of_misread(hierarchy: &Hierarchy, array: &WildArray, warning: &str) -> Option<String> {
    let opened = hierarchy.array(&array.array).unwrap();
    let is_warned = hierarchy.warnings().iter().any(|found| found.text.contains(warning));
    let is_read = raw::of(&opened.read(&Selection::All).unwrap()) == hex(&array.elements);
    match (is_warned, is_read) {
        (_, true) => Some(format!("{}: read, but listed as misread", array.array)),
        (false, _) => Some(format!("{}: other elements, without a warning", array.array)),
        (true, false) => None,
    }
}

fn elements(hierarchy: &Hierarchy, path: &str) -> Result<Vec<u8>, Error> {
    Ok(raw::of(&hierarchy.array(path)?.read(&Selection::All)?))
}

/// No store contradicts the conventions that it declares. This includes stores that other programs wrote.
#[test]
fn the_conventions_of_other_programs_hold() {
    let Some(context) = with_icechunk() else { return };
    let mut checked = 0;
    for family in
        families(&folder()).iter().filter(|family| UNOPENED.iter().all(|(name, _)| *name != family.name))
    {
        let stores: BTreeSet<(&str, &str)> = family.arrays.iter().map(WildArray::location).collect();
        for (scheme, path) in stores {
            let location = format!("{scheme}{}", folder().join(&family.name).join(path).display());
            let store = open_store(context.registry(), &location).unwrap();
            let checks = Checks::new(Level::Metadata);
            let report = verify(store, &context, checks, &Settings::new()).unwrap();
            let found = report.all_findings().filter(|finding| finding.kind == FindingKind::Convention);
            assert_eq!(found.map(|finding| &*finding.text).collect::<Vec<_>>(), [""; 0], "{location}");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

/// The writers run only with `ZARR_LONG`: their packages take minutes to install.
#[test]
fn the_writers_still_write_what_is_stored() {
    if std::env::var_os("ZARR_LONG").is_none() {
        return;
    }
    let Some(context) = with_icechunk() else { return };
    for (name, packages) in WRITERS {
        let python = match packages {
            None => "/usr/bin/python3".into(),
            Some(packages) => match python(*packages) {
                Some(python) => python,
                None => continue,
            },
        };
        let written = tempfile::tempdir().unwrap();
        let arguments: [&OsStr; 2] = [name.as_ref(), written.path().as_ref()];
        let (output, is_good) = run_script(&python, "wild/write.py", &arguments);
        assert!(is_good, "{name}: {output}");
        let now = families(written.path()).pop().unwrap();
        let stored = families(&folder()).into_iter().find(|family| family.name == *name).unwrap();
        assert_eq!(sorted(&now), sorted(&stored), "{name}");
        assert_eq!(faults(&context, &now, written.path()), Vec::<String>::new());
    }
}

fn sorted(family: &wild::Family) -> Vec<&WildArray> {
    let mut arrays: Vec<&WildArray> = family.arrays.iter().collect();
    arrays.sort();
    arrays
}
