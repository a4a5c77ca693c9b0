//! Reading the JSON of documents, and the deviations that each kind of document allows.
#![expect(clippy::exhaustive_enums, reason = "encodings handle every kind of document")]

use zarr_json::{Limits, Object, ParseError, ParseOptions, Remark, Value, printable};

use crate::format::{Invalid, Mode, Reading};

/// A document that violates its format. It names the member and the problem; the caller adds the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", .member.as_deref().map(|member| format!("`{}`: ", printable(member))).unwrap_or_default(), printable(.reason))]
pub struct DocumentError {
    /// The path of the member, such as `chunk_grid.configuration`; `None` for the document as a whole.
    pub member: Option<String>,
    /// The problem.
    pub reason: String,
}

impl DocumentError {
    /// Creates an error about one member.
    pub fn member(member: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { member: Some(member.into()), reason: reason.into() }
    }

    /// Creates an error about the document as a whole.
    pub fn document(reason: impl Into<String>) -> Self {
        Self { member: None, reason: reason.into() }
    }
}

impl From<Invalid> for DocumentError {
    fn from(invalid: Invalid) -> Self {
        Self::document(invalid.to_string())
    }
}

/// The kind of a document. Each kind has its own rules for deviations from JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// `.zarray` or `.zgroup` of v2.
    V2,
    /// `.zattrs` of v2.
    V2Attributes,
    /// `.zmetadata` of v2.
    V2Consolidated,
    /// All documents of the draft and of final v3.
    V3,
}

/// Reads the JSON of a metadata document.
///
/// Skips a byte order mark. Except in strict mode, two deviations are accepted with a warning: if a name
/// occurs twice, the last member counts (but not in `.zarray` and `.zgroup`), and attributes may contain bare
/// `NaN`, `Infinity` and `-Infinity`.
///
/// # Errors
///
/// If the bytes are not JSON, not UTF-8, larger than [`Reading::document_size`] or nested more deeply than
/// [`Limits`] allow, and for these deviations where they are not allowed.
pub fn parse_json(bytes: &[u8], kind: DocumentKind, reading: &Reading) -> Result<Value, DocumentError> {
    let parsed = zarr_json::parse(bytes, &options(kind, reading)).map_err(no_json)?;
    if parsed.remarks.is_empty() {
        return Ok(parsed.value);
    }
    if let Some(path) = misplaced_non_finite(&parsed.value, kind) {
        return Err(DocumentError::document(format!(
            "found NaN or an infinity, which JSON does not have, at {path}"
        )));
    }
    let mut has_non_finite = false;
    for remark in &parsed.remarks {
        let text = remark.to_string();
        match remark {
            Remark::ByteOrderMark => reading.warn(text),
            Remark::DuplicateMember { .. } if kind == DocumentKind::V2 => {
                return Err(DocumentError::document(text));
            }
            Remark::BareNonFinite { .. } if has_non_finite => {}
            Remark::BareNonFinite { .. } => {
                has_non_finite = true;
                reading.tolerate(text)?;
            }
            _ => reading.tolerate(text)?,
        }
    }
    Ok(parsed.value)
}

/// Reads like [`parse_json`], with the same warnings and errors, but returns only one member of the document,
/// which takes a fraction of the time. `None` if the member does not exist or the document is not an object.
///
/// # Errors
///
/// Those of [`parse_json`].
pub fn parse_json_member(
    bytes: &[u8],
    kind: DocumentKind,
    name: &str,
    reading: &Reading,
) -> Result<Option<Value>, DocumentError> {
    let member = zarr_json::parse_member(bytes, &options(kind, reading), name).map_err(no_json)?;
    if member.is_plain {
        return Ok(member.value);
    }
    let document = parse_json(bytes, kind, reading)?;
    Ok(document.as_object().and_then(|members| members.get(name)).cloned())
}

fn options(kind: DocumentKind, reading: &Reading) -> ParseOptions {
    let bare_non_finite = reading.mode() != Mode::Strict && kind != DocumentKind::V2;
    let limits = Limits { bytes: reading.document_size(), ..Limits::default() };
    ParseOptions { bare_non_finite, limits }
}

fn no_json(error: ParseError) -> DocumentError {
    DocumentError::document(format!("is not a JSON document: {error}"))
}

/// Returns the JSON pointer of a bare `NaN` outside of attributes.
fn misplaced_non_finite(document: &Value, kind: DocumentKind) -> Option<String> {
    match kind {
        DocumentKind::V2 => document.find_non_finite(),
        DocumentKind::V2Attributes => None,
        DocumentKind::V2Consolidated => outside(document, "metadata", |documents| {
            outside_of_all(documents, |key| key == ".zattrs" || key.ends_with("/.zattrs"))
        }),
        DocumentKind::V3 => outside_of_attributes(document),
    }
}

fn outside_of_attributes(node: &Value) -> Option<String> {
    let Some(members) = node.as_object() else { return node.find_non_finite() };
    find(members, |name, value| match name {
        "attributes" => None,
        "consolidated_metadata" => outside(value, "metadata", |nodes| match nodes.as_object() {
            Some(nodes) => find(nodes, |_, node| outside_of_attributes(node)),
            None => nodes.find_non_finite(),
        }),
        _ => value.find_non_finite(),
    })
}

/// Returns the JSON pointer of a bare `NaN`. Searches the member `special` with `other`, and all other members
/// completely.
fn outside(value: &Value, special: &str, other: impl Fn(&Value) -> Option<String>) -> Option<String> {
    let Some(members) = value.as_object() else { return value.find_non_finite() };
    find(members, |name, value| if name == special { other(value) } else { value.find_non_finite() })
}

fn outside_of_all(value: &Value, but: impl Fn(&str) -> bool) -> Option<String> {
    let Some(members) = value.as_object() else { return value.find_non_finite() };
    find(members, |name, value| if but(name) { None } else { value.find_non_finite() })
}

fn find(members: &Object, look: impl Fn(&str, &Value) -> Option<String>) -> Option<String> {
    members.iter().find_map(|(name, value)| Some(format!("/{name}{}", look(name, value)?)))
}
