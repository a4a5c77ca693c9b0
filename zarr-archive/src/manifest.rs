//! The content of a hierarchy as a document.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use zarr_json::{Object, ParseOptions, Value, json, parse};
use zarr_spec::Invalid;

use crate::canonical_json::canonical_json;

/// The version of the definition of the digest in `docs/digest.md`.
const VERSION: u64 = 1;

/// The member with the version.
const VERSION_MEMBER: &str = "zarr_digest";

/// The content of a hierarchy: its nodes by their paths, relative to the node that was hashed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Manifest {
    /// The nodes. The path of the first node is `/`.
    pub nodes: BTreeMap<String, ManifestNode>,
}

/// A node of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestNode {
    /// A group.
    Group {
        /// Its attributes.
        attributes: Object,
    },
    /// An array.
    Array {
        /// The number of elements per dimension.
        shape: Vec<u64>,
        /// The name of the data type, which is the same in every format.
        data_type: String,
        /// The canonical bytes of the fill value, in hexadecimal digits.
        fill_value: String,
        /// The names of the dimensions; `None` if no dimension has a name.
        dimension_names: Option<Vec<Option<String>>>,
        /// The attributes, without the names of dimensions.
        attributes: Object,
        /// The hash of the elements, as 32 hexadecimal digits.
        values: String,
    },
}

impl Manifest {
    /// Returns the digest: the SHA-256 of the canonical JSON of the manifest without its digest, in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(canonical_json(&Value::Object(self.content()))))
    }

    /// Returns the document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut document = Object::new();
        document.insert(VERSION_MEMBER, VERSION);
        document.insert("digest", self.digest().as_str());
        document.insert("nodes", self.content().remove("nodes").unwrap_or(Value::Null));
        Value::Object(document)
    }

    fn content(&self) -> Object {
        let mut nodes = Object::new();
        for (path, node) in &self.nodes {
            nodes.insert(path, node.to_json());
        }
        let mut content = Object::new();
        content.insert(VERSION_MEMBER, VERSION);
        content.insert("nodes", Value::Object(nodes));
        content
    }

    /// Reads a document, and checks that its digest is the digest of its content.
    ///
    /// # Errors
    ///
    /// [`Invalid`] for text that is not a manifest of this version, or whose digest differs.
    pub fn parse(text: &[u8]) -> Result<Self, Invalid> {
        let parsed =
            parse(text, &ParseOptions::default()).map_err(|error| Invalid::new(error.to_string()))?;
        let document = parsed.value.as_object().ok_or_else(|| Invalid::new("expected an object"))?;
        if document.get(VERSION_MEMBER).and_then(Value::as_u64) != Some(VERSION) {
            return Err(Invalid::new(format!("expected a manifest with `\"{VERSION_MEMBER}\": {VERSION}`")));
        }
        let nodes = document.get("nodes").and_then(Value::as_object);
        let nodes = nodes.ok_or_else(|| Invalid::new("expected an object `nodes`"))?;
        let mut manifest = Self::default();
        for (path, node) in nodes {
            let node =
                ManifestNode::parse(node).map_err(|what| Invalid::new(format!("node `{path}`: {what}")))?;
            manifest.nodes.insert(path.to_owned(), node);
        }
        let stated = document.get("digest").and_then(Value::as_str).unwrap_or_default();
        let computed = manifest.digest();
        if stated != computed {
            return Err(Invalid::new(format!(
                "`digest` is `{stated}`, but the content has the digest `{computed}`; the manifest was changed"
            )));
        }
        Ok(manifest)
    }
}

impl ManifestNode {
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Group { attributes } => {
                json!({"kind": "group", "attributes": (finite(&Value::Object(attributes.clone())))})
            }
            Self::Array { shape, data_type, fill_value, dimension_names, attributes, values } => {
                let shape: Value =
                    shape.iter().map(|length| Value::from(length.to_string().as_str())).collect();
                let mut node = Object::new();
                node.insert("kind", "array");
                node.insert("shape", shape);
                node.insert("data_type", data_type.as_str());
                node.insert("fill_value", fill_value.as_str());
                if let Some(names) = dimension_names {
                    let name = |name: &Option<String>| name.as_deref().map_or(Value::Null, Value::from);
                    node.insert("dimension_names", names.iter().map(name).collect::<Value>());
                }
                node.insert("attributes", finite(&Value::Object(attributes.clone())));
                node.insert("values", values.as_str());
                Value::Object(node)
            }
        }
    }

    fn parse(node: &Value) -> Result<Self, String> {
        let text = |name: &str| {
            let member = node.as_object().and_then(|node| node.get(name)).and_then(Value::as_str);
            member.map(str::to_owned).ok_or_else(|| format!("expected a string `{name}`"))
        };
        let member = |name: &str| node.as_object().and_then(|node| node.get(name));
        let attributes = member("attributes").and_then(Value::as_object).cloned();
        let attributes = attributes.ok_or("expected an object `attributes`")?;
        match &*text("kind")? {
            "group" => Ok(Self::Group { attributes }),
            "array" => Ok(Self::Array {
                shape: member("shape")
                    .and_then(shape_of)
                    .ok_or("expected a list of numbers as strings `shape`")?,
                data_type: text("data_type")?,
                fill_value: text("fill_value")?,
                dimension_names: match member("dimension_names") {
                    None => None,
                    Some(names) => {
                        let rank = names.as_array().map_or(0, <[_]>::len);
                        Some(
                            crate::logical::names_of(names, rank)
                                .ok_or("expected a list `dimension_names`")?,
                        )
                    }
                },
                attributes,
                values: text("values")?,
            }),
            other => Err(format!("unknown kind `{other}` (expected array or group)")),
        }
    }
}

fn shape_of(shape: &Value) -> Option<Vec<u64>> {
    shape.as_array()?.iter().map(|length| length.as_str()?.parse().ok()).collect()
}

/// Replaces numbers that JSON does not have by strings.
pub(crate) fn finite(value: &Value) -> Value {
    match value {
        Value::Number(number) if !number.is_finite_token() => {
            Value::from(canonical_json(value).trim_matches('"'))
        }
        Value::Array(elements) => elements.iter().map(finite).collect(),
        Value::Object(object) => {
            let mut replaced = Object::new();
            for (name, value) in object {
                replaced.insert(name, finite(value));
            }
            Value::Object(replaced)
        }
        other => other.clone(),
    }
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _always_ok = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let mut attributes = Object::new();
        attributes.insert("scale", Value::Number(zarr_json::Number::from_f64(0.5).unwrap()));
        let array = ManifestNode::Array {
            shape: vec![2, u64::MAX],
            data_type: "int16".to_owned(),
            fill_value: "0000".to_owned(),
            dimension_names: Some(vec![Some("x".to_owned()), None]),
            attributes: attributes.clone(),
            values: "0".repeat(32),
        };
        let mut manifest = Manifest::default();
        manifest.nodes.insert("/".to_owned(), ManifestNode::Group { attributes });
        manifest.nodes.insert("/a".to_owned(), array);
        manifest
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let text = zarr_json::to_vec_pretty(&manifest().to_json()).unwrap();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest());
    }

    #[test]
    fn a_changed_manifest_is_refused() {
        let text = manifest().to_json().to_string();
        let changed = text.replace("int16", "int32");
        let error = Manifest::parse(changed.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("the manifest was changed"), "{error}");
        for other in ["{", "[]", "{}", r#"{"zarr_digest": 2, "nodes": {}}"#] {
            assert!(Manifest::parse(other.as_bytes()).is_err(), "{other}");
        }
    }
}
