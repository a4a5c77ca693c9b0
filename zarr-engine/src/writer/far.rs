//! Writes chunks to a remote store: some threads encode chunks, and many others, which usually wait for the store,
//! store them.

use zarr_spec::Output;
use zarr_spec::store::Backoff;

use super::job::{ChunkElements, Job};
use super::parallel::EncodeOn;
use super::shard::PreEncoded;
use super::{OldBytes, Write};
use crate::budget::Permit;
use crate::error::Error;
use crate::flight::{self, IoBudget, IoPermit};
use crate::memory::Memory;
use crate::scratch::Scratch;
use crate::stored::{Allowance, OldValue, StoredArray, is_too_large};

/// A chunk that is being written to a remote store.
struct FarChunk<'f> {
    number: usize,
    change: FarChange,
    io_permit: IoPermit<'f>,
    permit: Permit<'f>,
}

enum FarChange {
    /// The new value of the whole chunk; `None` if it should not be stored.
    Replace(Option<Memory>),
    /// A change of a part of the chunk. The allowance is for fetching and decoding it.
    Modify(Allowance),
}

struct Modified {
    value: Option<Memory>,
    old: OldValue,
}

impl Write<'_> {
    /// Writes all chunks, with at most `concurrency` requests at a time.
    pub(super) fn far(&self, concurrency: usize) -> Result<(), Error> {
        let array = self.array;
        let threads = array.context().thread_count();
        // With fewer than two shards per thread, the inner chunks of each shard are encoded on all threads.
        let few_shards = array.resolved.chain.shard().is_some() && self.plan.len() < 2 * threads;
        let (processors, encode_on) = match few_shards {
            true => (1, EncodeOn::OwnThreads(threads)),
            false => (threads, EncodeOn::OneThread),
        };
        let io_budget = IoBudget::new(processors, array.budget().size() / 2);
        let mean_size = self.source.size() / self.plan.len().max(1);
        let far = FarWrite { array, encode_on, mean_size, io_budget: &io_budget };
        flight::produce_and_store(
            self.plan.len(),
            processors,
            concurrency.max(processors),
            |number| self.with_elements(number, |elements| far.encode(number, elements)),
            |made: FarChunk<'_>| {
                self.with_elements(made.number, |elements| {
                    array.context().requests.acquire(1).call(|| far.store(made, elements))
                })?;
                array.advance_progress(1);
                Ok(())
            },
        )
    }
}

/// The state that the encoding and the storing threads share.
struct FarWrite<'f> {
    array: &'f StoredArray,
    encode_on: EncodeOn,
    /// The mean size of the elements of a chunk in bytes, for elements of variable size.
    mean_size: usize,
    io_budget: &'f IoBudget,
}

impl<'f> FarWrite<'f> {
    /// Encodes a chunk that is written as a whole, and acquires the memory for storing any chunk, because storing
    /// threads do not wait for memory. While other threads compute, only the encoded value is in memory.
    fn encode(&self, number: usize, elements: &ChunkElements<'_>) -> Result<FarChunk<'f>, Error> {
        let Self { array, io_budget, mean_size, .. } = *self;
        array.context().check_cancelled()?;
        let pipeline = array.pipeline_of(elements.piece.chunk(), elements.piece)?;
        let decoded = pipeline.array.size().limit().and_then(|size| usize::try_from(size).ok());
        let mut io_permit = io_budget.acquire(decoded.unwrap_or(mean_size));
        let job = array.job(elements, &pipeline)?;
        let size = pipeline.encoded_size.limit().unwrap_or(decoded.unwrap_or(mean_size) as u64);
        if !job.is_whole {
            let allowance = array.first_allowance(job.needing())?;
            let need = array.need_of_writing(&job, allowance).saturating_add(size);
            array.check_need(job.chunk, need)?;
            let permit = array.budget().acquire(need);
            return Ok(FarChunk { number, change: FarChange::Modify(allowance), io_permit, permit });
        }
        let (value, mut permit) = array.with_encoding(job, self.encode_on, |job| {
            let need = |allowance| array.need_of_writing(job, allowance);
            array.with_memory_and_permit(job.needing(), need, size, |scratch, _| {
                self.computed(scratch, |scratch| array.encoded_value(job, None, &PreEncoded::new(), scratch))
            })
        })?;
        let size = value.as_ref().map_or(0, Memory::len);
        io_permit.resize(size);
        permit.resize(size as u64);
        Ok(FarChunk { number, change: FarChange::Replace(value), io_permit, permit })
    }

    /// Stores a chunk while it is locked. A chunk that is written partially is fetched and encoded first, and again if
    /// another program changes it meanwhile.
    fn store(&self, made: FarChunk<'_>, elements: &ChunkElements<'_>) -> Result<(), Error> {
        let Self { array, .. } = *self;
        let FarChunk { change, mut io_permit, mut permit, .. } = made;
        let chunk = elements.piece.chunk();
        let mut allowance = match change {
            FarChange::Replace(value) => {
                let _chunk_lock = array.lock(chunk);
                return array.store(chunk, value.as_deref());
            }
            FarChange::Modify(allowance) => allowance,
        };
        let pipeline = array.pipeline_of(chunk, elements.piece)?;
        let job = array.job(elements, &pipeline)?;
        let mut backoff = Backoff::new();
        loop {
            let chunk_lock = array.lock(chunk);
            let Modified { value, old } = loop {
                match self.modified_value(&job, allowance) {
                    Err(error) if is_too_large(&error) => {
                        allowance = array.larger_allowance(job.needing(), allowance, error)?;
                        let need = array.need_of_writing(&job, allowance);
                        array.check_need(chunk, need)?;
                        permit.resize(need.max(permit.size()));
                    }
                    value => break value?,
                }
            };
            let size = value.as_ref().map_or(0, Memory::len);
            io_permit.resize(size);
            permit.resize(size as u64);
            if array.store_changed(chunk, value.as_deref(), &old)? {
                return Ok(());
            }
            drop(chunk_lock);
            array.with_key(chunk, |key| Ok(backoff.wait(key)?))?;
            permit.resize(array.need_of_writing(&job, allowance));
        }
    }

    /// Returns the new value of a chunk that is written partially. The caller holds the lock of the chunk and memory
    /// for it.
    fn modified_value(&self, job: &Job<'_>, allowance: Allowance) -> Result<Modified, Error> {
        let Self { array, .. } = *self;
        array.budget().with_paid_scratch(|scratch| {
            scratch.stages.unknown = allowance.unknown;
            let mut output = Output::at_most(array.value_limit(Some(allowance.encoded)));
            let old = array.get_to_change(job.chunk, &mut output)?;
            let bytes = old.found.as_ref().map(|found| found.bytes(&output));
            let value = self.computed(scratch, |scratch| {
                array.changed_value(job, OldBytes { value: &old, bytes }, &PreEncoded::new(), scratch)
            })?;
            Ok(Modified { value, old })
        })
    }

    /// Encodes a chunk, once a processor is free.
    fn computed(
        &self,
        scratch: &mut Scratch,
        encode: impl for<'s> FnOnce(&'s mut Scratch) -> Result<Option<&'s [u8]>, Error>,
    ) -> Result<Option<Memory>, Error> {
        self.io_budget.with_cpu(|| {
            let Some(value) = encode(scratch)? else { return Ok(None) };
            let (mut memory, _) = self.array.context().buffer_pool.get(value.len())?;
            memory.copy_from_slice(value);
            Ok(Some(memory))
        })
    }
}
