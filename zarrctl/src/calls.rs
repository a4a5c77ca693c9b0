//! Verbs as functions, for programs that link this library.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, FromArgMatches};
use zarr_kit::archive::{Caller, CopyOption};
use zarr_kit::{Context, Limits, Progress};

use crate::arguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::opening;
use crate::printer::collecting;
use crate::slabs;
use crate::verbs;

/// Why a call failed. The program prints the same message.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The arguments are wrong.
    Usage(String),
    /// The data, a store or a plugin is the reason, or `progress` was cancelled.
    Failed(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => formatter.write_str(message),
        }
    }
}

impl Error for CallError {}

/// Copies a hierarchy with the arguments of the verb `copy`, which follow its name on the command line.
///
/// Messages name the options as arguments of the Python function `zarr_kit.copy`.
///
/// Stores are opened in clones of `context`. `progress` counts the chunks that are read and written, and cancels the
/// copy. A cancelled copy leaves chunks without metadata in the destination: the same copy replaces them, and the verb
/// `clean` removes them.
///
/// Appends the warnings that the program would print to `warnings`, and a line for each node or chunk that was left
/// out.
///
/// # Errors
///
/// The failures of the verb.
pub fn copy(
    arguments: Vec<OsString>,
    context: &Context,
    progress: &Progress,
    warnings: &mut Vec<String>,
) -> Result<(), CallError> {
    let command = arguments::Copy::augment_args(Command::new("copy").no_binary_name(true));
    let parsed = command.try_get_matches_from(arguments);
    let parsed = parsed.and_then(|matches| arguments::Copy::from_arg_matches(&matches));
    let mut arguments = parsed.map_err(|error| CallError::Usage(usage(&error)))?;
    arguments.reading.caller = Caller::Python;
    let (copied, notes) = collecting(|| {
        let context = opening::with_jobs(context.clone(), arguments.jobs)?;
        let copied = verbs::copy::run_with(&arguments, &context, progress, || Ok(()));
        let committed = interrupt::commit_all();
        copied.and_then(|summary| committed.map(|()| summary))
    });
    warnings.extend(notes.iter().map(|note| note.strip_prefix("warning: ").unwrap_or(note).to_owned()));
    if let Ok(Some(summary)) = &copied {
        warnings.extend(summary.skipped.iter().map(verbs::copy::skipped_text));
    }
    copied.map(drop).map_err(|failure| {
        let is_usage = matches!(failure, Failure::Usage(_));
        let message = failure.message().unwrap_or_else(|| "the output was closed".to_owned());
        if is_usage { CallError::Usage(message) } else { CallError::Failed(message) }
    })
}

/// Returns the limits that the environment sets, as for the program: those of a context, in which a share of the memory
/// is left for elements. Messages name the variable.
///
/// # Errors
///
/// [`CallError::Usage`] if the variable `ZARR_KIT_MEMORY` is not a size.
pub fn limits_of_environment() -> Result<Limits, CallError> {
    let memory = opening::memory_of_environment();
    let memory = memory.map_err(|error| CallError::Usage(error.message().unwrap_or_default()))?;
    let limits = Limits::default();
    let limits = memory.map_or(limits, |memory| limits.with_memory(slabs::without_share(memory)));
    Ok(limits.with_memory_setting(MEMORY_SETTING))
}

/// The setting that raises the memory of a Python program.
const MEMORY_SETTING: &str =
    "the environment variable `ZARR_KIT_MEMORY`, such as 8GiB, before the first use of zarr_kit";

/// Returns the message for arguments that the parser rejects, with the options as Python names them.
fn usage(error: &clap::Error) -> String {
    let [option, other] = [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| named(error, kind));
    match (error.kind(), option, other) {
        (ErrorKind::ArgumentConflict, Some(option), Some(other)) => {
            let [option, other] = [option, other].map(|option| Caller::Python.given(option));
            format!("{option} cannot be combined with {other}")
        }
        (ErrorKind::ValueValidation, Some(option), _) => match error.source() {
            Some(reason) => format!("{}: {reason}", Caller::Python.name(option)),
            None => first_line(error),
        },
        _ => first_line(error),
    }
}

/// Returns the option that an error of the parser names, such as `--chunks <[PATH=]LENGTHS>`.
fn named(error: &clap::Error, kind: ContextKind) -> Option<CopyOption> {
    let text = match error.get(kind)? {
        ContextValue::String(text) => text,
        ContextValue::Strings(texts) => texts.first()?,
        _ => return None,
    };
    let name = text.split([' ', '=']).next()?;
    CopyOption::ALL.into_iter().find(|&option| Caller::Program.name(option) == name)
}

/// Returns the first line of a message of the parser, without its heading.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
