//! Hierarchies of other writers are whole.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use zarr_kit::archive::{Checks, Level, Settings, digest, verify};
use zarr_kit::{Context, Hierarchy, NodePath, OpenOptions, open_store};

/// The stored hierarchies of `conformance/formats` that every reader must read.
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

/// A hierarchy that a reader must refuse is damaged, or something could not be checked.
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
