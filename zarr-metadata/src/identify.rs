//! Identifying the format of a `zarr.json`.

use zarr_json::Value;

use super::DocumentError;
use super::members::{Members, wrong};

/// The kind of a `zarr.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a reader handles every format")]
pub enum Identified {
    /// A node of final v3.
    V3,
    /// The entry point of a hierarchy of the draft, in the generation of May to October 2022, which zarr-python
    /// 2 writes: keys below `meta/root` and `data/root`.
    DraftA,
    /// The entry point of a hierarchy of the draft as of December 2022: keys below `meta` and `data`.
    DraftB,
}

/// Identifies a document by `zarr_format`, and within the draft by the kind of `metadata_encoding`.
///
/// An identified document is not necessarily valid.
///
/// # Errors
///
/// For documents of February 2023, which are between the draft and final v3, and for all other documents.
pub fn identify(document: &Value) -> Result<Identified, DocumentError> {
    let mut members = Members::of_document(document)?;
    let zarr_format = members.required("zarr_format")?;
    let uri = match zarr_format {
        Value::String(uri) => uri,
        number if number.as_f64() == Some(3.0) => return Ok(Identified::V3),
        other => return Err(wrong("zarr_format", other, "the integer 3 or a URI of the v3 draft")),
    };
    if uri.contains("/spec/v3#") {
        let reason = format!(
            "is \"{uri}\": generation C of the v3 draft (February 2023), which is not supported, \
             lies between the draft of 2022 and final v3"
        );
        return Err(DocumentError::member("zarr_format", reason));
    }
    if !["https://", "http://"]
        .iter()
        .any(|scheme| uri.strip_prefix(scheme).is_some_and(|rest| rest.starts_with("purl.org/zarr/spec/")))
    {
        return Err(wrong("zarr_format", zarr_format, "the integer 3 or a URI of the v3 draft"));
    }
    match members.optional("metadata_encoding") {
        Some(Value::String(_)) => Ok(Identified::DraftA),
        _ => Ok(Identified::DraftB),
    }
}
