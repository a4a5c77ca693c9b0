//! Compares consolidated metadata with the documents of the nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr_engine::{EntryKind, Error, Hierarchy, OpenOptions};
use zarr_metadata::NodeMetadata;
use zarr_spec::NodePath;

use super::report::chain;
use super::{Finding, FindingKind, Report};

/// Compares the consolidated metadata of the root with the documents of all nodes.
pub(super) fn check(hierarchy: &Hierarchy, report: &mut Report) -> Result<(), Error> {
    let open = |is_consolidated| {
        let options = OpenOptions::new().format(hierarchy.format()).consolidated(is_consolidated);
        Hierarchy::open_with(Arc::clone(hierarchy.store()), hierarchy.context(), options)
    };
    let copies = match open(true) {
        Ok(copies) if copies.is_consolidated() => copies,
        Ok(_) => return Ok(()),
        Err(error @ Error::Store(_)) => return Err(error),
        Err(error) => {
            report.add(Finding::new(FindingKind::Consolidated, chain(&error)).at("/"));
            return Ok(());
        }
    };
    let documents = open(false)?;
    let mut differences = Vec::new();
    let copied = kinds(&copies)?;
    let stored = stored_kinds(&documents, &copied)?;
    for (path, kind) in &copied {
        match stored.get(path) {
            None => differences.push(format!("list {path}, which has no document")),
            Some(other) if other.is_group() != kind.is_group() => {
                differences.push(format!("list {path} as {kind}, but it is {other}"));
            }
            Some(_) if is_different(&copies, &documents, path) => {
                differences.push(format!("differ from the document of {path}"));
            }
            Some(_) => {}
        }
    }
    let missing = stored.keys().filter(|path| !copied.contains_key(path));
    differences.extend(missing.map(|path| format!("do not list {path}")));
    if let Some(first) = differences.first() {
        let more = match differences.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more differences"),
        };
        let text = format!("the consolidated metadata {first}{more}");
        report.add(Finding::new(FindingKind::Consolidated, text).at("/"));
    }
    Ok(())
}

fn kinds(hierarchy: &Hierarchy) -> Result<BTreeMap<NodePath, EntryKind>, Error> {
    let entries = hierarchy.walk(NodePath::root())?;
    Ok(entries.into_iter().map(|entry| (entry.path, entry.kind)).collect())
}

/// Returns the nodes with documents. In a store that cannot list its keys, these are the nodes among `copied` that have
/// documents.
fn stored_kinds(
    documents: &Hierarchy,
    copied: &BTreeMap<NodePath, EntryKind>,
) -> Result<BTreeMap<NodePath, EntryKind>, Error> {
    if documents.store().capabilities().listable {
        return kinds(documents);
    }
    let mut stored = BTreeMap::new();
    for (path, &kind) in copied {
        let found = match documents.metadata(path) {
            Ok(NodeMetadata::Array(_)) => EntryKind::Array,
            Ok(NodeMetadata::Group(_)) => EntryKind::Group,
            Err(Error::NoNode(_)) if kind != EntryKind::ImplicitGroup => continue,
            Err(error @ Error::Store(_)) => return Err(error),
            // Other checks report unreadable documents.
            Err(_) => kind,
        };
        stored.insert(path.clone(), found);
    }
    Ok(stored)
}

/// Returns whether the consolidated copy of a document differs from the document. Other checks report unreadable
/// documents.
fn is_different(copies: &Hierarchy, documents: &Hierarchy, path: &NodePath) -> bool {
    match (copies.metadata(path), documents.metadata(path)) {
        (Ok(copy), Ok(document)) => without_copies(copy) != without_copies(document),
        (one, other) => one.is_ok() != other.is_ok(),
    }
}

fn without_copies(mut metadata: NodeMetadata) -> NodeMetadata {
    if let NodeMetadata::Group(group) = &mut metadata {
        group.consolidated = None;
    }
    metadata
}
