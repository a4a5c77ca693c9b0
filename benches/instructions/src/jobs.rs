//! The jobs whose instructions are counted: plans, kernels, reads, writes, and opening and creating arrays.

use std::sync::Arc;

use zarr_kit::metadata::draft::Generation;
use zarr_kit::metadata::{ArrayMetadata, DocumentKind, NodeMetadata, draft, parse_json, v2, v3};
use zarr_kit::spec::host::pipeline::Pipeline;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Key, Object, Reading, Representation};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Mode, Selection, open_store};

use crate::documents::{self, Codecs};
use crate::{Failure, Job};

type Make = fn() -> Result<Box<dyn Job>, Failure>;

/// The length of the array of kernel jobs in each dimension. The array has one chunk.
const CUBE: u64 = 64;

/// All jobs by name.
pub(crate) const ALL: &[(&str, Make)] = &[
    // The chunks are small and missing, so that most instructions are for planning.
    ("plan/4096-missing-chunks", || Read::missing(4, 0, "...")),
    ("copy/rows", || Read::cube(Codecs::Uncompressed, "1:63, 1:63, 3:61")),
    ("copy/rows-swapped", || Read::cube(Codecs::BigEndian, "1:63, 1:63, 3:61")),
    ("copy/tiles", || Read::cube(Codecs::Transposed, "1:63, 1:63, 3:61")),
    ("copy/every-third", || Read::cube(Codecs::Uncompressed, "::3, ::3, ::3")),
    ("copy/list", || Read::cube(Codecs::Uncompressed, "[3, 1, 40], :, [60, 2, 33, 32]")),
    ("copy/points", Read::points),
    ("copy/fill", || Read::missing(CUBE, 7, "...")),
    ("copy/equal-to-fill", Write::of_fill_value),
    ("resolve/transposed", || Resolve::of(Codecs::Transposed)),
    ("resolve/zstd", || Resolve::of(Codecs::Zstd)),
    ("resolve/shard", || Resolve::of(Codecs::Shard)),
    ("parse/v2", || Parse::of(Format::V2)),
    ("parse/v3-draft", || Parse::of(Format::V3Draft)),
    ("parse/v3", || Parse::of(Format::V3)),
    ("open/array", Open::make),
    ("open/100-arrays", OpenMany::make),
    ("create/100-arrays", CreateMany::make),
    ("read/uncompressed", || Read::small(Codecs::Uncompressed, 16)),
    ("read/zstd", || Read::small(Codecs::Zstd, 16)),
    ("read/shard", || Read::small(Codecs::Shard, 32)),
    ("read/cached-element", Read::cached),
    ("write/uncompressed", || Write::small(Codecs::Uncompressed, 16)),
    ("write/zstd", || Write::small(Codecs::Zstd, 16)),
    ("write/shard", || Write::small(Codecs::Shard, 32)),
];

fn context() -> Result<Context, Failure> {
    Ok(Context::linked()?.with_one_thread())
}

const MEMORY: &str = "memory:";

/// A store in memory with a cache of decoded chunks.
const CACHED: &str =
    r#"{"type": "cache", "bytes": 1048576, "chunks": "decoded", "store": {"type": "memory"}}"#;

/// Returns a store with a group and an array.
fn store(context: &Context, location: &str, document: &str) -> Result<Arc<dyn Store>, Failure> {
    let store = open_store(context.registry(), location)?;
    store.set(&Key::new("zarr.json")?, documents::GROUP.as_bytes().into())?;
    store.set(&Key::new("array/zarr.json")?, document.as_bytes().into())?;
    Ok(store)
}

fn array(location: &str, document: &str) -> Result<Array, Failure> {
    let context = context()?;
    Ok(Hierarchy::open(store(&context, location, document)?, &context)?.array("/array")?)
}

