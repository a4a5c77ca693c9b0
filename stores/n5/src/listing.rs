//! Listings with the documents of Zarr.

use zarr_spec::store::{Directory, Keys, StoreError, StoreResult};
use zarr_spec::{Key, Prefix};

use crate::{ATTRIBUTES, DOCUMENT, N5Store};

/// The maximum nesting of groups.
const MAX_DEPTH: usize = 1000;

/// Lists the keys and prefixes directly below `prefix`. Names of Zarr's documents in the container are hidden.
pub(crate) fn directory(store: &N5Store, prefix: &Prefix) -> StoreResult<Directory> {
    let inner = store.container.list_dir(prefix)?;
    let exists = !inner.keys.is_empty() || !inner.prefixes.is_empty();
    let has_attributes = inner.keys.iter().any(|key| key.name() == ATTRIBUTES);
    let mut keys: Vec<Key> =
        inner.keys.into_iter().filter(|key| key.name() != ATTRIBUTES && key.name() != DOCUMENT).collect();
    if has_attributes
        || exists && !store.is_new(prefix) && !store.is_in_array(prefix)? && store.is_folder(prefix)?
    {
        keys.push(prefix.key(DOCUMENT)?);
    }
    Ok(Directory::new(keys, inner.prefixes))
}

/// Lists every key below `prefix`. The folders of groups are listed one after the other; the blocks of an array are
/// listed while the caller takes them.
pub(crate) fn keys<'s>(store: &'s N5Store, prefix: &Prefix) -> StoreResult<Keys<'s>> {
    if store.is_new(prefix) || store.is_in_array(prefix)? || store.is_array(prefix)? {
        return blocks(store, prefix);
    }
    let mut folders = vec![prefix.clone()];
    let mut current: Keys<'s> = Box::new(std::iter::empty());
    let mut failed = false;
    Ok(Box::new(std::iter::from_fn(move || {
        loop {
            if let Some(key) = current.next() {
                return Some(key);
            }
            let folder = if failed { None } else { folders.pop() }?;
            match next_folder(store, &folder, &mut folders) {
                Ok(keys) => current = keys,
                Err(error) => {
                    failed = true;
                    return Some(Err(error));
                }
            }
        }
    })))
}

/// Returns the keys in a folder, and adds the folders in it to `remaining`. For an array, returns all keys below it.
fn next_folder<'s>(
    store: &'s N5Store,
    folder: &Prefix,
    remaining: &mut Vec<Prefix>,
) -> StoreResult<Keys<'s>> {
    if folder.as_str().matches('/').count() > MAX_DEPTH {
        let reason = format!("groups are nested more than {MAX_DEPTH} deep");
        return Err(StoreError::io("listing", folder.as_str(), reason));
    }
    if store.is_new(folder) || store.is_array(folder)? {
        return blocks(store, folder);
    }
    let listed = directory(store, folder)?;
    remaining.extend(listed.prefixes);
    Ok(Box::new(listed.keys.into_iter().map(Ok)))
}

/// Lists the keys of an array, or of a part of it.
fn blocks<'s>(store: &'s N5Store, prefix: &Prefix) -> StoreResult<Keys<'s>> {
    let keys = store.container.list_prefix(prefix)?;
    Ok(Box::new(keys.filter_map(|key| match key {
        Ok(key) if key.name() == DOCUMENT => None,
        Ok(key) if key.name() == ATTRIBUTES => Some(key.parent().key(DOCUMENT).map_err(StoreError::from)),
        other => Some(other),
    })))
}
