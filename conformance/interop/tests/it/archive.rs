//! Digests, comparisons, checks and repairs of hierarchies.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod damage;
mod diffs;
mod digests;
mod fixtures;
mod repairs;

use std::sync::Arc;

use zarr_interop::memory;
use zarr_kit::archive::{Checks, FindingKind, Level, Manifest, Report, Settings, digest, verify};
use zarr_kit::json::json;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Prefix};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, NodePath, OpenOptions};

fn set(store: &dyn Store, key: &str, bytes: &[u8]) {
    store.set(&Key::new(key).unwrap(), bytes.into()).unwrap();
}

fn get(store: &dyn Store, key: &str) -> Vec<u8> {
    get_value(store, &Key::new(key).unwrap(), usize::MAX).unwrap().unwrap().to_vec()
}

fn erase(store: &dyn Store, key: &str) {
    store.erase(&Key::new(key).unwrap()).unwrap();
}

fn keys(store: &dyn Store) -> Vec<String> {
    let keys = store.list_sorted(&Prefix::root()).unwrap();
    keys.iter().map(|key| key.as_str().to_owned()).collect()
}

/// Returns the first key that ends with `end`.
fn key_with(store: &dyn Store, end: &str) -> String {
    keys(store).into_iter().find(|key| key.ends_with(end)).unwrap()
}

fn open(store: &Arc<dyn Store>, format: Format) -> Hierarchy {
    let options = OpenOptions::new().format(format).consolidated(false);
    Hierarchy::open_with(Arc::clone(store), &Context::linked().unwrap(), options).unwrap()
}

/// Creates a hierarchy: a group with coordinates and an array without compression, a compressed array, and in v3 a
/// sharded one.
fn sample(format: Format) -> Arc<dyn Store> {
    let store = memory();
    let context = Context::linked().unwrap();
    let hierarchy = Hierarchy::create(Arc::clone(&store), &context, format).unwrap();
    hierarchy.create_group("/", json!({"title": "sample"})).unwrap();
    hierarchy.create_group("/g", json!({})).unwrap();
    let coordinate = ArrayBuilder::new([6], "int32").chunks([6]).uncompressed().dimension_names(["x"]);
    let coordinate = hierarchy.create_array("/g/x", &coordinate).unwrap();
    coordinate.write_values::<i32>(.., &[1, 2, 3, 4, 5, 6]).unwrap();
    let plain = ArrayBuilder::new([4, 6], "int16").chunks([2, 3]).uncompressed().dimension_names(["y", "x"]);
    let plain = hierarchy.create_array("/g/plain", &plain).unwrap();
    plain.write_values::<i16>(.., &(1..25).collect::<Vec<_>>()).unwrap();
    let gzip = ArrayBuilder::new([40], "float64").chunks([16]).codec("gzip");
    let gzip = hierarchy.create_array("/gzip", &gzip).unwrap();
    gzip.write_values::<f64>(.., &(0..40).map(f64::from).collect::<Vec<_>>()).unwrap();
    if format == Format::V3 {
        let sharded = ArrayBuilder::new([8, 8], "uint8").shards([4, 8]).chunks([2, 4]).codec("crc32c");
        let sharded = hierarchy.create_array("/sharded", &sharded).unwrap();
        sharded.write_values::<u8>(.., &(1..65).collect::<Vec<_>>()).unwrap();
    }
    store
}

fn manifest(store: &Arc<dyn Store>, format: Format) -> Manifest {
    digest(&open(store, format), &NodePath::root(), &Settings::new()).unwrap()
}

fn checked(store: &Arc<dyn Store>, checks: Checks) -> Report {
    verify(Arc::clone(store), &Context::linked().unwrap(), checks, &Settings::new()).unwrap()
}

/// Returns the kinds of damage, sorted.
fn damage(report: &Report) -> Vec<FindingKind> {
    let mut kinds: Vec<_> =
        report.all_findings().map(|finding| finding.kind).filter(|kind| kind.is_damage()).collect();
    kinds.sort();
    kinds
}

fn decoded(store: &Arc<dyn Store>) -> Report {
    checked(store, Checks::new(Level::Decode))
}
