//! Selections in NumPy notation, which depend on the shape of the array.

use std::fmt;
use std::str::FromStr;

use zarr_json::counted;

use super::{DimensionSelection, Selection, fmt_list};
use crate::error::Error;

/// A selection in NumPy notation, such as `0:10, :, ::2, 5`, with `[3, 1, 2]` for a list and `...` for all dimensions
/// in between.
///
/// Negative numbers count from the end, ranges are clipped to the array, an integer drops its dimension, and dimensions
/// at the end may be left out. Steps must be positive.
///
/// ```
/// use zarr_engine::Selection;
///
/// let selection: Selection = "0:4, ::2, ..., -1".parse()?;
/// assert_eq!(selection.to_string(), "[0:4, ::2, ..., -1]");
/// assert_eq!(selection.resolve(&[9, 9, 9, 9])?.to_string(), "[0:4, 0:9:2, 0:9, 8]");
/// # Ok::<(), zarr_engine::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionExpression(Vec<SelectionEntry>);

/// One entry of a [`SelectionExpression`]. A range, an integer, a list or `..` converts to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionEntry(Entry);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// All dimensions that have no other entry.
    Ellipsis,
    /// An entry that must lie in the array.
    Exact(DimensionSelection),
    /// Negative bounds count from the end; the range is clipped to the array.
    Slice { start: Option<i128>, stop: Option<i128>, step: u64 },
    /// A negative index counts from the end.
    Index(i128),
    /// Negative indices count from the end.
    List(Vec<i128>),
}

impl SelectionExpression {
    pub(super) fn new(entries: Vec<SelectionEntry>) -> Self {
        Self(entries)
    }

    /// Returns one entry per dimension of an array of `shape`.
    pub(super) fn resolve(&self, shape: &[u64]) -> Result<Vec<DimensionSelection>, Error> {
        let refuse = |what: String| Error::Selection(format!("selection `{self}`: {what}"));
        let ellipses = self.0.iter().filter(|entry| entry.0 == Entry::Ellipsis).count();
        let given = self.0.len() - ellipses;
        let Some(missing) = shape.len().checked_sub(given) else {
            let given = counted(given, "entry", "entries");
            return Err(refuse(format!("{given} for {}", counted(shape.len(), "dimension", "dimensions"))));
        };
        let mut dimensions = Vec::with_capacity(shape.len());
        for entry in &self.0 {
            let dimension = dimensions.len();
            match &entry.0 {
                Entry::Ellipsis => dimensions.extend(whole(&shape[dimension..dimension + missing])),
                entry => {
                    let resolved = entry.resolve(shape[dimension]);
                    dimensions
                        .push(resolved.map_err(|what| refuse(format!("dimension {dimension}: {what}")))?);
                }
            }
        }
        let rest = dimensions.len();
        dimensions.extend(whole(&shape[rest..]));
        Ok(dimensions)
    }
}

fn whole(lengths: &[u64]) -> impl Iterator<Item = DimensionSelection> + '_ {
    lengths.iter().map(|&length| (0..length).into())
}

impl SelectionEntry {
    pub(super) fn exact(dimension: DimensionSelection) -> Self {
        Self(Entry::Exact(dimension))
    }

    pub(super) fn slice(start: Option<i128>, stop: Option<i128>, step: u64) -> Self {
        Self(Entry::Slice { start, stop, step })
    }
}

impl Entry {
    fn resolve(&self, length: u64) -> Result<DimensionSelection, String> {
        match self {
            Self::Exact(dimension) => Ok(dimension.clone()),
            Self::Index(index) => resolve_index(*index, length).map(DimensionSelection::Index),
            Self::List(list) => {
                let list: Result<_, _> = list.iter().map(|&index| resolve_index(index, length)).collect();
                list.map(DimensionSelection::List)
            }
            Self::Slice { start, stop, step } => Ok(DimensionSelection::Range {
                start: clip(start.unwrap_or(0), length),
                stop: clip(stop.unwrap_or(length.into()), length),
                step: *step,
            }),
            Self::Ellipsis => Ok((0..length).into()),
        }
    }
}

fn resolve_index(number: i128, length: u64) -> Result<u64, String> {
    let index = u64::try_from(from_start(number, length)).ok().filter(|&index| index < length);
    index.ok_or_else(|| format!("index {number} is outside of {length} elements"))
}

fn clip(number: i128, length: u64) -> u64 {
    u64::try_from(from_start(number, length).clamp(0, length.into())).unwrap_or(length)
}

/// Converts a negative number, which counts from the end of `length` elements, to a number that counts from the start.
fn from_start(number: i128, length: u64) -> i128 {
    if number < 0 { number.saturating_add(length.into()) } else { number }
}

/// Parses NumPy notation. The result is not checked against the shape of an array: see [`Selection::resolve`].
impl FromStr for Selection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let refuse = |what: &str| Error::Selection(format!("selection `{text}`: {what}"));
        let entries = split(without_brackets(text).unwrap_or(text)).map_err(refuse)?;
        let mut parsed = Vec::with_capacity(entries.len());
        for (number, entry) in entries.into_iter().enumerate() {
            let entry = parse_entry(entry).map_err(|what| refuse(&format!("entry {number}: {what}")))?;
            parsed.push(SelectionEntry(entry));
        }
        if parsed.iter().filter(|entry| entry.0 == Entry::Ellipsis).count() > 1 {
            return Err(refuse("there can be only one `...`"));
        }
        Ok(Self::Expression(SelectionExpression(parsed)))
    }
}

