//! Locks of chunks. They prevent concurrent writes to parts of one chunk from losing data, and concurrent reads from
//! decoding the same chunk.

mod nodes;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Condvar, Mutex, MutexGuard};
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

/// Number of chunk locks. With 64 chunks being stored, only about two wait for another chunk that happens to have the
/// same lock.
const LOCKS: usize = 1024;

/// A fixed number of locks for any number of chunks, and the claims on chunks that are being decoded.
#[derive(Debug)]
pub(crate) struct ChunkLocks {
    locks: [Mutex<()>; LOCKS],
    /// The claims on chunks that are being decoded for a cache.
    pub(crate) claims: Claims,
}

impl ChunkLocks {
    pub(crate) fn new() -> Self {
        Self { locks: [const { Mutex::new(()) }; LOCKS], claims: Claims::default() }
    }

    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, ()> {
        self.locks[number(hash)].lock().unpoisoned()
    }

    /// Acquires the locks of all chunks with these hashes. They are acquired in a fixed order, so that concurrent calls
    /// do not deadlock.
    pub(crate) fn lock_all(&self, hashes: impl Iterator<Item = u64>) -> Vec<MutexGuard<'_, ()>> {
        let numbers: BTreeSet<_> = hashes.map(number).collect();
        let locks = numbers.into_iter().map(|number| self.locks[number].lock());
        locks.map(|lock| lock.unpoisoned()).collect()
    }
}

fn number(hash: u64) -> usize {
    // The remainder is below the number of locks, so it fits into a `usize`.
    usize::try_from(hash % LOCKS as u64).unwrap_or(0)
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
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn lock_all_acquires_each_lock_once() {
        let locks = ChunkLocks::new();
        let many = LOCKS as u64 + 5;
        assert_eq!(locks.lock_all((0..many).rev()).len(), LOCKS);
        assert_eq!(locks.lock_all([many, 5, 5].into_iter()).len(), 1);
        let _one = locks.lock(5);
        assert_eq!(locks.lock_all([6].into_iter()).len(), 1);
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
