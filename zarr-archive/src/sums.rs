//! The hash of the elements of an array: a sum over 64-bit words that can be computed from parts in any order.
//!
//! `docs/digest.md` defines it and states its properties. The bytes of all elements in C order, each combined with the
//! fill value by exclusive or, are a stream. The sum of `word * coefficient(number of the word)` modulo 2^128 is the
//! hash. A part of a word contributes as if the other bytes were zero, so that chunks may divide words.

use std::ops::{AddAssign, Range};

use multiversion::multiversion;

/// The increment of SplitMix64.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of some elements of an array. The hash of two disjoint parts together is the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ValueSum(u128);

impl ValueSum {
    /// Returns the hash as 32 hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Adds bytes that begin at `offset` in the stream.
    pub(crate) fn add(&mut self, offset: u64, bytes: &[u8]) {
        let mut number = offset / 8;
        let mut rest = bytes;
        let before = usize::from(offset.to_le_bytes()[0] % 8);
        if before != 0 {
            let (first, others) = rest.split_at(rest.len().min(8 - before));
            self.add_word(number, word_of(before, first));
            number += 1;
            rest = others;
        }
        let (words, last) = rest.as_chunks();
        self.0 = self.0.wrapping_add(sum_of_words(number, words));
        number += words.len() as u64;
        if !last.is_empty() {
            self.add_word(number, word_of(0, last));
        }
    }

    fn add_word(&mut self, number: u64, word: u64) {
        self.0 = self.0.wrapping_add(term(number, word));
    }
}

