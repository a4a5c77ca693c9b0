//! Finds repetitions in a page.

use crate::tables::MIN_MATCH;

/// A byte, or a repetition of earlier bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Literal(u8),
    Repetition { length: usize, distance: usize },
}

/// How long the search for repetitions takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// The number of earlier positions that are compared.
    candidates: usize,
    /// A repetition of this length ends the search.
    good_length: usize,
    /// Whether a longer repetition that begins one byte later is preferred.
    is_lazy: bool,
}

impl Effort {
    pub(crate) fn of(level: u8) -> Self {
        let effort = |candidates, good_length, is_lazy| Self { candidates, good_length, is_lazy };
        match level {
            0 | 1 => effort(4, 16, false),
            2 => effort(8, 24, false),
            3 => effort(12, 32, false),
            4 => effort(16, 48, false),
            5 => effort(16, 64, true),
            6 => effort(32, 96, true),
            7 => effort(64, 130, true),
            8 => effort(96, 258, true),
            9 => effort(160, 258, true),
            _ => effort(256, 258, true),
        }
    }
}

/// Number of bits of a hash.
const HASH_BITS: u32 = 14;
/// Marks the end of a chain.
const NONE: u32 = u32::MAX;
/// The maximum length of a repetition. The symbol of longer ones has 16 extra bits.
const MAX_MATCH: usize = 258;

/// Chains of the positions whose next three bytes have one hash, latest first.
#[derive(Debug)]
pub(crate) struct Finder {
    heads: Vec<u32>,
    previous: Vec<u32>,
    effort: Effort,
}

impl Finder {
    pub(crate) fn new(effort: Effort) -> Self {
        Self { heads: vec![NONE; 1 << HASH_BITS], previous: Vec::new(), effort }
    }

    /// Returns the tokens of a page.
    pub(crate) fn tokens(&mut self, page: &[u8]) -> Vec<Token> {
        self.heads.fill(NONE);
        self.previous.clear();
        self.previous.resize(page.len(), NONE);
        let mut tokens = Vec::with_capacity(page.len() / 4);
        let mut at = 0;
        let mut inserted = 0;
        while at < page.len() {
            let mut found = self.longest(page, at, &mut inserted);
            while self.effort.is_lazy
                && let Some((length, _)) = found
                && length < self.effort.good_length
                && let Some(later) = self.longest(page, at + 1, &mut inserted)
                && later.0 > length
            {
                tokens.push(Token::Literal(page[at]));
                at += 1;
                found = Some(later);
            }
            if let Some((length, distance)) = found {
                tokens.push(Token::Repetition { length, distance });
                at += length;
            } else {
                tokens.push(Token::Literal(page[at]));
                at += 1;
            }
        }
        tokens
    }

    /// Returns the length and the distance of the longest repetition that begins at `at`.
    fn longest(&mut self, page: &[u8], at: usize, inserted: &mut usize) -> Option<(usize, usize)> {
        while *inserted < at {
            self.insert(page, *inserted);
            *inserted += 1;
        }
        let here = page.get(at..)?;
        let limit = here.len().min(MAX_MATCH);
        let mut candidate = self.heads[hash(here)?];
        let mut best = None;
        let mut best_length = MIN_MATCH - 1;
        for _candidate in 0..self.effort.candidates {
            if candidate == NONE {
                break;
            }
            let from = candidate as usize;
            let there = &page[from..];
            // The first byte after the best length decides whether this repetition is longer.
            if there.get(best_length) == here.get(best_length) {
                let length = there.iter().zip(&here[..limit]).take_while(|(one, other)| one == other).count();
                if length > best_length {
                    best_length = length;
                    best = Some((length, at - from));
                    if length >= self.effort.good_length.min(limit) {
                        break;
                    }
                }
            }
            candidate = self.previous[from];
        }
        best
    }

    fn insert(&mut self, page: &[u8], at: usize) {
        let Some(hash) = page.get(at..).and_then(hash) else { return };
        let position = u32::try_from(at).unwrap_or(NONE);
        self.previous[at] = std::mem::replace(&mut self.heads[hash], position);
    }
}

fn hash(bytes: &[u8]) -> Option<usize> {
    let [first, second, third] = *bytes.first_chunk::<MIN_MATCH>()?;
    let value = u32::from_le_bytes([first, second, third, 0]);
    Some((value.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize)
}
