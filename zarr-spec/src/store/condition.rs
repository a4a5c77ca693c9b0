//! Conditions of writes, with which concurrent programs do not lose changes of one another.
#![expect(clippy::exhaustive_enums, reason = "stores and callers handle every condition and outcome")]

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use super::{IoKind, StoreError, StoreResult, Version};
use crate::key::Key;

/// The condition of [`Store::set_if`](super::Store::set_if).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The key is missing.
    Missing,
    /// The value has this version, which a read with
    /// [`GetOptions::for_update`](super::GetOptions::for_update) or a conditional write returned.
    Unchanged(Version),
}

impl Condition {
    /// Returns the condition that a value is unchanged; `None` if the store does not have versions.
    #[must_use]
    pub fn of(version: Option<&Version>) -> Option<Self> {
        version.cloned().map(Self::Unchanged)
    }

    /// Returns whether a value with version `current` satisfies the condition; `None` is a missing key.
    #[must_use]
    pub fn holds(&self, current: Option<&Version>) -> bool {
        match self {
            Self::Missing => current.is_none(),
            Self::Unchanged(version) => current == Some(version),
        }
    }
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a conflict means that nothing was written"]
pub enum ConditionalWrite {
    /// The value was written or removed. The new version, if the store knows it.
    Done(Option<Version>),
    /// The condition does not hold. Nothing changed.
    Conflict,
}

impl ConditionalWrite {
    /// Returns whether the condition did not hold.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }
}

/// Holds the lock that [`Store::lock`](super::Store::lock) returned.
pub type StoreLock = Box<dyn Send + Sync>;

/// Waits between attempts of a read-modify-write cycle, for longer after each conflict.
///
/// Each conflict means that another writer succeeded. The random part of the delays separates writers that would
/// collide again.
#[derive(Debug)]
pub struct Backoff {
    start: Instant,
    conflicts: u32,
}

impl Backoff {
    /// The longest delay between two attempts.
    pub const LONGEST: Duration = Duration::from_millis(500);

    /// The time after which a writer gives up.
    pub const PATIENCE: Duration = Duration::from_secs(120);

    /// Starts a cycle, and the time limit [`Backoff::PATIENCE`].
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now(), conflicts: 0 }
    }

    /// Waits after a conflict about `key`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] of the kind [`IoKind::TimedOut`] after [`Backoff::PATIENCE`].
    pub fn wait(&mut self, key: &Key) -> StoreResult<()> {
        self.conflicts += 1;
        if self.start.elapsed() > Self::PATIENCE {
            let what = format!("other programs changed it during each of {} attempts", self.conflicts);
            return Err(StoreError::io("changing", key.as_str(), what).with_kind(IoKind::TimedOut));
        }
        let longest = Duration::from_micros(100 << self.conflicts.min(13)).min(Self::LONGEST);
        let random = RandomState::new().hash_one(self.conflicts) >> 32;
        thread::sleep(longest.mul_f64(random as f64 / f64::from(u32::MAX)));
        Ok(())
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}
