//! Reading the members of an object one by one, which finds unknown members.

use std::fmt;

use zarr_json::{Object, Value, counted, did_you_mean, similar};

use super::DocumentError;
use zarr_spec::format::{Mode, Reading};

/// Maximum number of dimensions of an array, the former limit of NumPy.
const MAX_DIMENSIONS: usize = 32;

/// The number of members that objects rarely exceed.
const USUAL_MEMBERS: usize = 12;

/// The members of an object, and the names of those that the reader knows.
pub(super) struct Members<'a, 'p> {
    object: &'a Object,
    place: MemberPath<'p>,
    known: Vec<&'static str>,
}

/// A position in a document. Its path is formatted only when it is printed.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberPath<'p> {
    Document,
    Member(&'p str),
    Element(&'p str, usize),
}

impl fmt::Display for MemberPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document => Ok(()),
            Self::Member(path) => f.write_str(path),
            Self::Element(path, position) => write!(f, "{path}[{position}]"),
        }
    }
}

impl<'p> From<&'p str> for MemberPath<'p> {
    fn from(path: &'p str) -> Self {
        Self::Member(path)
    }
}

impl<'a, 'p> Members<'a, 'p> {
    /// Creates the members of a whole document.
    pub(super) fn of_document(document: &'a Value) -> Result<Self, DocumentError> {
        let Some(object) = document.as_object() else {
            return Err(DocumentError::document(format!("is {}, not an object", document.kind_name())));
        };
        Ok(Self { object, place: MemberPath::Document, known: Vec::with_capacity(USUAL_MEMBERS) })
    }

    /// Creates the members of an object at `place` in a document.
    pub(super) fn of_member(
        place: impl Into<MemberPath<'p>>,
        value: &'a Value,
    ) -> Result<Self, DocumentError> {
        let place = place.into();
        let Some(object) = value.as_object() else {
            return Err(wrong(&place.to_string(), value, "an object"));
        };
        Ok(Self { object, place, known: Vec::new() })
    }

    /// Reports all missing members in one error.
    pub(super) fn require(&self, names: &[&'static str]) -> Result<(), DocumentError> {
        let missing: Vec<&&'static str> = names.iter().filter(|name| !self.object.contains(name)).collect();
        match missing.as_slice() {
            [] => Ok(()),
            [name] => Err(self.missing(name)),
            names => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                Err(DocumentError {
                    member: Some(self.place.to_string()).filter(|place| !place.is_empty()),
                    reason: format!("members {} are missing", names.join(", ")),
                })
            }
        }
    }

    /// Returns the member of this name, if it exists.
    pub(super) fn optional(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.object.get(name)
    }

    pub(super) fn required(&mut self, name: &'static str) -> Result<&'a Value, DocumentError> {
        self.optional(name).ok_or_else(|| self.missing(name))
    }

    pub(super) fn string(&mut self, name: &'static str) -> Result<&'a str, DocumentError> {
        let value = self.required(name)?;
        value.as_str().ok_or_else(|| wrong(&self.path(name), value, "a string"))
    }

    pub(super) fn uri(&mut self, name: &'static str) -> Result<&'a str, DocumentError> {
        let uri = self.string(name)?;
        if is_uri(uri) { Ok(uri) } else { Err(self.error(name, format!("is \"{uri}\", which is not a URI"))) }
    }

    /// Returns the `configuration`, which must be an object; null if it is missing.
    pub(super) fn configuration(&mut self) -> Result<Value, DocumentError> {
        match self.optional("configuration") {
            None => Ok(Value::Null),
            Some(value @ Value::Object(_)) => Ok(value.clone()),
            Some(other) => Err(wrong(&self.path("configuration"), other, "an object")),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        match self.place {
            MemberPath::Document => name.to_owned(),
            place => format!("{place}.{name}"),
        }
    }

    /// Creates an error about a member of this object.
    pub(super) fn error(&self, name: &str, reason: impl Into<String>) -> DocumentError {
        DocumentError::member(self.path(name), reason)
    }

    /// Returns the members that the reader did not request.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.object.except(&self.known)
    }

    /// Refuses members that the reader did not request. The error names the first of them.
    pub(super) fn refuse_unknown(&self) -> Result<(), DocumentError> {
        match self.unknown().next() {
            None => Ok(()),
            Some((name, _)) => Err(self.unknown_member(name)),
        }
    }

    pub(super) fn unknown_member(&self, name: &str) -> DocumentError {
        self.error(name, unknown_member(name, &self.known))
    }

    /// Creates the error for a missing member. The error also names a member of the object that may be a misspelling of
    /// `name`.
    fn missing(&self, name: &'static str) -> DocumentError {
        let is_misspelling = |found: &&str| !self.known.contains(found) && !similar(found, [name]).is_empty();
        let reason = match self.object.keys().find(is_misspelling) {
            Some(found) => format!("is missing; found `{found}`{}", did_you_mean(&[name])),
            None => "is missing".to_owned(),
        };
        self.error(name, reason)
    }
}

/// Returns the reason why the member `name` is refused in an object with the members `known`.
pub(super) fn unknown_member(name: &str, known: &[&'static str]) -> String {
    let hint = did_you_mean(&similar(name, known.iter().copied()));
    format!("unknown member{hint}; expected one of {}", known.join(", "))
}

/// Creates the error about a member of the wrong kind.
pub(super) fn wrong(path: &str, found: &Value, expected: &str) -> DocumentError {
    DocumentError::member(path, format!("is {}, not {expected}", describe(found)))
}

/// Formats a value for messages: short values as text, others by their kind.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.text().len() <= 40 => number.text().to_owned(),
        Value::String(text) if text.len() <= 200 => format!("\"{text}\""),
        other => other.kind_name().to_owned(),
    }
}

/// Tolerates a violation of the specification with a warning, except in strict mode.
pub(super) fn tolerate(reading: &Reading, mut error: DocumentError) -> Result<(), DocumentError> {
    if reading.mode() == Mode::Strict {
        error.reason += " (accepted when reading, except in strict mode)";
        return Err(error);
    }
    reading.warn(error.to_string());
    Ok(())
}

/// Tolerates a form of another generation with a warning, only in compatibility mode.
pub(super) fn tolerate_for_compatibility(
    reading: &Reading,
    mut error: DocumentError,
) -> Result<(), DocumentError> {
    if reading.mode() == Mode::Compatibility {
        reading.warn(error.to_string());
        return Ok(());
    }
    error.reason += " (accepted in compatibility mode)";
    Err(error)
}

/// Reads a version number in `zarr_format`; `2.0` instead of 2 is read with a warning.
pub(super) fn zarr_format(
    members: &mut Members<'_, '_>,
    expected: u32,
    reading: &Reading,
) -> Result<(), DocumentError> {
    let value = members.required("zarr_format")?;
    if value.as_u64() == Some(u64::from(expected)) {
        return Ok(());
    }
    let error = wrong("zarr_format", value, &format!("the integer {expected}"));
    if value.as_f64() == Some(f64::from(expected)) { tolerate(reading, error) } else { Err(error) }
}

/// Reads the attributes of a node.
pub(super) fn attributes(value: &Value) -> Result<Object, DocumentError> {
    value.as_object().cloned().ok_or_else(|| wrong("attributes", value, "an object"))
}

pub(super) fn elements<'a>(path: &str, value: &'a Value) -> Result<&'a [Value], DocumentError> {
    value.as_array().ok_or_else(|| wrong(path, value, "an array"))
}

