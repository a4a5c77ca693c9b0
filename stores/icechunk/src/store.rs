//! The store of one session.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use icechunk::conflicts::detector::ConflictDetector;
use icechunk::format::manifest::{ChunkPayload, ChunkRef};
use icechunk::format::snapshot::NodeData;
use icechunk::format::{ChunkId, ChunkIndices, Path as NodePath};
use icechunk::session::SessionErrorKind;
use zarr_spec::store::{
    Capabilities, Contents, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Request, Responses,
    Store, StoreError, StoreResult, get_each, rewrite_values,
};
use zarr_spec::{Invalid, Key, Output, Prefix, Value};

use crate::Options;
use crate::batch;
use crate::documents;
use crate::failure;
use crate::names::{Name, folder};
use crate::place::Place;
use crate::reading::{self, Located, Waiting, Wanted};
use crate::repository::Opened;
use crate::runtime::Runtime;
use crate::version::Version;
use crate::writing;

/// The number of times that a commit is repeated on top of commits of others.
const ATTEMPTS: u16 = 100;

/// A version of an Icechunk repository. A branch can be changed: changes are visible in this store, and to others after
/// [`Store::commit`].
///
/// ```no_run
/// use zarr_spec::store::Store;
/// use zarr_store_icechunk::{IcechunkStore, Options};
///
/// let store = IcechunkStore::open("data.icechunk", Options::new().message("first arrays"))?;
/// store.commit()?;
/// # Ok::<(), zarr_spec::store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct IcechunkStore {
    place: Place,
    options: Options,
    runtime: Runtime,
    /// `None` until the first change creates the repository.
    opened: Mutex<Option<Opened>>,
    is_writeable: bool,
    waiting: Waiting,
    /// Whether a commit was refused and nothing changed since.
    was_refused: AtomicBool,
}

impl IcechunkStore {
    /// Opens the repository in a folder. A missing or empty folder is a repository without nodes, and the first change
    /// creates it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if the folder is something else or the version does not exist, [`StoreError::Io`].
    pub fn open(path: impl AsRef<Path>, options: Options) -> StoreResult<Self> {
        Self::at(Place::folder(path.as_ref())?, options)
    }

    /// Opens the repository whose files are the values of `store`, such as a prefix in a bucket. A store without values
    /// is a repository without nodes, and the first change creates it.
    ///
    /// Changes need [`Capabilities::conditional_set`]; otherwise the repository is read only.
    ///
    /// # Errors
    ///
    /// As [`IcechunkStore::open`], and those of `store`.
    pub fn within(store: Arc<dyn Store>, options: Options) -> StoreResult<Self> {
        Self::at(Place::Store(store), options)
    }

    fn at(place: Place, options: Options) -> StoreResult<Self> {
        let mut store = Self {
            is_writeable: place.is_writeable(),
            place,
            options,
            runtime: Runtime::default(),
            opened: Mutex::default(),
            waiting: Waiting::default(),
            was_refused: AtomicBool::new(false),
        };
        if let Some(opened) = store.connect()? {
            let session = Arc::clone(&opened.session);
            store.is_writeable &=
                !store.run("opening", async move { Ok(session.read().await.read_only()) })?;
            store.opened = Mutex::new(Some(opened));
            return Ok(store);
        }
        if !store.is_writeable || !store.place.is_vacant()? {
            return Err(store.place.no_repository());
        }
        if store.options.version != Version::default() {
            let what = format!("`{}` is empty, so it does not have the version", store.place.shown());
            return Err(Invalid::new(format!("{what} `{}`", store.options.version)).into());
        }
        Ok(store)
    }

    /// Opens the repository, if it exists.
    fn connect(&self) -> StoreResult<Option<Opened>> {
        if matches!(self.place, Place::Folder(_)) && self.place.is_vacant()? {
            return Ok(None);
        }
        self.run("opening", self.place.open(&self.options.version, &self.options.virtual_chunks))
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Returns the repository, if it exists.
    fn existing(&self) -> Option<Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the repository for a change, after creating it if needed.
    fn for_change(&self) -> StoreResult<Opened> {
        if !self.is_writeable {
            return Err(StoreError::not_supported(self, "not writeable"));
        }
        self.was_refused.store(false, Ordering::Relaxed);
        // The state is replaced in one step, so it is consistent after a panic.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        if self.place.is_vacant()? {
            self.run("creating", self.place.create())?;
        }
        let connected = self.connect()?.ok_or_else(|| self.place.no_repository())?;
        Ok(opened.insert(connected).clone())
    }

