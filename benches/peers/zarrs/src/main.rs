//! The runner of the `zarrs` crate.

mod far;
mod kept;

use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::Arc;

use ndarray::ArrayD;
use rayon::prelude::*;
use zarr_peers::{
    About, Case, Failure, Operation, Program, Ran, Ranges, Task, checksum, checksum_of_lines,
    checksum_of_values, read_strings, serve, timed, vector_in_huge_pages,
};
use zarrs::array::chunk_cache::{ChunkCache, ChunkCacheDecodedLruSizeLimit};
use zarrs::array::{Array, ArrayBuilder, ArrayBytes, ArraySubset, CodecOptions, data_type};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::{Group, GroupBuilder};
use zarrs::storage::{ReadableWritableListableStorage, ReadableWritableListableStorageTraits};

/// An array in a folder or a remote store.
type StoredArray = Array<dyn ReadableWritableListableStorageTraits>;

struct Zarrs {
    threads: usize,
}

impl Program for Zarrs {
    fn about(&self) -> About {
        About { name: "zarrs", version: zarrs::version::version_str().to_owned() }
    }

    fn prepare(&self, case: Case) -> Result<Box<dyn Task>, Failure> {
        // Threads wait for a remote store, so there is one thread for each request that may be in flight.
        let threads = case.far.as_ref().map_or(self.threads, |far| far.requests);
        zarrs::config::global_config_mut().set_codec_concurrent_target(threads);
        Ok(match case.operation {
            Operation::Read => {
                open(&case)?;
                Box::new(move || read(&case))
            }
            Operation::ReadValues => {
                open(&case)?;
                Box::new(move || read_values(&case))
            }
            Operation::ReadNdarray => {
                open(&case)?;
                Box::new(move || read_ndarray(&case))
            }
            Operation::ReadKept => {
                let item =
                    open(&case)?.data_type().fixed_size().ok_or("elements do not have a fixed size")?;
                let size = usize::try_from(case.shape.iter().product::<u64>())? * item;
                let mut kept = vector_in_huge_pages(size);
                kept.resize(size, 0xff);
                Box::new(move || read_kept(&case, &mut kept))
            }
            Operation::Write if case.data_type == "string" => {
                let strings = read_strings(case.elements_file()?, usize::try_from(case.shape[0])?)?;
                Box::new(move || write_strings(&case, &strings))
            }
            Operation::Write => {
                let elements = case.read_elements()?;
                Box::new(move || write(&case, &elements))
            }
            Operation::Chunks => Box::new(move || chunks(&case)),
            Operation::Boxes => Box::new(move || boxes(&case)),
            Operation::BoxesAtOnce => Box::new(move || boxes_at_once(&case, threads)),
            Operation::Create => Box::new(move || create(&case)),
            Operation::Open => Box::new(move || open_all(&case)),
            Operation::List => Box::new(move || list(&case)),
            Operation::Floor => return Err("this runner does not measure floors".into()),
        })
    }
}

fn store(case: &Case) -> Result<ReadableWritableListableStorage, Failure> {
    match &case.far {
        Some(far) => far::store(far),
        None => Ok(Arc::new(FilesystemStore::new(&case.folder)?)),
    }
}

fn open(case: &Case) -> Result<StoredArray, Failure> {
    Ok(Array::open(store(case)?, "/array")?)
}

fn subset(ranges: &Ranges) -> ArraySubset {
    let ranges: Vec<_> = ranges.iter().map(|&[start, stop]| start..stop).collect();
    ArraySubset::new_with_ranges(&ranges)
}

/// Adds elements to a checksum. Strings are added as offsets and payload.
fn add(sum: u32, bytes: &ArrayBytes<'_>) -> Result<u32, Failure> {
    Ok(match bytes {
        ArrayBytes::Fixed(bytes) => checksum(sum, bytes),
        ArrayBytes::Variable(variable) => {
            let offsets = variable.offsets().iter();
            let offsets: Vec<u8> = offsets.flat_map(|&offset| (offset as u64).to_ne_bytes()).collect();
            checksum(checksum(sum, &offsets), variable.bytes())
        }
        ArrayBytes::Optional(_) => return Err("optional elements".into()),
    })
}

fn read(case: &Case) -> Result<Ran, Failure> {
    let array = open(case)?;
    let (elements, seconds) = timed(|| array.retrieve_array_subset::<ArrayBytes>(&array.subset_all()))?;
    Ok(Ran { seconds, checksum: add(0, &elements)? })
}

fn read_values(case: &Case) -> Result<Ran, Failure> {
    let array = open(case)?;
    let (values, seconds) = timed(|| array.retrieve_array_subset::<Vec<u16>>(&array.subset_all()))?;
    Ok(Ran { seconds, checksum: checksum_of_values(&values) })
}

fn read_ndarray(case: &Case) -> Result<Ran, Failure> {
    let array = open(case)?;
    let (values, seconds) = timed(|| array.retrieve_array_subset::<ArrayD<u16>>(&array.subset_all()))?;
    let values = values.as_slice().ok_or("the array is not in C order")?;
    Ok(Ran { seconds, checksum: checksum_of_values(values) })
}

fn read_kept(case: &Case, kept: &mut [u8]) -> Result<Ran, Failure> {
    let array = open(case)?;
    kept.fill(0xff);
    let ((), seconds) = timed(|| kept::read(&array, kept))?;
    Ok(Ran { seconds, checksum: checksum(0, kept) })
}

fn write(case: &Case, elements: &[u8]) -> Result<Ran, Failure> {
    case.write_empty_array()?;
    let array = open(case)?;
    let bytes = || ArrayBytes::new_flen(Cow::Borrowed(elements));
    let ((), seconds) = timed(|| {
        if case.boxes.is_empty() {
            return array.store_array_subset(&array.subset_all(), bytes());
        }
        case.boxes.iter().try_for_each(|ranges| array.store_array_subset(&subset(ranges), bytes()))
    })?;
    Ok(Ran { seconds, checksum: checksum(0, elements) })
}

