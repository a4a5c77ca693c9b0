//! The index of the data that a program wrote: `cases.json`, in the form that `python/cases.py` documents.

use std::fs;
use std::path::Path;

use serde_json::Value;
use zarr_kit::Format;
use zarr_kit::json;

/// A written node and its expected content.
#[derive(Debug, Clone)]
pub struct Case(Value);

impl Case {
    /// Reads all cases of an index.
    ///
    /// # Panics
    ///
    /// If the index cannot be read or is empty.
    #[must_use]
    pub fn all(directory: &Path, index: &str) -> Vec<Self> {
        let file = directory.join(index);
        let cases = fs::read(&file).map_err(|error| error.to_string());
        let cases = cases.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
        match cases {
            Ok(Value::Array(cases)) if !cases.is_empty() => cases.into_iter().map(Self).collect(),
            Ok(_) => panic!("{} has no cases", file.display()),
            Err(error) => panic!("{}: {error}", file.display()),
        }
    }

    fn text(&self, member: &str) -> &str {
        self.0[member].as_str().unwrap_or_default()
    }

    /// Returns the name of the case.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("case")
    }

    /// Returns the folder of the store, relative to the index.
    #[must_use]
    pub fn store(&self) -> &str {
        self.text("store")
    }

    /// Returns the path of the node.
    #[must_use]
    pub fn path(&self) -> &str {
        self.text("path")
    }

    /// Whether the node is a group.
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.text("node_type") == "group"
    }

    /// Returns the format of the document; both generations of the draft count as the draft.
    #[must_use]
    pub fn format(&self) -> Format {
        match self.text("format") {
            "v2" => Format::V2,
            "v3" => Format::V3,
            _ => Format::V3Draft,
        }
    }

    /// Returns the shape of an array.
    #[must_use]
    pub fn shape(&self) -> Vec<u64> {
        let shape = self.0["shape"].as_array().map(Vec::as_slice).unwrap_or_default();
        shape.iter().filter_map(Value::as_u64).collect()
    }

    /// Checks whether the fill value is `null`.
    #[must_use]
    pub fn fill_is_null(&self) -> bool {
        self.0["fill"].is_null()
    }

    /// Checks whether reading needs the plugin with this feature name.
    #[must_use]
    pub fn needs(&self, feature: &str) -> bool {
        self.0["features"].as_array().is_some_and(|features| features.iter().any(|needed| needed == feature))
    }

    /// Returns the names of the children of a group, if the writer recorded them.
    #[must_use]
    pub fn children(&self) -> Option<Vec<String>> {
        let children = self.0["children"].as_array()?.iter();
        Some(children.filter_map(|name| Some(name.as_str()?.to_owned())).collect())
    }

    /// Reads the elements of an array in raw form.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn raw(&self, directory: &Path) -> Result<Vec<u8>, String> {
        fs::read(directory.join(self.text("raw"))).map_err(|error| format!("{}: {error}", self.text("raw")))
    }

    /// Compares attributes; 1 differs from 1.0 and from true, and 0.0 from -0.0.
    ///
    /// # Errors
    ///
    /// Both values, if they differ.
    pub fn check_attributes(&self, attributes: &json::Object) -> Result<(), String> {
        let Some(wanted) = self.0.get("attributes") else { return Ok(()) };
        let found = in_other_words(attributes)?;
        if same(&found, wanted) {
            return Ok(());
        }
        Err(format!("attributes are {found}, not {wanted}"))
    }
}

/// Compares JSON values; numbers are compared as they are written, so 1 differs from 1.0 and 0.0 from -0.0.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            let left = left.to_string();
            let right = right.to_string();
            left == right
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let all = left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)));
            left.len() == right.len() && all
        }
        _ => left == right,
    }
}

/// Converts attributes by writing them and reading the text with `serde_json`, which shares no code with
/// ours.
///
/// # Errors
///
/// If the attributes cannot be written, or `serde_json` does not accept the text.
pub fn in_other_words(attributes: &json::Object) -> Result<Value, String> {
    let text = json::to_vec(&json::Value::Object(attributes.clone())).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("attributes as JSON: {error}"))
}