/// Removes brackets around a whole selection, such as `[0:2, 3]` and `[...]`. Returns `None` without such brackets, and
/// for a list such as `[0, 3]`.
fn without_brackets(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let mut depth = 0i32;
    let is_nested = inner.chars().all(|character| {
        depth += i32::from(character == '[') - i32::from(character == ']');
        depth >= 0
    });
    let is_list = !inner.contains([':', '[']) && !inner.contains("...");
    (is_nested && !is_list).then_some(inner)
}

/// Splits at the commas that are not in brackets.
fn split(text: &str) -> Result<Vec<&str>, &'static str> {
    let mut entries = Vec::new();
    let mut depth = 0usize;
    let mut from = 0;
    for (position, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1).ok_or("`]` without `[`")?,
            ',' if depth == 0 => {
                entries.push(text[from..position].trim());
                from = position + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("`[` without `]`");
    }
    let last = text[from..].trim();
    if !last.is_empty() {
        entries.push(last);
    }
    Ok(entries)
}

fn parse_entry(entry: &str) -> Result<Entry, String> {
    if entry == "..." {
        return Ok(Entry::Ellipsis);
    }
    if let Some(list) = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']')) {
        let list = list.split(',').map(str::trim).filter(|index| !index.is_empty());
        return list.map(parse_number).collect::<Result<_, _>>().map(Entry::List);
    }
    let parts: Vec<&str> = entry.split(':').map(str::trim).collect();
    let (start, stop, step) = match parts[..] {
        [index] => return parse_number(index).map(Entry::Index),
        [start, stop] => (start, stop, ""),
        [start, stop, step] => (start, stop, step),
        _ => return Err(format!("`{entry}` has more than two `:`")),
    };
    let step = parse_bound(step)?.unwrap_or(1);
    if step <= 0 {
        return Err(format!("the step is {step}; only positive steps are supported"));
    }
    let step = u64::try_from(step).map_err(|_| format!("the step {step} is too large"))?;
    Ok(Entry::Slice { start: parse_bound(start)?, stop: parse_bound(stop)?, step })
}

fn parse_bound(text: &str) -> Result<Option<i128>, String> {
    if text.is_empty() { Ok(None) } else { parse_number(text).map(Some) }
}

fn parse_number(text: &str) -> Result<i128, String> {
    text.parse().map_err(|_| format!("`{text}` is not an integer"))
}

impl fmt::Display for SelectionExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_list(f, &self.0)
    }
}

impl fmt::Display for SelectionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Entry::Ellipsis => f.write_str("..."),
            Entry::Exact(dimension) => write!(f, "{dimension}"),
            Entry::Index(index) => write!(f, "{index}"),
            Entry::List(list) => write!(f, "{list:?}"),
            Entry::Slice { start, stop, step } => {
                let bound = |bound: &Option<i128>| bound.map_or(String::new(), |bound| bound.to_string());
                let step = if *step == 1 { String::new() } else { format!(":{step}") };
                write!(f, "{}:{}{step}", bound(start), bound(stop))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<DimensionSelection>, String> {
        match Selection::parse(text, &[10, 20, 30]) {
            Ok(Selection::Orthogonal(dimensions)) => Ok(dimensions),
            Ok(other) => Err(other.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn range(start: u64, stop: u64, step: u64) -> DimensionSelection {
        DimensionSelection::Range { start, stop, step }
    }

    #[test]
    fn parses_numpy_notation() {
        assert_eq!(parse("").unwrap(), [range(0, 10, 1), range(0, 20, 1), range(0, 30, 1)]);
        assert_eq!(parse("0:5,:,::2").unwrap(), [range(0, 5, 1), range(0, 20, 1), range(0, 30, 2)]);
        let indices = [range(7, 10, 1), DimensionSelection::Index(19), DimensionSelection::Index(5)];
        assert_eq!(parse("-3:,-1,5").unwrap(), indices);
        let last = [range(0, 10, 1), range(0, 20, 1), DimensionSelection::Index(4)];
        assert_eq!(parse("...,4").unwrap(), last);
        assert_eq!(parse("[3,1,-1],2").unwrap()[0], DimensionSelection::List(vec![3, 1, 9]));
        assert_eq!(parse("2:99").unwrap()[0], range(2, 10, 1));
        assert_eq!(parse("[0:2,3]").unwrap()[..2], [range(0, 2, 1), DimensionSelection::Index(3)]);
    }

    #[test]
    fn rejects_invalid_selections_with_the_reason() {
        assert_eq!(
            parse("10").unwrap_err(),
            "selection `[10]`: dimension 0: index 10 is outside of 10 elements"
        );
        assert!(parse("::-1").unwrap_err().contains("only positive steps"));
        assert!(parse("1,2,3,4").unwrap_err().contains("4 entries for 3 dimensions"));
        assert!(parse("a").unwrap_err().contains("`a` is not an integer"));
        assert!(parse("1,,2").unwrap_err().contains("entry 1: `` is not an integer"));
        assert!(parse("...,...").unwrap_err().contains("only one `...`"));
        assert!(parse("[1").unwrap_err().contains("without `]`"));
    }

    #[test]
    fn a_printed_expression_parses_to_itself() {
        for text in ["[0:4, ::2, 7, ...]", "[..., -1]", "[-3:, :5:2, [3, -1]]"] {
            let selection: Selection = text.parse().unwrap();
            assert_eq!(selection.to_string(), text);
        }
    }
}
