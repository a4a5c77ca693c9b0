//! Counters of the chunks of calls, and their cancellation.

use pyo3::prelude::*;

/// Counts the chunks of calls, and cancels them.
#[pyclass(frozen, name = "Progress", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ProgressHandle(pub(crate) zarr_kit::Progress);

#[pymethods]
impl ProgressHandle {
    #[new]
    fn new() -> Self {
        Self(zarr_kit::Progress::new())
    }

    /// Cancels the calls, which complete the chunks that they have started.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns the number of chunks in all calls that have started.
    #[getter]
    fn planned(&self) -> u64 {
        self.0.planned()
    }

    /// Returns the number of chunks that were read or written.
    #[getter]
    fn done(&self) -> u64 {
        self.0.done()
    }
}
