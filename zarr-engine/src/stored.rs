//! An open array without its hierarchy: its grid, codecs and chunk keys, and the resources that reading and writing
//! use.
//!
//! This module does not depend on the handles [`Array`](crate::Array), [`Group`](crate::Group) and
//! [`Hierarchy`](crate::Hierarchy). Arrays share only the context.

mod allowance;
mod chunk_boxes;
mod clear;
mod erase;
mod index_cache;
mod keys;
mod pipelines;
mod update;
mod values;
mod work;

use std::sync::Arc;

use zarr_metadata::ArrayMetadata;
use zarr_spec::{FillValue, Format, NodePath, Pool, Prefix};

use crate::budget::MemoryBudget;
use crate::context::{ArrayOptions, Context, UndefinedFill};
use crate::error::{ChunkError, Error, UndefinedFillValue};
use crate::pipeline::StepError;
use crate::resolve::{Resolved, UsedFallback};

pub(crate) use allowance::{Allowance, Needing, is_too_large};
pub(crate) use chunk_boxes::{ChunkBox, boxes_between};
pub(crate) use clear::{Clearing, FillChunk, Guard, MayClear};
pub(crate) use index_cache::CachedIndex;
pub(crate) use update::OldValue;

use index_cache::IndexCache;
use pipelines::Pipelines;

#[derive(Debug, Clone)]
pub(crate) struct ArrayPlace {
    pub(crate) chunks: Prefix,
    /// The alternative key of the only chunk of a zero-dimensional array.
    pub(crate) scalar_key: Option<ScalarKey>,
    pub(crate) read_only: Option<String>,
}

/// An alternative key that some writers of the draft use for the only chunk of a zero-dimensional array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScalarKey {
    /// The key without the prefix of the array.
    pub(crate) name: &'static str,
    /// Whether it is read before the key that the specification defines.
    pub(crate) is_first: bool,
}

/// An open array without its hierarchy.
pub(crate) struct StoredArray {
    pub(crate) path: NodePath,
    pub(crate) metadata: Arc<ArrayMetadata>,
    pub(crate) place: ArrayPlace,
    pub(crate) resolved: Arc<Resolved>,
    pub(crate) options: ArrayOptions,
    pub(crate) context: Arc<Context>,
    /// Memory for chunk keys.
    keys: Pool<String>,
    pipelines: Pipelines,
    indexes: IndexCache,
    /// Distinguishes the chunk locks of this array from those of other arrays.
    lock_seed: u64,
    /// A document that must be unchanged when a part of a chunk is stored. It is boxed, because few arrays have one.
    guard: Option<Box<Guard>>,
}

/// The parts of an array that are determined when it is opened.
pub(crate) struct Opened {
    pub(crate) path: NodePath,
    pub(crate) metadata: Arc<ArrayMetadata>,
    pub(crate) resolved: Arc<Resolved>,
    pub(crate) options: ArrayOptions,
}

impl StoredArray {
    pub(crate) fn new(opened: Opened, place: ArrayPlace, context: Arc<Context>, lock_seed: u64) -> Self {
        let Opened { path, metadata, resolved, options } = opened;
        Self {
            path,
            metadata,
            place,
            resolved,
            options,
            context,
            keys: Pool::new(),
            pipelines: Pipelines::default(),
            indexes: IndexCache::default(),
            lock_seed,
            guard: None,
        }
    }

    pub(crate) fn replaced(&self, resolved: Arc<Resolved>, context: Arc<Context>) -> Self {
        let Self { path, metadata, options, .. } = self;
        let opened =
            Opened { path: path.clone(), metadata: Arc::clone(metadata), resolved, options: *options };
        Self::new(opened, self.place.clone(), context, self.lock_seed)
    }

    /// Returns the same array. Parts of its chunks are stored only while a document is unchanged.
    pub(crate) fn guarded(&self, guard: Guard) -> Self {
        let array = self.replaced(Arc::clone(&self.resolved), Arc::clone(&self.context));
        Self { guard: Some(Box::new(guard)), ..array }
    }

