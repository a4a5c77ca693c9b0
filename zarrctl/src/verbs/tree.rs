//! `tree`: lists the nodes of a hierarchy.

use std::io::{self, Write};

use zarr_kit::json;
use zarr_kit::spec::{Object, Value, printable};
use zarr_kit::{EntryKind, Hierarchy, Node, NodeEntry, NodePath};

use crate::arguments::Tree;
use crate::conventions;
use crate::describe::{Describer, Stored, chunk_size, codec_names, problems, shape, type_name};
use crate::failure::{Failure, chain};
use crate::hints;
use crate::opening::{open, warn_of_old_listing};
use crate::printer::stdout;
use crate::terminal::{Progress, size};

pub(crate) fn run(arguments: &Tree) -> Result<(), Failure> {
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let path = hierarchy.path(&arguments.at.path)?;
    let progress = Progress::unknown("listing nodes");
    let mut nodes = hierarchy.walk(&path).map_err(|error| hints::of_node(error, &hierarchy))?;
    drop(progress);
    warn_of_old_listing(&hierarchy, &path, &nodes);
    if let Some(depth) = arguments.depth {
        nodes.retain(|node| node.path.names().len() - path.names().len() <= depth);
    }
    let mut output = io::BufWriter::new(stdout());
    if arguments.json {
        let nodes: Vec<Value> = nodes.iter().map(|node| member(&hierarchy, node)).collect();
        let text = json::to_printable_pretty(&Value::Array(nodes));
        writeln!(output, "{}", text.map_err(|error| Failure::fault(error.to_string()))?)?;
    } else {
        let label = |node: &NodeEntry| {
            let sizes = if arguments.sizes { sizes(&hierarchy, node) } else { String::new() };
            format!("{}{sizes}", label(&hierarchy, node))
        };
        write_with(&nodes, &label, &mut output)?;
    }
    Ok(output.flush()?)
}

/// Writes a line for each node; the first node is the root of all other nodes.
pub(crate) fn write(hierarchy: &Hierarchy, nodes: &[NodeEntry], to: &mut dyn Write) -> Result<(), Failure> {
    write_with(nodes, &|node| label(hierarchy, node), to)
}

/// Writes a line for each node, with the text after its name.
fn write_with(
    nodes: &[NodeEntry],
    label: &dyn Fn(&NodeEntry) -> String,
    to: &mut dyn Write,
) -> Result<(), Failure> {
    let base = nodes.first().map_or(0, |node| node.path.names().len());
    // Whether more siblings follow, for each level above the current node.
    let mut open: Vec<bool> = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let depth = node.path.names().len() - base;
        if depth == 0 {
            writeln!(to, "{}{}", printable(&node.path), printable(label(node)))?;
            continue;
        }
        let more = has_later_sibling(&nodes[number + 1..], &node.path);
        open.truncate(depth - 1);
        let stems: String = open.iter().map(|&open| if open { "│  " } else { "   " }).collect();
        open.push(more);
        let branch = if more { "├─ " } else { "└─ " };
        writeln!(to, "{stems}{branch}{}{}", printable(node.path.name()), printable(label(node)))?;
    }
    Ok(())
}

fn has_later_sibling(nodes: &[NodeEntry], path: &NodePath) -> bool {
    let depth = path.names().len();
    let next = nodes.iter().find(|node| node.path.names().len() <= depth);
    next.is_some_and(|node| node.path.names().len() == depth)
}

/// Returns the text after the name of a node. For an unreadable node, this is the error.
fn label(hierarchy: &Hierarchy, child: &NodeEntry) -> String {
    let unreadable = |error: &zarr_kit::Error| format!(" unreadable: {}", problems(error).join("; "));
    match hierarchy.node(&child.path) {
        Ok(node) => label_of(hierarchy, child, node).unwrap_or_else(|error| unreadable(&error)),
        Err(error) => unreadable(&error),
    }
}

