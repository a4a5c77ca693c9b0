//! Checks dimension names and coordinates.

use std::collections::BTreeMap;

use zarr_engine::Array;
use zarr_json::counted;
use zarr_spec::NodePath;

use super::{Finding, FindingKind, Report};
use crate::logical::{DIMENSIONS, Named, names_of};

/// Checks the dimension names of arrays, and compares coordinates with the dimensions of other arrays in their group.
pub(super) fn check(arrays: &[Array], report: &mut Report) {
    for array in arrays {
        if let Some(text) = wrong_names(array) {
            report.add(Finding::new(FindingKind::Convention, text).at(array.path()));
        }
    }
    let mut coordinates: BTreeMap<(Option<NodePath>, String), u64> = BTreeMap::new();
    for array in arrays {
        if let ([length], Some([Some(name)])) = (array.shape(), Named::of(array).names.as_deref())
            && name == array.path().name()
        {
            coordinates.insert((array.path().parent(), name.clone()), *length);
        }
    }
    for array in arrays {
        let names = Named::of(array).names.unwrap_or_default();
        for (name, length) in names.into_iter().flatten().zip(array.shape()) {
            let coordinate = coordinates.get(&(array.path().parent(), name.clone()));
            if let Some(expected) = coordinate.filter(|expected| *expected != length) {
                let length = counted(*length, "element", "elements");
                let text = format!("dimension `{name}` has {length}, but its coordinate has {expected}");
                report.add(Finding::new(FindingKind::Convention, text).at(array.path()));
            }
        }
    }
}

/// Describes dimension names that contradict the shape or one another.
fn wrong_names(array: &Array) -> Option<String> {
    let rank = array.shape().len();
    let listed = array.attributes().get(DIMENSIONS)?;
    let Some(listed) = names_of(listed, rank) else {
        let rank = counted(rank, "dimension", "dimensions");
        return Some(format!("`{DIMENSIONS}` is {listed}, but the array has {rank}"));
    };
    let own = array.dimension_names().filter(|names| names.iter().any(Option::is_some))?;
    (own != listed).then(|| format!("`{DIMENSIONS}` differs from the dimension names of the document"))
}
