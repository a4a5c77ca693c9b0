//! `info`: shows one node.

use std::io::{self, Write};

use zarr_kit::json;
use zarr_kit::metadata::ArrayMetadata;
use zarr_kit::spec::grid::ChunkGrid;
use zarr_kit::spec::{Number, Object, Value, printable};
use zarr_kit::{Array, Format, Group, Hierarchy, Node, Unreadable, readable_location};

use crate::arguments::Info;
use crate::describe::{Describer, Part, Stored, chunk_size, problems, shape};
use crate::failure::Failure;
use crate::hints;
use crate::opening::{open, warn_of_old_copy};
use crate::printer::stdout;
use crate::salvage;
use crate::terminal::{Progress, size};

/// Width of the first column.
const INDENT: usize = 18;

/// The facts about a node.
#[derive(Debug)]
struct Known {
    path: String,
    kind: &'static str,
    /// Parts in the entry point of the v3 draft, for the root.
    hierarchy: Vec<Part>,
    /// The facts about an array, as far as its document is readable.
    array: Option<ArrayFacts>,
    /// The members of an unreadable document, without the attributes.
    document: Option<Object>,
    attributes: Option<Value>,
    /// Reasons why the node cannot be used.
    problems: Vec<String>,
}

#[derive(Debug)]
struct ArrayFacts {
    metadata: ArrayMetadata,
    parts: Vec<Part>,
    dimension_names: Option<Vec<Option<String>>>,
    fallback: Option<String>,
    /// `None` if the chunk grid is unreadable.
    chunks: Option<Chunks>,
}

#[derive(Debug)]
struct Chunks {
    grid_shape: Vec<u64>,
    /// `None` if chunks differ.
    chunk_shape: Option<Vec<u64>>,
    /// The chunk shape in words, with "up to" if chunks differ.
    chunk_size: String,
    inner_chunk_shape: Option<Vec<u64>>,
    /// Statistics about stored chunks, or the reason why they are unknown.
    stored: Result<Stored, String>,
}

pub(crate) fn run(arguments: &Info) -> Result<(), Failure> {
    let hierarchy = open(&arguments.store, &arguments.reading)?;
    let node = hierarchy.node(&arguments.path).map_err(|error| hints::of_node(error, &hierarchy))?;
    let mut known = match node {
        Node::Group(group) => of_group(&group),
        Node::Array(array) => {
            warn_of_old_copy(&hierarchy, &array);
            hints::warn_of_chunks_outside(&array)?;
            of_array(&hierarchy, &array)?
        }
        Node::Unreadable(unreadable) => of_unreadable(&hierarchy, &unreadable),
    };
    if let Some(entry_point) = hierarchy.entry_point().filter(|_| known.path == "/") {
        known.hierarchy = Describer::of(&hierarchy).hierarchy_parts(entry_point);
    }
    let mut output = io::BufWriter::new(stdout());
    if arguments.json {
        let value = Value::Object(object(&hierarchy, &known));
        let text = json::to_printable_pretty(&value).map_err(|error| Failure::fault(error.to_string()))?;
        writeln!(output, "{text}")?;
    } else {
        write(&hierarchy, &known, &mut output)?;
    }
    Ok(output.flush()?)
}

fn of_group(group: &Group) -> Known {
    Known {
        path: group.path().to_string(),
        kind: if group.is_implicit() { "implicit group" } else { "group" },
        hierarchy: Vec::new(),
        array: None,
        document: None,
        attributes: Some(Value::Object(group.attributes().clone())),
        problems: Vec::new(),
    }
}

fn of_array(hierarchy: &Hierarchy, array: &Array) -> Result<Known, Failure> {
    let facts = ArrayFacts {
        parts: Describer::of(hierarchy).parts(array.metadata(), Some(array)),
        metadata: array.metadata().clone(),
        dimension_names: array.dimension_names().map(<[_]>::to_vec),
        fallback: array.fallback().map(ToString::to_string),
        chunks: Some(chunks(array)?),
    };
    Ok(Known {
        path: array.path().to_string(),
        kind: "array",
        hierarchy: Vec::new(),
        array: Some(facts),
        document: None,
        attributes: Some(Value::Object(array.attributes().clone())),
        problems: Vec::new(),
    })
}

