//! The formats, and how strictly documents are read.
#![expect(clippy::exhaustive_enums, reason = "readers and plugins handle every format and mode")]

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use zarr_json::{Limits, printable};

/// One of the three storage formats. The default is v3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Format {
    /// Zarr storage specification version 2.
    V2,
    /// The version 3.0 core draft of December 2022: `zarr.json` entry point, `meta/` and `data/` keys.
    V3Draft,
    /// Final Zarr version 3: a `zarr.json` in every node.
    #[default]
    V3,
}

impl Format {
    /// All formats, oldest first.
    pub const ALL: [Self; 3] = [Self::V2, Self::V3Draft, Self::V3];

    /// Returns the name for the command line and for messages.
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

/// The strictness of reading documents. Documents are always written strictly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Violations of the specification are errors.
    Strict,
    /// Deviations of existing writers that cannot change a value are read with a warning.
    #[default]
    Lenient,
    /// Like `Lenient`; also opens hierarchies of other generations of the draft.
    Compatibility,
}

impl Mode {
    /// All modes, the strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Lenient, Self::Compatibility];

    /// Returns the name in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Lenient => "lenient",
            Self::Compatibility => "compatibility",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| {
            Invalid::new(format!("unknown mode `{text}` (expected strict, lenient or compatibility)"))
        })
    }
}

/// A document, or a part of one, that violates its specification. It describes the problem; the caller adds the name of
/// the document or member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", printable(.0))]
pub struct Invalid(String);

impl Invalid {
    /// Creates an error; `what` is a lower case sentence without a full stop.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// One operation of reading: its mode, and its warnings.
///
/// Repeated warnings are recorded once.
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
    /// Creates a reading without warnings, with the default limit of [`Limits`] for documents.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self { mode, document_size: Limits::default().bytes, warnings: Mutex::default() }
    }

    /// Sets the maximum size of a document in bytes.
    #[must_use]
    pub fn with_document_size(self, document_size: usize) -> Self {
        Self { document_size, ..self }
    }

    /// Returns the maximum size of a document in bytes.
    #[must_use]
    pub fn document_size(&self) -> usize {
        self.document_size
    }

    /// Returns the mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Accepts a form that the specification forbids, with a warning, except in strict mode.
    ///
    /// # Errors
    ///
    /// In strict mode: `what`, with the note that other modes accept the form when reading. Writing is always strict.
    pub fn tolerate(&self, what: impl Into<String>) -> Result<(), Invalid> {
        match self.mode {
            Mode::Strict => {
                Err(Invalid::new(format!("{} (accepted when reading, except in strict mode)", what.into())))
            }
            Mode::Lenient | Mode::Compatibility => {
                self.warn(what);
                Ok(())
            }
        }
    }

    /// Accepts a form of another generation with a warning, only in compatibility mode.
    ///
    /// # Errors
    ///
    /// In the other modes: `what`, with the note that compatibility mode accepts the form.
    pub fn tolerate_for_compatibility(&self, what: impl Into<String>) -> Result<(), Invalid> {
        match self.mode {
            Mode::Compatibility => self.tolerate(what),
            Mode::Strict | Mode::Lenient => {
                Err(Invalid::new(format!("{} (accepted in compatibility mode)", what.into())))
            }
        }
    }

    /// Records a warning about a form that every mode accepts.
    pub fn warn(&self, what: impl Into<String>) {
        let what = printable(what.into()).to_string();
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&what) {
            warnings.push(what);
        }
    }

    /// Removes and returns the warnings in the order in which they occurred.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
