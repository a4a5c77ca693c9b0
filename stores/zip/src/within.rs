//! Archives in other stores that can be created and changed.
//!
//! The first change of a session reads the version of the archive. New values are written to a temporary file without a
//! name. A commit copies the old entries to the beginning of this file, so that it becomes the whole new archive, and
//! replaces the value in the store under the condition that it has this version. The file is mapped into memory for
//! that: its size does not matter.
//!
//! After a commit, the store reads the archive from the temporary file, as it was committed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use rawzip::ReaderAt;
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Directory, GetOptions, GetResult, Keys, Payload, ReadHints,
    Request, Responses, Store, StoreError, StoreResult, Version, erase_listed, get_each, get_one,
    rewrite_values,
};
use zarr_spec::{BoxError, Key, Output, Prefix};

use crate::changing::{Changing, View, print};
use crate::session::{PIECE, Session};
use crate::stored::{self, Access, StoredArchive};
use crate::{Source, ZipStore, scratch};

/// The key of the value whose conditional write finds out whether the store has conditions. It is never written.
const PROBE: &str = ".zarr-kit-check-zip";

/// A version that no value has, in the form of an ETag, which servers expect.
const UNMET: &[u8] = b"\"00000000000000000000000000000000\"";

/// The error of a change if conditions are required, but the store does not have them.
const NOT_CONDITIONAL: &str = "the store that contains the archive does not have conditional writes, which are required: \
                               other programs that write at the same time could lose changes";

/// The error of a session whose archive is another one.
const REPLACED: &str = "the archive was replaced after it was opened; open it again";

/// The error of a commit after that of another program.
const LOST: &str = "another program replaced the archive while this one changed it; the changes of this program were not \
                    written: open the archive again and repeat them";

/// Values in a zip archive that is a value of another store, which can be created and changed.
///
/// Changes are in a temporary file until [`Store::commit`], and visible in this store, not in other stores of the same
/// archive. A commit also commits the store that contains the archive. Dropping the store commits, and prints a failure,
/// which it cannot return, unless [`Store::commit`] has returned it before.
#[derive(Debug)]
pub struct StoredZipStore(Archive);

impl StoredZipStore {
    /// Opens the archive that is the value of `key` in another store. Its directory is read with one or two requests. A
    /// missing archive has no values, and the first commit creates it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if the value is not a complete archive, or if it does not exist and the store is not
    /// writeable, and the errors of `store`.
    pub fn open(store: Arc<dyn Store>, key: Key) -> StoreResult<Self> {
        let opened = match StoredArchive::open(&store, &key, Access::Reading)? {
            Some(archive) => ZipStore::of_stored(archive)?,
            None if store.capabilities().writeable => ZipStore::empty(stored::place(&*store, &key)),
            None => return Err(stored::missing(&*store, &key)),
        };
        Ok(Self(Archive { store, key, opened, state: RwLock::default(), has_failed: AtomicBool::new(false) }))
    }
}

/// An archive that is open.
#[derive(Debug)]
struct Archive {
    store: Arc<dyn Store>,
    key: Key,
    /// The archive as it was opened; without values if it did not exist.
    opened: ZipStore,
    state: RwLock<State>,
    /// Whether a commit returned a failure after the last change.
    has_failed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The archive as it was committed last, in a temporary file.
    committed: Option<ZipStore>,
    session: Option<StoredSession>,
    /// Whether the store that contains the archive has a value that is not committed.
    is_commit_due: bool,
}

/// A session whose file becomes a value of the store.
#[derive(Debug)]
struct StoredSession {
    session: Session,
    /// The condition that the archive is unchanged; `None` if the store does not have conditional writes.
    condition: Option<Condition>,
    /// Whether the old entries are in the file.
    has_old: bool,
    /// The archive that a commit tried to write, if it failed. The write may have succeeded all the same.
    attempt: Option<ZipStore>,
}

/// The archive in the store, compared with an expected one.
enum Now {
    /// The same archive, and the condition that it is unchanged, if the store has versions.
    Same(Option<Condition>),
    Other,
}

impl State {
    fn own(&self) -> Option<&StoredSession> {
        self.session.as_ref().filter(|current| current.session.is_own())
    }
}