fn write_strings(case: &Case, strings: &[String]) -> Result<Ran, Failure> {
    case.write_empty_array()?;
    let array = open(case)?;
    let ((), seconds) = timed(|| array.store_array_subset(&array.subset_all(), strings))?;
    Ok(Ran { seconds, checksum: checksum(0, &std::fs::read(case.elements_file()?)?) })
}

fn chunks(case: &Case) -> Result<Ran, Failure> {
    let array = open(case)?;
    let mut ran = Ran { seconds: 0.0, checksum: 0 };
    for index in case.chunk_indices() {
        let (elements, seconds) = timed(|| array.retrieve_chunk::<ArrayBytes>(&index))?;
        ran.seconds += seconds;
        ran.checksum = add(ran.checksum, &elements)?;
    }
    Ok(ran)
}

/// Opens the array with a cache of decoded chunks.
fn cached(case: &Case) -> Result<ChunkCacheDecodedLruSizeLimit, Failure> {
    Ok(ChunkCacheDecodedLruSizeLimit::new(Arc::new(open(case)?.readable()), case.cache as u64))
}

fn boxes(case: &Case) -> Result<Ran, Failure> {
    if case.cache == 0 {
        let array = open(case)?;
        return one_by_one(case, |subset| Ok(Arc::new(array.retrieve_array_subset::<ArrayBytes>(subset)?)));
    }
    let cache = cached(case)?;
    let options = CodecOptions::default();
    one_by_one(case, |subset| Ok(cache.retrieve_array_subset_bytes(subset, &options)?))
}

fn one_by_one(
    case: &Case,
    read: impl Fn(&ArraySubset) -> Result<Arc<ArrayBytes<'static>>, Failure>,
) -> Result<Ran, Failure> {
    let mut ran = Ran { seconds: 0.0, checksum: 0 };
    for ranges in &case.boxes {
        let subset = subset(ranges);
        let (elements, seconds) = timed(|| read(&subset))?;
        ran.seconds += seconds;
        ran.checksum = add(ran.checksum, &elements)?;
    }
    Ok(ran)
}

/// Reads all boxes on several threads that share the cache, because zarrs does not have a call for many boxes.
fn boxes_at_once(case: &Case, threads: usize) -> Result<Ran, Failure> {
    let cache = cached(case)?;
    let options = CodecOptions::default().with_concurrent_target(1);
    let subsets: Vec<ArraySubset> = case.boxes.iter().map(subset).collect();
    let part = subsets.len().div_ceil(threads).max(1);
    let (found, seconds) = timed(|| {
        let read = |part: &[ArraySubset]| {
            let found = part.iter().map(|subset| cache.retrieve_array_subset_bytes(subset, &options));
            found.collect::<Result<Vec<_>, _>>()
        };
        std::thread::scope(|scope| {
            let readers: Vec<_> = subsets.chunks(part).map(|part| scope.spawn(move || read(part))).collect();
            let mut found = Vec::with_capacity(subsets.len());
            for reader in readers {
                found.extend(reader.join().map_err(|_| "a thread panicked")??);
            }
            Ok::<_, Failure>(found)
        })
    })?;
    let sum = found.iter().try_fold(0, |sum, elements| add(sum, elements))?;
    Ok(Ran { seconds, checksum: sum })
}

fn create(case: &Case) -> Result<Ran, Failure> {
    case.write_empty_folder()?;
    let store = store(case)?;
    let names: Vec<String> = (0..case.count).map(|number| format!("/a{number:05}")).collect();
    let ((), seconds) = timed(|| {
        GroupBuilder::new().build(store.clone(), "/")?.store_metadata()?;
        let builder = ArrayBuilder::new(case.shape.clone(), case.chunks.clone(), data_type::uint16(), 0u16);
        let one = |name: &String| -> Result<(), Failure> {
            Ok(builder.build(store.clone(), name)?.store_metadata()?)
        };
        if case.far.is_some() { names.par_iter().try_for_each(one) } else { names.iter().try_for_each(one) }
    })?;
    Ok(Ran { seconds, checksum: checksum_of_lines(names) })
}

fn open_all(case: &Case) -> Result<Ran, Failure> {
    let store = store(case)?;
    let (arrays, seconds) = timed(|| {
        if case.far.is_some() {
            return far::child_arrays(&store);
        }
        Group::open(store, "/")?.child_arrays().map_err(Failure::from)
    })?;
    let lines = arrays.iter().map(|array| format!("{} {:?}", array.path().as_str(), array.shape()));
    Ok(Ran { seconds, checksum: checksum_of_lines(lines.collect()) })
}

fn list(case: &Case) -> Result<Ran, Failure> {
    let store = store(case)?;
    let (nodes, seconds) = timed(|| Group::open(store, "/")?.traverse().map_err(Failure::from))?;
    let below = nodes.iter().map(|(path, _)| path.as_str().to_owned());
    Ok(Ran { seconds, checksum: checksum_of_lines(["/".to_owned()].into_iter().chain(below).collect()) })
}

fn main() -> ExitCode {
    let threads = std::env::args().nth(1).and_then(|threads| threads.parse().ok());
    let Some(threads) = threads.filter(|&threads| threads > 0) else {
        eprintln!("usage: peer-zarrs THREADS");
        return ExitCode::from(2);
    };
    // RAYON_NUM_THREADS is the number of threads; each case sets the number that zarrs uses.
    match serve(&Zarrs { threads }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer-zarrs: {error}");
            ExitCode::from(1)
        }
    }
}
