//! Chunk grids that contradict themselves. A grid is safe code, but threads write to one output at the
//! positions that it reports. No grid may make them write the same elements twice or leave some out.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr_interop::memory;
use zarr_kit::ndarray::IxDyn;
use zarr_kit::spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Creation, Identifiers};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Registry, Selection, ThreadPool, json};

const COUNT: u64 = 1 << 20;
const CHUNKS: u64 = 256;
const CHUNK: u64 = COUNT / CHUNKS;

/// The function that creates a grid.
type Create = <dyn ChunkGrid as PluginKind>::Create;

/// Returns the range of a chunk; each of these functions deviates from `honest` in one way.
type Answer = fn(&Grid, u64) -> Range<u64>;

#[derive(Debug)]
struct Grid {
    answer: Answer,
    chunk_shape: Option<[u64; 1]>,
    padding: fn(u64) -> u64,
    asked: AtomicU64,
}

impl ChunkGrid for Grid {
    fn grid_shape(&self) -> &[u64] {
        &[CHUNKS]
    }

    fn chunk_range(&self, _: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        if chunk < CHUNKS {
            return Ok((self.answer)(self, chunk));
        }
        Err(GridError::OutOfBounds(format!("there is no chunk {chunk}")))
    }

    fn chunk_of(&self, _: usize, element: u64) -> Result<u64, GridError> {
        Ok(element / CHUNK)
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        self.chunk_shape.as_ref().map(|shape| &shape[..])
    }

    fn largest_chunk(&self) -> Vec<u64> {
        vec![2 * CHUNK]
    }

    fn padding(&self, _: usize, chunk: u64) -> Result<u64, GridError> {
        Ok((self.padding)(chunk))
    }
}

fn honest(_: &Grid, chunk: u64) -> Range<u64> {
    chunk * CHUNK..(chunk + 1) * CHUNK
}

fn overlapping(_: &Grid, chunk: u64) -> Range<u64> {
    chunk * CHUNK..(chunk + 1) * CHUNK + 1000
}

fn gapped(_: &Grid, chunk: u64) -> Range<u64> {
    chunk * CHUNK..(chunk + 1) * CHUNK - 1000
}

fn reversed(_: &Grid, chunk: u64) -> Range<u64> {
    (chunk + 1) * CHUNK..chunk * CHUNK
}

/// Returns longer chunks in every second round of queries for all chunks.
fn inconsistent(grid: &Grid, chunk: u64) -> Range<u64> {
    let round = grid.asked.fetch_add(1, Ordering::Relaxed) / CHUNKS;
    let Range { start, end } = honest(grid, chunk);
    start..end + round % 2 * 1000
}

fn far_away(_: &Grid, chunk: u64) -> Range<u64> {
    u64::MAX - 1 - chunk..u64::MAX - chunk
}

fn made(answer: Answer, chunk_shape: Option<[u64; 1]>) -> Arc<dyn ChunkGrid> {
    padded(answer, chunk_shape, |_| 0)
}

fn padded(answer: Answer, chunk_shape: Option<[u64; 1]>, padding: fn(u64) -> u64) -> Arc<dyn ChunkGrid> {
    Arc::new(Grid { answer, chunk_shape, padding, asked: AtomicU64::new(0) })
}

/// Writes an array with an honest grid, and opens it with the grid of `create` and eight threads.
fn array(create: &'static Create) -> Result<Array, zarr_kit::Error> {
    let store = memory();
    let array = opened(&store, &|_, _| Ok(made(honest, None))).unwrap();
    array.write_values(&Selection::All, &elements()).unwrap();
    opened(&store, create)
}

fn opened(store: &Arc<dyn Store>, create: &'static Create) -> Result<Array, zarr_kit::Error> {
    let mut registry = Registry::linked().unwrap();
    registry.register(ChunkGridPlugin::new(Identifiers::name("acme.rows"), create)).unwrap();
    let pool = ThreadPool::new(8).unwrap();
    let context = Context::new(registry).with_thread_pool(&pool);
    let hierarchy = Hierarchy::create(Arc::clone(store), &context, Format::V3)?;
    if !hierarchy.exists("/a")? {
        let builder = ArrayBuilder::new([COUNT], "uint8").chunk_grid(json!({"name": "acme.rows"}));
        return hierarchy.create_array("/a", &builder.uncompressed());
    }
    hierarchy.array("/a")
}

fn elements() -> Vec<u8> {
    (0..COUNT).map(|element| u8::try_from((element / CHUNK + element % 251) % 256).unwrap()).collect()
}

/// Selects elements of each chunk, including the first and the last one.
fn points() -> Selection {
    let of_chunk = |chunk: u64| [0, 7, CHUNK - 1].map(|element| vec![chunk * CHUNK + element]);
    Selection::Coordinates(vec![(0..CHUNKS).flat_map(of_chunk).flatten().collect()])
}

