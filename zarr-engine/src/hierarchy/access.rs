//! Access to the documents of a store, for all formats: batches, size limits, warnings.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use bytes::Bytes;
use zarr_metadata::{DocumentError, DocumentKind, parse_json};
use zarr_spec::store::{
    Backoff, Condition, ConditionalWrite, GetOptions, Payload, Request, Store, StoreError, Version,
};
use zarr_spec::{BoxError, ByteRange, Key, NodePath, Output, Reading, Value};

use super::known_groups::{Above, KnownGroups, State};
use super::new_groups::NewGroups;
use super::warnings::{Warning, WarningLog};
use crate::context::Context;
use crate::error::Error;
use crate::flight;
use crate::location::readable_location;
use crate::locks::hash;
use crate::unpoisoned::Unpoisoned;

const BATCH: usize = 16;

#[derive(Debug)]
pub(super) struct Access {
    pub(super) store: Arc<dyn Store>,
    pub(super) context: Arc<Context>,
    /// The location of the store. Cached, because opening an array needs it.
    pub(super) location: String,
    pub(super) read_only: Option<String>,
    pub(super) new_groups: Arc<NewGroups>,
    known_groups: Arc<KnownGroups>,
    warnings: Arc<WarningLog>,
    /// During a change in a store with conditional writes, the versions of the documents that were read.
    seen: Option<Seen>,
}

/// The versions of documents when a change read them first; `None` for missing ones.
#[derive(Debug, Default)]
struct Seen(Mutex<HashMap<Key, Option<Version>>>);

impl Access {
    pub(super) fn new(store: Arc<dyn Store>, context: &Context) -> Self {
        let is_writeable = store.capabilities().writeable;
        let location = store.location();
        let read_only =
            (!is_writeable).then(|| format!("the store {} is not writeable", readable_location(&location)));
        Self {
            store,
            context: Arc::new(context.clone()),
            location,
            read_only,
            new_groups: Arc::default(),
            known_groups: Arc::default(),
            warnings: Arc::default(),
            seen: None,
        }
    }

    /// Returns a copy with another context.
    pub(super) fn with_context(&self, context: Context) -> Self {
        Self { context: Arc::new(context), ..self.copied() }
    }

