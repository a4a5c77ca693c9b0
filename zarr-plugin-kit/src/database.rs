//! Stores in key-value databases, whose keys are sorted and whose writes are transactions.
//!
//! A crate implements [`Database`] for its library; [`DatabaseStore`] is the store. [`OpenFiles`] shares one handle of
//! a file among all stores of the process, because such libraries cannot open a file twice.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Bound;

use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Contents, Directory, GetOptions, GetResult, Keys, Payload,
    Store, StoreError, Version, check_overlaps, put_at,
};
use zarr_spec::{Key, LimitExceeded, Output, Prefix};

mod open_files;

pub use open_files::{OpenFile, OpenFiles};

/// The values that one transaction reads and writes.
pub trait Values {
    /// Returns a copy of a value, as this transaction sees it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError>;

    /// Replaces a value.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] for a key that the database cannot hold, [`StoreError::Io`].
    fn put(&mut self, key: &Key, value: &[u8]) -> Result<(), StoreError>;

    /// Removes a value. A missing key is not an error.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn remove(&mut self, key: &Key) -> Result<(), StoreError>;
}

/// A change of a transaction. It returns whether to commit.
pub type Change<'c> = dyn FnMut(&mut dyn Values) -> Result<bool, StoreError> + 'c;

/// A database with sorted keys.
pub trait Database: Debug + Send + Sync {
    /// Returns the location of the store, such as `redb:/data/a.redb`.
    fn location(&self) -> String;

    /// Calls `read` with the value of a key, if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`], and the error of `read`.
    fn read(
        &self,
        key: &Key,
        read: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Calls `visit` with each key, starting at `from`, in the order of bytes, until `visit` returns `false`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn visit_keys(
        &self,
        from: &Bound<String>,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError>;

    /// Runs a change in one transaction. After an error, or if `change` returns `false`, nothing is written.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`], and the error of `change`.
    fn change(&self, change: &mut Change<'_>) -> Result<(), StoreError>;

    /// Returns a version that differs for different values, such as a hash.
    fn version(&self, value: &[u8]) -> Version;
}

/// The store of a database: each key of the store is a key of the database.
///
/// Each call of a method that writes is one transaction. Listings fetch keys in pages, so that no transaction is open
/// between the keys that a caller takes.
#[derive(Debug)]
pub struct DatabaseStore<D>(D);

/// The number of keys that a listing copies in one page.
const PAGE: usize = 1000;

impl<D: Database> DatabaseStore<D> {
    /// Creates the store of a database.
    pub const fn new(database: D) -> Self {
        Self(database)
    }

    /// Returns at most `count` keys that begin with `prefix`, starting at `from`.
    fn keys(&self, prefix: &Prefix, from: &Bound<String>, count: usize) -> Result<Vec<Key>, StoreError> {
        let mut keys: Vec<Result<Key, StoreError>> = Vec::new();
        self.0.visit_keys(from, &mut |key| {
            if !key.starts_with(prefix.as_str().as_bytes()) {
                return false;
            }
            keys.push(self.parsed(key));
            keys.len() < count
        })?;
        keys.into_iter().collect()
    }

    fn parsed(&self, key: &[u8]) -> Result<Key, StoreError> {
        let text = String::from_utf8_lossy(key);
        match str::from_utf8(key).map(Key::new) {
            Ok(Ok(key)) => Ok(key),
            _ => Err(StoreError::io("listing", self.0.location(), format!("`{text}` is not a key of Zarr"))),
        }
    }
}

impl<D: Database> Store for DatabaseStore<D> {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL_AND_CONDITIONAL
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let mut found = None;
        self.0.read(key, &mut |value| {
            let size = value.len() as u64;
            let part = options.range.within(size);
            let bounds = usize::try_from(part.start).ok().zip(usize::try_from(part.end).ok());
            let part = bounds.and_then(|(start, end)| value.get(start..end)).unwrap_or_default();
            to.put(part).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
            let version = options.for_update.then(|| self.0.version(value));
            found = Some(GetResult::new(Contents::Written, size, version));
            Ok(())
        })?;
        Ok(found)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.0.change(&mut |values| values.put(key, &value).map(|()| true))
    }

    fn set_if(
        &self,
        key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        let mut holds = false;
        self.0.change(&mut |values| {
            let current = values.get(key)?.map(|value| self.0.version(&value));
            holds = condition.holds(current.as_ref());
            if holds {
                values.put(key, &value)?;
            }
            Ok(holds)
        })?;
        Ok(if holds {
            ConditionalWrite::Done(Some(self.0.version(&value)))
        } else {
            ConditionalWrite::Conflict
        })
    }

    fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
        let mut holds = false;
        self.0.change(&mut |values| {
            holds = values.get(key)?.is_some_and(|value| self.0.version(&value) == *version);
            if holds {
                values.remove(key)?;
            }
            Ok(holds)
        })?;
        Ok(if holds { ConditionalWrite::Done(None) } else { ConditionalWrite::Conflict })
    }

    /// Changes either all values or none.
    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        check_overlaps(values)?;
        self.0.change(&mut |stored| {
            let mut changed: BTreeMap<&Key, Vec<u8>> = BTreeMap::new();
            for (key, offset, part) in values {
                if !changed.contains_key(key) {
                    changed.insert(key, stored.get(key)?.unwrap_or_default());
                }
                let value = changed.entry(key).or_default();
                put_at(value, *offset, part)
                    .map_err(|source: LimitExceeded| StoreError::TooLarge { key: key.to_string(), source })?;
            }
            changed.into_iter().try_for_each(|(key, value)| stored.put(key, &value))?;
            Ok(true)
        })
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.0.change(&mut |values| values.remove(key).map(|()| true))
    }

