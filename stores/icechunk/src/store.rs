//! The store of one session.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use icechunk::conflicts::detector::ConflictDetector;
use icechunk::format::snapshot::NodeData;
use zarr_spec::store::{
    Capabilities, Contents, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreError,
    StoreResult, rewrite_values,
};
use zarr_spec::{Invalid, Key, Output, Prefix, Value};

use crate::Options;
use crate::documents;
use crate::failure;
use crate::names::folder;
use crate::reading::{self, Waiting, Wanted};
use crate::repository::{Folder, Opened};
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
    folder: Folder,
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
        let folder = Folder::new(path.as_ref())?;
        let mut store = Self {
            folder,
            options,
            runtime: Runtime::default(),
            opened: Mutex::default(),
            is_writeable: true,
            waiting: Waiting::default(),
            was_refused: AtomicBool::new(false),
        };
        if store.folder.is_vacant()? {
            if store.options.version == Version::default() {
                return Ok(store);
            }
            let what = format!("`{}` is empty, so it does not have the version", store.folder.shown());
            return Err(Invalid::new(format!("{what} `{}`", store.options.version)).into());
        }
        let opened = store.connect()?;
        let session = Arc::clone(&opened.session);
        store.is_writeable = !store.run("opening", async move { Ok(session.read().await.read_only()) })?;
        store.opened = Mutex::new(Some(opened));
        Ok(store)
    }

    fn connect(&self) -> StoreResult<Opened> {
        let folder = self.folder.clone();
        let options = self.options.clone();
        self.run("opening", async move { folder.open(&options.version, &options.virtual_chunks).await })
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
        if self.folder.is_vacant()? {
            let folder = self.folder.clone();
            self.run("creating", async move { folder.create().await })?;
        }
        Ok(opened.insert(self.connect()?).clone())
    }

    /// Runs a task of the library and waits for its result.
    fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        task: impl Future<Output = StoreResult<T>> + Send + 'static,
    ) -> StoreResult<T> {
        let done = self.runtime.wait(task);
        done.unwrap_or_else(|error| Err(StoreError::io(operation, self.location(), error)))
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
        let Version::Branch(branch) = self.options.version.clone() else { return Ok(()) };
        let locked = self.folder.lock()?;
        let folder = self.folder.clone();
        let place = self.location();
        let message = self.options.message.clone();
        let committed = self.run("committing", async move {
            let mut session = opened.session.write().await;
            if !session.has_uncommitted_changes() {
                return Ok(());
            }
            let commit = session.commit(message).rebase(&ConflictDetector, ATTEMPTS);
            commit.execute().await.map_err(|error| failure::commit(&place, &branch, &error.kind))?;
            // A session ends with its commit.
            *session = folder.session(&opened.repository, &Version::Branch(branch)).await?;
            Ok(())
        });
        drop(locked);
        committed
    }
}

impl Store for IcechunkStore {
    fn location(&self) -> String {
        let folder = self.folder.shown();
        match &self.options.version {
            version if *version == Version::default() => format!("icechunk:{folder}"),
            version => format!("{folder}|icechunk:@{version}"),
        }
    }

    fn capabilities(&self) -> Capabilities {
        if self.is_writeable { Capabilities::ALL.adapting_documents() } else { Capabilities::READ_ONLY }
    }

    fn read_hints(&self) -> ReadHints {
        // Chunks are files: a read takes about as long as copying this number of bytes.
        ReadHints::new(0, 16 << 10)
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let Some(opened) = self.existing() else { return Ok(None) };
        let wanted = Wanted { range: options.range, limit: to.remaining() };
        let waiting = self.waiting.clone();
        let key = key.clone();
        let found =
            self.run("reading", async move { reading::value(&opened, &waiting, &key, wanted).await })?;
        Ok(found.map(|found| GetResult::new(Contents::Shared(found.bytes), found.size, None)))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        let opened = self.for_change()?;
        let waiting = self.waiting.clone();
        let key = key.clone();
        let value = value.into_bytes();
        self.run("writing", async move { writing::set(&opened, &waiting, &key, value).await })
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
        let waiting = self.waiting.clone();
        let keys = keys.to_vec();
        self.run("erasing", async move { writing::erase(&opened, &waiting, &keys).await })
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        if !self.is_writeable {
            return Err(StoreError::not_supported(self, "not erasable"));
        }
        let Some(opened) = self.existing() else { return Ok(()) };
        self.was_refused.store(false, Ordering::Relaxed);
        let waiting = self.waiting.clone();
        let prefix = prefix.to_string();
        self.run("erasing", async move { writing::erase_prefix(&opened, &waiting, &prefix).await })
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
