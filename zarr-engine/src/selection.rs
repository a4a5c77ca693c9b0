//! What users ask for: ranges with steps, integers, lists, coordinates, masks.

use std::fmt;

use zarr_spec::ArraySubset;

use crate::error::Error;
use crate::plan::Run;
use crate::shape::{c_strides, for_each_index};

/// Which elements of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    All,
    /// One entry per dimension; the result holds every combination.
    Dimensions(Vec<Along>),
    /// Single elements: one list per dimension, all of one length. The result has one dimension.
    Coordinates(Vec<Vec<u64>>),
    /// The elements where the mask is true, in C order: one entry per element of the array. The result has one
    /// dimension.
    Mask(Vec<bool>),
}

/// Which elements along one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Along {
    /// From `start` to before `stop`, every `step`-th.
    Range {
        /// The first element.
        start: u64,
        /// The element to stop before.
        stop: u64,
        /// Elements from one to the next; at least 1.
        step: u64,
    },
    /// One element; the result does not have the dimension.
    Index(u64),
    /// These elements in this order; they may repeat.
    List(Vec<u64>),
}

impl From<ArraySubset> for Selection {
    fn from(subset: ArraySubset) -> Self {
        let ranges = subset.ranges().iter();
        Self::Dimensions(
            ranges.map(|range| Along::Range { start: range.start, stop: range.end, step: 1 }).collect(),
        )
    }
}

impl From<&[std::ops::Range<u64>]> for Selection {
    fn from(ranges: &[std::ops::Range<u64>]) -> Self {
        ArraySubset::new(ranges.to_vec()).into()
    }
}

impl Selection {
    /// Parses a selection as NumPy writes it, for an array of `shape`: `0:10,:,::2,5`, `...` for all dimensions in
    /// between, `[3,1,2]` for a list. Negative numbers count from the end; an integer drops its dimension; ranges
    /// are cut to the array.
    ///
    /// # Errors
    ///
    /// For anything else, negative steps, too many entries, and integers outside of the array.
    pub fn parse(text: &str, shape: &[u64]) -> Result<Self, Error> {
        let text = text.trim();
        let text = text
            .strip_prefix('[')
            .filter(|_| is_bracketed(text))
            .map_or(text, |inner| &inner[..inner.len() - 1]);
        let entries = split(text)?;
        let refuse = |what: String| Err(Error::Selection(format!("selection `{text}`: {what}")));
        let ellipses = entries.iter().filter(|entry| **entry == "...").count();
        let given = entries.len() - ellipses;
        if ellipses > 1 {
            return refuse("there can be one `...` only".to_owned());
        }
        if given > shape.len() {
            return refuse(format!("{given} entries for {} dimensions", shape.len()));
        }
        let mut along = Vec::with_capacity(shape.len());
        let all = |length: &u64| Along::Range { start: 0, stop: *length, step: 1 };
        for entry in entries {
            if entry == "..." {
                let missing = shape.len() - given;
                let from = along.len();
                along.extend(shape[from..from + missing].iter().map(all));
                continue;
            }
            let dimension = along.len();
            match parse_entry(entry, shape[dimension]) {
                Ok(entry) => along.push(entry),
                Err(what) => return refuse(format!("dimension {dimension}: {what}")),
            }
        }
        let from = along.len();
        along.extend(shape[from..].iter().map(all));
        Ok(Self::Dimensions(along))
    }

    /// The shape of the result, in elements, for an array of `shape`.
    ///
    /// # Errors
    ///
    /// If the selection is not in the array.
    pub fn shape(&self, shape: &[u64]) -> Result<Vec<u64>, Error> {
        Ok(self.located(shape)?.shape)
    }

    /// The selection, checked against the shape of the array.
    pub(crate) fn located(&self, shape: &[u64]) -> Result<LocatedSelection, Error> {
        match self {
            Self::All => {
                let all = shape.iter().map(|&length| Along::Range { start: 0, stop: length, step: 1 });
                locate_dimensions(&all.collect::<Vec<_>>(), shape)
            }
            Self::Dimensions(along) => locate_dimensions(along, shape),
            Self::Coordinates(lists) => locate_coordinates(lists, shape),
            Self::Mask(mask) => locate_mask(mask, shape),
        }
    }
}

/// A selection that is in the array.
#[derive(Debug)]
pub(crate) struct LocatedSelection {
    /// Elements of the result per dimension, as users see it.
    pub(crate) shape: Vec<u64>,
    pub(crate) what: ElementSelection,
}

/// What is wanted of an array.
#[derive(Debug)]
pub(crate) enum ElementSelection {
    /// Every combination of runs; one list of runs per dimension of the array, and how many elements they have.
    Box {
        /// The runs of each dimension.
        runs: Vec<Vec<Run>>,
        /// Elements of the result along each dimension of the array, dropped ones included.
        counts: Vec<usize>,
    },
    /// Single elements: the coordinates of each, one dimension after another.
    Points(Vec<u64>),
}

