//! Consolidated metadata of v2: `.zmetadata` contains copies of the documents at and below its group.

use std::collections::{BTreeMap, BTreeSet};

use zarr_metadata::DocumentKind;
use zarr_metadata::v2::{
    Consolidated, KeyKind, array_key, attributes_key, consolidated_document, consolidated_key, group_key,
    node_of, parse_consolidated, prefix,
};
use zarr_spec::{Key, NodePath, Value};

use super::V2;
use super::documents::{Change, Documents, listed, stored, stored_all};
use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::hierarchy::entry::EntryKind;
use crate::hierarchy::rules::not_a_group;

impl V2 {
    /// Applies changes to every `.zmetadata` of `groups`, and to the snapshot. Returns whether there is a `.zmetadata`.
    pub(super) fn refresh(
        &self,
        access: &Access,
        groups: &[NodePath],
        changes: &[Change],
    ) -> Result<bool, Error> {
        let has_copies = self.change_copies(access, groups, |consolidated, group| {
            apply(consolidated, group, &stored_now(access, changes)?);
            Ok(())
        })?;
        if self.snapshot.is_there() {
            let nodes: BTreeSet<_> = changes.iter().filter_map(|(key, _)| Some(node_of(key)?.0)).collect();
            let nodes: Vec<NodePath> = nodes.into_iter().collect();
            for (node, documents) in nodes.iter().zip(stored_all(access, &nodes)?) {
                self.snapshot.put(node, || documents);
            }
        }
        Ok(has_copies)
    }

    /// Applies changes to every `.zmetadata` at and above `path`, before the documents themselves are changed.
    pub(super) fn change_only_copies(
        &self,
        access: &Access,
        path: &NodePath,
        changes: &[Change],
    ) -> Result<(), Error> {
        self.change_copies(access, &at_and_above(access, path), |consolidated, group| {
            apply(consolidated, group, changes);
            Ok(())
        })
        .map(drop)
    }

    /// Removes the node at `path` and all nodes below it from every `.zmetadata` above, and from the snapshot.
    pub(super) fn refresh_erased(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        let groups = access.groups_above(path).groups;
        self.change_copies(access, &groups, |consolidated, group| remove(consolidated, group, path))?;
        self.snapshot.remove(path);
        Ok(())
    }

    /// Changes the `.zmetadata` of those `groups` that have one. Returns whether any group has one. A `.zmetadata` that
    /// cannot be changed is erased.
    fn change_copies(
        &self,
        access: &Access,
        groups: &[NodePath],
        change: impl Fn(&mut Consolidated, &NodePath) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let keys = groups.iter().map(consolidated_key).collect::<Result<Vec<_>, _>>()?;
        let values = access.get_all(&keys)?;
        let has_copies = self.snapshot.is_there() || values.iter().any(Option::is_some);
        if !has_copies {
            return Ok(false);
        }
        let _guard = access.lock_consolidated();
        for (group, key) in groups.iter().zip(&keys) {
            // Another thread or program may have changed the document before the lock was acquired, so it is read
            // again.
            access.until_stored(|| {
                let access = access.changing()?;
                let Some(value) = access.get(key)? else { return Ok(()) };
                let changed = access.parse(key, &value, DocumentKind::V2Consolidated).and_then(|document| {
                    let mut consolidated =
                        access.reading(key, |reading| parse_consolidated(&document, reading))?;
                    change(&mut consolidated, group)?;
                    write(&access, key, &consolidated)
                });
                match changed {
                    Ok(()) => Ok(()),
                    Err(conflict @ Error::Conflict(_)) => Err(conflict),
                    Err(error) => {
                        let why = "since it would not be up to date";
                        access.warn(format!("{error}; `{key}` is erased, {why}"));
                        Ok(access.store.erase(key)?)
                    }
                }
            })?;
        }
        Ok(true)
    }

    /// Copies all documents at and below a group to its `.zmetadata`. Reads them again afterwards: another program that
    /// changed one meanwhile may have found no copies to update.
    pub(super) fn write_consolidated(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        access.check_listable("consolidating metadata")?;
        let key = consolidated_key(path)?;
        let mut written = None;
        loop {
            let access = access.changing()?;
            let before = access.get(&key)?;
            let all = documents_at_and_below(&access, path)?;
            let consolidated = consolidated_from(&all, path)?;
            let is_same = before.is_some() && written.as_ref() == Some(&consolidated.documents);
            if !is_same {
                write(&access, &key, &consolidated)?;
            }
            if is_same || !access.has_versions() {
                all.into_iter().for_each(|(node, documents)| self.snapshot.put(&node, || documents));
                return Ok(());
            }
            written = Some(consolidated.documents);
        }
    }
}

pub(super) fn at_and_above(access: &Access, path: &NodePath) -> Vec<NodePath> {
    let mut groups = access.groups_above(path).groups;
    groups.push(path.clone());
    groups
}

