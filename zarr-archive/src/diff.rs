//! Compares two hierarchies, in any formats, chunks, codecs and stores.

mod report;
pub(crate) mod values;

use std::collections::{BTreeMap, BTreeSet};

use zarr_engine::{Array, Error, Hierarchy, Node};
use zarr_json::{Object, Value};
use zarr_spec::NodePath;

use crate::canonical_json::canonical_json;
use crate::digest::below;
use crate::elements::Stream;
use crate::logical::Named;
use crate::settings::Settings;

pub use report::{Diff, Difference, NodeDifference, ValueDifferences};

/// One side of a comparison: a node and all nodes below it.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// The hierarchy.
    pub hierarchy: &'a Hierarchy,
    /// The path of the first node.
    pub root: NodePath,
}

/// The elements that count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Tolerance {
    /// The largest difference between numbers that count as equal.
    pub absolute: f64,
    /// The largest difference between numbers that count as equal, as a share of the magnitude of the second number. It
    /// is added to `absolute`.
    pub relative: f64,
}

impl Tolerance {
    /// Returns a tolerance. A number `a` equals `b` if `|a - b| <= absolute + relative * |b|`.
    #[must_use]
    pub fn new(absolute: f64, relative: f64) -> Self {
        Self { absolute, relative }
    }
}

/// The parts of nodes that are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Compared {
    /// Whether attributes are compared. The default is `true`.
    pub attributes: bool,
    /// Whether elements are compared. The default is `true`.
    pub values: bool,
    /// The tolerance for numbers. Without a tolerance, elements are equal if their bits are, except that all NaNs are
    /// equal.
    pub tolerance: Option<Tolerance>,
}

impl Compared {
    /// Compares attributes and elements, without a tolerance.
    #[must_use]
    pub fn everything() -> Self {
        Self { attributes: true, values: true, tolerance: None }
    }

    /// Sets whether attributes are compared.
    #[must_use]
    pub fn attributes(self, attributes: bool) -> Self {
        Self { attributes, ..self }
    }

    /// Sets whether elements are compared.
    #[must_use]
    pub fn values(self, values: bool) -> Self {
        Self { values, ..self }
    }

    /// Sets the tolerance for numbers.
    #[must_use]
    pub fn tolerance(self, tolerance: Tolerance) -> Self {
        Self { tolerance: Some(tolerance), ..self }
    }
}

/// Compares two hierarchies. Nodes correspond if their paths relative to the roots are equal.
///
/// Dimension names are those of the metadata, or else those of the attribute `_ARRAY_DIMENSIONS`. Chunks that are
/// missing on both sides are not read if the fill values are equal.
///
/// # Errors
///
/// [`Error::NoNode`]; the error of a node or of a chunk that cannot be read; [`Error::Cancelled`].
pub fn diff(
    one: &Side<'_>,
    other: &Side<'_>,
    compared: Compared,
    settings: &Settings,
) -> Result<Diff, Error> {
    let one = nodes_of(one)?;
    let other = nodes_of(other)?;
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let mut diff = Diff::default();
    for path in paths {
        settings.progress.check()?;
        let differences = match (one.get(path), other.get(path)) {
            (Some(one), Some(other)) => of_nodes(one, other, compared, settings)?,
            (Some(_), None) => vec![Difference::OnlyInFirst],
            (None, _) => vec![Difference::OnlyInSecond],
        };
        diff.compared += 1;
        if !differences.is_empty() {
            diff.nodes.push(NodeDifference { path: path.clone(), differences });
        }
    }
    Ok(diff)
}

/// The nodes of one side by their relative paths.
fn nodes_of(side: &Side<'_>) -> Result<BTreeMap<String, Node>, Error> {
    let mut nodes = BTreeMap::new();
    for entry in side.hierarchy.walk(&side.root)? {
        let node = side.hierarchy.node(&entry.path)?;
        if let Node::Unreadable(unreadable) = &node {
            // Opening the node again returns its error.
            side.hierarchy.array(&unreadable.path)?;
        }
        nodes.insert(below(&entry.path, &side.root), node);
    }
    Ok(nodes)
}

fn of_nodes(
    one: &Node,
    other: &Node,
    compared: Compared,
    settings: &Settings,
) -> Result<Vec<Difference>, Error> {
    match (one, other) {
        (Node::Group(one), Node::Group(other)) => {
            let mut differences = Vec::new();
            if compared.attributes {
                of_attributes(one.attributes(), other.attributes(), &mut differences);
            }
            Ok(differences)
        }
        (Node::Array(one), Node::Array(other)) => of_arrays(one, other, compared, settings),
        _ => Ok(vec![Difference::Kind { first: kind(one).to_owned(), second: kind(other).to_owned() }]),
    }
}

fn kind(node: &Node) -> &'static str {
    match node {
        Node::Array(_) => "array",
        Node::Group(_) => "group",
        Node::Unreadable(_) => "unreadable",
    }
}

fn of_arrays(
    one: &Array,
    other: &Array,
    compared: Compared,
    settings: &Settings,
) -> Result<Vec<Difference>, Error> {
    let mut differences = Vec::new();
    let [first, second] = [one, other].map(|array| array.data_type().name().into_owned());
    let has_one_type = first == second;
    if !has_one_type {
        differences.push(Difference::DataType { first, second });
    }
    let is_one_shape = one.shape() == other.shape();
    if !is_one_shape {
        differences.push(Difference::Shape { first: one.shape().to_vec(), second: other.shape().to_vec() });
    }
    let [first, second] = [one, other].map(Stream::of);
    if has_one_type && first.fill() != second.fill() {
        let [first, second] = [one, other].map(printed_fill);
        differences.push(Difference::FillValue { first, second });
    }
    let [first, second] = [one, other].map(Named::of);
    if first.names != second.names {
        differences.push(Difference::DimensionNames { first: first.names, second: second.names });
    }
    if compared.attributes {
        of_attributes(&first.attributes, &second.attributes, &mut differences);
    }
    if compared.values && is_one_shape {
        differences
            .extend(values::compare(one, other, compared.tolerance, settings)?.map(Difference::Values));
    }
    Ok(differences)
}

/// Returns the fill value of an array as text.
fn printed_fill(array: &Array) -> String {
    if array.fill_is_undefined() {
        return "undefined".to_owned();
    }
    values::printed(array, array.fill_value().bytes())
}

fn of_attributes(one: &Object, other: &Object, differences: &mut Vec<Difference>) {
    let names: BTreeSet<&str> = one.keys().chain(other.keys()).collect();
    for name in names {
        let [first, second] = [one, other].map(|attributes| attributes.get(name).cloned());
        let text = |value: &Option<Value>| value.as_ref().map(canonical_json);
        if text(&first) != text(&second) {
            differences.push(Difference::Attribute { name: name.to_owned(), first, second });
        }
    }
}
