//! The `overlay` store: a writable store over one that never changes.
//!
//! Values are written to the upper store, and read from it before the lower one. The lower store is only read.
//!
//! **Erasing.** If an erased key exists in the lower store, a marker in the upper store hides it. One marker hides
//! everything below an erased prefix. Markers are empty values below `.zarr-overlay/`; they are never listed, and
//! keys below this prefix cannot be read or written. A marker is written before the value in the upper store is
//! removed, so an interrupted call erases the value or does nothing. A value that is set later is in the upper store,
//! which is read first, so markers remain and do no harm.
//!
//! Markers are read when the store is opened. Of several processes that write to one upper store, each sees the values
//! of the others, but not what they erase until the store is opened again.
//!
//! A listing asks the upper store about each key of the lower one.
//!
//! Opened as `{"type": "overlay", "store": {…}, "base": {…}}`, where `base` is the lower store, or as the step
//! `BASE|overlay:?changes=UPPER` of a URL pipeline.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022: the transformers that do not change the stored form.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, DescribedStore, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Request,
    Responses, Step, Store, StoreConfiguration, StorePlugin, StoreResult, rewrite_values,
};
use zarr_spec::{Example, Invalid, Key, KeyError, Output, Prefix, typetag};

mod marks;

use marks::Marks;

zarr_spec::register!(
    StorePlugin::new("overlay", &["overlay"], &without_stores)
        .step(&open_step)
        .configuration::<OverlayConfiguration>()
        .about("Writes changes of a read-only store to another store.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(
    r#"{"type": "overlay", "store": {"type": "filesystem", "path": "changes"},
        "base": {"type": "memory"}}"#,
)];

/// A writable store over one that never changes.
#[derive(Debug)]
pub struct OverlayStore {
    upper: Arc<dyn Store>,
    lower: Arc<dyn Store>,
    erased: RwLock<Marks>,
}

impl OverlayStore {
    /// Writes changes of `lower` to `upper`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`](zarr_spec::store::StoreError::Invalid) if `upper` cannot be written and listed, and the
    /// errors of `upper`.
    pub fn new(upper: Arc<dyn Store>, lower: Arc<dyn Store>) -> StoreResult<Self> {
        if upper.capabilities().unconditional() != Capabilities::ALL {
            let what =
                format!("`{}` cannot hold changes: it must read, write, list and erase", upper.location());
            return Err(Invalid::new(what).into());
        }
        let erased = RwLock::new(Marks::read(&*upper)?);
        Ok(Self { upper, lower, erased })
    }

    /// Returns whether the lower store's value of a key is hidden.
    fn is_erased(&self, key: &Key) -> bool {
        self.erased.read().unwrap_or_else(PoisonError::into_inner).hide(key)
    }

    /// Writes a marker, which hides a key or a prefix of the lower store.
    fn hide(&self, marker: &Key) -> StoreResult<()> {
        self.upper.set(marker, b"".into())?;
        self.erased.write().unwrap_or_else(PoisonError::into_inner).add(marker);
        Ok(())
    }

    /// Filters `keys`, a listing of the lower store. Leaves out hidden keys, and keys that the upper store has.
    fn lower_keys<'s>(&'s self, keys: Keys<'s>) -> Keys<'s> {
        Box::new(keys.filter_map(|key| {
            let key = match key {
                Ok(key) => key,
                error => return Some(error),
            };
            if self.is_erased(&key) || marks::is_reserved(&key) {
                return None;
            }
            match self.upper.size(&key) {
                Ok(None) => Some(Ok(key)),
                Ok(Some(_)) => None,
                Err(error) => Some(Err(error)),
            }
        }))
    }
}

impl Store for OverlayStore {
    fn location(&self) -> String {
        format!("{}|overlay:?changes={}", self.lower.location(), self.upper.location())
    }

    fn capabilities(&self) -> Capabilities {
        let lower = self.lower.capabilities();
        let all = Capabilities::ALL;
        let all = if lower.listable { all } else { all.unlistable() };
        if lower.readable { all } else { all.unreadable() }
    }

