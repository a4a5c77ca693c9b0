//! `conformance store --inside`: checks a store below a new prefix.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use zarr_conformance::stores::suite_of;
use zarr_kit::spec::store::{Store, StoreError};
use zarr_kit::spec::{Key, Prefix};
use zarr_kit::stores::PrefixStore;

use super::run_and_report;
use crate::arguments::ConformanceStore;
use crate::failure::Failure;
use crate::printer::note;

/// All values outside of the prefix, and their sizes, to detect changes by the store.
type Others = BTreeMap<Key, Option<u64>>;

pub(super) fn run(arguments: &ConformanceStore, store: Arc<dyn Store>) -> Result<(), Failure> {
    let prefix = new_prefix(&*store)?;
    let before = others(&*store, &prefix)?;
    note(&format!(
        "checking below `{prefix}` of `{}`; its {} other values are not changed",
        arguments.store,
        before.len()
    ));
    let below = Arc::new(PrefixStore::new(Arc::clone(&store), prefix.clone()));
    let suite = suite_of(&arguments.store, below);
    let reported = run_and_report(
        &[suite],
        &arguments.report,
        "Conformance of a Zarr store",
        "store {subject} --inside",
    );
    // The values are removed even if a rule is violated.
    let cleaned = cleaned(&*store, &prefix, &before);
    reported.and(cleaned)
}

fn new_prefix(store: &dyn Store) -> Result<Prefix, Failure> {
    let number = RandomState::new().build_hasher().finish();
    let prefix = Prefix::new(format!("zarr-conformance-{number:016x}/"))
        .map_err(|error| Failure::fault(error.to_string()))?;
    match store.any_key(&prefix)? {
        None => Ok(prefix),
        Some(key) => Err(Failure::fault(format!("the new prefix is not empty: it contains `{key}`"))),
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
    store.erase_prefix(prefix)?;
    if let Some(key) = store.any_key(prefix)? {
        return Err(Failure::fault(format!("could not erase all values of the check: `{key}` remains")));
    }
    let after = others(store, prefix)?;
    let changed = before.iter().find(|(key, size)| after.get(*key) != Some(*size));
    match changed {
        None => Ok(()),
        Some((key, _)) => Err(Failure::fault(format!(
            "`{key}` has changed during the check, by the store or another program"
        ))),
    }
}