impl ElementSelection {
    /// Elements of the result between neighbours, per dimension of an array of `rank` dimensions. Single elements
    /// follow one another, along whatever dimension they are counted.
    pub(crate) fn strides(&self, rank: usize) -> Result<Vec<usize>, Error> {
        match self {
            Self::Points(_) => Ok(vec![1; rank]),
            Self::Box { counts, .. } => {
                let shape: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
                c_strides(&shape).map_err(|error| Error::Selection(error.to_string()))
            }
        }
    }
}

impl LocatedSelection {
    /// Number of elements of the result.
    pub(crate) fn count(&self) -> Result<usize, Error> {
        let count = self.shape.iter().try_fold(1usize, |product, &length| {
            usize::try_from(length).ok().and_then(|length| product.checked_mul(length))
        });
        count.ok_or_else(|| {
            Error::Selection("the selection has more elements than this machine can address".to_owned())
        })
    }
}

fn locate_dimensions(along: &[Along], shape: &[u64]) -> Result<LocatedSelection, Error> {
    if along.len() != shape.len() {
        let given = along.len();
        let rank = shape.len();
        return Err(Error::Selection(format!("the selection has {given} entries for {rank} dimensions")));
    }
    let mut result = Vec::new();
    let mut runs = Vec::new();
    let mut counts = Vec::new();
    for (dimension, (along, &length)) in along.iter().zip(shape).enumerate() {
        let located = locate(along, length)
            .map_err(|what| Error::Selection(format!("dimension {dimension} of the selection: {what}")))?;
        let count = located.iter().map(|run| run.count).sum::<usize>();
        if !matches!(along, Along::Index(_)) {
            result.push(count as u64);
        }
        counts.push(count);
        runs.push(located);
    }
    Ok(LocatedSelection { shape: result, what: ElementSelection::Box { runs, counts } })
}

fn locate(along: &Along, length: u64) -> Result<Vec<Run>, String> {
    let too_many = "it has more elements than this machine can address";
    let outside = |index: u64| format!("index {index} is outside of 0 to {length}");
    match along {
        Along::Range { step: 0, .. } => Err("the step is 0".to_owned()),
        Along::Range { start, stop, .. } if start >= stop => Ok(Vec::new()),
        Along::Range { stop, .. } if *stop > length => {
            Err(format!("it ends at {stop}, and the array at {length}"))
        }
        Along::Range { start, stop, step } => {
            let count = usize::try_from((stop - start).div_ceil(*step)).map_err(|_| too_many)?;
            // One that `i64` cannot hold is the same step modulo 2^64, as runs count.
            let step = if count == 1 { 1 } else { step.cast_signed() };
            Ok(vec![Run { start: *start, count, step, out: 0 }])
        }
        Along::Index(index) if *index < length => Ok(vec![Run { start: *index, count: 1, step: 1, out: 0 }]),
        Along::Index(index) => Err(outside(*index)),
        Along::List(list) => match list.iter().find(|&&index| index >= length) {
            Some(&index) => Err(outside(index)),
            None => Ok(runs_of(list)),
        },
    }
}

