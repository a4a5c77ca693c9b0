//! Chunk grids, chunk key encodings, metadata encodings and generic extensions of a library, as the engine sees them.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::extension::{Extension, ExtensionPlace};
use zarr_spec::grid::{ChunkGrid, GridError};
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{BoxError, Creation, Format, Invalid, Mode, Output, Reading, Value};

use super::{Imported, invalid, lengths};
use crate::abi::{ChunkGridVtable, ChunkKeyEncodingVtable, ExtensionVtable, MetadataEncodingVtable};
use crate::ffi::creation::{show_creation, show_reading};
use crate::ffi::output::lend_output;
use crate::ffi::{EMPTY, Failure, Instance, lend, outcome, parse, required, take, take_json, take_text};

/// A chunk grid of a library. What does not depend on a chunk is asked for once.
#[derive(Debug)]
struct LoadedGrid {
    instance: Instance<ChunkGridVtable>,
    origin: Arc<str>,
    grid_shape: Vec<u64>,
    largest_chunk: Vec<u64>,
    chunk_shape: Option<Vec<u64>>,
    before_array: Vec<u64>,
    shape: Vec<u64>,
}

impl Imported<ChunkGridVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
        shape: &[u64],
    ) -> Result<Arc<dyn ChunkGrid>, GridError> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (mut this, mut json, mut err) = (std::ptr::null_mut(), EMPTY, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe {
                    create(
                        self.context,
                        creation,
                        shape.as_ptr(),
                        shape.len(),
                        &mut this,
                        &mut json,
                        &mut err,
                    )
                }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            let (json, instance) = unsafe {
                let json = take(&mut json);
                outcome(status, &mut err)?;
                (parse(&json?), Instance::new(self.vtable, this, self.vtable.destroy))
            };
            let json = json?;
            let wrong = || Failure::broken(format!("it describes its chunk grid as {json}"));
            let list = |name: &str| json.as_object()?.get(name).map(lengths);
            let fits = |lengths: &Vec<u64>| lengths.len() == shape.len();
            let grid_shape = list("grid_shape").flatten().filter(fits).ok_or_else(wrong)?;
            let largest_chunk = list("largest_chunk").flatten().filter(fits).ok_or_else(wrong)?;
            let chunk_shape = match list("chunk_shape") {
                Some(lengths) => Some(lengths.filter(fits).ok_or_else(wrong)?),
                None => None,
            };
            let before_array = match list("before_array") {
                Some(lengths) => lengths.filter(fits).ok_or_else(wrong)?,
                None => vec![0; shape.len()],
            };
            Ok(LoadedGrid {
                instance,
                origin: self.origin.clone(),
                grid_shape,
                largest_chunk,
                chunk_shape,
                before_array,
                shape: shape.to_vec(),
            })
        };
        match made() {
            Ok(grid) => Ok(Arc::new(grid)),
            Err(failure) => Err(GridError::InvalidConfiguration(invalid(&self.origin, &failure))),
        }
    }
}

impl LoadedGrid {
    fn error(&self, failure: &Failure) -> GridError {
        GridError::OutOfBounds(invalid(&self.origin, failure).to_string())
    }