/// Returns smooth elements with some noise for the whole array.
fn elements(array: &Array) -> Result<Vec<u8>, Failure> {
    let count = usize::try_from(array.shape().iter().product::<u64>())?;
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(2 * count);
    for position in 0..count {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        bytes.extend(u16::try_from(((position * 3) & 0x0fff) + usize::try_from(noise & 15)?)?.to_ne_bytes());
    }
    Ok(bytes)
}

/// Reads part of an array into reused memory.
struct Read {
    array: Array,
    selection: Selection,
    expected: Vec<u8>,
    found: Vec<u8>,
}

impl Read {
    fn cube(codecs: Codecs, selection: &str) -> Result<Box<dyn Job>, Failure> {
        Self::stored(codecs, CUBE, CUBE, selection)
    }

    /// Reads eight chunks of 8 KiB, or one shard with eight inner chunks.
    fn small(codecs: Codecs, chunk: u64) -> Result<Box<dyn Job>, Failure> {
        Self::stored(codecs, 32, chunk, "...")
    }

    fn stored(codecs: Codecs, length: u64, chunk: u64, selection: &str) -> Result<Box<dyn Job>, Failure> {
        let array = array(MEMORY, &codecs.document(length, chunk, 0))?;
        let elements = elements(&array)?;
        array.write(&Selection::All, &elements)?;
        let selection = Selection::parse(selection, array.shape())?;
        Self::of(array, selection, |position| elements.get(2 * position..2 * position + 2))
    }

    /// Reads an element of a chunk that is in the cache of decoded chunks.
    fn cached() -> Result<Box<dyn Job>, Failure> {
        let array = array(CACHED, &Codecs::Zstd.document(32, 32, 0))?;
        let elements = elements(&array)?;
        array.write(&Selection::All, &elements)?;
        array.read(&Selection::All)?;
        let selection = Selection::parse("3, 14, 15", array.shape())?;
        Self::of(array, selection, |position| elements.get(2 * position..2 * position + 2))
    }

    fn missing(chunk: u64, fill_value: u16, selection: &str) -> Result<Box<dyn Job>, Failure> {
        let array = array(MEMORY, &Codecs::Uncompressed.document(CUBE, chunk, fill_value))?;
        let selection = Selection::parse(selection, array.shape())?;
        let fill = fill_value.to_ne_bytes();
        Self::of(array, selection, |_| Some(&fill))
    }

    /// Reads a thousand scattered elements.
    fn points() -> Result<Box<dyn Job>, Failure> {
        let array = array(MEMORY, &Codecs::Uncompressed.document(CUBE, CUBE / 4, 0))?;
        let elements = elements(&array)?;
        array.write(&Selection::All, &elements)?;
        let along = |factor: u64| (0..1000).map(|number| number * factor % CUBE).collect::<Vec<_>>();
        let selection = Selection::Coordinates(vec![along(7), along(29), along(37)]);
        Self::of(array, selection, |position| elements.get(2 * position..2 * position + 2))
    }

    /// Creates a job. `element` returns the expected element at a position in C order.
    fn of<'e>(
        array: Array,
        selection: Selection,
        element: impl Fn(usize) -> Option<&'e [u8]>,
    ) -> Result<Box<dyn Job>, Failure> {
        let mut expected = Vec::new();
        for position in positions(&selection, array.shape())? {
            expected.extend_from_slice(element(position).ok_or("an element is outside the array")?);
        }
        let found = vec![0xff; expected.len()];
        Ok(Box::new(Self { array, selection, expected, found }))
    }
}

impl Job for Read {
    fn run(&mut self) -> Result<(), Failure> {
        Ok(self.array.read_into(&self.selection, &mut self.found)?)
    }

    fn is_right(&mut self) -> Result<bool, Failure> {
        Ok(self.found == self.expected)
    }
}

