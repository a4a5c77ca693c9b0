//! Locks of chunks. They prevent concurrent writes to parts of one chunk from losing data, and concurrent reads from
//! decoding the same chunk.

mod nodes;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};

pub(crate) use nodes::{Hold, NodeGuard, NodeLocks};

use crate::unpoisoned::Unpoisoned;

/// The lock types that [`nodes`] uses. The model of these locks in `tests/it.rs` uses other types.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
}

/// Returns the hash of a value. It is stable within one process.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The number of parts of [`ChunkLocks`]. Threads that lock different chunks seldom need the same part.
const PARTS: usize = 64;

/// The locks of chunks, and the claims on chunks that are being decoded.
///
/// Chunks are told apart by 64-bit hashes. With a fixed number of locks for all chunks, a thread that stores one of 128
/// chunks would often wait until another chunk is stored, which takes a round trip to a remote store.
#[derive(Debug)]
pub(crate) struct ChunkLocks {
    parts: [Part; PARTS],
    /// The claims on chunks that are being decoded for a cache.
    pub(crate) claims: Claims,
}

#[derive(Debug, Default)]
struct Part {
    state: Mutex<PartState>,
    unlocked: Condvar,
}

#[derive(Debug, Default)]
struct PartState {
    /// The hashes of the locked chunks.
    locked: HashSet<u64, BuildHasherDefault<SameHash>>,
    /// The number of threads that wait for a chunk.
    waiting: usize,
}

/// Returns a hash as its own hash, because hashing it again takes most of the time of a lock.
#[derive(Debug, Default)]
struct SameHash(u64);

impl Hasher for SameHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 << 8) | u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Returns the number of the part for a hash. Uses bits in the middle: hash sets use those at both ends.
fn part_of(hash: u64) -> usize {
    // The remainder is below the number of parts, so it fits into a `usize`.
    usize::try_from((hash >> 32) % PARTS as u64).unwrap_or(0)
}

/// The lock of a chunk, until it is dropped.
#[derive(Debug)]
pub(crate) struct ChunkGuard<'l> {
    part: &'l Part,
    hash: u64,
}

impl ChunkLocks {
    pub(crate) fn new() -> Self {
        Self { parts: std::array::from_fn(|_| Part::default()), claims: Claims::default() }
    }

    /// Locks the chunk with this hash. Waits while another thread holds its lock.
    pub(crate) fn lock(&self, hash: u64) -> ChunkGuard<'_> {
        let part = &self.parts[part_of(hash)];
        let mut state = part.state.lock().unpoisoned();
        while !state.locked.insert(hash) {
            state.waiting += 1;
            state = part.unlocked.wait(state).unpoisoned();
            state.waiting -= 1;
        }
        ChunkGuard { part, hash }
    }

    /// Locks all chunks with these hashes, in a fixed order, so that concurrent calls do not deadlock.
    pub(crate) fn lock_all(&self, hashes: impl Iterator<Item = u64>) -> Vec<ChunkGuard<'_>> {
        let hashes: BTreeSet<_> = hashes.collect();
        hashes.into_iter().map(|hash| self.lock(hash)).collect()
    }
}

impl Drop for ChunkGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.part.state.lock().unpoisoned();
        state.locked.remove(&self.hash);
        // Notifies only if a thread waits, because each notification is a system call.
        let is_waited_for = state.waiting > 0;
        drop(state);
        if is_waited_for {
            self.part.unlocked.notify_all();
        }
    }
}

/// The chunks that are being decoded, by hash. Each is claimed by one thread. A thread that holds a claim never waits
/// for another claim, so deadlocks cannot occur.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    chunks: Mutex<HashMap<u64, ThreadId>>,
    given_up: Condvar,
}

#[derive(Debug)]
pub(crate) enum Claiming<'c> {
    Claimed(Claim<'c>),
    Waited,
    Refused,
}

/// A claim on a chunk, held by the thread that decodes it. Other threads wait until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim<'c> {
    claims: &'c Claims,
    hash: u64,
}

impl Claims {
    /// Claims the chunk with this hash, or waits until another thread releases it.
    pub(crate) fn claim(&self, hash: u64) -> Claiming<'_> {
        let this = thread::current().id();
        let mut chunks = self.chunks.lock().unpoisoned();
        if chunks.values().any(|&thread| thread == this) {
            return Claiming::Refused;
        }
        if let Entry::Vacant(free) = chunks.entry(hash) {
            free.insert(this);
            return Claiming::Claimed(Claim { claims: self, hash });
        }
        while chunks.contains_key(&hash) {
            chunks = self.given_up.wait(chunks).unpoisoned();
        }
        Claiming::Waited
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.chunks.lock().unpoisoned().remove(&self.hash);
        self.claims.given_up.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn lock_all_acquires_each_lock_once() {
        let locks = ChunkLocks::new();
        let hashes = || (0..5 * PARTS as u64).map(|number| number << 31);
        let all = locks.lock_all(hashes().rev().chain(hashes()));
        assert_eq!(all.len(), 5 * PARTS);
        // Another chunk is free, although its part has locked chunks.
        let other = locks.lock(1);
        drop((all, other));
        assert_eq!(locks.lock_all([9, 5, 5].into_iter()).len(), 2);
    }

    #[test]
    fn one_thread_at_a_time_holds_the_lock_of_a_chunk() {
        let locks = ChunkLocks::new();
        let holders = [const { AtomicUsize::new(0) }; 3];
        let turns = AtomicUsize::new(0);
        let take_turns = &|first: usize| {
            for turn in 0..500 {
                let number = (first + turn) % 3;
                // All three chunks are in the same part.
                let _lock = locks.lock(number as u64);
                assert_eq!(holders[number].fetch_add(1, Ordering::SeqCst), 0);
                thread::yield_now();
                holders[number].fetch_sub(1, Ordering::SeqCst);
                turns.fetch_add(1, Ordering::SeqCst);
            }
        };
        thread::scope(|scope| {
            for first in 0..8 {
                scope.spawn(move || take_turns(first));
            }
        });
        assert_eq!(turns.into_inner(), 4000);
        assert!(locks.parts.iter().all(|part| part.state.lock().unwrap().locked.is_empty()));
    }

    #[test]
    fn refuses_a_second_claim_of_one_thread() {
        let claims = Claims::default();
        let claim = claims.claim(1);
        assert!(matches!(claim, Claiming::Claimed(_)));
        assert!(matches!(claims.claim(1), Claiming::Refused));
        assert!(matches!(claims.claim(2), Claiming::Refused));
        drop(claim);
        assert!(matches!(claims.claim(2), Claiming::Claimed(_)));
    }

    #[test]
    fn other_threads_wait_until_a_claim_is_released() {
        let claims = Claims::default();
        let is_over = AtomicBool::new(false);
        let claim = claims.claim(1);
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let waited = matches!(claims.claim(1), Claiming::Waited);
                waited && is_over.load(Ordering::SeqCst)
            });
            let goes_on = scope.spawn(|| matches!(claims.claim(2), Claiming::Claimed(_)));
            assert!(goes_on.join().unwrap());
            is_over.store(true, Ordering::SeqCst);
            drop(claim);
            // The result is not checked: the thread does not wait if it claims the chunk only after the release.
            let _waited = waits.join().unwrap();
        });
        assert!(claims.chunks.lock().unpoisoned().is_empty());
    }
}
