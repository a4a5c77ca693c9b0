//! The documents that a repository can hold.

use zarr_plugin_kit::json::{ParseOptions, Value, parse};
use zarr_spec::{Invalid, json};

/// The chunk grids whose chunks a repository counts.
const GRIDS: [&str; 2] = ["regular", "rectilinear"];

/// Checks a document before it is stored.
///
/// # Errors
///
/// If it is not a document of v3, or a repository cannot hold its chunks.
pub(crate) fn check(document: &[u8]) -> Result<(), Invalid> {
    let parsed = parse(document, &ParseOptions::default()).map_err(|error| {
        Invalid::new(format!("an Icechunk repository holds only documents of Zarr v3: {error}"))
    })?;
    let member = |name: &str| parsed.value.as_object().and_then(|members| members.get(name));
    if member("zarr_format").and_then(Value::as_u64) != Some(3) {
        return Err(Invalid::new("an Icechunk repository holds only documents with `\"zarr_format\": 3`"));
    }
    match member("node_type").and_then(Value::as_str) {
        Some("group") => Ok(()),
        Some("array") if has_its_keys(&parsed.value) => check_grid(&parsed.value),
        Some("array") => Err(Invalid::new(
            "an Icechunk repository holds only arrays with the chunk key encoding `default` and the separator `/`",
        )),
        _ => Err(Invalid::new("`node_type` must be `group` or `array`")),
    }
}

/// Returns the document of a new array with the keys of a repository; `None` if it has them.
///
/// # Errors
///
/// If a repository cannot hold the chunks of the array.
pub(crate) fn adapted(document: &Value) -> Result<Option<Value>, Invalid> {
    check_grid(document)?;
    if has_its_keys(document) {
        return Ok(None);
    }
    let mut members = document.as_object().cloned().unwrap_or_default();
    members.insert("chunk_key_encoding", json!({"name": "default", "configuration": {"separator": "/"}}));
    Ok(Some(Value::Object(members)))
}

/// Returns whether the keys of the chunks are those that a repository has.
fn has_its_keys(document: &Value) -> bool {
    let Some(encoding) = document.as_object().and_then(|members| members.get("chunk_key_encoding")) else {
        return false;
    };
    let member = |name: &str| encoding.as_object().and_then(|members| members.get(name));
    let name = encoding.as_str().or_else(|| member("name")?.as_str());
    let separator = member("configuration").and_then(|it| it.as_object()?.get("separator")?.as_str());
    name == Some("default") && separator.is_none_or(|separator| separator == "/")
}

/// Refuses grids of other kinds, and those with more chunks than a repository counts.
fn check_grid(document: &Value) -> Result<(), Invalid> {
    let member = |name: &str| document.as_object().and_then(|members| members.get(name));
    let grid = member("chunk_grid").and_then(Value::as_object);
    let name = grid.and_then(|grid| grid.get("name")?.as_str()).unwrap_or_default();
    if !GRIDS.contains(&name) {
        let what = format!("an Icechunk repository cannot hold an array with the chunk grid `{name}`");
        return Err(Invalid::new(format!("{what} (expected `regular` or `rectilinear`)")));
    }
    let chunk_shape = grid.and_then(|grid| grid.get("configuration")?.as_object()?.get("chunk_shape"));
    let lengths = chunk_shape.and_then(Value::as_array).into_iter().flatten();
    let shape = member("shape").and_then(Value::as_array).into_iter().flatten();
    for (dimension, (length, chunk)) in shape.zip(lengths).enumerate() {
        let count = length.as_u64().zip(chunk.as_u64().filter(|&chunk| chunk > 0));
        let count = count.map_or(0, |(length, chunk)| length.div_ceil(chunk));
        if u32::try_from(count).is_err() {
            return Err(Invalid::new(format!(
                "dimension {dimension} has {count} chunks, but an Icechunk repository holds at most {}",
                u32::MAX
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(encoding: &str, shape: &str) -> String {
        format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": {shape}, "chunk_key_encoding": {encoding},
                "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1]}}}}}}"#
        )
    }

    #[test]
    fn documents_that_a_repository_cannot_hold_are_refused() {
        let default = r#"{"name": "default"}"#;
        check(br#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
        check(array(default, "[4294967295]").as_bytes()).unwrap();
        for (document, part) in [
            ("{".to_owned(), "only documents of Zarr v3"),
            (r#"{"zarr_format": 2}"#.to_owned(), "zarr_format"),
            (r#"{"zarr_format": 3, "node_type": "x"}"#.to_owned(), "node_type"),
            (array(r#"{"name": "v2"}"#, "[1]"), "chunk key encoding"),
            (array(default, "[4294967296]"), "dimension 0 has 4294967296 chunks"),
            (array(default, "[1]").replace("regular", "other"), "chunk grid `other`"),
        ] {
            let error = check(document.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn new_arrays_get_the_keys_of_a_repository() {
        let parsed = |text: &str| parse(text.as_bytes(), &ParseOptions::default()).unwrap().value;
        for encoding in [r#""default""#, r#"{"name": "default", "configuration": {"separator": "/"}}"#] {
            assert_eq!(adapted(&parsed(&array(encoding, "[1]"))).unwrap(), None);
        }
        for encoding in [r#""v2""#, r#"{"name": "default", "configuration": {"separator": "."}}"#] {
            let document = adapted(&parsed(&array(encoding, "[1]"))).unwrap().unwrap();
            check(document.to_string().as_bytes()).unwrap();
        }
    }
}
