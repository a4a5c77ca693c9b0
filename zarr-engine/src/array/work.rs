//! What all work on the chunks of an array shares: plans, pipelines, memory, threads, errors.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use zarr_metadata::ArrayMetadata;
use zarr_spec::Object;
use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::{ArrayRepresentation, Buffer, FillValue, Format, Registry};

use super::ArrayInner;
use crate::context::{PARALLEL, PORTION, Threads, UndefinedFill};
use crate::error::Error;
use crate::flight;
use crate::per_dimension::PerDimension;
use crate::pipeline::{Stages, StepError};
use crate::plan::{Piece, Plan};
use crate::resolve::UsedFallback;
use crate::selection::ElementSelection;

/// The buffers that one thread works in.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Bytes from the store.
    pub(crate) encoded: Buffer,
    /// Between them and elements.
    pub(crate) stages: Stages,
    /// A value that is being put together.
    pub(crate) value: Buffer,
    /// Elements that are being put together.
    pub(crate) written: Stages,
}

impl Scratch {
    /// Bytes of all its buffers.
    pub(crate) fn size(&self) -> u64 {
        let Self { encoded, stages, value, written } = self;
        (encoded.capacity() + value.capacity()) as u64 + stages.size() + written.size()
    }
}

/// Pipelines of uncommon chunk shapes that one array caches: a grid may have as many shapes as chunks.
const CACHED_PIPELINES: usize = 256;

/// Pipelines by the shapes of chunks. Most chunks have one shape, which takes no lock.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    common: OnceLock<Arc<Pipeline>>,
    others: Mutex<HashMap<Vec<u64>, Arc<Pipeline>>>,
    decoding: OnceLock<Arc<str>>,
}

impl ArrayInner {
    /// The chunks that are concerned, and what of them.
    ///
    /// # Errors
    ///
    /// If the grid does not know an element, or there are too many chunks.
    pub(crate) fn plan<'s>(&'s self, wanted: &'s ElementSelection) -> Result<Plan<'s>, Error> {
        let axes = (0..self.metadata.shape.len()).map(|dimension| self.resolved.grid.axis(dimension));
        Ok(match wanted {
            ElementSelection::Box { runs, .. } => Plan::new(axes.zip(runs))?,
            ElementSelection::Points(points) => Plan::of_points(axes.collect(), points)?,
        })
    }

    /// What decodes and encodes the chunk that `piece` is of.
    ///
    /// # Errors
    ///
    /// As [`ArrayInner::pipeline`].
    pub(crate) fn pipeline_of(&self, piece: &Piece<'_>) -> Result<Arc<Pipeline>, Error> {
        let extents = piece.extents()?;
        let mut shape = PerDimension::new(extents.len(), 0);
        for (length, extent) in shape.iter_mut().zip(&*extents) {
            *length = extent.length();
        }
        self.pipeline(piece.cell(), &shape)
    }

    /// What decodes and encodes the chunk at `index`, if it has this shape.
    ///
    /// # Errors
    ///
    /// If a codec cannot work with the shape.
    pub(crate) fn pipeline(&self, index: &[u64], shape: &[u64]) -> Result<Arc<Pipeline>, Error> {
        let resolve = || {
            let chunk = ArrayRepresentation { shape: shape.to_vec(), ..self.resolved.chunk.clone() };
            let pipeline = self.resolved.chain.resolve(&chunk);
            pipeline.map(Arc::new).map_err(|error| self.chunk_error(index, error))
        };
        let Pipelines { common, others, .. } = &self.pipelines;
        if shape == self.resolved.chunk.shape {
            if let Some(pipeline) = common.get() {
                return Ok(Arc::clone(pipeline));
            }
            let pipeline = resolve()?;
            return Ok(Arc::clone(common.get_or_init(|| pipeline)));
        }
        let mut others = others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = others.get(shape) {
            return Ok(Arc::clone(pipeline));
        }
        let pipeline = resolve()?;
        if others.len() == CACHED_PIPELINES {
            others.clear();
        }
        others.insert(shape.to_vec(), Arc::clone(&pipeline));
        Ok(pipeline)
    }

