//! A template for arrays with a fixed number of dimensions.

use std::fmt::Write as _;

use zarr_spec::{Invalid, Key};

use crate::parse::Part;

/// The name of metadata documents, which no key may contain.
const DOCUMENT: &str = "zarr.json";

/// The text before each number of a key, and the text after the last one.
#[derive(Debug)]
pub(crate) struct Pattern {
    numbers: Vec<Number>,
    end: String,
}

/// A number in a key.
#[derive(Debug)]
struct Number {
    before: String,
    dimension: usize,
    width: usize,
}

impl Pattern {
    /// Assigns the expressions of a template to `rank` dimensions.
    pub(crate) fn new(parts: &[Part], separator: &str, rank: usize) -> Result<Self, Invalid> {
        let named = named(parts, rank)?;
        let mut pattern = Self { numbers: Vec::new(), end: String::new() };
        let mut named_dimensions = named.iter();
        for part in parts {
            match part {
                Part::Literal(text) => pattern.end.push_str(text),
                Part::Index { width, .. } => {
                    let dimension = named_dimensions.next().copied().unwrap_or_default();
                    pattern.push(dimension, *width);
                }
                Part::Rest { width } => {
                    if named.len() == rank {
                        return Err(Invalid::new(format!(
                            "`{{*}}` stands for none of {rank} dimensions, because each has an expression"
                        )));
                    }
                    let others = (0..rank).filter(|dimension| !named.contains(dimension));
                    for (position, dimension) in others.enumerate() {
                        if position > 0 {
                            pattern.end.push_str(separator);
                        }
                        pattern.push(dimension, *width);
                    }
                }
            }
        }
        pattern.check(rank)
    }

    fn push(&mut self, dimension: usize, width: usize) {
        self.numbers.push(Number { before: std::mem::take(&mut self.end), dimension, width });
    }

    /// Checks that every chunk has a valid key, and that no two chunks have the same key.
    fn check(self, rank: usize) -> Result<Self, Invalid> {
        if self.numbers.len() != rank || rank == 0 {
            let count = self.numbers.len();
            return Err(Invalid::new(format!(
                "the template has expressions for {count} of {rank} dimensions, and each needs one"
            )));
        }
        let is_ambiguous = |number: &Number| number.before.bytes().all(|byte| byte.is_ascii_digit());
        if self.numbers.iter().skip(1).any(is_ambiguous) {
            return Err(Invalid::new(
                "only digits are between two expressions, so that two chunks could have one key",
            ));
        }
        let mut key = String::new();
        self.encode(&vec![0; rank], &mut key);
        let is_denied = ["..", "\\", "\0", DOCUMENT].iter().any(|denied| key.contains(denied));
        match Key::new(key.as_str()) {
            Ok(_) if !is_denied => Ok(self),
            _ => Err(Invalid::new(format!("the template has keys such as `{key}`, which are not valid"))),
        }
    }

    pub(crate) fn encode(&self, chunk_index: &[u64], key: &mut String) {
        for Number { before, dimension, width } in &self.numbers {
            let index = chunk_index[*dimension];
            let _always_succeeds = write!(key, "{before}{index:0width$}", width = *width);
        }
        key.push_str(&self.end);
    }

    /// Returns the chunk index in `key`, whose numbers may have another padding than `encode` writes.
    pub(crate) fn decode(&self, key: &str) -> Option<Vec<u64>> {
        let mut rest = key.strip_suffix(&*self.end)?;
        let mut chunk_index = vec![0; self.numbers.len()];
        for (position, number) in self.numbers.iter().enumerate() {
            rest = rest.strip_prefix(&*number.before)?;
            let digits = match self.numbers.get(position + 1) {
                Some(next) => &rest[..digits_before(rest, &next.before)?],
                None => rest,
            };
            rest = &rest[digits.len()..];
            chunk_index[number.dimension] = digits.parse().ok()?;
        }
        Some(chunk_index)
    }
}

/// Returns the number of digits before `next`. If `next` itself begins with digits, they are the last digits before
/// the first other character of `text`, and are not counted.
fn digits_before(text: &str, next: &str) -> Option<usize> {
    let not_a_digit = |character: char| !character.is_ascii_digit();
    text.find(not_a_digit)?.checked_sub(next.find(not_a_digit)?)
}

/// Returns the dimensions that the template names, in the order of its parts.
fn named(parts: &[Part], rank: usize) -> Result<Vec<usize>, Invalid> {
    let mut named = Vec::new();
    for part in parts {
        let &Part::Index { dimension: given, .. } = part else { continue };
        let from_start = usize::try_from(given).ok();
        let from_end = || usize::try_from(given.unsigned_abs()).ok().and_then(|back| rank.checked_sub(back));
        let dimension = from_start.or_else(from_end).filter(|&dimension| dimension < rank);
        let Some(dimension) = dimension else {
            return Err(Invalid::new(format!("the template names index {given} of {rank} dimensions")));
        };
        if named.contains(&dimension) {
            return Err(Invalid::new(format!("the template names dimension {dimension} twice")));
        }
        named.push(dimension);
    }
    Ok(named)
}
