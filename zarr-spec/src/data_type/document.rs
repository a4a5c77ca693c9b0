//! Reading data types of metadata documents.

use zarr_json::{Object, Value};

use super::{DataTypeDocument, Typestring};
use crate::format::{Invalid, Reading};

/// Texts that programs of the draft's first generation wrote instead of a URI (DX-A-18).
const PSEUDO_URIS: [&str; 4] = [
    "TODO: bytestring array protocol URL",
    "TODO: unicode array protocol URL",
    "TODO: structured array protocol URL",
    "TODO: object array protocol URL",
];

impl DataTypeDocument {
    /// Creates a data type of v3 or a core type of the draft, without configuration.
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

    /// Creates a data type of v3 with a configuration.
    #[must_use]
    pub fn configured(name: &str, configuration: Value) -> Self {
        let members = [("name", Value::from(name)), ("configuration", configuration.clone())];
        Self { json: members.into_iter().collect(), configuration, ..Self::named(name) }
    }

    /// Creates a data type of v2, whose `dtype` is also the configuration of the plugin.
    #[must_use]
    pub fn in_v2(identifier: &str, dtype: Value) -> Self {
        Self { json: dtype.clone(), configuration: dtype, ..Self::named(identifier) }
    }

    /// Creates an extension data type of the draft, with the core type that other readers use instead.
    #[must_use]
    pub fn in_draft(uri: &str, type_name: Value, fallback: Option<&str>) -> Self {
        let mut members = Object::new();
        members.insert("extension", uri);
        members.insert("type", type_name.clone());
        if let Some(fallback) = fallback {
            members.insert("fallback", Value::Array(vec![Value::from(fallback)]));
        }
        let fallback = fallback.into_iter().map(Self::named).collect();
        Self { json: Value::Object(members), type_name: Some(type_name), fallback, ..Self::named(uri) }
    }

    /// Reads the `dtype` of a v2 array. `object_codec` is the id of its first filter, which determines the type
    /// of objects.
    ///
    /// The plugin of structures reads their fields.
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
                    "expected a typestring or a list of fields, found {}",
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

    /// Reads the `data_type` of a final v3 array: a name, or an object with `name` and `configuration`.
    ///
    /// `must_understand` does not have a meaning for data types: an unknown one is always an error (V3-EXT-05).
    ///
    /// # Errors
    ///
    /// For every other form. Other members are tolerated, except in strict mode (V3-EXT-08).
    pub fn v3(data_type: &Value, reading: &Reading) -> Result<Self, Invalid> {
        let members = match data_type {
            Value::String(name) if !name.is_empty() => return Ok(Self::named(name)),
            Value::Object(members) => members,
            Value::String(_) => return Err(Invalid::new("the name of the data type is empty")),
            other => {
                return Err(Invalid::new(format!(
                    "expected the name of a data type or an object, found {}",
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
                return Err(Invalid::new(format!(
                    "`configuration` is {}; expected an object",
                    other.kind_name()
                )));
            }
        };
        if let Some(other) = members.get("must_understand")
            && other.as_bool().is_none()
        {
            return Err(Invalid::new(format!(
                "`must_understand` is {}; expected a boolean",
                other.kind_name()
            )));
        }
        Ok(Self { json: data_type.clone(), configuration, ..Self::named(string_member(members, "name")?) })
    }

    /// Reads the `data_type` of an array of the draft: a core identifier, or an object that names an extension.
    ///
    /// A typestring such as `<f8`, which the draft used before its identifiers, becomes `f8` with the
    /// typestring as its configuration (D3-DT-22). The registry checks whether the name exists.
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
                "expected the identifier of a data type or an object, found {}",
                other.kind_name()
            ))),
        }
    }

    /// Adds the member `dtype` of the codec that encodes objects: the type of the numbers in an object of
    /// `vlen-array`. Other types ignore it.
    #[must_use]
    pub fn with_object_elements(self, dtype: Option<&Value>) -> Self {
        if !self.identifier.starts_with("O/") {
            return self;
        }
        Self { type_name: dtype.cloned(), ..self }
    }

    /// Returns the type of objects that `codec` encodes, for `|O` in documents of the draft's first generation,
    /// which store the object codec in the attributes (DX-A-18).
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
    // An id of v2, such as `i4`, is not a name of the draft, but the registry would find its plugin.
    let is_id = text.trim_end_matches(|digit: char| digit.is_ascii_digit()).len() == 1
        && text.starts_with(['b', 'i', 'u', 'f', 'c', 'm', 'M', 'O', 'S', 'U', 'V']);
    if is_id || text.starts_with("O/") {
        return Err(Invalid::new(format!("`{text}` is not a core data type")));
    }
    Ok(named)
}

/// Returns the name in v2 of a typestring that the draft used before its identifiers.
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
            "unknown member `{name}` of a data type; expected extension, type or fallback"
        )));
    }
    let uri = string_member(members, "extension")?;
    if !is_uri(uri) {
        if !PSEUDO_URIS.contains(&uri) {
            return Err(Invalid::new(format!("`extension` is `{uri}`, which is not a URI")));
        }
        reading.tolerate(format!("`extension` is `{uri}`, which is not a URI; using only `type`"))?;
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
                "`fallback` is {}; expected a data type or a list of data types",
                other.kind_name()
            )));
        }
    };
    Ok(DataTypeDocument { type_name: Some(type_name.clone()), fallback, ..DataTypeDocument::named(uri) })
}

/// Returns whether `text` starts with a scheme, continues after it, and does not contain white space.
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
        Some(other) => Err(Invalid::new(format!("`{name}` is {}; expected a string", other.kind_name()))),
        None => Err(Invalid::new(format!("`{name}` is missing"))),
    }
}