    fn copied(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            context: Arc::clone(&self.context),
            location: self.location.clone(),
            read_only: self.read_only.clone(),
            new_groups: Arc::clone(&self.new_groups),
            known_groups: Arc::clone(&self.known_groups),
            warnings: Arc::clone(&self.warnings),
            seen: self.seen.as_ref().map(|_| Seen::default()),
        }
    }

    /// Returns a copy for a change of documents. In a store with conditional writes, a document is only replaced if it
    /// has not changed since it was first read through this copy. Otherwise, writing it returns [`Error::Conflict`].
    pub(super) fn changing(&self) -> Result<Self, Error> {
        let seen = self.context.check_conditions(&*self.store)?.then(Seen::default);
        Ok(Self { seen, ..self.copied() })
    }

    /// Like [`Access::changing`], for new documents.
    pub(super) fn creating(&self) -> Result<Self, Error> {
        self.context.refuse_without_conditions(&*self.store)?;
        let seen = self.store.capabilities().conditional_set.then(Seen::default);
        Ok(Self { seen, ..self.copied() })
    }

    /// Returns whether this hierarchy was created in an empty store and has no documents yet. Then no documents need to
    /// be read: conditional writes find those that other programs have created. Returns true only once, so that a
    /// repeated change reads the documents.
    pub(super) fn is_new_hierarchy(&self) -> bool {
        self.has_versions() && self.new_groups.take_start()
    }

    /// Returns the version of a document that this change has read.
    pub(super) fn seen_version(&self, key: &Key) -> Option<Version> {
        self.seen.as_ref().and_then(|seen| seen.0.lock().unpoisoned().get(key).cloned().flatten())
    }

    /// Returns whether documents are only replaced if they are unchanged.
    pub(super) fn has_versions(&self) -> bool {
        self.seen.is_some()
    }

    /// Repeats a change until no other program changes the same documents at the same time. Fails after many conflicts.
    pub(super) fn until_stored<T>(&self, mut change: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        let mut backoff = Backoff::new();
        loop {
            match change() {
                Err(Error::Conflict(key)) => backoff.wait(&key)?,
                done => return done,
            }
        }
    }

    /// Locks the consolidated metadata of this store against other changes. Locks of nodes must be acquired before this
    /// lock.
    pub(super) fn lock_consolidated(&self) -> Option<MutexGuard<'_, ()>> {
        self.context.node_locks.lock_consolidated(hash(&self.location))
    }

    /// Returns the groups above `path` that must be checked before it is created or changed.
    pub(super) fn groups_above(&self, path: &NodePath) -> Above {
        self.known_groups.above(&self.context, path)
    }

    /// Remembers that, in `state`, all nodes above `path` were groups without consolidated metadata. The caller holds
    /// the lock of the node at `path`.
    pub(super) fn learn_groups_above(&self, path: &NodePath, state: State) {
        self.known_groups.learn(&self.context, path, state);
    }

    /// Notes that chunks may exist without a document from now on. This discards all knowledge about new groups.
    pub(super) fn may_leave_chunks(&self) {
        self.context.leftovers.store(true, Ordering::SeqCst);
    }

    pub(super) fn warn(&self, text: impl Into<String>) {
        self.add_warning(Warning::new(text));
    }

    pub(super) fn add_warning(&self, warning: Warning) {
        self.warnings.add(warning);
    }

    pub(super) fn warnings(&self) -> Vec<Warning> {
        if self.context.is_unprotected(&self.location) {
            let store = readable_location(&self.location);
            self.warn(format!(
                "{store} does not have conditional writes: other programs that write at the same time may lose changes"
            ));
        }
        self.warnings.all()
    }

    pub(super) fn check_writeable(&self) -> Result<(), Error> {
        match &self.read_only {
            Some(reason) => Err(Error::NotSupported(format!("cannot write: {reason}"))),
            None => Ok(()),
        }
    }

    pub(super) fn check_listable(&self, purpose: &str) -> Result<(), Error> {
        self.check_listable_or(purpose, "")
    }

    /// Checks that the nodes below a group can be found by listing keys.
    pub(super) fn check_finds_nodes(&self, purpose: &str) -> Result<(), Error> {
        let advice =
            ": give the path of an array, or consolidate the metadata where the data come from (v2 and v3)";
        self.check_listable_or(purpose, advice)
    }

    fn check_listable_or(&self, purpose: &str, advice: &str) -> Result<(), Error> {
        if self.store.capabilities().listable {
            return Ok(());
        }
        let store = readable_location(&self.store.location());
        let reason = format!("the store {store} is not listable, but {purpose} needs a list of its keys");
        Err(Error::NotSupported(format!("{reason}{advice}")))
    }

    pub(super) fn has(&self, key: &Key) -> Result<bool, Error> {
        Ok(self.store.size(key)?.is_some())
    }

    /// Returns whether requests take no round trip, so that a batch of requests is not faster than single ones.
    pub(super) fn is_local(&self) -> bool {
        self.store.read_hints().max_concurrency == 0
    }

    /// Returns the result of `ask` if `check` succeeds. In a remote store, both run concurrently.
    pub(super) fn checked<T: Send + Sync>(
        &self,
        check: impl Fn() -> Result<(), Error> + Sync,
        ask: impl Fn() -> Result<T, Error> + Sync,
    ) -> Result<T, Error> {
        let asked = OnceLock::new();
        if self.is_local() {
            check()?;
        } else {
            flight::each(2, 2, |number| match number {
                0 => check(),
                _ => {
                    let _first = asked.set(ask());
                    Ok(())
                }
            })?;
        }
        asked.into_inner().unwrap_or_else(ask)
    }

    pub(super) fn have(&self, keys: &[Key]) -> Result<Vec<bool>, Error> {
        flight::map(keys, self.store.read_hints().max_concurrency, |key| self.has(key))
    }

    /// Returns the values of `keys`, in the same order. In a remote store this is one batch; in a local store, many
    /// keys are split among the threads.
    pub(super) fn get_all(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Error> {
        self.get_each(keys).into_iter().collect()
    }

    /// Like [`Access::get_all`], with a separate result for each key.
    pub(super) fn get_each(&self, keys: &[Key]) -> Vec<Result<Option<Bytes>, Error>> {
        if keys.is_empty() {
            return Vec::new();
        }
        if !self.is_local() || keys.len() < 2 * BATCH {
            return self.get_batch(keys);
        }
        let values = self.context.map(keys.chunks(BATCH).collect(), |keys| self.get_batch(keys));
        values.into_iter().flatten().collect()
    }

    fn get_batch(&self, keys: &[Key]) -> Vec<Result<Option<Bytes>, Error>> {
        let limit = self.context.limits.document_size;
        let request = |key: &Key| Request::new(key.clone(), self.options(ByteRange::Full), limit);
        let mut values: Vec<_> = keys.iter().map(|_| Ok(None)).collect();
        for (number, value) in self.store.get_many(keys.iter().map(request).collect(), limit) {
            let Some(place) = values.get_mut(number) else { continue };
            *place = match value {
                Ok(value) => {
                    self.note_seen(&keys[number], value.as_ref().map(|fetched| fetched.version.as_ref()));
                    Ok(value.map(|fetched| fetched.bytes))
                }
                Err(error) => Err(self.failed(&keys[number], error)),
            };
        }
        values
    }

    fn failed(&self, key: &Key, error: StoreError) -> Error {
        let limit = self.context.limits.document_size;
        match error {
            StoreError::TooLarge { .. } => {
                let reason = format!("has more than {limit} bytes, the limit for documents");
                Error::document(key, DocumentError::document(reason))
            }
            error => error.into(),
        }
    }

    /// Returns a value and its version, if the store has versions.
    pub(super) fn get_with_version(&self, key: &Key) -> Result<Option<(Bytes, Option<Version>)>, Error> {
        let mut output = Output::at_most(self.context.limits.document_size);
        let got = self.store.get(key, self.options(ByteRange::Full), &mut output);
        let got = got.map_err(|error| self.failed(key, error))?;
        self.note_seen(key, got.as_ref().map(|got| got.version.as_ref()));
        Ok(got.map(|got| {
            let version = got.version.clone();
            (got.into_bytes(output), version)
        }))
    }

    /// Returns the version of a value without reading its bytes.
    pub(super) fn version(&self, key: &Key) -> Result<Option<Version>, Error> {
        let nothing = ByteRange::Range { offset: 0, size: 0 };
        let got = self.store.get(key, self.options(nothing), &mut Output::at_most(0))?;
        Ok(got.and_then(|got| got.version))
    }

    pub(super) fn get(&self, key: &Key) -> Result<Option<Bytes>, Error> {
        Ok(self.get_with_version(key)?.map(|(bytes, _)| bytes))
    }

    /// Returns the JSON document at `key`; `None` if it does not exist.
    pub(super) fn get_json(&self, key: &Key, kind: DocumentKind) -> Result<Option<Value>, Error> {
        self.get(key)?.map(|bytes| self.parse(key, &bytes, kind)).transpose()
    }

    pub(super) fn parse(&self, key: &Key, bytes: &[u8], kind: DocumentKind) -> Result<Value, Error> {
        self.reading(key, |reading| parse_json(bytes, kind, reading))
    }

    /// Runs `read` on a part of the document at `key`. Errors and warnings name the key.
    pub(super) fn reading<T>(
        &self,
        key: &Key,
        read: impl FnOnce(&Reading) -> Result<T, DocumentError>,
    ) -> Result<T, Error> {
        let reading = Reading::new(self.context.mode).with_document_size(self.context.limits.document_size);
        let result = read(&reading);
        for warning in reading.take_warnings() {
            self.add_warning(Warning::of_document(key, warning));
        }
        result.map_err(|error| Error::document(key, error))
    }

    pub(super) fn set_json(&self, key: &Key, document: &Value) -> Result<(), Error> {
        self.set(key, zarr_json::to_vec_pretty(document).map_err(Into::into))
    }

    pub(super) fn set(&self, key: &Key, encoded: Result<Vec<u8>, BoxError>) -> Result<(), Error> {
        let encoded = encoded_at(key, encoded)?;
        let seen = self.seen.as_ref().and_then(|seen| seen.0.lock().unpoisoned().get(key).cloned());
        let condition = match seen {
            None => return Ok(self.store.set(key, encoded.into())?),
            Some(None) => Condition::Missing,
            Some(Some(version)) => Condition::Unchanged(version),
        };
        self.set_if(key, encoded.into(), &condition)
    }

    /// Like [`Access::create`], for a JSON document.
    pub(super) fn create_json(&self, key: &Key, document: &Value) -> Result<(), Error> {
        self.create(key, &encoded_at(key, zarr_json::to_vec_pretty(document).map_err(Into::into))?)
    }

    /// Stores a new document. Returns [`Error::Conflict`] if the document exists and the store has conditional writes.
    pub(super) fn create(&self, key: &Key, text: &[u8]) -> Result<(), Error> {
        match self.seen {
            Some(_) => self.set_if(key, text.into(), &Condition::Missing),
            None => Ok(self.store.set(key, text.into())?),
        }
    }

    /// Erases a document. If the store cannot do that under a condition, stores `empty` instead.
    pub(super) fn erase_or_set(&self, key: &Key, empty: &Value) -> Result<Option<Value>, Error> {
        let seen = self.seen.as_ref().and_then(|seen| seen.0.lock().unpoisoned().get(key).cloned());
        let can = self.store.capabilities();
        match seen {
            None if can.erasable => self.store.erase(key)?,
            Some(None) => {}
            Some(Some(version)) if can.conditional_erase => {
                let erased = match self.store.erase_if(key, &version) {
                    // The first conditional deletion has found that the server ignores conditions.
                    Err(StoreError::NotSupported { .. }) if !self.store.capabilities().conditional_erase => {
                        ConditionalWrite::Conflict
                    }
                    erased => erased?,
                };
                if erased.is_conflict() {
                    return Err(Error::Conflict(key.clone()));
                }
                self.forget_seen(key);
            }
            _ => {
                self.set_json(key, empty)?;
                return Ok(Some(empty.clone()));
            }
        }
        Ok(None)
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> Result<(), Error> {
        let written = match self.store.set_if(key, value, condition) {
            // The first conditional write has found that the server ignores conditions: the change starts again.
            Err(StoreError::NotSupported { .. }) if !self.store.capabilities().conditional_set => {
                ConditionalWrite::Conflict
            }
            written => written?,
        };
        match written {
            ConditionalWrite::Conflict => return Err(Error::Conflict(key.clone())),
            ConditionalWrite::Done(Some(version)) => {
                self.seen.iter().for_each(|seen| {
                    drop(seen.0.lock().unpoisoned().insert(key.clone(), Some(version.clone())))
                });
            }
            ConditionalWrite::Done(None) => self.forget_seen(key),
        }
        Ok(())
    }

    fn forget_seen(&self, key: &Key) {
        self.seen.iter().for_each(|seen| drop(seen.0.lock().unpoisoned().remove(key)));
    }

    /// Notes the version of a document that was read: `None` for a missing document, `Some(None)` for a document
    /// without a version.
    fn note_seen(&self, key: &Key, version: Option<Option<&Version>>) {
        let Some(seen) = &self.seen else { return };
        // A document without a version cannot be compared later, so it is not noted.
        let Some(version) = version.map_or(Some(None), |version| version.cloned().map(Some)) else { return };
        seen.0.lock().unpoisoned().entry(key.clone()).or_insert(version);
    }

    fn options(&self, range: ByteRange) -> GetOptions {
        if self.seen.is_some() { GetOptions::for_update(range) } else { range.into() }
    }
}

/// Adds `key` to the error of a document that could not be encoded.
pub(super) fn encoded_at(key: &Key, encoded: Result<Vec<u8>, BoxError>) -> Result<Vec<u8>, Error> {
    let reason = |error: BoxError| DocumentError::document(format!("cannot be written: {error}"));
    encoded.map_err(|error| Error::document(key, reason(error)))
}
