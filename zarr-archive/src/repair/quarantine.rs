//! The quarantine: values that a repair removes or replaces.

use sha2::{Digest, Sha256};
use zarr_engine::Error;
use zarr_spec::store::{Store, StoreError, get_value};
use zarr_spec::{Key, Prefix};

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
    let Some(value) = get_value(store, key, limit)? else { return Ok(()) };
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
