//! `zarrs.optional`: elements of another data type, each of which may be missing.
//!
//! | format | document | missing | present |
//! |---|---|---|---|
//! | v3 | `{"name":"zarrs.optional","configuration":{"name":"int32","configuration":{}}}` | `null` | `[5]` |
//! | draft | an extension of this project, whose `type` is the inner data type | `[]` | `[5]` |
//!
//! v2 does not have such a type; the draft does not allow `null` as a fill value. The inner type may be
//! optional too: then `[null]` is a present element that contains a missing one.
//!
//! In memory, elements have a variable size, as described at [`DataType::optional`], even if elements of the
//! inner type do not. Only the codec `zarrs.optional` stores them: no other program could read the output of `bytes`.
//!
//! `optional` is the name in an open proposal. A document with this name is written with this name again.
//!
//! Source: the crate `zarrs` 0.23, the only other implementation; pull request 33 of the Zarr extension registry.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Object, Value,
};

const NAME: &str = "zarrs.optional";
/// The name in a proposal for final v3.
const PROPOSED: &str = "optional";
/// The URI of the extension in the draft.
const URI: &str = "https://zarr-kit.example/spec/data-types/optional/1.0";
/// The start of `URI` in all of its versions.
const URI_OF_ANY_VERSION: &str = "https://zarr-kit.example/spec/data-types/optional/";
/// Maximum number of nested types, since codecs recurse into each of them.
const MAX_DEPTH: usize = 32;
/// The byte before a present element.
const PRESENT: u8 = 1;

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name(NAME).with_uri(URI).with_aliases(&[PROPOSED]), &create,)
        .configuration_in::<OptionalConfiguration>(Format::V3)
        .about("Elements of another data type that may be missing.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "zarrs.optional", "configuration": {"name": "int32", "configuration": {}}}"#),
    Example::v3(r#"{"name": "zarrs.optional", "configuration": {"name": "string", "configuration": {}}}"#),
    Example::v3(
        r#"{"name": "zarrs.optional", "configuration": {
            "name": "zarrs.optional", "configuration": {"name": "float64", "configuration": {}}}}"#,
    ),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/data-types/optional/1.0", "type": "int32"}"#,
    ),
];

/// A data type whose elements may be missing.
#[derive(Debug, Clone)]
pub struct Optional {
    inner: Arc<dyn DataType>,
    /// The name in documents of final v3.
    name: &'static str,
}

