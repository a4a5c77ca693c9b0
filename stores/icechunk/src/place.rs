//! The place of a repository, and the chunks in it.
//!
//! The library reads and writes documents and manifests. Chunks are read and written here, on the thread of the caller:
//! the manifests list their names, offsets and sizes.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use icechunk::format::{CHUNKS_FILE_PATH, ChunkId};
use icechunk::new_local_filesystem_storage;
use icechunk::storage::Storage;
use zarr_spec::store::{
    Contents, GetOptions, GetResult, IoKind, Payload, ReadHints, Store, StoreError, StoreResult,
};
use zarr_spec::{ByteRange, Key, KeyError, Output, Prefix, printable_path};

use crate::failure;
use crate::reading::StoredPart;
use crate::storage::InStore;

/// The place of a repository.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A local folder.
    Folder(PathBuf),
    /// Another store, such as a bucket.
    Store(Arc<dyn Store>),
}

impl Place {
    pub(crate) fn folder(path: &Path) -> StoreResult<Self> {
        let absolute = path::absolute(path);
        absolute
            .map(Self::Folder)
            .map_err(|error| StoreError::io("opening", printable_path(path).to_string(), error))
    }

    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Store(store) => store.location(),
        }
    }

    /// Returns whether a repository here can be changed. A commit in a store needs conditional writes.
    pub(crate) fn is_writeable(&self) -> bool {
        match self {
            Self::Folder(_) => true,
            Self::Store(store) => {
                let can = store.capabilities();
                can.writeable && can.conditional_set
            }
        }
    }

    pub(crate) fn read_hints(&self) -> ReadHints {
        match self {
            // Chunks are files: a read takes about as long as copying this number of bytes.
            Self::Folder(_) => ReadHints::new(0, 16 << 10),
            Self::Store(store) => store.read_hints(),
        }
    }

    /// Returns whether nothing is here yet.
    pub(crate) fn is_vacant(&self) -> StoreResult<bool> {
        match self {
            Self::Folder(folder) => match fs::read_dir(folder) {
                Ok(mut entries) => Ok(entries.next().is_none()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
                Err(error) => Err(StoreError::io("opening", self.shown(), error)),
            },
            Self::Store(store) => {
                Ok(store.capabilities().listable && store.any_key(&Prefix::root())?.is_none())
            }
        }
    }

    /// Waits until no other session of this framework commits to a folder, in any process.
    ///
    /// Files do not have the conditional writes that the library relies on, so two commits at the same time could lose
    /// one. The lock ends when the file is dropped. Other stores do not need it.
    pub(crate) fn lock(&self) -> StoreResult<Option<File>> {
        match self {
            // Other systems cannot open folders as files.
            Self::Folder(folder) if cfg!(unix) => {
                let locked = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
                locked.map(Some).map_err(|error| StoreError::io("locking", self.shown(), error))
            }
            _ => Ok(None),
        }
    }

    /// Makes the folder of a new repository.
    pub(crate) fn make(&self) -> StoreResult<()> {
        let Self::Folder(folder) = self else { return Ok(()) };
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(StoreError::io("creating", self.shown(), error))
            }
            _ => Ok(()),
        }
    }

    /// Returns what the library uses to read and write the files of the repository.
    pub(crate) async fn storage(&self) -> StoreResult<Arc<dyn Storage + Send + Sync>> {
        match self {
            Self::Folder(folder) => {
                let storage = new_local_filesystem_storage(folder).await;
                storage.map_err(|error| StoreError::io("opening", self.shown(), failure::reason(&error.kind)))
            }
            Self::Store(store) => Ok(Arc::new(InStore::new(Arc::clone(store)))),
        }
    }

    /// Reads a part of the chunk at `key`.
    pub(crate) fn read(
        &self,
        key: &Key,
        part: &StoredPart,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> StoreResult<GetResult> {
        match self {
            Self::Folder(folder) => {
                let size = usize::try_from(part.size).unwrap_or(usize::MAX);
                let too_large = |source| StoreError::TooLarge { key: key.to_string(), source };
                let bytes = to.spare(size).map_err(too_large)?.get_mut(..size).unwrap_or_default();
                let file = folder.join(CHUNKS_FILE_PATH).join(part.id.to_string());
                read_file(&file, part.offset, bytes).map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => part.damaged(key),
                    _ => StoreError::io("reading", file.display().to_string(), error),
                })?;
                to.advance(size);
                Ok(GetResult::new(Contents::Written, part.whole, None))
            }
            Self::Store(store) => {
                let mut options = options;
                options.range = part.range();
                options.for_update = false;
                let before = to.remaining();
                let found = store.get(&part.file()?, options, to)?.ok_or_else(|| part.damaged(key))?;
                let received = match &found.contents {
                    Contents::Written => before - to.remaining(),
                    Contents::Shared(bytes) => bytes.len(),
                };
                match received as u64 == part.size {
                    true => Ok(GetResult::new(found.contents, part.whole, None)),
                    false => Err(part.damaged(key)),
                }
            }
        }
    }

    /// Writes a new chunk. It is not read before a manifest lists it.
    pub(crate) fn write(&self, id: &ChunkId, value: Payload<'_>) -> StoreResult<()> {
        match self {
            Self::Folder(folder) => {
                let chunks = folder.join(CHUNKS_FILE_PATH);
                let file = chunks.join(id.to_string());
                let created = File::create_new(&file).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => fs::create_dir(&chunks)
                        .or_else(ignore_existing)
                        .and_then(|()| File::create_new(&file)),
                    _ => Err(error),
                });
                let written = created.and_then(|mut created| created.write_all(&value));
                written.map_err(|error| {
                    // The error of the write is returned.
                    let _removed = fs::remove_file(&file);
                    StoreError::io("writing", file.display().to_string(), error)
                })
            }
            Self::Store(store) => store.set(&chunk_file(id)?, value),
        }
    }
}

fn ignore_existing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

fn read_file(file: &Path, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    let mut file = File::open(file)?;
    if offset > 0 {
        file.seek(SeekFrom::Start(offset))?;
    }
    file.read_exact(bytes)
}

fn chunk_file(id: &ChunkId) -> Result<Key, KeyError> {
    Key::new(format!("{CHUNKS_FILE_PATH}/{id}"))
}

impl StoredPart {
    /// Returns the key of the file in a store.
    pub(crate) fn file(&self) -> Result<Key, KeyError> {
        chunk_file(&self.id)
    }

    /// Returns the part of the file.
    pub(crate) fn range(&self) -> ByteRange {
        ByteRange::Range { offset: self.offset, size: self.size }
    }

    /// Returns the error for a file that is missing or too short.
    pub(crate) fn damaged(&self, key: &Key) -> StoreError {
        let Self { id, size, .. } = self;
        let what = format!(
            "the file `{CHUNKS_FILE_PATH}/{id}` of the repository does not have the {size} bytes that the manifest lists"
        );
        StoreError::io("reading", key.as_str(), what).with_kind(IoKind::Damaged)
    }
}
