//! Finds nodes that the destination of a copy already has.

use std::collections::BTreeSet;

use zarr_engine::{Array, Error, ErrorKind, Hierarchy, Node};
use zarr_json::Object;
use zarr_spec::{ArraySubset, NodePath};

use super::array_plan::ArrayPlan;
use super::error::{CopyError, DifferentCopy};
use super::lossless::first_difference;
use super::nodes::NewGroup;
use super::options::{Caller, CopyOption};
use super::regions::Regions;
use super::source::Source;
use crate::diff::values;
use crate::digest::values_of;
use crate::elements::Stream;
use crate::settings::Settings;
use crate::verify::chain;

/// The treatment of existing arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// If other arrays of the copy do not exist yet, an array with the same metadata and elements counts as complete.
    /// All other existing arrays are refused.
    Compare,
    /// As [`Rule::Compare`], for the first part of a copy in several parts.
    CompareForParts,
    /// Parts copy into an array with the same metadata, because the first part of the same plan created it. All other
    /// existing arrays are refused.
    Join,
    /// An array with the same metadata counts as complete, because the same plan wrote it. All other existing arrays
    /// are refused.
    Resume,
    /// Existing arrays are erased.
    Replace,
}

/// The reason why a part does not run after metadata has changed.
pub(crate) const CHANGED: &str = "its metadata in the destination differs from the plan of this part: it changed after \
                                  the first part created it; restore it, or erase the node and start the copy again";

/// The nodes of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copied<'a> {
    pub(crate) groups: &'a [NewGroup],
    pub(crate) arrays: &'a [ArrayPlan],
    /// The caller, for messages.
    pub(crate) caller: Caller,
}

/// Nodes of a copy whose paths are already in use.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    /// The reasons why nodes cannot be copied.
    pub(crate) refused: Vec<String>,
    /// Arrays that an interrupted copy completed.
    pub(crate) complete: BTreeSet<NodePath>,
    /// Arrays that are erased before the copy.
    pub(crate) replaced: Vec<NodePath>,
}

impl Existing {
    /// Finds the nodes of the copy that `destination` already has. Groups without attributes, or with the same
    /// attributes, are reused.
    pub(crate) fn find(
        copy: Copied<'_>,
        destination: &Hierarchy,
        rule: Rule,
        settings: &Settings,
    ) -> Result<Self, CopyError> {
        let Copied { groups, arrays, caller } = copy;
        let mut found = Self::default();
        for NewGroup { path, attributes } in groups {
            found.refused.extend(refused_group(destination, path, attributes, rule)?);
        }
        let mut present = Vec::new();
        for array in arrays {
            if let Err(error) = destination.prepare_array(array.path.to_string(), array.metadata.clone()) {
                present.push((array, error));
            }
        }
        let are_missing = present.len() < arrays.len();
        let mut are_same = !are_missing;
        for (array, error) in present {
            let there = match destination.node(&array.path) {
                Ok(Node::Array(there)) => Some(there),
                Ok(_) | Err(Error::NoNode(_)) => None,
                Err(error) => return Err(error.into()),
            };
            let is_same = there.as_ref().is_some_and(|there| *there.metadata() == array.metadata);
            let is_unreadable = || matches!(destination.node(&array.path), Ok(Node::Unreadable(_)));
            match (rule, &there) {
                (Rule::Replace, Some(_)) => found.replaced.push(array.path.clone()),
                (Rule::Replace, None) if is_unreadable() => found.replaced.push(array.path.clone()),
                (Rule::Resume, Some(_)) if is_same => drop(found.complete.insert(array.path.clone())),
                (Rule::Join, Some(_)) if is_same => {}
                (Rule::Join, Some(_)) => found.refused.push(format!("{}: {CHANGED}", array.path)),
                (Rule::Compare | Rule::CompareForParts, Some(there))
                    if is_same && are_missing && have_same_elements(&array.source, there, settings)? =>
                {
                    found.complete.insert(array.path.clone());
                }
                (_, Some(_)) => {
                    are_same = are_same && is_same;
                    let what = match rule {
                        Rule::CompareForParts => "erase it first".to_owned(),
                        _ => format!("{} replaces it", caller.given(CopyOption::Overwrite)),
                    };
                    found.refused.push(format!("{}: an array already exists; {what}", array.path));
                }
                (_, None) => found.refused.push(format!("{}: {}", array.path, chain(&error))),
            }
        }
        if are_same && found.refused.len() >= arrays.len() && !arrays.is_empty() {
            let what = "all arrays exist with this metadata: the copy may be complete already; \
                        `zarrctl diff` compares it";
            found.refused.push(what.to_owned());
        }
        Ok(found)
    }
}

