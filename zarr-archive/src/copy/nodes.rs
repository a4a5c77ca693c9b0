//! The nodes of a copy: what is read from the sources, and the groups that are written.

use std::collections::BTreeMap;

use zarr_engine::{EntryKind, Group, Hierarchy, Node, NodeEntry};
use zarr_json::Object;
use zarr_metadata::{ArrayMetadata, v2};
use zarr_spec::{Format, NodePath};

use super::CopyRequest;
use super::chunking::Choices;
use super::error::CopyError;
use super::existing::CHANGED;
use super::losses::Losses;
use super::options::{Caller, CopyOption};
use super::source::Source;
use super::state::Skipped;
use super::target::{self, Asked};
use crate::verify::chain;

/// A group of the copy.
#[derive(Debug)]
pub(crate) struct NewGroup {
    pub(crate) path: NodePath,
    pub(crate) attributes: Object,
}

/// An array of the copy.
#[derive(Debug)]
pub(crate) struct NewArray {
    pub(crate) path: NodePath,
    pub(crate) source: Source,
    pub(crate) metadata: ArrayMetadata,
}

/// All nodes of the copy. Parents precede their children in each source.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub(crate) groups: Vec<NewGroup>,
    pub(crate) arrays: Vec<NewArray>,
    pub(crate) losses: Losses,
    pub(crate) refused: Vec<String>,
    pub(crate) skipped: Vec<Skipped>,
    known: BTreeMap<NodePath, Place>,
}

/// Where a node is in the lists.
#[derive(Debug)]
enum Place {
    Group(usize),
    Array,
}

impl Nodes {
    /// Adds the chosen nodes of a source.
    pub(crate) fn add(
        &mut self,
        source: &Hierarchy,
        chosen: &[NodeEntry],
        format: Format,
        request: &CopyRequest,
        choices: &Choices<'_>,
    ) -> Result<(), CopyError> {
        for entry in chosen {
            let found = Found { source, entry, format, request };
            match found.add_to(self, choices) {
                Ok(()) => {}
                Err(error) if is_cancelled(&error) => return Err(error),
                Err(error) => self.refused.push(format!("{}: {}", entry.path, error.text())),
            }
        }
        Ok(())
    }

    fn add_group(&mut self, path: NodePath, attributes: Object, caller: Caller) -> Result<(), CopyError> {
        match self.known.get(&path) {
            None => {
                self.known.insert(path.clone(), Place::Group(self.groups.len()));
                self.groups.push(NewGroup { path, attributes });
            }
            Some(Place::Array) => return Err(in_two_sources(caller)),
            Some(&Place::Group(position)) => {
                let there = &mut self.groups[position].attributes;
                if there.is_empty() {
                    *there = attributes;
                } else if !attributes.is_empty() && *there != attributes {
                    return Err(CopyError::message("two sources have this group, with different attributes"));
                }
            }
        }
        Ok(())
    }

    fn add_array(&mut self, array: NewArray, caller: Caller) -> Result<(), CopyError> {
        if self.known.insert(array.path.clone(), Place::Array).is_some() {
            return Err(in_two_sources(caller));
        }
        self.arrays.push(array);
        Ok(())
    }
}

fn in_two_sources(caller: Caller) -> CopyError {
    let [exclude, paths] = [CopyOption::Exclude, CopyOption::Paths].map(|option| caller.given(option));
    CopyError::message(format!("two sources have this node; choose one with {exclude} or {paths}"))
}

fn is_cancelled(error: &CopyError) -> bool {
    matches!(error, CopyError::Engine(zarr_engine::Error::Cancelled))
}

/// A node of a source.
struct Found<'a> {
    source: &'a Hierarchy,
    entry: &'a NodeEntry,
    format: Format,
    request: &'a CopyRequest,
}

