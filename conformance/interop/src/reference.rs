//! A simple reference implementation of selections.

use zarr_kit::{DimensionSelection, Selection};

/// Returns the position of each selected element among all elements in C order. The positions have the order of the
/// result.
///
/// # Panics
///
/// If the array has more elements than fit in memory, or an expression does not fit `shape`.
#[must_use]
pub fn positions(selection: &Selection, shape: &[u64]) -> Vec<usize> {
    let small =
        |position: u64| usize::try_from(position).unwrap_or_else(|_| panic!("{shape:?} is too large"));
    let position = |point: &[u64]| {
        small(point.iter().zip(shape).fold(0, |position, (&index, &length)| position * length + index))
    };
    match selection {
        Selection::All => (0..small(shape.iter().product())).collect(),
        Selection::Mask(mask) => (0..mask.len()).filter(|&position| mask[position]).collect(),
        Selection::Coordinates(lists) => {
            let count = lists.first().map_or(0, Vec::len);
            (0..count)
                .map(|number| position(&lists.iter().map(|list| list[number]).collect::<Vec<_>>()))
                .collect()
        }
        Selection::Orthogonal(along) => {
            let lists: Vec<Vec<u64>> = along.iter().map(indices).collect();
            let mut points = vec![Vec::new()];
            for list in &lists {
                let longer = |point: &Vec<u64>| {
                    let point = point.clone();
                    list.iter().map(move |&index| point.iter().copied().chain([index]).collect::<Vec<u64>>())
                };
                points = points.iter().flat_map(longer).collect();
            }
            points.iter().map(|point| position(point)).collect()
        }
        Selection::Expression(_) => positions(&resolved(selection, shape), shape),
    }
}

/// Returns the shape of the result.
///
/// # Panics
///
/// If an expression does not fit `shape`.
#[must_use]
pub fn result_shape(selection: &Selection, shape: &[u64]) -> Vec<u64> {
    match selection {
        Selection::All => shape.to_vec(),
        Selection::Orthogonal(along) => {
            let kept = along.iter().filter(|along| !matches!(along, DimensionSelection::Index(_)));
            kept.map(|along| indices(along).len() as u64).collect()
        }
        Selection::Coordinates(_) | Selection::Mask(_) => vec![positions(selection, shape).len() as u64],
        Selection::Expression(_) => result_shape(&resolved(selection, shape), shape),
    }
}

fn resolved(selection: &Selection, shape: &[u64]) -> Selection {
    selection.clone().resolve(shape).unwrap_or_else(|error| panic!("{error}"))
}

fn indices(along: &DimensionSelection) -> Vec<u64> {
    match along {
        DimensionSelection::Index(index) => vec![*index],
        DimensionSelection::List(list) => list.clone(),
        DimensionSelection::Range { start, stop, step } => {
            let mut all = Vec::new();
            let mut index = *start;
            while index < *stop {
                all.push(index);
                index += step;
            }
            all
        }
    }
}
