//! Compares the elements of two arrays of one shape.

use std::collections::BTreeSet;

use zarr_engine::{Array, ElementArray, Error, Selection};
use zarr_spec::ArraySubset;

use super::{Tolerance, ValueDifferences};
use crate::boxes::Boxes;
use crate::elements::{Canonical, Stream};
use crate::numbers::{Number, Numbers};
use crate::settings::Settings;

/// Compares all elements; `None` if they are equal.
pub(crate) fn compare(
    one: &Array,
    other: &Array,
    tolerance: Option<Tolerance>,
    settings: &Settings,
) -> Result<Option<ValueDifferences>, Error> {
    let rules = Rules::of(one, other, tolerance);
    let half = settings.clone().memory(settings.memory / 2);
    let mut boxes = match chunks_of_either(one, other)? {
        Some(chunks) => Boxes::of(one, Box::new(chunks.into_iter()), &half)?,
        None => Boxes::of(one, Box::new(one.chunk_indices()), &half)?,
    };
    let second = other.with_progress(&settings.progress);
    let mut found = Found::default();
    loop {
        settings.progress.check()?;
        let group = boxes.next_group()?;
        if group.is_empty() {
            return Ok(found.summary(one, other));
        }
        let ours = boxes.read(&group)?;
        let selections: Vec<Selection> = group.iter().map(Selection::from).collect();
        let theirs = second.read_many(&selections)?;
        let pairs: Vec<_> = group.iter().zip(ours.iter().zip(&theirs)).collect();
        let parts = one
            .hierarchy()
            .context()
            .map_each(pairs, |(subset, (ours, theirs))| rules.compare(&Pair { subset, ours, theirs }));
        parts.into_iter().for_each(|part| found.add(part));
    }
}

/// Returns an element as text.
pub(super) fn printed(array: &Array, element: &[u8]) -> String {
    let mut text = String::new();
    // If the element cannot be printed, the text explains why.
    let _printed = array.data_type().print(element, &mut text);
    text
}

/// Returns the chunks of `one` with elements that either array stores; `None` for all chunks.
fn chunks_of_either(one: &Array, other: &Array) -> Result<Option<BTreeSet<Vec<u64>>>, Error> {
    let can_list = |array: &Array| array.hierarchy().store().capabilities().listable;
    let has_one_type = one.data_type().name() == other.data_type().name();
    if !can_list(one)
        || !can_list(other)
        || !has_one_type
        || Stream::of(one).fill() != Stream::of(other).fill()
    {
        return Ok(None);
    }
    let mut chunks: BTreeSet<Vec<u64>> = one.stored_chunks()?.into_iter().collect();
    for chunk in other.stored_chunks()? {
        let subset = other.chunk_subset(&chunk)?;
        if subset.is_empty() && subset.rank() > 0 {
            continue;
        }
        add_chunks(one, &subset, &mut chunks)?;
    }
    Ok(Some(chunks))
}

/// Adds the chunks of `array` that contain elements of a subset.
fn add_chunks(array: &Array, subset: &ArraySubset, chunks: &mut BTreeSet<Vec<u64>>) -> Result<(), Error> {
    let grid = array.chunk_grid();
    let mut indices = vec![Vec::new()];
    for (dimension, range) in subset.ranges().iter().enumerate() {
        let first = grid.chunk_of(dimension, range.start)?;
        let last = grid.chunk_of(dimension, range.end - 1)?;
        let extended = indices
            .iter()
            .flat_map(|index: &Vec<u64>| (first..=last).map(move |chunk| [&index[..], &[chunk]].concat()));
        indices = extended.collect();
    }
    chunks.extend(indices);
    Ok(())
}

/// The elements of one box in both arrays.
struct Pair<'a> {
    subset: &'a ArraySubset,
    ours: &'a ElementArray,
    theirs: &'a ElementArray,
}

/// When elements are equal.
struct Rules {
    one: Canonical,
    other: Canonical,
    /// The readers of numbers, if both arrays have numbers.
    numbers: Option<[Numbers; 2]>,
    tolerance: Option<Tolerance>,
    has_one_type: bool,
}