impl Optional {
    /// Creates the type for elements of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn DataType>) -> Self {
        Self { inner, name: NAME }
    }

    /// Checks the size of a present element, without checking its value.
    fn check_size(&self, present: &[u8]) -> Result<(), Invalid> {
        match self.inner.elements().size() {
            Some(size) if size != present.len() => {
                let name = self.inner.name();
                let bytes = present.len();
                Err(Invalid::new(format!("{bytes} bytes are not an element of {name}, which has {size}")))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the present part of an element.
fn split(element: &[u8]) -> Result<Option<&[u8]>, Invalid> {
    match element {
        [] => Ok(None),
        [PRESENT, present @ ..] => Ok(Some(present)),
        [other, ..] => Err(Invalid::new(format!("an element begins with {other}; expected {PRESENT}"))),
    }
}

#[derive(Deserialize)]
struct OptionalConfiguration {
    name: String,
    configuration: Object,
}

/// The configuration in the proposal. The configuration of the inner type may be missing.
#[derive(Deserialize)]
struct ProposedConfiguration {
    name: String,
    #[serde(default)]
    configuration: Object,
}

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let document = match creation.format {
        Format::V2 => return Err(Invalid::new("v2 does not have optional data types").into()),
        Format::V3 => {
            check_depth(creation.configuration, "configuration", |inner| {
                Some(matches!(inner.get("name")?.as_str()?, NAME | PROPOSED))
            })?;
            let OptionalConfiguration { name, configuration } = match creation.identifier {
                PROPOSED => {
                    let ProposedConfiguration { name, configuration } = creation.parse()?;
                    OptionalConfiguration { name, configuration }
                }
                _ => creation.parse()?,
            };
            let members = [("name", Value::from(name)), ("configuration", Value::Object(configuration))];
            DataTypeDocument::v3(&members.into_iter().collect(), creation.reading)?
        }
        Format::V3Draft => {
            let inner = creation.type_name.ok_or_else(|| Invalid::new("`type` is missing"))?;
            check_depth(inner, "type", |inner| {
                Some(inner.get("extension")?.as_str()?.starts_with(URI_OF_ANY_VERSION))
            })?;
            DataTypeDocument::draft(inner, creation.reading)?
        }
    };
    let (inner, order) = creation.registry.data_type(creation.format, &document, creation.reading)?;
    let name = if creation.identifier == PROPOSED { PROPOSED } else { NAME };
    Ok((Arc::new(Optional { inner, name }), order))
}

/// Refuses a document in which too many optional types are nested. Each contains its inner type in `member`.
fn check_depth(
    inner: &Value,
    member: &str,
    is_optional: impl Fn(&Object) -> Option<bool>,
) -> Result<(), Invalid> {
    let levels = std::iter::successors(inner.as_object(), |level| level.get(member)?.as_object());
    // The outermost type is not one of the levels.
    let depth = 1 + levels.filter(|level| is_optional(level) == Some(true)).count();
    match depth {
        0..=MAX_DEPTH => Ok(()),
        _ => Err(Invalid::new(format!("{depth} optional data types are nested; the maximum is {MAX_DEPTH}"))),
    }
}

impl DataType for Optional {
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{NAME}{{{}}}", self.inner.name()))
    }

    fn elements(&self) -> Elements {
        Elements::Variable
    }

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        match format {
            Format::V2 => {
                let name = self.name().into_owned();
                Err(DataTypeError::NotInFormat { name, format, hint: String::new() })
            }
            Format::V3 => {
                let DataTypeDocument { identifier, configuration, .. } =
                    self.inner.document(format, order)?;
                let configuration = match configuration {
                    Value::Null => Value::Object(Object::new()),
                    configuration => configuration,
                };
                let inner = [("name", Value::from(identifier)), ("configuration", configuration)];
                Ok(DataTypeDocument::configured(self.name, inner.into_iter().collect()))
            }
            Format::V3Draft => {
                let inner = self.inner.document(format, order)?.json;
                Ok(DataTypeDocument::in_draft(URI, inner, None))
            }
        }
    }

    /// Reads a list of one element; `null`, or an empty list in the draft, for a missing one.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        match (json, json.as_array(), context.format) {
            (Value::Null, _, Format::V3) | (_, Some([]), Format::V3Draft) => Ok(FillValue::zero(0)),
            (_, Some([present]), _) => {
                let present = self.inner.fill_value(present, context)?;
                Ok(FillValue::new([&[PRESENT], present.bytes()].concat()))
            }
            (_, _, format) => {
                let missing = if format == Format::V3 { "null" } else { "an empty list" };
                Err(DataTypeError::FillValue(format!(
                    "{json} is neither {missing} nor a list of one element"
                )))
            }
        }
    }

    /// Writes the form that [`fill_value`](Self::fill_value) reads.
    fn fill_value_json(&self, element: &[u8], format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
        let wrong = |invalid: Invalid| DataTypeError::FillValue(invalid.to_string());
        match split(element).map_err(wrong)? {
            None if format == Format::V3Draft => Ok(Value::Array(Vec::new())),
            None => Ok(Value::Null),
            Some(present) => {
                self.check_size(present).map_err(wrong)?;
                Ok(Value::Array(vec![self.inner.fill_value_json(present, format, order)?]))
            }
        }
    }

    /// Prints `null`, or the present element.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        match split(element) {
            Ok(None) => to.write_str("null"),
            Ok(Some(present)) => self.inner.print(present, to),
            Err(_) => element.iter().try_for_each(|byte| write!(to, "{byte:02x}")),
        }
    }

    fn check(&self, element: &[u8]) -> Result<(), Invalid> {
        let Some(present) = split(element)? else { return Ok(()) };
        self.check_size(present)?;
        self.inner.check(present)
    }

    fn optional(&self) -> Option<&Arc<dyn DataType>> {
        Some(&self.inner)
    }
}
