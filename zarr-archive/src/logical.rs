//! The logical metadata of nodes: dimension names and attributes, independent of the format.

use zarr_engine::Array;
use zarr_json::{Object, Value};

/// The attribute with the names of dimensions in v2, by the convention of xarray.
pub(crate) const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// The names of the dimensions of an array, and its other attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// One entry per dimension; `None` if no dimension has a name.
    pub(crate) names: Option<Vec<Option<String>>>,
    /// The attributes, without the attribute that holds these names.
    pub(crate) attributes: Object,
}

impl Named {
    /// Returns the names in the metadata, or else those in the attribute `_ARRAY_DIMENSIONS`. The attribute is left out
    /// if it holds these names.
    pub(crate) fn of(array: &Array) -> Self {
        let mut attributes = array.attributes().clone();
        let own =
            array.dimension_names().map(<[_]>::to_vec).filter(|names| names.iter().any(Option::is_some));
        let listed = attributes.get(DIMENSIONS).and_then(|names| names_of(names, array.shape().len()));
        let names = own.or_else(|| listed.clone().filter(|names| names.iter().any(Option::is_some)));
        if listed.is_some_and(|listed| {
            names.as_ref().map_or(listed.iter().all(Option::is_none), |names| *names == listed)
        }) {
            attributes.remove(DIMENSIONS);
        }
        Self { names, attributes }
    }
}

/// Returns the names in an attribute: a string or null for each dimension.
pub(crate) fn names_of(attribute: &Value, rank: usize) -> Option<Vec<Option<String>>> {
    let names = attribute.as_array().filter(|names| names.len() == rank)?;
    let name = |name: &Value| match name {
        Value::Null => Some(None),
        Value::String(name) => Some(Some(name.clone())),
        _ => None,
    };
    names.iter().map(name).collect()
}

/// Returns the name of each dimension of an array, from the format or from the attribute `_ARRAY_DIMENSIONS`.
#[must_use]
pub fn dimension_names(array: &Array) -> Vec<Option<String>> {
    if let Some(names) = array.dimension_names() {
        return names.to_vec();
    }
    let rank = array.shape().len();
    let listed = array.attributes().get(DIMENSIONS).and_then(|names| names_of(names, rank));
    listed.unwrap_or_else(|| vec![None; rank])
}
