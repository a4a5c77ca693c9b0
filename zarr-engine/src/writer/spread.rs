//! Inner chunks of one shard that several threads encode.
//!
//! The thread that writes the shard holds memory, so it waits for no thread that may wait for memory: the others help only
//! while there is memory for them, and it encodes alone what they do not take.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::chunk::ChunkWrite;
use super::shard::ShardPart;
use super::source::Part;
use crate::context::PORTION;
use crate::error::Error;
use crate::needs;
use crate::pipeline::Stages;
use crate::stored::StoredArray;

/// Where the inner chunks of a shard are encoded, those of which nothing is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// On the thread that writes the shard.
    No,
    /// On that thread, and on all others of the context that have nothing else to do.
    OverContext,
    /// On so many threads of their own.
    OverThreads(usize),
}

/// An inner chunk that was encoded on any thread.
pub(super) struct EncodedInner {
    /// Of its piece.
    pub(super) number: usize,
    pub(super) position: usize,
    /// `None` if it is not to be stored.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Inner chunks that are encoded on several threads, and what is done of them.
struct Spreading<'s> {
    part: ShardPart<'s>,
    numbers: Vec<usize>,
    /// Inner chunks that one thread takes at a time.
    portion: usize,
    /// Bytes that encoding takes on each thread.
    need: u64,
    progress: Mutex<Progress>,
    has_more: Condvar,
}

#[derive(Default)]
struct Progress {
    /// The portion that is taken next.
    next: usize,
    encoded: BTreeMap<usize, Result<Vec<EncodedInner>, Error>>,
    /// Whether a thread panicked, so that a portion will not come.
    is_lost: bool,
}

/// A [`Spreading`], and what makes other threads help.
#[derive(Clone, Copy)]
pub(super) struct Started<'s> {
    spreading: &'s Spreading<'s>,
    start: &'s dyn Fn(),
}

/// Notes a panic, so that no thread waits for what will not come.
struct Lost<'s>(&'s Spreading<'s>);

impl StoredArray {
    /// Calls `write` with the target, spread over several threads if that pays. No lock and no memory may be held.
    pub(super) fn with_spread<R>(
        &self,
        target: ChunkWrite<'_>,
        part: &Part<'_>,
        spread: Spread,
        write: impl FnOnce(&ChunkWrite<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let Some(spreading) = self.spreading(&target, part, spread)? else { return write(&target) };
        let others = spreading.portions().saturating_sub(1);
        let write = |start: &dyn Fn()| write(&target.spread_over(Started { spreading: &spreading, start }));
        match spread {
            Spread::OverThreads(threads) => thread::scope(|scope| {
                write(&|| {
                    for _ in 0..others.min(threads.saturating_sub(1)) {
                        // Where there are no more threads, this one does the work.
                        let help = || spreading.help();
                        if thread::Builder::new().spawn_scoped(scope, help).is_err() {
                            break;
                        }
                    }
                })
            }),
            Spread::OverContext | Spread::No => {
                self.context().run_helped(others, || spreading.help(), |start| write(start))
            }
        }
    }

    fn spreading<'s>(
        &'s self,
        target: &ChunkWrite<'s>,
        part: &'s Part<'s>,
        spread: Spread,
    ) -> Result<Option<Spreading<'s>>, Error> {
        let Some(shard) = target.pipeline.shard().filter(|_| spread != Spread::No) else { return Ok(None) };
        let part = ShardPart::new(self, target.chunk, shard, part)?;
        let numbers = part.to_spread(target.is_whole())?;
        if !part.is_worth_spreading(numbers.len()) {
            return Ok(None);
        }
        let portion = (PORTION / part.inner_size().max(1)).max(1);
        let need = needs::encoding(part.inner(), self.first_unknown(part.inner(), 0));
        let progress = Mutex::default();
        let has_more = Condvar::new();
        Ok(Some(Spreading { part, numbers, portion, need, progress, has_more }))
    }
}

impl Started<'_> {
    /// Encodes all inner chunks, with the help of other threads, and hands them to `put` in their order, on this one: what
    /// waits for its turn is about as much as one of the threads is behind. No lock may be held.
    pub(super) fn run(
        self,
        stages: &mut Stages,
        mut put: impl FnMut(EncodedInner) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let spreading = self.spreading;
        // It may be run again, where the chunk turned out to need more memory.
        *spreading.lock() = Progress::default();
        (self.start)();
        let mut turn = 0;
        let mut hand_over = |made: Result<Vec<EncodedInner>, Error>| made?.into_iter().try_for_each(&mut put);
        let result = (|| {
            while turn < spreading.portions() {
                if let Some(made) = spreading.take(turn)? {
                    hand_over(made)?;
                    turn += 1;
                } else if !spreading.encode_next(stages) {
                    spreading.wait(turn);
                }
            }
            Ok(())
        })();
        if result.is_err() {
            spreading.end();
        }
        result
    }
}

impl Spreading<'_> {
    fn portions(&self) -> usize {
        self.numbers.len().div_ceil(self.portion)
    }

    /// Encodes portions while there are any, and memory for that.
    fn help(&self) {
        let budget = self.part.array().budget();
        while budget.try_with_scratch(self.need, |scratch| self.encode_next(&mut scratch.written))
            == Some(true)
        {}
    }

    /// Encodes the next portion. False if there is none.
    fn encode_next(&self, stages: &mut Stages) -> bool {
        let mut progress = self.lock();
        let turn = progress.next;
        let Some(numbers) = self.numbers.chunks(self.portion).nth(turn) else { return false };
        progress.next += 1;
        drop(progress);
        let lost = Lost(self);
        let made = numbers.iter().map(|&number| self.part.encoded(number, stages)).collect();
        drop(lost);
        self.lock().encoded.insert(turn, made);
        self.has_more.notify_all();
        true
    }

    /// A portion, if it is encoded.
    fn take(&self, turn: usize) -> Result<Option<Result<Vec<EncodedInner>, Error>>, Error> {
        let mut progress = self.lock();
        match progress.encoded.remove(&turn) {
            None if progress.is_lost => Err(self.part.lost()),
            made => Ok(made),
        }
    }

    /// Waits until a portion that another thread has begun is encoded.
    fn wait(&self, turn: usize) {
        let mut progress = self.lock();
        while !progress.is_lost && !progress.encoded.contains_key(&turn) {
            progress = self.has_more.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nothing is begun from here on.
    fn end(&self) {
        self.lock().next = self.portions();
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lost<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().is_lost = true;
            self.0.has_more.notify_all();
        }
    }
}
