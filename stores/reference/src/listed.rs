//! References in a JSON file, all of which are in memory.

use std::sync::Arc;

use zarr_plugin_kit::sorted;
use zarr_spec::store::{Directory, Keys, StoreResult};
use zarr_spec::{Key, Prefix};

use crate::document::{self, Reference, References};
use crate::targets::{Allowed, Target};
use crate::{Found, FoundFile, Span};

/// The references of a JSON file.
#[derive(Debug)]
pub(crate) struct Listed {
    entries: Vec<(Key, Reference)>,
    /// The files by number, or the reason why a file may not be read.
    targets: Vec<Result<Arc<Target>, Arc<str>>>,
}

impl Listed {
    /// Reads a reference file.
    ///
    /// # Errors
    ///
    /// A description of the first fault, with the key of the reference.
    pub(crate) fn new(document: &[u8], allowed: &Allowed) -> Result<Self, String> {
        let References { entries, targets } = document::read(document)?;
        let find = |target: &String| allowed.find(target).map(Arc::new).map_err(Arc::from);
        Ok(Self { entries, targets: targets.iter().map(find).collect() })
    }

    pub(crate) fn find(&self, key: &Key) -> Option<Found> {
        let number = self.entries.binary_search_by(|(one, _)| one.cmp(key)).ok()?;
        let (number, part) = match &self.entries.get(number)?.1 {
            Reference::Inline(bytes) => return Some(Found::Inline(bytes.clone())),
            Reference::Whole { target } => (*target, None),
            Reference::Part { target, offset, size } => {
                (*target, Some(Span { offset: *offset, size: *size }))
            }
        };
        let target = usize::try_from(number).ok().and_then(|number| self.targets.get(number))?.clone();
        Some(Found::File(FoundFile { target, part }))
    }

    pub(crate) fn list_prefix(&self, prefix: &Prefix) -> Keys<'_> {
        let below = sorted::below(&self.entries, prefix, |(key, _)| key);
        Box::new(below.iter().map(|(key, _)| Ok(key.clone())))
    }

    pub(crate) fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        Ok(sorted::directory(&self.entries, prefix, |(key, _)| key)?)
    }
}
