//! Rules about several threads that use one store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use zarr_spec::ByteRange;
use zarr_spec::store::StoreError;

use super::trial::{Trial, prefix, same};
use super::{Needs, StoreRule, rule};
use crate::suite::Level;

pub(super) const RULES: &[StoreRule] = &[
    (
        rule(
            "store-whole-values-under-load",
            Level::L2,
            "Eight threads see the old value or the new one, never a mixture.",
        ),
        Needs::Erasing,
        readers_see_the_old_value_or_the_new_one,
    ),
    (
        rule(
            "store-own-values-under-load",
            Level::L2,
            "A thread sees its own changes, whatever other threads do.",
        ),
        Needs::Erasing,
        what_a_thread_did_it_sees,
    ),
    (
        rule("store-listing-while-erasing", Level::L2, "Values can be erased while their keys are listed."),
        Needs::Erasing,
        keys_are_listed_while_values_are_erased,
    ),
];

pub(super) const THREADS: u8 = 8;
const ROUNDS: u8 = 60;

/// Sets, reads and erases the same keys on all threads.
fn readers_see_the_old_value_or_the_new_one(trial: &Trial) -> Result<(), String> {
    let keys = ["a/b/c", "a/b/d", "a/e", "f"];
    on_threads(trial, |trial, thread| {
        for round in 0..ROUNDS {
            let key = keys[usize::from(thread.wrapping_add(round)) % keys.len()];
            match (thread ^ round) % 8 {
                0 => trial.erase(key)?,
                1 if round % 16 == 1 => trial.erase_prefix("a/")?,
                2 => trial.0.list_dir(&Default::default()).map(drop).map_err(|error| error.to_string())?,
                3 => trial.0.list().map(drop).map_err(|error| error.to_string())?,
                4 | 5 => trial.set(key, &uniform(thread ^ round))?,
                _ => is_uniform(trial, key)?,
            }
        }
        Ok(())
    })?;
    for key in keys {
        trial.set(key, key.as_bytes())?;
    }
    trial.lists(&keys)
}

/// Checks that every key is listed once, although the keys listed before it are erased.
fn keys_are_listed_while_values_are_erased(trial: &Trial) -> Result<(), String> {
    let keys: Vec<String> = (0..100).map(|number| format!("d/{}/{number}", number % 3)).collect();
    for key in &keys {
        trial.set(key, b"")?;
    }
    let listing = |error: StoreError| format!("listing: {error}");
    let mut listed = BTreeSet::new();
    for key in trial.0.list_prefix(&prefix("d/")?).map_err(listing)? {
        let key = key.map_err(listing)?.to_string();
        trial.erase(&key)?;
        same(&format!("`{key}` is listed for the first time"), listed.insert(key.clone()), true)?;
    }
    same("number of keys", listed.len(), keys.len())?;
    trial.lists(&[])
}

/// Returns a value that repeats `byte`; its size depends on the byte.
fn uniform(byte: u8) -> Vec<u8> {
    vec![byte; 20_000 + usize::from(byte) * 500]
}

fn is_uniform(trial: &Trial, key: &str) -> Result<(), String> {
    let Some((value, got)) = trial.got(key, ByteRange::Full)? else { return Ok(()) };
    let byte = value.first().copied().unwrap_or_default();
    if value != uniform(byte) {
        return Err(format!("`{key}` mixes two values: {} bytes, starting with {byte}", value.len()));
    }
    same("size in the response", got.size, value.len() as u64)
}

/// Gives each thread its own key, in folders that the other threads create and empty repeatedly.
fn what_a_thread_did_it_sees(trial: &Trial) -> Result<(), String> {
    on_threads(trial, |trial, thread| {
        let key = format!("shared/{}/deep/{thread}", thread % 3);
        for round in 0..ROUNDS {
            trial.set(&key, &[thread, round])?;
            trial.has(&key, &[thread, round])?;
            trial.erase(&key)?;
            trial.lacks(&key)?;
        }
        Ok(())
    })?;
    trial.lists(&[])
}

/// Runs `work` in parallel on all threads, each with its number.
pub(super) fn on_threads(
    trial: &Trial,
    work: impl Fn(&Trial, u8) -> Result<(), String> + Sync,
) -> Result<(), String> {
    thread::scope(|scope| {
        let start = |number| {
            let trial = Trial(Arc::clone(&trial.0));
            let work = &work;
            scope.spawn(move || work(&trial, number))
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
    })
}
