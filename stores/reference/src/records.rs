//! References in Parquet files: a folder with `.zmetadata`, and files with a fixed number of references each.
//!
//! `.zmetadata` holds the documents of the hierarchy, which has format v2, and `record_size`, the number of references
//! in a file. The references of array `a` are in `a/refs.0.parq`, `a/refs.1.parq` and so on, in the order of the
//! chunks. A file is read when one of its chunks is needed. A file that does not exist has no references.
//!
//! Source: `LazyReferenceMapper` of fsspec, `kerchunk.df`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zarr_plugin_kit::json::{self, Limits, ParseOptions, Value};
use zarr_plugin_kit::sorted;
use zarr_spec::store::{Directory, Keys, StoreError, StoreResult, get_value};
use zarr_spec::{Key, Prefix};

use crate::document::MAX_SIZE;
use crate::parquet::{Cell, Column, Table};
use crate::targets::{Allowed, Target};
use crate::{Found, FoundFile, Span};

/// The maximum number of references in a file.
const MAX_RECORD: usize = 1_000_000;

/// The maximum size of a file in bytes.
const MAX_FILE: usize = 128 << 20;

/// The number of cached references; at least [`FEWEST`] files are cached.
const CACHED: u64 = 1_000_000;

const FEWEST: u64 = 4;

/// The maximum number of files of an array in a store that cannot list them.
const MAX_FILES: u64 = 100_000;

/// The references of a folder.
#[derive(Debug)]
pub(crate) struct Records {
    /// The folder, in the store that relative targets are in.
    folder: Prefix,
    record_size: u64,
    /// Sorted.
    documents: Vec<(Key, Bytes)>,
    /// The arrays with chunks, sorted by path.
    fields: Vec<Field>,
    cache: Mutex<Vec<Cached>>,
}

/// The chunks of an array.
#[derive(Debug)]
struct Field {
    /// The path of the array, with `/` at its end.
    path: Prefix,
    /// The number of chunks in each dimension.
    chunks: Vec<u64>,
    /// The number of chunks.
    count: u64,
    separator: char,
}

/// Identifies a file of references: the index of the array in `Records::fields`, and the number in the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    field: usize,
    number: u64,
}

/// A file in the cache, which another thread may still be reading.
#[derive(Debug)]
struct Cached {
    id: FileId,
    slot: Arc<Mutex<Slot>>,
}

#[derive(Debug)]
enum Slot {
    Unread,
    Missing,
    Read(Arc<Record>),
}

/// The references of a file.
#[derive(Debug)]
struct Record {
    rows: Vec<Row>,
    targets: Vec<Result<Arc<Target>, Arc<str>>>,
}

#[derive(Debug)]
enum Row {
    Missing,
    Inline(Bytes),
    File { target: usize, part: Option<Span> },
}

impl Records {
    /// Reads `.zmetadata`. `folder` is in the first store of the targets.
    ///
    /// # Errors
    ///
    /// A description of the fault.
    pub(crate) fn new(folder: Prefix, metadata: &[u8]) -> Result<Self, String> {
        let limits = Limits { bytes: MAX_SIZE, ..Limits::default() };
        let parsed = json::parse(metadata, &ParseOptions { limits, ..ParseOptions::default() });
        let parsed = parsed.map_err(|error| format!("`.zmetadata`: {error}"))?.value;
        let members = parsed.as_object().ok_or("`.zmetadata` is not an object")?;
        let record_size = members.get("record_size").ok_or(
            "`.zmetadata` does not have a `record_size`, so the folder does not have references in Parquet files",
        )?;
        let record_size = record_size.as_u64().filter(|size| (1..=MAX_RECORD as u64).contains(size));
        let record_size =
            record_size.ok_or_else(|| format!("`record_size` is not an integer from 1 to {MAX_RECORD}"))?;
        let documents = members.get("metadata").and_then(Value::as_object);
        let mut records =
            Self { folder, record_size, documents: Vec::new(), fields: Vec::new(), cache: Mutex::default() };
        for (name, document) in documents.ok_or("`metadata` is missing or not an object")? {
            let key = Key::new(name).map_err(|error| format!("document `{name}`: {error}"))?;
            records.fields.extend(Field::of(&key, document));
            let text = json::to_vec(document).map_err(|error| error.to_string())?;
            records.documents.push((key, text.into()));
        }
        records.documents.sort_by(|(one, _), (other, _)| one.cmp(other));
        records.fields.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(records)
    }

