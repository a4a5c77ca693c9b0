//! Copies of hierarchies, by the code of `zarrctl copy`.

use std::ffi::OsString;

use pyo3::prelude::*;
use zarrctl::CallError;

use crate::calls::watched;
use crate::context::{ContextOptions, context};
use crate::failure::{raise, warn};
use crate::progress::ProgressHandle;

/// Copies a hierarchy with the arguments of `zarrctl copy`, in a context of this process.
#[pyfunction]
pub(crate) fn copy(
    py: Python<'_>,
    arguments: Vec<OsString>,
    threads: Option<usize>,
    progress: &ProgressHandle,
) -> PyResult<()> {
    let options = ContextOptions { is_strict: false, stores_empty_chunks: false, threads };
    let context = context(options)?;
    let mut warnings = Vec::new();
    let copying = || zarrctl::copy(arguments, &context, &progress.progress, &mut warnings);
    let copied = watched(py, &progress.progress, progress.report.as_ref(), copying)?;
    warnings.iter().try_for_each(|text| warn(text))?;
    copied.map_err(|error| match error {
        CallError::Usage(message) => raise("InvalidInputError", &message),
        error => raise("CopyError", &error.to_string()),
    })
}
