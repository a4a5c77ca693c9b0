//! Finds nodes that the destination of a copy already has.

use std::collections::BTreeSet;

use zarr_kit::metadata::ArrayMetadata;
use zarr_kit::spec::{ArraySubset, Object};
use zarr_kit::{Array, Hierarchy, Node, NodePath, Selection};

use crate::failure::{Failure, chain};
use crate::slabs;
use crate::verbs::copy::Planned;

/// Nodes of a copy whose paths are already in use.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The reasons why nodes cannot be copied.
    pub(crate) refused: Vec<String>,
    /// Arrays that an interrupted copy completed.
    pub(crate) complete: BTreeSet<NodePath>,
}

impl Taken {
    /// Finds the planned nodes in `destination`.
    ///
    /// Groups without attributes, or with the same attributes, are reused. An existing array is complete if
    /// it has the same metadata and elements and other arrays are missing. Every other existing array is
    /// refused.
    pub(crate) fn find(planned: &[Planned], destination: &Hierarchy) -> Result<Self, Failure> {
        let mut taken = Self::default();
        let mut are_missing = false;
        let mut present = Vec::new();
        for node in planned {
            match node {
                Planned::Group { path, attributes } => {
                    taken.refused.extend(refused_group(destination, path, attributes)?);
                }
                Planned::Array { path, source, metadata } => {
                    match destination.prepare_array(path.to_string(), (**metadata).clone()) {
                        Ok(_) => are_missing = true,
                        Err(error) => present.push((path, source, metadata, error)),
                    }
                }
            }
        }
        for (path, source, metadata, error) in present {
            if are_missing && is_complete(destination, path, source, metadata)? {
                taken.complete.insert(path.clone());
            } else {
                taken.refused.push(format!("{path}: {}", chain(&error)));
            }
        }
        Ok(taken)
    }
}

/// Returns the reason why an existing group cannot be reused, if there is one.
fn refused_group(
    destination: &Hierarchy,
    path: &NodePath,
    attributes: &Object,
) -> Result<Option<String>, Failure> {
    if !destination.exists(path.to_string())? {
        return Ok(None);
    }
    let there = destination.group(path)?;
    let are_same = attributes.is_empty() || there.attributes().is_empty() || there.attributes() == attributes;
    Ok((!are_same).then(|| format!("{path}: the group already exists with other attributes")))
}

/// Returns whether the node at `path` is an array with this metadata and the elements of `source`.
fn is_complete(
    destination: &Hierarchy,
    path: &NodePath,
    source: &Array,
    metadata: &ArrayMetadata,
) -> Result<bool, Failure> {
    let Ok(Node::Array(there)) = destination.node(path) else { return Ok(false) };
    Ok(there.metadata() == metadata && have_same_elements(source, &there)?)
}

/// Compares two arrays of the same shape in bounded memory.
fn have_same_elements(one: &Array, other: &Array) -> Result<bool, Failure> {
    let are_listable = [one, other].iter().all(|array| array.hierarchy().store().capabilities().listable);
    if !are_listable || one.fill_value() != other.fill_value() {
        return are_same(one, other, &ArraySubset::whole(one.shape()));
    }
    // All other elements are the fill value in both arrays.
    for array in [one, other] {
        for index in array.stored_chunks()? {
            let chunk = array.chunk_subset(&index)?;
            if !are_same(one, other, &chunk)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn are_same(one: &Array, other: &Array, subset: &ArraySubset) -> Result<bool, Failure> {
    let Selection::Orthogonal(along) = slabs::selection(subset) else { return Ok(true) };
    let mut are_same = true;
    slabs::for_each(one, &along, 2, &mut |selection| {
        are_same = are_same && one.read(selection)?.bytes() == other.read(selection)?.bytes();
        Ok(())
    })?;
    Ok(are_same)
}
