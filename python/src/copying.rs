//! Copies of hierarchies, by the code of `zarrctl copy`.

use std::ffi::OsString;

use pyo3::prelude::*;
use zarrctl::CallError;

use crate::calls::watched;
use crate::context::{ContextOptions, context};
use crate::credentials::{CredentialSource, Provided};
use crate::failure::{raise, warn};
use crate::progress::ProgressHandle;

/// A store, and the source of its credentials if the environment does not have them.
type Place = (OsString, Option<CredentialSource>);

/// Copies a hierarchy with the arguments of `zarrctl copy`, in a context of this process. `places` are the source and
/// the destination.
#[pyfunction]
pub(crate) fn copy(
    py: Python<'_>,
    mut arguments: Vec<OsString>,
    places: [Place; 2],
    threads: Option<usize>,
    progress: &ProgressHandle,
) -> PyResult<()> {
    let options = ContextOptions { is_strict: false, stores_empty_chunks: false, threads };
    let context = context(options)?;
    let registry = Provided::added_to(context.registry())?;
    let context = context.with_registry(registry);
    arguments.push("--".into());
    let mut provided = Vec::new();
    for (location, credentials) in places {
        match credentials {
            None => arguments.push(location),
            Some(credentials) => {
                let store = Provided::new(location.to_string_lossy().into_owned(), credentials);
                arguments.push(store.description().into());
                provided.push(store);
            }
        }
    }
    let mut warnings = Vec::new();
    let copying = || zarrctl::copy(arguments, &context, &progress.progress, &mut warnings);
    let copied = watched(py, &progress.progress, progress.report.as_ref(), copying)?;
    // Messages contain the locations that Python passed.
    let readable = |text: &str| provided.iter().fold(text.to_owned(), |text, store| store.named_in(&text));
    warnings.iter().try_for_each(|text| warn(&readable(text)))?;
    copied.map_err(|error| match error {
        CallError::Usage(message) => raise("InvalidInputError", &readable(&message)),
        error => raise("CopyError", &readable(&error.to_string())),
    })
}
