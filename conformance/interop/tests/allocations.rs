//! Counts allocations, and how often threads wait for each other: work that is repeated for every chunk must do both
//! almost never, whatever the chunks hold.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;

use zarr_conformance::suite::{CountingAllocator, requests, requests_of_this_thread};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, ThreadPool, open_store};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CHUNK: u64 = 1000;

/// Creates and writes an array of `chunks` chunks per row.
fn array(context: &Context, location: &str, [rows, chunks]: [u64; 2], codec: Option<&str>) -> Array {
    let store = open_store(context.registry(), location).unwrap();
    let hierarchy = Hierarchy::create(store, context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([rows, chunks * CHUNK], "uint16").chunks([1, CHUNK]).uncompressed();
    let builder = match codec {
        Some(codec) => builder.codec((codec, zarr_kit::spec::Object::new())),
        None => builder,
    };
    let array = hierarchy.create_array("/a", &builder).unwrap();
    array.write(&Selection::All, &elements(&array)).unwrap();
    array
}

fn elements(array: &Array) -> Vec<u8> {
    (0..array.shape().iter().product())
        .flat_map(|number| u16::try_from(number % 9973).unwrap().to_ne_bytes())
        .collect()
}

/// Returns the allocations per additional chunk for reading into an existing buffer and for overwriting
/// existing chunks.
fn per_chunk(is_on_disk: bool, codec: Option<&str>) -> [f64; 2] {
    let counted = [64, 192].map(|chunks| {
        let folder = tempfile::tempdir().unwrap();
        let location = if is_on_disk { folder.path().to_str().unwrap() } else { "memory:" };
        let array = array(&Context::linked().unwrap().with_one_thread(), location, [1, chunks], codec);
        let expected = elements(&array);
        let mut found = vec![0; expected.len()];
        // The first read fills the caches.
        array.read_into(&Selection::All, &mut found).unwrap();
        found.fill(0);
        let reading = requests(|| array.read_into(&Selection::All, &mut found).unwrap());
        assert!(found == expected);
        let writing = requests(|| array.write(&Selection::All, &expected).unwrap());
        [reading, writing].map(|requests| u32::try_from(requests).unwrap())
    });
    [0, 1].map(|way| (f64::from(counted[1][way]) - f64::from(counted[0][way])) / 128.0)
}

/// On disk there are no allocations. A store in memory allocates each value that is written, because a reader
/// may still hold the previous value.
#[test]
fn an_additional_chunk_allocates_nothing_except_its_value_in_memory() {
    for codec in [None, Some("zstd")] {
        let found = [per_chunk(true, codec), per_chunk(false, codec)];
        // The store reopens a folder now and then, depending on the time and not on the number of chunks, so the
        // averages are not exact.
        let is_as_wanted = |(found, wanted): (&f64, &f64)| (found - wanted).abs() < 0.05;
        let wanted = [[0.0, 0.0], [0.0, 1.0]];
        let all = found.iter().flatten().zip(wanted.iter().flatten()).all(is_as_wanted);
        assert!(
            all,
            "allocations per chunk on disk and in memory with codec {codec:?}: {found:?}, expected {wanted:?}"
        );
    }
}

/// Returns how often this thread went to sleep: for a lock, for work, or for a disk.
#[cfg(target_os = "linux")]
fn sleeps_of_this_thread() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.unwrap().trim().parse().unwrap()
}

/// Threads seldom need the same lock on the path of a chunk: 16 threads, of which a few run at any time, would often find
/// such a lock locked by a thread that does not run, and would sleep.
///
/// This counts allocations, and how often threads sleep, also for locks. It does not count changes of memory that all
/// threads share. For each chunk, a thread counts references to the codec pipeline, and checks whether threads wait for
/// the memory budget. It changes the budget when its scratch buffers grow, or shrink by more than 1 MiB. The locks of
/// chunks are divided into 64 parts, and those of scratch buffers, keys and paths into one for each of 32 threads.
#[test]
#[cfg(target_os = "linux")]
fn sixteen_threads_allocate_nothing_and_do_not_wait_for_each_other() {
    // Each row is a folder, which the system locks when a file in it is created or renamed.
    const ROWS: u64 = 64;
    const CHUNKS: u64 = 64;
    let threads = ThreadPool::new(16).unwrap();
    let context = Context::linked().unwrap().with_thread_pool(&threads);
    for codec in [None, Some("zstd")] {
        // In memory, because a disk lets threads wait for its journal.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let array = array(&context, folder.path().to_str().unwrap(), [ROWS, CHUNKS], codec);
        let expected = elements(&array);
        let mut found = vec![0; expected.len()];
        let of_threads = || {
            threads
                .install(|| rayon::broadcast(|_| [requests_of_this_thread() as u64, sleeps_of_this_thread()]))
        };
        let so_far = || [0, 1].map(|kind| of_threads().iter().map(|counts| counts[kind]).sum());
        let counted = |work: &mut dyn FnMut()| {
            // Threads that had no chunk before allocate their buffers.
            (0..3).for_each(|_| work());
            let before: [u64; 2] = so_far();
            work();
            let after = so_far();
            [0, 1].map(|kind| (after[kind] - before[kind]) as f64 / (ROWS * CHUNKS) as f64)
        };
        let reading = counted(&mut || array.read_into(&Selection::All, &mut found).unwrap());
        let writing = counted(&mut || array.write(&Selection::All, &expected).unwrap());
        assert!(
            reading.iter().chain(&writing).all(|&count| count < 0.1),
            "allocations and sleeps per chunk with codec {codec:?}: {reading:?} for reading, {writing:?} for writing"
        );
    }
}
