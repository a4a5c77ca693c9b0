//! Files in the folders of groups that are not part of Zarr, such as `OME/METADATA.ome.xml`.

use std::collections::BTreeSet;

use zarr_kit::metadata::DOCUMENT_NAMES;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Prefix};
use zarr_kit::{Format, Hierarchy, NodePath};

use crate::chosen::Chosen;
use crate::failure::Failure;
use crate::losses::Losses;
use crate::terminal::{size, warn};

/// The size limit of copied files: each is in memory as a whole.
const LARGEST: usize = 256 << 20;

/// The most groups of a remote store that are searched for files, because each takes a request.
const MOST_FAR_GROUPS: usize = 100;

/// The most names in a message.
const SHOWN: usize = 5;

/// Returns the warning about a remote source with `count` groups.
fn too_many_groups(count: usize) -> String {
    format!(
        "the source has {count} groups; files in them that are not part of Zarr are not copied, because remote \
             stores with more than {MOST_FAR_GROUPS} groups are not searched for such files"
    )
}

/// Files directly in the folders of groups.
#[derive(Debug, Default)]
pub(crate) struct Others(Vec<Key>);

impl Others {
    /// Finds the files in the groups among the chosen nodes, for a copy in `format`. Adds files that are not
    /// copied to `losses`.
    ///
    /// Nothing is copied from or to the v3 draft, which does not have a folder for each group.
    pub(crate) fn find(
        source: &Hierarchy,
        chosen: &Chosen,
        format: Format,
        losses: &mut Losses,
    ) -> Result<Self, Failure> {
        let store = source.store();
        let groups: Vec<_> = chosen.nodes.iter().filter(|node| node.kind.is_group()).collect();
        if source.format() == Format::V3Draft || !store.capabilities().listable {
            return Ok(Self::default());
        }
        let is_far = store.read_hints().max_concurrency > 0;
        if is_far && groups.len() > MOST_FAR_GROUPS {
            warn(&too_many_groups(groups.len()));
            return Ok(Self::default());
        }
        let folders: BTreeSet<String> = chosen.all.iter().map(|node| folder(&node.path)).collect();
        let mut others = Self::default();
        for group in groups {
            others.look_into(&**store, &group.path, &folders, format, losses)?;
        }
        Ok(others)
    }

    fn look_into(
        &mut self,
        store: &dyn Store,
        group: &NodePath,
        folders: &BTreeSet<String>,
        format: Format,
        losses: &mut Losses,
    ) -> Result<(), Failure> {
        let prefix = Prefix::new(folder(group)).map_err(|error| Failure::Fault(error.into()))?;
        let there = store.list_dir(&prefix).map_err(|error| Failure::Fault(error.into()))?;
        let mut left_out = Vec::new();
        for key in there.keys.into_iter().filter(|key| !DOCUMENT_NAMES.contains(&key.name())) {
            match format == Format::V3Draft || is_too_large(store, &key)? {
                true => left_out.push(key.name().to_owned()),
                false => self.0.push(key),
            }
        }
        for folder in there.prefixes.iter().filter(|folder| !folders.contains(folder.as_str())) {
            if !is_empty(store, folder)? {
                left_out.push(folder.as_str()[prefix.as_str().len()..].to_owned());
            }
        }
        if !left_out.is_empty() {
            losses.add(group, left_out_text(&left_out));
        }
        Ok(())
    }

    /// Copies the files. Existing files are not replaced; a warning lists those that have another size.
    pub(crate) fn copy(&self, from: &dyn Store, to: &dyn Store) -> Result<(), Failure> {
        for key in &self.0 {
            let failed = |error: zarr_kit::spec::store::StoreError| Failure::Fault(error.into());
            let Some(bytes) = get_value(from, key, LARGEST).map_err(failed)? else { continue };
            match to.size(key).map_err(failed)? {
                None => to.set(key, bytes.into()).map_err(failed)?,
                Some(there) if there == bytes.len() as u64 => {}
                Some(there) => warn(&format!(
                    "`{key}` already exists in the copy, with {} instead of {}; it is not replaced",
                    size(there),
                    size(bytes.len() as u64)
                )),
            }
        }
        Ok(())
    }
}

/// Returns the folder of a node: its names, each followed by `/`.
fn folder(path: &NodePath) -> String {
    path.names().iter().map(|name| format!("{name}/")).collect()
}

fn is_too_large(store: &dyn Store, key: &Key) -> Result<bool, Failure> {
    let size = store.size(key).map_err(|error| Failure::Fault(error.into()))?;
    Ok(size.is_some_and(|size| size > LARGEST as u64))
}

/// Returns whether a listed folder is empty.
fn is_empty(store: &dyn Store, folder: &Prefix) -> Result<bool, Failure> {
    let there = store.list_dir(folder).map_err(|error| Failure::Fault(error.into()))?;
    Ok(there.keys.is_empty() && there.prefixes.is_empty())
}

fn left_out_text(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("not part of Zarr and not copied: {}{more}", shown.join(", "))
}
