//! Prints elements on a terminal in NumPy's layout: all elements of a small selection, the corners of a large
//! one.

use std::fmt::Write as _;

use zarr_kit::spec::{ByteOrder, Value, printable};
use zarr_kit::{Array, DimensionSelection, ElementArray, Selection};

use super::element::{to_json, to_text};
use crate::failure::Failure;
use crate::slabs;

/// The most elements that are printed without omissions.
const WHOLE: u64 = 1000;

/// The most characters in a line of several elements, as in NumPy.
const LINE: usize = 75;

/// Marks omitted elements.
const GAP: &str = "…";

/// The text for a selection.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Nested brackets, with a newline at the end.
    pub(crate) text: String,
    /// Whether elements are omitted.
    pub(crate) is_cut: bool,
}

pub(crate) fn summarise(array: &Array, along: &[DimensionSelection]) -> Result<Summary, Failure> {
    summarise_as(array, along, &texts)
}

/// Reads the corners of a selection, and arranges the texts of their elements.
pub(crate) fn summarise_as(
    array: &Array,
    along: &[DimensionSelection],
    texts: &dyn Fn(&ElementArray) -> Result<Vec<String>, Failure>,
) -> Result<Summary, Failure> {
    let is_cut = slabs::count(along) > WHOLE;
    let edge = if is_cut { edge(along) } else { u64::MAX };
    let cut: Vec<DimensionSelection> = along.iter().map(|along| ends(along, edge)).collect();
    let elements = array.read(Selection::Orthogonal(cut))?;
    // The position of the gap in each remaining dimension.
    let kept = along.iter().filter(|along| !matches!(along, DimensionSelection::Index(_)));
    let gaps = kept.map(|along| (slabs::length(along) > edge.saturating_mul(2)).then_some(edge)).collect();
    let texts = texts(&elements)?;
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let layout = Layout { shape: elements.shape().to_vec(), gaps, texts, width };
    let mut text = String::new();
    layout.write(&mut text, 0, 0, layout.texts.len());
    text.push('\n');
    Ok(Summary { text, is_cut })
}

/// Returns the number of entries at each end of a dimension, which is smaller for many dimensions.
fn edge(along: &[DimensionSelection]) -> u64 {
    match along.iter().filter(|along| slabs::length(along) > 1).count() {
        0..=3 => 3,
        4 | 5 => 2,
        _ => 1,
    }
}

fn ends(along: &DimensionSelection, edge: u64) -> DimensionSelection {
    let length = slabs::length(along);
    if length <= edge.saturating_mul(2) {
        return along.clone();
    }
    let entry = |number: u64| match along {
        DimensionSelection::Range { start, step, .. } => start.saturating_add(number.saturating_mul(*step)),
        DimensionSelection::Index(index) => *index,
        DimensionSelection::List(list) => {
            usize::try_from(number).ok().and_then(|at| list.get(at)).copied().unwrap_or(0)
        }
    };
    DimensionSelection::List((0..edge).chain(length - edge..length).map(entry).collect())
}

/// Formats every element in printable form; strings in quotes.
pub(crate) fn texts(elements: &ElementArray) -> Result<Vec<String>, Failure> {
    let data_type = elements.data_type();
    let text = |element: &[u8]| match to_json(data_type, element, &ByteOrder::Little) {
        Ok(json @ (Value::String(_) | Value::Object(_) | Value::Array(_))) => Ok(json.to_string()),
        _ => Ok(printable(to_text(data_type, element)?).to_string()),
    };
    elements.iter().map(text).collect()
}

/// Texts in C order.
#[derive(Debug)]
struct Layout {
    shape: Vec<u64>,
    /// The number of entries before the gap in each dimension.
    gaps: Vec<Option<u64>>,
    texts: Vec<String>,
    width: usize,
}