/// Returns the positions of the selected elements in C order.
fn positions(selection: &Selection, shape: &[u64]) -> Result<Vec<usize>, Failure> {
    use zarr_kit::DimensionSelection;
    let place = |index: &[u64]| index.iter().zip(shape).fold(0, |place, (at, length)| place * length + at);
    let lists = match selection {
        Selection::All => shape.iter().map(|&length| (0..length).collect()).collect(),
        Selection::Orthogonal(dimensions) => dimensions
            .iter()
            .map(|along| match along {
                DimensionSelection::Range { start, stop, step } => {
                    (*start..*stop).step_by(usize::try_from(*step).unwrap_or(usize::MAX)).collect()
                }
                DimensionSelection::Index(index) => vec![*index],
                DimensionSelection::List(list) => list.clone(),
            })
            .collect::<Vec<Vec<u64>>>(),
        Selection::Coordinates(lists) => {
            let count = lists.first().map_or(0, Vec::len);
            let points = (0..count).map(|number| lists.iter().map(|list| list[number]).collect::<Vec<_>>());
            return points.map(|index| Ok(usize::try_from(place(&index))?)).collect();
        }
        Selection::Mask(_) | Selection::Expression(_) => {
            return Err("jobs do not support masks and expressions".into());
        }
    };
    let mut indices = vec![Vec::new()];
    for list in lists {
        let longer = |index: Vec<u64>| list.iter().map(move |next| [index.clone(), vec![*next]].concat());
        indices = indices.into_iter().flat_map(longer).collect();
    }
    indices.iter().map(|index| Ok(usize::try_from(place(index))?)).collect()
}

/// Overwrites a whole array.
struct Write {
    array: Array,
    elements: Vec<u8>,
    /// The number of chunks that are stored after a run.
    stored: usize,
}

impl Write {
    fn small(codecs: Codecs, chunk: u64) -> Result<Box<dyn Job>, Failure> {
        let array = array(MEMORY, &codecs.document(32, chunk, 0))?;
        let elements = elements(&array)?;
        let stored = usize::try_from((32 / chunk).pow(3))?;
        Ok(Box::new(Self { array, elements, stored }))
    }

    /// Writes elements that equal the fill value, so that nothing is stored.
    fn of_fill_value() -> Result<Box<dyn Job>, Failure> {
        let array = array(MEMORY, &Codecs::Uncompressed.document(CUBE, CUBE, 7))?;
        let elements = 7u16.to_ne_bytes().repeat(usize::try_from(CUBE.pow(3))?);
        Ok(Box::new(Self { array, elements, stored: 0 }))
    }
}

impl Job for Write {
    fn run(&mut self) -> Result<(), Failure> {
        Ok(self.array.write(&Selection::All, &self.elements)?)
    }

    fn is_right(&mut self) -> Result<bool, Failure> {
        let is_there = self.array.stored_chunks()?.len() == self.stored;
        Ok(is_there && self.array.read(&Selection::All)?.bytes() == self.elements)
    }
}

/// Resolves a codec chain for the shape of a chunk.
struct Resolve {
    array: Array,
    found: Option<Pipeline>,
}

impl Resolve {
    fn of(codecs: Codecs) -> Result<Box<dyn Job>, Failure> {
        Ok(Box::new(Self { array: array(MEMORY, &codecs.document(CUBE, CUBE, 0))?, found: None }))
    }
}

impl Job for Resolve {
    fn run(&mut self) -> Result<(), Failure> {
        let chain = self.array.codecs();
        let Some(Representation::Array(chunk)) = chain.links().first().map(|link| &link.decoded) else {
            return Err("the input of the chain is not an array".into());
        };
        self.found = Some(chain.resolve(chunk)?);
        Ok(())
    }

    fn is_right(&mut self) -> Result<bool, Failure> {
        Ok(self.found.as_ref().is_some_and(|pipeline| pipeline.array.shape == [CUBE; 3]))
    }
}

/// Parses the document of an array from its text.
struct Parse {
    format: Format,
    found: Option<ArrayMetadata>,
}

impl Parse {
    fn of(format: Format) -> Result<Box<dyn Job>, Failure> {
        Ok(Box::new(Self { format, found: None }))
    }
}

