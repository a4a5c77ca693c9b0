//! Selections of elements: ranges with steps, integers, lists, coordinates and masks.

mod conversions;
mod expression;
#[cfg(feature = "ndarray")]
mod rows;

use std::fmt;

use zarr_json::counted;

use crate::error::Error;
use crate::plan::Run;
use crate::shape::{c_strides, for_each_index};

pub use conversions::IntoSelection;
pub use expression::{SelectionEntry, SelectionExpression};

/// The elements of an array to read or write.
///
/// Methods that read and write take anything that converts to a selection:
///
/// | written as | selects |
/// |---|---|
/// | `..` | all elements |
/// | `[0..4, 10..20]`, `&ranges[..]`, [`ArraySubset`](zarr_spec::ArraySubset) | these ranges, one per dimension |
/// | `(0..4, .., 7)`, `(2.., vec![3, 1])` | one entry per dimension; remaining dimensions are selected completely |
/// | `0..4`, `2..`, `7` | one entry along the first dimension |
/// | `"0:4, ::2, ..., -1".parse::<Selection>()?` | the same in NumPy notation, see [`SelectionExpression`] |
/// | `&selection` | the same as the selection, which is not cloned |
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "programs divide every kind of selection")]
pub enum Selection {
    /// All elements.
    All,
    /// One entry per dimension; the result holds every combination (`oindex` in zarr-python).
    Orthogonal(Vec<DimensionSelection>),
    /// Single elements: one list of indices per dimension, all of the same length (`vindex` in zarr-python). The result
    /// has one dimension.
    Coordinates(Vec<Vec<u64>>),
    /// The elements where the mask is true, in C order: one entry per element of the array. The result has one
    /// dimension.
    Mask(Vec<bool>),
    /// Entries that depend on the shape of the array.
    Expression(SelectionExpression),
}

/// The elements to select along one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "programs divide every kind of selection")]
pub enum DimensionSelection {
    /// Every `step`-th element from `start` up to, but not including, `stop`.
    Range {
        /// The first element.
        start: u64,
        /// The end of the range, exclusive. It must not exceed the length of the array.
        stop: u64,
        /// The distance between selected elements; at least 1.
        step: u64,
    },
    /// One element. The result does not have this dimension.
    Index(u64),
    /// These elements in this order, possibly with repetitions.
    List(Vec<u64>),
}

impl Selection {
    /// Parses a selection in NumPy notation and resolves it for an array of `shape`: see [`SelectionExpression`].
    ///
    /// # Errors
    ///
    /// [`Error::Selection`] for text that is not a selection; otherwise the same as [`Selection::resolve`].
    pub fn parse(text: &str, shape: &[u64]) -> Result<Self, Error> {
        text.parse::<Self>()?.resolve(shape)
    }

    /// Resolves an expression for an array of `shape`. Returns one range, index or list per dimension. Any other
    /// selection is returned unchanged.
    ///
    /// # Errors
    ///
    /// [`Error::Selection`] for more entries than dimensions, and for an index outside of the array.
    pub fn resolve(self, shape: &[u64]) -> Result<Self, Error> {
        match self {
            Self::Expression(expression) => Ok(Self::Orthogonal(expression.resolve(shape)?)),
            other => Ok(other),
        }
    }

    /// Returns the shape of the result, in elements, for an array of `shape`.
    ///
    /// # Errors
    ///
    /// If the selection is outside of the array.
    pub fn shape(&self, shape: &[u64]) -> Result<Vec<u64>, Error> {
        Ok(self.located(shape)?.shape)
    }

    /// Checks the selection against the shape of the array.
    pub(crate) fn located(&self, shape: &[u64]) -> Result<LocatedSelection, Error> {
        match self {
            Self::All => {
                let all =
                    shape.iter().map(|&length| DimensionSelection::Range { start: 0, stop: length, step: 1 });
                locate_dimensions(&all.collect::<Vec<_>>(), shape)
            }
            Self::Orthogonal(along) => locate_dimensions(along, shape),
            Self::Coordinates(lists) => locate_coordinates(lists, shape),
            Self::Mask(mask) => locate_mask(mask, shape),
            Self::Expression(expression) => locate_dimensions(&expression.resolve(shape)?, shape),
        }
    }
}

#[derive(Debug)]
pub(crate) struct LocatedSelection {
    pub(crate) shape: Vec<u64>,
    pub(crate) what: ElementSelection,
}