    /// Runs a task of the library and waits for its result.
    pub(crate) fn run<T>(
        &self,
        operation: &'static str,
        task: impl Future<Output = StoreResult<T>>,
    ) -> StoreResult<T> {
        let done = self.runtime.wait(task);
        done.unwrap_or_else(|error| Err(StoreError::io(operation, self.location(), error)))
    }

    /// Stores a chunk: in a manifest if it is small, otherwise in a file.
    fn set_chunk(
        &self,
        opened: &Opened,
        key: &Key,
        chunk: (NodePath, ChunkIndices),
        value: Payload<'_>,
    ) -> StoreResult<()> {
        if value.is_empty() {
            let what = format!("`{key}`: an Icechunk repository cannot hold an empty chunk");
            return Err(Invalid::new(what).into());
        }
        let limit = self.run("writing", async { Ok(writing::inline_limit(opened).await) })?;
        let payload = match value.len() <= limit {
            true => ChunkPayload::Inline(value.into_bytes()),
            false => {
                let id = ChunkId::random();
                let length = value.len() as u64;
                self.place.write(&id, value)?;
                ChunkPayload::Ref(ChunkRef { id, offset: 0, length })
            }
        };
        self.run("writing", writing::set_chunk(opened, &self.waiting, key, chunk, payload))
    }

    /// Returns the error for values that a repository cannot hold.
    fn refuse_waiting(&self) -> StoreResult<()> {
        let Some(key) = self.waiting.lock().keys().next().cloned() else { return Ok(()) };
        let what = format!(
            "`{key}` is not part of a Zarr hierarchy, so a repository cannot hold it; a copy that is not complete \
             leaves such values. Nothing was committed"
        );
        Err(StoreError::io("committing", self.location(), what))
    }

    fn commit_changes(&self) -> StoreResult<()> {
        let Some(opened) = self.existing().filter(|_| self.is_writeable) else { return Ok(()) };
        self.refuse_waiting()?;
        let Version::Branch(branch) = &self.options.version else { return Ok(()) };
        let locked = self.place.lock()?;
        let committed = self.run("committing", async {
            let mut session = opened.session.write().await;
            if !session.has_uncommitted_changes() {
                return Ok(());
            }
            let commit = session.commit(self.options.message.clone()).rebase(&ConflictDetector, ATTEMPTS);
            let failed = |kind: &SessionErrorKind| failure::commit(&self.location(), branch, kind);
            commit.execute().await.map_err(|error| failed(&error.kind))?;
            // A session ends with its commit.
            *session = self.place.session(&opened.repository, &self.options.version).await?;
            Ok(())
        });
        drop(locked);
        committed
    }
}

impl Store for IcechunkStore {
    fn location(&self) -> String {
        let place = self.place.shown();
        match &self.options.version {
            version if *version == Version::default() && !place.contains('|') => format!("icechunk:{place}"),
            version if *version == Version::default() => format!("{place}|icechunk:"),
            version => format!("{place}|icechunk:@{version}"),
        }
    }

    fn capabilities(&self) -> Capabilities {
        if self.is_writeable { Capabilities::ALL.adapting_documents() } else { Capabilities::READ_ONLY }
    }

    fn read_hints(&self) -> ReadHints {
        self.place.read_hints()
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let Some(opened) = self.existing() else { return Ok(None) };
        let wanted = Wanted { range: options.range, limit: to.remaining() };
        let found = match self.run("reading", reading::locate(&opened, &self.waiting, key, wanted))? {
            None => return Ok(None),
            Some(Located::Stored(part)) => return self.place.read(key, &part, options, to).map(Some),
            Some(Located::Virtual(part)) => self.run("reading", reading::virtual_part(&opened, key, part))?,
            Some(Located::Here(found)) => found,
        };
        Ok(Some(GetResult::new(Contents::Shared(found.bytes), found.size, None)))
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        match self.existing() {
            Some(opened) => batch::responses(self, opened, requests, budget),
            None => get_each(self, requests),
        }
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        let opened = self.for_change()?;
        match Name::of(key) {
            Some(Name::Chunk(array, index)) => self.set_chunk(&opened, key, (array, index), value),
            _ => self.run("writing", writing::set(&opened, &self.waiting, key, value.into_bytes())),
        }
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        rewrite_values(self, values)
    }

