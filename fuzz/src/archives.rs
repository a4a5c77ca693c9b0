//! Reads any bytes as a zip archive.

use std::io;

use zarr_conformance::fuzz::within;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{ByteRange, Output, Prefix};
use zarr_kit::stores::{ZipStore, pack};

use crate::formats;
use crate::hierarchies::{context, memory};

/// The limits of reading an archive: memory in bytes, bytes that are read of each entry, and the number of entries.
const MEMORY: usize = 64 << 20;
const VALUE: usize = 1 << 20;
const ENTRIES: usize = 64;

pub(crate) fn run(input: &[u8]) {
    let archive = input.to_vec().into();
    within(MEMORY, "an archive", || {
        let Ok(store) = ZipStore::from_bytes(archive) else { return };
        look_at(&store);
    });
}

/// Checks that the store lists each value once and in order, that these values exist, and that a range of a value has
/// the same bytes if it is read alone.
fn look_at(store: &ZipStore) {
    let store: &dyn Store = store;
    let keys = store.list().unwrap_or_default();
    assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
    assert!(store.list_dir(&Prefix::root()).is_ok());
    for key in keys.iter().take(ENTRIES) {
        let size = store.size(key);
        let Ok(Some(size)) = size else { panic!("`{key}` is listed, but its size is {size:?}") };
        let whole = get_value(store, key, VALUE);
        let mut output = Output::at_most(VALUE);
        let end = store.get(key, ByteRange::Last(3).into(), &mut output);
        let Ok(whole) = whole else { continue };
        let Some(whole) = whole else { panic!("`{key}` is listed, but does not exist") };
        assert_eq!(whole.len() as u64, size, "bytes of `{key}`");
        match end {
            Ok(Some(got)) => {
                let end = got.into_bytes(output);
                assert!(whole.ends_with(&end) && end.len() == whole.len().min(3), "the end of `{key}`");
            }
            other => panic!("`{key}` can be read, but its end is {other:?}"),
        }
    }
}

/// Returns packed hierarchies. The corpus has archives of other programs.
pub(crate) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let context = context();
    let mut seeds = Vec::new();
    for files in formats::hierarchies()?.iter().filter(|files| files.len() < 8) {
        let store = memory(&context);
        for (key, value) in files {
            let set = zarr_kit::spec::Key::new(key.as_str()).map(|key| store.set(&key, value.into()));
            set.map_err(io::Error::other)?.map_err(io::Error::other)?;
        }
        let mut seed = Vec::new();
        pack(&*store, &Prefix::root(), &mut seed, "", &mut |_| ()).map_err(io::Error::other)?;
        seeds.push(seed);
    }
    seeds.retain(|seed| seed.len() <= 4096);
    Ok(seeds)
}
