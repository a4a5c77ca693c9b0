//! Partial writes for stores that only write whole values.

use std::collections::BTreeSet;

use super::{Backoff, Condition, GetOptions, Store, StoreError, StoreResult};
use crate::format::Invalid;
use crate::key::{ByteRange, Key};
use crate::output::{LimitExceeded, Output};

/// Writes parts of values: reads, changes and stores the whole values. In a store with conditional writes, no
/// concurrent change of another program is lost.
///
/// # Errors
///
/// As [`Store::set_partial_values`].
pub fn rewrite_values<S: Store + ?Sized>(store: &S, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
    check_overlaps(values)?;
    let keys: BTreeSet<&Key> = values.iter().map(|(key, ..)| key).collect();
    for key in keys {
        let mut backoff = Backoff::new();
        while !rewrite_value(store, key, values)? {
            backoff.wait(key)?;
        }
    }
    Ok(())
}

/// Changes the value of `key`. Returns `false` if another program changed it in the meantime.
fn rewrite_value<S: Store + ?Sized>(store: &S, key: &Key, values: &[(Key, u64, &[u8])]) -> StoreResult<bool> {
    let mut output = Output::at_most(usize::MAX);
    let found = store.get(key, GetOptions::for_update(ByteRange::Full), &mut output)?;
    let condition = match &found {
        Some(found) => Condition::of(found.version.as_ref()),
        None => Some(Condition::Missing),
    };
    let mut value: Vec<u8> = found.map_or_else(Vec::new, |found| found.into_bytes(output).into());
    for (_, offset, part) in values.iter().filter(|(of, ..)| of == key) {
        put_at(&mut value, *offset, part)
            .map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
    }
    match condition.filter(|_| store.capabilities().conditional_set) {
        Some(condition) => Ok(!store.set_if(key, value.into(), &condition)?.is_conflict()),
        None => store.set(key, value.into()).map(|()| true),
    }
}

/// Writes `part` at `offset` of `value`. A shorter value grows with zeros.
///
/// # Errors
///
/// If the machine does not have enough memory.
pub fn put_at(value: &mut Vec<u8>, offset: u64, part: &[u8]) -> Result<(), LimitExceeded> {
    let limit = LimitExceeded { limit: value.len() };
    let start = usize::try_from(offset).map_err(|_| limit)?;
    let end = start.checked_add(part.len()).ok_or(limit)?;
    if end > value.len() {
        value.try_reserve(end - value.len()).map_err(|_| limit)?;
        value.resize(end, 0);
    }
    value[start..end].copy_from_slice(part);
    Ok(())
}

/// Refuses parts of one value that overlap.
///
/// # Errors
///
/// [`Invalid`], with the key.
pub fn check_overlaps(values: &[(Key, u64, &[u8])]) -> Result<(), Invalid> {
    let mut parts: Vec<_> =
        values.iter().map(|(key, offset, part)| (key, *offset, part.len() as u64)).collect();
    parts.sort_unstable();
    for pair in parts.windows(2) {
        let (key, offset, size) = pair[0];
        let (next_key, next, _) = pair[1];
        if key == next_key && offset.checked_add(size).is_none_or(|end| end > next) {
            return Err(Invalid::new(format!("partial values of key `{key}` overlap at byte {next}")));
        }
    }
    Ok(())
}
