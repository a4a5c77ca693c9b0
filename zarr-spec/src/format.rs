//! The formats, and how strictly their documents are read.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use zarr_json::{Limits, printable};

/// One of the three storage formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Zarr storage specification version 2.
    V2,
    /// The version 3.0 core draft of December 2022: `zarr.json` entry point, `meta/` and `data/` keys.
    V3Draft,
    /// Final Zarr version 3: a `zarr.json` in every node.
    V3,
}

impl Format {
    /// All formats, oldest first.
    pub const ALL: [Self; 3] = [Self::V2, Self::V3Draft, Self::V3];

    /// The name used on the command line and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3Draft => "v3-draft",
            Self::V3 => "v3",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| Invalid::new(format!("unknown format `{text}` (expected v2, v3-draft or v3)")))
    }
}

/// How strictly documents are read. Documents are always written strictly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// What a text forbids is an error.
    Strict,
    /// Forms that real writers emit and that cannot change a value are read, each with a warning.
    #[default]
    Lenient,
    /// As `Lenient`, and hierarchies of neighbouring generations of the draft open too.
    Compatibility,
}

/// A document, or a part of one, that does not fit its specification. Says what, not where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", printable(.0))]
pub struct Invalid(String);

impl Invalid {
    /// `what` is a lower case sentence without a full stop.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// One act of reading: its mode, and the warnings that came up.
///
/// A warning is kept once, however often it comes up.
#[derive(Debug)]
pub struct Reading {
    mode: Mode,
    document_size: usize,
    warnings: Mutex<Vec<String>>,
}

impl Default for Reading {
    fn default() -> Self {
        Self::new(Mode::default())
    }
}

impl Reading {
    /// Starts without warnings, and reads documents as long as [`Limits`] have them by default.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode, document_size: Limits::default().bytes, warnings: Mutex::default() }
    }

    /// With another limit for the bytes of a document.
    #[must_use]
    pub fn with_document_size(self, document_size: usize) -> Self {
        Self { document_size, ..self }
    }

    /// Bytes that a document may have.
    #[must_use]
    pub fn document_size(&self) -> usize {
        self.document_size
    }

    /// How strictly this reading goes.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Accepts a form that the text forbids, with a warning, unless the mode is strict.
    ///
    /// # Errors
    ///
    /// `what` itself, in strict mode.
    pub fn tolerate(&self, what: impl Into<String>) -> Result<(), Invalid> {
        match self.mode {
            Mode::Strict => Err(Invalid::new(what)),
            Mode::Lenient | Mode::Compatibility => {
                self.warn(what);
                Ok(())
            }
        }
    }

    /// Accepts a form of a neighbouring generation, with a warning, in compatibility mode alone.
    ///
    /// # Errors
    ///
    /// `what` itself, in the other modes.
    pub fn tolerate_for_compatibility(&self, what: impl Into<String>) -> Result<(), Invalid> {
        match self.mode {
            Mode::Compatibility => self.tolerate(what),
            Mode::Strict | Mode::Lenient => {
                Err(Invalid::new(format!("{} (compatibility mode reads it)", what.into())))
            }
        }
    }

    /// Notes something that a user should know and that is no error in any mode.
    pub fn warn(&self, what: impl Into<String>) {
        let what = printable(what.into()).to_string();
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&what) {
            warnings.push(what);
        }
    }

    /// The warnings so far, in the order in which they came up; none are left behind.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