/// A list as runs: as long as neighbours of it are evenly spaced.
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
        let given = lists.len();
        let rank = shape.len();
        return Err(Error::Selection(format!("{given} lists of coordinates for {rank} dimensions")));
    }
    if let Some(other) = lists.iter().find(|list| list.len() != count) {
        return Err(Error::Selection(format!(
            "lists of coordinates have {count} and {} entries",
            other.len()
        )));
    }
    let mut points = Vec::with_capacity(count * shape.len());
    for number in 0..count {
        for (dimension, (list, &length)) in lists.iter().zip(shape).enumerate() {
            let index = list[number];
            if index >= length {
                return Err(Error::Selection(format!(
                    "coordinate {index} in dimension {dimension} is outside of 0 to {length}"
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
        let entries = mask.len();
        return Err(Error::Selection(format!("a mask of {entries} entries for an array of shape {shape:?}")));
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

fn is_bracketed(text: &str) -> bool {
    text.len() > 1
        && text.ends_with(']')
        && !text[1..text.len() - 1].contains(['[', ']'])
        && text[1..text.len() - 1].contains(':')
}

/// Entries between commas that are not in brackets.
fn split(text: &str) -> Result<Vec<&str>, Error> {
    let mut entries = Vec::new();
    let mut depth = 0usize;
    let mut from = 0;
    for (place, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| Error::Selection(format!("selection `{text}`: `]` without `[`")))?;
            }
            ',' if depth == 0 => {
                entries.push(text[from..place].trim());
                from = place + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(Error::Selection(format!("selection `{text}`: `[` without `]`")));
    }
    let last = text[from..].trim();
    if !last.is_empty() || from == 0 && !text.is_empty() {
        entries.push(last);
    }
    Ok(entries)
}

fn parse_entry(entry: &str, length: u64) -> Result<Along, String> {
    if let Some(list) = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')) {
        let list = list.split(',').map(str::trim).filter(|index| !index.is_empty());
        let list: Result<_, String> = list.map(|index| parse_index(index, length)).collect();
        return list.map(Along::List);
    }
    let parts: Vec<&str> = entry.split(':').map(str::trim).collect();
    let (start, stop, step) = match parts[..] {
        [index] => return parse_index(index, length).map(Along::Index),
        [start, stop] => (start, stop, ""),
        [start, stop, step] => (start, stop, step),
        _ => return Err(format!("`{entry}` has more than two `:`")),
    };
    let step = if step.is_empty() { 1 } else { parse_number(step)? };
    if step <= 0 {
        return Err(format!("the step is {step}; only positive steps are read"));
    }
    let clip = |text: &str, default: u64| -> Result<u64, String> {
        if text.is_empty() {
            return Ok(default);
        }
        let number = parse_number(text)?;
        let from_end = if number < 0 { number + i128::from(length) } else { number };
        Ok(u64::try_from(from_end.clamp(0, i128::from(length))).unwrap_or(length))
    };
    let step = u64::try_from(step).map_err(|_| format!("the step {step} is too large"))?;
    Ok(Along::Range { start: clip(start, 0)?, stop: clip(stop, length)?, step })
}

fn parse_index(text: &str, length: u64) -> Result<u64, String> {
    let number = parse_number(text)?;
    let index = if number < 0 { number + i128::from(length) } else { number };
    let index = u64::try_from(index).ok().filter(|&index| index < length);
    index.ok_or_else(|| format!("index {number} is outside of {length} elements"))
}

fn parse_number(text: &str) -> Result<i128, String> {
    text.parse().map_err(|_| format!("`{text}` is not an integer"))
}

/// As in NumPy, as far as there is such a form.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let along = match self {
            Self::All => return f.write_str("[...]"),
            Self::Coordinates(lists) => return write!(f, "{} elements", lists.first().map_or(0, Vec::len)),
            Self::Mask(mask) => {
                return write!(f, "{} elements", mask.iter().filter(|&&wanted| wanted).count());
            }
            Self::Dimensions(along) => along,
        };
        f.write_str("[")?;
        for (dimension, along) in along.iter().enumerate() {
            let separator = if dimension == 0 { "" } else { ", " };
            match along {
                Along::Index(index) => write!(f, "{separator}{index}")?,
                Along::List(list) => write!(f, "{separator}{list:?}")?,
                Along::Range { start, stop, step: 1 } => write!(f, "{separator}{start}:{stop}")?,
                Along::Range { start, stop, step } => write!(f, "{separator}{start}:{stop}:{step}")?,
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Along>, String> {
        match Selection::parse(text, &[10, 20, 30]) {
            Ok(Selection::Dimensions(along)) => Ok(along),
            Ok(other) => Err(other.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn range(start: u64, stop: u64, step: u64) -> Along {
        Along::Range { start, stop, step }
    }

    #[test]
    fn selections_are_read_as_numpy_writes_them() {
        assert_eq!(parse("").unwrap(), [range(0, 10, 1), range(0, 20, 1), range(0, 30, 1)]);
        assert_eq!(parse("0:5,:,::2").unwrap(), [range(0, 5, 1), range(0, 20, 1), range(0, 30, 2)]);
        assert_eq!(parse("-3:,-1,5").unwrap(), [range(7, 10, 1), Along::Index(19), Along::Index(5)]);
        assert_eq!(parse("...,4").unwrap(), [range(0, 10, 1), range(0, 20, 1), Along::Index(4)]);
        assert_eq!(parse("[3,1,-1],2").unwrap()[0], Along::List(vec![3, 1, 9]));
        assert_eq!(parse("2:99").unwrap()[0], range(2, 10, 1));
        assert_eq!(parse("[0:2,3]").unwrap()[..2], [range(0, 2, 1), Along::Index(3)]);
    }

    #[test]
    fn what_is_no_selection_says_why() {
        assert_eq!(
            parse("10").unwrap_err(),
            "selection `10`: dimension 0: index 10 is outside of 10 elements"
        );
        assert!(parse("::-1").unwrap_err().contains("only positive steps"));
        assert!(parse("1,2,3,4").unwrap_err().contains("4 entries for 3 dimensions"));
        assert!(parse("a").unwrap_err().contains("`a` is not an integer"));
        assert!(parse("...,...").unwrap_err().contains("one `...` only"));
        assert!(parse("[1").unwrap_err().contains("without `]`"));
    }

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
