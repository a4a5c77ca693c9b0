//! The filter `shuffle` as netCDF-C stores it: with `elementsize` 0, which stands for the size of the data type.
//!
//! numcodecs does not change bytes if `elementsize` is 0, but netCDF-C shuffles by the size of the data type. Arrays of
//! netCDF-C are recognized by the members of NCZarr, which older versions store in `.zarray` and newer ones in `.zattrs`.
//!
//! Source: "NetCDF NCZarr Implementation" in the documentation of netCDF-C; its filter `shuffle`.

use zarr_json::Value;

use super::DocumentError;
use super::members::tolerate;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::Reading;

/// The start of the names of NCZarr's members, in lower case.
const PREFIX: &str = "_nczarr_";

/// Returns whether NCZarr has members in one of the documents of an array.
pub(super) fn is_marked(document: &Value, attributes: Option<&Value>) -> bool {
    [Some(document), attributes].into_iter().flatten().filter_map(Value::as_object).any(|members| {
        members
            .keys()
            .any(|name| name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX)))
    })
}

/// Replaces `elementsize` 0 of `shuffle` by the size of `dtype`, with a warning; in strict mode, it is an error. Filters
/// of data types that netCDF-C does not shuffle are not changed.
pub(super) fn resolve_element_size(
    codecs: &mut [ExtensionDocument],
    dtype: &Value,
    reading: &Reading,
) -> Result<(), DocumentError> {
    let Some(size) = size_of(dtype) else { return Ok(()) };
    for codec in codecs.iter_mut().filter(|codec| codec.identifier == "shuffle") {
        let Some(parameters) = codec.configuration.as_object_mut() else { continue };
        if parameters.get("elementsize").and_then(Value::as_u64) != Some(0) {
            continue;
        }
        let reason = format!(
            "is 0; it is read as {size}, the size of the data type, because netCDF-C wrote the array"
        );
        tolerate(reading, DocumentError::member("shuffle.elementsize", reason))?;
        parameters.insert("elementsize", size);
    }
    Ok(())
}

/// Returns the size of the numbers and characters that netCDF-C stores, in bytes.
fn size_of(dtype: &Value) -> Option<u32> {
    let kind_and_size = dtype.as_str()?.strip_prefix(['<', '>', '|'])?;
    kind_and_size.strip_prefix(['i', 'u', 'f', 'S'])?.parse().ok().filter(|size| *size > 0)
}