    fn read_hints(&self) -> ReadHints {
        let upper = self.upper.read_hints();
        let lower = self.lower.read_hints();
        let concurrency = upper.max_concurrency.max(lower.max_concurrency);
        ReadHints::new(concurrency, upper.coalesce_gap.max(lower.coalesce_gap))
            .with_bytes_per_round_trip(upper.bytes_per_round_trip.max(lower.bytes_per_round_trip))
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        if marks::is_reserved(key) {
            return Ok(None);
        }
        match self.upper.get(key, options, to)? {
            None if !self.is_erased(key) => self.lower.get(key, options, to),
            found => Ok(found),
        }
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        let mut missing: Vec<(usize, Request)> = Vec::new();
        let mut first = self.upper.get_many(requests.clone(), budget);
        let mut second: Option<Responses<'_>> = None;
        let mut originals: Vec<usize> = Vec::new();
        Box::new(std::iter::from_fn(move || {
            while second.is_none() {
                match first.next() {
                    Some((index, Ok(None))) => match requests.get(index) {
                        Some(request)
                            if !self.is_erased(&request.key) && !marks::is_reserved(&request.key) =>
                        {
                            missing.push((index, request.clone()));
                        }
                        _ => return Some((index, Ok(None))),
                    },
                    Some((index, Ok(Some(_))))
                        if requests.get(index).is_some_and(|it| marks::is_reserved(&it.key)) =>
                    {
                        return Some((index, Ok(None)));
                    }
                    Some(found) => return Some(found),
                    None => {
                        let asked = std::mem::take(&mut missing);
                        originals = asked.iter().map(|(index, _)| *index).collect();
                        let asked = asked.into_iter().map(|(_, request)| request).collect();
                        second = Some(self.lower.get_many(asked, budget));
                    }
                }
            }
            let (number, found) = second.as_mut()?.next()?;
            Some((*originals.get(number)?, found))
        }))
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        if marks::is_reserved(key) {
            return Ok(None);
        }
        match self.upper.size(key)? {
            None if !self.is_erased(key) => self.lower.size(key),
            size => Ok(size),
        }
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        check(key)?;
        self.upper.set(key, value)
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        rewrite_values(self, values)
    }

    fn commit(&self) -> StoreResult<()> {
        self.upper.commit()
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        if marks::is_reserved(key) {
            return Ok(());
        }
        if !self.is_erased(key) && self.lower.size(key)?.is_some() {
            self.hide(&marks::of_key(key)?)?;
        }
        self.upper.erase(key)
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        if marks::is_reserved_prefix(prefix) {
            return Ok(());
        }
        self.hide(&marks::of_prefix(prefix)?)?;
        if !prefix.as_str().is_empty() {
            return self.upper.erase_prefix(prefix);
        }
        let changes = self.upper.list_dir(prefix)?;
        self.upper.erase_values(&changes.keys)?;
        let mut folders = changes.prefixes.iter().filter(|folder| !marks::is_reserved_prefix(folder));
        folders.try_for_each(|folder| self.upper.erase_prefix(folder))
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        let upper = self.upper.list_prefix(prefix)?;
        let upper = upper.filter(|key| !key.as_ref().is_ok_and(marks::is_reserved));
        Ok(Box::new(upper.chain(self.lower_keys(self.lower.list_prefix(prefix)?))))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        if marks::is_reserved_prefix(prefix) {
            return Ok(Directory::default());
        }
        let upper = self.upper.list_dir(prefix)?;
        let lower = self.lower.list_dir(prefix)?;
        let known: HashSet<Key> = upper.keys.iter().cloned().collect();
        let mut keys = upper.keys;
        keys.extend(lower.keys.into_iter().filter(|key| !known.contains(key) && !self.is_erased(key)));
        let mut prefixes: BTreeSet<Prefix> = upper.prefixes.into_iter().collect();
        for folder in lower.prefixes {
            if !prefixes.contains(&folder)
                && self.lower_keys(self.lower.list_prefix(&folder)?).next().is_some()
            {
                prefixes.insert(folder);
            }
        }
        prefixes.retain(|folder| !marks::is_reserved_prefix(folder));
        Ok(Directory::new(keys, prefixes.into_iter().collect()))
    }
}

/// Refuses a key below the prefix of the markers.
fn check(key: &Key) -> Result<(), KeyError> {
    match marks::is_reserved(key) {
        true => Err(KeyError::new(key.as_str(), "key", "the overlay store reserves its prefix")),
        false => Ok(()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OverlayConfiguration {
    /// The store that is written.
    store: DescribedStore,
    /// The store that never changes.
    base: DescribedStore,
}

#[typetag::deserialize(name = "overlay")]
impl StoreConfiguration for OverlayConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        Ok(Arc::new(OverlayStore::new(self.store.open(given)?, self.base.open(None)?)?))
    }
}

fn open_step(step: &Step<'_>) -> StoreResult<Arc<dyn Store>> {
    match step.options {
        [(name, changes)] if name == "changes" => {
            let upper = step.locations.open(changes)?;
            Ok(Arc::new(OverlayStore::new(upper, step.locations.open(step.input)?)?))
        }
        _ => {
            Err(Invalid::new("`|overlay:` needs the option `changes`: `BASE|overlay:?changes=LOCATION`")
                .into())
        }
    }
}

/// Returns an error, because only a step can open other locations.
fn without_stores(url: &str) -> StoreResult<Arc<dyn Store>> {
    Err(Invalid::new(format!("`{url}`: expected `BASE|overlay:?changes=LOCATION` or a JSON description"))
        .into())
}
