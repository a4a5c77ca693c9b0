//! The paths of many new arrays: checks before their documents are written.

use std::collections::BTreeSet;

use zarr_spec::NodePath;

use super::listing::is_below;
use super::rules::{NewNode, below_an_array, in_the_way};
use crate::error::Error;

/// The groups above all `arrays`.
pub(super) fn groups_above(arrays: &[NewNode<'_>]) -> BTreeSet<NodePath> {
    let mut above = BTreeSet::new();
    for array in arrays {
        let mut next = array.path.parent();
        while let Some(group) = next.filter(|group| !above.contains(group)) {
            next = group.parent();
            above.insert(group);
        }
    }
    above
}

/// Refuses arrays that occur twice.
pub(super) fn refuse_duplicates(arrays: &[NewNode<'_>]) -> Result<(), Error> {
    let mut new = BTreeSet::new();
    match arrays.iter().map(|array| array.path).find(|path| !new.insert(*path)) {
        Some(path) => Err(in_the_way(path, "it occurs twice among the new arrays")),
        None => Ok(()),
    }
}

/// Refuses arrays below other arrays: new ones, or those of the groups `above` for which `is_array` returns true.
pub(super) fn refuse_below_arrays<'g>(
    arrays: &[NewNode<'_>],
    above: impl IntoIterator<Item = &'g NodePath>,
    is_array: impl Fn(usize) -> bool,
) -> Result<(), Error> {
    let new: BTreeSet<_> = arrays.iter().map(|array| array.path).collect();
    let mut above = above.into_iter().enumerate();
    let Some((_, array)) = above.find(|(number, path)| new.contains(path) || is_array(*number)) else {
        return Ok(());
    };
    match arrays.iter().find(|new| is_below(new.path, array)) {
        Some(below) => Err(below_an_array(below.path, array)),
        None => Ok(()),
    }
}
