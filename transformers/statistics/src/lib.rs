//! The `statistics` transformer: counts and times the operations of another store.
//!
//! Described as `{"type": "statistics", "store": {…}}`. A store that was opened from such a description prints
//! a table to standard error when it is dropped, unless the description has `"report": false`;
//! [`StatisticsStore::new`] does not.
//!
//! Only operations that reach this store are counted. Operations that a `cache` around it answers are not counted, nor
//! are reads of decoded chunks that an inner cache holds.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, about transformers that do not change the stored form.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use zarr_spec::store::{
    Condition, ConditionalWrite, Contents, DescribedStore, Directory, GetOptions, GetResult, Keys, Payload,
    Request, Responses, Store, StoreConfiguration, StorePlugin, StoreResult, Version,
};
use zarr_spec::{Example, Invalid, Key, Output, Prefix, typetag};

zarr_spec::register!(
    StorePlugin::new("statistics", &[], &without_a_url)
        .configuration::<StatisticsConfiguration>()
        .about("Counts and times the operations of another store, and prints a table at the end.", EXAMPLES)
);

/// The example disables the table, which would clutter the output of programs that run it.
const EXAMPLES: &[Example] = &[Example::v3(
    r#"{"type": "statistics", "store": {"type": "filesystem", "path": "data.zarr"}, "report": false}"#,
)];

/// Totals of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Number of calls.
    pub calls: u64,
    /// Number of values or parts of values: more than `calls` for `get_many` and `set_partial_values`.
    pub values: u64,
    /// Bytes of values that were read or written.
    pub bytes: u64,
    /// Number of failed calls and of failed values within calls.
    pub errors: u64,
    /// Time in the store, summed over all threads.
    pub time: Duration,
}

/// Totals of all operations that were called, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics(pub BTreeMap<&'static str, Usage>);

impl Statistics {
    /// Returns the totals of `operation`, such as `get`; zero if it was never called.
    #[must_use]
    pub fn of(&self, operation: &str) -> Usage {
        self.0.get(operation).copied().unwrap_or_default()
    }
}

/// Formats a table.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<20}{:>10}{:>10}{:>14}{:>8}{:>12}",
            "operation", "calls", "values", "bytes", "errors", "ms"
        )?;
        for (operation, Usage { calls, values, bytes, errors, time }) in &self.0 {
            let milliseconds = time.as_secs_f64() * 1e3;
            writeln!(f, "{operation:<20}{calls:>10}{values:>10}{bytes:>14}{errors:>8}{milliseconds:>12.1}")?;
        }
        Ok(())
    }
}

/// A store that collects [`Statistics`] about another one.
#[derive(Debug)]
pub struct StatisticsStore {
    store: Arc<dyn Store>,
    statistics: Mutex<Statistics>,
    reports: bool,
}

impl StatisticsStore {
    /// Creates a store around `store`, with all counts at zero.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, statistics: Mutex::default(), reports: false }
    }

    /// Returns the totals since the store was created or [`StatisticsStore::take`] was called.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the totals and resets them.
    #[must_use]
    pub fn take(&self) -> Statistics {
        std::mem::take(&mut *self.statistics.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn count(&self, operation: &'static str, change: impl FnOnce(&mut Usage)) {
        let mut statistics = self.statistics.lock().unwrap_or_else(PoisonError::into_inner);
        change(statistics.0.entry(operation).or_default());
    }

    /// Runs and measures one call for `values` values; `bytes` returns the number of transferred bytes.
    fn measure<T>(
        &self,
        operation: &'static str,
        values: usize,
        call: impl FnOnce(&dyn Store) -> StoreResult<T>,
        bytes: impl FnOnce(&T) -> u64,
    ) -> StoreResult<T> {
        let start = Instant::now();
        let result = call(&*self.store);
        let time = start.elapsed();
        self.count(operation, |usage| {
            usage.calls += 1;
            usage.values += values as u64;
            usage.time += time;
            match &result {
                Ok(value) => usage.bytes += bytes(value),
                Err(_) => usage.errors += 1,
            }
        });
        result
    }

    /// Counts a call at `start` that returned `items`, and measures the time of each item.
    fn measure_items<'a, T: 'a>(
        &'a self,
        operation: &'static str,
        start: Instant,
        mut items: Box<dyn Iterator<Item = T> + Send + 'a>,
        change: impl Fn(&mut Usage, &T) + Send + 'a,
    ) -> Box<dyn Iterator<Item = T> + Send + 'a> {
        self.count(operation, |usage| {
            usage.calls += 1;
            usage.time += start.elapsed();
        });
        Box::new(std::iter::from_fn(move || {
            let start = Instant::now();
            let item = items.next();
            self.count(operation, |usage| {
                usage.time += start.elapsed();
                if let Some(item) = &item {
                    change(usage, item);
                }
            });
            item
        }))
    }
}

