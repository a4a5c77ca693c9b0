//! The chunk key encoding `template`: builds keys from a template such as `c/{1}_{0:04}.jpg`.
//!
//! An expression in braces stands for an index: `{0}` for the index of the first dimension, `{-1}` for the index of
//! the last dimension, and `{*}` for all indices that no other expression names, with `separator` between them.
//! `{0:04}` pads the index with zeros to four digits. `{{` and `}}` are braces. With a template for their names, the
//! images of a stack are read as one array.
//!
//! Each index must have one expression, and two expressions need a character between them that is not a digit;
//! otherwise two chunks could have one key. An array whose number of dimensions does not fit the template is refused.
//!
//! The encoding is an open proposal, which may still change. Its examples use the name `format` for the member
//! `template`; both names are read.
//!
//! Source: pull request 69 of the Zarr extension registry.

mod parse;
mod pattern;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid};

use parse::Part;
use pattern::Pattern;

zarr_spec::register!(
    ChunkKeyEncodingPlugin::new(Identifiers::name("template"), &create)
        .configuration::<TemplateConfiguration>()
        .about("Inserts the chunk index in a template, such as images/{1}_{0:04}.jpg.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "template",
            "configuration": {"template": "images/{-1}/{*:04}.jpeg", "separator": "_"}}"#,
    ),
    Example::v3(r#"{"name": "template", "configuration": {"template": "c/{*}", "separator": "/"}}"#),
    Example::v3(r#"{"name": "template", "configuration": {"template": "{2}-{0}_{1}"}}"#),
];

/// Builds keys from a template.
#[derive(Debug, Clone)]
pub struct TemplateKeyEncoding {
    parts: Vec<Part>,
    separator: Option<String>,
}

impl TemplateKeyEncoding {
    /// Creates an encoding. `separator` is needed if the template has the expression `{*}`.
    ///
    /// # Errors
    ///
    /// If the template does not have the syntax of the proposal.
    pub fn new(template: &str, separator: Option<String>) -> Result<Self, Invalid> {
        let parts = parse::parts(template)?;
        if parts.iter().any(|part| matches!(part, Part::Rest { .. })) && separator.is_none() {
            return Err(Invalid::new(format!("`template` is `{template}`; `{{*}}` needs a `separator`")));
        }
        Ok(Self { parts, separator })
    }

    fn pattern(&self, rank: usize) -> Result<Pattern, Invalid> {
        Pattern::new(&self.parts, self.separator.as_deref().unwrap_or_default(), rank)
    }
}

impl ChunkKeyEncoding for TemplateKeyEncoding {
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        if let Ok(pattern) = self.pattern(chunk_index.len()) {
            pattern.encode(chunk_index, key);
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        let pattern = self.pattern(rank)?;
        // A key that `encode` would write in another form does not belong to a chunk.
        Ok(pattern.decode(key).filter(|index| {
            let mut written = String::new();
            pattern.encode(index, &mut written);
            written == key
        }))
    }
}

#[derive(Deserialize)]
struct TemplateConfiguration {
    template: Option<String>,
    format: Option<String>,
    separator: Option<String>,
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let TemplateConfiguration { template, format, separator } = creation.parse()?;
    let template = match (template, format) {
        (Some(template), None) | (None, Some(template)) => template,
        (None, None) => return Err(Invalid::new("`template` is missing")),
        (Some(_), Some(_)) => return Err(Invalid::new("`template` and `format` are the same member")),
    };
    Ok(Arc::new(TemplateKeyEncoding::new(&template, separator)?))
}
