//! Counters of the chunks of calls, and their cancellation.

use pyo3::prelude::*;

/// Counts the chunks of calls, and cancels them.
///
/// Calls pass the number of chunks that are done and planned to `report`, several times per second and at the end, on
/// the thread of the caller. An exception of `report` cancels the call.
#[pyclass(frozen, name = "Progress", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ProgressHandle {
    pub(crate) progress: zarr_kit::Progress,
    pub(crate) report: Option<Py<PyAny>>,
}

#[pymethods]
impl ProgressHandle {
    #[new]
    #[pyo3(signature = (report=None))]
    fn new(report: Option<Py<PyAny>>) -> Self {
        Self { progress: zarr_kit::Progress::new(), report }
    }

    /// Cancels the calls, which complete the chunks that they have started.
    fn cancel(&self) {
        self.progress.cancel();
    }

    /// Returns the number of chunks in all calls that have started.
    #[getter]
    fn planned(&self) -> u64 {
        self.progress.planned()
    }

    /// Returns the number of chunks that were read or written.
    #[getter]
    fn done(&self) -> u64 {
        self.progress.done()
    }
}

impl ProgressHandle {
    /// Returns counters that are not reported.
    pub(crate) fn silent() -> Self {
        Self::new(None)
    }
}
