//! Checks the conventions that GeoZarr consists of: `spatial`, `proj` and `multiscales` with a layout.

use zarr_engine::{Array, Group};
use zarr_json::{Object, Value};

use super::nodes::{Found, Nodes};
use super::{Finding, FindingKind, Report};
use crate::logical::Named;

/// Checks the attributes of all nodes whose names begin with `spatial:` or `proj:`, and the levels of groups.
pub(super) fn check(nodes: &Nodes, report: &mut Report) {
    for array in &nodes.arrays {
        let problems = wrong_values(array.attributes()).into_iter().chain(wrong_dimensions(array));
        for problem in problems {
            report.add(Finding::new(FindingKind::Convention, problem).at(array.path()));
        }
    }
    for group in &nodes.groups {
        let problems = wrong_values(group.attributes()).into_iter().chain(wrong_levels(nodes, group));
        for problem in problems {
            report.add(Finding::new(FindingKind::Convention, problem).at(group.path()));
        }
    }
}

/// Describes attributes of a wrong type or length.
fn wrong_values(attributes: &Object) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |name: &str, expected: &str, is_right: &dyn Fn(&Value) -> bool| {
        if let Some(value) = attributes.get(name).filter(|value| !value.is_null() && !is_right(value)) {
            problems.push(format!("`{name}` is {value}, but it must be {expected}"));
        }
    };
    let kind = attributes.get("spatial:transform_type").and_then(Value::as_str).unwrap_or("affine");
    if kind == "affine" {
        check("spatial:transform", "six numbers", &|value| numbers(value) == Some(6));
    }
    check("spatial:bbox", "four numbers", &|value| numbers(value) == Some(4));
    check("spatial:dimensions", "a list of names", &|value| names(value).is_some());
    check("spatial:shape", "a list of lengths", &|value| lengths(value).is_some());
    check("proj:code", "a code such as EPSG:4326", &|value| {
        value.as_str().is_some_and(|text| {
            text.split_once(':').is_some_and(|(authority, code)| !authority.is_empty() && !code.is_empty())
        })
    });
    check("proj:wkt2", "a text", &|value| value.as_str().is_some());
    check("proj:projjson", "an object", &|value| value.as_object().is_some());
    problems
}

/// Returns the length of a list of numbers.
fn numbers(value: &Value) -> Option<usize> {
    let items = value.as_array()?;
    items.iter().all(|item| item.as_number().is_some()).then_some(items.len())
}

fn names(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn lengths(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

/// Compares the spatial dimensions of an array with its own.
fn wrong_dimensions(array: &Array) -> Vec<String> {
    let Some(spatial) = array.attributes().get("spatial:dimensions").and_then(names) else {
        return Vec::new();
    };
    // Without names, nothing contradicts the attribute.
    let Some(own) = Named::of(array).names else { return Vec::new() };
    let position = |name: &str| own.iter().position(|own| own.as_deref() == Some(name));
    let mut problems: Vec<String> = spatial
        .iter()
        .filter(|name| position(name).is_none())
        .map(|name| format!("`spatial:dimensions` names `{name}`, which is not a dimension of the array"))
        .collect();
    let shape = array.attributes().get("spatial:shape").and_then(lengths).unwrap_or_default();
    for (name, length) in spatial.iter().zip(&shape) {
        if let Some(position) = position(name).filter(|&position| array.shape()[position] != *length) {
            let actual = array.shape()[position];
            problems.push(format!("`spatial:shape` is {length} along `{name}`, but the array has {actual}"));
        }
    }
    problems
}

/// Describes levels of a pyramid that do not exist.
fn wrong_levels(nodes: &Nodes, group: &Group) -> Vec<String> {
    let layout = group.attributes().get("multiscales").and_then(|scales| scales.as_object()?.get("layout"));
    let levels = layout.and_then(Value::as_array).unwrap_or_default();
    let assets = levels.iter().filter_map(|level| level.as_object()?.get("asset")?.as_str());
    let is_missing = |asset: &&str| matches!(nodes.below(group, asset), Found::Nothing);
    assets
        .filter(is_missing)
        .map(|asset| format!("the level `{asset}` of `multiscales` is neither an array nor a group"))
        .collect()
}
