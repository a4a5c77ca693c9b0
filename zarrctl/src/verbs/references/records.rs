//! References in Parquet files: a folder with `.zmetadata`, and files with a fixed number of references for each array.
//!
//! Source: `LazyReferenceMapper` of fsspec.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zarr_kit::Format;
use zarr_kit::json::{ParseOptions, parse};
use zarr_kit::spec::metadata_encoding::DOCUMENT_NAMES;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Key, Object, Prefix, Value};

use super::parquet::{Reference, table};
use super::{Targets, document};
use crate::failure::Failure;
use crate::interrupt::{self, Left};

/// The largest number of references in a file, so that its sizes have 31 bits.
pub(crate) const MAX_SIZE: u64 = 1_000_000;

/// The chunks of an array.
struct Grid {
    /// The number of chunks in each dimension.
    chunks: Vec<u64>,
    separator: char,
}

/// Writes references to `folder`, which must not exist. `.zmetadata` is written last: without it, the folder is not a
/// store.
///
/// # Errors
///
/// If an array is not one that such references can describe, or if writing fails.
pub(super) fn write(store: &dyn Store, format: Format, folder: &Path, size: u64) -> Result<(), Failure> {
    if format != Format::V2 {
        return Err(Failure::fault(
            "references in Parquet files describe v2; copy the hierarchy with `zarrctl copy --format v2`, or write \
             JSON",
        ));
    }
    let targets = Targets::of(store)?;
    let keys = store.list_sorted(&Prefix::root())?;
    let mut documents = Object::new();
    let mut grids = BTreeMap::new();
    for key in keys.iter().filter(|key| DOCUMENT_NAMES.contains(&key.name()) && key.name() != ".zmetadata") {
        let text = document(store, key)?;
        let wrong = |error: &dyn std::fmt::Display| Failure::fault(format!("`{key}`: {error}"));
        let text = text.as_str().unwrap_or_default().as_bytes();
        let mut parsed = parse(text, &ParseOptions::default()).map_err(|error| wrong(&error))?.value;
        if key.name() == ".zarray" {
            let grid = Grid::take(&mut parsed).ok_or_else(|| wrong(&"is not the document of an array"))?;
            if key.as_str() == ".zarray" {
                return Err(Failure::fault(
                    "references in Parquet files describe a group, and the root is an array",
                ));
            }
            grids.insert(key.parent().as_str().to_owned(), grid);
        }
        documents.insert(key.as_str(), parsed);
    }
    interrupt::watch(Left::file(folder))?;
    let at = |error: io::Error| Failure::Io(error).while_at(&folder.display().to_string());
    fs::create_dir(folder).map_err(at)?;
    for (path, grid) in &grids {
        for (number, rows) in records(&keys, path, grid, size, &targets)? {
            let file = folder.join(path).join(format!("refs.{number}.parq"));
            put(file, &table(&rows))?;
        }
    }
    let mut metadata = Object::new();
    metadata.insert("metadata", documents);
    metadata.insert("record_size", size);
    put(folder.join(".zmetadata"), Value::Object(metadata).to_string().as_bytes())
}

/// Returns the rows of each file of an array that has references.
fn records(
    keys: &[Key],
    path: &str,
    grid: &Grid,
    size: u64,
    targets: &Targets,
) -> Result<BTreeMap<u64, Vec<Option<Reference>>>, Failure> {
    let count: u64 = grid.chunks.iter().product();
    let mut records = BTreeMap::new();
    let first = keys.partition_point(|key| key.as_str() < path);
    for key in &keys[first..] {
        let Some(name) = key.as_str().strip_prefix(path) else { break };
        let Some(chunk) = grid.number(name) else { continue };
        let rows = records.entry(chunk / size).or_insert_with(|| {
            let rows = size.min(count - chunk / size * size);
            vec![None; usize::try_from(rows).unwrap_or_default()]
        });
        let row = usize::try_from(chunk % size).ok().and_then(|row| rows.get_mut(row));
        if let Some(row) = row {
            *row = Some(targets.reference(key)?);
        }
    }
    Ok(records)
}

impl Grid {
    /// Returns the chunks of an array. The names of its chunks get the separator that fsspec expects: their numbers
    /// stay the same.
    fn take(document: &mut Value) -> Option<Self> {
        let members = document.as_object_mut()?;
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
        chunks.iter().try_fold(1_u64, |count, chunks| count.checked_mul(*chunks))?;
        let separator = match members.get("dimension_separator").and_then(Value::as_str) {
            Some("/") => '/',
            _ => '.',
        };
        if separator == '/' {
            members.insert("dimension_separator", ".");
        }
        Some(Self { chunks, separator })
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
}

fn put(file: PathBuf, bytes: &[u8]) -> Result<(), Failure> {
    let at = |error: io::Error| Failure::Io(error).while_at(&file.display().to_string());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(at)?;
    }
    let mut created = File::create_new(&file).map_err(at)?;
    created.write_all(bytes).map_err(at)?;
    created.sync_all().map_err(at)
}