fn documents_at_and_below(access: &Access, path: &NodePath) -> Result<BTreeMap<NodePath, Documents>, Error> {
    let root = stored(access, path)?;
    match root.kind() {
        None => return Err(Error::NoNode(path.clone())),
        Some(EntryKind::Array) => return Err(not_a_group(path)),
        Some(_) => {}
    }
    let mut all = BTreeMap::new();
    let mut level = vec![(path.clone(), root)];
    while !level.is_empty() {
        let groups = level.iter().filter(|(_, documents)| documents.kind() == Some(EntryKind::Group));
        let groups: Vec<NodePath> = groups.map(|(path, _)| path.clone()).collect();
        all.extend(level);
        let below: Vec<NodePath> = listed(access, &groups)?.into_iter().map(|node| node.path).collect();
        let documents = stored_all(access, &below)?;
        level = below.into_iter().zip(documents).collect();
    }
    Ok(all)
}

fn consolidated_from(all: &BTreeMap<NodePath, Documents>, path: &NodePath) -> Result<Consolidated, Error> {
    let mut consolidated = Consolidated::default();
    for (node, Documents { array, group, attributes }) in all {
        let keys = [array_key(node)?, group_key(node)?, attributes_key(node)?];
        for (key, document) in keys.iter().zip([array, group, attributes]) {
            if let Some(document) = document {
                consolidated.documents.insert(relative(key, path)?, document.clone());
            }
        }
    }
    Ok(consolidated)
}

pub(super) fn by_node(consolidated: Consolidated) -> BTreeMap<NodePath, Documents> {
    let mut nodes: BTreeMap<NodePath, Documents> = BTreeMap::new();
    for (key, document) in consolidated.documents {
        let Some((path, kind)) = node_of(&key) else { continue };
        let documents = nodes.entry(path).or_default();
        match kind {
            KeyKind::Array => documents.array = Some(document),
            KeyKind::Group => documents.group = Some(document),
            KeyKind::Attributes => documents.attributes = Some(document),
        }
    }
    nodes
}

fn write(access: &Access, key: &Key, consolidated: &Consolidated) -> Result<(), Error> {
    let document: Value = consolidated_document(consolidated).map_err(|error| Error::document(key, error))?;
    access.set_json(key, &document)
}

/// Returns changed documents as they are stored now. Another program may have changed them since; it updates the
/// consolidated metadata later.
fn stored_now(access: &Access, changes: &[Change]) -> Result<Vec<Change>, Error> {
    let keys: Vec<Key> = changes.iter().map(|(key, _)| key.clone()).collect();
    let values = access.get_all(&keys)?;
    let mut now = Vec::new();
    for (key, value) in keys.into_iter().zip(values) {
        let kind = match node_of(&key) {
            Some((_, KeyKind::Attributes)) => DocumentKind::V2Attributes,
            _ => DocumentKind::V2,
        };
        let document = value.map(|value| access.parse(&key, &value, kind)).transpose()?;
        now.push((key, document));
    }
    Ok(now)
}

/// Applies changes to the consolidated metadata of `group`. Changes of nodes outside of the group are ignored.
fn apply(consolidated: &mut Consolidated, group: &NodePath, changes: &[Change]) {
    for (key, document) in changes {
        let Ok(key) = relative(key, group) else { continue };
        match document {
            Some(document) => consolidated.documents.insert(key, document.clone()),
            None => consolidated.documents.remove(&key),
        };
    }
}

fn remove(consolidated: &mut Consolidated, group: &NodePath, path: &NodePath) -> Result<(), Error> {
    let removed = prefix(path)?;
    let folder = prefix(group)?;
    let inside = folder.strip(removed.as_str()).unwrap_or_default();
    consolidated.documents.retain(|key, _| !key.as_str().starts_with(inside));
    Ok(())
}

/// Returns `key` relative to `group`, as in its consolidated metadata. Fails if the key is not below the group.
fn relative(key: &Key, group: &NodePath) -> Result<Key, Error> {
    let folder = prefix(group)?;
    // A key that is not below the group becomes the empty key, which is an error.
    Ok(Key::new(folder.strip(key.as_str()).unwrap_or_default())?)
}

#[cfg(test)]
mod tests {
    use zarr_spec::Format;

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text, Format::V2).unwrap()
    }

    #[test]
    fn writing_and_erasing_update_the_consolidated_metadata() {
        let keys = [".zgroup", "a/.zgroup", "a/b/.zarray", "a-/.zgroup", "ab/.zarray"];
        let mut consolidated = Consolidated::default();
        consolidated.documents = keys.map(|key| (Key::new(key).unwrap(), Value::Null)).into();
        let group = path("g");
        let change = |key: &str, value| (Key::new(key).unwrap(), value);
        let changes = [
            change("g/a/.zattrs", Some(Value::Null)),
            change("g/.zgroup", None),
            change(".zgroup", None),
            change("ga/.zgroup", Some(Value::Null)),
        ];
        apply(&mut consolidated, &group, &changes);
        let keys = |consolidated: &Consolidated| {
            consolidated.documents.keys().map(Key::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            keys(&consolidated),
            ["a-/.zgroup", "a/.zattrs", "a/.zgroup", "a/b/.zarray", "ab/.zarray"]
        );
        remove(&mut consolidated, &group, &path("g/a")).unwrap();
        assert_eq!(keys(&consolidated), ["a-/.zgroup", "ab/.zarray"]);
    }
}
