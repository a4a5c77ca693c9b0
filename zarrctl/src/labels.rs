//! The coordinates of the selected part of an array.

use std::fmt::Write;

use zarr_kit::archive::dimension_names;
use zarr_kit::spec::{Value, printable};
use zarr_kit::{Array, DimensionSelection, Hierarchy, Selection};

use crate::cf::Decoding;
use crate::decoded::decoded_texts;
use crate::failure::Failure;
use crate::{selecting, slabs};

/// The number of coordinate values that are printed at each end of a selection.
const ENDS: u64 = 3;

/// Returns a line for each dimension with a coordinate: its name, the first and the last selected values, and their
/// unit.
pub(crate) fn lines(
    array: &Array,
    hierarchy: &Hierarchy,
    along: &[DimensionSelection],
) -> Result<String, Failure> {
    let mut text = String::new();
    for (dimension, name) in dimension_names(array).iter().enumerate() {
        let Some(name) = name else { continue };
        let coordinate = selecting::coordinate_of(array, hierarchy, name, array.shape()[dimension])?;
        if let Some(coordinate) = coordinate.filter(|found| found.path() != array.path()) {
            let values = values(&coordinate, &along[dimension])?;
            // Writing to a string does not fail.
            let _written = writeln!(text, "  {:14}{}", printable(name).to_string(), printable(values));
        }
    }
    Ok(text)
}

/// Returns the first and the last selected values of a coordinate.
fn values(coordinate: &Array, selected: &DimensionSelection) -> Result<String, Failure> {
    let count = slabs::length(selected);
    let parts = match count > 2 * ENDS {
        true => vec![slabs::slice(selected, 0, ENDS), slabs::slice(selected, count - ENDS, count)],
        false => vec![selected.clone()],
    };
    let mut values = Vec::new();
    for part in parts {
        let elements = coordinate.read(Selection::Orthogonal(vec![part]))?;
        values.push(decoded_texts(coordinate, &Decoding::of(coordinate), &elements)?.join(", "));
    }
    let unit = coordinate.attributes().get("units").and_then(Value::as_str);
    let unit =
        unit.filter(|unit| !unit.contains(" since ")).map_or_else(String::new, |unit| format!("  {unit}"));
    Ok(format!("{}{unit}", values.join(", …, ")))
}
