//! Groups without a document, which v3 does not allow (V3-KEY-05).
//!
//! Writers of single arrays leave them: they write `a/b/zarr.json`, but neither `a/zarr.json` nor `zarr.json`. Outside
//! of strict mode, a folder with nodes below it is read as a group without attributes, with one warning for the
//! hierarchy. A folder with hierarchies of other formats is not such a group, and neither is one with folders whose
//! names end in `.zarr`, which are hierarchies of their own (V3-KEY-07).

use std::collections::BTreeSet;

use zarr_metadata::v3::{group_document, prefix};
use zarr_metadata::{DocumentKind, GroupMetadata, Identified, NodeMetadata, identify};
use zarr_spec::{Format, Mode, NodePath, Object, Prefix, Value};

use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::hierarchy::entry::{EntryKind, NodeEntry};
use crate::hierarchy::rules::FoundNode;

/// Maximum number of folders that are listed to find a node below a folder, in a local store.
const MOST_FOLDERS: usize = 100;

/// Same as [`MOST_FOLDERS`] for a remote store, where each listing takes a round trip.
const MOST_FAR_FOLDERS: usize = 8;

/// The documents of nodes in other formats.
const OTHER_FORMATS: [&str; 2] = [".zgroup", ".zarray"];

/// Returns whether the folder at `path`, which does not have a document, is read as a group.
pub(in crate::hierarchy) fn is_group(access: &Access, path: &NodePath) -> Result<bool, Error> {
    if access.context.mode == Mode::Strict
        || !access.store.capabilities().listable
        || path.check(Format::V3).is_err()
    {
        return Ok(false);
    }
    let is_group = has_nodes_below(access, prefix(path)?)?;
    if is_group {
        warn(access);
    }
    Ok(is_group)
}

/// Returns the groups that have no document although `nodes` are below them, outside of strict mode.
pub(super) fn groups_between(
    access: &Access,
    start: &NodePath,
    nodes: &[(NodePath, Value)],
) -> Vec<NodeEntry> {
    if access.context.mode == Mode::Strict {
        return Vec::new();
    }
    let explicit: BTreeSet<&NodePath> = nodes.iter().map(|(path, _)| path).collect();
    let mut implicit = BTreeSet::new();
    for (path, _) in nodes {
        let mut above = path.parent();
        while let Some(group) = above.filter(|group| group != start && !explicit.contains(group)) {
            above = group.parent();
            implicit.insert(group);
        }
    }
    if !implicit.is_empty() {
        warn(access);
    }
    implicit.into_iter().map(|path| NodeEntry { path, kind: EntryKind::ImplicitGroup }).collect()
}

pub(super) fn warn(access: &Access) {
    access.warn(
        "there are groups without `zarr.json`, which v3 does not allow; they are read as groups without attributes",
    );
}

pub(super) fn metadata() -> GroupMetadata {
    GroupMetadata::new(Format::V3, Object::new())
}

pub(super) fn found() -> FoundNode {
    FoundNode { metadata: NodeMetadata::Group(metadata()), is_implicit: true }
}

/// Returns the document that the group would have.
pub(super) fn document() -> Option<Value> {
    group_document(&metadata()).ok()
}

/// The contents of the folders at one depth.
#[derive(Debug, Default)]
struct Level {
    has_nodes: bool,
    has_other_hierarchies: bool,
    below: Vec<Prefix>,
}

fn has_nodes_below(access: &Access, folder: Prefix) -> Result<bool, Error> {
    let mut left = if access.is_local() { MOST_FOLDERS } else { MOST_FAR_FOLDERS };
    let mut level = Level::default();
    level.add_below(access.store.list_dir(&folder)?.prefixes);
    while !level.below.is_empty() && left > 0 {
        let folders = level.below;
        level = Level::default();
        for folder in folders.iter().take(left) {
            level.look(access, folder)?;
        }
        if level.has_nodes || level.has_other_hierarchies {
            return Ok(level.has_nodes && !level.has_other_hierarchies);
        }
        left = left.saturating_sub(folders.len());
    }
    Ok(false)
}

impl Level {
    /// Looks for documents in a folder.
    fn look(&mut self, access: &Access, folder: &Prefix) -> Result<(), Error> {
        let listed = access.store.list_dir(folder)?;
        let has = |name: &str| listed.keys.iter().any(|key| key.name() == name);
        if OTHER_FORMATS.iter().any(|name| has(name)) {
            self.has_other_hierarchies = true;
        } else if has("zarr.json") {
            let key = folder.key("zarr.json")?;
            let identified = match access.get_json(&key, DocumentKind::V3) {
                Ok(Some(document)) => identify(&document).ok(),
                // A document that cannot be read counts as a node of v3, which is listed as unreadable.
                _ => Some(Identified::V3),
            };
            let is_of_v3 = matches!(identified, Some(Identified::V3));
            let is_in_group = is_of_v3 && !name_of(folder).ends_with(".zarr");
            self.has_nodes |= is_in_group;
            self.has_other_hierarchies |= !is_in_group;
        }
        self.add_below(listed.prefixes);
        Ok(())
    }

    /// Adds folders to search. Names that begin with `__` are reserved.
    fn add_below(&mut self, folders: Vec<Prefix>) {
        let folders = folders.into_iter().filter(|folder| !name_of(folder).starts_with("__"));
        self.below.extend(folders);
    }
}

fn name_of(folder: &Prefix) -> &str {
    folder.as_str().trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}