/// Reads the shape of an array, with lengths of at most 2^63 - 1 and a limited number of dimensions.
pub(super) fn shape(path: &str, value: &Value) -> Result<Vec<u64>, DocumentError> {
    let lengths = elements(path, value)?;
    if lengths.len() > MAX_DIMENSIONS {
        let reason = format!("has {} dimensions; more than {MAX_DIMENSIONS} are unsupported", lengths.len());
        return Err(DocumentError::member(path, reason));
    }
    lengths.iter().enumerate().map(|(dimension, value)| length(path, dimension, value)).collect()
}

fn length(path: &str, dimension: usize, value: &Value) -> Result<u64, DocumentError> {
    const LIMIT: u64 = i64::MAX.unsigned_abs();
    let path = || MemberPath::Element(path, dimension).to_string();
    match (value.as_u64(), value) {
        (Some(length), _) if length <= LIMIT => Ok(length),
        (_, Value::Number(number)) if number.is_integer() && !number.text().starts_with('-') => {
            let reason = format!("is {}; lengths above 2^63 - 1 are unsupported", describe(value));
            Err(DocumentError::member(path(), reason))
        }
        _ => Err(wrong(&path(), value, "an integer that is at least 0")),
    }
}

/// Reads the chunk lengths of an array with the shape `array`.
///
/// A length of 0 along a dimension without elements is an error that `zero` returns or tolerates. If `zero` tolerates
/// it, the length becomes 1, so that callers can divide by it.
pub(super) fn chunk_shape(
    path: &str,
    value: &Value,
    array: &[u64],
    zero: impl Fn(DocumentError) -> Result<(), DocumentError>,
) -> Result<Vec<u64>, DocumentError> {
    let mut chunk = shape(path, value)?;
    if chunk.len() != array.len() {
        return Err(DocumentError::member(path, count_mismatch(chunk.len(), array.len())));
    }
    for (dimension, (length, &elements)) in chunk.iter_mut().zip(array).enumerate() {
        if *length > 0 {
            continue;
        }
        let error = DocumentError::member(
            format!("{path}[{dimension}]"),
            format!("is 0, but the array has {elements} elements; expected at least 1"),
        );
        if elements > 0 {
            return Err(error);
        }
        zero(error)?;
        *length = 1;
    }
    Ok(chunk)
}

/// Formats a message such as "has 2 entries for 1 dimension".
pub(super) fn count_mismatch(entries: usize, dimensions: usize) -> String {
    let entries = counted(entries, "entry", "entries");
    format!("has {entries} for {}", counted(dimensions, "dimension", "dimensions"))
}

/// Reads `dimension_names`: a string or null for each of `dimensions`.
pub(super) fn dimension_names(
    value: &Value,
    dimensions: usize,
    reading: &Reading,
) -> Result<Vec<Option<String>>, DocumentError> {
    const MEMBER: &str = "dimension_names";
    let names = elements(MEMBER, value)?;
    if names.len() != dimensions {
        return Err(DocumentError::member(MEMBER, count_mismatch(names.len(), dimensions)));
    }
    let name = |(dimension, value): (usize, &Value)| match value {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name.clone())),
        other => Err(wrong(&format!("{MEMBER}[{dimension}]"), other, "a string or null")),
    };
    let names = names.iter().enumerate().map(name).collect::<Result<Vec<_>, _>>()?;
    for (dimension, name) in names.iter().enumerate() {
        if let Some(name) = name
            && names[..dimension].iter().flatten().any(|other| other == name)
        {
            reading.warn(format!("`{MEMBER}`: \"{name}\" names more than one dimension"));
        }
    }
    Ok(names)
}

/// Returns whether `text` has the form of a URI: a scheme, a colon, and more characters without white space.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_character = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(scheme_character)
        && !rest.is_empty()
        && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
}
