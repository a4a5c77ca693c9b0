//! The script `zarrctl`.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::calls::detached;

/// The exit status of a program that panicked.
const PANICKED: u8 = 101;

/// Runs `zarrctl` with the arguments of a command line, of which the first is its name. Returns the exit status.
#[pyfunction]
pub(crate) fn run_zarrctl(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // The message of the panic is already on standard error.
    detached(py, || zarrctl::run(arguments)).unwrap_or(PANICKED)
}
