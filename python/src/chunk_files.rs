//! Parts of many chunks in files, as zarr-python passes them to a codec pipeline.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};
use zarr_kit::spec::store::{
    Capabilities, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreError,
};
use zarr_kit::spec::{Key, Output, Prefix};
use zarr_kit::{Array, ChunkSource, DimensionSelection, Error, Selection};

use crate::chunk_changes::change_chunk;
use crate::strided::{View, ViewPart};

/// The number of parts that are read or written in one step.
const GROUP: usize = 4096;

/// The size in bytes up to which scratch memory of a thread is reused.
const SCRATCH: usize = 16 << 20;

thread_local! {
    static GATHERED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A part of a chunk, and the place of its elements in the memory of the caller.
pub(crate) struct FilePart {
    /// The position in the arguments of the caller.
    pub(crate) position: usize,
    key: Key,
    /// The elements of the chunk.
    ranges: Vec<Range<usize>>,
    place: ViewPart,
    /// For each dimension of the chunk, the range in the memory of the caller; see [`View::part`].
    axes: Vec<Option<Range<usize>>>,
    /// Whether all elements of the chunk that are inside of the array are replaced.
    is_complete: bool,
}

/// The memory of the caller, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CallerMemory<'py> {
    pub(crate) memory: Bound<'py, PyAny>,
    /// Whether the memory is a single element, which stands for every element of a part.
    pub(crate) is_scalar: bool,
    /// The dimensions of chunks that the memory does not have.
    pub(crate) dropped: Vec<usize>,
}

/// Parts of chunks, in the form that zarr-python uses.
pub(crate) struct Batch<'a, 'py> {
    /// Tuples of a path in a store, the description of a chunk, a selection of the chunk, a selection of the memory,
    /// and whether the chunk is complete.
    pub(crate) items: &'a Bound<'py, PyList>,
    pub(crate) memory: &'a CallerMemory<'py>,
    pub(crate) view: &'a View,
}

/// A selection that is a box.
struct Selected {
    /// The elements of the chunk.
    ranges: Vec<Range<usize>>,
    /// For each dimension of the chunk, the range in the memory of the caller; see [`View::part`].
    axes: Vec<Option<Range<usize>>>,
}

/// The error of one part.
pub(crate) struct PartError {
    pub(crate) position: usize,
    pub(crate) error: Error,
}

/// An array that decodes and encodes chunks of the shape `shape`.
pub(crate) struct Chunks<'a> {
    pub(crate) array: &'a Array,
    pub(crate) shape: &'a [u64],
    pub(crate) is_sharded: bool,
}

impl Batch<'_, '_> {
    /// Calls `work` with groups of parts, each of which is a box in a chunk of shape `shape`. Leaves out parts that are
    /// not boxes, and parts whose store or chunk description differs from the first part.
    pub(crate) fn each_group(
        &self,
        shape: &[u64],
        mut work: impl FnMut(Vec<FilePart>) -> PyResult<()>,
    ) -> PyResult<()> {
        if self.items.is_empty() || shape.is_empty() {
            return Ok(());
        }
        let first = self.items.get_item(0)?;
        let first = first.cast::<PyTuple>()?;
        let store = first.get_item(0)?.getattr("store")?;
        let description = first.get_item(1)?;
        let mut group = Vec::new();
        for (position, item) in self.items.iter().enumerate() {
            let item = item.cast::<PyTuple>()?;
            let path = item.get_item(0)?;
            let is_alike = item.get_item(1)?.is(&description)
                && path.getattr_opt(intern!(path.py(), "store"))?.is_some_and(|found| found.is(&store));
            let part = if is_alike { self.part(position, item, &path, shape)? } else { None };
            group.extend(part);
            if group.len() == GROUP {
                work(std::mem::take(&mut group))?;
            }
        }
        if group.is_empty() { Ok(()) } else { work(group) }
    }

    /// Returns `None` for a part that is not a box.
    fn part(
        &self,
        position: usize,
        item: &Bound<'_, PyTuple>,
        path: &Bound<'_, PyAny>,
        shape: &[u64],
    ) -> PyResult<Option<FilePart>> {
        let text: String = path.getattr(intern!(path.py(), "path"))?.extract()?;
        let Ok(key) = Key::new(text) else { return Ok(None) };
        let chunk = entries(item.get_item(2)?)?;
        let out = entries(item.get_item(3)?)?;
        let is_complete = item.get_item(4)?.is_truthy()?;
        let Some(Selected { ranges, axes }) = self.selected(&chunk, &out, shape)? else { return Ok(None) };
        let counts: Vec<_> = ranges.iter().map(ExactSizeIterator::len).collect();
        let place = match self.memory.is_scalar {
            true => self.view.repeated(counts.clone()),
            false => self.view.part(&axes),
        };
        // If the shapes differ, NumPy would broadcast, which the engine does not do.
        let place = place.filter(|place| place.counts() == counts);
        Ok(place.map(|place| FilePart { position, key, ranges, place, axes, is_complete }))
    }

