//! Archives with uncommitted changes, as local archives and those in other stores have them.

use std::collections::btree_map::Range as ChangesRange;
use std::fmt::Debug;
use std::iter::Peekable;
use std::ops::Bound;
use std::slice;
use std::sync::Arc;

use zarr_spec::store::{
    Condition, ConditionalWrite, Directory, GetOptions, GetResult, Keys, Payload, Store, StoreError,
    StoreResult, Version,
};
use zarr_spec::{BoxError, Key, Output, Prefix};

use crate::directory::Entry;
use crate::session::{Changes, Session};
use crate::{ZipStore, records};

/// The largest number of keys that a listing has in memory.
const LISTED: usize = 4096;

/// The error of a change in a process that was forked after the session began.
const FORKED: &str = "it was changed before this process was forked; only the first process can change it";

/// An archive whose changes are in a session until a commit.
pub(crate) trait Changing: Debug + Send + Sync {
    /// Calls `read` with the archive and its changes. No commit happens meanwhile.
    fn view<T>(&self, read: impl FnOnce(View<'_>) -> T) -> T;

    /// Begins a session if there is none.
    ///
    /// # Errors
    ///
    /// If the archive cannot be changed.
    fn begin(&self) -> StoreResult<()>;

    fn failed(&self, operation: &'static str, error: impl Into<BoxError>) -> StoreError;

    /// Makes a change in the current session, or in a new one.
    ///
    /// # Errors
    ///
    /// Those of [`Changing::begin`] and of `change`.
    fn change<T>(&self, change: impl FnOnce(View<'_>, &Session) -> StoreResult<T>) -> StoreResult<T> {
        let mut change = Some(change);
        loop {
            let changed = self.view(|view| match view.session {
                Some(session) if session.is_own() => change.take().map(|change| change(view, session)),
                Some(_) => Some(Err(self.failed("writing", FORKED))),
                None => None,
            });
            match changed {
                Some(changed) => return changed,
                None => self.begin()?,
            }
        }
    }

    /// Implements [`Store::set`].
    fn set(&self, key: &Key, value: &Payload<'_>) -> StoreResult<()> {
        records::check(key)?;
        self.change(|_, session| {
            let entry = session.append(key, value).map_err(|error| self.failed("writing", error))?;
            session.changing().insert(key.clone(), Some(entry));
            Ok(())
        })
    }

    /// Implements [`Store::set_if`].
    fn set_if(&self, key: &Key, value: &Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        records::check(key)?;
        if !condition.holds(self.version(key).as_ref()) {
            return Ok(ConditionalWrite::Conflict);
        }
        self.change(|view, session| {
            let entry = session.append(key, value).map_err(|error| self.failed("writing", error))?;
            let mut changes = session.changing();
            if !condition.holds(view.current(&changes, key).as_ref()) {
                return Ok(ConditionalWrite::Conflict);
            }
            let version = view.base.version_of(&entry);
            changes.insert(key.clone(), Some(entry));
            Ok(ConditionalWrite::Done(Some(version)))
        })
    }

    /// Implements [`Store::erase`].
    fn erase(&self, key: &Key) -> StoreResult<()> {
        if self.version(key).is_none() {
            return Ok(());
        }
        self.change(|view, session| {
            view.erase(&mut session.changing(), key);
            Ok(())
        })
    }

    /// Implements [`Store::erase_if`].
    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        if self.version(key).as_ref() != Some(version) {
            return Ok(ConditionalWrite::Conflict);
        }
        self.change(|view, session| {
            let mut changes = session.changing();
            if view.current(&changes, key).as_ref() != Some(version) {
                return Ok(ConditionalWrite::Conflict);
            }
            view.erase(&mut changes, key);
            Ok(ConditionalWrite::Done(None))
        })
    }

    fn version(&self, key: &Key) -> Option<Version> {
        self.view(|view| view.with(key, |entry| view.base.version_of(entry)))
    }

    /// Implements [`Store::list_prefix`].
    fn list_prefix(&self, prefix: &Prefix) -> Keys<'_> {
        let prefix = prefix.clone();
        let mut from = Bound::Included(prefix.as_str().to_owned());
        // The first key is often enough.
        let mut most = 1;
        let batches = std::iter::from_fn(move || {
            let keys = self.view(|view| view.keys(&prefix, &from, most));
            from = Bound::Excluded(keys.last()?.as_str().to_owned());
            most = (most * 8).min(LISTED);
            Some(keys)
        });
        Box::new(batches.flatten().map(Ok))
    }

    /// Implements [`Store::list_dir`].
    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        let unchanged = self.view(|view| view.session.is_none().then(|| view.base.list_dir(prefix)));
        if let Some(found) = unchanged {
            return found;
        }
        let mut found = Directory::default();
        let mut from = Bound::Included(prefix.as_str().to_owned());
        while let Some(key) = self.view(|view| view.keys(prefix, &from, 1)).pop() {
            let name = prefix.strip(key.as_str()).unwrap_or_default();
            match name.split_once('/') {
                Some((segment, _)) => {
                    found.prefixes.push(prefix.join(segment)?);
                    // The character that follows `/`.
                    from = Bound::Included(format!("{prefix}{segment}0"));
                }
                None => {
                    from = Bound::Excluded(key.as_str().to_owned());
                    found.keys.push(key);
                }
            }
        }
        Ok(found)
    }
}

/// An archive and its uncommitted changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// The archive as it was opened or committed last.
    pub(crate) base: &'a ZipStore,
    pub(crate) session: Option<&'a Session>,
}