    /// Removes either all values or none.
    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        self.0.change(&mut |values| keys.iter().try_for_each(|key| values.remove(key)).map(|()| true))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let prefix = prefix.clone();
        let mut from = Some(Bound::Included(prefix.to_string()));
        let mut page = Vec::new().into_iter();
        Ok(Box::new(std::iter::from_fn(move || {
            if page.len() == 0 {
                match self.keys(&prefix, from.as_ref()?, PAGE) {
                    Ok(keys) => {
                        from = keys.last().map(|last| Bound::Excluded(last.to_string()));
                        page = keys.into_iter();
                    }
                    Err(error) => {
                        from = None;
                        return Some(Err(error));
                    }
                }
            }
            page.next().map(Ok)
        })))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        let mut directory = Directory::default();
        let mut from = Bound::Included(prefix.as_str().to_owned());
        // The first request fetches one key, because the key may be in a folder, and the rest of a folder is skipped.
        // After a key directly below the prefix, others usually follow, so whole pages are fetched.
        let mut count = 1;
        loop {
            let keys = self.keys(prefix, &from, count)?;
            if keys.is_empty() {
                return Ok(directory);
            }
            count = PAGE;
            for key in keys {
                let rest = prefix.strip(key.as_str()).unwrap_or_default();
                let Some((segment, _)) = rest.split_once('/') else {
                    from = Bound::Excluded(key.to_string());
                    directory.keys.push(key);
                    continue;
                };
                let below = prefix.join(segment)?;
                from = Bound::Included(after(&below));
                directory.prefixes.push(below);
                count = 1;
                break;
            }
        }
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        let mut size = None;
        self.0.read(key, &mut |value| {
            size = Some(value.len() as u64);
            Ok(())
        })?;
        Ok(size)
    }
}

/// Returns the first text that sorts after every key below `prefix`: it ends in `0`, the character after `/`.
fn after(prefix: &Prefix) -> String {
    let mut text = prefix.to_string();
    text.pop();
    text.push('0');
    text
}
