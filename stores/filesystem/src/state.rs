//! What is known of a file before it is read.

use std::fs::File;
use std::io;
use std::path::Path;

use zarr_spec::store::{Contents, Got, Version};

/// The state of a file.
pub(crate) struct State {
    pub(crate) is_file: bool,
    pub(crate) size: u64,
    /// Time of the last change, size, and which file it is: every `set` makes a new one.
    pub(crate) version: Option<Version>,
}

impl State {
    /// The answer to whoever asked for contents that were written to his output.
    pub(crate) fn with_contents(self) -> Got {
        Got { contents: Contents::Written, size: self.size, version: self.version }
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
        let is_file = rustix::fs::FileType::from_raw_mode(found.st_mode).is_file();
        Self { is_file, size, version: Some(Version::new(version)) }
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
        Self { is_file: found.is_file(), size: found.len(), version }
    }
}
