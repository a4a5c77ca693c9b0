//! Checks the nodes that the encodings of AnnData consist of.

use zarr_engine::{Array, Group};
use zarr_json::Value;

use super::nodes::{Found, Nodes};
use super::{Finding, FindingKind, Report};

/// Checks groups with an attribute `encoding-type`.
pub(super) fn check(nodes: &Nodes, report: &mut Report) {
    for group in &nodes.groups {
        let problems = match group.attributes().get("encoding-type").and_then(Value::as_str) {
            Some("dataframe") => of_columns(nodes, group),
            Some(encoding @ ("csr_matrix" | "csc_matrix")) => of_matrix(nodes, group, encoding),
            Some("categorical") => missing(nodes, group, &["codes", "categories"]),
            Some(encoding) if encoding.starts_with("nullable-") => of_mask(nodes, group),
            _ => continue,
        };
        for problem in problems {
            report.add(Finding::new(FindingKind::Convention, problem).at(group.path()));
        }
    }
}

/// Describes members that do not exist.
fn missing(nodes: &Nodes, group: &Group, members: &[&str]) -> Vec<String> {
    let encoding = group.attributes().get("encoding-type").and_then(Value::as_str).unwrap_or_default();
    let is_missing = |member: &&&str| matches!(nodes.below(group, member), Found::Nothing);
    let text = |member: &&str| format!("`{member}` of AnnData encoding `{encoding}` is missing");
    members.iter().filter(is_missing).map(text).collect()
}

/// Checks a data frame: its index and its columns.
fn of_columns(nodes: &Nodes, group: &Group) -> Vec<String> {
    let index = group.attributes().get("_index").and_then(Value::as_str);
    let columns = group.attributes().get("column-order").and_then(Value::as_array).unwrap_or_default();
    let names: Vec<&str> = index.into_iter().chain(columns.iter().filter_map(Value::as_str)).collect();
    missing(nodes, group, &names)
}

/// Checks a sparse matrix: each stored number has an index, and `indptr` has one element more than there are rows or
/// columns.
fn of_matrix(nodes: &Nodes, group: &Group, encoding: &str) -> Vec<String> {
    let mut problems = missing(nodes, group, &["data", "indices", "indptr"]);
    let length = |member: &str| match nodes.below(group, member) {
        Found::Array(array) => array.shape().first().copied(),
        _ => None,
    };
    if let (Some(data), Some(indices)) = (length("data"), length("indices"))
        && data != indices
    {
        problems.push(format!("the sparse matrix has {data} numbers, but {indices} indices"));
    }
    let shape = group.attributes().get("shape").and_then(Value::as_array).unwrap_or_default();
    let along = if encoding == "csr_matrix" { shape.first() } else { shape.get(1) };
    if let (Some(count), Some(starts)) = (along.and_then(Value::as_u64), length("indptr"))
        && count.checked_add(1) != Some(starts)
    {
        let name = if encoding == "csr_matrix" { "rows" } else { "columns" };
        problems.push(format!("the sparse matrix has {count} {name}, but `indptr` has {starts} elements"));
    }
    problems
}

/// Checks elements that may be missing: the mask has the shape of the values.
fn of_mask(nodes: &Nodes, group: &Group) -> Vec<String> {
    let mut problems = missing(nodes, group, &["values", "mask"]);
    let array = |member: &str| match nodes.below(group, member) {
        Found::Array(array) => Some(array),
        _ => None,
    };
    let same = |values: &Array, mask: &Array| values.shape() == mask.shape();
    if let (Some(values), Some(mask)) = (array("values"), array("mask"))
        && !same(values, mask)
    {
        problems.push("the mask and the values of AnnData have different shapes".to_owned());
    }
    problems
}
