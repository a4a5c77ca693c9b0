//! The share of a copy that one process takes.

use std::fmt;
use std::str::FromStr;

/// One of several parts of a copy, which may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    number: u64,
    count: u64,
}

/// The largest number of parts. Each has a marker in the destination.
const MOST_PARTS: u64 = 100_000;

impl Part {
    /// The whole copy.
    pub const WHOLE: Self = Self { number: 1, count: 1 };

    /// Returns part `number` of `count`, counted from 1; `None` if there is no such part.
    #[must_use]
    pub fn new(number: u64, count: u64) -> Option<Self> {
        let is_valid = (1..=count).contains(&number) && count <= MOST_PARTS;
        is_valid.then_some(Self { number, count })
    }

    /// Returns the number of this part, from 1.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }

    /// Returns the number of parts.
    #[must_use]
    pub fn count(self) -> u64 {
        self.count
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            Some((number.trim().parse::<u64>().ok()?, count.trim().parse::<u64>().ok()?))
        });
        let part = numbers.and_then(|(number, count)| Self::new(number, count));
        part.ok_or_else(|| {
            format!("`{text}` is not a part: expected i/n, such as 1/4 for the first of four; n is at most {MOST_PARTS}")
        })
    }
}

/// The boxes of one array that a part takes. The boxes of all arrays form one sequence, which is divided into runs of
/// about the same size in bytes, one for each part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    part: Part,
    /// The bytes of elements before this array.
    before: u64,
    /// The bytes of elements of this array.
    size: u64,
    /// The bytes of elements of all arrays.
    total: u64,
}

impl Share {
    pub(crate) fn new(part: Part, before: u64, size: u64, total: u64) -> Self {
        Self { part, before, size, total }
    }

    /// Returns whether the part takes box `number` of `count`.
    pub(crate) fn takes(&self, number: u64, count: u64) -> bool {
        if self.part.count == 1 {
            return true;
        }
        let [size, total, parts] = [self.size, self.total, self.part.count].map(u128::from);
        // The product of two 64-bit numbers fits into 128 bits.
        let within = size * u128::from(number) / u128::from(count.max(1));
        let place = u128::from(self.before) + within;
        let part = (place.min(total.saturating_sub(1)) * parts).checked_div(total).unwrap_or(0);
        part + 1 == u128::from(self.part.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_box_belongs_to_one_part_and_parts_have_similar_sizes() {
        for parts in [1, 2, 3, 7] {
            let mut counts = vec![0; usize::try_from(parts).unwrap()];
            for (before, size, boxes) in [(0, 600, 60), (600, 0, 1), (600, 5, 1), (605, 395, 40)] {
                for number in 0..boxes {
                    let takes = |part: &u64| {
                        Share::new(Part::new(*part, parts).unwrap(), before, size, 1000).takes(number, boxes)
                    };
                    let taken: Vec<u64> = (1..=parts).filter(takes).collect();
                    assert_eq!(taken.len(), 1, "{parts} {before} {number}");
                    counts[usize::try_from(taken[0] - 1).unwrap()] += 1;
                }
            }
            let [least, most] = [counts.iter().min(), counts.iter().max()].map(Option::unwrap);
            assert!(most - least <= 3, "{counts:?}");
        }
    }

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!("2/4".parse(), Ok(Part::new(2, 4).unwrap()));
        for text in ["0/4", "5/4", "1", "a/b", "1/0", "-1/2", "1/100001"] {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_may_be_huge() {
        let last = Share::new(Part::new(4, 4).unwrap(), 0, u64::MAX, u64::MAX);
        assert!(last.takes(u64::MAX - 1, u64::MAX) && !last.takes(0, u64::MAX));
    }
}
