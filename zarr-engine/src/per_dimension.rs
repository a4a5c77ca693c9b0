//! A list with one item per dimension.

use std::ops::{Deref, DerefMut};

/// Number of dimensions that are stored inline. Few arrays have more.
const FEW: usize = 6;

/// A list with one item per dimension. It needs no allocation for few dimensions. It is small, because filling and
/// moving space for the maximum number of dimensions takes longer than copying a small chunk.
#[derive(Debug, Clone)]
pub(crate) enum PerDimension<T> {
    Few(usize, [T; FEW]),
    Many(Vec<T>),
}

impl<T: Copy> PerDimension<T> {
    #[inline]
    pub(crate) fn new(rank: usize, item: T) -> Self {
        if rank <= FEW { Self::Few(rank, [item; FEW]) } else { Self::Many(vec![item; rank]) }
    }
}

impl<T> Deref for PerDimension<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Few(rank, items) => &items[..*rank],
            Self::Many(items) => items,
        }
    }
}

impl<T> DerefMut for PerDimension<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Few(rank, items) => &mut items[..*rank],
            Self::Many(items) => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_one_item_for_any_number_of_dimensions() {
        for rank in 0..=32 {
            let mut items = PerDimension::new(rank, 7);
            if let Some(last) = items.last_mut() {
                *last = 8;
            }
            let wanted: Vec<i32> = (0..rank).map(|at| if at + 1 == rank { 8 } else { 7 }).collect();
            assert_eq!(*items.clone(), *wanted);
        }
    }
}
