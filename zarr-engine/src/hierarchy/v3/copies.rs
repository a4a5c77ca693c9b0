//! Consolidated metadata of final v3: a group's document may contain copies of the documents below it.

use std::collections::BTreeSet;
use std::sync::MutexGuard;

use zarr_metadata::v3::{group_document, node_key};
use zarr_metadata::{GroupMetadata, NodeMetadata};
use zarr_spec::{Format, NodePath, Object, Value};

use super::documents::{made, parse, parse_all, stored, stored_all};
use super::listing::{entry, listed};
use super::{V3, without_copies};
use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::hierarchy::listing::{groups, is_below};
use crate::hierarchy::rules::not_a_group;

/// The new document of a node. `None` if the node and all nodes below it are removed.
pub(super) type Change<'a> = (&'a NodePath, Option<&'a Value>);

/// Documents with consolidated metadata, and the lock on them.
type GuardedCopies<'a> = (Vec<(NodePath, Value)>, Option<MutexGuard<'a, ()>>);

/// Returns whether one of `nodes` is a group with consolidated metadata.
pub(super) fn have_copies<'n>(nodes: impl IntoIterator<Item = &'n Option<NodeMetadata>>) -> bool {
    let has_copies = |node: &Option<NodeMetadata>| {
        matches!(node, Some(NodeMetadata::Group(GroupMetadata { consolidated: Some(_), .. })))
    };
    nodes.into_iter().any(has_copies)
}

