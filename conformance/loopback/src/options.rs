//! The options of a server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::fault::Fault;
use crate::http::Request;

type Faults = Arc<dyn Fn(&Request) -> Option<Fault> + Send + Sync>;

/// How a server stores objects and answers.
#[derive(Clone)]
pub struct Options {
    pub(crate) folder: Option<PathBuf>,
    pub(crate) delay: Duration,
    pub(crate) bytes_per_second: Option<u64>,
    pub(crate) is_sometimes_slow: bool,
    pub(crate) ignores_conditions: bool,
    pub(crate) is_logged: bool,
    pub(crate) page: usize,
    faults: Option<Faults>,
}

impl Options {
    /// A bucket in memory, initially empty. Its keys may be any text, and the ETag of a value is its MD5.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            folder: None,
            delay: Duration::ZERO,
            bytes_per_second: None,
            is_sometimes_slow: false,
            ignores_conditions: false,
            is_logged: false,
            page: 1000,
            faults: None,
        }
    }

    /// A bucket that consists of the present and future files in `folder`. A key is the path of a file.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), ..Self::in_memory() }
    }

    /// Waits before each answer.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Limits the bytes of all bodies together, in both directions.
    #[must_use]
    pub fn with_bandwidth(self, bytes_per_second: Option<u64>) -> Self {
        Self { bytes_per_second, ..self }
    }

    /// Delays every hundredth answer tenfold.
    #[must_use]
    pub fn with_slow_answers(self, is_sometimes_slow: bool) -> Self {
        Self { is_sometimes_slow, ..self }
    }

    /// Ignores the conditions of writes and deletions, as old servers do.
    #[must_use]
    pub fn ignoring_conditions(self) -> Self {
        Self { ignores_conditions: true, ..self }
    }

    /// Records the requests for [`crate::Server::take_log`].
    #[must_use]
    pub fn logged(self) -> Self {
        Self { is_logged: true, ..self }
    }

    /// Limits the number of entries in a page of a listing, which is 1000 in S3.
    #[must_use]
    pub fn with_page(self, page: usize) -> Self {
        Self { page, ..self }
    }

    /// Answers requests with the faults that `faults` returns.
    #[must_use]
    pub fn with_faults(self, faults: impl Fn(&Request) -> Option<Fault> + Send + Sync + 'static) -> Self {
        Self { faults: Some(Arc::new(faults)), ..self }
    }

    pub(crate) fn fault_of(&self, request: &Request) -> Option<Fault> {
        self.faults.as_ref().and_then(|faults| faults(request))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("Options");
        fields.field("folder", &self.folder).field("delay", &self.delay);
        fields.field("bytes_per_second", &self.bytes_per_second).finish_non_exhaustive()
    }
}
