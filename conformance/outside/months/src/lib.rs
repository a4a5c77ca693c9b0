//! The chunk grid `outside.months`: the first dimension of an array counts days, and each month is a chunk. Along
//! each other dimension, all chunks have the same length.
//!
//! The first element is the first day of `first_month`. `chunk_shape` has the lengths along the other dimensions. A
//! month is stored as a whole, even if the array ends within it. Chunks thus have 28 to 31 days, and the array can
//! grow without a list of lengths. The Gregorian calendar also applies to days before its introduction.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Creation, Example, Identifiers, Invalid};

zarr_spec::register!(
    ChunkGridPlugin::new(IDENTIFIERS, &create)
        .configuration::<MonthsConfiguration>()
        .about("Divides the days along the first dimension into months.", EXAMPLES)
);

const IDENTIFIERS: Identifiers =
    Identifiers::name("outside.months").with_uri("https://outside.example/grids/months/1.0");

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "outside.months", "configuration": {"first_month": "2024-01", "chunk_shape": [4]}}"#,
    )
    .with_shape(&[400, 10]),
    Example::v3(
        r#"{"name": "outside.months", "configuration": {"first_month": "1899-12", "chunk_shape": []}}"#,
    )
    .with_shape(&[40_000]),
    Example::draft(
        r#"{"extension": "https://outside.example/grids/months/1.0", "type": "months",
            "configuration": {"first_month": "2024-01", "chunk_shape": [4]}}"#,
    )
    .with_shape(&[400, 10]),
];

#[derive(Debug, Deserialize)]
struct MonthsConfiguration {
    first_month: Month,
    chunk_shape: Vec<u64>,
}

/// A month, as the number of months since January of the year 0.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Month(u64);

impl TryFrom<String> for Month {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = text.split_once('-').filter(|(year, month)| {
            (year.len(), month.len()) == (4, 2) && is_number(year) && is_number(month)
        });
        let year = parts.and_then(|(year, _)| year.parse::<u64>().ok());
        let month =
            parts.and_then(|(_, month)| month.parse::<u64>().ok()).filter(|month| (1..=12).contains(month));
        match (year, month) {
            (Some(year), Some(month)) => Ok(Self(year * 12 + month - 1)),
            _ => Err("expected a month: a year of four digits, `-`, and 01 to 12"),
        }
    }
}