    pub(crate) fn guard(&self) -> Option<&Guard> {
        self.guard.as_deref()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.context.budget
    }

    /// Returns whether the store is remote: each request is a round trip, so that many requests should be in flight.
    pub(crate) fn is_far(&self) -> bool {
        self.resolved.store.read_hints().max_concurrency > 0
    }

    /// Checks that chunks may be stored and erased. The error names the reason.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if let Some(reason) = &self.place.read_only {
            return Err(Error::NotSupported(format!("{} cannot be written: {reason}", self.path)));
        }
        self.check_fallback()
    }

    /// Checks that elements may be written. The error names the reason.
    pub(crate) fn check_elements_writable(&self) -> Result<(), Error> {
        self.check_writable()?;
        self.check_encodes("written")
    }

    /// Checks that all codecs can encode. The error states that the array cannot be `done`, which is "created" or
    /// "written".
    pub(crate) fn check_encodes(&self, done: &str) -> Result<(), Error> {
        match &self.resolved.decode_only {
            Some(codec) => Err(Error::NotSupported(format!("{} cannot be {done}: {codec}", self.path))),
            None => Ok(()),
        }
    }

    /// Checks that elements may be written if their data type is a fallback. The error names both data types.
    pub(crate) fn check_fallback(&self) -> Result<(), Error> {
        let may_write = self.options.write_fallback.unwrap_or(self.context.write_fallback);
        if let Some(UsedFallback { unknown, used }) = &self.resolved.fallback
            && !may_write
        {
            return Err(Error::NotSupported(format!(
                "{} cannot be written: its data type {unknown} is unknown, and elements of its fallback {used} \
                 are written only when asked for",
                self.path
            )));
        }
        Ok(())
    }

    /// Returns whether chunks that hold only the fill value are stored: if the context requests it, or if other
    /// programs may use another fill value.
    pub(crate) fn stores_fill_values(&self) -> bool {
        let is_unsure = self.resolved.fill_is_undefined || self.resolved.fallback.is_some();
        self.context.store_empty_chunks || is_unsure
    }

    /// Returns the fill value for a missing chunk. Refuses an undefined one, unless the context allows zeros instead.
    pub(crate) fn checked_fill(&self, chunk: &[u64]) -> Result<&FillValue, Error> {
        let undefined = self.resolved.fill_is_undefined && self.metadata.format != Format::V2;
        if undefined && self.context.undefined_fill == UndefinedFill::Deny {
            let path = self.path.clone();
            let index = chunk.to_vec();
            return Err(UndefinedFillValue { path, index, reason: self.undefined_fill() }.into());
        }
        Ok(&self.resolved.chunk.fill_value)
    }

    fn undefined_fill(&self) -> String {
        match (&self.resolved.fallback, &self.metadata.fill_value) {
            (Some(UsedFallback { unknown, used }), fill) if !fill.is_null() => format!(
                "the array's fill value {fill} belongs to the unknown data type {unknown}, not to its fallback {used}"
            ),
            _ => "the array's fill value is undefined (null)".to_owned(),
        }
    }

    /// Returns the largest encoded value to accept: its size if the codecs fix it, and never more than the memory
    /// budget.
    pub(crate) fn value_limit(&self, exact: Option<u64>) -> usize {
        let limit = self.budget().size();
        // One byte more, so that a value that is too long is an error of the chunk, not of the store.
        let limit = exact.map_or(limit, |exact| limit.min(exact.saturating_add(1)));
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Adds the chunk to the error of a codec.
    pub(crate) fn chunk_error(&self, chunk: &[u64], error: impl Into<StepError>) -> Error {
        let key = self.key(chunk).map_or_else(|_| String::new(), |key| key.to_string());
        let StepError { codec, inner, source } = error.into();
        let inner = inner.map(Into::into);
        ChunkError { path: self.path.clone(), index: chunk.to_vec(), key, inner, codec, source }.into()
    }
}
