//! Locks of chunks: what keeps writers of parts of one chunk from losing one another's work, and readers from decoding
//! one chunk at the same time.

mod nodes;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

pub(crate) use nodes::{Hold, NodeGuard, NodeLocks};

/// The locks that [`nodes`] is made of: the model of it in `tests/it.rs` has others.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
}

/// Returns the hash of a value. It is the same as long as the program runs.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Chunks that may be changed at the same time without waiting for one another, at most. Of 64 that are on their way to
/// a store, no more than two wait for another one that happens to have the same lock.
const LOCKS: usize = 1024;

/// A fixed number of locks for any number of chunks, and the chunks that are being decoded.
#[derive(Debug)]
pub(crate) struct ChunkLocks {
    locks: [Mutex<()>; LOCKS],
    claims: Claims,
}

impl ChunkLocks {
    /// None of them taken.
    pub(crate) fn new() -> Self {
        Self { locks: [const { Mutex::new(()) }; LOCKS], claims: Claims::default() }
    }

    /// Takes the lock of the chunk with this hash.
    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, ()> {
        self.locks[number(hash)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the locks of all chunks with these hashes, in one order, so that nobody who does so waits for ever.
    pub(crate) fn lock_all(&self, hashes: impl Iterator<Item = u64>) -> Vec<MutexGuard<'_, ()>> {
        let numbers: BTreeSet<_> = hashes.map(number).collect();
        let locks = numbers.into_iter().map(|number| self.locks[number].lock());
        locks.map(|lock| lock.unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Chunks that are being decoded, to be kept.
    pub(crate) fn claims(&self) -> &Claims {
        &self.claims
    }
}

/// Returns the number of the lock of the chunk with this hash.
fn number(hash: u64) -> usize {
    // The remainder is below the number of locks.
    usize::try_from(hash % LOCKS as u64).unwrap_or(0)
}

/// Chunks that are being decoded, by their hashes, each by one thread. Who has one never waits for another: so nobody
/// waits for ever.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    chunks: Mutex<HashMap<u64, ThreadId>>,
    given_up: Condvar,
}

/// What came of asking for a claim.
#[derive(Debug)]
pub(crate) enum Claiming<'c> {
    /// It is ours.
    Claimed(Claim<'c>),
    /// Another thread had it, and has it no longer.
    Waited,
    /// This thread has one already.
    Refused,
}

/// A chunk that one thread decodes. Others wait until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim<'c> {
    claims: &'c Claims,
    hash: u64,
}

impl Claims {
    /// Claims the chunk with this hash, or waits until nobody else has it.
    pub(crate) fn claim(&self, hash: u64) -> Claiming<'_> {
        let this = thread::current().id();
        let mut chunks = self.lock();
        if chunks.values().any(|&thread| thread == this) {
            return Claiming::Refused;
        }
        if let Entry::Vacant(free) = chunks.entry(hash) {
            free.insert(this);
            return Claiming::Claimed(Claim { claims: self, hash });
        }
        while chunks.contains_key(&hash) {
            chunks = self.given_up.wait(chunks).unwrap_or_else(PoisonError::into_inner);
        }
        Claiming::Waited
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, ThreadId>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.lock().remove(&self.hash);
        self.claims.given_up.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn the_locks_of_many_chunks_are_each_taken_once() {
        let locks = ChunkLocks::new();
        let many = LOCKS as u64 + 5;
        assert_eq!(locks.lock_all((0..many).rev()).len(), LOCKS);
        assert_eq!(locks.lock_all([many, 5, 5].into_iter()).len(), 1);
        let _one = locks.lock(5);
        assert_eq!(locks.lock_all([6].into_iter()).len(), 1);
    }

    #[test]
    fn who_has_a_chunk_gets_no_other_one() {
        let claims = Claims::default();
        let claim = claims.claim(1);
        assert!(matches!(claim, Claiming::Claimed(_)));
        assert!(matches!(claims.claim(1), Claiming::Refused));
        assert!(matches!(claims.claim(2), Claiming::Refused));
        drop(claim);
        assert!(matches!(claims.claim(2), Claiming::Claimed(_)));
    }

    #[test]
    fn others_wait_until_it_is_given_up() {
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
            // It may also come too late to wait for anything.
            let _waited = waits.join().unwrap();
        });
        assert!(claims.lock().is_empty());
    }
}
