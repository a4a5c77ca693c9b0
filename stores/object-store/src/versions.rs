//! The versions of objects, and the conditions that they become.

use object_store::{ObjectMeta, PutMode, PutResult, UpdateVersion};
use zarr_spec::store::{Condition, Version};

/// The property that identifies a state of an object in conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// The ETag: S3 and Azure.
    Tags,
    /// The generation: Google Cloud Storage.
    Generations,
}

/// The beginning of a version that cannot be a condition: the time and the size of an object without an ETag.
const TIME: &str = "time ";

/// An ETag that no object has.
const UNMET_TAG: &str = "\"00000000000000000000000000000000\"";

impl Versions {
    /// Returns the version of an object. Without an ETag or a generation, it consists of the time and the size; a time
    /// of 0 counts as unknown.
    pub(crate) fn of(self, state: &ObjectMeta) -> Option<Version> {
        let known = self.known(state.e_tag.as_ref(), state.version.as_ref());
        match (known, state.last_modified.timestamp_millis()) {
            (Some(version), _) => Some(version),
            (None, 0) => None,
            (None, time) => Some(Version::new(format!("{TIME}{time} {}", state.size))),
        }
    }

    /// Returns the version of a value that was written.
    pub(crate) fn of_put(self, put: &PutResult) -> Option<Version> {
        self.known(put.e_tag.as_ref(), put.version.as_ref())
    }

    fn known(self, tag: Option<&String>, generation: Option<&String>) -> Option<Version> {
        match self {
            Self::Tags => tag,
            Self::Generations => generation,
        }
        .map(Version::new)
    }

    /// Returns the condition of a request; `None` if the version cannot be a condition.
    pub(crate) fn mode(self, condition: &Condition) -> Option<PutMode> {
        match condition {
            Condition::Missing => Some(PutMode::Create),
            Condition::Unchanged(version) => self.unchanged(version).map(PutMode::Update),
        }
    }

    /// Returns the condition that an object is unchanged, like [`Versions::mode`].
    pub(crate) fn unchanged(self, version: &Version) -> Option<UpdateVersion> {
        // A weak ETag never matches.
        let text = str::from_utf8(version.bytes())
            .ok()
            .filter(|text| !text.starts_with("W/") && !text.starts_with(TIME));
        text.map(|text| match self {
            // A version of another store may not be a number. The service would reject such a request as invalid.
            Self::Generations if text.parse::<i64>().is_err() => self.unmet(),
            _ => self.update(text.to_owned()),
        })
    }

    /// Returns a condition that no object satisfies.
    pub(crate) fn unmet(self) -> UpdateVersion {
        self.update(match self {
            Self::Tags => UNMET_TAG.to_owned(),
            Self::Generations => i64::MAX.to_string(),
        })
    }

    fn update(self, version: String) -> UpdateVersion {
        match self {
            Self::Tags => UpdateVersion { e_tag: Some(version), version: None },
            Self::Generations => UpdateVersion { e_tag: None, version: Some(version) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(versions: Versions, text: &str) -> Option<UpdateVersion> {
        match versions.mode(&Condition::Unchanged(Version::new(text)))? {
            PutMode::Update(version) => Some(version),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_version_becomes_the_condition_that_the_service_compares() {
        let tag = update(Versions::Tags, "\"ab\"").unwrap();
        assert_eq!((tag.e_tag.as_deref(), tag.version), (Some("\"ab\""), None));
        let generation = update(Versions::Generations, "17").unwrap();
        assert_eq!((generation.e_tag, generation.version.as_deref()), (None, Some("17")));
        assert!(matches!(Versions::Tags.mode(&Condition::Missing), Some(PutMode::Create)));
        // The version of another store is not a generation.
        let foreign = update(Versions::Generations, "\"ab\"").unwrap().version.unwrap();
        assert_eq!(foreign, i64::MAX.to_string());
    }

    #[test]
    fn weak_tags_and_times_are_not_conditions() {
        for text in ["W/\"ab\"", "time 1700000000000 10"] {
            assert!(update(Versions::Tags, text).is_none(), "{text}");
        }
    }
}
