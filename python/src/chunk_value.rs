//! Encoded chunks from Python: bytes in memory, or a file.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use pyo3::prelude::*;
use zarr_kit::spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Keys, Payload, Store, StoreError,
};
use zarr_kit::spec::{Key, Output, Prefix};

use crate::elements::Source;

/// The value of a chunk.
pub(crate) enum ChunkValue {
    Bytes(Source),
    /// A missing file is a missing chunk.
    File(PathBuf),
}

/// The bytes of a whole value.
pub(crate) enum Loaded<'v> {
    Borrowed(&'v [u8]),
    Owned(Vec<u8>),
}

impl ChunkValue {
    /// Converts a path or an object with contiguous bytes.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.extract::<String>() {
            Ok(path) => Ok(Self::File(path.into())),
            Err(_) => Ok(Self::Bytes(Source::new(object)?)),
        }
    }

    /// Returns all bytes, or `None` if the value is missing.
    pub(crate) fn load(&self) -> Result<Option<Loaded<'_>>, StoreError> {
        match self {
            Self::Bytes(source) => Ok(Some(Loaded::Borrowed(source.bytes()))),
            Self::File(path) => match std::fs::read(path) {
                Ok(bytes) => Ok(Some(Loaded::Owned(bytes))),
                Err(error) => self.missing_or(error),
            },
        }
    }

    /// Returns whether there is a value.
    pub(crate) fn exists(&self) -> Result<bool, StoreError> {
        Ok(match self {
            Self::Bytes(_) => true,
            Self::File(_) => self.open()?.is_some(),
        })
    }

    fn open(&self) -> Result<Option<File>, StoreError> {
        let Self::File(path) = self else { return Ok(None) };
        match File::open(path) {
            Ok(file) if file.metadata().is_ok_and(|metadata| metadata.is_dir()) => Ok(None),
            Ok(file) => Ok(Some(file)),
            Err(error) => self.missing_or(error),
        }
    }

    fn missing_or<T>(&self, error: io::Error) -> Result<Option<T>, StoreError> {
        let missing = [ErrorKind::NotFound, ErrorKind::IsADirectory, ErrorKind::NotADirectory];
        if missing.contains(&error.kind()) {
            Ok(None)
        } else {
            Err(StoreError::io("reading", self.location(), error))
        }
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::io("reading", self.location(), error)
    }
}

impl Loaded<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl std::fmt::Debug for ChunkValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.location())
    }
}

/// A store with one value, whatever the key. Parts of a shard are read from it.
impl Store for ChunkValue {
    fn location(&self) -> String {
        match self {
            Self::Bytes(_) => "bytes in memory".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::READ_ONLY.unlistable()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let too_large = |source| StoreError::TooLarge { key: key.to_string(), source };
        if let Self::Bytes(source) = self {
            let bytes = source.bytes();
            let size = bytes.len() as u64;
            let part = options.range.within(size);
            let part = usize::try_from(part.start).unwrap_or(0)..usize::try_from(part.end).unwrap_or(0);
            to.put(bytes.get(part).unwrap_or_default()).map_err(too_large)?;
            return Ok(Some(GetResult::new(Contents::Written, size, None)));
        }
        let Some(mut file) = self.open()? else { return Ok(None) };
        let size = file.metadata().map_err(|error| self.failed(error))?.len();
        let part = options.range.within(size);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(part.start)).map_err(|error| self.failed(error))?;
        file.take(part.end - part.start).read_to_end(&mut bytes).map_err(|error| self.failed(error))?;
        to.put(&bytes).map_err(too_large)?;
        Ok(Some(GetResult::new(Contents::Written, size, None)))
    }

    fn set(&self, _key: &Key, _value: Payload<'_>) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn erase(&self, _key: &Key) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn list_prefix(&self, _prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        Err(StoreError::not_supported(self, "not listable"))
    }
}