impl Layout {
    /// Writes the `count` elements that begin at `first`, nested by the dimensions from `depth` on.
    fn write(&self, to: &mut String, depth: usize, first: usize, count: usize) {
        let Some((&length, inner)) = self.shape[depth..].split_first() else {
            let text = self.texts.get(first).map_or("", String::as_str);
            // Writing to a string does not fail.
            let _written = write!(to, "{text:>width$}", width = self.width);
            return;
        };
        let next_line = |lines| format!("{}{:indent$}", "\n".repeat(lines), "", indent = depth + 1);
        let separator = |used: &mut usize| {
            *used += 1 + self.width;
            match inner.len() {
                0 if *used > LINE => {
                    *used = depth + 1 + self.width;
                    next_line(1)
                }
                0 => " ".to_owned(),
                deeper => next_line(deeper),
            }
        };
        let each = usize::try_from(length).ok().and_then(|length| count.checked_div(length)).unwrap_or(0);
        let mut used = depth + 1 + self.width;
        to.push('[');
        for number in 0..length {
            if number > 0 {
                to.push_str(&separator(&mut used));
            }
            if self.gaps.get(depth).copied().flatten() == Some(number) {
                to.push_str(GAP);
                to.push_str(&separator(&mut used));
            }
            let place = usize::try_from(number).unwrap_or(0);
            self.write(to, depth + 1, first + place * each, each);
        }
        to.push(']');
    }
}

#[cfg(test)]
mod tests {
    use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Registry, open_store};

    use super::*;

    fn array(shape: &[u64]) -> Array {
        let context = Context::new(Registry::linked().unwrap());
        let store = open_store(context.registry(), "memory:").unwrap();
        let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
        let array = hierarchy.create_array("/a", &ArrayBuilder::new(shape.to_vec(), "int32")).unwrap();
        let count: u64 = shape.iter().product();
        let numbers: Vec<u8> =
            (0..count).flat_map(|number| i32::try_from(number).unwrap().to_ne_bytes()).collect();
        array.write(&Selection::All, &numbers).unwrap();
        array
    }

    fn shown(shape: &[u64], select: &str) -> Summary {
        let array = array(shape);
        summarise(&array, &slabs::parse(Some(select), &array).unwrap()).unwrap()
    }

    #[test]
    fn long_rows_are_broken_at_75_characters() {
        let lines: Vec<String> = shown(&[40], "...").text.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("[ 0  1  2 ") && lines[0].ends_with(" 23 24"), "{lines:?}");
        assert!(lines[1].starts_with(" 25 26 ") && lines[1].ends_with(" 39]"), "{lines:?}");
    }

    #[test]
    fn a_small_selection_is_shown_completely() {
        let whole = shown(&[2, 3], "");
        assert_eq!((whole.text.as_str(), whole.is_cut), ("[[0 1 2]\n [3 4 5]]\n", false));
        assert_eq!(shown(&[2, 3], "1,2").text, "5\n");
        assert_eq!(shown(&[0], "").text, "[]\n");
        let thousand = shown(&[1000], "").text;
        assert_eq!(thousand.trim_matches(['[', ']', '\n']).split_whitespace().count(), 1000);
    }

    #[test]
    fn the_corners_of_a_large_selection_are_shown() {
        let cut = shown(&[100, 200], "");
        let expected = "\
[[    0     1     2 …   197   198   199]
 [  200   201   202 …   397   398   399]
 [  400   401   402 …   597   598   599]
 …
 [19400 19401 19402 … 19597 19598 19599]
 [19600 19601 19602 … 19797 19798 19799]
 [19800 19801 19802 … 19997 19998 19999]]
";
        assert_eq!((cut.text.as_str(), cut.is_cut), (expected, true));
        assert_eq!(shown(&[3, 3000], "1, 5::2").text, "[3005 3007 3009 … 5995 5997 5999]\n");
    }

    #[test]
    fn an_empty_line_separates_planes() {
        let text = shown(&[2, 2, 1], "").text;
        assert_eq!(text, "[[[0]\n  [1]]\n\n [[2]\n  [3]]]\n");
    }
}