impl View<'_> {
    /// Implements [`Store::get`].
    pub(crate) fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> StoreResult<Option<GetResult>> {
        let change = self.session.and_then(|session| Some((session, session.changes().get(key).cloned()?)));
        match change {
            None => self.base.get(key, options, to),
            Some((_, None)) => Ok(None),
            Some((session, Some(entry))) => {
                self.base.get_from(session.source(), &entry, options, to).map(Some)
            }
        }
    }

    /// Implements [`Store::size`].
    pub(crate) fn size(&self, key: &Key) -> Option<u64> {
        self.with(key, Entry::size)
    }

    /// Calls `read` with the entry of a key. Returns `None` if the key is missing.
    fn with<T>(&self, key: &Key, read: impl FnOnce(&Entry) -> T) -> Option<T> {
        if let Some(change) = self.session.and_then(|session| session.changes().get(key).cloned()) {
            return change.map(|entry| read(&entry));
        }
        self.base.entries.find(key).map(read)
    }

    /// Returns the version of a value after `changes`, whose lock the caller holds.
    fn current(&self, changes: &Changes, key: &Key) -> Option<Version> {
        match changes.get(key) {
            Some(change) => change.as_ref().map(|entry| self.base.version_of(entry)),
            None => self.base.entries.find(key).map(|entry| self.base.version_of(entry)),
        }
    }

    /// Erases a value: marks a key of the archive as erased, and removes a key that only `changes` have.
    fn erase(&self, changes: &mut Changes, key: &Key) {
        match self.base.entries.find(key) {
            Some(_) => changes.insert(key.clone(), None),
            None => changes.remove(key),
        };
    }

    /// Returns up to `most` sorted keys that begin with `prefix`, from a key on.
    fn keys(&self, prefix: &Prefix, from: &Bound<String>, most: usize) -> Vec<Key> {
        let is_before = |entry: &Entry| match from {
            Bound::Included(from) => entry.key().as_str() < from.as_str(),
            Bound::Excluded(from) => entry.key().as_str() <= from.as_str(),
            Bound::Unbounded => false,
        };
        let all = self.base.entries.all();
        let base = &all[all.partition_point(is_before)..];
        let in_prefix = |key: &Key| prefix.strip(key.as_str()).is_some();
        match self.session {
            None => {
                let keys = base.iter().map(Entry::key).take_while(|key| in_prefix(key));
                keys.take(most).cloned().collect()
            }
            Some(session) => {
                let changes = session.changes();
                let from = (from.as_ref().map(String::as_str), Bound::Unbounded);
                let merged = Merged {
                    base: base.iter().peekable(),
                    changes: changes.range::<str, _>(from).peekable(),
                };
                merged.take_while(|key| in_prefix(key)).take(most).cloned().collect()
            }
        }
    }
}

/// The keys of an archive and of its changes, sorted.
struct Merged<'a> {
    base: Peekable<slice::Iter<'a, Entry>>,
    changes: Peekable<ChangesRange<'a, Key, Option<Arc<Entry>>>>,
}

impl<'a> Iterator for Merged<'a> {
    type Item = &'a Key;

    fn next(&mut self) -> Option<&'a Key> {
        loop {
            let next = match (self.base.peek(), self.changes.peek()) {
                (Some(old), Some((key, _))) if old.key() < *key => return self.base.next().map(Entry::key),
                (Some(old), Some((key, _))) => {
                    if old.key() == *key {
                        self.base.next();
                    }
                    self.changes.next()
                }
                (Some(_), None) => return self.base.next().map(Entry::key),
                (None, _) => self.changes.next(),
            };
            // An erased key is not listed.
            if let (key, Some(_)) = next? {
                return Some(key);
            }
        }
    }
}

/// Prints the failure of a commit that cannot return it.
pub(crate) fn print(error: &StoreError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    eprintln!("error: {error}{}", cause.unwrap_or_default());
}
