//! Checks that verification finds no damage in hierarchies of other writers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use zarr_interop::wild::{WildArray, families, folder};
use zarr_interop::{memory, with_icechunk};
use zarr_kit::archive::{
    Checks, CopyProgress, CopyRequest, FindingKind, Level, Settings, digest, plan_copy, verify,
};
use zarr_kit::spec::store::Store;
use zarr_kit::{Context, Hierarchy, NodePath, OpenOptions, open_store};

/// `verify` finds no damage in the hierarchies of `conformance/formats` that every reader must read.
#[test]
fn stored_hierarchies_of_other_writers_are_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats");
    let context = Context::linked().unwrap();
    let mut count = 0;
    for format in ["v2", "v3", "draft"] {
        let list = fs::read(folder.join(format).with_extension("json")).unwrap();
        let list: Vec<Value> = serde_json::from_slice(&list).unwrap();
        for case in list.iter().filter(|case| case["expect"] == "values") {
            let id = case["id"].as_str().unwrap();
            let place = folder.join(format).join(id);
            let store = open_store(context.registry(), place.to_str().unwrap()).unwrap();
            let report =
                verify(Arc::clone(&store), &context, Checks::new(Level::Checksums), &Settings::new());
            let report = report.unwrap_or_else(|error| panic!("{format}/{id}: {error}"));
            assert!(report.is_whole(), "{format}/{id}: {:?}", report.all_findings().collect::<Vec<_>>());
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// References with an array that no program can read: its codec has a wrong parameter.
const WRONG: &str = "hdf5plugin/virtualizarr.json";

/// `verify` finds no damage in the data sets that programs of users wrote, except in [`WRONG`], and their copies have the
/// digests of the originals.
#[test]
fn data_in_the_wild_is_whole_and_its_copies_have_its_digest() {
    let Some(context) = with_icechunk() else { return };
    let mut faults = Vec::new();
    for family in &families(&folder()) {
        let mut locations: Vec<(&str, &str)> = family.arrays.iter().map(WildArray::location).collect();
        locations.sort_unstable();
        locations.dedup();
        for (scheme, path) in locations {
            let location = format!("{scheme}{}", folder().join(&family.name).join(path).display());
            let store = open_store(context.registry(), &location).unwrap();
            let checks = Checks::new(Level::Checksums);
            let report = verify(Arc::clone(&store), &context, checks, &Settings::new()).unwrap();
            let damage = report.all_findings().filter(|finding| finding.kind.is_damage());
            if format!("{}/{path}", family.name) == WRONG {
                assert!(damage.count() > 0);
                continue;
            }
            faults.extend(damage.map(|finding| format!("{}/{path}: {finding:?}", family.name)));
            let is_unread = report.all_findings().any(|finding| finding.kind == FindingKind::NotChecked);
            // Arrays with unknown codecs have no digest.
            if !is_unread && let Err(fault) = copy_and_compare(&store, &context) {
                faults.push(format!("{}/{path}: {fault}", family.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Copies a store to memory, and compares the digests.
fn copy_and_compare(store: &Arc<dyn Store>, context: &Context) -> Result<(), String> {
    let options = || OpenOptions::new().consolidated(false);
    let source = Hierarchy::open_with(Arc::clone(store), context, options());
    let source = source.map_err(|error| error.to_string())?;
    let target = memory();
    let settings = Settings::new();
    let plan = plan_copy(&[&source], &target, context, &CopyRequest::new(), &settings);
    let plan = plan.map_err(|error| error.to_string())?;
    plan.run(&CopyProgress::default()).map_err(|error| error.to_string())?;
    let copy = Hierarchy::open_with(target, context, options()).map_err(|error| error.to_string())?;
    let [before, after] = [&source, &copy].map(|hierarchy| {
        let manifest = digest(hierarchy, &NodePath::root(), &settings);
        manifest.map(|manifest| manifest.digest()).map_err(|error| error.to_string())
    });
    if before? == after? { Ok(()) } else { Err("the copy has another digest".to_owned()) }
}

/// `verify` reports each hierarchy that a reader must refuse, as damaged or as not checked.
#[test]
fn invalid_hierarchies_have_findings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats");
    let context = Context::linked().unwrap();
    let mut missed = Vec::new();
    for format in ["v2", "v3", "draft"] {
        let list = fs::read(folder.join(format).with_extension("json")).unwrap();
        let list: Vec<Value> = serde_json::from_slice(&list).unwrap();
        for case in list.iter().filter(|case| case["expect"] == "refused") {
            let id = case["id"].as_str().unwrap();
            let place = folder.join(format).join(id);
            let store = open_store(context.registry(), place.to_str().unwrap()).unwrap();
            let report = verify(store, &context, Checks::new(Level::Decode), &Settings::new());
            if report.is_ok_and(|report| report.all_findings().next().is_none()) {
                missed.push(format!("{format}/{id}"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn stored_hierarchies_have_digests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/v3/array-in-groups");
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    let options = OpenOptions::new().consolidated(false);
    let hierarchy = Hierarchy::open_with(store, &context, options).unwrap();
    let manifest = digest(&hierarchy, &NodePath::root(), &Settings::new()).unwrap();
    assert!(manifest.nodes.len() > 1);
    let text = zarr_kit::json::to_vec_pretty(&manifest.to_json()).unwrap();
    assert_eq!(zarr_kit::archive::Manifest::parse(&text).unwrap(), manifest);
}