impl AddAssign for ValueSum {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

/// The number of independent sums. Words are added to them in turn, so that additions do not wait for one another.
const LANES: usize = 4;

/// Returns the sum of consecutive words. The first word has this `number` in the stream.
///
/// A processor with AVX-512DQ multiplies several words in one instruction, which triples the speed.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512vl"))]
fn sum_of_words(number: u64, words: &[[u8; 8]]) -> u128 {
    let (groups, rest) = words.as_chunks::<LANES>();
    let mut state = state_of(number);
    let mut lower = [0_u128; LANES];
    let mut upper = [0_u64; LANES];
    for group in groups {
        for lane in 0..LANES {
            let word = u64::from_le_bytes(group[lane]);
            let first = mixed(state);
            let second = mixed(state.wrapping_add(INCREMENT));
            lower[lane] = lower[lane].wrapping_add(u128::from(word) * u128::from(first));
            upper[lane] = upper[lane].wrapping_add(word.wrapping_mul(second));
            state = state.wrapping_add(INCREMENT.wrapping_mul(2));
        }
    }
    let mut sum = 0_u128;
    for (lower, upper) in lower.into_iter().zip(upper) {
        sum = sum.wrapping_add(lower).wrapping_add(u128::from(upper) << 64);
    }
    let first = number.wrapping_add((groups.len() * LANES) as u64);
    for (number, word) in (first..).zip(rest) {
        sum = sum.wrapping_add(term(number, u64::from_le_bytes(*word)));
    }
    sum
}

/// Returns the summand of a word.
fn term(number: u64, word: u64) -> u128 {
    u128::from(word).wrapping_mul(coefficient(number))
}

/// Returns the word with these bytes at `position`, and zeros elsewhere.
fn word_of(position: usize, bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[position..position + bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Returns the coefficient of a word: the outputs `2 * number` and `2 * number + 1` of SplitMix64 with the seed 0, the
/// first as the lower half.
fn coefficient(number: u64) -> u128 {
    let first = state_of(number);
    let upper = u128::from(mixed(first.wrapping_add(INCREMENT)));
    upper << 64 | u128::from(mixed(first))
}

/// Returns the state of SplitMix64 for the lower half of a coefficient.
fn state_of(number: u64) -> u64 {
    INCREMENT.wrapping_mul(number.wrapping_mul(2).wrapping_add(1))
}

/// The output function of SplitMix64.
fn mixed(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The position of a box of elements in an array, without dimensions that can be merged.
#[derive(Debug, Clone)]
pub(crate) struct BoxPlace {
    /// The shape of the box.
    shape: Vec<u64>,
    /// The distance of elements that are neighbours along each dimension, in elements of the array.
    strides: Vec<u64>,
    /// The position of the box's first element among the elements of the array in C order.
    first: u64,
}

impl BoxPlace {
    /// Returns the place of the box `ranges` in an array of `shape`.
    pub(crate) fn new(shape: &[u64], ranges: &[Range<u64>]) -> Self {
        let mut place = Self { shape: Vec::new(), strides: Vec::new(), first: 0 };
        let mut stride: u64 = 1;
        // Whether the box contains all elements of the dimensions that follow.
        let mut is_whole = false;
        for (range, &length) in ranges.iter().zip(shape).rev() {
            let count = range.end - range.start;
            place.first = place.first.wrapping_add(range.start.wrapping_mul(stride));
            match place.shape.last_mut().filter(|_| is_whole) {
                Some(merged) => *merged *= count,
                None => {
                    place.shape.push(count);
                    place.strides.push(stride);
                }
            }
            is_whole = count == length;
            stride = stride.wrapping_mul(length);
        }
        place.shape.reverse();
        place.strides.reverse();
        place
    }

    /// Adds elements of the box to `sum`: the elements that follow `skipped` elements in C order. `bytes` are these
    /// elements, with `size` bytes each.
    pub(crate) fn add(&self, skipped: usize, size: usize, bytes: &[u8], sum: &mut ValueSum) {
        let run = self.shape.last().map_or(1, |&length| usize::try_from(length).unwrap_or(usize::MAX));
        let mut index = self.index_of(skipped as u64);
        let mut rest = bytes;
        while !rest.is_empty() {
            let at = index.last().map_or(0, |&at| usize::try_from(at).unwrap_or(usize::MAX));
            let (now, later) = rest.split_at(rest.len().min((run - at) * size));
            sum.add(self.number_of(&index).wrapping_mul(size as u64), now);
            rest = later;
            self.next_run(&mut index);
        }
    }

    /// Returns the index of the element at `position` of the box.
    fn index_of(&self, mut position: u64) -> Vec<u64> {
        let mut index = vec![0; self.shape.len()];
        for (at, &length) in index.iter_mut().zip(&self.shape).rev() {
            *at = position % length.max(1);
            position /= length.max(1);
        }
        index
    }

    /// Returns the position of an element of the box among the elements of the array in C order.
    fn number_of(&self, index: &[u64]) -> u64 {
        let offsets = index.iter().zip(&self.strides).map(|(at, stride)| at.wrapping_mul(*stride));
        offsets.fold(self.first, u64::wrapping_add)
    }

    /// Advances to the start of the next run of consecutive elements.
    fn next_run(&self, index: &mut [u64]) {
        let Some((last, outer)) = index.split_last_mut() else { return };
        *last = 0;
        for (at, &length) in outer.iter_mut().zip(&self.shape).rev() {
            *at += 1;
            if *at < length {
                return;
            }
            *at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_the_outputs_of_splitmix64() {
        // The first outputs of SplitMix64 with the seed 0, from its reference implementation.
        assert_eq!(coefficient(0), 0x6e78_9e6a_a1b9_65f4_e220_a839_7b1d_cdaf);
        assert_eq!(coefficient(1), 0xf88b_b8a8_724c_81ec_06c4_5d18_8009_454f);
    }

    #[test]
    fn the_sum_does_not_depend_on_the_division_into_parts() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).map(|byte: u8| byte.wrapping_mul(37) ^ 5).collect();
        let mut whole = ValueSum::default();
        whole.add(3, &bytes);
        for part in [1, 2, 3, 5, 8, 13, 64, 999] {
            let mut sum = ValueSum::default();
            for (number, part_bytes) in bytes.chunks(part).enumerate().rev() {
                sum.add(3 + (number * part) as u64, part_bytes);
            }
            assert_eq!(sum, whole, "parts of {part} bytes");
        }
    }

    #[test]
    fn boxes_of_any_shape_have_the_sum_of_the_array() {
        let shape = [4, 3, 6];
        let elements: Vec<[u8; 2]> = (0u16..72).map(|value| (value * 901).to_le_bytes()).collect();
        let mut whole = ValueSum::default();
        whole.add(0, elements.as_flattened());
        for lengths in [[1, 1, 1], [4, 3, 6], [2, 3, 6], [3, 2, 4], [4, 1, 5], [1, 3, 2]] {
            let mut sum = ValueSum::default();
            for start in starts(&shape, &lengths) {
                let ranges: Vec<_> = (0..3)
                    .map(|along| start[along]..(start[along] + lengths[along]).min(shape[along]))
                    .collect();
                let inside = cut(&elements, &shape, &ranges);
                let place = BoxPlace::new(&shape, &ranges);
                for (number, part) in inside.chunks(5).enumerate() {
                    place.add(number * 5, 2, part.as_flattened(), &mut sum);
                }
            }
            assert_eq!(sum, whole, "{lengths:?}");
        }
    }

    fn starts(shape: &[u64; 3], lengths: &[u64; 3]) -> Vec<[u64; 3]> {
        let along = |dimension: usize| {
            (0..shape[dimension]).step_by(usize::try_from(lengths[dimension]).unwrap()).collect::<Vec<_>>()
        };
        let mut starts = Vec::new();
        for first in along(0) {
            for second in along(1) {
                starts.extend(along(2).into_iter().map(|third| [first, second, third]));
            }
        }
        starts
    }

    fn cut(elements: &[[u8; 2]], shape: &[u64; 3], ranges: &[Range<u64>]) -> Vec<[u8; 2]> {
        let mut inside = Vec::new();
        for first in ranges[0].clone() {
            for second in ranges[1].clone() {
                for third in ranges[2].clone() {
                    let number = (first * shape[1] + second) * shape[2] + third;
                    inside.push(elements[usize::try_from(number).unwrap()]);
                }
            }
        }
        inside
    }
}
