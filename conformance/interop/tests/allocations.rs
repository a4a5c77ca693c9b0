//! How often memory is asked for: what is done for every chunk does so as good as never, whatever the chunks hold.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use zarr_conformance::suite::{CountingAllocator, requests};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CHUNK: u64 = 1000;

/// An array of so many chunks, written.
fn array(location: &str, chunks: u64, codec: Option<&str>) -> Array {
    let context = Context::linked().unwrap().with_one_thread();
    let store = open_store(context.registry(), location).unwrap();
    let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([chunks * CHUNK], "uint16").chunks([CHUNK]).uncompressed();
    let builder = match codec {
        Some(codec) => builder.codec((codec, zarr_kit::spec::Object::new())),
        None => builder,
    };
    let array = hierarchy.create_array("/a", &builder).unwrap();
    array.write(&Selection::All, &elements(&array)).unwrap();
    array
}

fn elements(array: &Array) -> Vec<u8> {
    (0..array.shape()[0]).flat_map(|number| u16::try_from(number % 9973).unwrap().to_ne_bytes()).collect()
}

/// Requests for memory per further chunk: reading into memory that is there, and writing over what is there.
fn per_chunk(is_on_disk: bool, codec: Option<&str>) -> [f64; 2] {
    let counted = [64, 192].map(|chunks| {
        let folder = tempfile::tempdir().unwrap();
        let location = if is_on_disk { folder.path().to_str().unwrap() } else { "memory:" };
        let array = array(location, chunks, codec);
        let expected = elements(&array);
        let mut found = vec![0; expected.len()];
        // The first read makes what is kept.
        array.read_into(&Selection::All, &mut found).unwrap();
        found.fill(0);
        let reading = requests(|| array.read_into(&Selection::All, &mut found).unwrap());
        assert!(found == expected);
        let writing = requests(|| array.write(&Selection::All, &expected).unwrap());
        [reading, writing].map(|requests| u32::try_from(requests).unwrap())
    });
    [0, 1].map(|way| (f64::from(counted[1][way]) - f64::from(counted[0][way])) / 128.0)
}

/// On disk nothing is asked for. A store in memory keeps a value in memory that is got for it: who reads the one before
/// may still have that.
#[test]
fn a_chunk_more_asks_for_no_memory_but_that_of_a_value_in_memory() {
    for codec in [None, Some("zstd")] {
        let found = [per_chunk(true, codec), per_chunk(false, codec)];
        // A folder is opened anew now and then, which depends on the time and not on the chunks.
        let is_as_wanted = |(found, wanted): (&f64, &f64)| (found - wanted).abs() < 0.05;
        let wanted = [[0.0, 0.0], [0.0, 1.0]];
        let all = found.iter().flatten().zip(wanted.iter().flatten()).all(is_as_wanted);
        assert!(all, "requests for each chunk, on disk and in memory: {found:?}, not {wanted:?}; {codec:?}");
    }
}
