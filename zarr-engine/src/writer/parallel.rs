//! Encoding the inner chunks of one shard on several threads.
//!
//! The thread that writes the shard holds memory, so it must not wait for a thread that may wait for memory. Other
//! threads help only while memory is free, and the writing thread encodes the inner chunks that they do not take.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::thread;

use crate::budget::MemoryBudget;
use crate::context::Context;
use crate::error::Error;
use crate::pipeline::Stages;
use crate::unpoisoned::Unpoisoned;

/// The threads that encode the inner chunks of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EncodeOn {
    /// The thread that writes the shard.
    OneThread,
    /// The writing thread and the idle threads of the context.
    ContextThreads,
    /// The given number of threads, which are started for the shard.
    OwnThreads(usize),
}

pub(super) struct EncodedInner {
    /// The number of the inner chunk's piece.
    pub(super) number: usize,
    pub(super) position: usize,
    /// The encoded bytes; `None` if the inner chunk should not be stored.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Encodes the inner chunks of a shard, one at a time, on any thread.
pub(super) trait InnerEncoder: Sync {
    fn encode(&self, number: usize, stages: &mut Stages) -> Result<EncodedInner, Error>;

    /// Returns the error for inner chunks that another thread did not finish, because it panicked.
    fn panicked(&self) -> Error;
}

/// Inner chunks that several threads encode.
pub(super) struct Encoding<'s> {
    encoder: &'s dyn InnerEncoder,
    budget: &'s MemoryBudget,
    work: EncodingWork,
    progress: Mutex<EncodedChunks>,
    has_more: Condvar,
}

/// The inner chunks that an [`Encoding`] encodes.
pub(super) struct EncodingWork {
    pub(super) numbers: Vec<usize>,
    /// The number of inner chunks that a thread takes at a time.
    pub(super) portion: usize,
    /// The memory in bytes that each thread needs.
    pub(super) need: u64,
}

#[derive(Default)]
struct EncodedChunks {
    next: usize,
    encoded: BTreeMap<usize, Result<Vec<EncodedInner>, Error>>,
    /// Whether a thread panicked, so that a portion is missing.
    has_panicked: bool,
}

/// An [`Encoding`], and the function that makes other threads help.
#[derive(Clone, Copy)]
pub(super) struct StartedEncoding<'s> {
    encoding: &'s Encoding<'s>,
    start: &'s dyn Fn(),
}

/// Records a panic, so that no thread waits for the missing portion.
struct OnPanic<'s>(&'s Encoding<'s>);

impl StartedEncoding<'_> {
    /// Encodes all inner chunks with the help of other threads, and passes them to `put` in order, on this thread. The
    /// number of inner chunks that wait to be passed is usually about the number that one thread encodes at a time. The
    /// caller holds no lock.
    pub(super) fn run(
        self,
        stages: &mut Stages,
        mut put: impl FnMut(EncodedInner) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let encoding = self.encoding;
        // `run` is called again if the chunk needs more memory than expected, so the progress of an earlier call is
        // discarded.
        *encoding.progress.lock().unpoisoned() = EncodedChunks::default();
        (self.start)();
        let result = encoding.put_all(stages, &mut put);
        if result.is_err() {
            encoding.end();
        }
        result
    }
}

impl<'s> Encoding<'s> {
    pub(super) fn new(encoder: &'s dyn InnerEncoder, budget: &'s MemoryBudget, work: EncodingWork) -> Self {
        Self { encoder, budget, work, progress: Mutex::default(), has_more: Condvar::new() }
    }

    /// Calls `write` with the encoding. Other threads help once `write` calls [`StartedEncoding::run`]. The caller
    /// holds no lock and no memory.
    pub(super) fn on<R>(
        &self,
        encode_on: EncodeOn,
        context: &Context,
        write: impl FnOnce(StartedEncoding<'_>) -> R,
    ) -> R {
        let others = self.portions().saturating_sub(1);
        let write = |start: &dyn Fn()| write(StartedEncoding { encoding: self, start });
        match encode_on {
            EncodeOn::OwnThreads(threads) => thread::scope(|scope| {
                write(&|| {
                    for _ in 0..others.min(threads.saturating_sub(1)) {
                        // If the system has no more threads, this one does the work.
                        if thread::Builder::new().spawn_scoped(scope, || self.help()).is_err() {
                            break;
                        }
                    }
                })
            }),
            EncodeOn::ContextThreads | EncodeOn::OneThread => {
                context.run_helped(others, || self.help(), |start| write(start))
            }
        }
    }

    fn portions(&self) -> usize {
        self.work.numbers.len().div_ceil(self.work.portion)
    }

    fn put_all(
        &self,
        stages: &mut Stages,
        put: &mut impl FnMut(EncodedInner) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut turn = 0;
        while turn < self.portions() {
            if let Some(encoded) = self.take(turn)? {
                encoded?.into_iter().try_for_each(&mut *put)?;
                turn += 1;
            } else if !self.encode_next(stages) {
                self.wait(turn);
            }
        }
        Ok(())
    }

    /// Encodes portions while there are any and memory is free.
    fn help(&self) {
        let encode =
            || self.budget.try_with_scratch(self.work.need, |scratch| self.encode_next(&mut scratch.written));
        while encode() == Some(true) {}
    }

    /// Encodes the next portion. Returns false if there is none.
    fn encode_next(&self, stages: &mut Stages) -> bool {
        let mut progress = self.progress.lock().unpoisoned();
        let turn = progress.next;
        let Some(numbers) = self.work.numbers.chunks(self.work.portion).nth(turn) else { return false };
        progress.next += 1;
        drop(progress);
        let on_panic = OnPanic(self);
        let encoded = numbers.iter().map(|&number| self.encoder.encode(number, stages)).collect();
        drop(on_panic);
        self.progress.lock().unpoisoned().encoded.insert(turn, encoded);
        self.has_more.notify_all();
        true
    }

    /// Takes a portion if it is encoded.
    fn take(&self, turn: usize) -> Result<Option<Result<Vec<EncodedInner>, Error>>, Error> {
        let mut progress = self.progress.lock().unpoisoned();
        match progress.encoded.remove(&turn) {
            None if progress.has_panicked => Err(self.encoder.panicked()),
            encoded => Ok(encoded),
        }
    }

    /// Waits for a portion that another thread is encoding.
    fn wait(&self, turn: usize) {
        let mut progress = self.progress.lock().unpoisoned();
        while !progress.has_panicked && !progress.encoded.contains_key(&turn) {
            progress = self.has_more.wait(progress).unpoisoned();
        }
    }

    /// Stops the encoding: no more portions are started.
    fn end(&self) {
        self.progress.lock().unpoisoned().next = self.portions();
    }
}

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.progress.lock().unpoisoned().has_panicked = true;
            self.0.has_more.notify_all();
        }
    }
}
