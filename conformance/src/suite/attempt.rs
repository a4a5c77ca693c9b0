//! The current attempt of a thread: the placement of buffers, and a record of the current operation.
//!
//! The record is a file, so that it survives a crash of the process.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

/// The placement of a codec's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Placement {
    /// The allocator decides.
    #[default]
    Anywhere,
    /// The page after the last byte of a buffer is inaccessible.
    BeforeGuard,
    /// The page before the first byte of a buffer is inaccessible.
    AfterGuard,
}

impl Placement {
    /// Returns the text that follows the description of a failed case.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Anywhere => "",
            Self::BeforeGuard => ", buffers end at a guard page",
            Self::AfterGuard => ", buffers start after a guard page",
        }
    }

    /// Returns the name that [`Placement::parse`] reads.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Anywhere => "anywhere",
            Self::BeforeGuard => "before-guard",
            Self::AfterGuard => "after-guard",
        }
    }

    /// Parses a name from [`Placement::name`].
    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Anywhere, Self::BeforeGuard, Self::AfterGuard].into_iter().find(|it| it.name() == name)
    }
}

/// The way in which a thread runs rules.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    /// The placement of buffers.
    pub(super) placement: Placement,
    /// Whether rules also test large chunks of every example, and test races for longer.
    pub(super) is_thorough: bool,
    /// The record of the current operation.
    pub(super) record: Option<Arc<Record>>,
}

thread_local! {
    static CURRENT: RefCell<Attempt> = RefCell::default();
}

impl Attempt {
    /// Returns the attempt of this thread.
    pub(super) fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Runs `run` with this attempt.
    pub(super) fn run<R>(self, run: impl FnOnce() -> R) -> R {
        let _restored = Restore(CURRENT.replace(self));
        run()
    }
}

/// Restores the attempt of this thread, even after a panic.
struct Restore(Attempt);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

/// Returns the placement of buffers for this thread.
pub(super) fn placement() -> Placement {
    CURRENT.with_borrow(|attempt| attempt.placement)
}

/// Checks whether this thread tests thoroughly.
pub(super) fn is_thorough() -> bool {
    CURRENT.with_borrow(|attempt| attempt.is_thorough)
}

/// Checks whether this thread has a record. Its process then checks one rule at a time.
pub(super) fn is_recorded() -> bool {
    CURRENT.with_borrow(|attempt| attempt.record.is_some())
}

/// Records the next operation of this thread, if there is a record.
pub(super) fn record(what: impl FnOnce() -> String) {
    if let Some(record) = CURRENT.with_borrow(|attempt| attempt.record.clone()) {
        record.write(&what());
    }
}

/// Formats the start of a codec's input.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 48;
    let start: String = bytes.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len() {
        0 => "0 bytes".to_owned(),
        size if size <= MOST => format!("{size} bytes, {start}"),
        size => format!("{size} bytes, starting with {start}"),
    }
}

/// A file with the current operation of a process: the size of the text in four bytes, then the text.
#[derive(Debug)]
pub(super) struct Record(File);

impl Record {
    /// Opens an existing record.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        fs::OpenOptions::new().write(true).open(path).map(Self)
    }

    /// Replaces the record with a single system call, so that a crash leaves no partial record.
    fn write(&self, text: &str) {
        let size = u32::try_from(text.len()).unwrap_or_default().to_le_bytes();
        let bytes = [&size, text.as_bytes()].concat();
        #[cfg(unix)]
        let written = std::os::unix::fs::FileExt::write_all_at(&self.0, &bytes, 0);
        #[cfg(not(unix))]
        let written = {
            use std::io::{Seek as _, SeekFrom, Write as _};
            (&self.0).seek(SeekFrom::Start(0)).and_then(|_| (&self.0).write_all(&bytes))
        };
        // If writing fails, the report of a crash names the rule but not the input.
        let _unrecorded = written;
    }

    /// Returns the last recorded text, empty if there is none.
    pub(super) fn read(path: &Path) -> io::Result<String> {
        let mut size = [0; 4];
        let mut file = File::open(path)?;
        if file.read(&mut size)? < size.len() {
            return Ok(String::new());
        }
        let mut text = Vec::new();
        file.take(u64::from(u32::from_le_bytes(size))).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_only_the_last_text() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(Record::read(file.path()).unwrap(), "");
        let attempt =
            Attempt { record: Some(Arc::new(Record::open(file.path()).unwrap())), ..Attempt::default() };
        attempt.run(|| {
            record(|| "a long text".to_owned());
            record(|| "short".to_owned());
        });
        record(|| "after it".to_owned());
        assert_eq!(Record::read(file.path()).unwrap(), "short");
    }

    #[test]
    fn a_panic_ends_the_attempt() {
        let attempt = Attempt { placement: Placement::AfterGuard, ..Attempt::default() };
        let ended = std::panic::catch_unwind(|| attempt.run(|| panic!("on purpose")));
        assert!(ended.is_err());
        assert_eq!(placement(), Placement::Anywhere);
    }
}
