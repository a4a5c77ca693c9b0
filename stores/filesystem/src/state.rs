//! The type, size and version of a file.

use std::fs::File;
use std::io;
use std::path::Path;

use zarr_spec::store::{Contents, GetResult, Version};

enum Kind {
    File,
    Folder,
    /// Neither a file nor a folder: its description, with an article.
    Other(&'static str),
}

/// The state of a file.
pub(crate) struct State {
    kind: Kind,
    pub(crate) size: u64,
    /// Derived from the time of the last change, the size and the identity of the file. Every `set` creates a
    /// new file.
    pub(crate) version: Option<Version>,
    /// Whether the time of the last change has a fraction of a millisecond. A coarse clock, or a file system that
    /// rounds times, sets whole milliseconds.
    is_precise: bool,
}

impl State {
    /// Returns the version if its time is precise, as this store sets it.
    pub(crate) fn precise_version(&self) -> Option<&Version> {
        self.version.as_ref().filter(|_| self.is_precise)
    }

    /// Returns the state of a file, or `None` for a folder.
    ///
    /// # Errors
    ///
    /// For a pipe, a socket or a device.
    pub(crate) fn of_value(self) -> io::Result<Option<Self>> {
        match self.kind {
            Kind::File => Ok(Some(self)),
            Kind::Folder => Ok(None),
            Kind::Other(what) => Err(io::Error::other(format!("found {what}, expected a regular file"))),
        }
    }

    /// Describes the file, with an article; `None` for a folder.
    pub(crate) fn no_folder(&self) -> Option<&'static str> {
        match self.kind {
            Kind::File => Some("a file"),
            Kind::Folder => None,
            Kind::Other(what) => Some(what),
        }
    }

    /// Creates the result for contents that were written to the caller's output.
    pub(crate) fn with_contents(self) -> GetResult {
        GetResult::new(Contents::Written, self.size, self.version)
    }

    /// Returns the state of an open file.
    #[cfg(unix)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // On Linux the standard library uses `statx`, which is several times slower.
        Ok(Self::new(&rustix::fs::fstat(file)?))
    }

    /// Returns the state of the file at a path.
    #[cfg(unix)]
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::new(&rustix::fs::stat(path)?))
    }

    #[cfg(unix)]
    fn new(found: &rustix::fs::Stat) -> Self {
        let size = u64::try_from(found.st_size).unwrap_or(0);
        let changed = i128::from(found.st_mtime) * 1_000_000_000 + i128::from(found.st_mtime_nsec);
        let mut version = [0; 40];
        version[..16].copy_from_slice(&changed.to_le_bytes());
        version[16..24].copy_from_slice(&size.to_le_bytes());
        version[24..].copy_from_slice(&i128::from(found.st_ino).to_le_bytes());
        let kind = match rustix::fs::FileType::from_raw_mode(found.st_mode) {
            rustix::fs::FileType::RegularFile => Kind::File,
            rustix::fs::FileType::Directory => Kind::Folder,
            rustix::fs::FileType::Fifo => Kind::Other("a named pipe"),
            rustix::fs::FileType::Socket => Kind::Other("a socket"),
            _ => Kind::Other("a device"),
        };
        let is_precise = changed % 1_000_000 != 0;
        Self { kind, size, version: Some(Version::new(version)), is_precise }
    }

    /// Returns the state of an open file.
    #[cfg(not(unix))]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::new(&file.metadata()?))
    }

    /// Returns the state of the file at a path.
    #[cfg(not(unix))]
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::new(&std::fs::metadata(path)?))
    }

    /// Creates the state. Without inode numbers, the creation time identifies the file.
    #[cfg(not(unix))]
    fn new(found: &std::fs::Metadata) -> Self {
        use std::time::{SystemTime, UNIX_EPOCH};

        // A time before 1970 counts backwards, which also distinguishes states.
        let nanoseconds = |time: io::Result<SystemTime>| {
            let since = time.ok()?.duration_since(UNIX_EPOCH).unwrap_or_else(|before| before.duration());
            Some(since.as_nanos())
        };
        let version = nanoseconds(found.modified()).map(|changed| {
            let mut version = [0; 40];
            version[..16].copy_from_slice(&changed.to_le_bytes());
            version[16..24].copy_from_slice(&found.len().to_le_bytes());
            version[24..].copy_from_slice(&nanoseconds(found.created()).unwrap_or(0).to_le_bytes());
            Version::new(version)
        });
        let kind = match (found.is_file(), found.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Folder,
            _ => Kind::Other("a special file"),
        };
        Self { kind, size: found.len(), version, is_precise: false }
    }
}
