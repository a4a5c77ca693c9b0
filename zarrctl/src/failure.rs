//! Failures of verbs, and their messages.

use std::error::Error;
use std::io;

use zarr_kit::spec::printable;

use crate::builds;

#[derive(Debug)]
pub(crate) enum Failure {
    /// An error in the data or the request; the exit status is 1.
    Fault(Box<dyn Error + Send + Sync>),
    /// As [`Failure::Fault`], with several reasons, each on its own line.
    Listed {
        /// The operation that was refused.
        head: String,
        reasons: Vec<String>,
    },
    /// Reading or writing a file or standard output failed.
    Io(io::Error),
    /// Wrong usage, with status 2.
    Usage(String),
    /// A copy that was read back differs from its source; the exit status is 3.
    DifferentCopy(String),
    /// The verb has printed the differences or the damage that it found; the exit status is 3.
    Different,
    /// The reader of standard output has closed it.
    BrokenPipe,
}

impl Failure {
    /// The exit status of wrong usage.
    pub(crate) const USAGE: u8 = 2;

    pub(crate) fn fault(what: impl Into<String>) -> Self {
        Self::Fault(what.into().into())
    }

    /// Returns the failure for a verb or scheme that is not in this build.
    pub(crate) fn not_in_build(what: &str) -> Self {
        Self::Usage(format!("{what} is not in this build; {}", builds::full()))
    }

    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Usage(_) => Self::USAGE,
            Self::Different | Self::DifferentCopy(_) => 3,
            Self::BrokenPipe => 0,
            _ => 1,
        }
    }

    pub(crate) fn while_doing(self, what: &str) -> Self {
        match self {
            Self::Fault(error) => Self::fault(format!("{what}: {}", chain(&*error))),
            other => other.while_at(what),
        }
    }

    /// Prefixes the message with the file, if reading or writing failed.
    pub(crate) fn while_at(self, file: &str) -> Self {
        match self {
            Self::Io(error) => Self::fault(format!("{file}: {}", chain(&error))),
            other => other,
        }
    }

    /// Appends a hint about what remains, or what to do.
    pub(crate) fn with_hint(self, hint: &str) -> Self {
        match self {
            Self::Fault(error) => Self::fault(format!("{}; {hint}", chain(&*error))),
            Self::DifferentCopy(what) => Self::DifferentCopy(format!("{what}; {hint}")),
            other => other,
        }
    }

    /// Returns the message, if there is anything left to print. Newlines only separate reasons.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Self::Fault(error) => Some(chain(&**error)),
            Self::Listed { head, reasons } => {
                let reasons = reasons.iter().map(|reason| format!("\n  {}", printable(reason)));
                Some(format!("{}:{}", printable(head), reasons.collect::<String>()))
            }
            Self::Usage(message) | Self::DifferentCopy(message) => Some(printable(message).to_string()),
            Self::Io(error) => Some(format!("writing to standard output: {}", chain(error))),
            Self::Different | Self::BrokenPipe => None,
        }
    }
}

impl From<zarr_kit::Error> for Failure {
    /// Adds a hint, if there is one.
    fn from(error: zarr_kit::Error) -> Self {
        match hint(&error) {
            Some(hint) => Self::fault(format!("{error}; {hint}")),
            None => Self::Fault(error.into()),
        }
    }
}

/// Returns the verb or build that helps: for a plugin of other builds, the command that runs one; for a wrong path, the
/// verb that lists paths; for an unknown identifier, the verb that explains the search.
fn hint(error: &zarr_kit::Error) -> Option<String> {
    if error.missing_plugins().any(|unknown| unknown.feature.is_some()) {
        return Some(builds::full());
    }
    match error {
        zarr_kit::Error::NoNode(_) | zarr_kit::Error::WrongKind { .. } => {
            Some("`zarrctl tree STORE` lists the nodes".to_owned())
        }
        #[cfg(all(feature = "dynamic", target_os = "linux"))]
        zarr_kit::Error::NotUnderstood { .. } => {
            // For identifiers that are known elsewhere or resemble known ones, the message already names the plugin.
            let unknown =
                error.missing_plugins().find(|it| it.known_elsewhere.is_none() && it.similar.is_empty())?;
            Some(format!("`zarrctl plugins why {}` shows where it was searched for", unknown.identifier))
        }
        _ => None,
    }
}

/// Converts errors that need no hint.
macro_rules! faults {
    ($($(#[$condition:meta])* $error:ty),+ $(,)?) => {$(
        $(#[$condition])*
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Fault(error.into())
            }
        }
    )+};
}

faults! {
    zarr_kit::json::SerError,
    zarr_kit::json::WriteError,
    zarr_kit::spec::DataTypeError,
    zarr_kit::spec::KeyError,
    zarr_kit::spec::grid::GridError,
    zarr_kit::spec::host::registry::DuplicateIdentifier,
    zarr_kit::spec::store::StoreError,
    #[cfg(feature = "conformance")]
    zarr_conformance::suite::FixtureError,
    #[cfg(all(feature = "dynamic", target_os = "linux"))]
    zarr_kit::loaded::LockError,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Io(error),
        }
    }
}

/// Returns a printable message with all causes, except those that the message already contains.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = without_code(error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = without_code(error.to_string());
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    printable(text).to_string()
}

/// Removes the operating system's error codes, such as ` (os error 2)`.
fn without_code(text: String) -> String {
    const BEFORE: &str = " (os error ";
    let Some((words, rest)) = text.split_once(BEFORE) else { return text };
    match rest.split_once(')') {
        Some((code, rest)) if code.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{words}{}", without_code(rest.to_owned()))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|layer| layer as _)
        }
    }

    #[test]
    fn causes_are_printed_once() {
        let inner = Layer("no such file", None);
        let middle = Layer("reading `a`: no such file", Some(Box::new(inner)));
        assert_eq!(
            chain(&Layer("cannot open", Some(Box::new(middle)))),
            "cannot open: reading `a`: no such file"
        );
    }

    #[test]
    fn only_newlines_between_reasons_are_left_in_a_message() {
        let reasons = vec!["/a\n: x".to_owned(), "/b\u{1b}".to_owned()];
        let listed = Failure::Listed { head: "nothing is copied".to_owned(), reasons };
        assert_eq!(listed.message().unwrap(), "nothing is copied:\n  /a\\n: x\n  /b\\u{1b}");
        assert_eq!(Failure::fault("a\nerror: b").message().unwrap(), "a\\nerror: b");
    }

    #[test]
    fn error_codes_of_the_system_are_not_printed() {
        let stripped = |text: &str| without_code(text.to_owned());
        assert_eq!(stripped("`a`: Is a directory (os error 21); b"), "`a`: Is a directory; b");
        assert_eq!(stripped("a (os error 1): b (os error 2)"), "a: b");
        assert_eq!(stripped("a (os error of ours)"), "a (os error of ours)");
    }

    #[test]
    fn the_file_is_named_only_if_reading_or_writing_it_fails() {
        let full = || Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(full().message().unwrap().starts_with("writing to standard output: "));
        assert!(full().while_at("writing `a`").message().unwrap().starts_with("writing `a`: "));
        assert_eq!(Failure::fault("b").while_at("writing `a`").message().unwrap(), "b");
    }

    #[test]
    fn a_broken_pipe_is_not_a_fault() {
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)), Failure::BrokenPipe));
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::NotFound)), Failure::Io(_)));
    }
}
