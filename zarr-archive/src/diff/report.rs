//! The result of a comparison.

use zarr_json::{Object, Value};

/// The differences between two hierarchies.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Diff {
    /// The number of nodes in either hierarchy.
    pub compared: u64,
    /// The nodes that differ, sorted by their paths.
    pub nodes: Vec<NodeDifference>,
}

/// The differences of one node.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NodeDifference {
    /// The path, relative to the roots of the comparison.
    pub path: String,
    /// The differences.
    pub differences: Vec<Difference>,
}

/// A difference between two nodes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// Only the first hierarchy has the node.
    OnlyInFirst,
    /// Only the second hierarchy has the node.
    OnlyInSecond,
    /// One node is an array, and the other node is a group.
    Kind {
        /// The kind in the first hierarchy.
        first: String,
        /// The kind in the second hierarchy.
        second: String,
    },
    /// The shapes differ. Elements are not compared.
    Shape {
        /// The shape in the first hierarchy.
        first: Vec<u64>,
        /// The shape in the second hierarchy.
        second: Vec<u64>,
    },
    /// The data types differ. Numbers are compared nevertheless.
    DataType {
        /// The name in the first hierarchy.
        first: String,
        /// The name in the second hierarchy.
        second: String,
    },
    /// The fill values differ.
    FillValue {
        /// The fill value in the first hierarchy, as text.
        first: String,
        /// The fill value in the second hierarchy, as text.
        second: String,
    },
    /// The names of dimensions differ.
    DimensionNames {
        /// The names in the first hierarchy.
        first: Option<Vec<Option<String>>>,
        /// The names in the second hierarchy.
        second: Option<Vec<Option<String>>>,
    },
    /// An attribute differs, or only one node has it.
    Attribute {
        /// The name.
        name: String,
        /// The value in the first hierarchy.
        first: Option<Value>,
        /// The value in the second hierarchy.
        second: Option<Value>,
    },
    /// Elements differ.
    Values(ValueDifferences),
}

/// A summary of the elements that differ.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ValueDifferences {
    /// The number of elements of the array.
    pub count: u64,
    /// The number of elements that differ.
    pub different: u64,
    /// The index of the first element that differs, in C order.
    pub index: Vec<u64>,
    /// The first element that differs, as text, in the first hierarchy.
    pub first: String,
    /// The first element that differs, as text, in the second hierarchy.
    pub second: String,
    /// The largest difference of numbers; `None` if the elements are not numbers. Differences from NaN are infinite.
    pub largest: Option<f64>,
    /// The largest difference as a share of the magnitude of the second number.
    pub largest_relative: Option<f64>,
}

impl Diff {
    /// Returns whether the hierarchies are equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the report as a document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut report = Object::new();
        report.insert("equal", self.is_equal());
        report.insert("compared", self.compared);
        report.insert("nodes", self.nodes.iter().map(NodeDifference::to_json).collect::<Value>());
        Value::Object(report)
    }
}

impl NodeDifference {
    fn to_json(&self) -> Value {
        let mut node = Object::new();
        node.insert("path", self.path.as_str());
        node.insert("differences", self.differences.iter().map(Difference::to_json).collect::<Value>());
        Value::Object(node)
    }
}

impl Difference {
    /// Returns the name of the difference in documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::OnlyInFirst => "only-in-first",
            Self::OnlyInSecond => "only-in-second",
            Self::Kind { .. } => "kind",
            Self::Shape { .. } => "shape",
            Self::DataType { .. } => "data-type",
            Self::FillValue { .. } => "fill-value",
            Self::DimensionNames { .. } => "dimension-names",
            Self::Attribute { .. } => "attribute",
            Self::Values(_) => "values",
        }
    }

    /// Returns both sides as documents.
    fn sides(&self) -> [Value; 2] {
        match self {
            Self::OnlyInFirst | Self::OnlyInSecond => [Value::Null, Value::Null],
            Self::Kind { first, second }
            | Self::DataType { first, second }
            | Self::FillValue { first, second } => [first, second].map(|side| side.as_str().into()),
            Self::Shape { first, second } => [first, second].map(|side| side.iter().copied().collect()),
            Self::DimensionNames { first, second } => [first, second].map(|names| named(names.as_deref())),
            Self::Attribute { first, second, .. } => {
                [first, second].map(|side| side.clone().unwrap_or(Value::Null))
            }
            Self::Values(values) => [&values.first, &values.second].map(|side| side.as_str().into()),
        }
    }

    fn to_json(&self) -> Value {
        let mut difference = Object::new();
        difference.insert("kind", self.name());
        if let Self::Attribute { name, .. } = self {
            difference.insert("name", name.as_str());
        }
        if !matches!(self, Self::OnlyInFirst | Self::OnlyInSecond) {
            let [first, second] = self.sides();
            difference.insert("first", crate::manifest::finite(&first));
            difference.insert("second", crate::manifest::finite(&second));
        }
        if let Self::Values(values) = self {
            difference.insert("count", values.count);
            difference.insert("different", values.different);
            difference.insert("index", values.index.iter().copied().collect::<Value>());
            for (name, number) in [("largest", values.largest), ("largest_relative", values.largest_relative)]
            {
                difference.insert(name, number.map_or(Value::Null, number_json));
            }
        }
        Value::Object(difference)
    }
}

/// Returns a number as JSON; infinite numbers as text.
fn number_json(number: f64) -> Value {
    zarr_json::Number::from_f64(number).map_or_else(|| Value::from("Infinity"), Value::Number)
}

fn named(names: Option<&[Option<String>]>) -> Value {
    let name = |name: &Option<String>| name.as_deref().map_or(Value::Null, Value::from);
    names.map_or(Value::Null, |names| names.iter().map(name).collect())
}
