//! Conversions to selections.

use std::borrow::Cow;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo};

use zarr_spec::ArraySubset;

use super::{DimensionSelection, Selection, SelectionEntry, SelectionExpression};

/// A value that methods which read and write accept as a selection: a borrowed [`Selection`], and everything that
/// converts to one.
pub trait IntoSelection<'s> {
    /// Returns the selection. A borrowed one is not cloned.
    fn into_selection(self) -> Cow<'s, Selection>;
}

impl<'s, S: Into<Selection>> IntoSelection<'s> for S {
    fn into_selection(self) -> Cow<'s, Selection> {
        Cow::Owned(self.into())
    }
}

impl<'s> IntoSelection<'s> for &'s Selection {
    fn into_selection(self) -> Cow<'s, Selection> {
        Cow::Borrowed(self)
    }
}

impl From<RangeFull> for Selection {
    fn from(_all: RangeFull) -> Self {
        Self::All
    }
}

impl From<ArraySubset> for Selection {
    fn from(subset: ArraySubset) -> Self {
        Self::from(&subset)
    }
}

impl From<&ArraySubset> for Selection {
    fn from(subset: &ArraySubset) -> Self {
        Self::from(subset.ranges())
    }
}

impl From<&[Range<u64>]> for Selection {
    fn from(ranges: &[Range<u64>]) -> Self {
        Self::Orthogonal(ranges.iter().cloned().map(DimensionSelection::from).collect())
    }
}

impl From<Vec<Range<u64>>> for Selection {
    fn from(ranges: Vec<Range<u64>>) -> Self {
        Self::from(&ranges[..])
    }
}

impl<const N: usize> From<[Range<u64>; N]> for Selection {
    fn from(ranges: [Range<u64>; N]) -> Self {
        Self::from(&ranges[..])
    }
}

impl<const N: usize> From<&[Range<u64>; N]> for Selection {
    fn from(ranges: &[Range<u64>; N]) -> Self {
        Self::from(&ranges[..])
    }
}

/// Implements conversions of one entry, which is along the first dimension.
macro_rules! one_entry {
    ($($type:ty),*) => {$(
        impl From<$type> for Selection {
            fn from(entry: $type) -> Self {
                Self::from((entry,))
            }
        }
    )*};
}

one_entry!(Range<u64>, RangeFrom<u64>, RangeInclusive<u64>, RangeTo<u64>, u64, Vec<u64>);

impl From<SelectionExpression> for Selection {
    fn from(expression: SelectionExpression) -> Self {
        Self::Expression(expression)
    }
}

macro_rules! tuples {
    ($(($($entry:ident),+);)*) => {$(
        impl<$($entry: Into<SelectionEntry>),+> From<($($entry,)+)> for Selection {
            fn from(entries: ($($entry,)+)) -> Self {
                #[expect(non_snake_case, reason = "each entry has the name of its type parameter")]
                let ($($entry,)+) = entries;
                Self::Expression(SelectionExpression::new(vec![$($entry.into()),+]))
            }
        }
    )*};
}

tuples! {
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
}

impl From<Range<u64>> for DimensionSelection {
    fn from(range: Range<u64>) -> Self {
        Self::Range { start: range.start, stop: range.end, step: 1 }
    }
}

impl From<u64> for DimensionSelection {
    fn from(index: u64) -> Self {
        Self::Index(index)
    }
}

impl From<Vec<u64>> for DimensionSelection {
    fn from(list: Vec<u64>) -> Self {
        Self::List(list)
    }
}

impl From<DimensionSelection> for SelectionEntry {
    fn from(dimension: DimensionSelection) -> Self {
        Self::exact(dimension)
    }
}

impl From<Range<u64>> for SelectionEntry {
    fn from(range: Range<u64>) -> Self {
        Self::exact(range.into())
    }
}

impl From<RangeInclusive<u64>> for SelectionEntry {
    fn from(range: RangeInclusive<u64>) -> Self {
        let (start, last) = range.into_inner();
        match last.checked_add(1) {
            Some(stop) => Self::exact((start..stop).into()),
            None => Self::slice(Some(start.into()), None, 1),
        }
    }
}

impl From<RangeTo<u64>> for SelectionEntry {
    fn from(range: RangeTo<u64>) -> Self {
        Self::exact((0..range.end).into())
    }
}

impl From<RangeFrom<u64>> for SelectionEntry {
    fn from(range: RangeFrom<u64>) -> Self {
        Self::slice(Some(range.start.into()), None, 1)
    }
}

impl From<RangeFull> for SelectionEntry {
    fn from(_all: RangeFull) -> Self {
        Self::slice(None, None, 1)
    }
}

impl From<u64> for SelectionEntry {
    fn from(index: u64) -> Self {
        Self::exact(index.into())
    }
}

impl From<Vec<u64>> for SelectionEntry {
    fn from(list: Vec<u64>) -> Self {
        Self::exact(list.into())
    }
}