fn chunks(array: &Array) -> Result<Chunks, Failure> {
    let mut progress: Option<Progress> = None;
    let stored = Stored::of(array, |more, all| {
        progress.get_or_insert_with(|| Progress::of(all, "sizes of chunks")).add(more);
    });
    Ok(Chunks {
        inner_chunk_shape: array.inner_chunk_shape()?,
        ..Chunks::of(array.chunk_grid(), stored.map_err(|error| crate::failure::chain(&error)))
    })
}

impl Chunks {
    fn of(grid: &dyn ChunkGrid, stored: Result<Stored, String>) -> Self {
        Self {
            grid_shape: grid.grid_shape().to_vec(),
            chunk_shape: grid.chunk_shape().map(<[_]>::to_vec),
            chunk_size: chunk_size(grid),
            inner_chunk_shape: None,
            stored,
        }
    }
}

fn of_unreadable(hierarchy: &Hierarchy, unreadable: &Unreadable) -> Known {
    let mut known = Known {
        path: unreadable.path.to_string(),
        kind: "unreadable node",
        hierarchy: Vec::new(),
        array: None,
        document: None,
        attributes: None,
        problems: problems(&unreadable.error),
    };
    if let Some(metadata) = &unreadable.metadata {
        let grid = salvage::grid(hierarchy, metadata);
        let chunks =
            grid.map(|grid| Chunks::of(&*grid, salvage::stored(hierarchy, unreadable, metadata, &*grid)));
        known.kind = "unreadable array";
        known.attributes = Some(Value::Object(metadata.attributes.clone()));
        known.array = Some(ArrayFacts {
            parts: Describer::of(hierarchy).parts(metadata, None),
            metadata: metadata.clone(),
            dimension_names: metadata.dimension_names.clone(),
            fallback: None,
            chunks,
        });
    } else if let Some(mut document) = salvage::document(hierarchy, unreadable) {
        if document.contains("shape") {
            known.kind = "unreadable array";
        }
        known.attributes = document.remove("attributes");
        known.document = Some(document);
    }
    known
}

fn write(hierarchy: &Hierarchy, known: &Known, to: &mut dyn Write) -> Result<(), Failure> {
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
            write_grid(chunks, line)?;
        }
    }
    line("fill value", &fill_value(&array.metadata))?;
    if let Some(fallback) = &array.fallback {
        line("fallback", fallback)?;
    }
    let Some(chunks) = &array.chunks else { return Ok(()) };
    match &chunks.stored {
        Ok(stored) => write_stored(stored, line),
        Err(reason) => line("chunks", &format!("unknown: {reason}")),
    }
}

fn fill_value(metadata: &ArrayMetadata) -> String {
    // In v3, null is a valid fill value of some types.
    match metadata.fill_value.is_null() && metadata.format != Format::V3 {
        true => "null (undefined)".to_owned(),
        false => metadata.fill_value.to_string(),
    }
}

fn write_grid(chunks: &Chunks, line: &mut Line<'_>) -> io::Result<()> {
    let (kind, inner) = match &chunks.inner_chunk_shape {
        Some(inner) => ("shard", format!(", inner chunks of {}", shape(inner))),
        None => ("chunk", String::new()),
    };
    let chunk = &chunks.chunk_size;
    line(
        "",
        &match chunks.grid_shape.as_slice() {
            [] => format!("1 {kind} of one element"),
            [1] => format!("1 {kind} of {chunk}{inner}"),
            grid => format!("{} {kind}s of {chunk}{inner}", shape(grid)),
        },
    )
}