#[derive(Debug)]
pub(crate) enum ElementSelection {
    /// All combinations of the runs along each dimension.
    Box {
        runs: Vec<Vec<Run>>,
        /// The number of elements of the result along each dimension of the array, including dropped dimensions.
        counts: Vec<usize>,
    },
    Points(Vec<u64>),
}

impl ElementSelection {
    /// Returns the strides of the result in elements, per dimension of an array of `rank` dimensions. Single elements
    /// have the stride 1 along every dimension.
    pub(crate) fn strides(&self, rank: usize) -> Result<Vec<usize>, Error> {
        match self {
            Self::Points(_) => Ok(vec![1; rank]),
            Self::Box { counts, .. } => {
                let shape: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
                c_strides(&shape).map_err(|error| Error::Selection(error.to_string()))
            }
        }
    }

    /// Returns the strides of the result per dimension of the array, for an array of `rank` dimensions. `strides` has an
    /// entry for each dimension of the result with several elements.
    pub(crate) fn spread_strides(&self, rank: usize, strides: &[usize]) -> Vec<usize> {
        let mut strides = strides.iter().copied();
        match self {
            Self::Points(_) => vec![strides.next().unwrap_or(0); rank],
            Self::Box { counts, .. } => {
                let stride = |&count: &usize| if count == 1 { 0 } else { strides.next().unwrap_or(0) };
                counts.iter().map(stride).collect()
            }
        }
    }
}

impl LocatedSelection {
    pub(crate) fn count(&self) -> Result<usize, Error> {
        let count = self.shape.iter().try_fold(1usize, |product, &length| {
            usize::try_from(length).ok().and_then(|length| product.checked_mul(length))
        });
        count.ok_or_else(|| {
            Error::Selection("the selection has more elements than this machine can address".to_owned())
        })
    }
}

fn locate_dimensions(along: &[DimensionSelection], shape: &[u64]) -> Result<LocatedSelection, Error> {
    if along.len() != shape.len() {
        let given = counted(along.len(), "entry", "entries");
        let rank = counted(shape.len(), "dimension", "dimensions");
        return Err(Error::Selection(format!("the selection has {given} for {rank}")));
    }
    let mut result = Vec::new();
    let mut runs = Vec::new();
    let mut counts = Vec::new();
    for (dimension, (along, &length)) in along.iter().zip(shape).enumerate() {
        let located = locate(along, length)
            .map_err(|what| Error::Selection(format!("dimension {dimension} of the selection: {what}")))?;
        let count = located.iter().map(|run| run.count).sum::<usize>();
        if !matches!(along, DimensionSelection::Index(_)) {
            result.push(count as u64);
        }
        counts.push(count);
        runs.push(located);
    }
    Ok(LocatedSelection { shape: result, what: ElementSelection::Box { runs, counts } })
}

fn locate(along: &DimensionSelection, length: u64) -> Result<Vec<Run>, String> {
    let too_many = "it has more elements than this machine can address";
    let outside = |index: u64| format!("index {index} is out of bounds for length {length}");
    match along {
        DimensionSelection::Range { step: 0, .. } => Err("the step is 0".to_owned()),
        DimensionSelection::Range { start, stop, .. } if start >= stop => Ok(Vec::new()),
        DimensionSelection::Range { stop, .. } if *stop > length => {
            Err(format!("it ends at {stop}, but the array ends at {length}"))
        }
        DimensionSelection::Range { start, stop, step } => {
            let count = usize::try_from((stop - start).div_ceil(*step)).map_err(|_| too_many)?;
            // Runs use arithmetic modulo 2^64, so a step that does not fit into an `i64` may wrap around.
            let step = if count == 1 { 1 } else { step.cast_signed() };
            Ok(vec![Run { start: *start, count, step, out: 0 }])
        }
        DimensionSelection::Index(index) if *index < length => {
            Ok(vec![Run { start: *index, count: 1, step: 1, out: 0 }])
        }
        DimensionSelection::Index(index) => Err(outside(*index)),
        DimensionSelection::List(list) => match list.iter().find(|&&index| index >= length) {
            Some(&index) => Err(outside(index)),
            None => Ok(runs_of(list)),
        },
    }
}

