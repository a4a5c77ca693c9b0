//! The two forms of references: a JSON file, and a folder with Parquet files.

use zarr_spec::store::{Directory, Keys, Store, StoreError, StoreResult, get_value};
use zarr_spec::{Invalid, Key, Prefix};

use crate::Found;
use crate::document::MAX_SIZE;
use crate::listed::Listed;
#[cfg(feature = "parquet")]
use crate::records::Records;
use crate::targets::Allowed;

/// The name of the file that each folder of references contains.
const METADATA: &str = ".zmetadata";

#[derive(Debug)]
pub(crate) enum Source {
    Json(Listed),
    #[cfg(feature = "parquet")]
    Parquet(Records),
}

impl Source {
    /// Opens the file or the folder `key` of `store`, whose location is `name`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it is missing or does not have references, and the errors of `store`.
    pub(crate) fn open(store: &dyn Store, key: &Key, name: &str, allowed: &Allowed) -> StoreResult<Self> {
        let folder = Prefix::new(format!("{key}/"))?;
        let metadata = || get_value(store, &folder.key(METADATA)?, MAX_SIZE);
        // A server may answer a request for a folder with a list of its files.
        let looks_like_folder = [".parq", ".parquet"].iter().any(|ending| key.as_str().ends_with(ending));
        if looks_like_folder && let Some(metadata) = metadata()? {
            return Self::of_folder(folder, &metadata, name);
        }
        if let Some(document) = get_value(store, key, MAX_SIZE)? {
            return Listed::new(&document, allowed).map(Self::Json).map_err(|reason| invalid(name, &reason));
        }
        match if looks_like_folder { None } else { metadata()? } {
            Some(metadata) => Self::of_folder(folder, &metadata, name),
            None => Err(Invalid::new(format!("`{name}`, the file with references, does not exist")).into()),
        }
    }

    #[cfg(feature = "parquet")]
    fn of_folder(folder: Prefix, metadata: &[u8], name: &str) -> StoreResult<Self> {
        Records::new(folder, metadata).map(Self::Parquet).map_err(|reason| invalid(name, &reason))
    }

    #[cfg(not(feature = "parquet"))]
    fn of_folder(_folder: Prefix, _metadata: &[u8], name: &str) -> StoreResult<Self> {
        let feature = "feature `reference-parquet` of crate `zarr-kit`";
        Err(Invalid::new(format!("`{name}` has references in Parquet files, which need {feature}")).into())
    }
}

#[cfg_attr(
    not(feature = "parquet"),
    expect(unused_variables, reason = "only Parquet files name targets by URL")
)]
impl Source {
    pub(crate) fn find(&self, key: &Key, allowed: &Allowed) -> StoreResult<Option<Found>> {
        match self {
            Self::Json(listed) => Ok(listed.find(key)),
            #[cfg(feature = "parquet")]
            Self::Parquet(records) => records.find(key, allowed),
        }
    }

    pub(crate) fn list_prefix<'a>(&'a self, prefix: &Prefix, allowed: &'a Allowed) -> Keys<'a> {
        match self {
            Self::Json(listed) => listed.list_prefix(prefix),
            #[cfg(feature = "parquet")]
            Self::Parquet(records) => records.list_prefix(prefix, allowed),
        }
    }

    pub(crate) fn list_dir(&self, prefix: &Prefix, allowed: &Allowed) -> StoreResult<Directory> {
        match self {
            Self::Json(listed) => listed.list_dir(prefix),
            #[cfg(feature = "parquet")]
            Self::Parquet(records) => records.list_dir(prefix, allowed),
        }
    }
}

fn invalid(name: &str, reason: &str) -> StoreError {
    Invalid::new(format!("`{name}` is not a valid reference file: {reason}")).into()
}