impl Archive {
    // Every change is a single step, so a panic leaves the state consistent.
    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn exclusive(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> String {
        stored::place(&*self.store, &self.key)
    }

    fn capabilities(&self) -> Capabilities {
        let inner = self.store.capabilities();
        if !(inner.readable && inner.writeable) {
            return Capabilities::READ_ONLY;
        }
        let mut can =
            if inner.conditional_set { Capabilities::ALL_AND_CONDITIONAL } else { Capabilities::ALL };
        can.conditions_required = inner.conditions_required;
        can
    }

    fn require(&self, is_supported: bool, quality: &'static str) -> StoreResult<()> {
        match is_supported {
            true => Ok(()),
            false => Err(StoreError::NotSupported { store: format!("{}|zip:", self.place()), quality }),
        }
    }

    /// Refuses a change of a store that is read only.
    fn require_changes(&self, quality: &'static str) -> StoreResult<()> {
        self.has_failed.store(false, Ordering::Relaxed);
        self.require(self.capabilities().writeable, quality)
    }

    /// Refuses a change of a store without conditions. Begins a session, so that the capabilities are certain.
    fn require_conditions(&self) -> StoreResult<()> {
        self.has_failed.store(false, Ordering::Relaxed);
        self.require(self.capabilities().conditional_set, "not conditional")?;
        self.begin()?;
        self.require(self.capabilities().conditional_set, "not conditional")
    }

    fn begun(&self, base: &ZipStore) -> StoreResult<StoredSession> {
        let failed = |error: BoxError| self.failed("writing", error);
        let begin = Session::begin_of(base).map_err(failed)?;
        let is_conditional = self.is_conditional()?;
        if !is_conditional && self.store.capabilities().conditions_required {
            return Err(failed(NOT_CONDITIONAL.into()));
        }
        let Now::Same(condition) = self.compare(base)? else { return Err(failed(REPLACED.into())) };
        if is_conditional && condition.is_none() {
            return Err(failed("the store has conditional writes, but returned no version".into()));
        }
        let (file, reader) = scratch::create().map_err(|error| {
            let folder = std::env::temp_dir().display().to_string();
            StoreError::io("creating a temporary file in", folder, error)
        })?;
        let session = Session::new(file, reader, begin);
        let condition = condition.filter(|_| is_conditional);
        Ok(StoredSession { session, condition, has_old: begin == 0, attempt: None })
    }

    /// Returns whether the store has conditional writes. Some stores find out with the first one that their server ignores
    /// conditions.
    fn is_conditional(&self) -> StoreResult<bool> {
        if !self.store.capabilities().conditional_set {
            return Ok(false);
        }
        let unmet = Condition::Unchanged(Version::new(UNMET));
        match self.store.set_if(&Key::new(PROBE)?, b"".into(), &unmet) {
            Ok(written) => Ok(written.is_conflict()),
            Err(StoreError::NotSupported { .. }) if !self.store.capabilities().conditional_set => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads the archive as it is now, and compares it with an expected one.
    fn compare(&self, expected: &ZipStore) -> StoreResult<Now> {
        let is_missing = matches!(expected.source, Source::Memory(_));
        let found = StoredArchive::open(&self.store, &self.key, Access::Replacing)?;
        let Some(found) = found.map(ZipStore::of_stored).transpose()? else {
            return Ok(if is_missing { Now::Same(Some(Condition::Missing)) } else { Now::Other });
        };
        Ok(match &found.source {
            Source::Stored(archive) if !is_missing && found.entries.is_same(&expected.entries) => {
                Now::Same(Condition::of(archive.version()))
            }
            _ => Now::Other,
        })
    }

    fn commit(&self) -> StoreResult<()> {
        let committed = self.commit_all();
        self.has_failed.store(committed.is_err(), Ordering::Relaxed);
        committed
    }

    /// Commits the changes of this store, and then the store that contains the archive.
    fn commit_all(&self) -> StoreResult<()> {
        let mut state = self.exclusive();
        let has_changes = state.own().map(|current| !current.session.changes().is_empty());
        match has_changes {
            Some(true) => self.replace(&mut state)?,
            Some(false) => state.session = None,
            None => {}
        }
        if state.is_commit_due {
            self.store.commit()?;
            state.is_commit_due = false;
        }
        Ok(())
    }

    /// Replaces the archive. After a conflict or a failure of the temporary file, the changes are lost.
    fn replace(&self, state: &mut State) -> StoreResult<()> {
        let State { committed, session, .. } = &mut *state;
        let base = committed.as_ref().unwrap_or(&self.opened);
        let Some(current) = session.as_mut() else { return Ok(()) };
        if let Err(error) = current.session.compact() {
            *session = None;
            let what =
                format!("{error}; the archive is unchanged, and the changes since the last commit are lost");
            return Err(self.failed("writing", what));
        }
        let (new, bytes) = self.assemble(base, current).map_err(|error| self.failed("writing", error))?;
        let written = self.put(base, current, &bytes);
        // A write whose response was lost may have succeeded.
        if !matches!(written, Ok(true)) && !matches!(self.compare(&new), Ok(Now::Same(_))) {
            let lost = |_| self.failed("writing", LOST);
            match &written {
                Ok(_) => *session = None,
                Err(_) => current.attempt = Some(new),
            }
            return Err(written.map_or_else(|error| error, lost));
        }
        *committed = Some(new);
        *session = None;
        state.is_commit_due = true;
        Ok(())
    }

    /// Writes the new archive if the old one is unchanged. Returns whether it was written.
    fn put(&self, base: &ZipStore, current: &StoredSession, bytes: &Bytes) -> StoreResult<bool> {
        let attempt = current.attempt.as_ref();
        if let Some(condition) = &current.condition {
            if !self.store.set_if(&self.key, bytes.into(), condition)?.is_conflict() {
                return Ok(true);
            }
            // The old archive may be the one that the last commit wrote.
            return match attempt.map(|attempt| self.compare(attempt)).transpose()? {
                Some(Now::Same(Some(condition))) => {
                    Ok(!self.store.set_if(&self.key, bytes.into(), &condition)?.is_conflict())
                }
                _ => Ok(false),
            };
        }
        // Without conditions, this finds most changes by other programs.
        for expected in [Some(base), attempt].into_iter().flatten() {
            if let Now::Same(_) = self.compare(expected)? {
                self.store.set(&self.key, bytes.into())?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Completes the file of a session, and reads its directory again. Returns the new archive, and its bytes.
    fn assemble(&self, base: &ZipStore, current: &mut StoredSession) -> Result<(ZipStore, Bytes), BoxError> {
        if !current.has_old {
            copy(&base.source, &current.session)?;
            current.has_old = true;
        }
        let values = current.session.complete(base)?;
        current.session.fix()?;
        let file = current.session.file()?;
        let bytes = scratch::contents(&file)?;
        let new = ZipStore::of_file(file, self.place())?;
        new.check_count(values)?;
        Ok((new, bytes))
    }

    /// Reads values of the archive as it was opened. If it was committed meanwhile, failed requests are repeated.
    fn get_opened<'a>(
        &'a self,
        store: &'a StoredZipStore,
        asked: Vec<(usize, Request)>,
        budget: usize,
    ) -> Responses<'a> {
        let requests = asked.iter().map(|(_, request)| request.clone()).collect();
        Box::new(self.opened.get_many(requests, budget).filter_map(move |(number, response)| {
            let (index, request) = asked.get(number)?;
            let is_old = response.is_err() && self.state().committed.is_some();
            Some((*index, if is_old { get_one(store, request) } else { response }))
        }))
    }
}

impl Changing for Archive {
    fn view<T>(&self, read: impl FnOnce(View<'_>) -> T) -> T {
        let state = self.state();
        let base = state.committed.as_ref().unwrap_or(&self.opened);
        read(View { base, session: state.session.as_ref().map(|current| &current.session) })
    }

    fn begin(&self) -> StoreResult<()> {
        let mut state = self.exclusive();
        if state.session.is_none() {
            let begun = self.begun(state.committed.as_ref().unwrap_or(&self.opened))?;
            state.session = Some(begun);
        }
        Ok(())
    }

    fn failed(&self, operation: &'static str, error: impl Into<BoxError>) -> StoreError {
        StoreError::io(operation, self.place(), error)
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.commit() {
            print(&error);
        }
    }
}

impl Store for StoredZipStore {
    fn location(&self) -> String {
        format!("{}|zip:", self.0.place())
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn read_hints(&self) -> ReadHints {
        self.0.view(|view| view.base.read_hints())
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        self.0.view(|view| view.get(key, options, to))
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        let is_opened = |request: &Request| {
            let is_changed = |view: View<'_>| {
                view.session.is_some_and(|session| session.changes().contains_key(&request.key))
            };
            !self.0.view(is_changed)
        };
        if self.0.state().committed.is_some() {
            return get_each(self, requests);
        }
        let (opened, changed): (Vec<_>, Vec<_>) =
            requests.into_iter().enumerate().partition(|(_, request)| is_opened(request));
        let changed = changed.into_iter().map(|(index, request)| (index, get_one(self, &request)));
        Box::new(changed.chain(self.0.get_opened(self, opened, budget)))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        self.0.require_changes("not writeable")?;
        self.0.set(key, &value)
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        self.0.require_conditions()?;
        self.0.set_if(key, &value, condition)
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        self.0.require_changes("not writeable")?;
        rewrite_values(self, values)
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.0.require_changes("not erasable")?;
        self.0.erase(key)
    }

    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        self.0.require_conditions()?;
        self.0.erase_if(key, version)
    }

    fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
        self.0.require_changes("not erasable")?;
        keys.iter().try_for_each(|key| self.0.erase(key))
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        self.0.require_changes("not erasable")?;
        erase_listed(self, prefix)
    }

    fn commit(&self) -> StoreResult<()> {
        self.0.commit()
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        Ok(self.0.list_prefix(prefix))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        self.0.list_dir(prefix)
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        Ok(self.0.view(|view| view.size(key)))
    }
}

/// Copies the old entries of an archive to the file of a session.
fn copy(source: &Source, session: &Session) -> Result<(), BoxError> {
    let size = session.begin();
    if let Source::Stored(archive) = source {
        return archive.copy(size, &mut |offset, bytes| session.write_old(offset, bytes));
    }
    let mut buffer = vec![0; PIECE];
    for start in (0..size).step_by(PIECE) {
        let piece = usize::try_from(size - start).unwrap_or(PIECE).min(PIECE);
        source.read_exact_at(&mut buffer[..piece], start)?;
        session.write_old(start, &buffer[..piece])?;
    }
    Ok(())
}
