//! The current attempt of a thread: how it places buffers, and a record of what it tries.
//!
//! The record is a file, so that it can be read after a crash of the process.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

/// Where the buffers of a codec lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Placement {
    /// Wherever the allocator puts them.
    #[default]
    Anywhere,
    /// The last byte of a buffer is followed by a page that no code may access.
    BeforeGuard,
    /// The first byte of a buffer follows a page that no code may access.
    AfterGuard,
}

impl Placement {
    /// What a failure adds to its case.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Anywhere => "",
            Self::BeforeGuard => ", buffers end at a guard page",
            Self::AfterGuard => ", buffers start after a guard page",
        }
    }

    /// The name that [`Placement::parse`] reads.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Anywhere => "anywhere",
            Self::BeforeGuard => "before-guard",
            Self::AfterGuard => "after-guard",
        }
    }

    /// Reads what [`Placement::name`] returns.
    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Anywhere, Self::BeforeGuard, Self::AfterGuard].into_iter().find(|it| it.name() == name)
    }
}

/// How a thread tries things.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    /// Where buffers lie.
    pub(super) placement: Placement,
    /// Whether rules also try large chunks of every example, and race for longer.
    pub(super) is_thorough: bool,
    /// Where the thread records what it tries.
    pub(super) record: Option<Arc<Record>>,
}

thread_local! {
    static CURRENT: RefCell<Attempt> = RefCell::default();
}

impl Attempt {
    /// The attempt of this thread.
    pub(super) fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Runs `run` as this attempt.
    pub(super) fn run<R>(self, run: impl FnOnce() -> R) -> R {
        let _restored = Restore(CURRENT.replace(self));
        run()
    }
}

/// Restores the attempt of this thread, also after a panic.
struct Restore(Attempt);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

/// Where this thread places buffers now.
pub(super) fn placement() -> Placement {
    CURRENT.with_borrow(|attempt| attempt.placement)
}

/// Whether this thread tries things thoroughly now.
pub(super) fn is_thorough() -> bool {
    CURRENT.with_borrow(|attempt| attempt.is_thorough)
}

/// Whether this thread records what it tries: then its process checks one rule at a time.
pub(super) fn is_recorded() -> bool {
    CURRENT.with_borrow(|attempt| attempt.record.is_some())
}

/// Records what this thread is about to try, if there is a record.
pub(super) fn record(what: impl FnOnce() -> String) {
    if let Some(record) = CURRENT.with_borrow(|attempt| attempt.record.clone()) {
        record.write(&what());
    }
}

/// The start of the bytes that a codec is tried with.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 48;
    let start: String = bytes.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len() {
        0 => "0 bytes".to_owned(),
        size if size <= MOST => format!("{size} bytes, {start}"),
        size => format!("{size} bytes that begin with {start}"),
    }
}

/// A file that holds what a process tries, after its size as four bytes.
#[derive(Debug)]
pub(super) struct Record(File);

impl Record {
    /// Opens a record that exists.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        fs::OpenOptions::new().write(true).open(path).map(Self)
    }

    /// Replaces what is recorded by one call of the system, which a crash does not divide.
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
        // Without it, the report of a crash names the rule and not the input.
        let _unrecorded = written;
    }

    /// What was recorded last; empty if nothing was.
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
    fn a_record_holds_the_last_attempt_alone() {
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
    fn an_attempt_ends_with_a_panic_too() {
        let attempt = Attempt { placement: Placement::AfterGuard, ..Attempt::default() };
        let ended = std::panic::catch_unwind(|| attempt.run(|| panic!("on purpose")));
        assert!(ended.is_err());
        assert_eq!(placement(), Placement::Anywhere);
    }
}