/// Converts a list of indices to runs of evenly spaced indices.
fn runs_of(list: &[u64]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (out, &index) in list.iter().enumerate() {
        if let Some(run) = runs.last_mut() {
            let last = run.start.wrapping_add_signed(run.step.wrapping_mul(run.count as i64 - 1));
            let step = index.wrapping_sub(last).cast_signed();
            if run.count == 1 || step == run.step {
                run.step = step;
                run.count += 1;
                continue;
            }
        }
        runs.push(Run { start: index, count: 1, step: 1, out });
    }
    runs
}

fn locate_coordinates(lists: &[Vec<u64>], shape: &[u64]) -> Result<LocatedSelection, Error> {
    let count = lists.first().map_or(0, Vec::len);
    if lists.len() != shape.len() || shape.is_empty() {
        let given = counted(lists.len(), "list", "lists");
        let rank = counted(shape.len(), "dimension", "dimensions");
        return Err(Error::Selection(format!("{given} of coordinates for {rank}")));
    }
    if let Some(other) = lists.iter().find(|list| list.len() != count) {
        return Err(Error::Selection(format!(
            "lists of coordinates have {count} and {}",
            counted(other.len(), "entry", "entries")
        )));
    }
    let mut points = Vec::with_capacity(count * shape.len());
    for number in 0..count {
        for (dimension, (list, &length)) in lists.iter().zip(shape).enumerate() {
            let index = list[number];
            if index >= length {
                return Err(Error::Selection(format!(
                    "coordinate {index} is out of bounds for dimension {dimension} of length {length}"
                )));
            }
            points.push(index);
        }
    }
    Ok(LocatedSelection { shape: vec![count as u64], what: ElementSelection::Points(points) })
}

fn locate_mask(mask: &[bool], shape: &[u64]) -> Result<LocatedSelection, Error> {
    let elements = shape.iter().try_fold(1u64, |product, &length| product.checked_mul(length));
    if elements != Some(mask.len() as u64) {
        let entries = counted(mask.len(), "entry", "entries");
        return Err(Error::Selection(format!("a mask of {entries} for an array of shape {shape:?}")));
    }
    let mut points = Vec::new();
    let mut count = 0;
    for_each_index(shape, |position, index| {
        if mask[position] {
            count += 1;
            points.extend(index.iter().map(|&index| index as u64));
        }
    });
    if shape.is_empty() {
        let runs = if count == 1 { Vec::new() } else { vec![Vec::new()] };
        let counts = runs.iter().map(|_| 0).collect();
        return Ok(LocatedSelection { shape: vec![count], what: ElementSelection::Box { runs, counts } });
    }
    Ok(LocatedSelection { shape: vec![count], what: ElementSelection::Points(points) })
}

/// Writes NumPy notation, if there is one for the selection.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("[...]"),
            Self::Coordinates(lists) => write!(f, "{} elements", lists.first().map_or(0, Vec::len)),
            Self::Mask(mask) => {
                write!(f, "{} elements", mask.iter().filter(|&&is_selected| is_selected).count())
            }
            Self::Orthogonal(dimensions) => fmt_list(f, dimensions),
            Self::Expression(expression) => write!(f, "{expression}"),
        }
    }
}

impl fmt::Display for DimensionSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::List(list) => write!(f, "{list:?}"),
            Self::Range { start, stop, step: 1 } => write!(f, "{start}:{stop}"),
            Self::Range { start, stop, step } => write!(f, "{start}:{stop}:{step}"),
        }
    }
}

/// Writes entries in brackets, separated by commas.
fn fmt_list(f: &mut fmt::Formatter<'_>, entries: &[impl fmt::Display]) -> fmt::Result {
    f.write_str("[")?;
    for (number, entry) in entries.iter().enumerate() {
        let separator = if number == 0 { "" } else { ", " };
        write!(f, "{separator}{entry}")?;
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_runs() {
        let runs = runs_of(&[3, 4, 5, 9, 7, 7, 0]);
        let wanted = [(3, 3, 1, 0), (9, 2, -2, 3), (7, 2, -7, 5)];
        let found: Vec<_> = runs.iter().map(|run| (run.start, run.count, run.step, run.out)).collect();
        assert_eq!(found, wanted);
        let all: Vec<u64> = runs
            .iter()
            .flat_map(|run| {
                (0..run.count).map(|number| run.start.wrapping_add_signed(run.step * number as i64))
            })
            .collect();
        assert_eq!(all, [3, 4, 5, 9, 7, 7, 0]);
    }
}
