//! The runner of this engine.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use zarr_kit::loaded::Loader;
use zarr_kit::ndarray::IxDyn;
use zarr_kit::spec::Key;
use zarr_kit::spec::store::Store;
use zarr_kit::{
    Array, ArrayBuilder, Context, DimensionSelection, EntryKind, Format, Hierarchy, Memory, NodePath,
    OpenOptions, Registry, Selection, open_store,
};
use zarr_peers::{
    About, Case, Container, Failure, Far, Operation, Program, Ran, Ranges, Task, checksum, checksum_of_lines,
    checksum_of_values, read_strings, serve, timed,
};

struct ZarrKit {
    context: Context,
}

impl ZarrKit {
    fn new(threads: usize) -> Result<Self, Box<dyn Error>> {
        let mut registry = Registry::linked()?;
        if let Some(plugin) = std::env::var_os(ICECHUNK) {
            let refused = Loader::of_one(Path::new(&plugin))?.register(&mut registry);
            if let Some(refused) = refused.first() {
                return Err(refused.refusal.to_string().into());
            }
        }
        let context = Context::new(registry);
        Ok(Self { context: if threads == 1 { context.with_one_thread() } else { context } })
    }
}

/// The variable with the path of the plugin for Icechunk.
const ICECHUNK: &str = "ZARR_PEERS_ICECHUNK";