    fn selected(
        &self,
        chunk: &Bound<'_, PyTuple>,
        out: &Bound<'_, PyTuple>,
        shape: &[u64],
    ) -> PyResult<Option<Selected>> {
        if chunk.len() != shape.len() {
            return Ok(None);
        }
        let CallerMemory { is_scalar, dropped, .. } = self.memory;
        let mut selected = Selected { ranges: Vec::with_capacity(shape.len()), axes: Vec::new() };
        let mut places = out.iter();
        for (dimension, (entry, &length)) in chunk.iter().zip(shape).enumerate() {
            let slice = range_of(&entry, length)?;
            let is_axis = slice.is_some() && !is_scalar && !dropped.contains(&dimension);
            let range = match (slice, entry.extract::<usize>()) {
                (Some(range), _) => range,
                (None, Ok(index)) if (index as u64) < length => index..index + 1,
                _ => return Ok(None),
            };
            let mut axis = None;
            if is_axis {
                let place = places.next().map(|place| range_of(&place, u64::MAX)).transpose()?.flatten();
                let Some(place) = place else { return Ok(None) };
                axis = Some(place);
            }
            selected.ranges.push(range);
            selected.axes.push(axis);
        }
        let is_used = *is_scalar || places.next().is_none();
        Ok(is_used.then_some(selected))
    }
}

/// Returns the entries of a selection.
fn entries(selection: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyTuple>> {
    match selection.cast::<PyTuple>() {
        Ok(entries) => Ok(entries.clone()),
        Err(_) => PyTuple::new(selection.py(), [&selection]),
    }
}

/// Returns the range of a slice with the step 1.
fn range_of(entry: &Bound<'_, PyAny>, length: u64) -> PyResult<Option<Range<usize>>> {
    let Ok(slice) = entry.cast::<PySlice>() else { return Ok(None) };
    let indices = slice.indices(isize::try_from(length).unwrap_or(isize::MAX))?;
    let Ok(start) = usize::try_from(indices.start) else { return Ok(None) };
    Ok((indices.step == 1).then_some(start..start + indices.slicelength))
}

impl Chunks<'_> {
    /// Reads parts into the memory of the caller. Returns the positions of the parts that were read, and whether their
    /// files exist.
    pub(crate) fn read(
        &self,
        files: &Arc<dyn Store>,
        parts: &[FilePart],
        view: &View,
    ) -> Result<Vec<(usize, bool)>, PartError> {
        let store = Arc::new(Files::new(Arc::clone(files), parts));
        let mut places = Vec::with_capacity(parts.len());
        let mut numbers = Vec::with_capacity(parts.len());
        for (number, part) in parts.iter().enumerate() {
            if let Some(memory) = view.memory(&part.place) {
                places.push((part.selection(number as u64, self.shape), memory));
                numbers.push(number);
            }
        }
        let array = self.array.with_store(Arc::<Files>::clone(&store));
        array.and_then(|array| array.read_many_into(&mut places)).map_err(|error| named(error, parts))?;
        Ok(numbers.into_iter().map(|number| (parts[number].position, store.exists(number))).collect())
    }

    /// Returns the elements of `memory` if chunks can be encoded from them without a copy.
    pub(crate) fn source<'v>(
        &self,
        memory: &CallerMemory<'_>,
        view: &'v View,
    ) -> Result<Option<ChunkSource<'v>>, Error> {
        let elements = if memory.is_scalar { None } else { view.all() };
        elements.map(|elements| self.array.chunk_source(elements, view.count())).transpose()
    }

    /// Writes a part. Returns false if the store does not accept the value.
    pub(crate) fn write(
        &self,
        files: &dyn Store,
        part: &FilePart,
        view: &View,
        source: Option<ChunkSource<'_>>,
    ) -> Result<bool, PartError> {
        let written = self.try_write(files, part, view, source);
        written.map_err(|error| PartError { position: part.position, error })
    }

    fn try_write(
        &self,
        files: &dyn Store,
        part: &FilePart,
        view: &View,
        source: Option<ChunkSource<'_>>,
    ) -> Result<bool, Error> {
        let index = vec![0; self.shape.len()];
        let is_whole = part
            .ranges
            .iter()
            .zip(self.shape)
            .all(|(range, &length)| range.start == 0 && range.end as u64 == length);
        let changed = |old: Option<&[u8]>| {
            let mut elements = self.array.decode_chunk(&index, old)?;
            let is_put = part.put(view, elements.bytes_mut(), self.shape);
            is_put.then(|| self.array.encode_chunk(&index, elements.bytes())).transpose()
        };
        let store = |value: Option<&[u8]>| match value {
            Some(value) => files.set(&part.key, value.into()),
            None => files.erase(&part.key),
        };
        let encode = |elements: &[u8]| {
            let shape = part.place.counts();
            let source = self.array.chunk_source(elements, shape.iter().product())?;
            self.array.encode_chunk_from(&index, source, shape, &vec![0; shape.len()], store)
        };
        let stored = match source {
            Some(source) if is_whole => {
                let shape = view.shape_along(&part.axes);
                let first = part.first_in_memory();
                Some(self.array.encode_chunk_from(&index, source, &shape, &first, store)?)
            }
            _ if is_whole => match view.contiguous(&part.place) {
                Some(elements) => Some(encode(elements)?),
                None => part.with_gathered(view, encode).transpose()?,
            },
            // A shard also contains elements outside of the array, which a later resize makes visible again.
            _ if part.is_complete && !self.is_sharded => changed(None)?.map(|value| store(value.as_deref())),
            _ => return change_chunk(files, &part.key, changed),
        };
        Ok(stored.is_some_and(|stored| stored.is_ok()))
    }
}