impl Rules {
    fn of(one: &Array, other: &Array, tolerance: Option<Tolerance>) -> Self {
        let numbers = Numbers::of(&**one.data_type()).zip(Numbers::of(&**other.data_type()));
        Self {
            one: Canonical::of(&**one.data_type()),
            other: Canonical::of(&**other.data_type()),
            numbers: numbers.map(|(one, other)| [one, other]),
            tolerance,
            has_one_type: one.data_type().name() == other.data_type().name(),
        }
    }

    fn compare(&self, pair: &Pair<'_>) -> Found {
        let mut found = Found::default();
        if self.has_one_type && pair.ours.bytes() == pair.theirs.bytes() {
            return found;
        }
        for (position, (ours, theirs)) in pair.ours.iter().zip(pair.theirs.iter()).enumerate() {
            if self.has_one_type && (ours == theirs || self.one.element(ours) == self.other.element(theirs)) {
                continue;
            }
            let numbers = self.numbers.and_then(|[one, other]| one.read(ours).zip(other.read(theirs)));
            if numbers.is_some_and(|(ours, theirs)| self.are_equal(ours, theirs)) {
                continue;
            }
            found.different += 1;
            if let Some((ours, theirs)) = numbers {
                found.add_distance(ours, theirs);
            }
            if found.first.is_none() {
                found.first = Some(First {
                    index: index_of(pair.subset, position),
                    ours: ours.to_vec(),
                    theirs: theirs.to_vec(),
                });
            }
        }
        found
    }

    /// Returns whether numbers with different bits are equal.
    fn are_equal(&self, ours: Number, theirs: Number) -> bool {
        let is_same = ours.is_same(theirs);
        match self.tolerance {
            // Elements of different types do not have comparable bits.
            None => is_same && !self.has_one_type,
            Some(_) if is_same => true,
            Some(tolerance) => {
                ours.distance(theirs) <= tolerance.absolute + tolerance.relative * theirs.magnitude()
            }
        }
    }
}

/// Returns the index in the array of the element at `position` of a box.
fn index_of(subset: &ArraySubset, position: usize) -> Vec<u64> {
    let mut rest = position as u64;
    let mut index = subset.start();
    for (at, length) in index.iter_mut().zip(subset.shape()).rev() {
        *at += rest % length.max(1);
        rest /= length.max(1);
    }
    index
}

/// The first element that differs.
#[derive(Debug)]
struct First {
    index: Vec<u64>,
    ours: Vec<u8>,
    theirs: Vec<u8>,
}

/// The differences found so far.
#[derive(Debug, Default)]
struct Found {
    different: u64,
    first: Option<First>,
    largest: Option<f64>,
    largest_relative: Option<f64>,
}

impl Found {
    fn add_distance(&mut self, ours: Number, theirs: Number) {
        let distance = ours.distance(theirs);
        let distance = if distance.is_nan() { f64::INFINITY } else { distance };
        let relative = if distance == 0.0 { 0.0 } else { distance / theirs.magnitude() };
        let relative = if relative.is_nan() { f64::INFINITY } else { relative };
        self.add_largest(Some(distance), Some(relative));
    }

    fn add_largest(&mut self, distance: Option<f64>, relative: Option<f64>) {
        let larger = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.largest = larger(self.largest, distance);
        self.largest_relative = larger(self.largest_relative, relative);
    }

    fn add(&mut self, other: Self) {
        self.different += other.different;
        self.add_largest(other.largest, other.largest_relative);
        let is_earlier = |first: &First| self.first.as_ref().is_none_or(|known| first.index < known.index);
        if let Some(first) = other.first.filter(is_earlier) {
            self.first = Some(first);
        }
    }

    fn summary(self, one: &Array, other: &Array) -> Option<ValueDifferences> {
        let first = self.first?;
        Some(ValueDifferences {
            count: one.len(),
            different: self.different,
            first: printed(one, &first.ours),
            second: printed(other, &first.theirs),
            index: first.index,
            largest: self.largest,
            largest_relative: self.largest_relative,
        })
    }
}