impl Program for ZarrKit {
    fn about(&self) -> About {
        About { name: "zarr-kit", version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    fn prepare(&self, case: Case) -> Result<Box<dyn Task>, Failure> {
        let context = self.context.clone();
        Ok(match case.operation {
            Operation::Read => Box::new(move || read(&case, &context)),
            Operation::ReadValues => Box::new(move || read_values(&case, &context)),
            Operation::ReadNdarray => Box::new(move || read_ndarray(&case, &context)),
            Operation::ReadKept => {
                let array = open(&case, &context)?;
                let bytes = array.read(&Selection::All)?.bytes().len();
                // The documentation recommends `Memory` for memory that is reused. It uses huge pages, as NumPy does.
                let mut kept = Memory::zeroed(bytes)?;
                Box::new(move || read_kept(&case, &context, &mut kept))
            }
            Operation::Write if case.data_type == "string" => {
                let strings = read_strings(case.elements_file()?, usize::try_from(case.shape[0])?)?;
                Box::new(move || write_strings(&case, &context, &strings))
            }
            Operation::Write => {
                let elements = case.read_elements()?;
                Box::new(move || write(&case, &context, &elements))
            }
            Operation::Chunks => Box::new(move || chunks(&case, &context)),
            Operation::Boxes => Box::new(move || boxes(&case, &context)),
            Operation::BoxesAtOnce => Box::new(move || boxes_at_once(&case, &context)),
            Operation::Create => Box::new(move || create(&case, &context)),
            Operation::Open => Box::new(move || open_all(&case, &context)),
            Operation::List => Box::new(move || list(&case, &context)),
            Operation::Floor => return Err("this runner does not measure floors".into()),
        })
    }
}

/// Returns the description of `below` in the folder or the remote store.
fn description(case: &Case, below: &str) -> Result<Value, Failure> {
    Ok(match &case.far {
        Some(Far { endpoint, bucket, prefix, .. }) => {
            let url = format!("s3://{bucket}/{prefix}/{below}");
            json!({"type": "s3", "url": url, "endpoint": endpoint, "anonymous": true})
        }
        None => json!({"type": "filesystem", "path": case.folder.join(below)}),
    })
}

/// Opens `below` in the folder or the remote store, with a cache if the case permits one.
fn store(case: &Case, below: &str, context: &Context) -> Result<Arc<dyn Store>, Failure> {
    if case.far.is_none() && case.cache == 0 {
        let folder = case.folder.join(below);
        let folder = folder.to_str().ok_or("the path of the folder is not UTF-8")?;
        return Ok(open_store(context.registry(), folder)?);
    }
    let mut store = description(case, below)?;
    if case.cache > 0 {
        store = json!({"type": "cache", "bytes": case.cache, "chunks": "decoded", "store": store});
    }
    Ok(open_store(context.registry(), &store.to_string())?)
}

/// Opens the store that contains the hierarchy of the case.
fn contained(case: &Case, container: Container, context: &Context) -> Result<Arc<dyn Store>, Failure> {
    let file = |name: &str| case.folder.join(name).display().to_string();
    let location = match container {
        Container::Icechunk => format!("icechunk:{}", file("repository")),
        Container::Lmdb => format!("lmdb:{}", file("data.lmdb")),
        Container::Redb => format!("redb:{}", file("data.redb")),
        Container::Zip => {
            json!({"type": "zip", "key": "data.zip", "store": description(case, "")?}).to_string()
        }
        Container::Reference => {
            let Far { endpoint, bucket, prefix, .. } =
                case.far.as_ref().ok_or("references are to a server")?;
            let target = json!({"type": "http", "url": format!("{endpoint}/{bucket}/{prefix}")});
            let store = description(case, "")?;
            json!({"type": "reference", "key": "references.json", "store": store, "targets": [target]})
                .to_string()
        }
    };
    Ok(open_store(context.registry(), &location)?)
}

/// Replaces the array by one without chunks.
fn write_empty_array(case: &Case, context: &Context) -> Result<(), Failure> {
    let Some(container) = case.container else { return case.write_empty_array() };
    case.write_empty_folder()?;
    let (name, document) = case.document.as_ref().ok_or("a case that writes needs a document")?;
    let store = contained(case, container, context)?;
    Hierarchy::create(Arc::clone(&store), context, Format::V3)?;
    store.set(&Key::new(format!("array/{name}"))?, document.as_bytes().into())?;
    Ok(store.commit()?)
}

/// Opens the array in the given format. The runners of the other programs also get the format.
fn open(case: &Case, context: &Context) -> Result<Array, Failure> {
    if let Some(container) = case.container {
        return Ok(Hierarchy::open(contained(case, container, context)?, context)?.array("/array")?);
    }
    if case.array_folder().join("attributes.json").exists() {
        let container = open_store(context.registry(), &format!("n5:{}", case.folder.display()))?;
        return Ok(Hierarchy::open(container, context)?.array("/array")?);
    }
    let is_v2 = case.array_folder().join(".zarray").exists();
    let format = if is_v2 { Format::V2 } else { Format::V3 };
    let options = OpenOptions::new().format(format);
    Ok(Hierarchy::open_root_array(store(case, "array", context)?, context, options)?)
}

fn selection(ranges: &Ranges) -> Selection {
    let along = ranges.iter().map(|&[start, stop]| DimensionSelection::Range { start, stop, step: 1 });
    Selection::Orthogonal(along.collect())
}

fn read(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let array = open(case, context)?;
    let (elements, seconds) = timed(|| array.read(&Selection::All))?;
    Ok(Ran { seconds, checksum: checksum(0, elements.bytes()) })
}

fn read_values(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let array = open(case, context)?;
    let (values, seconds) = timed(|| array.read_values::<u16>(&Selection::All))?;
    Ok(Ran { seconds, checksum: checksum_of_values(&values) })
}

fn read_ndarray(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let array = open(case, context)?;
    let (values, seconds) = timed(|| array.read_ndarray::<u16, IxDyn>(&Selection::All))?;
    let values = values.as_slice().ok_or("the array is not in C order")?;
    Ok(Ran { seconds, checksum: checksum_of_values(values) })
}

fn read_kept(case: &Case, context: &Context, kept: &mut [u8]) -> Result<Ran, Failure> {
    let array = open(case, context)?;
    kept.fill(0xff);
    let ((), seconds) = timed(|| array.read_into(&Selection::All, kept))?;
    Ok(Ran { seconds, checksum: checksum(0, kept) })
}

fn write(case: &Case, context: &Context, elements: &[u8]) -> Result<Ran, Failure> {
    write_empty_array(case, context)?;
    let array = open(case, context)?;
    let (sum, seconds) = timed(|| {
        if case.boxes.is_empty() {
            array.write(&Selection::All, elements)?;
            return Ok(array.hierarchy().store().commit()?);
        }
        case.boxes.iter().try_for_each(|ranges| array.write(selection(ranges), elements))
    })
    .map(|((), seconds)| (checksum(0, elements), seconds))?;
    Ok(Ran { seconds, checksum: sum })
}

fn write_strings(case: &Case, context: &Context, strings: &[String]) -> Result<Ran, Failure> {
    case.write_empty_array()?;
    let array = open(case, context)?;
    let ((), seconds) = timed(|| array.write_values(&Selection::All, strings))?;
    Ok(Ran { seconds, checksum: checksum(0, &std::fs::read(case.elements_file()?)?) })
}

fn chunks(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let array = open(case, context)?;
    let mut ran = Ran { seconds: 0.0, checksum: 0 };
    for index in case.chunk_indices() {
        let (elements, seconds) = timed(|| array.read_chunk(&index))?;
        ran.seconds += seconds;
        ran.checksum = checksum(ran.checksum, elements.bytes());
    }
    Ok(ran)
}

fn boxes(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let array = open(case, context)?;
    if case.far.is_some() {
        let selections = case.boxes.iter().map(selection);
        let (found, seconds) = timed(|| array.read_ahead(selections).collect::<Result<Vec<_>, _>>())?;
        let sum = found.iter().fold(0, |sum, elements| checksum(sum, elements.bytes()));
        return Ok(Ran { seconds, checksum: sum });
    }
    let mut ran = Ran { seconds: 0.0, checksum: 0 };
    for ranges in &case.boxes {
        let selection = selection(ranges);
        let (elements, seconds) = timed(|| array.read(&selection))?;
        ran.seconds += seconds;
        ran.checksum = checksum(ran.checksum, elements.bytes());
    }
    Ok(ran)
}

fn boxes_at_once(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let array = open(case, context)?;
    let selections: Vec<Selection> = case.boxes.iter().map(selection).collect();
    let (found, seconds) = timed(|| array.read_many(&selections))?;
    Ok(Ran { seconds, checksum: found.iter().fold(0, |sum, elements| checksum(sum, elements.bytes())) })
}

fn create(case: &Case, context: &Context) -> Result<Ran, Failure> {
    case.write_empty_folder()?;
    let store = store(case, "", context)?;
    let names: Vec<String> = (0..case.count).map(|number| format!("/a{number:05}")).collect();
    let ((), seconds) = timed(|| {
        let hierarchy = Hierarchy::create(store, context, Format::V3)?;
        let builder = ArrayBuilder::new(case.shape.clone(), &*case.data_type).chunks(case.chunks.clone());
        if case.far.is_none() {
            hierarchy.create_group("/", zarr_kit::spec::Object::new())?;
            return names.iter().try_for_each(|name| hierarchy.create_array(name, &builder).map(drop));
        }
        // `create_arrays` also creates the root group.
        hierarchy.create_arrays(names.iter().map(|name| (name.as_str(), &builder))).map(drop)
    })?;
    Ok(Ran { seconds, checksum: checksum_of_lines(names) })
}

fn open_all(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let store = store(case, "", context)?;
    let ((_root, arrays), seconds) = timed(|| Hierarchy::open_with_arrays(store, context))?;
    let lines = arrays.iter().map(|array| format!("{} {:?}", array.path(), array.shape()));
    Ok(Ran { seconds, checksum: checksum_of_lines(lines.collect()) })
}

fn list(case: &Case, context: &Context) -> Result<Ran, Failure> {
    let store = store(case, "", context)?;
    let (nodes, seconds) = timed(|| Hierarchy::open(store, context)?.walk(NodePath::root()))?;
    let known = nodes.iter().filter(|node| node.kind != EntryKind::Unreadable);
    Ok(Ran { seconds, checksum: checksum_of_lines(known.map(|node| node.path.to_string()).collect()) })
}

fn main() -> ExitCode {
    let threads = std::env::args().nth(1).and_then(|threads| threads.parse().ok());
    let Some(threads) = threads else {
        eprintln!("usage: peer-zarr-kit THREADS");
        return ExitCode::from(2);
    };
    // The environment must match: the global pool of rayon has RAYON_NUM_THREADS threads.
    let program = ZarrKit::new(threads);
    match program.and_then(|program| Ok(serve(&program)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer-zarr-kit: {error}");
            ExitCode::from(1)
        }
    }
}
