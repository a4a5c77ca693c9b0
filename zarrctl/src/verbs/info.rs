//! `info`: shows one node.

mod coordinates;
mod full;
mod json;
mod people;

use std::io::{self, Write};

use zarr_kit::json::printable::printable_bytes;
use zarr_kit::json::to_printable_pretty;
use zarr_kit::metadata::ArrayMetadata;
use zarr_kit::spec::grid::ChunkGrid;
use zarr_kit::spec::{Object, Value};
use zarr_kit::{Array, Format, Group, Hierarchy, Node, NodeEntry, Unreadable};

use crate::arguments::Info;
use crate::conventions::{self, Convention};
use crate::describe::{Describer, Part, Stored, chunk_size, problems, shape};
use crate::failure::Failure;
use crate::hints;
use crate::opening::{open, warn_of_old_copy};
use crate::printer::stdout;
use crate::salvage;
use crate::terminal::{Progress, size};
use crate::verbs::listing;

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
    conventions: Vec<Convention>,
    /// The children of a group, or why they are unknown; `None` for other nodes.
    children: Option<Result<Vec<NodeEntry>, String>>,
    /// Reasons why the node cannot be used.
    problems: Vec<String>,
}

#[derive(Debug)]
struct ArrayFacts {
    metadata: ArrayMetadata,
    parts: Vec<Part>,
    dimension_names: Option<Vec<Option<String>>>,
    fallback: Option<String>,
    /// The chunks; `None` if the chunk grid is unreadable.
    chunks: Option<Chunks>,
}

#[derive(Debug)]
struct Chunks {
    grid_shape: Vec<u64>,
    /// The shape of a chunk; `None` if chunks differ.
    chunk_shape: Option<Vec<u64>>,
    /// The chunk shape in words, with "up to" if chunks differ.
    chunk_size: String,
    inner_chunk_shape: Option<Vec<u64>>,
    /// Statistics about stored chunks, or the reason why they are unknown.
    stored: Result<Stored, String>,
}

pub(crate) fn run(arguments: &Info) -> Result<(), Failure> {
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let node = hierarchy.node(&arguments.at.path).map_err(|error| hints::of_node(error, &hierarchy))?;
    let mut known = match &node {
        Node::Group(group) => of_group(&hierarchy, group)?,
        Node::Array(array) => {
            warn_of_old_copy(&hierarchy, array);
            hints::warn_of_chunks_outside(array)?;
            of_array(&hierarchy, array)?
        }
        Node::Unreadable(unreadable) => of_unreadable(&hierarchy, unreadable),
    };
    if let Some(entry_point) = hierarchy.entry_point().filter(|_| known.path == "/") {
        known.hierarchy = Describer::of(&hierarchy).hierarchy_parts(entry_point);
    }
    let mut output = io::BufWriter::new(stdout());
    match &node {
        _ if arguments.json => {
            let value = Value::Object(json::object(&hierarchy, &known));
            let text = to_printable_pretty(&value).map_err(|error| Failure::fault(error.to_string()))?;
            writeln!(output, "{text}")?;
        }
        Node::Unreadable(_) => full::write(&hierarchy, &known, &mut output)?,
        _ if arguments.verbose => {
            full::write(&hierarchy, &known, &mut output)?;
            write_documents(&hierarchy, &node, &mut output)?;
        }
        Node::Array(array) => people::write_array(&hierarchy, array, &known, &mut output)?,
        Node::Group(_) => people::write_group(&hierarchy, &known, &mut output)?,
    }
    Ok(output.flush()?)
}

/// Writes the documents of a node as they are stored.
fn write_documents(hierarchy: &Hierarchy, node: &Node, to: &mut dyn Write) -> Result<(), Failure> {
    let path = match node {
        Node::Group(group) => group.path(),
        Node::Array(array) => array.path(),
        Node::Unreadable(_) => return Ok(()),
    };
    for (key, value) in listing::documents(hierarchy, path)? {
        write!(to, "\n{key}\n{}", printable_lines(&value))?;
    }
    Ok(())
}

/// Returns a document with escaped characters, and a newline at the end.
fn printable_lines(document: &[u8]) -> String {
    let lines = document.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| format!("{}\n", printable_bytes(line))).collect()
}

fn of_group(hierarchy: &Hierarchy, group: &Group) -> Result<Known, Failure> {
    let listed = Progress::unknown("listing nodes");
    let children = hierarchy.children(group.path()).map_err(|error| crate::failure::chain(&error));
    drop(listed);
    Ok(Known {
        path: group.path().to_string(),
        kind: if group.is_implicit() { "implicit group" } else { "group" },
        hierarchy: Vec::new(),
        array: None,
        document: None,
        attributes: Some(Value::Object(group.attributes().clone())),
        conventions: conventions::of_group(hierarchy, group)?,
        children: Some(children),
        problems: Vec::new(),
    })
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
        conventions: conventions::of_array(hierarchy, array)?,
        children: None,
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

    /// Describes the grid: `2 × 2 chunks of 5 × 10`.
    fn text(&self) -> String {
        let (kind, inner) = match &self.inner_chunk_shape {
            Some(inner) => ("shard", format!(", inner chunks of {}", shape(inner))),
            None => ("chunk", String::new()),
        };
        let chunk = &self.chunk_size;
        match self.grid_shape.as_slice() {
            [] => format!("1 {kind} of one element"),
            [1] => format!("1 {kind} of {chunk}{inner}"),
            grid => format!("{} {kind}s of {chunk}{inner}", shape(grid)),
        }
    }
}

fn fill_value(metadata: &ArrayMetadata) -> String {
    // In v3, null is a valid fill value of some types.
    match metadata.fill_value.is_null() && metadata.format != Format::V3 {
        true => "null (undefined)".to_owned(),
        false => metadata.fill_value.to_string(),
    }
}

/// Describes stored chunks: their number, and their size.
fn stored_text(stored: &Stored) -> [String; 2] {
    let all = stored.all.map_or_else(|| "more than 2⁶⁴".to_owned(), |all| all.to_string());
    let mut text = size(stored.size);
    if let Some(raw) = stored.raw {
        text.push_str(&format!(" of {} raw", size(raw)));
    }
    if let Some(ratio) = stored.ratio() {
        text.push_str(&format!(", ratio {ratio:.2}"));
    }
    [format!("{} of {all}", stored.chunks), text]
}

fn of_unreadable(hierarchy: &Hierarchy, unreadable: &Unreadable) -> Known {
    let mut known = Known {
        path: unreadable.path.to_string(),
        kind: "unreadable node",
        hierarchy: Vec::new(),
        array: None,
        document: None,
        attributes: None,
        conventions: Vec::new(),
        children: None,
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
