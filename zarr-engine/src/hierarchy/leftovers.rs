//! Chunks at the path of a new array, left by an earlier array that was not completely erased or never got its
//! document.
//!
//! They are erased before the document of the new array is written. Otherwise they would become elements of the new
//! array.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use zarr_spec::store::{Directory, StoreLock};
use zarr_spec::{Format, Key, NodePath, Prefix};

use super::access::Access;
use super::entry::EntryKind;
use super::other_formats::{is_of_v2, is_of_v3};
use super::rules::{FormatRules, NewNode, in_the_way};
use crate::error::Error;
use crate::flight;

/// Runs `read`, and lists the keys directly below `prefix`, the folder of a new node. In a remote store, both run
/// concurrently, and the folder is not listed if it was empty when the group above it was created. If the store cannot
/// list, the listing is `None`.
pub(super) fn with_listing<T: Send + Sync>(
    access: &Access,
    path: &NodePath,
    prefix: &Prefix,
    read: impl Fn() -> Result<T, Error> + Sync,
) -> Result<(T, Option<Directory>), Error> {
    let is_known_empty = || access.new_groups.cover(&access.context, path);
    if access.store.capabilities().listable && !access.is_local() && is_known_empty() {
        return Ok((read()?, Some(Directory::default())));
    }
    with_current_listing(access, prefix, read)
}

/// Like [`with_listing`], but always lists the folder, so that the listing shows documents of other programs.
pub(super) fn with_current_listing<T: Send + Sync>(
    access: &Access,
    prefix: &Prefix,
    read: impl Fn() -> Result<T, Error> + Sync,
) -> Result<(T, Option<Directory>), Error> {
    if !access.store.capabilities().listable {
        return Ok((read()?, None));
    }
    if access.is_local() {
        let read = read()?;
        return Ok((read, Some(access.store.list_dir(prefix)?)));
    }
    let listed = OnceLock::new();
    let list = || {
        let _first = listed.set(access.store.list_dir(prefix)?);
        Ok(())
    };
    let read = access.checked(list, read)?;
    Ok((read, listed.into_inner()))
}

/// Like [`with_listing`], for many new arrays: lists their parent groups instead of their folders. Returns the
/// `prefixes` that are not empty.
pub(super) fn with_listings<T: Send + Sync>(
    access: &Access,
    new: &[(&NodePath, Prefix)],
    read: impl Fn() -> Result<T, Error> + Sync,
) -> Result<(T, BTreeSet<Prefix>), Error> {
    let is_known = |path: &NodePath| access.new_groups.cover(&access.context, path);
    let unknown = new.iter().filter(|(path, _)| !is_known(path)).map(|(_, prefix)| prefix).collect();
    with_current_listings(access, &unknown, read)
}

/// Like [`with_listings`], but always lists the groups.
pub(super) fn with_current_listings<T: Send + Sync>(
    access: &Access,
    new: &BTreeSet<&Prefix>,
    read: impl Fn() -> Result<T, Error> + Sync,
) -> Result<(T, BTreeSet<Prefix>), Error> {
    if new.is_empty() || !access.store.capabilities().listable {
        return Ok((read()?, BTreeSet::new()));
    }
    let groups: BTreeSet<Prefix> = new.iter().filter_map(|prefix| prefix.parent()).collect();
    let groups: Vec<Prefix> = groups.into_iter().collect();
    let occupied = OnceLock::new();
    let list = || {
        let concurrency = access.store.read_hints().max_concurrency;
        let listed =
            flight::map(&groups, concurrency, |group| Ok::<_, Error>(access.store.list_dir(group)?))?;
        let prefixes = listed.into_iter().flat_map(|listed| listed.prefixes);
        let _first = occupied.set(prefixes.filter(|prefix| new.contains(&prefix)).collect());
        Ok(())
    };
    let read = access.checked(list, read)?;
    Ok((read, occupied.into_inner().unwrap_or_default()))
}

/// Notes that nothing lies below a group that was just created, if its folder was `listed` as empty.
pub(super) fn note_group(access: &Access, node: &NewNode<'_>, listed: Option<&Directory>) {
    if !access.is_local() && node.kind() == EntryKind::Group && listed.is_some_and(is_empty) {
        access.new_groups.add(&access.context, node.path);
    }
}

/// Returns whether a listed folder is empty.
fn is_empty(listed: &Directory) -> bool {
    listed.keys.is_empty() && listed.prefixes.is_empty()
}

/// Returns whether a folder may contain this key, given its listing if there is one.
pub(super) fn may_have(listed: Option<&Directory>, key: &Key) -> bool {
    listed.is_none_or(|listed| listed.keys.contains(key))
}

/// Erases chunks that would become elements of the new array, unless its folder was `listed` as empty. Returns the lock
/// of the array if the store has locks: until the array has its document, no other program erases or creates it.
///
/// If the folder contains a document of another format, the chunks stay, because they may belong to that format.
/// Returns [`Error::InTheWay`] if nodes lie below the array, and [`Error::Conflict`] if another program created the
/// array.
pub(super) fn erase(
    access: &Access,
    rules: &dyn FormatRules,
    array: &NewNode<'_>,
    listed: Option<&Directory>,
) -> Result<Option<StoreLock>, Error> {
    let Some(chunks) = array.leftovers else { return Ok(None) };
    let Some(listed) = listed.filter(|listed| !is_empty(listed)) else { return Ok(None) };
    if listed.keys.iter().any(|key| is_foreign(rules.format(), key)) {
        return Ok(None);
    }
    let path = array.path;
    let document = rules.array_key(path)?;
    let lock = access.store.lock(&document)?;
    let leftovers = chunks.keys()?;
    // If another program has created the array meanwhile, listed chunks may belong to it and must not be erased. Its
    // document is older than its chunks, so the chunks are listed first.
    if access.has(&document)? {
        return Err(Error::Conflict(document));
    }
    for key in access.store.list_prefix(&rules.chunks(path)?)? {
        let key = key?;
        if let Some(node) = rules.node_of(&key).filter(|node| node != path) {
            let reason =
                format!("{node} is below it, and only groups have nodes below them; erase {path} first");
            return Err(in_the_way(path, reason));
        }
    }
    chunks.erase(&leftovers)?;
    Ok(lock)
}

fn is_foreign(format: Format, key: &Key) -> bool {
    match format {
        Format::V2 => is_of_v3(key),
        Format::V3 => is_of_v2(key),
        Format::V3Draft => is_of_v3(key) || is_of_v2(key),
    }
}
