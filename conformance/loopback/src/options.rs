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
    pub(crate) numbered_keys: Option<usize>,
    pub(crate) delay: Duration,
    pub(crate) bytes_per_second: Option<u64>,
    pub(crate) is_sometimes_slow: bool,
    pub(crate) ignores_conditions: bool,
    pub(crate) is_logged: bool,
    pub(crate) is_encrypted: bool,
    pub(crate) page: usize,
    pub(crate) pause: Option<Duration>,
    faults: Option<Faults>,
}

impl Options {
    /// A bucket in memory, initially empty. Its keys may be any text, and the ETag of a value is its MD5.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            folder: None,
            numbered_keys: None,
            delay: Duration::ZERO,
            bytes_per_second: None,
            is_sometimes_slow: false,
            ignores_conditions: false,
            is_logged: false,
            is_encrypted: false,
            page: 1000,
            pause: None,
            faults: None,
        }
    }

    /// A bucket that consists of the present and future files in `folder`. A key is the path of a file.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), ..Self::in_memory() }
    }

    /// A bucket of `count` objects, at most ten million, that takes no memory: `c/0000000`, `c/0000001` and so on. It
    /// refuses changes.
    #[must_use]
    pub fn of_numbered_keys(count: usize) -> Self {
        Self { numbered_keys: Some(count), ..Self::in_memory() }
    }

    /// Waits before each answer.
    #[must_use]
    pub fn with_delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Limits the bandwidth, which all bodies share in both directions.
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

    /// Encrypts all connections with TLS: see [`crate::Server::certificate`].
    #[must_use]
    pub fn encrypted(self) -> Self {
        Self { is_encrypted: true, ..self }
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

    /// Answers requests in groups, to count round trips: an answer waits until no request arrives for the time `pause`,
    /// or until [`IN_FLIGHT`](crate::IN_FLIGHT) requests wait.
    #[must_use]
    pub fn gathering(self, pause: Duration) -> Self {
        Self { pause: Some(pause), ..self }
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
