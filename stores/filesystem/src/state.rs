//! What is known of a file before it is read.

use std::fs::File;
use std::io;
use std::path::Path;

use zarr_spec::store::{Contents, GetResult, Version};

enum Kind {
    File,
    Folder,
    /// Neither: what it is, with its article.
    Other(&'static str),
}

/// The state of a file.
pub(crate) struct State {
    kind: Kind,
    pub(crate) size: u64,
    /// Time of the last change, size, and which file it is: every `set` makes a new one.
    pub(crate) version: Option<Version>,
}

impl State {
    /// Itself if it is that of a file. A folder is no value.
    ///
    /// # Errors
    ///
    /// For what is neither, in words.
    pub(crate) fn of_value(self) -> io::Result<Option<Self>> {
        match self.kind {
            Kind::File => Ok(Some(self)),
            Kind::Folder => Ok(None),
            Kind::Other(what) => Err(io::Error::other(format!("it is {what}, not a regular file"))),
        }
    }

    /// What it is, with its article, if that is no folder.
    pub(crate) fn no_folder(&self) -> Option<&'static str> {
        match self.kind {
            Kind::File => Some("a file"),
            Kind::Folder => None,
            Kind::Other(what) => Some(what),
        }
    }

    /// The answer to whoever asked for contents that were written to his output.
    pub(crate) fn with_contents(self) -> GetResult {
        GetResult::new(Contents::Written, self.size, self.version)
    }

    /// That of an open file.
    #[cfg(unix)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // On Linux the standard library asks `statx` for it, which takes several times as long.
        Ok(Self::new(&rustix::fs::fstat(file)?))
    }

    /// That of the file at a path.
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
        Self { kind, size, version: Some(Version::new(version)) }
    }

    /// That of an open file.
    #[cfg(not(unix))]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::new(&file.metadata()?))
    }

    /// That of the file at a path.
    #[cfg(not(unix))]
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::new(&std::fs::metadata(path)?))
    }

    /// The time when the file was made has to say which file it is.
    #[cfg(not(unix))]
    fn new(found: &std::fs::Metadata) -> Self {
        use std::time::{SystemTime, UNIX_EPOCH};

        // Before 1970 it is the time until then, which tells states apart as well.
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
            _ => Kind::Other("something else"),
        };
        Self { kind, size: found.len(), version }
    }
}