impl Job for Parse {
    fn run(&mut self) -> Result<(), Failure> {
        let reading = Reading::new(Mode::Strict);
        let parsed = |text: &str, kind| parse_json(text.as_bytes(), kind, &reading);
        self.found = Some(match self.format {
            Format::V2 => v2::parse_array(&parsed(documents::V2, DocumentKind::V2)?, None, &reading)?,
            Format::V3Draft => {
                draft::parse_array(&parsed(documents::DRAFT, DocumentKind::V3)?, Generation::B, &reading)?
            }
            Format::V3 => match v3::parse_node(&parsed(documents::V3, DocumentKind::V3)?, &reading)? {
                NodeMetadata::Array(array) => *array,
                NodeMetadata::Group(_) => return Err("it is a group".into()),
            },
        });
        Ok(())
    }

    fn is_right(&mut self) -> Result<bool, Failure> {
        Ok(self.found.as_ref().is_some_and(|array| array.shape == [512; 3] && array.format == self.format))
    }
}

/// Opens a hierarchy and an array.
struct Open {
    store: Arc<dyn Store>,
    context: Context,
    found: Option<Array>,
}

impl Open {
    fn make() -> Result<Box<dyn Job>, Failure> {
        let context = context()?;
        Ok(Box::new(Self { store: store(&context, MEMORY, documents::V3)?, context, found: None }))
    }
}

impl Job for Open {
    fn run(&mut self) -> Result<(), Failure> {
        self.found = Some(Hierarchy::open(Arc::clone(&self.store), &self.context)?.array("/array")?);
        Ok(())
    }

    fn is_right(&mut self) -> Result<bool, Failure> {
        Ok(self.found.as_ref().is_some_and(|array| array.shape() == [512; 3]))
    }
}

/// The number of arrays in a group.
const MANY: usize = 100;

/// Creates a hierarchy in memory with a group and [`MANY`] equal arrays.
fn create_many(context: &Context) -> Result<Hierarchy, Failure> {
    let hierarchy = Hierarchy::create(open_store(context.registry(), "memory:")?, context, Format::V3)?;
    hierarchy.create_group("/", Object::new())?;
    let builder = ArrayBuilder::new([512; 3], "uint16").chunks([64; 3]);
    for number in 0..MANY {
        drop(hierarchy.create_array(format!("/a{number}"), &builder)?);
    }
    Ok(hierarchy)
}

/// Creates many equal arrays in a new hierarchy.
struct CreateMany {
    context: Context,
    created: Option<Hierarchy>,
}

impl CreateMany {
    fn make() -> Result<Box<dyn Job>, Failure> {
        Ok(Box::new(Self { context: context()?, created: None }))
    }
}

impl Job for CreateMany {
    fn run(&mut self) -> Result<(), Failure> {
        self.created = Some(create_many(&self.context)?);
        Ok(())
    }

    fn is_right(&mut self) -> Result<bool, Failure> {
        let hierarchy = self.created.as_ref().ok_or("nothing was created")?;
        Ok(hierarchy.group("/")?.arrays()?.len() == MANY)
    }
}

/// Opens a hierarchy and all arrays of its root.
struct OpenMany {
    store: Arc<dyn Store>,
    context: Context,
    found: Vec<Array>,
}

impl OpenMany {
    fn make() -> Result<Box<dyn Job>, Failure> {
        let context = context()?;
        let store = Arc::clone(create_many(&context)?.store());
        Ok(Box::new(Self { store, context, found: Vec::new() }))
    }
}

impl Job for OpenMany {
    fn run(&mut self) -> Result<(), Failure> {
        self.found = Hierarchy::open(Arc::clone(&self.store), &self.context)?.group("/")?.arrays()?;
        Ok(())
    }

    fn is_right(&mut self) -> Result<bool, Failure> {
        Ok(self.found.len() == MANY && self.found.iter().all(|array| array.shape() == [512; 3]))
    }
}
