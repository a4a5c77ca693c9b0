//! Reads boxes and planes of a 256 MiB array of `uint16` from files: with this engine, without and with caches around the
//! store, and with the `zarrs` crate, without and with its cache of decoded chunks.
//!
//! Chunks are 64³ elements compressed with zstd, as chunks and as inner chunks of shards of 256³ elements. Caches are
//! warm, except in `scan`, which reads the whole array through a cache that is smaller than the array.
//!
//! `ZARR_BENCH_DIR` is the folder for the files. With a file system in memory, the disk does not affect the results.
#![expect(clippy::unwrap_used, reason = "a bench stops at the first error")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, json, open_store};
use zarrs::array::ArraySubset;
use zarrs::array::chunk_cache::{ChunkCache, ChunkCacheDecodedLruSizeLimit};

const LENGTH: u64 = 512;
const COUNT: usize = 512 * 512 * 512;
const CHUNK: u64 = 64;
const SHARD: u64 = 256;
const BOX: u64 = 32;
const BOXES: usize = 1000;
const GIB: u64 = 1 << 30;

type Theirs = zarrs::array::Array<dyn zarrs::storage::ReadableStorageTraits>;

/// Returns smooth elements with some noise, which compress about as well as measured data.
fn elements() -> Vec<u16> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    (0..COUNT)
        .map(|position| {
            let z = position >> 18;
            let y = (position >> 9) & 511;
            let x = position & 511;
            let wave = (z * 7 + y * 5 + x * 3) & 0x0fff;
            u16::try_from(wave + usize::try_from(random.next() & 15).unwrap()).unwrap()
        })
        .collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Returns the ranges of the boxes, which are the same in every run.
fn boxes() -> Vec<[std::ops::Range<u64>; 3]> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut range = || {
        let start = random.next() % (LENGTH - BOX);
        start..start + BOX
    };
    (0..BOXES).map(|_| [range(), range(), range()]).collect()
}

/// Returns one plane in the middle of each dimension.
fn planes() -> Vec<[std::ops::Range<u64>; 3]> {
    let plane = |axis: usize| std::array::from_fn(|at| if at == axis { 200..201 } else { 0..LENGTH });
    (0..3).map(plane).collect()
}