    fn in_bounds(of: &[u64], dimension: usize, index: u64, what: &str) -> Result<(), GridError> {
        match of.get(dimension) {
            Some(&length) if index < length => Ok(()),
            Some(length) => Err(GridError::OutOfBounds(format!(
                "there is no {what} {index} along dimension {dimension}, which has {length}"
            ))),
            None => Err(GridError::OutOfBounds(format!("there is no dimension {dimension}"))),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl ChunkGrid for LoadedGrid {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        let (mut start, mut end) = (0, 0);
        let called = self.instance.call(|vtable, this, err| {
            let chunk_range = required(vtable.chunk_range, "chunk_range")?;
            // SAFETY: a function of the library, called with what it made and with places that it may fill.
            Ok(unsafe { chunk_range(this, dimension, chunk, &mut start, &mut end, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        let most = self.largest_chunk.get(dimension).copied().unwrap_or(0);
        let most = most.saturating_sub(self.before_array(dimension, chunk));
        if start >= end || end - start > most {
            let what = format!(
                "chunk {chunk} along dimension {dimension} is {start} to {end}, and the largest has {most}"
            );
            return Err(self.error(&Failure::broken(what)));
        }
        Ok(start..end)
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        Self::in_bounds(&self.shape, dimension, element, "element")?;
        let mut chunk = 0;
        let called = self.instance.call(|vtable, this, err| {
            let chunk_of = required(vtable.chunk_of, "chunk_of")?;
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(unsafe { chunk_of(this, dimension, element, &mut chunk, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        // The chunk must exist and have the element: what follows is computed from it. One that ends past 2^64 has no range.
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        if self.chunk_range(dimension, chunk).is_ok_and(|range| !range.contains(&element)) {
            let what = format!("element {element} along dimension {dimension} is not in chunk {chunk}");
            return Err(self.error(&Failure::broken(what)));
        }
        Ok(chunk)
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        self.chunk_shape.as_deref()
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.largest_chunk.clone()
    }

    fn before_array(&self, dimension: usize, chunk: u64) -> u64 {
        self.before_array.get(dimension).copied().filter(|_| chunk == 0).unwrap_or(0)
    }

    fn key_index(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        let Some(key_index) = self.instance.vtable.key_index else { return Ok(chunk) };
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        let mut index = 0;
        let called = self.instance.call(|_, this, err| {
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(unsafe { key_index(this, dimension, chunk, &mut index, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        Ok(index)
    }

    fn chunk_of_key(&self, dimension: usize, key_index: u64) -> Result<Option<u64>, GridError> {
        let count = self.grid_shape.get(dimension).copied().unwrap_or(0);
        let Some(chunk_of_key) = self.instance.vtable.chunk_of_key else {
            return Ok((key_index < count).then_some(key_index));
        };
        let (mut chunk, mut found) = (0, 0);
        let called = self.instance.call(|_, this, err| {
            // SAFETY: a function of the library, called with what it made and with places that it may fill.
            Ok(unsafe { chunk_of_key(this, dimension, key_index, &mut chunk, &mut found, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        if found != 0 {
            Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        }
        Ok((found != 0).then_some(chunk))
    }

    fn moved(&self, start: &[i64]) -> Result<Option<Value>, GridError> {
        let Some(moved) = self.instance.vtable.moved else { return Ok(None) };
        let mut json = EMPTY;
        let called = self.instance.call(|_, this, err| {
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(unsafe { moved(this, start.as_ptr(), start.len(), &mut json, err) })
        });
        // SAFETY: it is as the call left it.
        let json = unsafe { take(&mut json) };
        let parsed = called.and(json).and_then(|json| match json.is_empty() {
            true => Ok(None),
            false => parse(&json).map(Some),
        });
        parsed.map_err(|failure| self.error(&failure))
    }
}

/// A chunk key encoding of a library.
#[derive(Debug)]
struct LoadedKeyEncoding {
    instance: Instance<ChunkKeyEncodingVtable>,
    origin: Arc<str>,
}

impl Imported<ChunkKeyEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (mut this, mut err) = (std::ptr::null_mut(), EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe { create(self.context, creation, &mut this, &mut err) }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            unsafe {
                outcome(status, &mut err)?;
                Ok(Instance::new(self.vtable, this, self.vtable.destroy))
            }
        };
        let instance = made().map_err(|failure| invalid(&self.origin, &failure))?;
        Ok(Arc::new(LoadedKeyEncoding { instance, origin: self.origin.clone() }))
    }
}

/// Bytes that the key of a chunk may have.
const MAX_KEY: usize = 1 << 12;

impl ChunkKeyEncoding for LoadedKeyEncoding {
    /// A key cannot be refused here: one that no store has says what went wrong, so that no other chunk is taken.
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        let mut output = Output::at_most(MAX_KEY);
        let written = lend_output(&mut output, |output| {
            self.instance.call(|vtable, this, err| {
                let encode = required(vtable.encode, "encode")?;
                // SAFETY: a function of the library, called with what it made and with memory that is lent to it.
                Ok(unsafe { encode(this, chunk_index.as_ptr(), chunk_index.len(), output, err) })
            })
        });
        let text = written.and_then(|()| {
            String::from_utf8(output.into_written()).map_err(|_| Failure::broken("its key is not UTF-8"))
        });
        match text {
            Ok(text) => key.push_str(&text),
            Err(failure) => {
                key.push('\0');
                key.push_str(&invalid(&self.origin, &failure).to_string());
            }
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        let (mut index, mut found) = (vec![0; rank], 0);
        let called = self.instance.call(|vtable, this, err| {
            let decode = required(vtable.decode, "decode")?;
            // SAFETY: a function of the library, called with what it made and room for as many numbers as it is told.
            Ok(unsafe { decode(this, lend(key.as_bytes()), index.as_mut_ptr(), rank, &mut found, err) })
        });
        called.map_err(|failure| invalid(&self.origin, &failure))?;
        Ok((found != 0).then_some(index))
    }
}

/// A metadata encoding of a library.
#[derive(Debug)]
struct LoadedMetadataEncoding {
    instance: Instance<MetadataEncodingVtable>,
    origin: Arc<str>,
    key_suffix: String,
}

impl Imported<MetadataEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (mut this, mut suffix, mut err) = (std::ptr::null_mut(), EMPTY, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe { create(self.context, creation, &mut this, &mut suffix, &mut err) }
            });
            // SAFETY: all is as the call left it; what was made belongs to this side now.
            unsafe {
                let key_suffix = take_text(&mut suffix);
                outcome(status, &mut err)?;
                Ok((Instance::new(self.vtable, this, self.vtable.destroy), key_suffix?))
            }
        };
        let (instance, key_suffix) = made().map_err(|failure| invalid(&self.origin, &failure))?;
        Ok(Arc::new(LoadedMetadataEncoding { instance, origin: self.origin.clone(), key_suffix }))
    }
}

impl LoadedMetadataEncoding {
    fn error(&self, failure: &Failure) -> BoxError {
        invalid(&self.origin, failure).into()
    }
}

impl MetadataEncoding for LoadedMetadataEncoding {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let mut json = EMPTY;
        let called = self.instance.call(|vtable, this, err| {
            let decode = required(vtable.decode, "decode")?;
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(show_reading(Format::V3Draft, reading, |reading| unsafe {
                decode(this, lend(bytes), reading, &mut json, err)
            }))
        });
        // SAFETY: it is as the call left it.
        let json = unsafe { take_json(&mut json) };
        let value = called.and(json).map_err(|failure| self.error(&failure))?;
        match value.find_non_finite().filter(|_| reading.mode() == Mode::Strict) {
            Some(path) => Err(self.error(&Failure::broken(format!("the number at {path} is not finite")))),
            None => Ok(value),
        }
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        let (text, mut bytes) = (document.to_string(), EMPTY);
        let called = self.instance.call(|vtable, this, err| {
            let encode = required(vtable.encode, "encode")?;
            // SAFETY: a function of the library, called with what it made and with a place that it may fill.
            Ok(unsafe { encode(this, lend(text.as_bytes()), &mut bytes, err) })
        });
        // SAFETY: it is as the call left it.
        let bytes = unsafe { take(&mut bytes) };
        called.and(bytes).map_err(|failure| self.error(&failure))
    }

    fn key_suffix(&self) -> &str {
        &self.key_suffix
    }
}

/// A generic extension of a library: what it brings.
#[derive(Debug)]
struct LoadedExtension {
    dimension_names: Option<Vec<Option<String>>>,
    node_index: Option<String>,
}

impl Imported<ExtensionVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
        place: ExtensionPlace<'_>,
    ) -> Result<Arc<dyn Extension>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let (is_array, shape) = match place {
                ExtensionPlace::EntryPoint => (0, &[][..]),
                ExtensionPlace::Array(shape) => (1, shape),
            };
            let (mut json, mut err) = (EMPTY, EMPTY);
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its own context and with places that it may fill.
                unsafe {
                    create(self.context, creation, is_array, shape.as_ptr(), shape.len(), &mut json, &mut err)
                }
            });
            // SAFETY: all is as the call left it.
            let json = unsafe {
                let json = take_json(&mut json);
                outcome(status, &mut err).and(json)?
            };
            extension_of(&json)
                .ok_or_else(|| Failure::broken(format!("it describes its extension as {json}")))
        };
        match made() {
            Ok(extension) => Ok(Arc::new(extension)),
            Err(failure) => Err(invalid(&self.origin, &failure)),
        }
    }
}

fn extension_of(json: &Value) -> Option<LoadedExtension> {
    let members = json.as_object()?;
    let name = |name: &Value| match name {
        Value::Null => Some(None),
        name => Some(Some(name.as_str()?.to_owned())),
    };
    let dimension_names = match members.get("dimension_names") {
        None => None,
        Some(names) => Some(names.as_array()?.iter().map(name).collect::<Option<_>>()?),
    };
    let node_index = match members.get("node_index") {
        None => None,
        Some(key) => Some(key.as_str()?.to_owned()),
    };
    Some(LoadedExtension { dimension_names, node_index })
}

impl Extension for LoadedExtension {
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.dimension_names.as_deref()
    }

    fn node_index(&self) -> Option<&str> {
        self.node_index.as_deref()
    }
}
