//! Settings that all operations share.

use zarr_engine::Progress;

/// The default memory for decoded elements, in bytes.
const DEFAULT_MEMORY: u64 = 64 << 20;

/// Settings of an operation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The memory for decoded elements in bytes, in addition to the memory budget of the context. A chunk that is
    /// larger and not a shard is decoded as a whole. The default is 64 MiB.
    pub memory: u64,
    /// Counts the chunks, and cancels the operation.
    pub progress: Progress,
}

impl Settings {
    /// Returns the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self { memory: DEFAULT_MEMORY, progress: Progress::new() }
    }

    /// Sets the memory for decoded elements in bytes.
    #[must_use]
    pub fn memory(self, memory: u64) -> Self {
        Self { memory, ..self }
    }

    /// Sets the counters.
    #[must_use]
    pub fn progress(self, progress: &Progress) -> Self {
        Self { progress: progress.clone(), ..self }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new()
    }
}
