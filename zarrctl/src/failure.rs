//! What ends the program, and with which status.

use std::error::Error;
use std::io;

use zarr_kit::spec::printable;

/// Why a verb did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The data or the request is at fault.
    Fault(Box<dyn Error + Send + Sync>),
    /// As [`Failure::Fault`], for several reasons: each gets its own line.
    Listed {
        /// What is not done.
        head: String,
        /// Why not.
        reasons: Vec<String>,
    },
    /// Standard output, or the file that is being read or written, fails.
    Io(io::Error),
    /// Nobody reads standard output any more.
    NobodyReads,
}

impl Failure {
    /// The data or the request is at fault, in words.
    pub(crate) fn fault(what: impl Into<String>) -> Self {
        Self::Fault(what.into().into())
    }

    /// With words in front that say what was being done.
    pub(crate) fn while_doing(self, what: &str) -> Self {
        match self {
            Self::Fault(error) => Self::fault(format!("{what}: {}", chain(&*error))),
            other => other.while_at(what),
        }
    }

    /// With words in front that name the file, if that is what fails.
    pub(crate) fn while_at(self, file: &str) -> Self {
        match self {
            Self::Io(error) => Self::fault(format!("{file}: {}", chain(&error))),
            other => other,
        }
    }

    /// With words at the end that report what remains, or what to do.
    pub(crate) fn with_hint(self, hint: &str) -> Self {
        match self {
            Self::Fault(error) => Self::fault(format!("{}; {hint}", chain(&*error))),
            other => other,
        }
    }

    /// The message, if there is something to say. Only newlines between reasons are left in it.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Self::Fault(error) => Some(chain(&**error)),
            Self::Listed { head, reasons } => {
                let reasons = reasons.iter().map(|reason| format!("\n  {}", printable(reason)));
                Some(format!("{}:{}", printable(head), reasons.collect::<String>()))
            }
            Self::Io(error) => Some(format!("writing to standard output: {}", chain(error))),
            Self::NobodyReads => None,
        }
    }
}

impl From<zarr_kit::Error> for Failure {
    /// Where the paths of nodes are at fault, with the verb that lists them; where something is unknown, with the one that
    /// says where it was looked for.
    fn from(error: zarr_kit::Error) -> Self {
        match &error {
            zarr_kit::Error::NoNode(_) | zarr_kit::Error::WrongKind { .. } => {
                Self::fault(format!("{error}; `zarrctl tree` lists what there is"))
            }
            #[cfg(all(feature = "dynamic", target_os = "linux"))]
            zarr_kit::Error::NotUnderstood { .. } => {
                // Of others it is known which build or plugin has them.
                let unknown = error.missing_plugins().find(|unknown| unknown.known_elsewhere.is_none());
                let identifier = unknown.map(|unknown| unknown.identifier.clone());
                match identifier {
                    Some(identifier) => Self::fault(format!(
                        "{error}; `zarrctl plugins why {identifier}` says where it was looked for"
                    )),
                    None => Self::Fault(error.into()),
                }
            }
            _ => Self::Fault(error.into()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Io(error),
        }
    }
}

/// A message with all its causes, each once: many messages hold that of their cause already. It is printable.
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

/// Without the number that the system has for an error, which stands behind its words.
fn without_code(text: String) -> String {
    const BEFORE: &str = " (os error ";
    let Some((words, rest)) = text.split_once(BEFORE) else { return text };
    match rest.split_once(')') {
        Some((code, behind)) if code.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{words}{}", without_code(behind.to_owned()))
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
    fn causes_are_told_once() {
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
    fn numbers_of_the_system_are_not_told() {
        let told = |text: &str| without_code(text.to_owned());
        assert_eq!(told("`a`: Is a directory (os error 21); b"), "`a`: Is a directory; b");
        assert_eq!(told("a (os error 1): b (os error 2)"), "a: b");
        assert_eq!(told("a (os error of ours)"), "a (os error of ours)");
    }

    #[test]
    fn what_is_written_to_is_named_unless_something_else_fails() {
        let full = || Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(full().message().unwrap().starts_with("writing to standard output: "));
        assert!(full().while_at("writing `a`").message().unwrap().starts_with("writing `a`: "));
        assert_eq!(Failure::fault("b").while_at("writing `a`").message().unwrap(), "b");
    }

    #[test]
    fn a_broken_pipe_is_no_fault() {
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)), Failure::NobodyReads));
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::NotFound)), Failure::Io(_)));
    }
}