/// Returns the reason why an existing group cannot be reused, if there is one.
fn refused_group(
    destination: &Hierarchy,
    path: &NodePath,
    attributes: &Object,
    rule: Rule,
) -> Result<Option<String>, CopyError> {
    if !destination.exists(path.to_string())? {
        return Ok(None);
    }
    let there = destination.group(path)?;
    let are_same = attributes.is_empty() || there.attributes().is_empty() || there.attributes() == attributes;
    Ok(match rule {
        Rule::Replace => None,
        _ if are_same => None,
        Rule::Join => Some(format!("{path}: {CHANGED}")),
        _ => Some(format!("{path}: the group already exists with other attributes")),
    })
}

/// Compares the elements of a copy with those of its source. Uses their digests if the fill values are equal and all
/// elements are copied.
pub(crate) fn have_same_elements(
    source: &Source,
    copy: &Array,
    settings: &Settings,
) -> Result<bool, CopyError> {
    if !source.is_whole() {
        return selected_are_equal(source, copy, settings);
    }
    let array = &source.array;
    let [first, second] = [array, copy].map(Stream::of);
    if first.fill() != second.fill() {
        return Ok(values::compare(array, copy, None, settings)?.is_none());
    }
    Ok(values_of(array, &first, settings)? == values_of(copy, &second, settings)?)
}

/// Compares each chunk of a copy with the selected elements of its source.
fn selected_are_equal(source: &Source, copy: &Array, settings: &Settings) -> Result<bool, CopyError> {
    let mut are_equal = true;
    for_each_chunk(source, copy, settings, &mut |_, subset| {
        are_equal = are_equal && first_difference(copy, subset, &source.read(subset)?)?.is_none();
        Ok(())
    })?;
    Ok(are_equal)
}

/// Finds the first chunk of a copy that differs from its source, or cannot be read.
///
/// # Errors
///
/// [`CopyError::Different`], and errors of the source.
pub(crate) fn find_difference(source: &Source, copy: &Array, settings: &Settings) -> Result<(), CopyError> {
    for_each_chunk(source, copy, settings, &mut |index, subset| {
        let expected = source.read(subset)?;
        let what = match first_difference(copy, subset, &expected) {
            Ok(None) => return Ok(()),
            Ok(Some([before, after])) => format!("it has {after} where the source has {before}"),
            Err(CopyError::Engine(error)) if error.kind() == ErrorKind::Damaged => chain(&error),
            Err(error) => return Err(error),
        };
        let key = copy.chunk_key(index).ok().map(|key| key.to_string());
        let path = copy.path().to_string();
        Err(CopyError::Different(DifferentCopy { path, chunk: Some(index.to_vec()), key, what }))
    })
}

/// A function that is called with the index of a chunk and the elements of the chunk in the array.
type Visit<'v> = dyn FnMut(&[u64], &ArraySubset) -> Result<(), CopyError> + 'v;

/// Visits the chunks of a copy that may have elements other than the fill value, here or in the source.
fn for_each_chunk(
    source: &Source,
    copy: &Array,
    settings: &Settings,
    visit: &mut Visit<'_>,
) -> Result<(), CopyError> {
    let from = &source.array;
    let regions = Regions::new(copy, &vec![1; copy.shape().len()]);
    let can_list = [from, copy].iter().all(|array| array.hierarchy().store().capabilities().listable);
    let wanted = match can_list && from.fill_value() == copy.fill_value() {
        true => {
            let mut wanted = regions.of(source, &from.stored_chunks()?)?;
            wanted.extend(copy.stored_chunks()?);
            Some(wanted)
        }
        false => None,
    };
    regions.visit(wanted.as_ref(), &mut |index| {
        if settings.progress.is_cancelled() {
            return Err(Error::Cancelled.into());
        }
        visit(index, &regions.subset(index)?)
    })
}
