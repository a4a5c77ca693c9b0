//! Reference files: JSON of kerchunk, versions 0 and 1.
//!
//! Source: "References specification" of kerchunk, versions 0 and 1.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use zarr_plugin_kit::json::{self, Limits, Object, ParseOptions, Value};
use zarr_spec::Key;

use crate::template::{self, Scope, render};

/// The maximum size of a reference file in bytes.
pub(crate) const MAX_SIZE: usize = 512 << 20;

/// The maximum number of references in a file, including generated ones.
const MAX_REFERENCES: usize = 1 << 24;

/// The maximum number of bytes of generated keys.
const MAX_GENERATED: usize = 256 << 20;

/// The location of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// In the reference file.
    Inline(Bytes),
    /// A file.
    Whole { target: u32 },
    /// Bytes of a file. Their end fits in `u64`.
    Part { target: u32, offset: u64, size: u64 },
}

/// All references of a file.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Sorted; each key occurs once.
    pub(crate) entries: Vec<(Key, Reference)>,
    /// The targets of the references, each once.
    pub(crate) targets: Vec<String>,
}

/// Reads a reference file.
///
/// # Errors
///
/// A description of the first fault, with the key of the reference.
pub(crate) fn read(document: &[u8]) -> Result<References, String> {
    let limits = Limits { bytes: MAX_SIZE, ..Limits::default() };
    let options = ParseOptions { limits, ..ParseOptions::default() };
    let parsed = json::parse(document, &options).map_err(|error| error.to_string())?;
    let members = parsed.value.as_object().ok_or("expected a JSON object of references")?;
    let mut reading = Reading::default();
    match members.get("version").filter(|version| version.as_number().is_some()) {
        None => reading.add(members)?,
        Some(version) if version.as_u64() == Some(1) => {
            reading.templates = templates(members.get("templates"))?;
            let references = members.get("refs").and_then(Value::as_object);
            reading.add(references.ok_or("`refs` is missing or not an object")?)?;
            for generator in members.get("gen").map_or(Ok(&[][..]), |list| expect_array("gen", list))? {
                reading.generate(generator).map_err(|reason| format!("`gen`: {reason}"))?;
            }
        }
        Some(version) => return Err(format!("version {version} is unknown; expected 1, or no version")),
    }
    Ok(reading.finish())
}

#[derive(Debug, Default)]
struct Reading {
    references: References,
    numbers: HashMap<String, u32>,
    templates: HashMap<String, String>,
    generated: usize,
}

impl Reading {
    /// Adds the references of an object.
    fn add(&mut self, references: &Object) -> Result<(), String> {
        for (name, value) in references {
            let at = |reason: String| format!("reference `{name}`: {reason}");
            let reference = self.reference(value).map_err(at)?;
            self.push(name, reference).map_err(at)?;
        }
        Ok(())
    }

    fn push(&mut self, key: &str, reference: Reference) -> Result<(), String> {
        if self.references.entries.len() == MAX_REFERENCES {
            return Err(format!("the file has more than {MAX_REFERENCES} references"));
        }
        self.references.entries.push((Key::new(key).map_err(|error| error.to_string())?, reference));
        Ok(())
    }

    fn reference(&mut self, value: &Value) -> Result<Reference, String> {
        match value {
            Value::String(_) => inline(value.as_str().unwrap_or_default()),
            Value::Object(_) => {
                let bytes = json::to_vec(value).map_err(|error| error.to_string())?;
                Ok(Reference::Inline(bytes.into()))
            }
            Value::Array(parts) => self.stored(parts),
            _ => Err("expected a string, an object, or an array with a target".to_owned()),
        }
    }

