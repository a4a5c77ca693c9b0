//! One item for each dimension.

use std::ops::{Deref, DerefMut};

/// Dimensions that arrays mostly have at most.
const FEW: usize = 6;

/// One item for each dimension: without memory of its own for few of them, and small, since room for as many dimensions
/// as there may be takes longer to fill and to move than a small chunk takes to copy.
#[derive(Debug, Clone)]
pub(crate) enum PerDimension<T> {
    Few(usize, [T; FEW]),
    Many(Vec<T>),
}

impl<T: Copy> PerDimension<T> {
    /// So many times the same.
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
    fn there_is_an_item_for_each_of_any_number_of_dimensions() {
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
