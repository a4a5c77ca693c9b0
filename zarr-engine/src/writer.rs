//! Writes elements: plan, gather, encode, store.
//!
//! The plan lists the chunks to which the elements belong. Each chunk becomes a [`Job`]: the elements are gathered in
//! storage order, encoded, and stored while the chunk is locked. A chunk that is written partially is fetched and
//! decoded first.
//!
//! With a local store, a thread does all of this for one chunk after another. With a remote store, some threads encode
//! and others store the encoded chunks: see `far`.

mod encode;
mod far;
mod gather;
mod job;
mod parallel;
mod shard;

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_spec::store::Backoff;

use crate::error::Error;
use crate::plan::Plan;
use crate::reader::whole_plan;
use crate::scratch::Scratch;
use crate::selection::ElementSelection;
use crate::stored::{OldValue, StoredArray};

use job::{ChunkElements, Job};
use parallel::EncodeOn;
use shard::PreEncoded;

pub(crate) use job::{FixedElements, Source};

struct Write<'w> {
    array: &'w StoredArray,
    plan: &'w Plan<'w>,
    source: Source<'w>,
    /// The strides of the source in elements, per dimension of the array.
    strides: &'w [usize],
}

/// The stored value of a chunk that is changed, and the bytes of the value.
#[derive(Clone, Copy)]
struct OldBytes<'o> {
    value: &'o OldValue,
    bytes: Option<&'o [u8]>,
}

impl StoredArray {
    pub(crate) fn write_elements(&self, wanted: &ElementSelection, source: Source<'_>) -> Result<(), Error> {
        let plan = self.plan(wanted)?;
        let strides = wanted.strides(self.metadata.shape.len())?;
        let write = Write { array: self, plan: &plan, source, strides: &strides };
        self.plan_progress(plan.len());
        match self.resolved.store.read_hints().max_concurrency {
            0 => write.chunk_by_chunk(),
            concurrency => write.far(concurrency),
        }
    }

    /// Calls `use_value` with the value of a whole chunk of this shape, given all its elements; with `None` if the value
    /// should not be stored.
    pub(crate) fn encode_value<R>(
        &self,
        index: &[u64],
        shape: &[u64],
        whole: &ElementSelection,
        source: Source<'_>,
        mut use_value: impl FnMut(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        let plan = whole_plan(shape, whole)?;
        let piece = plan.piece(0)?;
        let strides = whole.strides(shape.len())?;
        let elements = ChunkElements { piece: &piece, source, strides: &strides };
        let pipeline = self.pipeline(index, shape)?;
        let chunk = index;
        let elements = &elements;
        let pipeline = &*pipeline;
        let job = Job { chunk, pipeline, elements, is_whole: true, is_part: false, parallel: None };
        self.with_memory(
            job.needing(),
            |allowance| self.need_of_writing(&job, allowance),
            |scratch, _| Ok(use_value(self.encoded_value(&job, None, &PreEncoded::new(), scratch)?)),
        )
    }

    /// Stores the value of a chunk, or erases it. The caller holds its lock.
    pub(crate) fn store(&self, chunk: &[u64], value: Option<&[u8]>) -> Result<(), Error> {
        self.check_need(chunk, value.map_or(0, <[u8]>::len) as u64)?;
        self.forget_index(chunk);
        match value {
            Some(value) => self.with_key(chunk, |key| Ok(self.resolved.store.set(key, value.into())?)),
            None => self.erase(chunk),
        }
    }
}

impl<'w> Write<'w> {
    fn chunk_by_chunk(&self) -> Result<(), Error> {
        let array = self.array;
        let total = match self.source {
            Source::Fixed(elements) => elements.bytes.len(),
            Source::Variable(_) => usize::MAX,
        };
        let threads = array.context().thread_count();
        let has_shards = array.resolved.chain.shard().is_some() && threads > 1;
        let left = AtomicUsize::new(self.plan.len());
        array.for_each(self.plan.len(), total, |number| {
            // Each thread writes its own shards. Threads that have finished help with the last shards.
            let is_last = has_shards && left.fetch_sub(1, Ordering::Relaxed) <= threads;
            let encode_on = if is_last { EncodeOn::ContextThreads } else { EncodeOn::OneThread };
            self.with_elements(number, |elements| {
                let pipeline = array.pipeline_of(elements.piece.chunk(), elements.piece)?;
                array.with_encoding(array.job(elements, &pipeline)?, encode_on, |job| match job.is_whole {
                    true => array.write_whole(job),
                    false => array.write_part(job),
                })
            })?;
            array.advance_progress(1);
            Ok(())
        })
    }

    fn with_elements<R>(
        &self,
        number: usize,
        work: impl FnOnce(&ChunkElements<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let piece = self.plan.piece(number)?;
        work(&ChunkElements { piece: &piece, source: self.source, strides: self.strides })
    }
}

impl StoredArray {
    /// Writes a whole chunk. The lock is held only while it is stored.
    fn write_whole(&self, job: &Job<'_>) -> Result<(), Error> {
        self.with_memory(
            job.needing(),
            |allowance| self.need_of_writing(job, allowance),
            |scratch, _| {
                let value = self.encoded_value(job, None, &PreEncoded::new(), scratch)?;
                let _chunk_lock = self.lock(job.chunk);
                self.store(job.chunk, value)
            },
        )
    }

    /// Writes a part of a chunk: fetches, decodes, changes and stores it while it is locked. Starts again if another
    /// program changes the chunk meanwhile.
    fn write_part(&self, job: &Job<'_>) -> Result<(), Error> {
        let need = |allowance| self.need_of_writing(job, allowance);
        self.with_memory(job.needing(), need, |scratch, allowance| {
            let pre_encoded = self.pre_encoded(job, &mut scratch.written)?;
            // The stored bytes are needed until the new value is complete.
            let mut buffer = mem::take(&mut scratch.encoded);
            let mut backoff = Backoff::new();
            loop {
                // While the lock is held, all work is done on this thread: a wait for rayon could run a job that needs
                // the same lock.
                let chunk_lock = self.lock(job.chunk);
                let mut output = buffer.output(self.value_limit(Some(allowance.encoded)));
                let old = self.get_to_change(job.chunk, &mut output)?;
                let bytes = old.found.as_ref().map(|found| found.bytes(&output));
                let value =
                    self.changed_value(job, OldBytes { value: &old, bytes }, &pre_encoded, scratch)?;
                if self.store_changed(job.chunk, value, &old)? {
                    break;
                }
                drop(chunk_lock);
                self.with_key(job.chunk, |key| Ok(backoff.wait(key)?))?;
            }
            scratch.encoded = buffer;
            Ok(())
        })
    }

    /// Returns the new value of a chunk that is written partially; `None` if it is erased.
    fn changed_value<'w>(
        &self,
        job: &Job<'_>,
        old: OldBytes<'_>,
        pre_encoded: &PreEncoded,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        let OldBytes { value, bytes } = old;
        if self.cannot_erase(value) && self.encoded_value(job, bytes, pre_encoded, scratch)?.is_none() {
            return self.storing_fill_values().encoded_value(job, bytes, &PreEncoded::new(), scratch);
        }
        self.encoded_value(job, bytes, pre_encoded, scratch)
    }
}