    /// Reads `[TARGET]` or `[TARGET, OFFSET, SIZE]`.
    fn stored(&mut self, parts: &[Value]) -> Result<Reference, String> {
        let target = parts.first().and_then(Value::as_str).ok_or("the target is missing or not a string")?;
        let number = if target.contains("{{") {
            let scope = Scope { variables: &HashMap::new(), templates: &self.templates };
            let target = render(target, scope)?;
            self.number(&target)?
        } else {
            self.number(target)?
        };
        match parts {
            [_] => Ok(Reference::Whole { target: number }),
            [_, offset, size] => {
                let expected = || "expected an offset and a size, which are integers from 0".to_owned();
                part(number, offset.as_u64().ok_or_else(expected)?, size.as_u64().ok_or_else(expected)?)
            }
            _ => Err(format!(
                "expected a target, or a target, an offset and a size, found {} items",
                parts.len()
            )),
        }
    }

    /// Returns the number of a target.
    fn number(&mut self, target: &str) -> Result<u32, String> {
        if let Some(number) = self.numbers.get(target) {
            return Ok(*number);
        }
        let number = u32::try_from(self.references.targets.len()).map_err(|error| error.to_string())?;
        self.references.targets.push(target.to_owned());
        self.numbers.insert(target.to_owned(), number);
        Ok(number)
    }

    /// Adds the references of a generator: one for each combination of its dimensions. They replace others with the
    /// same key, as in fsspec.
    fn generate(&mut self, generator: &Value) -> Result<(), String> {
        let generator = generator.as_object().ok_or("expected an object")?;
        let text = |name: &str| generator.get(name).and_then(Value::as_str);
        let key = text("key").ok_or("`key` is missing or not a string")?;
        let url = text("url").ok_or("`url` is missing or not a string")?;
        let range = match (generator.get("offset"), generator.get("length")) {
            (None, None) => None,
            (Some(offset), Some(length)) => Some((template_of(offset)?, template_of(length)?)),
            _ => return Err("`offset` and `length` must both be there, or neither".to_owned()),
        };
        let dimensions = generator.get("dimensions").and_then(Value::as_object);
        let dimensions = dimensions.ok_or("`dimensions` is missing or not an object")?;
        let mut axes = Vec::new();
        for (name, values) in dimensions {
            axes.push((name.to_owned(), Axis::of(values).map_err(|reason| format!("`{name}`: {reason}"))?));
        }
        let count = axes.iter().try_fold(1_usize, |count, (_, axis)| count.checked_mul(axis.len()));
        let count = count.filter(|count| *count <= MAX_REFERENCES);
        let count = count.ok_or_else(|| format!("it generates more than {MAX_REFERENCES} references"))?;
        for index in 0..count {
            let variables = combination(&axes, index);
            let templates = std::mem::take(&mut self.templates);
            let scope = Scope { variables: &variables, templates: &templates };
            let added = self.add_generated(key, url, range.as_ref(), scope);
            self.templates = templates;
            added?;
        }
        Ok(())
    }

    fn add_generated(
        &mut self,
        key: &str,
        url: &str,
        range: Option<&(String, String)>,
        scope: Scope<'_>,
    ) -> Result<(), String> {
        let key = render(key, scope)?;
        let url = render(url, scope)?;
        self.generated += key.len() + url.len();
        if self.generated > MAX_GENERATED {
            return Err(format!("the generated keys and targets have more than {MAX_GENERATED} bytes"));
        }
        let target = self.number(&url)?;
        let number = |template: &str| {
            let text = render(template, scope)?;
            text.trim().parse::<u64>().map_err(|_| format!("`{text}` is not an integer from 0"))
        };
        let reference = match range {
            None => Reference::Whole { target },
            Some((offset, size)) => part(target, number(offset)?, number(size)?)?,
        };
        self.push(&key, reference)
    }

    /// Sorts the references. The last one of a key remains.
    fn finish(self) -> References {
        let mut references = self.references;
        references.entries.reverse();
        references.entries.sort_by(|one, other| one.0.cmp(&other.0));
        references.entries.dedup_by(|next, first| next.0 == first.0);
        references.entries.shrink_to_fit();
        references
    }
}

/// The values of a dimension of a generator.
#[derive(Debug)]
enum Axis {
    Range { start: i64, step: i64, count: usize },
    List(Vec<template::Value>),
}

