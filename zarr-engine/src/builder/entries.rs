//! Parses extension entries that a user gives as JSON.

use zarr_json::{did_you_mean, similar};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{Format, Object, Value};

use crate::convert::invalid;
use crate::error::Error;

/// Parses an entry in the notation of `format`: a name, or an object with `name` in v3, or with `extension` and `type`
/// in the draft.
pub(super) fn entry(member: &str, json: &Value, format: Format) -> Result<ExtensionDocument, Error> {
    let members = match json {
        Value::String(name) if !name.is_empty() => return Ok(ExtensionDocument::new(name, Value::Null)),
        Value::Object(members) => members,
        other => return Err(invalid(member, format!("is {}, not a name or an object", other.kind_name()))),
    };
    let (identifier, known): (_, &[&str]) = match format {
        Format::V3Draft => ("extension", &["extension", "type", "configuration", "must_understand"]),
        Format::V2 | Format::V3 => ("name", &["name", "configuration", "must_understand"]),
    };
    if let Some(unknown) = members.keys().find(|name| !known.contains(name)) {
        let hint = did_you_mean(&similar(unknown, known.iter().copied()));
        let reason = format!("unknown member `{unknown}`{hint}; expected one of {}", known.join(", "));
        return Err(invalid(member, reason));
    }
    let Some(name) = members.get(identifier).and_then(Value::as_str).filter(|name| !name.is_empty()) else {
        return Err(invalid(member, format!("`{identifier}` is missing or not a string")));
    };
    let must_understand = match members.get("must_understand") {
        None => true,
        Some(Value::Bool(must_understand)) => *must_understand,
        Some(other) => {
            return Err(invalid(
                member,
                format!("`must_understand` is {}, not a boolean", other.kind_name()),
            ));
        }
    };
    Ok(ExtensionDocument::new(name.to_owned(), members.get("configuration").cloned().unwrap_or(Value::Null))
        .with_type_name(members.get("type").cloned())
        .with_must_understand(must_understand))
}

/// Parses a chunk grid. In the draft, the regular grid has no `configuration` member and contains the separator, which
/// is returned separately.
pub(super) fn chunk_grid(json: &Value, format: Format) -> Result<(ExtensionDocument, Option<String>), Error> {
    const MEMBER: &str = "chunk_grid";
    let members =
        json.as_object().filter(|members| format == Format::V3Draft && !members.contains("extension"));
    let Some(members) = members else { return Ok((entry(MEMBER, json, format)?, None)) };
    let Some(name) = members.get("type").and_then(Value::as_str) else {
        return Err(invalid(MEMBER, "`type` is missing or not a string"));
    };
    let separator = match members.get("separator") {
        None => None,
        Some(Value::String(separator)) => Some(separator.clone()),
        Some(other) => {
            return Err(invalid(MEMBER, format!("`separator` is {}, not a string", other.kind_name())));
        }
    };
    let rest = members.iter().filter(|(name, _)| !["type", "separator"].contains(name));
    let configuration: Object = rest.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    Ok((ExtensionDocument::new(name, Value::Object(configuration)), separator))
}

#[cfg(test)]
mod tests {
    use zarr_json::{ParseOptions, parse};

    use super::*;

    fn json(text: &str) -> Value {
        parse(text.as_bytes(), &ParseOptions::default()).unwrap().value
    }

    #[test]
    fn parses_entries_in_the_notation_of_their_format() {
        let read = |text: &str, format| entry("x", &json(text), format);
        let of_v3 =
            read(r#"{"name":"a","configuration":{"b":1},"must_understand":false}"#, Format::V3).unwrap();
        assert_eq!((of_v3.identifier.as_str(), of_v3.must_understand), ("a", false));
        assert_eq!(of_v3.configuration, json(r#"{"b":1}"#));
        let of_draft = read(r#"{"extension":"https://a/1.0","type":"t"}"#, Format::V3Draft).unwrap();
        assert_eq!((of_draft.identifier.as_str(), of_draft.type_name), ("https://a/1.0", Some("t".into())));
        assert_eq!(read(r#""a""#, Format::V3).unwrap(), ExtensionDocument::new("a", Value::Null));
        for wrong in [
            "1",
            r#""""#,
            "{}",
            r#"{"name":1}"#,
            r#"{"name":"a","b":1}"#,
            r#"{"name":"a","must_understand":1}"#,
        ] {
            assert!(read(wrong, Format::V3).unwrap_err().to_string().starts_with("`x`: "), "{wrong}");
        }
    }

    #[test]
    fn reads_the_separator_from_a_grid_of_the_draft() {
        let text = r#"{"type":"regular","chunk_shape":[2],"separator":"."}"#;
        let (grid, separator) = chunk_grid(&json(text), Format::V3Draft).unwrap();
        assert_eq!(grid, ExtensionDocument::new("regular", json(r#"{"chunk_shape":[2]}"#)));
        assert_eq!(separator.as_deref(), Some("."));
        assert!(chunk_grid(&json(r#"{"type":1}"#), Format::V3Draft).is_err());
        assert!(chunk_grid(&json(text), Format::V3).is_err());
    }
}
