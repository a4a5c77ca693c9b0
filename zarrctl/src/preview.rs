//! Draws a two-dimensional array on a terminal.

use std::fmt::Write as _;

use zarr_kit::json::counted;
use zarr_kit::{Array, DimensionSelection, Selection};

use crate::failure::Failure;

/// The most characters per line, and the most lines.
pub(crate) const SIZE: (u64, u64) = (72, 24);

const COLOURS: [u8; 16] = [16, 17, 18, 54, 55, 91, 127, 162, 197, 203, 209, 215, 221, 227, 229, 231];

const CHARACTERS: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];

/// Draws evenly spaced elements of an array of numbers, with two colours per character or with plain
/// characters.
pub(crate) fn draw(array: &Array, colours: bool) -> Result<String, Failure> {
    let &[height, width] = array.shape() else {
        let rank = counted(array.shape().len(), "dimension", "dimensions");
        return Err(Failure::fault(format!("{} has {rank}; a preview needs 2", array.path())));
    };
    if height == 0 || width == 0 {
        return Ok(String::new());
    }
    let lines = SIZE.1 * 2;
    // A character is about twice as high as it is wide.
    let step = width.div_ceil(SIZE.0).max(height.div_ceil(lines)).max(1);
    let row_step = if colours { step } else { 2 * step };
    let range = |stop, step| DimensionSelection::Range { start: 0, stop, step };
    let selection = Selection::Orthogonal(vec![range(height, row_step), range(width, step)]);
    let elements = array.read(&selection)?;
    let value = |at| Ok(elements.print(at)?.parse().unwrap_or(f64::NAN));
    let values = (0..elements.count()).map(value).collect::<Result<Vec<f64>, Failure>>()?;
    let columns = usize::try_from(elements.shape()[1]).unwrap_or(1);
    Ok(drawn(&values, columns, colours))
}

/// Draws values in rows of `columns` values.
pub(crate) fn drawn(values: &[f64], columns: usize, colours: bool) -> String {
    let rows: Vec<&[f64]> = values.chunks(columns.max(1)).collect();
    let scale = Scale::of(values);
    if colours { in_colours(&rows, &scale) } else { in_characters(&rows, &scale) }
}

fn in_characters(rows: &[&[f64]], scale: &Scale) -> String {
    let mut text = String::new();
    for row in rows {
        text.extend(row.iter().map(|&value| CHARACTERS[scale.level(value, CHARACTERS.len())]));
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// Draws two rows per line: the foreground colours the upper half of each character, the background the lower
/// half.
fn in_colours(rows: &[&[f64]], scale: &Scale) -> String {
    let colour = |value: f64| COLOURS[scale.level(value, COLOURS.len())];
    let mut text = String::new();
    for pair in rows.chunks(2) {
        for (column, &upper) in pair[0].iter().enumerate() {
            // Writing to a string does not fail.
            let _written = match pair.get(1).and_then(|lower| lower.get(column)) {
                Some(&lower) => write!(text, "\x1b[38;5;{};48;5;{}m▀", colour(upper), colour(lower)),
                None => write!(text, "\x1b[38;5;{};49m▀", colour(upper)),
            };
        }
        text.push_str("\x1b[0m\n");
    }
    text
}

#[derive(Debug)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        Self { low: finite().fold(f64::INFINITY, f64::min), high: finite().fold(f64::NEG_INFINITY, f64::max) }
    }

    /// Maps a value to one of `levels` levels; NaN is level 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the result is clamped to a few levels"
    )]
    fn level(&self, value: f64, levels: usize) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        ((share * levels as f64) as usize).min(levels - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_span_the_smallest_to_the_largest_value() {
        let scale = Scale::of(&[2.0, 4.0, f64::NAN, 12.0, f64::INFINITY]);
        assert_eq!([2.0, 6.9, 7.1, 12.0, 99.0].map(|value| scale.level(value, 2)), [0, 0, 1, 1, 1]);
        assert_eq!(scale.level(f64::NAN, 5), 0);
        assert_eq!(Scale::of(&[3.0]).level(3.0, 5), 0);
        assert_eq!(Scale::of(&[]).level(3.0, 5), 0);
    }

    #[test]
    fn each_character_shows_one_or_two_elements() {
        let rows: [&[f64]; 3] = [&[0.0, 9.0], &[9.0, 0.0], &[9.0, 9.0]];
        let scale = Scale { low: 0.0, high: 9.0 };
        assert_eq!(in_characters(&rows, &scale), " @\n@\n@@\n");
        let picture = in_colours(&rows, &scale);
        assert_eq!(picture.lines().count(), 2);
        assert_eq!(picture.matches('▀').count(), 4);
    }
}
