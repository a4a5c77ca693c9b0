//! From the member of a metadata document to what the registry is asked for.

use zarr_json::{Object, Value};

use super::{DataTypeDocument, Typestring};
use crate::format::{Invalid, Reading};

/// What programs of the draft's first generation wrote where a URI belongs (DX-A-18).
const PSEUDO_URIS: [&str; 4] = [
    "TODO: bytestring array protocol URL",
    "TODO: unicode array protocol URL",
    "TODO: structured array protocol URL",
    "TODO: object array protocol URL",
];

impl DataTypeDocument {
    /// A data type of v3 or a core type of the draft, without configuration.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            identifier: name.to_owned(),
            json: Value::from(name),
            configuration: Value::Null,
            type_name: None,
            fallback: Vec::new(),
        }
    }

    /// The `dtype` of a v2 array; `object_codec` is the id of its first filter, which says what objects are.
    ///
    /// Fields of a structure are left to its plugin.
    ///
    /// # Errors
    ///
    /// If `dtype` is neither a typestring nor a list, or `|O` without an object codec (V2-DT-23).
    pub fn v2(dtype: &Value, object_codec: Option<&str>, reading: &Reading) -> Result<Self, Invalid> {
        let identifier = match dtype {
            Value::Array(_) => "struct".to_owned(),
            Value::String(text) => {
                let typestring = Typestring::parse(text, reading)?;
                match (typestring.kind, object_codec) {
                    ('O', Some(codec)) => format!("O/{codec}"),
                    ('O', None) => {
                        return Err(Invalid::new(format!(
                            "`{text}` needs an object codec, such as `vlen-utf8`, as the first filter"
                        )));
                    }
                    _ => typestring.identifier(),
                }
            }
            other => {
                return Err(Invalid::new(format!(
                    "a data type is a typestring or a list of fields, not {}",
                    other.kind_name()
                )));
            }
        };
        Ok(Self {
            identifier,
            json: dtype.clone(),
            configuration: dtype.clone(),
            type_name: None,
            fallback: Vec::new(),
        })
    }

    /// The `data_type` of a final v3 array: a name, or an object with `name` and `configuration`.
    ///
    /// `must_understand` has no meaning for data types: an unknown one is an error either way (V3-EXT-05).
    ///
    /// # Errors
    ///
    /// For every other form. Further members are tolerated unless the document is read strictly (V3-EXT-08).
    pub fn v3(data_type: &Value, reading: &Reading) -> Result<Self, Invalid> {
        let members = match data_type {
            Value::String(name) if !name.is_empty() => return Ok(Self::named(name)),
            Value::Object(members) => members,
            Value::String(_) => return Err(Invalid::new("the name of the data type is empty")),
            other => {
                return Err(Invalid::new(format!(
                    "a data type is a name or an object, not {}",
                    other.kind_name()
                )));
            }
        };
        for name in members.keys() {
            if !["name", "configuration", "must_understand"].contains(&name) {
                reading.tolerate(format!("unknown member `{name}` of a data type; it is ignored"))?;
            }
        }
        let configuration = match members.get("configuration") {
            None => Value::Null,
            Some(configuration @ Value::Object(_)) => configuration.clone(),
            Some(other) => {
                return Err(Invalid::new(format!("`configuration` is {}, not an object", other.kind_name())));
            }
        };
        if let Some(other) = members.get("must_understand")
            && other.as_bool().is_none()
        {
            return Err(Invalid::new(format!("`must_understand` is {}, not a boolean", other.kind_name())));
        }
        Ok(Self { json: data_type.clone(), configuration, ..Self::named(string_member(members, "name")?) })
    }

    /// The `data_type` of an array of the draft: a core identifier, or an object that names an extension.
    ///
    /// A typestring that the draft had before its identifiers, `<f8`, becomes `f8`, configured by the typestring
    /// (D3-DT-22). Whether the name is one that exists is for the registry to say.
    ///
    /// # Errors
    ///
    /// For every other form, and for typestrings without byte order.
    pub fn draft(data_type: &Value, reading: &Reading) -> Result<Self, Invalid> {
        match data_type {
            Value::String(text) => draft_name(text),
            Value::Object(members) => {
                Ok(Self { json: data_type.clone(), ..draft_extension(members, reading)? })
            }
            other => Err(Invalid::new(format!(
                "a data type is an identifier or an object, not {}",
                other.kind_name()
            ))),
        }
    }

    /// The type of objects that `codec` encodes, for `|O` in documents of the draft's first generation, whose object
    /// codec stands among the attributes (DX-A-18).
    #[must_use]
    pub fn with_object_codec(self, codec: &str) -> Self {
        Self { identifier: format!("O/{codec}"), configuration: Value::from("|O"), type_name: None, ..self }
    }
}

