//! Rules about writes under a condition.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use zarr_spec::store::{Backoff, Condition, ConditionalWrite, GetOptions, StoreError, Version};
use zarr_spec::{ByteRange, Output};

use super::trial::{Trial, fails, key, same};
use super::under_load::{THREADS, on_threads};
use super::{Needs, StoreRule, rule};
use crate::suite::Level;

pub(super) const RULES: &[StoreRule] = &[
    (
        rule("store-unconditional", Level::L1, "A store without conditions refuses them and writes nothing."),
        Needs::Values,
        a_store_without_conditions_refuses_them,
    ),
    (
        rule("store-create-if-missing", Level::L1, "A value is created only if its key is missing."),
        Needs::Conditions,
        a_value_is_created_only_if_its_key_is_missing,
    ),
    (
        rule("store-replace-if-unchanged", Level::L1, "A value is replaced only if its version is current."),
        Needs::Conditions,
        a_value_is_replaced_only_if_its_version_is_current,
    ),
    (
        rule("store-versions", Level::L1, "Every change of a value to other bytes changes its version."),
        Needs::Conditions,
        every_change_changes_the_version,
    ),
    (
        rule("store-erase-if-unchanged", Level::L1, "A value is erased only if its version is current."),
        Needs::ConditionalErasing,
        a_value_is_erased_only_if_its_version_is_current,
    ),
    (
        rule("store-locks", Level::L1, "One thread at a time holds the lock of a key."),
        Needs::Values,
        one_thread_at_a_time_holds_a_lock,
    ),
    (
        rule("store-create-race", Level::L2, "Of eight threads that create one value, one succeeds."),
        Needs::Conditions,
        one_thread_creates_a_value,
    ),
    (
        rule("store-update-race", Level::L2, "Eight threads that change one value lose no change."),
        Needs::Conditions,
        threads_that_change_one_value_lose_nothing,
    ),
    (
        rule(
            "store-erase-race",
            Level::L2,
            "Eight threads that change one value and erase it if it is unchanged lose no change.",
        ),
        Needs::ConditionalErasing,
        threads_that_erase_one_value_lose_nothing,
    ),
    (
        rule(
            "store-whole-and-conditional-race",
            Level::L2,
            "A value that is set without a condition is not replaced by a change of its predecessor.",
        ),
        Needs::Conditions,
        a_set_value_survives_conditional_writes,
    ),
];

/// A version that no store returns.
const FOREIGN: &[u8] = b"a version of another store";

impl Trial {
    /// Reads a value that the caller writes next. Returns its bytes, and the condition that it is unchanged.
    fn get_for_update(&self, at: &str) -> Result<(Option<Vec<u8>>, Condition), String> {
        let mut output = Output::at_most(usize::MAX);
        let found = self.0.get(&key(at)?, GetOptions::for_update(ByteRange::Full), &mut output);
        let Some(found) = found.map_err(|error| format!("getting `{at}` for an update: {error}"))? else {
            return Ok((None, Condition::Missing));
        };
        let condition = Condition::of(found.version.as_ref());
        let condition = condition.ok_or(format!("`{at}` was read for an update without a version"))?;
        Ok((Some(found.into_bytes(output).to_vec()), condition))
    }

    fn version(&self, at: &str) -> Result<Version, String> {
        match self.get_for_update(at)?.1 {
            Condition::Unchanged(version) => Ok(version),
            Condition::Missing => Err(format!("`{at}` is missing")),
        }
    }

    fn set_if(&self, at: &str, value: &[u8], condition: &Condition) -> Result<ConditionalWrite, String> {
        let write = self.0.set_if(&key(at)?, value.into(), condition);
        write.map_err(|error| format!("setting `{at}` if {condition:?}: {error}"))
    }

    fn conflicts(&self, at: &str, value: &[u8], condition: &Condition) -> Result<(), String> {
        let what = format!("setting `{at}` if {condition:?}");
        same(&what, self.set_if(at, value, condition)?, ConditionalWrite::Conflict)
    }

    fn writes(&self, at: &str, value: &[u8], condition: &Condition) -> Result<(), String> {
        match self.set_if(at, value, condition)? {
            ConditionalWrite::Conflict => Err(format!("setting `{at}` if {condition:?}: found a conflict")),
            ConditionalWrite::Done(None) => Ok(()),
            ConditionalWrite::Done(Some(version)) => {
                same("version that a write returned, and its read", version, self.version(at)?)
            }
        }
    }