impl V3 {
    /// Returns the new documents of those groups above `path` that have consolidated metadata (V3-GRP-08). Consolidated
    /// metadata are locked until the guard is dropped.
    ///
    /// This writes nothing, so that a copy that cannot be updated is an error before any change is made.
    pub(super) fn copies<'a>(
        &self,
        access: &'a Access,
        path: &NodePath,
        changes: &[Change<'_>],
    ) -> Result<GuardedCopies<'a>, Error> {
        let read = || {
            let ancestors = access.groups_above(path).groups;
            let above = parse_all(access, &ancestors, &stored_all(access, &ancestors)?)?;
            copies_of(ancestors.into_iter().zip(above), changes)
        };
        self.locked_if(access, read, |copies| !copies.is_empty())
    }

    /// Returns the result of `read`. If the result contains consolidated metadata, the consolidated metadata of this
    /// store are locked until the guard is dropped.
    pub(super) fn locked_if<'a, T>(
        &self,
        access: &'a Access,
        read: impl Fn() -> Result<T, Error>,
        has_copies: impl Fn(&T) -> bool,
    ) -> Result<(T, Option<MutexGuard<'a, ()>>), Error> {
        let guard = if self.snapshot.is_there() { access.lock_consolidated() } else { None };
        let found = read()?;
        if guard.is_some() || !has_copies(&found) {
            return Ok((found, guard));
        }
        // Another thread may have changed the metadata before the lock was acquired, so they are read again.
        let guard = access.lock_consolidated();
        Ok((read()?, guard))
    }

    /// Writes updated copies, after the documents themselves were written.
    pub(super) fn refresh(
        &self,
        access: &Access,
        copies: &[(NodePath, Value)],
        changes: &[Change<'_>],
    ) -> Result<(), Error> {
        match self.write_copies(access, copies) {
            Err(Error::Conflict(_)) => return self.refresh_as_stored(access, changes),
            Ok(()) if copies.is_empty() && self.has_new_copies(access, changes)? => {
                return self.refresh_as_stored(access, changes);
            }
            written => written?,
        }
        self.note_changes(changes);
        Ok(())
    }

    /// Returns whether another program has consolidated a group above since the groups were read. In a remote store this
    /// is not checked, because it would take a round trip for each change.
    fn has_new_copies(&self, access: &Access, changes: &[Change<'_>]) -> Result<bool, Error> {
        let Some((path, _)) = changes.last().filter(|_| access.is_local()) else { return Ok(false) };
        for group in access.groups_above(path).groups {
            if have_copies([&self.plain_groups.read(access, &group)?]) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn note_changes(&self, changes: &[Change<'_>]) {
        for (path, document) in changes {
            match document {
                Some(document) => self.snapshot.put(path, || without_copies(document)),
                None => self.snapshot.remove(path),
            }
        }
    }

    fn write_copies(&self, access: &Access, copies: &[(NodePath, Value)]) -> Result<(), Error> {
        for (group, document) in copies {
            access.set_json(&node_key(group)?, document)?;
            self.snapshot.put(group, || without_copies(document));
        }
        Ok(())
    }

    /// Writes all consolidated metadata that should have copies of changed documents, as the documents are stored now.
    pub(super) fn refresh_as_stored(&self, access: &Access, changes: &[Change<'_>]) -> Result<(), Error> {
        access.until_stored(|| self.write_new_copies(access, changes))
    }

    /// Copies changed documents as they are stored now, because other programs may have changed them since.
    /// Consolidated metadata are read before the documents: if a program changes a document later, it also updates the
    /// consolidated metadata later.
    fn write_new_copies(&self, access: &Access, changes: &[Change<'_>]) -> Result<(), Error> {
        let access = access.changing()?;
        let mut above = BTreeSet::new();
        for (path, _) in changes {
            above.extend((0..path.names().len()).filter_map(|depth| path.ancestor(depth)));
        }
        let above: Vec<NodePath> = above.into_iter().collect();
        let groups = parse_all(&access, &above, &stored_all(&access, &above)?)?;
        let paths: Vec<NodePath> = changes.iter().map(|(path, _)| (*path).clone()).collect();
        let documents = stored_all(&access, &paths)?;
        let now: Vec<Change<'_>> = paths.iter().zip(documents.iter().map(Option::as_ref)).collect();
        self.write_copies(&access, &copies_of(above.into_iter().zip(groups), &now)?)?;
        self.note_changes(&now);
        Ok(())
    }

    pub(super) fn change_copies(
        &self,
        access: &Access,
        path: &NodePath,
        document: Option<&Value>,
    ) -> Result<(), Error> {
        let changes = [(path, document)];
        let (copies, _guard) = self.copies(access, path, &changes)?;
        self.write_copies(access, &copies)?;
        self.note_changes(&changes);
        Ok(())
    }

    pub(super) fn replace(&self, access: &Access, path: &NodePath, document: &Value) -> Result<(), Error> {
        let changes = [(path, Some(document))];
        let (copies, _guard) = self.copies(access, path, &changes)?;
        access.set_json(&node_key(path)?, document)?;
        self.refresh(access, &copies, &changes)
    }

    /// Copies all documents below a group to the group's document. Reads them again afterwards: another program that
    /// changed one meanwhile may have found no copies to update.
    pub(super) fn write_consolidated(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        access.check_listable("consolidating metadata")?;
        let mut is_written = false;
        loop {
            let access = access.changing()?;
            let document = stored(&access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?;
            let NodeMetadata::Group(mut group) = parse(&access, path, &document)? else {
                return Err(not_a_group(path));
            };
            let nodes = nodes_below(&access, path)?;
            if is_written && group.consolidated.as_ref() == Some(&nodes) {
                return Ok(());
            }
            group.consolidated = Some(nodes);
            self.replace(&access, path, &made(path, group_document(&group))?)?;
            if !access.has_versions() {
                return Ok(());
            }
            is_written = true;
        }
    }
}

fn nodes_below(access: &Access, path: &NodePath) -> Result<Object, Error> {
    let mut nodes = Object::new();
    let mut level = vec![path.clone()];
    while !level.is_empty() {
        let found = documents_below(access, &level)?;
        let entries: Vec<_> = found.iter().map(|(path, node)| entry(path.clone(), node)).collect();
        level = groups(&entries);
        for (node, document) in &found {
            apply(&mut nodes, path, (node, Some(document)));
        }
    }
    Ok(nodes)
}

/// Reads the documents directly below `level`. A document that cannot be read is an error.
fn documents_below(access: &Access, level: &[NodePath]) -> Result<Vec<(NodePath, Value)>, Error> {
    let mut found = Vec::new();
    let below = listed(access, level, |path, listed| (path, listed.document(access)))?;
    for (path, document) in below {
        if let Err(reason) = path.check(Format::V3) {
            access.warn(format!("{path} is left out of the consolidated metadata: {reason}"));
            continue;
        }
        let document = match document {
            Some(document) => document,
            // Reading the document again returns the error.
            None => stored(access, &path)?.unwrap_or(Value::Null),
        };
        parse(access, &path, &document)?;
        found.push((path, document));
    }
    Ok(found)
}

/// Returns the documents of those `nodes` that have consolidated metadata, with the changes applied.
pub(super) fn copies_of(
    nodes: impl Iterator<Item = (NodePath, Option<NodeMetadata>)>,
    changes: &[Change<'_>],
) -> Result<Vec<(NodePath, Value)>, Error> {
    let mut copies = Vec::new();
    for (path, node) in nodes {
        if let Some(NodeMetadata::Group(mut group)) = node
            && let Some(nodes) = &mut group.consolidated
        {
            changes.iter().for_each(|change| apply(nodes, &path, *change));
            let document = made(&path, group_document(&group))?;
            copies.push((path, document));
        }
    }
    Ok(copies)
}

/// Applies a change below `group` to its consolidated metadata. Nested consolidated metadata are not copied.
fn apply(nodes: &mut Object, group: &NodePath, change: Change<'_>) {
    let (path, document) = change;
    if !is_below(path, group) {
        return;
    }
    let relative = path.names()[group.names().len()..].join("/");
    match document {
        Some(document) => {
            let mut document = document.clone();
            if let Some(members) = document.as_object_mut() {
                members.remove("consolidated_metadata");
            }
            nodes.insert(relative, document);
        }
        None => {
            let inside = format!("{relative}/");
            *nodes = nodes
                .iter()
                .filter(|(name, _)| *name != relative && !name.starts_with(&inside))
                .map(|(name, document)| (name.to_owned(), document.clone()))
                .collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use zarr_json::{ParseOptions, parse};

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text, Format::V3).unwrap()
    }

    #[test]
    fn writing_and_erasing_update_the_consolidated_metadata() {
        let text = br#"{"a":{"node_type":"group"},"a/b":{},"ab":{},"a-":{}}"#;
        let value = parse(text, &ParseOptions::default()).unwrap().value;
        let mut nodes = value.as_object().unwrap().clone();
        let document: Value = [("x", 1), ("consolidated_metadata", 2)].into_iter().collect();
        apply(&mut nodes, &path("/g"), (&path("/g/a/c"), Some(&document)));
        assert_eq!(nodes.get("a/c").unwrap().to_string(), r#"{"x":1}"#);
        apply(&mut nodes, &path("/g"), (&path("/g"), Some(&document)));
        apply(&mut nodes, &path("/g"), (&path("/ga"), None));
        assert_eq!(nodes.len(), 5);
        apply(&mut nodes, &path("/g"), (&path("/g/a"), None));
        assert_eq!(nodes.keys().collect::<Vec<_>>(), ["ab", "a-"]);
    }
}
