//! The description of a plugin, for documentation and for tests.

use serde::de::DeserializeOwned;
use zarr_json::{Value, schema};

use crate::format::Format;

/// A summary of a plugin, examples of its use, and the schema of its configuration.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct About {
    /// One sentence about the purpose of the plugin.
    pub summary: &'static str,
    /// Working examples, the most common one first. Conformance suites run all of them.
    pub examples: &'static [Example],
    /// Whether the plugin is a codec that only decodes: [`Plugin::decodes_only`](crate::plugin::Plugin::decodes_only).
    pub decodes_only: bool,
    /// The schema of the configuration, for each of [`Format::ALL`].
    pub(crate) schemas: [Schema; Format::ALL.len()],
}

/// The source of a JSON Schema.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Schema {
    Unknown,
    /// The struct into which a linked plugin parses the configuration.
    Linked(fn() -> Value),
    /// The text of a loaded library, which is never freed.
    Loaded(&'static str),
}

impl About {
    /// An empty description.
    pub const NOTHING: Self = Self::new("", &[]);

    /// Creates a description without schemas.
    #[must_use]
    pub const fn new(summary: &'static str, examples: &'static [Example]) -> Self {
        Self { summary, examples, decodes_only: false, schemas: [Schema::Unknown; Format::ALL.len()] }
    }

    /// Adds one sentence about the purpose of the plugin, and examples of its use.
    #[must_use]
    pub const fn described(self, summary: &'static str, examples: &'static [Example]) -> Self {
        Self { summary, examples, ..self }
    }

    /// Declares whether the plugin is a codec that only decodes.
    #[must_use]
    pub const fn with_decodes_only(self, decodes_only: bool) -> Self {
        Self { decodes_only, ..self }
    }

    /// Adds the struct into which configurations of every format are parsed.
    #[must_use]
    pub const fn with_configurations<T: DeserializeOwned>(self) -> Self {
        Self { schemas: [Schema::Linked(schema::of::<T>); Format::ALL.len()], ..self }
    }

    /// Adds the struct into which configurations of `format` are parsed.
    #[must_use]
    pub const fn with_configuration<T: DeserializeOwned>(self, format: Format) -> Self {
        self.with_schema(format, Schema::Linked(schema::of::<T>))
    }

    /// Adds the text of a JSON Schema for configurations of `format`.
    #[must_use]
    pub const fn with_schema_text(self, format: Format, text: &'static str) -> Self {
        self.with_schema(format, Schema::Loaded(text))
    }

    const fn with_schema(mut self, format: Format, schema: Schema) -> Self {
        self.schemas[format as usize] = schema;
        self
    }

    /// Returns the JSON Schema (draft 2020-12) of the configuration in `format`, if the plugin declares one. The schema
    /// describes the `configuration`; in v2, the members next to `id`; for a store, the members next to `type`. A
    /// missing configuration counts as `{}`.
    ///
    /// The plugin refuses everything that the schema refuses. The plugin may check more, such as relations to other
    /// members or to the array.
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

/// An example of a plugin's use, in the form of a document.
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
#[non_exhaustive]
pub struct Example {
    /// The format of the document.
    pub format: Format,
    /// The JSON entry of the plugin in a document: a codec of v3 is an object with `name` and `configuration`,
    /// a data type of v2 is the value of `dtype`, a store is its description with `type`, and so on. A store
    /// that needs a location has a relative `path`; the program that runs the example chooses the folder.
    pub document: &'static str,
    /// The data types of arrays that the example supports, by their names in v3; empty for any data type.
    pub data_types: &'static [&'static str],
    /// The shape of the chunk (for a grid: of the array) that the example supports; empty for any shape.
    pub shape: &'static [u64],
    /// The maximum difference between original and decoded elements. If the codec only decodes, the maximum difference
    /// between its elements and the elements of other decoders: [`Loss::Nothing`] or [`Loss::Absolute`].
    pub loss: Loss,
}

/// How much of an element a codec may lose.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the suite checks every loss")]
pub enum Loss {
    /// Lossless: the same bits are returned.
    Nothing,
    /// The difference is at most this.
    Absolute(f64),
    /// The difference is at most this fraction of the element.
    Relative(f64),
    /// There is no bound for some or all values. Encoding and decoding a decoded value again does not change it.
    Unbounded,
}

impl Example {
    /// Creates an example for documents of final v3.
    #[must_use]
    pub const fn v3(document: &'static str) -> Self {
        Self::of(Format::V3, document)
    }

    /// Creates an example for documents of the v3 draft.
    #[must_use]
    pub const fn draft(document: &'static str) -> Self {
        Self::of(Format::V3Draft, document)
    }

    /// Creates an example for documents of v2.
    #[must_use]
    pub const fn v2(document: &'static str) -> Self {
        Self::of(Format::V2, document)
    }

    /// Creates an example for documents of `format`.
    #[must_use]
    pub const fn of(format: Format, document: &'static str) -> Self {
        Self { format, document, data_types: &[], shape: &[], loss: Loss::Nothing }
    }

    /// Restricts the example to these data types.
    #[must_use]
    pub const fn with_data_types(self, data_types: &'static [&'static str]) -> Self {
        Self { data_types, ..self }
    }

    /// Restricts the example to this shape.
    #[must_use]
    pub const fn with_shape(self, shape: &'static [u64]) -> Self {
        Self { shape, ..self }
    }

    /// Declares the example as lossy.
    #[must_use]
    pub const fn with_loss(self, loss: Loss) -> Self {
        Self { loss, ..self }
    }
}
