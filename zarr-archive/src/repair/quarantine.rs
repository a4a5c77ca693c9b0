//! The quarantine: values that a repair removes or replaces.

use sha2::{Digest, Sha256};
use zarr_engine::Error;
use zarr_spec::store::{IoKind, Store, StoreError, get_value};
use zarr_spec::{ByteRange, Bytes, Key, Output, Prefix};

use crate::manifest::hex;

/// The prefix of quarantined values. Names that begin with `__` are not nodes.
pub const QUARANTINE: &str = "__zarrctl/quarantine/";

/// The longest name, in bytes. Folders of usual filesystems allow 255.
const LONGEST: usize = 200;

/// Copies a value to the quarantine. A value that is already there is not copied again.
///
/// # Errors
///
/// [`Error::Store`], also for a value of more than `limit` bytes.
pub(super) fn copy(store: &dyn Store, key: &Key, limit: u64) -> Result<(), Error> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let Some(value) = stored_value(store, key, limit)? else { return Ok(()) };
    let prefix = Prefix::new(QUARANTINE).map_err(StoreError::from)?;
    let name = name_of(key.as_str());
    // Earlier repairs may have moved other values of this key.
    for number in 1u64.. {
        let number = if number == 1 { String::new() } else { format!(".{number}") };
        let place = prefix.key(&format!("{name}{number}.quarantined")).map_err(StoreError::from)?;
        match get_value(store, &place, limit)? {
            Some(other) if other == value => return Ok(()),
            Some(_) => {}
            None => return Ok(store.set(&place, value.into())?),
        }
    }
    Ok(())
}

/// Checks that [`copy`] can read a value.
///
/// # Errors
///
/// As [`copy`].
pub(super) fn check(store: &dyn Store, key: &Key, limit: u64) -> Result<(), StoreError> {
    stored_value(store, key, usize::try_from(limit).unwrap_or(usize::MAX)).map(drop)
}

/// Reads a value as it is stored, even if the store finds that it is damaged.
fn stored_value(store: &dyn Store, key: &Key, limit: usize) -> Result<Option<Bytes>, StoreError> {
    match get_value(store, key, limit) {
        Err(error) if is_damage(&error) => match in_two_parts(store, key, limit) {
            Ok(value) => Ok(value),
            Err(_) => Err(error),
        },
        value => value,
    }
}

fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { kind: IoKind::Damaged, .. })
}

/// Reads a value in two parts. A store compares the checksum of a value only if it reads the whole value.
fn in_two_parts(store: &dyn Store, key: &Key, limit: usize) -> Result<Option<Bytes>, StoreError> {
    let Some(size) = store.size(key)? else { return Ok(None) };
    let half = size / 2;
    let mut value = Vec::new();
    for range in [ByteRange::Range { offset: 0, size: half }, ByteRange::From(half)] {
        let mut output = Output::at_most(limit.saturating_sub(value.len()));
        let Some(part) = store.get(key, range.into(), &mut output)? else { return Ok(None) };
        value.extend_from_slice(&part.into_bytes(output));
    }
    Ok(Some(value.into()))
}

/// Returns the name for a key: the key with `%` and `/` escaped, so that no name looks like a document or a chunk.
fn name_of(key: &str) -> String {
    let name = key.replace('%', "%25").replace('/', "%2F");
    if name.len() <= LONGEST {
        return name;
    }
    let end = (0..=LONGEST / 2).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    format!("{}…{}", &name[..end], hex(&Sha256::digest(key)[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::Shelf;

    #[test]
    fn a_value_is_copied_once_and_other_values_of_the_key_are_kept() {
        let shelf = Shelf::default();
        let store: &dyn Store = &shelf;
        let key = Key::new("a/c/0").unwrap();
        for value in ["one", "one", "two", "one"] {
            store.set(&key, value.as_bytes().into()).unwrap();
            copy(store, &key, 1 << 20).unwrap();
        }
        let keys = store.list_sorted(&Prefix::new(QUARANTINE).unwrap()).unwrap();
        let names: Vec<_> = keys.iter().map(Key::name).collect();
        assert_eq!(names, ["a%2Fc%2F0.2.quarantined", "a%2Fc%2F0.quarantined"]);
    }

    #[test]
    fn long_keys_have_names_that_folders_allow() {
        let long = "é/".repeat(400);
        assert!(name_of(&long).len() < 250);
        assert_ne!(name_of(&long), name_of(&format!("{long}x")));
    }
}