impl Axis {
    fn of(values: &Value) -> Result<Self, String> {
        if let Some(list) = values.as_array() {
            let value = |value: &Value| match (value.as_i64(), value.as_str()) {
                (Some(number), _) => Ok(template::Value::Integer(number)),
                (None, Some(text)) => Ok(template::Value::Text(text.to_owned())),
                (None, None) => Err("expected integers and strings in the list".to_owned()),
            };
            return list.iter().map(value).collect::<Result<_, _>>().map(Self::List);
        }
        let range = values.as_object().ok_or("expected a list, or an object with `stop`")?;
        let integer = |name: &str, default: Option<i64>| match range.get(name) {
            None => default.ok_or_else(|| format!("`{name}` is missing")),
            Some(value) => value.as_i64().ok_or_else(|| format!("`{name}` is not an integer")),
        };
        let start = integer("start", Some(0))?;
        let stop = integer("stop", None)?;
        let step = integer("step", Some(1))?;
        if step == 0 {
            return Err("`step` is 0".to_owned());
        }
        let distance = (i128::from(stop) - i128::from(start)) * i128::from(step.signum());
        let count = (distance.max(0) + i128::from(step.unsigned_abs()) - 1) / i128::from(step.unsigned_abs());
        let count = usize::try_from(count).map_err(|_| "it has too many values")?;
        Ok(Self::Range { start, step, count })
    }

    fn len(&self) -> usize {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(list) => list.len(),
        }
    }

    /// Returns a value; the index is less than the number of values.
    fn value(&self, index: usize) -> template::Value {
        match self {
            Self::Range { start, step, .. } => {
                let index = i64::try_from(index).unwrap_or(i64::MAX);
                template::Value::Integer(start.saturating_add(step.saturating_mul(index)))
            }
            Self::List(list) => list.get(index).cloned().unwrap_or(template::Value::Integer(0)),
        }
    }
}

/// Returns combination `index` of the values of the dimensions. The last dimension changes fastest.
fn combination(axes: &[(String, Axis)], mut index: usize) -> HashMap<String, template::Value> {
    let mut variables = HashMap::new();
    for (name, axis) in axes.iter().rev() {
        variables.insert(name.clone(), axis.value(index % axis.len().max(1)));
        index /= axis.len().max(1);
    }
    variables
}

fn templates(value: Option<&Value>) -> Result<HashMap<String, String>, String> {
    let Some(value) = value else { return Ok(HashMap::new()) };
    let members = value.as_object().ok_or("`templates` is not an object")?;
    let text = |name: &str, value: &Value| match value.as_str() {
        Some(text) => Ok((name.to_owned(), text.to_owned())),
        None => Err(format!("template `{name}` is not a string")),
    };
    members.iter().map(|(name, value)| text(name, value)).collect()
}

/// Returns the text of a template for `offset` or `length`. A plain number is its own template.
fn template_of(value: &Value) -> Result<String, String> {
    match (value.as_str(), value.as_number()) {
        (Some(text), _) => Ok(text.to_owned()),
        (None, Some(number)) => Ok(number.text().to_owned()),
        (None, None) => Err("`offset` and `length` must be strings or integers".to_owned()),
    }
}

fn expect_array<'v>(name: &str, value: &'v Value) -> Result<&'v [Value], String> {
    value.as_array().ok_or_else(|| format!("`{name}` is not an array"))
}

fn inline(text: &str) -> Result<Reference, String> {
    let bytes = match text.strip_prefix("base64:") {
        Some(encoded) => {
            STANDARD.decode(encoded.trim()).map_err(|error| format!("invalid base64: {error}"))?
        }
        None => text.as_bytes().to_vec(),
    };
    Ok(Reference::Inline(bytes.into()))
}

fn part(target: u32, offset: u64, size: u64) -> Result<Reference, String> {
    offset.checked_add(size).ok_or_else(|| format!("offset {offset} and size {size} are too large"))?;
    Ok(Reference::Part { target, offset, size })
}
