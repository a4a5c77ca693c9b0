//! The `json2` codec of Zarr: encodes the items of a chunk as one JSON text.
//!
//! Array to bytes, for data type `zarr-kit.json`, which represents `|O` of v2 with this codec. The text is the nested
//! list of the items, followed by the typestring `|O` and the shape: `["foo",1,"|O",[2]]`. The encoded size
//! depends on the items.
//!
//! Arrays of numbers, booleans and fixed-length text in v2, which numcodecs also writes with this codec, are read
//! and written with a warning, but not created.
//!
//! The configuration is that of Python's `json`. `ensure_ascii`, `sort_keys`, `allow_nan`, `indent` and
//! `separators` affect only encoding. `skipkeys`, `check_circular` and `strict` have no effect on JSON items
//! and may have any value; `encoding` is UTF-8. Text that `json` reads but JSON does not allow is corrupt:
//! unpaired surrogates, and control characters in strings. `NaN`, `Infinity` and `-Infinity` are read.
//!
//! Source: `JSON` of numcodecs, in v2 as `json2`. Its name in final v3, `numcodecs.json2`, is not written by
//! other programs yet.

mod write;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::{array, json_items};
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object,
    Output, Representation, Size, Value, json,
};

use write::Writer;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.json2")
            .with_id("json2")
            .with_uri("https://zarr-kit.example/spec/codecs/json2/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<Json2Configuration>()
    .about("Encodes the items of a chunk as one JSON text.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.json2",
            "configuration": {"encoding": "utf-8", "allow_nan": true, "ensure_ascii": true,
            "sort_keys": true, "indent": null, "separators": [",", ":"], "strict": true,
            "skipkeys": false, "check_circular": true}}"#,
    )
    .with_data_types(&["zarr-kit.json"]),
    Example::v3(r#"{"name": "numcodecs.json2", "configuration": {"ensure_ascii": false, "indent": 2}}"#)
        .with_data_types(&["zarr-kit.json"]),
    Example::v2(
        r#"{"id": "json2", "encoding": "utf-8", "allow_nan": true, "ensure_ascii": true,
            "sort_keys": true, "indent": null, "separators": [",", ":"], "strict": true,
            "skipkeys": false, "check_circular": true}"#,
    )
    .with_data_types(&["zarr-kit.json"]),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/json2/1.0",
            "configuration": {"encoding": "utf-8", "allow_nan": true, "ensure_ascii": true,
            "sort_keys": true, "indent": null, "separators": [",", ":"], "strict": true,
            "skipkeys": false, "check_circular": true}}"#,
    )
    .with_data_types(&["zarr-kit.json"]),
];

/// Encodes the items of a chunk as one JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json2 {
    /// Whether characters beyond ASCII are escaped.
    pub ensure_ascii: bool,
    /// Whether the members of objects are sorted by name.
    pub sort_keys: bool,
    /// Whether NaN and infinities are written, which is not valid JSON.
    pub allow_nan: bool,
    indent: Option<usize>,
    separators: [String; 2],
}

impl Default for Json2 {
    /// Returns the defaults of numcodecs: only ASCII, sorted, without white space.
    fn default() -> Self {
        Self {
            ensure_ascii: true,
            sort_keys: true,
            allow_nan: true,
            indent: None,
            separators: [",", ":"].map(str::to_owned),
        }
    }
}

/// Maximum number of spaces per level of indentation.
const MAX_INDENT: usize = 64;

impl Json2 {
    /// Writes each item on a separate line, indented by `indent` spaces per level.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if `indent` exceeds 64.
    pub fn with_indent(self, indent: usize) -> Result<Self, CodecError> {
        if indent > MAX_INDENT {
            return Err(CodecError::configuration(format!(
                "`indent` is {indent}; expected at most {MAX_INDENT}"
            )));
        }
        Ok(Self { indent: Some(indent), ..self })
    }