    /// All that decoded chunks depend on besides their stored bytes: arrays that agree in it may share them.
    pub(crate) fn decoding(&self) -> &Arc<str> {
        self.pipelines.decoding.get_or_init(|| {
            let context = self.context();
            let metadata = ArrayMetadata {
                // Chunks of one shape are where their indices say.
                shape: match self.resolved.grid.chunk_shape() {
                    Some(_) => Vec::new(),
                    None => self.metadata.shape.clone(),
                },
                attributes: Object::new(),
                dimension_names: None,
                ignored: Object::new(),
                ..self.metadata.clone()
            };
            let mode = context.mode;
            let fallback = &self.resolved.fallback;
            format!("{metadata:?} {mode:?} {fallback:?} {}", plugins(&context.registry)).into()
        })
    }

    /// Runs `work` for each number, on several threads where that pays for `total` bytes. No lock may be held: while
    /// rayon waits, it runs what else there is.
    pub(crate) fn for_each(
        &self,
        count: usize,
        total: usize,
        work: impl Fn(usize) -> Result<(), Error> + Send + Sync,
    ) -> Result<(), Error> {
        if !self.is_parallel(count, total) {
            return (0..count).try_for_each(work);
        }
        let context = self.context();
        if let Threads::Scoped(threads) = context.threads {
            return flight::each(count, threads, work);
        }
        context.run(|| {
            // Whoever has nothing left can take over any portion that is not begun: left alone, rayon makes one of a
            // quarter of all where there are two threads.
            let worthwhile = PORTION.checked_div(total / count).unwrap_or(count).max(1);
            let portion = worthwhile.min(count.div_ceil(16 * context.thread_count()));
            let numbers = (0..count).into_par_iter().with_min_len(portion).with_max_len(portion);
            numbers.try_for_each(work)
        })
    }

    /// Whether several threads pay for so many pieces of work on `total` bytes.
    pub(crate) fn is_parallel(&self, count: usize, total: usize) -> bool {
        count > 1 && total >= PARALLEL && !matches!(self.context().threads(), Threads::Caller)
    }

    /// The limit of an encoded value: its size where the chain fixes it, and never more than the memory budget.
    pub(crate) fn value_limit(&self, exact: Option<u64>) -> usize {
        let limit = self.budget().size();
        // A value that is too long by a byte is an error of the chunk, not of the store.
        let limit = exact.map_or(limit, |exact| limit.min(exact.saturating_add(1)));
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// The fill value, for a chunk that is not stored.
    ///
    /// # Errors
    ///
    /// If it is undefined, unless the context has zeros then.
    pub(crate) fn checked_fill(&self, index: &[u64]) -> Result<&FillValue, Error> {
        let undefined = self.resolved.fill_is_undefined && self.metadata.format != Format::V2;
        if undefined && self.context().undefined_fill == UndefinedFill::Deny {
            let path = self.path.clone();
            let index = index.to_vec();
            return Err(Error::UndefinedFillValue { path, index, reason: self.undefined_fill() });
        }
        Ok(&self.resolved.chunk.fill_value)
    }

    /// Why there is no fill value.
    fn undefined_fill(&self) -> String {
        match (&self.resolved.fallback, &self.metadata.fill_value) {
            (Some(UsedFallback { unknown, used }), fill) if !fill.is_null() => format!(
                "the array's fill value {fill} is one of data type {unknown}, which is not known, and not of its fallback {used}"
            ),
            _ => "the array's fill value is undefined (null)".to_owned(),
        }
    }

    /// Says where an error of a codec came up.
    pub(crate) fn chunk_error(&self, index: &[u64], error: impl Into<StepError>) -> Error {
        let key = self.key(index).map_or_else(|_| String::new(), |key| key.to_string());
        let StepError { codec, source } = error.into();
        Error::Chunk {
            path: self.path.clone(),
            index: index.to_vec(),
            key,
            inner: None,
            codec,
            source: Box::new(source),
        }
    }
}

/// Tells the plugins of one registry from those of another that have the same names.
fn plugins(registry: &Registry) -> u64 {
    let mut hasher = DefaultHasher::new();
    registry.codecs().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.data_types().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.chunk_grids().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.memory_layouts().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    registry.storage_transformers().iter().for_each(|plugin| std::ptr::hash(plugin.create, &mut hasher));
    hasher.finish()
}
