//! The engine compared with a simple list of elements: random arrays of all formats, random operations.
//!
//! A failure prints its seed; set `ZARR_SEED` to run only that seed. `ZARR_SECONDS` sets the duration, and
//! `ZARR_FIRST` the first seed.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use zarr_interop::documents::{Description, Type};
use zarr_interop::{Random, raw, reference};
use zarr_kit::spec::Elements;
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, Context, Format, Hierarchy, Selection, open_store};

/// Duration of each of these tests.
const LONG: Duration = Duration::from_secs(8);

/// The expected content of an array.
struct Model {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    fill: Vec<u8>,
    items: Vec<Vec<u8>>,
    is_variable: bool,
}

impl Model {
    fn new(description: &Description) -> Self {
        let count: u64 = description.shape.iter().product();
        Self {
            shape: description.shape.clone(),
            chunk: description.chunk.clone(),
            fill: description.fill.clone(),
            items: vec![description.fill.clone(); usize::try_from(count).unwrap()],
            is_variable: description.data_type == Type::String,
        }
    }

    fn points(shape: &[u64]) -> Vec<Vec<u64>> {
        let mut points = vec![Vec::new()];
        for &length in shape {
            let longer = |point: &Vec<u64>| {
                let point = point.clone();
                (0..length).map(move |index| point.iter().copied().chain([index]).collect::<Vec<u64>>())
            };
            points = points.iter().flat_map(longer).collect();
        }
        points
    }

    fn chunk_of(&self, point: &[u64]) -> Vec<u64> {
        point.iter().zip(&self.chunk).map(|(index, length)| index / length).collect()
    }

    fn write(&mut self, selection: &Selection, items: &[Vec<u8>]) {
        for (position, item) in reference::positions(selection, &self.shape).into_iter().zip(items) {
            self.items[position].clone_from(item);
        }
    }

    fn check(&self, array: &Array, selection: &Selection) {
        let elements = array.read(selection).unwrap();
        self.check_elements(selection, &elements);
    }

    fn check_elements(&self, selection: &Selection, elements: &zarr_kit::ElementArray) {
        assert_eq!(elements.shape(), reference::result_shape(selection, &self.shape), "{selection:?}");
        let found = raw::items(elements);
        for (number, position) in reference::positions(selection, &self.shape).into_iter().enumerate() {
            let found = &found[number];
            let wanted = &self.items[position];
            assert_eq!(found, wanted, "element {number} of {selection:?} of shape {:?}", self.shape);
        }
    }

    /// Applies a resize: elements outside the old shape must be the fill value.
    fn resize(&mut self, shape: &[u64], array: &Array) {
        let old: HashMap<_, _> = Self::points(&self.shape).into_iter().zip(self.items.drain(..)).collect();
        let new = Self::points(shape);
        let found = raw::items(&array.read(&Selection::All).unwrap());
        assert_eq!(found.len(), new.len(), "elements after a resize");
        for (point, found) in new.iter().zip(found) {
            // Elements that a resize removed never come back.
            let wanted = old.get(point).unwrap_or(&self.fill);
            assert_eq!(&found, wanted, "{point:?} after a resize");
            self.items.push(found);
        }
        self.shape = shape.to_vec();
    }

    /// Returns the chunks with elements inside the array that differ from the fill value.
    fn filled_chunks(&self) -> BTreeSet<Vec<u64>> {
        let points = Self::points(&self.shape).into_iter().zip(&self.items);
        points.filter(|(_, item)| **item != self.fill).map(|(point, _)| self.chunk_of(&point)).collect()
    }
}

struct Trial {
    random: Random,
    description: Description,
    model: Model,
    context: Context,
    store: Arc<dyn Store>,
    array: Array,
    _folder: Option<tempfile::TempDir>,
}

impl Trial {
    fn new(mut random: Random, description: Description) -> Self {
        let context = context(&mut random);
        let folder = random.chance(2).then(|| tempfile::tempdir().unwrap());
        let inside = match &folder {
            None => json!({"type": "memory"}),
            Some(folder) => json!({"type": "filesystem", "path": folder.path().to_str().unwrap()}),
        };
        let size = [1000, 10_000, 1_000_000][random.index(3)];
        let cache = |chunks: &str| json!({"type": "cache", "chunks": chunks, "missing": true, "bytes": size, "store": &inside});
        let location = match random.below(4) {
            0 => cache("encoded"),
            1 => cache("decoded"),
            _ => inside.clone(),
        };
        let store = open_store(context.registry(), &location.to_string()).unwrap();
        description.write(&*store);
        let array = open(&store, &context);
        let model = Model::new(&description);
        Self { random, description, model, context, store, array, _folder: folder }
    }

    fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
        self.model.check(&self.array, &Selection::All);
        self.model.check(&open(&self.store, &self.context), &Selection::All);
        self.check_stored_chunks();
    }

    fn step(&mut self) {
        let shape = self.model.shape.clone();
        match self.random.below(16) {
            0 => self.array = open(&self.store, &self.context),
            1 => self.resize(),
            2 => self.append(),
            3 => self.erase_chunk(),
            4 => self.read_decoded_chunk(),
            5 => {
                let selections: Vec<_> = (0..4).map(|_| self.random.selection(&shape, true)).collect();
                let read = self.array.read_many(&selections).unwrap();
                for (selection, elements) in selections.iter().zip(&read) {
                    self.model.check_elements(selection, elements);
                }
            }
            6 => self.read_into(),
            7..11 => self.write(),
            _ => {
                let selection = self.random.selection(&shape, true);
                self.model.check(&self.array, &selection);
            }
        }
    }

    fn items(&mut self, count: usize) -> Vec<Vec<u8>> {
        let one = match self.random.below(4) {
            0 => Some(self.model.fill.clone()),
            1 => Some(self.description.data_type.item(&mut self.random)),
            _ => None,
        };
        (0..count)
            .map(|_| one.clone().unwrap_or_else(|| self.description.data_type.item(&mut self.random)))
            .collect()
    }

    fn write(&mut self) {
        let selection = self.random.selection(&self.model.shape, true);
        let count = reference::positions(&selection, &self.model.shape).len();
        let items = self.items(count);
        let bytes = raw::to_write(&**self.array.data_type(), &items);
        self.array.write(&selection, &bytes).unwrap_or_else(|error| panic!("{selection:?}: {error}"));
        self.model.write(&selection, &items);
        self.model.check(&self.array, &selection);
    }

    fn read_into(&mut self) {
        let selection = self.random.selection(&self.model.shape, true);
        let count = reference::positions(&selection, &self.model.shape).len();
        let Elements::Fixed { size, .. } = self.array.data_type().elements() else {
            assert!(self.array.read_into(&selection, &mut []).is_err());
            return;
        };
        // The initial content is not zero, so that the comparison finds bytes that were not written.
        let mut bytes = vec![0xA5; count * size];
        self.array.read_into(&selection, &mut bytes).unwrap();
        let wanted = reference::positions(&selection, &self.model.shape).into_iter();
        let wanted: Vec<_> = wanted.map(|position| self.model.items[position].clone()).collect();
        assert_eq!(bytes, raw::to_write(&**self.array.data_type(), &wanted), "{selection:?}");
    }

    fn resize(&mut self) {
        let random = &mut self.random;
        let shape = &self.model.shape;
        let shape: Vec<u64> = shape
            .iter()
            .map(|&length| match random.below(4) {
                0 => random.between(0, length),
                1 => length + random.below(5),
                _ => length,
            })
            .collect();
        self.array.resize(&shape).unwrap();
        self.model.resize(&shape, &self.array);
    }

    fn append(&mut self) {
        let mut shape = self.model.shape.clone();
        if shape.is_empty() || self.model.is_variable {
            assert!(self.array.append(0, &[1]).is_err());
            return;
        }
        let dimension = self.random.index(shape.len());
        let row: u64 =
            (0..shape.len()).filter(|&other| other != dimension).map(|other| shape[other]).product();
        if row == 0 {
            return;
        }
        let more = self.random.below(4);
        let before = shape[dimension];
        shape[dimension] += more;
        let items = self.items(usize::try_from(row * more).unwrap());
        let bytes = raw::to_write(&**self.array.data_type(), &items);
        self.array.append(dimension, &bytes).unwrap();
        let along = shape.iter().enumerate().map(|(other, &stop)| {
            let start = if other == dimension { before } else { 0 };
            zarr_kit::DimensionSelection::Range { start, stop, step: 1 }
        });
        let selection = Selection::Orthogonal(along.collect());
        let found = raw::items(&self.array.read(&selection).unwrap());
        assert_eq!(found, items, "appended along {dimension}");
        let old: HashMap<_, _> =
            Model::points(&self.model.shape).into_iter().zip(self.model.items.drain(..)).collect();
        self.model.items = Model::points(&shape)
            .into_iter()
            .map(|point| old.get(&point).cloned().unwrap_or_default())
            .collect();
        self.model.shape = shape;
        self.model.write(&selection, &items);
    }

    fn erase_chunk(&mut self) {
        let grid = self.array.chunk_grid().grid_shape().to_vec();
        if grid.contains(&0) {
            return;
        }
        let index: Vec<u64> = grid.iter().map(|&length| self.random.below(length)).collect();
        self.array.erase_chunk(&index).unwrap();
        assert!(!self.array.chunk_exists(&index).unwrap());
        assert_eq!(self.array.read_encoded_chunk(&index).unwrap(), None);
        for (position, point) in Model::points(&self.model.shape).into_iter().enumerate() {
            if self.model.chunk_of(&point) == index {
                self.model.items[position] = self.model.fill.clone();
            }
        }
    }

    fn read_decoded_chunk(&mut self) {
        let grid = self.array.chunk_grid().grid_shape().to_vec();
        if grid.contains(&0) {
            return;
        }
        let index: Vec<u64> = grid.iter().map(|&length| self.random.below(length)).collect();
        let subset = zarr_kit::spec::grid::chunk_subset(self.array.chunk_grid(), &index).unwrap();
        let chunk = self.array.read_chunk(&index).unwrap();
        assert_eq!(chunk.shape(), subset.shape());
        let found = raw::items(&chunk);
        for (number, point) in Model::points(chunk.shape()).into_iter().enumerate() {
            let point: Vec<u64> =
                point.iter().zip(subset.start()).map(|(index, start)| index + start).collect();
            if point.iter().zip(&self.model.shape).all(|(index, length)| index < length) {
                let position = point
                    .iter()
                    .zip(&self.model.shape)
                    .fold(0, |position, (index, length)| position * length + index);
                assert_eq!(
                    found[number],
                    self.model.items[usize::try_from(position).unwrap()],
                    "chunk {index:?}, {point:?}"
                );
            }
        }
    }

    /// Checks that every filled chunk is listed, and that chunks of fill values are not stored after a
    /// complete write.
    fn check_stored_chunks(&mut self) {
        let stored: BTreeSet<_> = self.array.stored_chunks().unwrap().into_iter().collect();
        let filled = self.model.filled_chunks();
        assert!(stored.is_superset(&filled), "stored {stored:?}, filled {filled:?}");
        for index in &stored {
            assert_eq!(
                self.array.chunk_size(index).unwrap(),
                Some(self.array.read_encoded_chunk(index).unwrap().unwrap().len() as u64)
            );
        }
        self.array
            .write(&Selection::All, &raw::to_write(&**self.array.data_type(), &self.model.items))
            .unwrap();
        let stored: BTreeSet<_> = self.array.stored_chunks().unwrap().into_iter().collect();
        assert_eq!(stored, filled, "chunks after everything was written again");
        self.model.check(&self.array, &Selection::All);
    }
}