impl Found<'_> {
    fn add_to(&self, nodes: &mut Nodes, choices: &Choices<'_>) -> Result<(), CopyError> {
        let path = self.entry.path.in_format(self.format).map_err(zarr_engine::Error::from)?;
        match self.source.node(&self.entry.path)? {
            // An implicit group needs no document: it exists as soon as it has children.
            Node::Group(_) if self.entry.kind == EntryKind::ImplicitGroup => Ok(()),
            Node::Group(group) => {
                lost_of_group(&group, self.request.consolidate)?
                    .iter()
                    .for_each(|what| nodes.losses.add(&self.entry.path, what));
                nodes.add_group(path, group.attributes().clone(), self.request.caller)
            }
            Node::Array(array) => {
                let source = Source::new(*array, self.request.selector.as_ref())?;
                let chunking = choices.of(&source, self.format)?;
                let asked = Asked { chunking, is_lossy: self.request.lossy, caller: self.request.caller };
                let (metadata, lost) = target::metadata(&source, self.format, &asked)?;
                lost.iter().for_each(|loss| nodes.losses.add(&self.entry.path, loss));
                nodes.add_array(NewArray { path, source, metadata }, self.request.caller)
            }
            Node::Unreadable(unreadable) => {
                let reason = problems(&unreadable.error).join("; ");
                if !self.request.skip_unreadable {
                    return Err(CopyError::message(reason));
                }
                nodes.skipped.push(Skipped::new(&self.entry.path, None, reason));
                Ok(())
            }
        }
    }
}

/// Returns the problems with a node that an error lists, or the message of another error.
fn problems(error: &zarr_engine::Error) -> Vec<String> {
    match error {
        zarr_engine::Error::NotUnderstood(error) => error.problems.iter().map(ToString::to_string).collect(),
        error => vec![chain(error)],
    }
}

/// Returns the parts of a group's metadata that the copy loses. Consolidated metadata is not lost if the copy has its
/// own.
fn lost_of_group(group: &Group, is_consolidated: bool) -> Result<Vec<String>, CopyError> {
    let metadata = group.metadata();
    let ignored = metadata.ignored.keys();
    let mut lost: Vec<_> = ignored
        .map(|name| format!("`{name}`: an unknown member that readers may ignore; it is not copied"))
        .collect();
    let has_copies = match metadata.format {
        Format::V2 => {
            let key = v2::consolidated_key(group.path())?;
            group.hierarchy().store().size(&key)?.is_some()
        }
        Format::V3Draft | Format::V3 => metadata.consolidated.is_some(),
    };
    if has_copies && !is_consolidated {
        lost.push("consolidated metadata; recreate them with `zarrctl consolidate`".to_owned());
    }
    Ok(lost)
}

/// Writes the document of a group, unless it exists with the same attributes. `may_replace` states whether other
/// attributes may be replaced.
///
/// # Errors
///
/// [`CopyError::Request`] if the group has other attributes that may not be replaced.
pub(crate) fn write_group(
    destination: &Hierarchy,
    group: &NewGroup,
    may_replace: bool,
) -> Result<(), CopyError> {
    let NewGroup { path, attributes } = group;
    let text = path.to_string();
    let exists = destination.exists(&text)?;
    // The root of a hierarchy in the v3 draft exists without a document.
    let is_implicit = exists && destination.group(path)?.is_implicit();
    if !exists || is_implicit {
        match destination.create_group(&text, attributes.clone()) {
            // Another part of the copy created the group in the meantime.
            Err(zarr_engine::Error::InTheWay(_)) if destination.exists(&text)? => {}
            created => return Ok(created.map(drop)?),
        }
    }
    let group = destination.group(path)?;
    let there = group.attributes();
    if attributes.is_empty() || there == attributes {
        return Ok(());
    }
    match may_replace || there.is_empty() {
        true => Ok(destination.set_attributes(&text, attributes.clone())?),
        false => Err(CopyError::message(format!("{path}: {CHANGED}"))),
    }
}
