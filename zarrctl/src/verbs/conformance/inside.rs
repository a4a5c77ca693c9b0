//! `conformance store --inside`: the rules for stores below a prefix of a store that holds something already.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use zarr_conformance::stores::suite_of;
use zarr_kit::spec::store::{Store, StoreError};
use zarr_kit::spec::{Key, Prefix};
use zarr_kit::stores::PrefixStore;

use super::run_and_tell;
use crate::arguments::ConformanceStore;
use crate::failure::Failure;
use crate::printer::note;

/// Every value that is none of ours, and its size. What a store that breaks a rule did to them is found by that.
type Others = BTreeMap<Key, Option<u64>>;

pub(super) fn run(arguments: &ConformanceStore, store: Arc<dyn Store>) -> Result<(), Failure> {
    let prefix = new_prefix(&*store)?;
    let before = others(&*store, &prefix).map_err(zarr_kit::Error::from)?;
    note(&format!(
        "the rules are looked at below `{prefix}` of `{}`; of the {} other values none is touched",
        arguments.store,
        before.len()
    ));
    let below = Arc::new(PrefixStore::new(Arc::clone(&store), prefix.clone()));
    let suite = suite_of(&arguments.store, below);
    let told =
        run_and_tell(&[suite], &arguments.told, "Conformance of a Zarr store", "store {subject} --inside");
    // Also where a rule is broken.
    let cleaned = cleaned(&*store, &prefix, &before);
    told.and(cleaned)
}

/// A prefix that nothing is below.
fn new_prefix(store: &dyn Store) -> Result<Prefix, Failure> {
    let number = RandomState::new().build_hasher().finish();
    let prefix = Prefix::new(format!("zarr-conformance-{number:016x}/"))
        .map_err(|error| Failure::fault(error.to_string()))?;
    match store.any_key(&prefix).map_err(zarr_kit::Error::from)? {
        None => Ok(prefix),
        Some(key) => {
            Err(Failure::fault(format!("nothing should be below a new prefix, and `{key}` is there")))
        }
    }
}

fn others(store: &dyn Store, prefix: &Prefix) -> Result<Others, StoreError> {
    let mut others = Others::new();
    for key in store.list_prefix(&Prefix::root())? {
        let key = key?;
        if !key.as_str().starts_with(prefix.as_str()) {
            let size = store.size(&key)?;
            others.insert(key, size);
        }
    }
    Ok(others)
}

fn cleaned(store: &dyn Store, prefix: &Prefix, before: &Others) -> Result<(), Failure> {
    store.erase_prefix(prefix).map_err(zarr_kit::Error::from)?;
    if let Some(key) = store.any_key(prefix).map_err(zarr_kit::Error::from)? {
        return Err(Failure::fault(format!(
            "not all that the rules wrote could be erased: there is `{key}`"
        )));
    }
    let after = others(store, prefix).map_err(zarr_kit::Error::from)?;
    let changed = before.iter().find(|(key, size)| after.get(*key) != Some(*size));
    match changed {
        None => Ok(()),
        Some((key, _)) => Err(Failure::fault(format!(
            "`{key}` is not what it was: the store, or another program, has changed it meanwhile"
        ))),
    }
}