    fn erase_if(&self, at: &str, version: &Version) -> Result<ConditionalWrite, String> {
        let erased = self.0.erase_if(&key(at)?, version);
        erased.map_err(|error| format!("erasing `{at}` if unchanged: {error}"))
    }

    /// Changes a value until there is no conflict.
    fn update(&self, at: &str, change: impl Fn(&mut Vec<u8>)) -> Result<(), String> {
        let mut backoff = Backoff::new();
        loop {
            let (value, condition) = self.get_for_update(at)?;
            let mut value = value.unwrap_or_default();
            change(&mut value);
            if !self.set_if(at, &value, &condition)?.is_conflict() {
                return Ok(());
            }
            backoff.wait(&key(at)?).map_err(|error| error.to_string())?;
        }
    }
}

fn a_store_without_conditions_refuses_them(trial: &Trial) -> Result<(), String> {
    trial.set("k", b"old")?;
    let can = trial.0.capabilities();
    let is_right = |error: &StoreError| matches!(error, StoreError::NotSupported { .. });
    if !can.conditional_set {
        fails("set_if", trial.0.set_if(&key("k")?, b"new".into(), &Condition::Missing), is_right)?;
        fails("set_if", trial.0.set_if(&key("l")?, b"new".into(), &Condition::Missing), is_right)?;
        trial.lacks("l")?;
    }
    if !can.conditional_erase {
        fails("erase_if", trial.0.erase_if(&key("k")?, &Version::new(FOREIGN)), is_right)?;
    }
    trial.has("k", b"old")
}

fn a_value_is_created_only_if_its_key_is_missing(trial: &Trial) -> Result<(), String> {
    trial.writes("d/k", b"first", &Condition::Missing)?;
    trial.has("d/k", b"first")?;
    trial.conflicts("d/k", b"second", &Condition::Missing)?;
    trial.has("d/k", b"first")?;
    trial.set("empty", b"")?;
    trial.conflicts("empty", b"second", &Condition::Missing)?;
    trial.has("empty", b"")
}

fn a_value_is_replaced_only_if_its_version_is_current(trial: &Trial) -> Result<(), String> {
    trial.set("d/k", b"one")?;
    let (bytes, one) = trial.get_for_update("d/k")?;
    same("bytes read for an update", bytes.as_deref(), Some(b"one".as_slice()))?;
    trial.writes("d/k", b"two", &one)?;
    trial.has("d/k", b"two")?;
    trial.conflicts("d/k", b"three", &one)?;
    trial.conflicts("d/k", b"three", &Condition::Unchanged(Version::new(FOREIGN)))?;
    trial.conflicts("missing", b"three", &one)?;
    trial.lacks("missing")?;
    let (_, two) = trial.get_for_update("d/k")?;
    trial.set("d/k", b"set")?;
    trial.conflicts("d/k", b"three", &two)?;
    trial.has("d/k", b"set")
}

fn every_change_changes_the_version(trial: &Trial) -> Result<(), String> {
    trial.set("k", &[0; 100])?;
    for range in [ByteRange::Full, ByteRange::Range { offset: 0, size: 0 }, ByteRange::Last(3)] {
        let mut output = Output::at_most(100);
        let found = trial.0.get(&key("k")?, GetOptions::for_update(range), &mut output);
        let found = found.map_err(|error| format!("getting {range:?} for an update: {error}"))?;
        same(
            &format!("version of a read of {range:?}"),
            found.and_then(|found| found.version),
            Some(trial.version("k")?),
        )?;
    }
    // The values have one size, and most are set within one tick of a clock, so neither size nor time distinguishes
    // them.
    let (_, first) = trial.get_for_update("k")?;
    let mut before = first.clone();
    for round in 1..=200 {
        trial.set("k", &[round; 100])?;
        for old in [&first, &before] {
            trial.conflicts("k", b"lost", old)?;
        }
        (_, before) = trial.get_for_update("k")?;
    }
    trial.has("k", &[200; 100])
}

fn a_value_is_erased_only_if_its_version_is_current(trial: &Trial) -> Result<(), String> {
    trial.set("d/k", b"one")?;
    let one = trial.version("d/k")?;
    trial.set("d/k", b"two")?;
    same("erasing an older version", trial.erase_if("d/k", &one)?, ConditionalWrite::Conflict)?;
    trial.has("d/k", b"two")?;
    let two = trial.version("d/k")?;
    same("a conflict about the current version", trial.erase_if("d/k", &two)?.is_conflict(), false)?;
    trial.lacks("d/k")?;
    same("erasing a missing value", trial.erase_if("d/k", &two)?, ConditionalWrite::Conflict)?;
    trial.writes("d/k", b"three", &Condition::Missing)?;
    trial.has("d/k", b"three")
}

