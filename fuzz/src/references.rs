//! Reads any bytes as a reference file in JSON or Parquet, and any text as a location.

use std::io;
use std::sync::Arc;

use zarr_conformance::fuzz::within;
use zarr_kit::open_store;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{ByteRange, Key, Output, Prefix};
use zarr_kit::stores::ReferenceStore;

use crate::hierarchies::{context, memory};

/// The limits of reading references: memory in bytes, bytes that are read of each value, and the number of values.
const MEMORY: usize = 512 << 20;
const VALUE: usize = 1 << 20;
const VALUES: usize = 64;

pub(crate) fn run(input: &[u8]) {
    let context = context();
    within(MEMORY, "references", || {
        let store = memory(&context);
        let named = |name: &str| Key::new(name).unwrap_or_else(|error| panic!("{error}"));
        for (name, value) in [("refs.json", input), ("target", &b"0123456789"[..])] {
            let set = store.set(&named(name), value.into());
            assert!(set.is_ok(), "{set:?}");
        }
        if input.starts_with(b"PAR1") {
            for (name, value) in [("refs/.zmetadata", METADATA.as_bytes()), ("refs/a/refs.0.parq", input)] {
                let set = store.set(&named(name), value.into());
                assert!(set.is_ok(), "{set:?}");
            }
            let references = ReferenceStore::open(Arc::clone(&store), &named("refs"), Vec::new());
            assert!(references.is_ok(), "{references:?}");
            references.iter().for_each(|references| look_at(references));
        }
        if let Ok(references) = ReferenceStore::open(Arc::clone(&store), &named("refs.json"), vec![store]) {
            look_at(&references);
        }
    });
    // The steps of the input apply to a location in memory, which cannot reach files or servers.
    if let Ok(steps) = str::from_utf8(input) {
        let _opened_or_refused = open_store(context.registry(), &format!("memory:|{steps}"));
    }
}

/// References in Parquet files, for an array of 6 chunks.
const METADATA: &str =
    r#"{"record_size": 6, "metadata": {"a/.zarray": {"shape": [4, 5], "chunks": [2, 2]}}}"#;

/// Checks that the store lists each value once and in order, and that a range of a value has the same bytes if it is
/// read alone.
fn look_at(store: &dyn Store) {
    let keys = store.list_sorted(&Prefix::root()).unwrap_or_default();
    assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
    assert!(store.list_dir(&Prefix::root()).is_ok());
    for key in keys.iter().take(VALUES) {
        let Ok(Some(whole)) = get_value(store, key, VALUE) else { continue };
        let size = store.size(key).ok().flatten();
        assert_eq!(size, Some(whole.len() as u64), "bytes of `{key}`");
        let mut output = Output::at_most(VALUE);
        match store.get(key, ByteRange::Last(3).into(), &mut output) {
            Ok(Some(got)) => {
                let end = got.into_bytes(output);
                assert!(whole.ends_with(&end) && end.len() == whole.len().min(3), "the end of `{key}`");
            }
            other => panic!("`{key}` can be read, but its end is {other:?}"),
        }
    }
}

/// Returns reference files with every feature, and steps of pipelines.
pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let seeds = [
        r#"{"a": "text", "b/c": ["target", 2, 4], "d": ["./target"], "e": "base64:AAE=", "f": {"x": [1]}}"#,
        r#"{"version": 1, "templates": {"u": "target", "f": "{{c}}et"},
            "gen": [{"key": "g/{{i}}.{{j}}", "url": "{{u}}", "offset": "{{(i + 1) * 2 - j // 2}}", "length": "{{j % 2}}",
                     "dimensions": {"i": {"start": 1, "stop": 7, "step": 3}, "j": [1, 2]}}],
            "refs": {"a": ["{{ f(c='targ') }}", 0, 3], "b": ["{{ '%s' % u }}"], "c": ["/etc/passwd", 0, 1]}}"#,
        "zip:a/b|zarr3:",
        "reference:?target=memory:|..:x",
    ];
    let parquet = [
        &include_bytes!("../../stores/reference/tests/parquet/plain.parq")[..],
        include_bytes!("../../stores/reference/tests/parquet/snappy.parq"),
        include_bytes!("../../stores/reference/tests/parquet/gzip-v2.parq"),
        include_bytes!("../../stores/reference/tests/parquet/groups.parq"),
    ];
    let texts = seeds.iter().map(|seed| seed.as_bytes().to_vec());
    Ok(texts.chain(parquet.iter().map(|seed| seed.to_vec())).collect())
}