fn write_stored(stored: &Stored, line: &mut Line<'_>) -> io::Result<()> {
    let all = stored.all.map_or_else(|| "more than 2⁶⁴".to_owned(), |all| all.to_string());
    line("chunks stored", &format!("{} of {all}", stored.chunks))?;
    let mut text = size(stored.size);
    if let Some(raw) = stored.raw {
        text.push_str(&format!(" of {} raw", size(raw)));
    }
    if let Some(ratio) = stored.ratio() {
        text.push_str(&format!(", ratio {ratio:.2}"));
    }
    line("stored size", &text)
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

fn object(hierarchy: &Hierarchy, known: &Known) -> Object {
    let mut object = Object::new();
    object.insert("path", known.path.as_str());
    object.insert("kind", known.kind);
    object.insert("format", hierarchy.format().name());
    object.insert("description", hierarchy.description().as_str());
    object.insert("store", hierarchy.store().location().as_str());
    object.insert("consolidated", hierarchy.is_consolidated());
    for part in known.hierarchy.iter().filter(|part| part.member == "metadata_encoding") {
        object.insert(part.member, part_value(part));
        let extensions = known.hierarchy.iter().filter(|part| part.member == "hierarchy_extensions");
        object.insert("hierarchy_extensions", extensions.map(part_value).collect::<Value>());
    }
    if let Some(array) = &known.array {
        array_members(array, &mut object);
    }
    if let Some(document) = &known.document {
        object.insert("document", document.clone());
    }
    if let Some(attributes) = &known.attributes {
        object.insert("attributes", attributes.clone());
    }
    object.insert("problems", known.problems.iter().map(String::as_str).collect::<Value>());
    object.insert("warnings", hierarchy.warnings().iter().map(ToString::to_string).collect::<Value>());
    object
}

fn array_members(array: &ArrayFacts, object: &mut Object) {
    let lengths = |lengths: &[u64]| lengths.iter().copied().collect::<Value>();
    object.insert("shape", lengths(&array.metadata.shape));
    if let Some(names) = &array.dimension_names {
        let names = names.iter().map(|name| name.as_deref().map_or(Value::Null, Value::from));
        object.insert("dimension_names", names.collect::<Value>());
    }
    for member in ["data_type", "chunk_grid", "chunk_memory_layout", "chunk_key_encoding"] {
        let part = array.parts.iter().find(|part| part.member == member);
        object.insert(member, part.map_or(Value::Null, part_value));
    }
    for member in ["codecs", "storage_transformers", "extensions"] {
        let parts = array.parts.iter().filter(|part| part.member == member);
        object.insert(member, parts.map(part_value).collect::<Value>());
    }
    object.insert("fill_value", array.metadata.fill_value.clone());
    if let Some(fallback) = &array.fallback {
        object.insert("fallback", fallback.as_str());
    }
    let Some(chunks) = &array.chunks else { return };
    object.insert("grid_shape", lengths(&chunks.grid_shape));
    object.insert("chunk_shape", chunks.chunk_shape.as_deref().map_or(Value::Null, lengths));
    let inner = chunks.inner_chunk_shape.as_deref();
    object.insert("inner_chunk_shape", inner.map_or(Value::Null, lengths));
    match &chunks.stored {
        Ok(stored) => stored_members(stored, object),
        Err(reason) => drop(object.insert("chunks_unknown", reason.as_str())),
    }
}

fn stored_members(stored: &Stored, object: &mut Object) {
    object.insert("chunks_stored", stored.chunks);
    object.insert("chunks", stored.all.map_or(Value::Null, Value::from));
    object.insert("stored_size", stored.size);
    object.insert("raw_size", stored.raw.map_or(Value::Null, Value::from));
    let ratio = stored.ratio().and_then(Number::from_f64);
    object.insert("ratio", ratio.map_or(Value::Null, Value::from));
}

fn part_value(part: &Part) -> Value {
    let mut object = Object::new();
    object.insert("identifier", part.identifier.as_str());
    object.insert("name", part.name.as_str());
    object.insert("configuration", part.configuration.clone());
    match &part.plugin {
        Ok(plugin) => object.insert("plugin", plugin.as_str()),
        Err(reason) => object.insert("unknown", reason.as_str()),
    };
    if !part.inner.is_empty() {
        object.insert("codecs", part.inner.iter().map(part_value).collect::<Value>());
    }
    Value::Object(object)
}
