//! What a plugin says of itself: for people who look for it, and for what tests it.

use serde::de::DeserializeOwned;
use zarr_json::{Value, schema};

use crate::format::Format;

/// A sentence on a plugin, uses of it, and what its configuration is.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// One sentence: what it does.
    pub summary: &'static str,
    /// Uses that work, the most usual one first. Conformance suites run on each.
    pub examples: &'static [Example],
    /// The schema of the configuration, for each of [`Format::ALL`].
    pub(crate) schemas: [Schema; Format::ALL.len()],
}

/// Where a JSON Schema comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Schema {
    Unknown,
    /// The struct that a linked plugin reads.
    Linked(fn() -> Value),
    /// The text that a library has, which was loaded and stays as long as the program.
    Loaded(&'static str),
}

impl About {
    /// Nothing.
    pub const NOTHING: Self = Self::new("", &[]);

    /// A sentence and uses.
    #[must_use]
    pub const fn new(summary: &'static str, examples: &'static [Example]) -> Self {
        Self { summary, examples, schemas: [Schema::Unknown; Format::ALL.len()] }
    }

    /// Adds one sentence on what the plugin does, and examples of its use.
    #[must_use]
    pub const fn described(self, summary: &'static str, examples: &'static [Example]) -> Self {
        Self { summary, examples, ..self }
    }

    /// Adds the struct that configurations of every format are read into.
    #[must_use]
    pub const fn with_configurations<T: DeserializeOwned>(self) -> Self {
        Self { schemas: [Schema::Linked(schema::of::<T>); Format::ALL.len()], ..self }
    }

    /// Adds the struct that configurations of `format` are read into.
    #[must_use]
    pub const fn with_configuration<T: DeserializeOwned>(self, format: Format) -> Self {
        self.with_schema(format, Schema::Linked(schema::of::<T>))
    }

    /// With the text of a JSON Schema that configurations of `format` fit.
    #[must_use]
    pub const fn with_schema_text(self, format: Format, text: &'static str) -> Self {
        self.with_schema(format, Schema::Loaded(text))
    }

    const fn with_schema(mut self, format: Format, schema: Schema) -> Self {
        self.schemas[format as usize] = schema;
        self
    }

    /// The JSON Schema (draft 2020-12) of what the plugin takes for its configuration in `format`, if it says so: of the
    /// `configuration`, in v2 of the members beside `id`, of a store of those beside `type`. None at all is `{}`.
    ///
    /// What it refuses is refused; the plugin may ask for more, such as what depends on another member or on the array.
    #[must_use]
    pub fn configuration_schema(&self, format: Format) -> Option<Value> {
        match self.schemas[format as usize] {
            Schema::Unknown => None,
            Schema::Linked(schema) => Some(schema()),
            Schema::Loaded(text) => zarr_json::parse(text.as_bytes(), &zarr_json::ParseOptions::default())
                .ok()
                .map(|parsed| parsed.value),
        }
    }
}

/// A use of a plugin, as it stands in a document.
///
/// ```
/// use zarr_spec::{Example, Loss};
///
/// const EXAMPLES: &[Example] = &[
///     Example::v3(r#"{"name": "bitround", "configuration": {"keepbits": 10}}"#)
///         .with_data_types(&["float32", "float64"])
///         .with_loss(Loss::Relative(1e-3)),
///     Example::v2(r#"{"id": "bitround", "keepbits": 10}"#)
///         .with_data_types(&["float32", "float64"])
///         .with_loss(Loss::Relative(1e-3)),
/// ];
/// # assert_eq!(EXAMPLES.len(), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Example {
    /// The format of the document.
    pub format: Format,
    /// JSON: all that the document says of the plugin. A codec of v3 is an object with `name` and `configuration`, a
    /// data type of v2 is the value of `dtype`, a store is its description with `type`, and so on. A store that has to be
    /// somewhere says a relative `path`: whoever runs the example says relative to what.
    pub document: &'static str,
    /// Data types of arrays that it works with, by their names in v3; none for any type.
    pub data_types: &'static [&'static str],
    /// Elements per dimension of the chunk (for a grid: of the array) that it fits; empty for any shape.
    pub shape: &'static [u64],
    /// How far elements that come back may be from those that went in.
    pub loss: Loss,
}

/// How much of an element a codec may lose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Nothing: the same bits come back.
    Nothing,
    /// The difference is at most this.
    Absolute(f64),
    /// The difference is at most this part of the element.
    Relative(f64),
    /// Without a bound, or not for all values. What came back once comes back the same from then on.
    Unbounded,
}

impl Example {
    /// As documents of final v3 have it.
    #[must_use]
    pub const fn v3(document: &'static str) -> Self {
        Self::of(Format::V3, document)
    }

    /// As documents of the v3 draft have it.
    #[must_use]
    pub const fn draft(document: &'static str) -> Self {
        Self::of(Format::V3Draft, document)
    }

    /// As documents of v2 have it.
    #[must_use]
    pub const fn v2(document: &'static str) -> Self {
        Self::of(Format::V2, document)
    }

    const fn of(format: Format, document: &'static str) -> Self {
        Self { format, document, data_types: &[], shape: &[], loss: Loss::Nothing }
    }

    /// Only with these data types.
    #[must_use]
    pub const fn with_data_types(self, data_types: &'static [&'static str]) -> Self {
        Self { data_types, ..self }
    }

    /// Only with this shape.
    #[must_use]
    pub const fn with_shape(self, shape: &'static [u64]) -> Self {
        Self { shape, ..self }
    }

    /// Not all comes back.
    #[must_use]
    pub const fn with_loss(self, loss: Loss) -> Self {
        Self { loss, ..self }
    }
}
