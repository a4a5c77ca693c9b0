//! Listing the nodes below groups, for all formats.

use zarr_spec::store::Directory;
use zarr_spec::{KeyError, NodePath, Prefix};

use super::access::Access;
use super::entry::NodeEntry;
use crate::error::Error;
use crate::flight;
use crate::parallel;
use crate::threads::Threads;

/// Minimum number of folders that are listed on several threads.
const FOLDERS: usize = 4;

pub(super) fn is_below(node: &NodePath, path: &NodePath) -> bool {
    node.names().len() > path.names().len() && node.names().starts_with(path.names())
}

pub(super) fn directly_below<D>(
    nodes: Vec<(NodePath, D)>,
    path: &NodePath,
) -> impl Iterator<Item = (NodePath, D)> {
    let depth = path.names().len() + 1;
    nodes.into_iter().filter(move |(node, _)| node.names().len() == depth)
}

pub(super) fn groups(nodes: &[NodeEntry]) -> Vec<NodePath> {
    nodes.iter().filter(|node| node.kind.is_group()).map(|node| node.path.clone()).collect()
}

/// Lists `start` and all nodes below it, level by level. `children` returns the nodes directly below the given groups.
/// No node is below an array, so an array needs no listing.
pub(super) fn walk_levels(
    access: &Access,
    start: NodeEntry,
    children: impl Fn(&[NodePath]) -> Result<Vec<NodeEntry>, Error>,
) -> Result<Vec<NodeEntry>, Error> {
    let mut nodes = vec![start];
    let mut level = groups(&nodes);
    if !level.is_empty() {
        access.check_finds_nodes("finding the nodes below a group")?;
    }
    while !level.is_empty() {
        access.context.check_cancelled()?;
        let found = children(&level)?;
        level = groups(&found);
        nodes.extend(found);
    }
    Ok(nodes)
}

/// Lists the paths of possible nodes directly below a group, while `check` runs.
pub(super) fn checked_paths_below(
    access: &Access,
    group: &NodePath,
    prefix: impl Fn(&NodePath) -> Result<Prefix, KeyError> + Sync,
    check: impl Fn() -> Result<(), Error> + Sync,
) -> Result<Vec<NodePath>, Error> {
    let list = || {
        access.check_finds_nodes("finding the children of a group")?;
        paths_below(access, std::slice::from_ref(group), &prefix)
    };
    access.checked(check, list)
}

/// Lists the paths of possible nodes directly below `groups`, whose keys have the prefixes that `prefix` returns. Names
/// that the format does not allow are included, and are listed as unreadable nodes (V3-NAME-03, V3-NAME-04,
/// V3-NAME-11).
pub(super) fn paths_below(
    access: &Access,
    groups: &[NodePath],
    prefix: impl Fn(&NodePath) -> Result<Prefix, KeyError> + Sync,
) -> Result<Vec<NodePath>, Error> {
    let below = |group: &NodePath| {
        let listed = access.store.list_dir(&prefix(group)?)?;
        Ok(paths_in(group, listed))
    };
    let context = &access.context;
    let uses_one_thread = groups.len() < FOLDERS
        || context.thread_count() == 1
        || matches!(context.threads, Threads::Scoped(_));
    let paths: Vec<Vec<NodePath>> = if !access.is_local() {
        flight::map(groups, access.store.read_hints().max_concurrency, below)?
    } else if uses_one_thread {
        groups.iter().map(below).collect::<Result<_, Error>>()?
    } else {
        let paths = parallel::map(&context.threads, groups.iter().collect(), 1, &below);
        paths.into_iter().collect::<Result<_, Error>>()?
    };
    Ok(paths.into_iter().flatten().collect())
}

pub(super) fn paths_in(group: &NodePath, listed: Directory) -> Vec<NodePath> {
    let path = |below: Prefix| {
        let name = below.as_str().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        group.listed_child(name)
    };
    listed.prefixes.into_iter().map(path).collect()
}
