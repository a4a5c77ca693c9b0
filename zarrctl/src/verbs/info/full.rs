//! Everything about a node: all members of its documents, and the plugins that serve them.

use std::io::{self, Write};

use zarr_kit::spec::{Object, Value, printable};
use zarr_kit::{Format, Hierarchy, readable_location};

use super::{ArrayFacts, Known, stored_text};
use crate::describe::{Part, Stored, shape};
use crate::failure::Failure;

/// Width of the first column.
const INDENT: usize = 18;

pub(super) fn write(hierarchy: &Hierarchy, known: &Known, to: &mut dyn Write) -> Result<(), Failure> {
    writeln!(to, "{}", printable(&known.path))?;
    let mut line = |label: &str, text: &str| {
        let label = printable(label).to_string();
        writeln!(to, "  {label:INDENT$}{}", printable(text))
    };
    line("kind", known.kind)?;
    line("format", &hierarchy.description())?;
    line("store", &readable_location(&hierarchy.store().location()))?;
    if hierarchy.format() != Format::V3Draft {
        line(
            "metadata",
            if hierarchy.is_consolidated() { "consolidated" } else { "a document for each node" },
        )?;
    }
    let mut last = "";
    for part in &known.hierarchy {
        let label = label(part.member);
        write_part(part, if label == last { "" } else { label }, 0, &mut line)?;
        last = label;
    }
    if let Some(array) = &known.array {
        write_array(array, &mut line)?;
    }
    for (member, value) in known.document.iter().flatten() {
        line(&as_label(member), &value.to_string())?;
    }
    match &known.attributes {
        Some(Value::Object(attributes)) => write_attributes(attributes, &mut line)?,
        Some(other) => line("attributes", &other.to_string())?,
        None => {}
    }
    for problem in &known.problems {
        line("cannot be read", problem)?;
    }
    Ok(())
}

type Line<'a> = dyn FnMut(&str, &str) -> io::Result<()> + 'a;

fn write_array(array: &ArrayFacts, line: &mut Line<'_>) -> io::Result<()> {
    line("shape", &shape(&array.metadata.shape))?;
    if let Some(names) = &array.dimension_names {
        let names: Vec<_> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
        line("dimension names", &names.join(", "))?;
    }
    let mut last = "";
    for part in &array.parts {
        let label = label(part.member);
        write_part(part, if label == last { "" } else { label }, 0, line)?;
        last = label;
        if part.member == "chunk_grid"
            && let Some(chunks) = &array.chunks
        {
            line("", &chunks.text())?;
        }
    }
    line("fill value", &super::fill_value(&array.metadata))?;
    if let Some(fallback) = &array.fallback {
        line("fallback", fallback)?;
    }
    let Some(chunks) = &array.chunks else { return Ok(()) };
    match &chunks.stored {
        Ok(stored) => write_stored(stored, line),
        Err(reason) => line("chunks", &format!("unknown: {reason}")),
    }
}

fn write_stored(stored: &Stored, line: &mut Line<'_>) -> io::Result<()> {
    let [chunks, sizes] = stored_text(stored);
    line("chunks stored", &chunks)?;
    line("stored size", &sizes)
}

/// Formats a member name like the other labels: `data_type` becomes "data type". Other names are quoted and
/// escaped.
fn as_label(member: &str) -> String {
    match member.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        true => member.replace('_', " "),
        false => Value::from(member).to_string(),
    }
}

fn label(member: &str) -> &'static str {
    match member {
        "data_type" => "data type",
        "chunk_grid" => "chunk grid",
        "chunk_memory_layout" => "memory layout",
        "codecs" => "codecs",
        "chunk_key_encoding" => "key encoding",
        "storage_transformers" => "transformers",
        "metadata_encoding" => "metadata encoding",
        _ => "extensions",
    }
}

fn write_part(part: &Part, label: &str, depth: usize, line: &mut Line<'_>) -> io::Result<()> {
    let mut text = format!("{:indent$}{}", "", part.identifier, indent = 2 * depth);
    let has_configuration = part.member != "data_type"
        && part.configuration.as_object().is_some_and(|members| !members.is_empty());
    // The codecs of a shard follow on their own lines.
    if has_configuration && part.inner.is_empty() {
        text.push_str(&format!(" {}", part.configuration));
    }
    if part.member == "data_type" && part.name != part.identifier {
        text.push_str(&format!(" = {}", part.name));
    }
    let plugin = match &part.plugin {
        Ok(plugin) => plugin.clone(),
        Err(reason) => reason.clone(),
    };
    line(label, &format!("{text}  ({plugin})"))?;
    part.inner.iter().try_for_each(|inner| write_part(inner, "", depth + 1, line))
}

fn write_attributes(attributes: &Object, line: &mut Line<'_>) -> io::Result<()> {
    if attributes.is_empty() {
        return line("attributes", "none");
    }
    for (number, (name, value)) in attributes.iter().enumerate() {
        line(if number == 0 { "attributes" } else { "" }, &format!("{name}: {value}"))?;
    }
    Ok(())
}
