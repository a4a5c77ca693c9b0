//! Files that are not part of Zarr in the folders of groups, such as `OME/METADATA.ome.xml`.

use std::collections::BTreeSet;

use zarr_engine::Hierarchy;
use zarr_metadata::DOCUMENT_NAMES;
use zarr_spec::store::{Store, get_value};
use zarr_spec::{Format, Key, NodePath, Prefix};

use super::chosen::Chosen;
use super::error::CopyError;
use super::losses::Losses;
use super::text::size;

/// The maximum size of a copied file in bytes: each file is in memory as a whole.
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
pub(crate) struct Others {
    keys: Vec<Key>,
    /// The warning that files may be missing, and why.
    pub(crate) warning: Option<String>,
}

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
    ) -> Result<Self, CopyError> {
        let store = source.store();
        let groups: Vec<_> = chosen.nodes.iter().filter(|node| node.kind.is_group()).collect();
        if source.format() == Format::V3Draft || !store.capabilities().listable {
            return Ok(Self::default());
        }
        let is_far = store.read_hints().max_concurrency > 0;
        if is_far && groups.len() > MOST_FAR_GROUPS {
            return Ok(Self { keys: Vec::new(), warning: Some(too_many_groups(groups.len())) });
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
    ) -> Result<(), CopyError> {
        let prefix = Prefix::new(folder(group))?;
        let there = store.list_dir(&prefix)?;
        let mut left_out = Vec::new();
        for key in there.keys.into_iter().filter(|key| !DOCUMENT_NAMES.contains(&key.name())) {
            match format == Format::V3Draft || is_too_large(store, &key)? {
                true => left_out.push(key.name().to_owned()),
                false => self.keys.push(key),
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

    /// Copies the files. Existing files are not replaced; returns a warning for each that has another size.
    pub(crate) fn copy(&self, from: &dyn Store, to: &dyn Store) -> Result<Vec<String>, CopyError> {
        let mut warnings = Vec::new();
        for key in &self.keys {
            let Some(bytes) = get_value(from, key, LARGEST)? else { continue };
            match to.size(key)? {
                None => to.set(key, bytes.into())?,
                Some(there) if there == bytes.len() as u64 => {}
                Some(there) => warnings.push(format!(
                    "`{key}` already exists in the copy, with {} instead of {}; it is not replaced",
                    size(there),
                    size(bytes.len() as u64)
                )),
            }
        }
        Ok(warnings)
    }
}

/// Returns the folder of a node: its names, each followed by `/`.
fn folder(path: &NodePath) -> String {
    path.names().iter().map(|name| format!("{name}/")).collect()
}

fn is_too_large(store: &dyn Store, key: &Key) -> Result<bool, CopyError> {
    let size = store.size(key)?;
    Ok(size.is_some_and(|size| size > LARGEST as u64))
}

/// Returns whether a listed folder is empty.
fn is_empty(store: &dyn Store, folder: &Prefix) -> Result<bool, CopyError> {
    let there = store.list_dir(folder)?;
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