fn draft_name(text: &str) -> Result<DataTypeDocument, Invalid> {
    if text.is_empty() {
        return Err(Invalid::new("the identifier of the data type is empty"));
    }
    let named = DataTypeDocument::named(text);
    if let Some(core) = draft_alias(text) {
        return Ok(DataTypeDocument {
            identifier: core.to_owned(),
            configuration: Value::from(text),
            ..named
        });
    }
    // The registry also knows these by their ids in v2, where the byte order is another member's business.
    let is_id = text.trim_end_matches(|digit: char| digit.is_ascii_digit()).len() == 1
        && text.starts_with(['b', 'i', 'u', 'f', 'c', 'm', 'M', 'O', 'S', 'U', 'V']);
    if is_id || text.starts_with("O/") {
        return Err(Invalid::new(format!("`{text}` is not a core data type")));
    }
    Ok(named)
}

/// What v2 calls the type of a typestring that the draft had before its identifiers.
fn draft_alias(text: &str) -> Option<&str> {
    match text {
        "i1" | "u1" => Some(text),
        _ => text
            .strip_prefix(['<', '>'])
            .filter(|id| matches!(*id, "i2" | "i4" | "i8" | "u2" | "u4" | "u8" | "f2" | "f4" | "f8")),
    }
}

fn draft_extension(members: &Object, reading: &Reading) -> Result<DataTypeDocument, Invalid> {
    if let Some(name) = members.keys().find(|name| !["extension", "type", "fallback"].contains(name)) {
        return Err(Invalid::new(format!(
            "unknown member `{name}` of a data type; there are extension, type, fallback"
        )));
    }
    let uri = string_member(members, "extension")?;
    if !is_uri(uri) {
        if !PSEUDO_URIS.contains(&uri) {
            return Err(Invalid::new(format!("`extension` is `{uri}`, which is no URI")));
        }
        reading.tolerate(format!("`extension` is `{uri}`, which is no URI; `type` alone decides"))?;
    }
    let type_name = members.get("type").ok_or_else(|| Invalid::new("`type` is missing"))?;
    let fallback = match members.get("fallback") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => {
            list.iter().map(|one| DataTypeDocument::draft(one, reading)).collect::<Result<_, _>>()?
        }
        Some(one @ (Value::String(_) | Value::Object(_))) => vec![DataTypeDocument::draft(one, reading)?],
        Some(other) => {
            return Err(Invalid::new(format!(
                "`fallback` is {}, not a data type or a list of them",
                other.kind_name()
            )));
        }
    };
    Ok(DataTypeDocument { type_name: Some(type_name.clone()), fallback, ..DataTypeDocument::named(uri) })
}

/// Whether `text` begins with a scheme, has something behind it and no white space.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !rest.is_empty()
        && !text.contains(char::is_whitespace)
}

fn string_member<'m>(members: &'m Object, name: &str) -> Result<&'m str, Invalid> {
    match members.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(Value::String(_)) => Err(Invalid::new(format!("`{name}` is empty"))),
        Some(other) => Err(Invalid::new(format!("`{name}` is {}, not a string", other.kind_name()))),
        None => Err(Invalid::new(format!("`{name}` is missing"))),
    }
}
