//! Zip archives: any bytes as one.

use std::io;

use zarr_conformance::fuzz::within;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{ByteRange, Output, Prefix};
use zarr_kit::stores::{ZipStore, pack};

use crate::formats;
use crate::hierarchies::{context, memory};

/// What reading an archive may take, and bytes of values that are read of each entry, and of how many entries.
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

/// What is listed is there, in order and once; a part of a value is that part of the whole.
fn look_at(store: &ZipStore) {
    let store: &dyn Store = store;
    let keys = store.list().unwrap_or_default();
    assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
    assert!(store.list_dir(&Prefix::root()).is_ok());
    for key in keys.iter().take(ENTRIES) {
        let size = store.size(key);
        let Ok(Some(size)) = size else { panic!("`{key}` is listed, and its size is {size:?}") };
        let whole = get_value(store, key, VALUE);
        let mut output = Output::at_most(VALUE);
        let end = store.get(key, ByteRange::Last(3).into(), &mut output);
        let Ok(whole) = whole else { continue };
        let Some(whole) = whole else { panic!("`{key}` is listed, and not there") };
        assert_eq!(whole.len() as u64, size, "bytes of `{key}`");
        match end {
            Ok(Some(got)) => {
                let end = got.into_bytes(output);
                assert!(whole.ends_with(&end) && end.len() == whole.len().min(3), "the end of `{key}`");
            }
            other => panic!("`{key}` is read, and its end is {other:?}"),
        }
    }
}

/// Packed hierarchies. Archives of other programs are in the corpus.
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