fn context(random: &mut Random) -> Context {
    let context = Context::linked().unwrap();
    if random.chance(2) { context.with_one_thread() } else { context }
}

fn open(store: &Arc<dyn Store>, context: &Context) -> Array {
    Hierarchy::open(Arc::clone(store), context).unwrap().array("/array").unwrap()
}

/// Runs trials with consecutive seeds until the time is over; prints the seed of a failure.
fn for_seeds(first: u64, trial: impl Fn(u64)) {
    if let Ok(seed) = std::env::var("ZARR_SEED") {
        return trial(seed.parse().unwrap());
    }
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let long = number("ZARR_SECONDS").map_or(LONG, Duration::from_secs);
    let first = number("ZARR_FIRST").unwrap_or(first);
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < long {
        let seed = first + count;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| trial(seed))) {
            println!("failed with seed {seed}; run only it with ZARR_SEED={seed}");
            resume_unwind(panic);
        }
        count += 1;
    }
    println!("{count} arrays");
}

#[test]
fn small_arrays_return_the_written_elements() {
    for_seeds(1, |seed| {
        let mut random = Random::new(seed);
        let description = Description::random(&mut random);
        let shown = description.document.to_string();
        let result = catch_unwind(AssertUnwindSafe(|| Trial::new(random, description).steps(40)));
        if let Err(panic) = result {
            println!("the document is {shown}");
            resume_unwind(panic);
        }
    });
}

/// The arrays are large enough for several threads and for uncompressed chunks that are read in slabs.
#[test]
fn large_arrays_return_the_written_elements() {
    for_seeds(1, |seed| {
        let mut random = Random::new(seed);
        let format = *random.one(&[Format::V2, Format::V3, Format::V3, Format::V3Draft]);
        let shapes: [(&[u64], &[u64]); 3] =
            [(&[300, 1000], &[290, 999]), (&[300, 1000], &[64, 128]), (&[70, 65, 60], &[33, 20, 60])];
        let (shape, chunk) = *random.one(&shapes);
        let types = [Type::Int16, Type::Float32, Type::Complex128, Type::Raw24, Type::Structure];
        let data_type = *random.one(if format == Format::V3Draft { &types[..4] } else { &types });
        let description = Description::new(&mut random, format, shape.to_vec(), chunk.to_vec(), data_type);
        let shown = description.document.to_string();
        let run = || {
            let mut trial = Trial::new(random, description);
            for _ in 0..3 {
                trial.write();
                let selection = trial.random.selection(&trial.model.shape, true);
                trial.model.check(&trial.array, &selection);
                trial.read_into();
            }
            trial.model.check(&trial.array, &Selection::All);
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            println!("the document is {shown}");
            resume_unwind(panic);
        }
    });
}