/// The number of days before each month of a year, without a leap day.
const DAYS_BEFORE: [u128; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// The number of months and days in a cycle of the calendar: 400 years.
const CYCLE: (u128, u128) = (4800, 146_097);

/// Returns the number of days from the start of the year 0 to the start of a month. Months past the end of every
/// array are valid, too.
fn days_before(month: u128) -> u128 {
    let year = month / 12;
    let of_year = month % 12;
    // The year 0 is a leap year.
    let leap_days = |years: u128| years.div_ceil(4) - years.div_ceil(100) + years.div_ceil(400);
    // From March on, the year's own leap day counts.
    let leap_days = leap_days(if of_year < 2 { year } else { year + 1 });
    year * 365 + leap_days + DAYS_BEFORE[of_year as usize]
}

/// Returns the month of a day; both are counted from the start of the year 0.
fn month_of(day: u128) -> u128 {
    let guess = day * CYCLE.0 / CYCLE.1;
    // Months differ little in length: the month is the guess or one of its neighbors.
    (guess.saturating_sub(1)..=guess + 1).rev().find(|month| days_before(*month) <= day).unwrap_or(0)
}

/// A grid with a chunk for each month along the first dimension.
#[derive(Debug)]
struct Months {
    first: u128,
    /// The chunk lengths along the other dimensions.
    chunk_shape: Vec<u64>,
    array_shape: Vec<u64>,
    grid_shape: Vec<u64>,
}

impl Months {
    fn new(first: Month, chunk_shape: Vec<u64>, array_shape: &[u64]) -> Result<Self, GridError> {
        let Some((days, others)) = array_shape.split_first() else {
            return Err(Invalid::new("an array without dimensions cannot be divided into months").into());
        };
        if others.len() != chunk_shape.len() || chunk_shape.contains(&0) {
            let what =
                format!("`chunk_shape` is {chunk_shape:?}; expected {} positive lengths", others.len());
            return Err(Invalid::new(what).into());
        }
        let mut grid = Self {
            first: first.0.into(),
            chunk_shape,
            array_shape: array_shape.to_vec(),
            grid_shape: Vec::new(),
        };
        let months = days.checked_sub(1).map_or(Ok(0), |last| Ok(grid.month(last)? + 1));
        let others = others.iter().zip(&grid.chunk_shape).map(|(length, chunk)| Ok(length.div_ceil(*chunk)));
        grid.grid_shape = std::iter::once(months).chain(others).collect::<Result<_, GridError>>()?;
        Ok(grid)
    }

    /// Returns the month of an element, counted from the first month.
    fn month(&self, element: u64) -> Result<u64, GridError> {
        let month = month_of(days_before(self.first) + u128::from(element)) - self.first;
        u64::try_from(month).map_err(|_| GridError::OutOfBounds(format!("month {month}")))
    }

    /// Returns the first element of a month.
    fn start(&self, month: u64) -> Result<u64, GridError> {
        let day = days_before(self.first + u128::from(month)) - days_before(self.first);
        u64::try_from(day)
            .map_err(|_| GridError::OutOfBounds(format!("month {month} is past the maximum array length")))
    }

    /// Checks that `number` is below the entry of `shape` for `dimension`.
    fn check(shape: &[u64], dimension: usize, number: u64, what: &str) -> Result<(), GridError> {
        match shape.get(dimension) {
            Some(count) if number < *count => Ok(()),
            _ => Err(GridError::OutOfBounds(format!(
                "{what} {number} along dimension {dimension} does not exist in {shape:?}"
            ))),
        }
    }
}

impl ChunkGrid for Months {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        Self::check(&self.grid_shape, dimension, chunk, "chunk")?;
        let Some(length) = dimension.checked_sub(1).map(|other| self.chunk_shape[other]) else {
            return Ok(self.start(chunk)?..self.start(chunk + 1)?);
        };
        // The product does not overflow, because the start lies in the array.
        let start = chunk * length;
        let end = start.checked_add(length);
        let end = end.ok_or_else(|| {
            GridError::OutOfBounds(format!("the end of chunk {chunk} exceeds the maximum array length"))
        })?;
        Ok(start..end)
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        Self::check(&self.array_shape, dimension, element, "element")?;
        match dimension.checked_sub(1) {
            None => self.month(element),
            Some(other) => Ok(element / self.chunk_shape[other]),
        }
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        None
    }

    fn largest_chunk(&self) -> Vec<u64> {
        [&[31], &*self.chunk_shape].concat()
    }
}

fn create(creation: &Creation<'_>, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let MonthsConfiguration { first_month, chunk_shape } = creation.parse()?;
    Ok(Arc::new(Months::new(first_month, chunk_shape, shape)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected numbers follow from tables of Julian days: the year 1970 starts 719528 days after the start of the
    /// year 0.
    #[test]
    fn days_match_the_calendar() {
        for (year, month, days) in
            [(0, 1, 0), (0, 3, 60), (1, 1, 366), (1900, 3, 694_020), (1970, 1, 719_528), (2000, 3, 730_545)]
        {
            assert_eq!(days_before(year * 12 + month - 1), days, "{year}-{month}");
        }
    }

    #[test]
    fn every_day_of_a_cycle_is_in_its_month() {
        for month in 0..CYCLE.0 + 24 {
            let start = days_before(month);
            let end = days_before(month + 1);
            assert!((28..=31).contains(&(end - start)), "{month}");
            assert!([start, start + 13, end - 1].into_iter().all(|day| month_of(day) == month), "{month}");
        }
    }
}
