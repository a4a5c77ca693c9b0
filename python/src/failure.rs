//! Errors of the engine as exceptions of the Python module `zarr_kit.errors`.

use std::error::Error as StdError;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use zarr_kit::spec::store::IoKind;
use zarr_kit::{Error, ErrorKind};

/// The module with the classes of exceptions and warnings.
const CLASSES: &str = "zarr_kit.errors";

/// Converts an error of the engine to the exception of its kind.
pub(crate) fn exception(error: &Error) -> PyErr {
    raise(class_of(error), &chain(error))
}

/// Converts an error of the engine to the exception of its kind, with a place in front of the message.
pub(crate) fn exception_at(place: &str, error: &Error) -> PyErr {
    raise(class_of(error), &format!("{place}: {}", chain(error)))
}

/// Creates the exception `class` of `zarr_kit.errors`.
pub(crate) fn raise(class: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let exception = py.import(CLASSES).and_then(|module| module.getattr(class)?.call1((message,)));
        match exception {
            Ok(exception) => PyErr::from_value(exception),
            // The interpreter is shutting down and has removed its modules.
            Err(_) => PyRuntimeError::new_err(message.to_owned()),
        }
    })
}

/// Issues a `ZarrWarning`, which a filter may turn into an exception.
pub(crate) fn warn(text: &str) -> PyResult<()> {
    Python::attach(|py| py.import(CLASSES)?.call_method1("issue_warning", (text,)).map(drop))
}

/// Returns the message of an error and its causes.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Returns the name of the exception class for an error.
fn class_of(error: &Error) -> &'static str {
    match (error, error.kind()) {
        (Error::Selection(_), _) => "SelectionError",
        (Error::Elements(_), _) => "ElementsError",
        (Error::UndefinedFillValue { .. }, _) => "UndefinedFillValueError",
        (_, ErrorKind::NotFound) => "NodeNotFoundError",
        (_, ErrorKind::AlreadyExists) => "NodeExistsError",
        (_, ErrorKind::WrongKind) => "WrongKindError",
        (_, ErrorKind::NotUnderstood) => "NotUnderstoodError",
        (_, ErrorKind::InvalidInput) => "InvalidInputError",
        (_, ErrorKind::NotSupported) => "NotSupportedError",
        (_, ErrorKind::Damaged) => "DamagedError",
        (_, ErrorKind::Memory) => "OutOfMemoryError",
        (_, ErrorKind::Store(IoKind::NotPermitted)) => "StorePermissionError",
        (_, ErrorKind::Store(IoKind::TimedOut)) => "StoreTimeoutError",
        (_, ErrorKind::Store(_)) => "StoreError",
        (_, ErrorKind::Plugin) => "PluginError",
        (_, ErrorKind::Cancelled) => "CancelledError",
        _ => "ZarrError",
    }
}