    /// Sets the separators after items and after the names of members: a comma and a colon, with any white space.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if the result would not be JSON.
    pub fn with_separators(self, item: &str, name: &str) -> Result<Self, CodecError> {
        let blank = |character| matches!(character, ' ' | '\t' | '\n' | '\r');
        if (item.trim_matches(blank), name.trim_matches(blank)) != (",", ":") {
            return Err(CodecError::configuration(format!(
                "`separators` is {item:?} and {name:?}; expected a comma and a colon"
            )));
        }
        Ok(Self { separators: [item, name].map(str::to_owned), ..self })
    }
}

impl From<Json2> for CodecEntry {
    fn from(codec: Json2) -> Self {
        let configuration = json!({
            "ensure_ascii": codec.ensure_ascii,
            "sort_keys": codec.sort_keys,
            "allow_nan": codec.allow_nan,
            "indent": codec.indent.map_or(Value::Null, Value::from),
            "separators": codec.separators.into_iter().collect::<Value>(),
        });
        Self::new("json2", configuration)
    }
}

impl ArrayToBytesCodec for Json2 {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        json_items::check_array(array)?;
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let document = json_items::document(array, decoded)?;
        if !self.allow_nan
            && let Some(path) = document.find_non_finite()
        {
            return Err(CodecError::encode(format!("the number at \"{path}\" is not finite")));
        }
        Writer { codec: self, encoded }.document(&document)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        json_items::check_array(array)?;
        let document = json_items::parse_document(encoded, array.shape.len())?;
        json_items::put_elements(array, &document, decoded)
    }
}

#[derive(Deserialize)]
struct Json2Configuration {
    encoding: Option<String>,
    skipkeys: Option<bool>,
    ensure_ascii: Option<bool>,
    check_circular: Option<bool>,
    allow_nan: Option<bool>,
    sort_keys: Option<bool>,
    indent: Option<usize>,
    separators: Option<[String; 2]>,
    strict: Option<bool>,
}

impl Json2Configuration {
    fn codec(&self) -> Result<Json2, CodecError> {
        let encoding = self.encoding.as_deref().unwrap_or("utf-8");
        if !["utf-8", "utf8"].contains(&encoding.to_ascii_lowercase().as_str()) {
            return Err(CodecError::configuration(format!(
                "`encoding` is \"{encoding}\"; expected \"utf-8\""
            )));
        }
        let codec = Json2 {
            ensure_ascii: self.ensure_ascii.unwrap_or(true),
            sort_keys: self.sort_keys.unwrap_or(true),
            allow_nan: self.allow_nan.unwrap_or(true),
            ..Json2::default()
        };
        let codec = match self.indent {
            Some(indent) => codec.with_indent(indent)?,
            None => codec,
        };
        match (&self.separators, self.indent) {
            (Some([item, name]), _) => codec.with_separators(item, name),
            (None, Some(_)) => codec.with_separators(", ", ": "),
            (None, None) => Ok(codec),
        }
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let codec = creation.parse::<Json2Configuration>()?.codec()?;
    json_items::check_creation(creation, array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}

/// Writes all members, like numcodecs.
fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> Result<Object, CodecError> {
    let configuration: Json2Configuration = creation.parse()?;
    let codec = configuration.codec()?;
    let mut members = Object::new();
    members.insert("encoding", "utf-8");
    members.insert("skipkeys", configuration.skipkeys.unwrap_or(false));
    members.insert("ensure_ascii", codec.ensure_ascii);
    members.insert("check_circular", configuration.check_circular.unwrap_or(true));
    members.insert("allow_nan", codec.allow_nan);
    members.insert("indent", codec.indent.map_or(Value::Null, Value::from));
    members.insert("separators", codec.separators.into_iter().collect::<Value>());
    members.insert("sort_keys", codec.sort_keys);
    members.insert("strict", configuration.strict.unwrap_or(true));
    Ok(members)
}