fn label_of(hierarchy: &Hierarchy, child: &NodeEntry, node: Node) -> Result<String, zarr_kit::Error> {
    Ok(match (child.kind, node) {
        (EntryKind::ImplicitGroup, _) => " (implicit group)".to_owned(),
        (_, Node::Group(group)) => {
            let conventions = conventions::names_of_group(&group);
            let description = child.path.is_root().then(|| hierarchy.description());
            let texts: Vec<String> = description.into_iter().chain(conventions).collect();
            if texts.is_empty() { String::new() } else { format!(" ({})", texts.join(", ")) }
        }
        (_, Node::Array(array)) => {
            let parts = Describer::of(hierarchy).parts(array.metadata(), Some(&array));
            let chunks = chunk_size(array.chunk_grid());
            let chunks = match array.inner_chunk_shape()? {
                Some(inner) => format!("shards {chunks}, chunks {}", shape(&inner)),
                None => format!("chunks {chunks}"),
            };
            let codecs = codec_names(&parts);
            let codecs = if codecs.is_empty() { "no codecs".to_owned() } else { codecs };
            let conventions = match conventions::names_of_array(&array).join(", ") {
                names if names.is_empty() => names,
                names => format!(" ({names})"),
            };
            format!(" {} [{}] {chunks}; {codecs}{conventions}", type_name(&array), shape(array.shape()))
        }
        (_, Node::Unreadable(unreadable)) => match &unreadable.metadata {
            Some(metadata) => format!(
                " [{}] unreadable: {}",
                shape(&metadata.shape),
                problems(&unreadable.error).join("; ")
            ),
            None => format!(" unreadable: {}", problems(&unreadable.error).join("; ")),
        },
    })
}

/// Returns the sizes of an array: of its stored chunks, and of its elements.
fn sizes(hierarchy: &Hierarchy, child: &NodeEntry) -> String {
    let Ok(Node::Array(array)) = hierarchy.node(&child.path) else { return String::new() };
    match Stored::of(&array, |_, _| {}) {
        Ok(stored) => {
            let raw = stored.raw.map_or_else(String::new, |raw| format!(" of {}", size(raw)));
            format!("; {}{raw} stored", size(stored.size))
        }
        Err(error) => format!("; unknown size: {}", chain(&error)),
    }
}

fn insert_conventions(object: &mut Object, names: &[String]) {
    if !names.is_empty() {
        object.insert("conventions", names.iter().map(String::as_str).collect::<Value>());
    }
}

fn member(hierarchy: &Hierarchy, child: &NodeEntry) -> Value {
    let mut object = Object::new();
    object.insert("path", child.path.to_string().as_str());
    let mut kind = |kind: &str| object.insert("kind", kind);
    let node = match hierarchy.node(&child.path) {
        Ok(node) => node,
        Err(error) => {
            kind("unreadable");
            object.insert("problems", problems(&error).iter().map(String::as_str).collect::<Value>());
            return Value::Object(object);
        }
    };
    match node {
        Node::Group(_) if child.kind == EntryKind::ImplicitGroup => drop(kind("implicit group")),
        Node::Group(group) => {
            kind("group");
            insert_conventions(&mut object, &conventions::names_of_group(&group));
        }
        Node::Array(array) => {
            kind("array");
            insert_conventions(&mut object, &conventions::names_of_array(&array));
            object.insert("shape", array.shape().iter().copied().collect::<Value>());
            object.insert("data_type", &*array.data_type().name());
            if let Some(fallback) = array.fallback() {
                object.insert("fallback", fallback.to_string().as_str());
            }
        }
        Node::Unreadable(unreadable) => {
            kind("unreadable");
            if let Some(metadata) = &unreadable.metadata {
                object.insert("shape", metadata.shape.iter().copied().collect::<Value>());
            }
            let problems = problems(&unreadable.error);
            object.insert("problems", problems.iter().map(String::as_str).collect::<Value>());
        }
    }
    Value::Object(object)
}
