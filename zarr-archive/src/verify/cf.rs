//! Checks attributes that the CF conventions define: scale factors, times, and names of other variables.

use zarr_engine::Array;
use zarr_json::Value;

use super::nodes::{Found, Nodes};
use super::{Finding, FindingKind, Report};
use crate::logical::Named;

/// The attributes that name variables.
const REFERENCES: [&str; 5] = ["ancillary_variables", "bounds", "climatology", "coordinates", "grid_mapping"];

/// The calendars of CF.
const CALENDARS: [&str; 13] = [
    "360_day",
    "365_day",
    "366_day",
    "all_leap",
    "gregorian",
    "julian",
    "no_leap",
    "noleap",
    "none",
    "proleptic_gregorian",
    "standard",
    "tai",
    "utc",
];

/// The beginnings of names of units of time.
const TIMES: [&str; 10] = ["year", "month", "week", "day", "hour", "hr", "min", "sec", "milli", "micro"];

/// Checks arrays whose dimensions have names, as those of all CF variables.
pub(super) fn check(nodes: &Nodes, report: &mut Report) {
    let is_variable = |array: &&Array| {
        let names = Named::of(array).names.unwrap_or_default();
        names.iter().any(Option::is_some) || array.shape().is_empty()
    };
    for array in nodes.arrays.iter().filter(is_variable) {
        let problems =
            wrong_numbers(array).into_iter().chain(wrong_time(array)).chain(wrong_bounds(nodes, array));
        for problem in problems {
            report.add(Finding::new(FindingKind::Convention, problem).at(array.path()));
        }
        // Programs that select variables often leave such names. Readers ignore them.
        for name in missing(nodes, array) {
            report.add(Finding::new(FindingKind::Tolerated, name).at(array.path()));
        }
    }
}

/// Describes scale factors and offsets that are not numbers. Some writers store a number as a text, or in a list.
fn wrong_numbers(array: &Array) -> Vec<String> {
    let mut problems = Vec::new();
    for name in ["scale_factor", "add_offset"] {
        let Some(value) = array.attributes().get(name) else { continue };
        let single = match value.as_array() {
            Some([single]) => single,
            _ => value,
        };
        let is_number = single.as_number().is_some()
            || single.as_str().is_some_and(|text| text.trim().parse::<f64>().is_ok());
        if !is_number {
            problems.push(format!("the CF attribute `{name}` is {value}, but it must be a number"));
        }
    }
    problems
}

/// Describes units of time without a reference date, and unknown calendars.
fn wrong_time(array: &Array) -> Vec<String> {
    let text = |name: &str| array.attributes().get(name).and_then(Value::as_str);
    let Some((unit, reference)) = text("units").and_then(|units| units.split_once(" since ")) else {
        return Vec::new();
    };
    let unit = unit.trim().to_ascii_lowercase();
    if !TIMES.iter().any(|name| unit.starts_with(name)) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let reference = reference.trim();
    if !is_date(reference) {
        problems.push(format!("the units count from `{reference}`, which is not a date such as 2000-01-01"));
    }
    let is_unknown = |calendar: &&str| !CALENDARS.contains(&calendar.to_ascii_lowercase().as_str());
    // A calendar that a file defines itself has its own lengths of months.
    let has_own_months = array.attributes().contains("month_lengths");
    if let Some(calendar) = text("calendar").filter(is_unknown).filter(|_| !has_own_months) {
        problems.push(format!("`{calendar}` is not a calendar of CF, such as `standard` or `noleap`"));
    }
    problems
}

/// Returns whether a text begins with a date: a year, or also a month and a day.
fn is_date(text: &str) -> bool {
    let date = text.trim_start_matches(['-', '+']).split(['T', 't', ' ']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    date.split('-').count() <= 3 && date.split('-').all(is_number)
}

/// Describes bounds whose shape is not that of the variable with one more dimension.
fn wrong_bounds(nodes: &Nodes, array: &Array) -> Vec<String> {
    let mut problems = Vec::new();
    for attribute in ["bounds", "climatology"] {
        let Some(name) = array.attributes().get(attribute).and_then(Value::as_str) else { continue };
        let Found::Array(bounds) = nodes.near(array, name) else { continue };
        let expected = array.shape();
        let is_right = bounds.shape().len() == expected.len() + 1 && bounds.shape().starts_with(expected);
        if !is_right {
            let shape = bounds.shape();
            problems.push(format!(
                "the bounds `{name}` have shape {shape:?}, but the variable has {expected:?} and each value needs \
                 one row of bounds"
            ));
        }
    }
    problems
}

/// Describes names of variables that do not exist.
fn missing(nodes: &Nodes, array: &Array) -> Vec<String> {
    let mut problems = Vec::new();
    for attribute in REFERENCES {
        let text = array.attributes().get(attribute).and_then(Value::as_str).unwrap_or_default();
        // `grid_mapping` may list the coordinates of each mapping: `crs: x y`.
        let names = text.split_whitespace().map(|name| name.trim_end_matches(':'));
        for name in names.filter(|name| !name.starts_with("..")) {
            let found = match name.starts_with('/') {
                true => nodes.at(name),
                false => nodes.near(array, name),
            };
            if matches!(found, Found::Nothing) {
                problems.push(format!("the CF attribute `{attribute}` names `{name}`, which does not exist"));
            }
        }
    }
    problems
}
