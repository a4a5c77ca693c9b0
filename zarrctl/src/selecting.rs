//! Selections of the command line: by position, by dimension name, and by coordinate.

mod for_copy;

use zarr_kit::archive::dimension_names;
use zarr_kit::{Array, DimensionSelection, Hierarchy, NodePath, Selection};

use crate::cf::TimeUnits;
use crate::failure::Failure;
use crate::forms::element::to_text;
use crate::similar::similar;
use crate::slabs;

/// The most values of a coordinate that are searched.
const MOST_VALUES: u64 = 1 << 27;

/// The largest difference between a number and the coordinate value that the number selects, as a share of the distance
/// to the next value.
const NEAR: f64 = 1e-3;

pub(crate) use for_copy::ForCopy;

/// Parses a selection: `0:10,5` in NumPy's notation, or `time=2001-02,lat=0:45,lon=[0:10]` by dimension name, with
/// values of coordinates or positions in brackets. `None` selects everything.
pub(crate) fn parse(
    text: Option<&str>,
    array: &Array,
    hierarchy: &Hierarchy,
) -> Result<Vec<DimensionSelection>, Failure> {
    let Some(named) = text.filter(|text| text.contains('=')) else { return slabs::parse(text, array) };
    let names = dimension_names(array);
    let whole = |&length: &u64| DimensionSelection::Range { start: 0, stop: length, step: 1 };
    let mut along: Vec<_> = array.shape().iter().map(whole).collect();
    for entry in entries(named) {
        let (name, value) = entry.split_once('=').ok_or_else(|| {
            Failure::fault(format!("selection `{entry}`: expected NAME=VALUE, as for the other dimensions"))
        })?;
        let name = name.trim();
        let dimension = names.iter().position(|own| own.as_deref() == Some(name));
        let dimension = dimension.ok_or_else(|| unknown(name, array, &names))?;
        let length = array.shape()[dimension];
        let selected = selected(array, hierarchy, &Entry { name, value: value.trim(), length });
        along[dimension] = selected.map_err(|error| error.while_doing(&format!("selection `{entry}`")))?;
    }
    Ok(along)
}

/// A selection along one dimension.
struct Entry<'a> {
    name: &'a str,
    value: &'a str,
    /// The length of the dimension.
    length: u64,
}

fn unknown(name: &str, array: &Array, names: &[Option<String>]) -> Failure {
    let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let path = array.path();
    if known.is_empty() {
        return Failure::fault(format!("{path} has no dimension names; select by position, such as 0:10,5"));
    }
    let hint = similar(name, known.iter().copied());
    let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Failure::fault(format!("{path} has no dimension `{name}`, only {}{hint}", known.join(", ")))
}

