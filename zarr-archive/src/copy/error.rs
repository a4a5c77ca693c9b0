//! Why a copy is refused or fails.

use std::error::Error as StdError;
use std::fmt;

use zarr_engine::Error;
use zarr_spec::grid::GridError;
use zarr_spec::store::StoreError;
use zarr_spec::{DataTypeError, KeyError, printable};

use crate::verify::chain;

/// Why a copy was not planned, or not completed.
#[derive(Debug)]
#[non_exhaustive]
pub enum CopyError {
    /// Nothing was written. Each reason names a node or an option.
    Refused(Vec<String>),
    /// The request cannot be fulfilled, or the elements of the copy would differ from those of the source. This call
    /// wrote nothing.
    Request(String),
    /// The copy was read back, and differs from its source.
    Different(DifferentCopy),
    /// The engine or a store failed.
    Engine(Error),
    /// The copy was interrupted by the error after it had begun. Chunks without metadata remain in the destination, and
    /// the same copy can be resumed.
    Incomplete(Box<CopyError>),
}

/// The first chunk of a copy that differs from its source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferentCopy {
    /// The path of the array.
    pub path: String,
    /// The index of the chunk; `None` if the digests of the arrays differ, but no chunk does any more.
    pub chunk: Option<Vec<u64>>,
    /// The key of the chunk.
    pub key: Option<String>,
    /// The difference.
    pub what: String,
}

impl fmt::Display for DifferentCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, chunk, key, what } = self;
        write!(f, "{}: the copy differs from its source", printable(path))?;
        if let (Some(chunk), Some(key)) = (chunk, key) {
            write!(f, " in chunk {chunk:?} (`{}`)", printable(key))?;
        }
        write!(f, ": {}", printable(what))
    }
}

impl CopyError {
    pub(crate) fn message(what: impl Into<String>) -> Self {
        Self::Request(what.into())
    }

    /// Returns the message with its causes.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Engine(error) => chain(error),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reasons) => {
                f.write_str("nothing is copied")?;
                reasons.iter().enumerate().try_for_each(|(number, reason)| {
                    let separator = if number == 0 { ": " } else { "; " };
                    write!(f, "{separator}{}", printable(reason))
                })
            }
            Self::Request(what) => write!(f, "{}", printable(what)),
            Self::Different(different) => write!(f, "{different}"),
            Self::Engine(error) => write!(f, "{error}"),
            Self::Incomplete(error) => write!(f, "{error}"),
        }
    }
}

impl StdError for CopyError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Refused(_) | Self::Request(_) | Self::Different(_) => None,
            Self::Engine(error) => error.source(),
            Self::Incomplete(error) => error.source(),
        }
    }
}

impl From<Error> for CopyError {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<GridError> for CopyError {
    fn from(error: GridError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<KeyError> for CopyError {
    fn from(error: KeyError) -> Self {
        StoreError::from(error).into()
    }
}

impl From<DataTypeError> for CopyError {
    fn from(error: DataTypeError) -> Self {
        Self::Engine(error.into())
    }
}