fn folder(name: &str) -> PathBuf {
    let base = std::env::var_os("ZARR_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = base.join(format!("zarr-bench-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(folder: &Path, is_sharded: bool, elements: &[u16]) {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([LENGTH; 3], "uint16").chunks([CHUNK; 3]).uncompressed();
    let builder = builder.codec(("zstd", json!({"level": 5, "checksum": false})));
    let builder = if is_sharded { builder.shards([SHARD; 3]) } else { builder };
    hierarchy.create_array("/array", &builder).unwrap().write_values(&Selection::All, elements).unwrap();
}

/// Opens the array with this engine, with a cache of this type and size.
fn ours(folder: &Path, cache: Option<(&str, u64)>) -> Array {
    let context = Context::linked().unwrap();
    let path = folder.to_str().unwrap();
    let folder = json!({"type": "filesystem", "path": path});
    let store = match cache {
        None => folder,
        Some((chunks, bytes)) => {
            json!({"type": "cache", "bytes": bytes, "chunks": chunks, "store": folder})
        }
    };
    let store = open_store(context.registry(), &store.to_string()).unwrap();
    Hierarchy::open(store, &context).unwrap().array("/array").unwrap()
}

fn theirs(folder: &Path) -> Arc<Theirs> {
    let store: Arc<dyn zarrs::storage::ReadableStorageTraits> =
        Arc::new(zarrs::filesystem::FilesystemStore::new(folder).unwrap());
    Arc::new(zarrs::array::Array::open(store, "/array").unwrap())
}

/// Measures reading all `ranges`, which are divided among `threads` threads.
fn read_all(
    group: &mut BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    ranges: &[[std::ops::Range<u64>; 3]],
    threads: usize,
    read: impl Fn(&[std::ops::Range<u64>; 3]) + Sync,
) {
    let all = || {
        std::thread::scope(|scope| {
            for part in ranges.chunks(ranges.len().div_ceil(threads)) {
                let read = &read;
                scope.spawn(move || part.iter().for_each(read));
            }
        });
    };
    all();
    group.bench_function(name, |bencher| bencher.iter(all));
}

fn as_bytes(elements: &[u16]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_ne_bytes()).collect()
}

fn cache(criterion: &mut Criterion) {
    let elements = elements();
    for (layout, is_sharded) in [("chunks", false), ("shards", true)] {
        let folder = folder(layout);
        write(&folder, is_sharded, &elements);
        let ours = |cache| ours(&folder, cache);
        let decoded = ours(Some(("decoded", GIB)));
        assert!(decoded.read_values::<u16>(&Selection::All).unwrap() == elements);
        assert!(decoded.read_values::<u16>(&Selection::All).unwrap() == elements);
        let our_arrays =
            [("none", ours(None)), ("encoded", ours(Some(("encoded", GIB)))), ("decoded", decoded)];
        let theirs = theirs(&folder);
        let their_cache = ChunkCacheDecodedLruSizeLimit::new(Arc::clone(&theirs), GIB);
        let options = zarrs::array::CodecOptions::default();

        for (what, ranges, threads) in [
            ("boxes, 1 thread", boxes(), 1),
            ("boxes, 2 threads", boxes(), 2),
            ("planes, 1 thread", planes(), 1),
            ("planes, 2 threads", planes(), 2),
        ] {
            let mut group = criterion.benchmark_group(format!("{layout}/{what}"));
            let count: u64 =
                ranges.iter().map(|range| range.iter().map(|r| r.end - r.start).product::<u64>()).sum();
            group.throughput(Throughput::Bytes(count * 2)).sample_size(10).sampling_mode(SamplingMode::Flat);
            group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
            let bytes = |range: &[std::ops::Range<u64>; 3]| -> usize {
                range.iter().map(|r| usize::try_from(r.end - r.start).unwrap()).product::<usize>() * 2
            };
            // Copies the same number of bytes in one piece, for comparison.
            let all = as_bytes(&elements);
            read_all(&mut group, "memcpy", &ranges, threads, |range| {
                let start = usize::try_from(range[0].start).unwrap() << 18;
                black_box(all[start..start + bytes(range)].to_vec());
            });
            for (name, array) in &our_arrays {
                read_all(&mut group, &format!("zarr-kit, {name}"), &ranges, threads, |range| {
                    black_box(array.read(Selection::from(&range[..])).unwrap());
                });
            }
            let subset = |range: &[std::ops::Range<u64>; 3]| ArraySubset::new_with_ranges(range);
            read_all(&mut group, "zarrs, none", &ranges, threads, |range| {
                black_box(theirs.retrieve_array_subset::<Vec<u16>>(&subset(range)).unwrap());
            });
            read_all(&mut group, "zarrs, decoded", &ranges, threads, |range| {
                let read: Vec<u16> = their_cache.retrieve_array_subset(&subset(range), &options).unwrap();
                black_box(read);
            });
            group.finish();
        }

        scan(criterion, layout, &folder);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Reads the whole array repeatedly, with caches that are smaller than the array.
fn scan(criterion: &mut Criterion, layout: &str, folder: &Path) {
    let mut group = criterion.benchmark_group(format!("{layout}/scan"));
    group.throughput(Throughput::Bytes((COUNT * 2) as u64)).sample_size(10);
    group.sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(5));
    let small = (COUNT / 2) as u64;
    for (name, cache) in
        [("none", None), ("encoded", Some(("encoded", small / 4))), ("decoded", Some(("decoded", small)))]
    {
        let array = ours(folder, cache);
        group.bench_function(format!("zarr-kit, {name}"), |bencher| {
            bencher.iter_with_large_drop(|| array.read(&Selection::All).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, cache);
criterion_main!(benches);