/// Splits at commas outside of brackets.
fn entries(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character| {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

fn selected(array: &Array, hierarchy: &Hierarchy, entry: &Entry<'_>) -> Result<DimensionSelection, Failure> {
    if let Some(positions) = entry.value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        // The parser of positions requires brackets around a list only.
        let text = if positions.contains(',') { entry.value } else { positions };
        return by_position(text, entry.length);
    }
    match coordinate(array, hierarchy, entry)? {
        Some(coordinate) => by_value(&Values::of(&coordinate)?, entry.value),
        None => by_position(entry.value, entry.length),
    }
}

fn by_position(text: &str, length: u64) -> Result<DimensionSelection, Failure> {
    match Selection::parse(text, &[length])? {
        Selection::Orthogonal(along) if along.len() == 1 => Ok(along[0].clone()),
        other => Err(Failure::fault(format!("{other} is not a selection along one dimension"))),
    }
}

/// Finds the coordinate of a dimension: the array with its name, in the group of `array` or above it.
pub(crate) fn coordinate_of(
    array: &Array,
    hierarchy: &Hierarchy,
    name: &str,
    length: u64,
) -> Result<Option<Array>, Failure> {
    if array.path().name() == name && array.shape().len() == 1 {
        return Ok(Some(array.clone()));
    }
    let mut group = array.path().parent();
    while let Some(path) = group {
        if let Some(found) = one_dimensional(hierarchy, &path, name)?
            && found.shape() == [length]
        {
            return Ok(Some(found));
        }
        group = path.parent();
    }
    Ok(None)
}

fn coordinate(array: &Array, hierarchy: &Hierarchy, entry: &Entry<'_>) -> Result<Option<Array>, Failure> {
    coordinate_of(array, hierarchy, entry.name, entry.length)
}

/// Opens an array of one dimension.
fn one_dimensional(hierarchy: &Hierarchy, group: &NodePath, name: &str) -> Result<Option<Array>, Failure> {
    let Ok(path) = group.child(name, hierarchy.format()) else { return Ok(None) };
    if !hierarchy.exists(&path)? {
        return Ok(None);
    }
    Ok(hierarchy.array(&path).ok().filter(|array| array.shape().len() == 1))
}

/// The values of a coordinate.
enum Values {
    Numbers { numbers: Vec<f64>, time: Option<TimeUnits> },
    Texts(Vec<String>),
}

impl Values {
    fn of(coordinate: &Array) -> Result<Self, Failure> {
        let path = coordinate.path();
        if coordinate.len() > MOST_VALUES {
            return Err(Failure::fault(format!(
                "{path} has too many values to search; select positions: [0:10]"
            )));
        }
        let time = TimeUnits::of(coordinate);
        let elements = coordinate.read(..)?;
        let data_type = elements.data_type();
        if let Some(numbers) = zarr_kit::archive::numbers(&elements) {
            return Ok(Self::Numbers { numbers, time });
        }
        let texts = elements.iter().map(|element| to_text(data_type, element)).collect::<Result<_, _>>()?;
        Ok(Self::Texts(texts))
    }
}

fn by_value(values: &Values, text: &str) -> Result<DimensionSelection, Failure> {
    match values {
        Values::Texts(texts) => {
            let found = texts.iter().position(|own| own == text);
            let found = found.ok_or_else(|| {
                let hint = similar(text, texts.iter().map(String::as_str));
                let hint = hint.map_or_else(String::new, |text| format!("; did you mean `{text}`?"));
                Failure::fault(format!("the coordinate has no `{text}`{hint}"))
            })?;
            Ok(DimensionSelection::Index(found as u64))
        }
        Values::Numbers { numbers, time } => match (time, text.parse::<f64>()) {
            // `2001` is a number, but for a coordinate of times it is a year.
            (None, Ok(number)) => nearest(numbers, number),
            _ => {
                let descends = numbers.first() > numbers.last();
                let Bounds { from, until, is_closed } = bounds(text, time.as_ref(), descends)?;
                let is_inside =
                    |value: f64| value >= from && (value < until || (is_closed && value <= until));
                within(numbers, is_inside, time.as_ref())
            }
        },
    }
}

/// Returns the position of the coordinate value that is nearest to `wanted`. Fails if the difference is too large.
fn nearest(numbers: &[f64], wanted: f64) -> Result<DimensionSelection, Failure> {
    let distance = |number: f64| (number - wanted).abs();
    let near = numbers.iter().enumerate().filter(|(_, number)| !number.is_nan());
    let Some((position, &number)) = near.min_by(|one, other| distance(*one.1).total_cmp(&distance(*other.1)))
    else {
        return Err(Failure::fault("the coordinate has no values"));
    };
    let neighbours = [position.wrapping_sub(1), position + 1];
    let spacing = neighbours.iter().filter_map(|&at| numbers.get(at)).map(|other| (other - number).abs());
    let spacing = spacing.fold(f64::INFINITY, f64::min);
    let allowed = if spacing.is_finite() { spacing * NEAR } else { number.abs() * 1e-6 };
    if distance(number) > allowed {
        return Err(Failure::fault(format!(
            "the coordinate has no {wanted}; the nearest value is {number}, at position [{position}]"
        )));
    }
    Ok(DimensionSelection::Index(position as u64))
}

/// A range of values.
#[derive(Clone, Copy)]
struct Bounds {
    from: f64,
    until: f64,
    /// Whether `until` belongs to the range.
    is_closed: bool,
}

/// Parses `VALUE` or `FIRST:LAST`, with both ends in the range. Times contain colons, too.
///
/// `FIRST` may be the larger value if the coordinate descends. If it ascends, such a range is empty: for longitudes, it
/// could mean the range across the date line.
fn bounds(text: &str, time: Option<&TimeUnits>, descends: bool) -> Result<Bounds, Failure> {
    let one = |text: &str| match time {
        Some(time) => time.bounds(text).map(|(from, until)| Bounds { from, until, is_closed: false }),
        None => text.trim().parse().ok().map(|value| Bounds { from: value, until: value, is_closed: true }),
    };
    if let Some(bounds) = one(text) {
        return Ok(bounds);
    }
    for (at, _) in text.match_indices(':') {
        let [first, last] = [text[..at].trim(), text[at + 1..].trim()];
        let all = Bounds { from: f64::NEG_INFINITY, until: f64::INFINITY, is_closed: true };
        let start = if first.is_empty() { Some(all) } else { one(first) };
        let end = if last.is_empty() { Some(all) } else { one(last) };
        let (Some(start), Some(end)) = (start, end) else { continue };
        let is_turned = descends && !first.is_empty() && !last.is_empty() && start.from > end.from;
        let (start, end) = if is_turned { (end, start) } else { (start, end) };
        return Ok(Bounds { from: start.from, ..end });
    }
    let expected =
        if time.is_some() { "a date such as 2001, 2001-02 or 2001-02-03T04:05" } else { "a number" };
    Err(Failure::fault(format!(
        "`{text}`: expected {expected}, or FIRST:LAST, or positions in brackets: [0:10]"
    )))
}

/// Returns the positions of the values inside of a range.
fn within(
    numbers: &[f64],
    is_inside: impl Fn(f64) -> bool,
    time: Option<&TimeUnits>,
) -> Result<DimensionSelection, Failure> {
    let found: Vec<u64> =
        numbers.iter().zip(0..).filter(|(number, _)| is_inside(**number)).map(|(_, at)| at).collect();
    let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
        let text = |number: f64| time.map_or_else(|| number.to_string(), |time| time.text(number));
        let all = || numbers.iter().copied().filter(|number| number.is_finite());
        let least = all().fold(f64::INFINITY, f64::min);
        let most = all().fold(f64::NEG_INFINITY, f64::max);
        return Err(Failure::fault(format!(
            "no value of the coordinate is in this range; it has {} to {}",
            text(least),
            text(most)
        )));
    };
    Ok(match last - first + 1 == found.len() as u64 {
        true => DimensionSelection::Range { start: first, stop: last + 1, step: 1 },
        false => DimensionSelection::List(found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, stop: u64) -> DimensionSelection {
        DimensionSelection::Range { start, stop, step: 1 }
    }

    fn time() -> Option<TimeUnits> {
        TimeUnits::parse("days since 2001-01-01", "standard")
    }

    #[test]
    fn values_select_positions() {
        let numbers = vec![90.0, 60.0, 30.0, 0.0, -30.0];
        let latitudes = Values::Numbers { numbers, time: None };
        let found = |text: &str| by_value(&latitudes, text).unwrap();
        assert_eq!(found("0:45"), range(2, 4));
        assert_eq!(found("60"), DimensionSelection::Index(1));
        assert_eq!(found("60.0001"), DimensionSelection::Index(1));
        assert_eq!(found(":0"), range(3, 5));
        assert_eq!(found("-30:"), range(0, 5));
        let message = |text: &str| by_value(&latitudes, text).unwrap_err().message().unwrap();
        assert!(message("61").contains("the nearest value is 60, at position [1]"), "{}", message("61"));
        assert!(message("100:200").contains("it has -30 to 90"), "{}", message("100:200"));
        assert!(message("x").contains("expected a number"), "{}", message("x"));
    }

    #[test]
    fn dates_select_all_times_in_them() {
        let numbers: Vec<f64> = (0..48).map(|half| f64::from(half) * 15.0).collect();
        let times = Values::Numbers { numbers, time: time() };
        let found = |text: &str| by_value(&times, text).unwrap();
        assert_eq!(found("2001-02"), range(3, 4));
        assert_eq!(found("2001"), range(0, 25));
        assert_eq!(found("2001-01-01T00:00:2001-01-31"), range(0, 3));
        assert_eq!(found("2001-12:"), range(23, 48));
        let message = by_value(&times, "1999").unwrap_err().message().unwrap();
        assert!(message.contains("it has 2001-01-01 to 2002-12-07"), "{message}");
    }

    #[test]
    fn unsorted_values_are_a_list() {
        let values = Values::Numbers { numbers: vec![1.0, 5.0, 2.0], time: None };
        assert_eq!(by_value(&values, "0:3").unwrap(), DimensionSelection::List(vec![0, 2]));
        let texts = Values::Texts(vec!["north".to_owned(), "south".to_owned()]);
        assert_eq!(by_value(&texts, "south").unwrap(), DimensionSelection::Index(1));
        assert!(by_value(&texts, "soth").unwrap_err().message().unwrap().contains("did you mean `south`?"));
    }

    #[test]
    fn commas_in_brackets_do_not_separate_entries() {
        assert_eq!(entries("a=[1,2],b=3"), ["a=[1,2]", "b=3"]);
    }
}
