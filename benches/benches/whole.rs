//! Reads and writes a whole 256 MiB array of `uint16` in chunks of 128³ elements, in files, with this engine and with the
//! `zarrs` crate.
//!
//! `ZARR_BENCH_DIR` is the folder for the files. With a file system in memory, the disk does not affect the results.
#![expect(clippy::unwrap_used, reason = "a bench stops at the first error")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use ndarray::{ArrayD, IxDyn};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, json, open_store};

const LENGTH: u64 = 512;
const CHUNK: u64 = 128;
const COUNT: usize = 512 * 512 * 512;

/// Returns smooth elements with some noise, which compress about as well as measured data.
fn elements() -> Vec<u16> {
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    (0..COUNT)
        .map(|position| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            let z = position >> 18;
            let y = (position >> 9) & 511;
            let x = position & 511;
            let wave = (z * 7 + y * 5 + x * 3) & 0x0fff;
            u16::try_from(wave + usize::try_from(noise & 15).unwrap()).unwrap()
        })
        .collect()
}

fn ours(folder: &Path, level: Option<i32>) -> Array {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([LENGTH; 3], "uint16").chunks([CHUNK; 3]).uncompressed();
    let builder = match level {
        Some(level) => builder.codec(("zstd", json!({"level": level, "checksum": false}))),
        None => builder,
    };
    hierarchy.create_array("/array", &builder).unwrap()
}

fn theirs(folder: &Path) -> zarrs::array::Array<zarrs::filesystem::FilesystemStore> {
    let store = Arc::new(zarrs::filesystem::FilesystemStore::new(folder).unwrap());
    zarrs::array::Array::open(store, "/array").unwrap()
}

fn folder(name: &str) -> PathBuf {
    let base = std::env::var_os("ZARR_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = base.join(format!("zarr-bench-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Checks that each engine reads the elements that the other engine wrote.
fn check_crosswise(our_folder: &Path, their_folder: &Path, elements: &[u16]) {
    let our_array = theirs(our_folder);
    let read: Vec<u16> = our_array.retrieve_array_subset(&our_array.subset_all()).unwrap();
    assert!(read == elements, "zarrs does not read the elements that zarr-kit wrote");
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), their_folder.to_str().unwrap()).unwrap();
    let their_array = Hierarchy::open(store, &context).unwrap().array("/array").unwrap();
    let read = their_array.read_values::<u16>(&Selection::All).unwrap();
    assert!(read == elements, "zarr-kit does not read the elements that zarrs wrote");
}

fn whole(criterion: &mut Criterion) {
    let elements = elements();
    for (name, level) in [("uncompressed", None), ("zstd", Some(5))] {
        let our_folder = folder("ours");
        let their_folder = folder("theirs");
        let our_array = ours(&our_folder, level);
        ours(&their_folder, level);
        let their_array = theirs(&their_folder);
        let all = their_array.subset_all();
        our_array.write_values(&Selection::All, &elements).unwrap();
        their_array.store_array_subset(&all, &elements[..]).unwrap();

        check_crosswise(&our_folder, &their_folder, &elements);

        let mut group = criterion.benchmark_group(name);
        group
            .throughput(Throughput::Bytes((COUNT * 2) as u64))
            .sample_size(10)
            .sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));
        group.bench_function("read/zarr-kit", |bencher| {
            bencher.iter_with_large_drop(|| our_array.read(&Selection::All).unwrap());
        });
        group.bench_function("read/zarrs", |bencher| {
            bencher.iter_with_large_drop(|| their_array.retrieve_array_subset::<Vec<u16>>(&all).unwrap());
        });
        group.bench_function("read values/zarr-kit", |bencher| {
            bencher.iter_with_large_drop(|| our_array.read_values::<u16>(&Selection::All).unwrap());
        });
        group.bench_function("read an ndarray/zarr-kit", |bencher| {
            bencher.iter_with_large_drop(|| our_array.read_ndarray::<u16, IxDyn>(&Selection::All).unwrap());
        });
        group.bench_function("read an ndarray/zarrs", |bencher| {
            bencher.iter_with_large_drop(|| their_array.retrieve_array_subset::<ArrayD<u16>>(&all).unwrap());
        });
        let mut kept = vec![0u16; COUNT];
        group.bench_function("read into kept memory/zarr-kit", |bencher| {
            bencher.iter(|| our_array.read_values_into(&Selection::All, &mut kept).unwrap());
        });
        group.bench_function("write/zarr-kit", |bencher| {
            bencher.iter(|| our_array.write_values(&Selection::All, &elements).unwrap());
        });
        group.bench_function("write/zarrs", |bencher| {
            bencher.iter(|| their_array.store_array_subset(&all, &elements[..]).unwrap());
        });
        group.finish();
        for folder in [our_folder, their_folder] {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }
}

criterion_group!(benches, whole);
criterion_main!(benches);
