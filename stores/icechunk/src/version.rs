//! The version of a repository that a store opens.

use std::fmt;
use std::str::FromStr;

use icechunk::format::SnapshotId;
use icechunk::repository::VersionInfo;
use serde::Deserialize;
use zarr_spec::Invalid;

/// A version of a repository: `branch.NAME`, `tag.NAME`, or the id of a snapshot. Only a branch can be changed.
///
/// ```
/// use zarr_store_icechunk::Version;
///
/// assert_eq!(Version::default().to_string(), "branch.main");
/// assert_eq!("tag.v1".parse::<Version>().unwrap(), Version::Tag("v1".to_owned()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum Version {
    /// The last commit of a branch.
    Branch(String),
    /// The commit with a tag.
    Tag(String),
    /// The commit with this id.
    Snapshot(String),
}

impl Default for Version {
    fn default() -> Self {
        Self::Branch("main".to_owned())
    }
}

impl FromStr for Version {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let named = |kind: &str| text.strip_prefix(kind).filter(|name| !name.is_empty());
        if let Some(branch) = named("branch.") {
            return Ok(Self::Branch(branch.to_owned()));
        }
        if let Some(tag) = named("tag.") {
            return Ok(Self::Tag(tag.to_owned()));
        }
        match SnapshotId::try_from(text) {
            Ok(_) => Ok(Self::Snapshot(text.to_owned())),
            Err(_) => Err(Invalid::new(format!(
                "unknown version `{text}` of a repository (expected `branch.NAME`, `tag.NAME` or the id of a \
                 snapshot, which has 20 letters and digits)"
            ))),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(name) => write!(f, "branch.{name}"),
            Self::Tag(name) => write!(f, "tag.{name}"),
            Self::Snapshot(id) => f.write_str(id),
        }
    }
}

impl Version {
    /// Returns the version as the library describes it.
    pub(crate) fn info(&self) -> Result<VersionInfo, Invalid> {
        Ok(match self {
            Self::Branch(name) => VersionInfo::BranchTipRef(name.clone()),
            Self::Tag(name) => VersionInfo::TagRef(name.clone()),
            Self::Snapshot(id) => {
                let id = SnapshotId::try_from(id.as_str());
                VersionInfo::SnapshotId(id.map_err(|reason| Invalid::new(format!("`{self}`: {reason}")))?)
            }
        })
    }
}