fn one_thread_at_a_time_holds_a_lock(trial: &Trial) -> Result<(), String> {
    let holders = AtomicU8::new(0);
    on_threads(trial, |trial, thread| {
        for _ in 0..20 {
            let lock = trial.0.lock(&key("d/k")?).map_err(|error| format!("locking `d/k`: {error}"))?;
            if lock.is_none() {
                return Ok(());
            }
            same("other holders of the lock", holders.fetch_add(1, Ordering::SeqCst), 0)?;
            trial.set("d/k", &[thread])?;
            thread::sleep(Duration::from_micros(100));
            trial.has("d/k", &[thread])?;
            trial.erase("d/k")?;
            holders.fetch_sub(1, Ordering::SeqCst);
            drop(lock);
            // A store with folders may remove the folder of the lock together with the last value in it. The lock must
            // hold all the same.
            let other = format!("d/{thread}");
            trial.set(&other, &[thread])?;
            trial.erase(&other)?;
        }
        Ok(())
    })?;
    trial.set("d/k", b"value")?;
    if Needs::Listing.lacking(&*trial.0).is_none() {
        trial.lists(&["d/k"])?;
    }
    Ok(())
}

fn one_thread_creates_a_value(trial: &Trial) -> Result<(), String> {
    let winners = AtomicU8::new(0);
    on_threads(trial, |trial, thread| {
        for round in 0..10 {
            let created = trial.set_if(&format!("d/{round}/k"), &[thread], &Condition::Missing)?;
            winners.fetch_add(u8::from(!created.is_conflict()), Ordering::SeqCst);
        }
        Ok(())
    })?;
    same("successful creations of ten values", winners.into_inner(), 10)
}

fn threads_that_change_one_value_lose_nothing(trial: &Trial) -> Result<(), String> {
    on_threads(trial, |trial, thread| {
        (0..20).try_for_each(|_| trial.update("d/k", |value| value.push(thread)))
    })?;
    let mut value = trial.get("d/k")?.unwrap_or_default();
    value.sort_unstable();
    let expected: Vec<u8> = (0..THREADS).flat_map(|thread| [thread; 20]).collect();
    same("changes that are left", value, expected)
}

/// Each thread appends to the value, and then erases what it reads. The bytes that were erased and those that are left
/// are all changes.
fn threads_that_erase_one_value_lose_nothing(trial: &Trial) -> Result<(), String> {
    let erased = Mutex::new(Vec::new());
    on_threads(trial, |trial, thread| {
        for _ in 0..20 {
            trial.update("d/k", |value| value.push(thread))?;
            let (Some(bytes), Condition::Unchanged(version)) = trial.get_for_update("d/k")? else {
                continue;
            };
            if !trial.erase_if("d/k", &version)?.is_conflict() {
                erased.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
            }
        }
        Ok(())
    })?;
    let mut value = erased.into_inner().unwrap_or_else(PoisonError::into_inner);
    value.extend(trial.get("d/k")?.unwrap_or_default());
    value.sort_unstable();
    let expected: Vec<u8> = (0..THREADS).flat_map(|thread| [thread; 20]).collect();
    same("changes that are erased or left", value, expected)
}

/// Checks that conditional writes do not restore an old value. One thread sets the whole value and counts these calls
/// in its first byte. The other threads change only the second byte, under conditions.
fn a_set_value_survives_conditional_writes(trial: &Trial) -> Result<(), String> {
    trial.set("k", &[0, 0])?;
    on_threads(trial, |trial, thread| {
        if thread > 0 {
            let change = |value: &mut Vec<u8>| value[1] = value[1].wrapping_add(1);
            return (0..20).try_for_each(|_| trial.update("k", change));
        }
        for whole in 1..=100 {
            trial.set("k", &[whole, 0])?;
            thread::sleep(Duration::from_micros(300));
            let found = trial.get("k")?.unwrap_or_default();
            same("the value that was set last", found.first(), Some(&whole))?;
        }
        Ok(())
    })?;
    same("the value that was set last", trial.get("k")?.unwrap_or_default().first(), Some(&100))
}
