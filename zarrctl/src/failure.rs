//! What ends the program, and with which status.

use std::error::Error;
use std::io;

/// Why a verb did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The data or the request is at fault.
    Fault(Box<dyn Error>),
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
            other => other,
        }
    }
}

impl From<zarr_kit::Error> for Failure {
    fn from(error: zarr_kit::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Fault(error.into()),
        }
    }
}

/// A message with all its causes, each once: many messages hold that of their cause already.
pub(crate) fn chain(error: &dyn Error) -> String {
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
    fn a_broken_pipe_is_no_fault() {
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)), Failure::NobodyReads));
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::NotFound)), Failure::Fault(_)));
    }
}
