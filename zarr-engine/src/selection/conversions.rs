//! Conversions to selections.

use std::borrow::Cow;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo};

use zarr_spec::ArraySubset;

use super::{DimensionSelection, Selection, SelectionEntry, SelectionExpression};
use crate::conversions::conversions;

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

conversions! { Selection:
    _all: RangeFull => Self::All,
    subset: ArraySubset => Self::from(&subset),
    subset: &ArraySubset => Self::from(subset.ranges()),
    ranges: &[Range<u64>] => Self::Orthogonal(ranges.iter().cloned().map(DimensionSelection::from).collect()),
    ranges: Vec<Range<u64>> => Self::from(&ranges[..]),
    // A single entry selects along the first dimension.
    range: Range<u64> => Self::from((range,)),
    range: RangeFrom<u64> => Self::from((range,)),
    range: RangeInclusive<u64> => Self::from((range,)),
    range: RangeTo<u64> => Self::from((range,)),
    index: u64 => Self::from((index,)),
    list: Vec<u64> => Self::from((list,)),
    expression: SelectionExpression => Self::Expression(expression),
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

conversions! { DimensionSelection:
    range: Range<u64> => Self::Range { start: range.start, stop: range.end, step: 1 },
    index: u64 => Self::Index(index),
    list: Vec<u64> => Self::List(list),
}

conversions! { SelectionEntry:
    dimension: DimensionSelection => Self::exact(dimension),
    range: Range<u64> => Self::exact(range.into()),
    range: RangeTo<u64> => Self::exact((0..range.end).into()),
    range: RangeFrom<u64> => Self::slice(Some(range.start.into()), None, 1),
    _all: RangeFull => Self::slice(None, None, 1),
    index: u64 => Self::exact(index.into()),
    list: Vec<u64> => Self::exact(list.into()),
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