fn all_ways(array: &Array) -> Vec<Result<(), String>> {
    let values = vec![9u8; elements().len()];
    let list = Selection::parse("[1048575, 8191, 0, 4096]", array.shape()).unwrap();
    let steps = Selection::parse("::5000", array.shape()).unwrap();
    let reads =
        [Selection::All, points(), list, steps].into_iter().map(|selection| array.read(&selection).map(drop));
    let many = array.read_many(&[Selection::All, Selection::All]).map(drop);
    let ndarray = array.read_ndarray::<u8, IxDyn>(&Selection::All).map(drop);
    let write = array.write_values(&Selection::All, &values);
    let found = reads.chain([many, ndarray, write]);
    found.map(|result| result.map_err(|error| error.to_string())).collect()
}

#[track_caller]
fn check_that_all_fail(create: &'static Create, what: &str) {
    let array = array(create).unwrap();
    for (number, result) in all_ways(&array).into_iter().enumerate() {
        let Err(error) = result else { panic!("operation {number} succeeded") };
        assert!(
            error.contains("chunk grid `acme.rows` of (registered manually) contradicts itself"),
            "{error}"
        );
        assert!(error.contains(what), "{error}");
    }
    // The error occurs before anything is written.
    let honest = opened(array.hierarchy().store(), &|_, _| Ok(made(honest, None))).unwrap();
    assert!(honest.read_values::<u8>(&Selection::All).unwrap() == elements());
}

#[test]
fn chunks_that_overlap_are_an_error() {
    check_that_all_fail(&|_, _| Ok(made(overlapping, None)), "without gap and overlap");
}

#[test]
fn chunks_that_end_before_they_begin_are_an_error() {
    check_that_all_fail(&|_, _| Ok(made(reversed, None)), "with 0 elements before the array");
}

#[test]
fn chunks_that_do_not_contain_their_elements_are_an_error() {
    check_that_all_fail(&|_, _| Ok(made(far_away, None)), "is said to be in chunk");
}

#[test]
fn chunks_whose_padding_is_too_large_are_an_error() {
    for padding in [|_| CHUNK + 1, |chunk| if chunk < 2 { 0 } else { u64::MAX }] as [fn(u64) -> u64; 2] {
        let create =
            Box::leak(Box::new(move |_: &Creation<'_>, _: &[u64]| Ok(padded(honest, None, padding))));
        check_that_all_fail(create, "and the largest chunk has 8192");
    }
    let create: &Create = &|_, _| Ok(padded(honest, Some([CHUNK]), |chunk| chunk));
    let error = array(create).unwrap_err().to_string();
    assert!(error.contains("chunk 255 has a padding of 255, but by `chunk_shape` it has none"), "{error}");
}

#[test]
fn elements_between_chunks_are_an_error() {
    let array = array(&|_, _| Ok(made(gapped, None))).unwrap();
    let error = array.read(&Selection::All).unwrap_err().to_string();
    assert!(error.contains("chunk 0 is 0..3096 and chunk 1 is 4096..7192"), "{error}");
    let error = array.read(points()).unwrap_err().to_string();
    assert!(error.contains("element 4095 is said to be in chunk 0, which is 0..3096"), "{error}");
    assert!(array.write_values(&Selection::All, &elements()).is_err());
}

/// A plan asks once for each chunk, and all threads use that first answer.
#[test]
fn a_grid_with_changing_answers_is_an_error_or_reads_correctly() {
    let array = array(&|_, _| Ok(made(inconsistent, None))).unwrap();
    let wanted = elements();
    let mut outcomes = [0, 0];
    for _ in 0..40 {
        match array.read_values::<u8>(&Selection::All) {
            Ok(values) => {
                assert!(values == wanted);
                outcomes[0] += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("chunk grid `acme.rows`"), "{error}");
                outcomes[1] += 1;
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
}

/// The engine computes the ranges of equal chunks itself, so opening the array fails if the grid disagrees
/// with its `chunk_shape`.
#[test]
fn a_chunk_shape_that_differs_from_the_chunks_is_an_error() {
    let creates: [&Create; 4] = [
        &|_, _| Ok(made(overlapping, Some([CHUNK]))),
        &|_, _| Ok(made(reversed, Some([CHUNK]))),
        &|_, _| Ok(made(honest, Some([CHUNK + 1]))),
        &|_, _| Ok(made(honest, Some([0]))),
    ];
    for create in creates {
        let error = array(create).unwrap_err().to_string();
        assert!(
            error.contains("chunk grid `acme.rows` of (registered manually) contradicts itself"),
            "{error}"
        );
    }
    let array = array(&|_, _| Ok(made(honest, Some([CHUNK])))).unwrap();
    assert!(array.read_values::<u8>(&Selection::All).unwrap() == elements());
}

#[test]
fn a_single_chunk_of_an_inconsistent_grid_is_an_error() {
    let reversed = array(&|_, _| Ok(made(reversed, None))).unwrap();
    assert!(reversed.read_chunk(&[3]).unwrap_err().to_string().contains("chunk 3 is 16384..12288"));
    assert!(reversed.chunk_subset(&[3]).is_err());
    assert!(reversed.read_encoded_chunk(&[3]).is_err());
    // The stored chunk is shorter than the chunk that the grid reports.
    let overlapping = array(&|_, _| Ok(made(overlapping, None))).unwrap();
    assert!(overlapping.read_chunk(&[3]).unwrap_err().to_string().contains("chunk [3]"));
}
