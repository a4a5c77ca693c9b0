//! Parses data type names as printed in messages, such as `numpy.datetime64[10us]` or `struct{"a": int32}`.

use zarr_spec::Value;

/// Maximum nesting depth of structures.
const MAX_DEPTH: usize = 16;

/// Returns the v3 document for a printed name; `None` if the name has no parameters.
pub(super) fn printed_document(text: &str) -> Option<Value> {
    if text.starts_with(STRUCTURE) { structure(text, MAX_DEPTH) } else { with_parameter(text) }
}

const STRUCTURE: &str = "struct{";

/// Parses a name with a size or a unit, such as `raw_bytes[3]`.
fn with_parameter(text: &str) -> Option<Value> {
    let (name, parameter) = text.strip_suffix(']')?.split_once('[')?;
    let digits = parameter.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = parameter.split_at(digits);
    // A unit without a number has the scale factor 1.
    let number = if number.is_empty() && !unit.is_empty() { 1 } else { number.parse::<u64>().ok()? };
    let configuration: Value = match unit {
        "" => [("length_bytes", Value::from(number))].into_iter().collect(),
        unit => [("unit", Value::from(unit)), ("scale_factor", Value::from(number))].into_iter().collect(),
    };
    Some(document(name, configuration))
}

/// Parses a structure, such as `struct{"a": int32, "b": float64}`. v3 does not support array fields.
fn structure(text: &str, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let mut rest = text.strip_prefix(STRUCTURE)?.strip_suffix('}')?;
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (name, after) = quoted(rest)?;
        let (data_type, after) = until_comma(after.strip_prefix(": ")?);
        fields.push([("name", Value::from(name.as_str())), ("data_type", field_type(data_type, depth)?)]);
        rest = after;
    }
    let fields: Value = fields.into_iter().map(|field| field.into_iter().collect::<Value>()).collect();
    Some(document("struct", [("fields", fields)].into_iter().collect()))
}

fn field_type(text: &str, depth: usize) -> Option<Value> {
    match text {
        "" => None,
        text if text.starts_with(STRUCTURE) => structure(text, depth),
        text => Some(with_parameter(text).unwrap_or_else(|| Value::from(text))),
    }
}

fn document(name: &str, configuration: Value) -> Value {
    [("name", Value::from(name)), ("configuration", configuration)].into_iter().collect()
}

/// Parses a quoted string at the start of `text`. Returns its content and the rest of `text`.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut characters = text.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => return Some((name, characters.as_str())),
            '\\' => name.push(characters.next().filter(|escaped| matches!(escaped, '"' | '\\'))?),
            character => name.push(character),
        }
    }
}

/// Splits `text` at the first comma outside of structures and quotes.
fn until_comma(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return (&text[..at], text[at + 1..].trim_start()),
            _ => {}
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Option<String> {
        printed_document(text).map(|document| document.to_string())
    }

    #[test]
    fn parses_printed_names_with_parameters() {
        let unit = r#"{"name":"numpy.datetime64","configuration":{"unit":"us","scale_factor":10}}"#;
        assert_eq!(printed("numpy.datetime64[10us]").as_deref(), Some(unit));
        let size = r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#;
        assert_eq!(printed("raw_bytes[3]").as_deref(), Some(size));
        for text in ["raw_bytes", "raw_bytes[3", "raw_bytes3]", "raw_bytes[99999999999999999999]"] {
            assert_eq!(printed(text), None, "{text}");
        }
    }

    #[test]
    fn parses_printed_structures() {
        let flat = r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int32"},{"name":"b, \"c\"","data_type":{"name":"raw_bytes","configuration":{"length_bytes":3}}}]}}"#;
        assert_eq!(printed(r#"struct{"a": int32, "b, \"c\"": raw_bytes[3]}"#).as_deref(), Some(flat));
        let nested = printed(r#"struct{"a": struct{"x": int8, "y": int8}, "b": bool}"#).unwrap();
        assert!(
            nested.contains(r#"{"name":"y","data_type":"int8"}]}}},{"name":"b","data_type":"bool"}"#),
            "{nested}"
        );
        let deep = format!("{}int8{}", r#"struct{"a": "#.repeat(1000), "}".repeat(1000));
        for text in
            [r#"struct{"a" int8}"#, r#"struct{a: int8}"#, r#"struct{"a": }"#, "struct{", deep.as_str()]
        {
            assert_eq!(printed(text), None, "{text}");
        }
    }
}
