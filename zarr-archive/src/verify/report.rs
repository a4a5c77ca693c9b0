//! The result of a check, which serde writes and reads.

use std::error::Error as _;

use serde::{Deserialize, Serialize};
use zarr_engine::Error;
use zarr_spec::store::Store;

use super::{Census, Level};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The location of the store.
    pub location: String,
    /// The level of the check.
    pub level: String,
    /// Findings about documents and keys.
    pub findings: Vec<Finding>,
    /// The arrays.
    pub arrays: Vec<ArrayReport>,
}

/// The result of the check of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArrayReport {
    /// The path.
    pub path: String,
    /// The format.
    pub format: String,
    /// The chunks.
    pub census: Census,
    /// Findings about chunks.
    pub findings: Vec<Finding>,
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The path of the node, if the finding belongs to a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The key of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The index of the chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Vec<u64>>,
    /// The index of the inner chunk in its shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<Vec<u64>>,
    /// A description.
    pub text: String,
}

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A document is empty, is not JSON, or does not conform to its format.
    Document,
    /// Documents contradict one another.
    Disagreement,
    /// A node lies below a path without a group.
    MissingGroup,
    /// Consolidated metadata differs from the documents of the nodes.
    Consolidated,
    /// Dimension names or coordinates contradict shapes, or nodes contradict what metadata of CF, OME-Zarr, AnnData,
    /// GeoZarr or NCZarr state.
    Convention,
    /// The content differs from the manifest.
    Manifest,
    /// A value does not belong to a node.
    Leftover,
    /// A copy into the store is not complete: elements that are not copied yet read as the fill value.
    IncompleteCopy,
    /// An interrupted write left a temporary file.
    TemporaryFile,
    /// A chunk is missing, although every chunk must be stored.
    MissingChunk,
    /// The value of a chunk is empty.
    EmptyChunk,
    /// The value of a chunk has another size than its codecs produce.
    ChunkSize,
    /// A chunk cannot be decoded.
    Chunk,
    /// Not damage: something could not be checked, because this program or the store lacks a feature.
    NotChecked,
    /// Not damage: a fault that readers tolerate.
    Tolerated,
    /// Not damage: no codec of the array has a checksum.
    NoChecksum,
}

impl FindingKind {
    /// Returns whether the finding is damage.
    #[must_use]
    pub fn is_damage(self) -> bool {
        !matches!(self, Self::NotChecked | Self::Tolerated | Self::NoChecksum)
    }
}

impl Finding {
    /// Returns a finding without a path, key or chunk.
    pub fn new(kind: FindingKind, text: impl Into<String>) -> Self {
        Self { kind, path: None, key: None, chunk: None, inner: None, text: text.into() }
    }

    /// Returns the finding of an error.
    pub(crate) fn of_error(kind: FindingKind, error: &Error) -> Self {
        let mut finding = Self::new(kind, chain(error));
        match error {
            Error::Chunk(error) => {
                finding.key = Some(error.key.clone());
                finding.chunk = Some(error.index.clone());
                finding.inner = error.inner.as_deref().map(<[u64]>::to_vec);
            }
            Error::Document(error) => finding.key = Some(error.key.clone()),
            Error::NotUnderstood(error) => finding.key = Some(error.key.clone()),
            _ => {}
        }
        finding
    }

    pub(crate) fn at(mut self, path: impl ToString) -> Self {
        self.path = Some(path.to_string());
        self
    }
}

impl Report {
    pub(super) fn new(store: &dyn Store, level: Level) -> Self {
        let level = level.name().to_owned();
        Self { location: store.location(), level, findings: Vec::new(), arrays: Vec::new() }
    }

    pub(super) fn add(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Returns all findings: those about documents and keys, then those of the arrays.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(self.arrays.iter().flat_map(|array| &array.findings))
    }

    /// Returns whether no damage was found.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.all_findings().any(|finding| finding.kind.is_damage())
    }
}

/// Returns the message of an error with its causes, unless the message already contains them.
pub(crate) fn chain(error: &Error) -> String {
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