    pub(crate) fn find(&self, key: &Key, allowed: &Allowed) -> StoreResult<Option<Found>> {
        if let Ok(number) = self.documents.binary_search_by(|(one, _)| one.cmp(key)) {
            return Ok(self.documents.get(number).map(|(_, document)| Found::Inline(document.clone())));
        }
        let Some((field, chunk)) = self.chunk_of(key) else { return Ok(None) };
        let id = FileId { field, number: chunk / self.record_size };
        let Some(record) = self.record(id, allowed)? else { return Ok(None) };
        let row = usize::try_from(chunk % self.record_size).ok().and_then(|row| record.rows.get(row));
        let Some(row) = row else {
            let reason = format!("has only {} references", record.rows.len());
            return Err(self.failed(id, reason));
        };
        Ok(record.found(row))
    }

    /// Lists the keys that begin with `prefix`, and reads the files that they are in.
    pub(crate) fn list_prefix<'a>(&'a self, prefix: &Prefix, allowed: &'a Allowed) -> Keys<'a> {
        let documents = sorted::below(&self.documents, prefix, |(key, _)| key);
        let prefix = prefix.clone();
        let overlaps = |path: &Prefix, prefix: &Prefix| {
            path.as_str().starts_with(prefix.as_str()) || prefix.as_str().starts_with(path.as_str())
        };
        let fields: Vec<_> =
            (0..self.fields.len()).filter(|field| overlaps(&self.fields[*field].path, &prefix)).collect();
        let files = fields.into_iter().flat_map(move |field| match self.files(field, allowed) {
            Ok(files) => files.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        let chunks = files.flat_map(move |file| match file.and_then(|file| self.keys_of(file, allowed)) {
            Ok(keys) => keys.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        let is_below = move |key: &StoreResult<Key>| {
            key.as_ref().map_or(true, |key| prefix.strip(key.as_str()).is_some())
        };
        let documents = documents.iter().map(|(key, _)| Ok(key.clone()));
        Box::new(documents.chain(chunks.filter(is_below)))
    }

    /// Lists a folder. Only the folders of arrays need the files of references.
    pub(crate) fn list_dir(&self, prefix: &Prefix, allowed: &Allowed) -> StoreResult<Directory> {
        if !self.fields.iter().any(|field| prefix.as_str().starts_with(field.path.as_str())) {
            return Ok(sorted::directory(&self.documents, prefix, |(key, _)| key)?);
        }
        let mut keys = self.list_prefix(prefix, allowed).collect::<StoreResult<Vec<_>>>()?;
        keys.sort();
        Ok(sorted::directory(&keys, prefix, |key| key)?)
    }

    /// Returns the number of the array and of its chunk.
    fn chunk_of(&self, key: &Key) -> Option<(usize, u64)> {
        let key = key.as_str();
        let mut paths = key.match_indices('/').map(|(end, _)| &key[..=end]);
        paths.find_map(|path| {
            let field = self.fields.binary_search_by(|field| field.path.as_str().cmp(path)).ok()?;
            Some((field, self.fields[field].number(&key[path.len()..])?))
        })
    }

    /// Returns the files of an array that exist. If the store cannot list, returns all that may exist.
    fn files(&self, field: usize, allowed: &Allowed) -> StoreResult<Vec<FileId>> {
        let Field { path, count, .. } = &self.fields[field];
        let files = count.div_ceil(self.record_size);
        let store = allowed.base();
        if store.capabilities().listable {
            let listed = store.list_dir(&Prefix::new(format!("{}{path}", self.folder))?)?;
            let number = |key: &Key| key.name().strip_prefix("refs.")?.strip_suffix(".parq")?.parse().ok();
            let mut numbers: Vec<u64> = listed.keys.iter().filter_map(number).collect();
            numbers.sort_unstable();
            let numbers = numbers.into_iter().filter(|number| *number < files);
            return Ok(numbers.map(|number| FileId { field, number }).collect());
        }
        if files > MAX_FILES {
            let reason =
                format!("the store cannot list, and array `{path}` may have {files} files of references");
            return Err(StoreError::io("listing", self.folder.to_string(), reason));
        }
        Ok((0..files).map(|number| FileId { field, number }).collect())
    }

    /// Returns the keys of the references in a file.
    fn keys_of(&self, id: FileId, allowed: &Allowed) -> StoreResult<Vec<Key>> {
        let Some(record) = self.record(id, allowed)? else { return Ok(Vec::new()) };
        let field = &self.fields[id.field];
        let first = id.number * self.record_size;
        let rows = (first..field.count).zip(&record.rows).filter(|(_, row)| !matches!(row, Row::Missing));
        rows.map(|(chunk, _)| Ok(field.path.key(&field.name(chunk))?)).collect()
    }

    /// Returns the references of a file; `None` if it does not exist. Other threads that need the same file wait.
    fn record(&self, id: FileId, allowed: &Allowed) -> StoreResult<Option<Arc<Record>>> {
        let slot = self.slot(id);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*slot, Slot::Unread) {
            *slot = match self.read(id, allowed)? {
                Some(record) => Slot::Read(Arc::new(record)),
                None => Slot::Missing,
            };
        }
        Ok(match &*slot {
            Slot::Read(record) => Some(Arc::clone(record)),
            Slot::Unread | Slot::Missing => None,
        })
    }

    /// Returns the place of a file in the cache. If the cache is full, the least recently used file is evicted.
    fn slot(&self, id: FileId) -> Arc<Mutex<Slot>> {
        let most = usize::try_from((CACHED / self.record_size).max(FEWEST)).unwrap_or(usize::MAX);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = match cache.iter().rposition(|cached| cached.id == id) {
            Some(place) => cache.remove(place),
            None => Cached { id, slot: Arc::new(Mutex::new(Slot::Unread)) },
        };
        if cache.len() >= most {
            cache.remove(0);
        }
        let slot = Arc::clone(&cached.slot);
        cache.push(cached);
        slot
    }

    fn read(&self, id: FileId, allowed: &Allowed) -> StoreResult<Option<Record>> {
        let Some(file) = get_value(allowed.base(), &self.file_key(id)?, MAX_FILE)? else { return Ok(None) };
        let record = Record::read(&file, allowed);
        record
            .map(Some)
            .map_err(|reason| self.failed(id, format!("is not a valid file of references: {reason}")))
    }

    fn file_key(&self, id: FileId) -> StoreResult<Key> {
        let path = &self.fields[id.field].path;
        Ok(self.folder.key(&format!("{path}refs.{}.parq", id.number))?)
    }

    fn failed(&self, id: FileId, reason: String) -> StoreError {
        let key = self.file_key(id).map_or_else(|_| self.folder.to_string(), |key| key.to_string());
        StoreError::io("reading", key, reason)
    }
}

impl Field {
    /// Returns the chunks of an array, if `document` describes an array below the root. An array whose document cannot
    /// be read has no chunks here: opening it returns the reason.
    fn of(key: &Key, document: &Value) -> Option<Self> {
        let path = key.as_str().strip_suffix(".zarray").filter(|path| !path.is_empty())?;
        let members = document.as_object()?;
        let lengths = |name: &str| -> Option<Vec<u64>> {
            members.get(name)?.as_array()?.iter().map(Value::as_u64).collect()
        };
        let shape = lengths("shape")?;
        let lengths = lengths("chunks")?;
        if shape.len() != lengths.len() || lengths.contains(&0) {
            return None;
        }
        // An array without dimensions has the chunk `0`.
        let mut chunks = vec![1];
        if !shape.is_empty() {
            chunks = shape.iter().zip(lengths).map(|(shape, length)| shape.div_ceil(length)).collect();
        }
        let count = chunks.iter().try_fold(1_u64, |count, chunks| count.checked_mul(*chunks))?;
        let separator = match members.get("dimension_separator").and_then(Value::as_str) {
            Some("/") => '/',
            _ => '.',
        };
        Some(Self { path: Prefix::new(path).ok()?, chunks, count, separator })
    }

    /// Returns the number of the chunk with this name, such as `0.1`.
    fn number(&self, name: &str) -> Option<u64> {
        let mut indices = name.split(self.separator);
        let mut number = 0;
        for chunks in &self.chunks {
            let text = indices.next()?;
            let index: u64 = text.parse().ok().filter(|index| index < chunks)?;
            if index.to_string() != text {
                return None;
            }
            number = number * chunks + index;
        }
        indices.next().is_none().then_some(number)
    }

    /// Returns the name of a chunk.
    fn name(&self, mut number: u64) -> String {
        let mut indices = Vec::new();
        for chunks in self.chunks.iter().rev() {
            indices.push((number % chunks.max(&1)).to_string());
            number /= chunks.max(&1);
        }
        indices.reverse();
        indices.join(&self.separator.to_string())
    }
}

impl Record {
    fn read(file: &Bytes, allowed: &Allowed) -> Result<Self, String> {
        let mut table = Table::open(file, MAX_RECORD)?;
        let mut record = Self { rows: Vec::new(), targets: Vec::new() };
        let paths = record.targets(table.column("path")?, allowed)?;
        let offsets = integers("offset", table.column("offset")?)?;
        let sizes = integers("size", table.column("size")?)?;
        let raw = table.column("raw")?;
        if paths.is_none() && raw.is_none() {
            return Err("it has neither a column `path` nor a column `raw`".to_owned());
        }
        for row in 0..table.rows {
            let row = match (inline(&raw, row)?, at(&paths, row)) {
                (Some(bytes), _) => Row::Inline(bytes),
                (None, None) => Row::Missing,
                (None, Some(target)) => {
                    let part = span(at(&offsets, row).unwrap_or(0), at(&sizes, row).unwrap_or(0))?;
                    Row::File { target, part }
                }
            };
            record.rows.push(row);
        }
        Ok(record)
    }

    /// Returns the numbers of the targets, each of which is added once.
    fn targets(&mut self, paths: Column, allowed: &Allowed) -> Result<Option<Vec<Option<usize>>>, String> {
        let Some(paths) = paths else { return Ok(None) };
        let mut known: HashMap<Bytes, usize> = HashMap::new();
        let mut numbers = Vec::new();
        for path in paths {
            numbers.push(match path {
                None => None,
                Some(Cell::Integer(_)) => return Err("column `path` is not text".to_owned()),
                Some(Cell::Bytes(path)) => Some(match known.get(&path) {
                    Some(number) => *number,
                    None => {
                        let text = str::from_utf8(&path).map_err(|_| "a path is not UTF-8")?;
                        self.targets.push(allowed.find(text).map(Arc::new).map_err(Arc::from));
                        known.insert(path, self.targets.len() - 1);
                        self.targets.len() - 1
                    }
                }),
            });
        }
        Ok(Some(numbers))
    }

    fn found(&self, row: &Row) -> Option<Found> {
        Some(match row {
            Row::Missing => return None,
            Row::Inline(bytes) => Found::Inline(bytes.clone()),
            Row::File { target, part } => {
                Found::File(FoundFile { target: self.targets.get(*target)?.clone(), part: *part })
            }
        })
    }
}

fn integers(name: &str, column: Column) -> Result<Option<Vec<Option<u64>>>, String> {
    let Some(cells) = column else { return Ok(None) };
    let integer = |cell: Option<Cell>| match cell {
        None => Ok(None),
        Some(Cell::Integer(number)) => u64::try_from(number).map(Some).map_err(|_| number),
        Some(Cell::Bytes(_)) => Err(-1),
    };
    let integers: Result<_, _> = cells.into_iter().map(integer).collect();
    integers.map(Some).map_err(|_| format!("column `{name}` does not have integers from 0"))
}

fn at<T: Copy>(column: &Option<Vec<Option<T>>>, row: usize) -> Option<T> {
    column.as_ref()?.get(row).copied().flatten()
}

fn inline(column: &Column, row: usize) -> Result<Option<Bytes>, String> {
    match column.as_ref().and_then(|cells| cells.get(row)) {
        None | Some(None) => Ok(None),
        Some(Some(Cell::Bytes(bytes))) => Ok(Some(bytes.clone())),
        Some(Some(Cell::Integer(_))) => Err("column `raw` is not bytes".to_owned()),
    }
}

/// Returns the part of a file; `None` for a whole file, whose offset and size are 0.
fn span(offset: u64, size: u64) -> Result<Option<Span>, String> {
    if (offset, size) == (0, 0) {
        return Ok(None);
    }
    offset.checked_add(size).ok_or_else(|| format!("offset {offset} and size {size} are too large"))?;
    Ok(Some(Span { offset, size }))
}
