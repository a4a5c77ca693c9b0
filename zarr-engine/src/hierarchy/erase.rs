//! Erasing nodes.

use zarr_spec::{Format, Key, NodePath, Prefix};

use super::access::Access;
use super::other_formats::{self, OtherFormats, is_of_v2, is_of_v3};
use super::ownership::{KeyOwnership, OwnedKeys};
use super::rules::{EraseTarget, FormatRules};
use crate::error::Error;

/// The keys that [`Hierarchy::erase_own`](crate::Hierarchy::erase_own) and
/// [`Hierarchy::erase_keeping_other_formats`](crate::Hierarchy::erase_keeping_other_formats) removed and left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Erasure {
    /// Documents and chunks that were removed.
    pub removed: Vec<Key>,
    /// Keys below the prefixes of the node that were left: they belong to another format or are not part of Zarr.
    pub left: Vec<Key>,
}

/// Removes a node and all nodes below it: first from consolidated metadata, then its documents and those below it, then
/// all other keys. If the node does not exist, removes the keys that an earlier call left. Returns [`Error::NoNode`] if
/// there is nothing to erase. If documents of other formats do not allow it, nothing is erased.
pub(super) fn erase(
    access: &Access,
    rules: &dyn FormatRules,
    path: &NodePath,
    other_formats: OtherFormats,
) -> Result<Erasure, Error> {
    let target = rules.erase_target(access, path)?;
    let set = EraseSet::find(access, rules, target, other_formats)?;
    access.until_stored(|| rules.forget(&access.changing()?, path))?;
    set.erase(access)?;
    Ok(set.into_keys())
}

#[derive(Debug)]
struct EraseSet {
    /// The keys of documents. The lists are erased in order, so that the node no longer exists while the nodes below it
    /// are erased.
    documents: [Vec<Key>; 3],
    rest: Rest,
    /// The keys of the documents that exist. `documents` may contain further keys.
    found: Vec<Key>,
    left: Vec<Key>,
}

#[derive(Debug)]
enum Rest {
    Below(Vec<Prefix>),
    Keys(Vec<Key>),
}

impl EraseSet {
    fn find(
        access: &Access,
        rules: &dyn FormatRules,
        target: EraseTarget<'_>,
        other_formats: OtherFormats,
    ) -> Result<Self, Error> {
        let mut keys = match keys_below(access, rules, &target, other_formats) {
            // The node does not exist, and the folder belongs to a node of another format: there is nothing to erase.
            Err(Error::OtherFormat { .. }) if !target.exists => OwnedKeys::default(),
            keys => keys?,
        };
        let is_below = |key: &Key| target.prefixes.iter().any(|prefix| prefix.strip(key.as_str()).is_some());
        keys.other.retain(is_below);
        let (documents, mut others): (Vec<Key>, Vec<Key>) =
            keys.own.into_iter().filter(is_below).partition(|key| is_document(rules, key));
        if !target.exists {
            keys.other.extend(others.extract_if(.., |key| !is_named_like_a_chunk(key)));
            if documents.is_empty() && others.is_empty() {
                return Err(Error::NoNode(target.path.clone()));
            }
        }
        let own = own_documents(rules, target.path)?;
        let mut found = documents.clone();
        if other_formats != OtherFormats::Refuse {
            found.extend(documents_outside(access, &own, &target.prefixes)?);
        }
        let rest = match other_formats {
            OtherFormats::Refuse if target.exists => Rest::Below(target.prefixes),
            _ => Rest::Keys(others),
        };
        Ok(Self { documents: in_order(own, documents), rest, found, left: keys.other })
    }

    fn erase(&self, access: &Access) -> Result<(), Error> {
        for documents in self.documents.iter().filter(|documents| !documents.is_empty()) {
            access.context.check_cancelled()?;
            access.store.erase_values(documents)?;
        }
        access.context.check_cancelled()?;
        match &self.rest {
            Rest::Below(prefixes) => {
                Ok(prefixes.iter().try_for_each(|prefix| access.store.erase_prefix(prefix))?)
            }
            Rest::Keys(keys) => Ok(access.store.erase_values(keys)?),
        }
    }

    /// Returns the keys that were removed and left. If whole prefixes were erased, the removed chunk keys are not
    /// listed.
    fn into_keys(self) -> Erasure {
        let mut removed = self.found;
        if let Rest::Keys(keys) = self.rest {
            removed.extend(keys);
        }
        Erasure { removed, left: self.left }
    }
}

fn keys_below(
    access: &Access,
    rules: &dyn FormatRules,
    target: &EraseTarget<'_>,
    other_formats: OtherFormats,
) -> Result<OwnedKeys, Error> {
    // If the node does not have a document, chunks are recognized only by the form of their keys.
    let needs_owners = other_formats == OtherFormats::Keep
        || (other_formats == OtherFormats::RefuseKeepingFiles && target.exists);
    if needs_owners {
        return KeyOwnership::new(access, rules, target.path, other_formats).keys();
    }
    let own = other_formats::own_keys(access, rules, target.path)?;
    Ok(OwnedKeys { own, other: Vec::new() })
}

fn own_documents(rules: &dyn FormatRules, path: &NodePath) -> Result<Vec<Key>, Error> {
    let mut keys = vec![rules.array_key(path)?, rules.group_key(path)?];
    keys.dedup();
    Ok(keys)
}

/// Returns the documents of a node that are stored outside of its prefixes, as in the draft.
fn documents_outside(access: &Access, own: &[Key], prefixes: &[Prefix]) -> Result<Vec<Key>, Error> {
    let mut found = Vec::new();
    for key in own {
        let is_below = prefixes.iter().any(|prefix| prefix.strip(key.as_str()).is_some());
        if !is_below && access.has(key)? {
            found.push(key.clone());
        }
    }
    Ok(found)
}

/// Returns consolidated metadata of v2, then the documents of the node itself, then the documents of the nodes below it
/// from the top down.
fn in_order(own: Vec<Key>, documents: Vec<Key>) -> [Vec<Key>; 3] {
    let is_copy = |key: &Key| key.name() == ".zmetadata";
    let (copies, mut below): (Vec<Key>, Vec<Key>) = documents.into_iter().partition(is_copy);
    below.retain(|key| !own.contains(key));
    let depth = |key: &Key| key.as_str().matches('/').count();
    // At each depth, `.zattrs` is erased last: without `.zarray` or `.zgroup`, it is not part of a node.
    below.sort_by_key(|key| (depth(key), key.name() == ".zattrs"));
    [copies, own, below]
}

/// Returns whether a key below a node belongs to a document of the same format.
fn is_document(rules: &dyn FormatRules, key: &Key) -> bool {
    match rules.format() {
        Format::V2 => is_of_v2(key),
        Format::V3 => is_of_v3(key),
        Format::V3Draft => rules.node_of(key).is_some(),
    }
}

/// Returns whether a key ends like a chunk key: `c/0/1`, `c0/1`, `c.0.1`, `0.1`.
fn is_named_like_a_chunk(key: &Key) -> bool {
    let name = key.name();
    let indices = name.strip_prefix('c').unwrap_or(name);
    indices.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