zarr_spec::delegate_store! {
    impl Store for StatisticsStore {
        forward(self.store): describe, cache, lock, commit, array_document;

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
            let before = to.written().len();
            let get = |store: &dyn Store| {
                let found = store.get(key, options, to)?;
                let size = match found.as_ref().map(|found| &found.contents) {
                    Some(Contents::Shared(bytes)) => bytes.len(),
                    Some(Contents::Written) => to.written().len() - before,
                    None => 0,
                };
                Ok((found, size))
            };
            self.measure("get", 1, get, |(_, size)| *size as u64).map(|(found, _)| found)
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            let start = Instant::now();
            let values = requests.len() as u64;
            let responses = self.store.get_many(requests, budget);
            self.count("get_many", |usage| usage.values += values);
            self.measure_items("get_many", start, responses, |usage, (_, completed)| match completed {
                Ok(Some(response)) => usage.bytes += response.bytes.len() as u64,
                Ok(None) => {}
                Err(_) => usage.errors += 1,
            })
        }

        fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
            let size = value.len() as u64;
            self.measure("set", 1, |store| store.set(key, value), |()| size)
        }

        fn set_if(
            &self,
            key: &Key,
            value: Payload<'_>,
            condition: &Condition,
        ) -> StoreResult<ConditionalWrite> {
            let size = value.len() as u64;
            self.measure("set_if", 1, |store| store.set_if(key, value, condition), |_| size)
        }

        fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
            let bytes = values.iter().map(|(_, _, part)| part.len() as u64).sum();
            let set = |store: &dyn Store| store.set_partial_values(values);
            self.measure("set_partial_values", values.len(), set, |()| bytes)
        }

        fn erase(&self, key: &Key) -> StoreResult<()> {
            self.measure("erase", 1, |store| store.erase(key), |()| 0)
        }

        fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
            self.measure("erase_if", 1, |store| store.erase_if(key, version), |_| 0)
        }

        fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
            self.measure("erase_values", keys.len(), |store| store.erase_values(keys), |()| 0)
        }

        fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
            self.measure("erase_prefix", 1, |store| store.erase_prefix(prefix), |()| 0)
        }

        fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
            let start = Instant::now();
            match self.store.list_prefix(prefix) {
                Ok(keys) => {
                    self.count("list_prefix", |usage| usage.values += 1);
                    Ok(self.measure_items("list_prefix", start, keys, |usage, key| {
                        usage.errors += u64::from(key.is_err());
                    }))
                }
                Err(error) => self.measure("list_prefix", 1, |_| Err(error), |_| 0),
            }
        }

        fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
            self.measure("list_dir", 1, |store| store.list_dir(prefix), |_| 0)
        }

        fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
            self.measure("size", 1, |store| store.size(key), |_| 0)
        }
    }
}

impl Drop for StatisticsStore {
    fn drop(&mut self) {
        if self.reports {
            eprint!("{}\n{}", self.store.location(), self.statistics());
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatisticsConfiguration {
    store: DescribedStore,
    /// Whether to print the table when the store is dropped.
    #[serde(default = "yes")]
    report: bool,
}

fn yes() -> bool {
    true
}

#[typetag::deserialize(name = "statistics")]
impl StoreConfiguration for StatisticsConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        let mut store = StatisticsStore::new(self.store.open(given)?);
        store.reports = self.report;
        Ok(Arc::new(store))
    }
}

/// Returns an error, because the store cannot be opened by URL.
fn without_a_url(url: &str) -> StoreResult<Arc<dyn Store>> {
    Err(Invalid::new(format!("`{url}`: statistics need a JSON description with the store")).into())
}
