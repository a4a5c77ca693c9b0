//! The index of what a program wrote: `cases.json`, whose form `python/cases.py` describes.

use std::fs;
use std::path::Path;

use serde_json::Value;
use zarr_kit::Format;
use zarr_kit::json;

/// One node that was written, and what must be read from it.
#[derive(Debug, Clone)]
pub struct Case(Value);

impl Case {
    /// All cases of an index.
    ///
    /// # Panics
    ///
    /// If there is no such index, or it has no cases.
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

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("case")
    }

    /// The folder of its store, relative to the index.
    #[must_use]
    pub fn store(&self) -> &str {
        self.text("store")
    }

    /// The path of the node.
    #[must_use]
    pub fn path(&self) -> &str {
        self.text("path")
    }

    /// Whether the node is a group.
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.text("node_type") == "group"
    }

    /// The format of its document; both generations of the draft are the draft.
    #[must_use]
    pub fn format(&self) -> Format {
        match self.text("format") {
            "v2" => Format::V2,
            "v3" => Format::V3,
            _ => Format::V3Draft,
        }
    }

    /// The shape of an array.
    #[must_use]
    pub fn shape(&self) -> Vec<u64> {
        let shape = self.0["shape"].as_array().map(Vec::as_slice).unwrap_or_default();
        shape.iter().filter_map(Value::as_u64).collect()
    }

    /// Whether the fill value is `null`.
    #[must_use]
    pub fn fill_is_null(&self) -> bool {
        self.0["fill"].is_null()
    }

    /// Whether reading needs this plugin, by the name of its feature.
    #[must_use]
    pub fn needs(&self, feature: &str) -> bool {
        self.0["features"].as_array().is_some_and(|features| features.iter().any(|needed| needed == feature))
    }

    /// The names of the children of a group, if the writer said so.
    #[must_use]
    pub fn children(&self) -> Option<Vec<String>> {
        let children = self.0["children"].as_array()?.iter();
        Some(children.filter_map(|name| Some(name.as_str()?.to_owned())).collect())
    }

    /// The elements of an array in raw form.
    ///
    /// # Errors
    ///
    /// If the file is missing.
    pub fn raw(&self, directory: &Path) -> Result<Vec<u8>, String> {
        fs::read(directory.join(self.text("raw"))).map_err(|error| format!("{}: {error}", self.text("raw")))
    }

    /// Compares attributes, so that 1 differs from 1.0 and from true, and 0.0 from -0.0.
    ///
    /// # Errors
    ///
    /// If they differ: both.
    pub fn check_attributes(&self, attributes: &json::Object) -> Result<(), String> {
        let Some(wanted) = self.0.get("attributes") else { return Ok(()) };
        let found = in_other_words(attributes)?;
        if same(&found, wanted) {
            return Ok(());
        }
        Err(format!("attributes are {found}, not {wanted}"))
    }
}

/// Equality that tells 1 from 1.0, and 0.0 from -0.0: numbers are compared as they are written.
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

/// The attributes, as a library reads them that shares nothing with ours.
///
/// # Errors
///
/// If they cannot be written, or that library does not read what was written.
pub fn in_other_words(attributes: &json::Object) -> Result<Value, String> {
    let text = json::to_vec(&json::Value::Object(attributes.clone())).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("attributes as JSON: {error}"))
}