/// Attributes the error of a read to the part whose chunk the error names, or else to the first part.
fn named(error: Error, parts: &[FilePart]) -> PartError {
    let number = match &error {
        Error::Chunk(error) => error.index.first().and_then(|&number| usize::try_from(number).ok()),
        _ => None,
    };
    let part = number.and_then(|number| parts.get(number)).or(parts.first());
    PartError { position: part.map_or(0, |part| part.position), error }
}

impl FilePart {
    /// Returns the selection in an array whose chunks follow each other along the first dimension.
    fn selection(&self, number: u64, shape: &[u64]) -> Selection {
        let first = shape.first().map_or(0, |length| length * number);
        let along = self.ranges.iter().enumerate().map(|(dimension, range)| {
            let skipped = if dimension == 0 { first } else { 0 };
            let start = range.start as u64 + skipped;
            DimensionSelection::Range { start, stop: range.end as u64 + skipped, step: 1 }
        });
        Selection::Orthogonal(along.collect())
    }

    /// Returns the position of the first element in the memory of the caller.
    fn first_in_memory(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.as_ref().map_or(0, |range| range.start)).collect()
    }

    /// Calls `work` with the elements in C order, in memory that this thread reuses.
    fn with_gathered<R>(&self, view: &View, work: impl FnOnce(&[u8]) -> R) -> Option<R> {
        GATHERED.with_borrow_mut(|scratch| {
            let counts = self.place.counts();
            let size = counts.iter().try_fold(view.element_size(), |size, count| size.checked_mul(*count))?;
            scratch.resize(size, 0);
            view.gather_into(&self.place, scratch, counts, &vec![0; counts.len()]).ok()?;
            let result = work(scratch);
            if size > SCRATCH {
                *scratch = Vec::new();
            }
            Some(result)
        })
    }

    /// Overwrites this part of `chunk` with elements of `view`. Returns false if the part in the view has another
    /// shape.
    fn put(&self, view: &View, chunk: &mut [u8], shape: &[u64]) -> bool {
        let shape: Result<Vec<_>, _> = shape.iter().map(|&length| usize::try_from(length)).collect();
        let first: Vec<_> = self.ranges.iter().map(|range| range.start).collect();
        shape.is_ok_and(|shape| view.gather_into(&self.place, chunk, &shape, &first).is_ok())
    }
}

/// Files as chunks that follow each other along the first dimension.
#[derive(Debug)]
struct Files {
    store: Arc<dyn Store>,
    keys: Vec<Key>,
    is_missing: Vec<AtomicBool>,
}

impl Files {
    fn new(store: Arc<dyn Store>, parts: &[FilePart]) -> Self {
        let keys = parts.iter().map(|part| part.key.clone()).collect();
        let is_missing = parts.iter().map(|_| AtomicBool::new(false)).collect();
        Self { store, keys, is_missing }
    }

    fn exists(&self, number: usize) -> bool {
        self.is_missing.get(number).is_some_and(|missing| !missing.load(Ordering::Relaxed))
    }

    /// Returns the number of a chunk, which is the first number in its key.
    fn number(key: &Key) -> Option<usize> {
        let text = key.as_str();
        let digits = text.strip_prefix("c/").unwrap_or(text);
        digits.split(['/', '.']).next()?.parse().ok()
    }
}

impl Store for Files {
    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::READ_ONLY.unlistable()
    }

    fn read_hints(&self) -> ReadHints {
        self.store.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let Some((number, file)) =
            Self::number(key).and_then(|number| Some((number, self.keys.get(number)?)))
        else {
            return Ok(None);
        };
        let got = self.store.get(file, options, to)?;
        if got.is_none()
            && let Some(missing) = self.is_missing.get(number)
        {
            missing.store(true, Ordering::Relaxed);
        }
        Ok(got)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        let file = Self::number(key).and_then(|number| self.keys.get(number));
        file.map_or(Ok(None), |file| self.store.size(file))
    }

    fn set(&self, _key: &Key, _value: Payload<'_>) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn erase(&self, _key: &Key) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn list_prefix(&self, _prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        Err(StoreError::not_supported(self, "not listable"))
    }
}