    fn array_document(&self, _key: &Key, document: &Value) -> StoreResult<Option<Value>> {
        Ok(documents::adapted(document)?)
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.erase_values(std::slice::from_ref(key))
    }

    fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
        if !self.is_writeable {
            return Err(StoreError::not_supported(self, "not erasable"));
        }
        let Some(opened) = self.existing() else { return Ok(()) };
        self.was_refused.store(false, Ordering::Relaxed);
        self.run("erasing", writing::erase(&opened, &self.waiting, keys))
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        if !self.is_writeable {
            return Err(StoreError::not_supported(self, "not erasable"));
        }
        let Some(opened) = self.existing() else { return Ok(()) };
        self.was_refused.store(false, Ordering::Relaxed);
        self.run("erasing", writing::erase_prefix(&opened, &self.waiting, prefix.as_str()))
    }

    fn commit(&self) -> StoreResult<()> {
        let committed = self.commit_changes();
        self.was_refused.store(committed.is_err(), Ordering::Relaxed);
        committed
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        let Some(opened) = self.existing() else { return Ok(Box::new(std::iter::empty())) };
        let waiting = self.waiting.keys(prefix.as_str());
        let session = Arc::clone(&opened.session);
        let below = prefix.to_string();
        let nodes =
            self.run("listing", async move { reading::nodes(&*session.read().await, &below).await })?;
        let prefix = prefix.clone();
        let keys = nodes.into_iter().flat_map(move |node| {
            let session = Arc::clone(&opened.session);
            let keys = self.run("listing", async move { reading::keys(&*session.read().await, &node).await });
            let keys: Vec<StoreResult<Key>> = match keys {
                Ok(keys) => {
                    keys.into_iter().filter(|key| prefix.strip(key.as_str()).is_some()).map(Ok).collect()
                }
                Err(error) => vec![Err(error)],
            };
            keys
        });
        Ok(Box::new(waiting.into_iter().map(Ok).chain(keys)))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        let Some(opened) = self.existing() else { return Ok(Directory::default()) };
        let waiting = self.waiting.keys(prefix.as_str());
        let below = prefix.to_string();
        let names = self.run("listing", async move {
            let session = opened.session.read().await;
            let mut names = BTreeSet::new();
            for node in reading::nodes(&session, &below).await? {
                let folder = folder(&node.path);
                match (folder.strip_prefix(below.as_str()), &node.node_data) {
                    // The folder of chunks is listed without a look at the manifests, which takes longer.
                    (Some(""), NodeData::Array { shape, .. }) if !shape.is_empty() => {
                        names.extend(["zarr.json".to_owned(), "c/".to_owned()]);
                    }
                    (Some(""), NodeData::Group) => {
                        names.insert("zarr.json".to_owned());
                    }
                    (Some(rest), _) if !rest.is_empty() => {
                        names.insert(rest.to_owned());
                    }
                    _ => {
                        let keys = reading::keys(&session, &node).await?;
                        let keys = keys.iter().filter_map(|key| key.as_str().strip_prefix(below.as_str()));
                        names.extend(keys.map(ToOwned::to_owned));
                    }
                }
            }
            Ok(names)
        })?;
        let waiting = waiting.iter().filter_map(|key| prefix.strip(key.as_str()));
        let mut keys = Vec::new();
        let mut prefixes = Vec::new();
        for name in names.iter().map(String::as_str).chain(waiting) {
            match name.split_once('/') {
                Some((segment, _)) => prefixes.push(prefix.join(segment)?),
                None => keys.push(prefix.key(name)?),
            }
        }
        Ok(Directory::new(keys, prefixes))
    }
}

/// Commits pending changes.
impl Drop for IcechunkStore {
    fn drop(&mut self) {
        if self.was_refused.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = self.commit_changes() {
            eprintln!("error: {error}");
        }
    }
}
