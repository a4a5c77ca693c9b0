//! `ls`, `cat` and `du`: children of a group, documents of a node, and stored sizes.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use zarr_kit::metadata::{draft, v2, v3};
use zarr_kit::spec::store::get_value;
use zarr_kit::spec::{Key, printable};
use zarr_kit::{Bytes, Format, Hierarchy, Node, NodeEntry, NodePath};

use crate::arguments::{Cat, Du, Ls};
use crate::describe::{Stored, problems, shape, type_name};
use crate::failure::Failure;
use crate::hints;
use crate::opening::open;
use crate::printer::{Printer, stdout};
use crate::terminal::{Progress, size};

/// The largest document that is printed, in bytes.
const LARGEST_DOCUMENT: usize = 64 << 20;

/// Lists the children of a group, or an array itself.
pub(crate) fn ls(arguments: &Ls) -> Result<(), Failure> {
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let path = hierarchy.path(&arguments.at.path)?;
    let node = hierarchy.node(&path).map_err(|error| hints::of_node(error, &hierarchy))?;
    let mut out = BufWriter::new(stdout());
    if !matches!(node, Node::Group(_)) {
        writeln!(out, "{}", printable(&path))?;
        return Ok(out.flush()?);
    }
    let children = hierarchy.children(&path)?;
    let name = |child: &NodeEntry| {
        let name = printable(child.path.name()).to_string();
        if child.kind.is_group() { format!("{name}/") } else { name }
    };
    let width = children.iter().map(|child| name(child).chars().count()).max().unwrap_or(0);
    for child in &children {
        match arguments.long {
            true => writeln!(out, "{:width$}  {}", name(child), printable(details(&hierarchy, child)))?,
            false => writeln!(out, "{}", name(child))?,
        }
    }
    Ok(out.flush()?)
}

/// Returns the data type and shape of an array, or the kind of another node.
fn details(hierarchy: &Hierarchy, child: &NodeEntry) -> String {
    match hierarchy.node(&child.path) {
        Ok(Node::Array(array)) => format!("{} [{}]", type_name(&array), shape(array.shape())),
        Ok(Node::Group(_)) => "group".to_owned(),
        Ok(Node::Unreadable(unreadable)) => format!("unreadable: {}", problems(&unreadable.error).join("; ")),
        Err(error) => format!("unreadable: {}", problems(&error).join("; ")),
    }
}

/// Prints the documents of a node as they are stored.
pub(crate) fn cat(arguments: &Cat) -> Result<(), Failure> {
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let path = hierarchy.path(&arguments.at.path)?;
    let documents = documents(&hierarchy, &path)?;
    if documents.is_empty() {
        // Without a document, the node is missing, which causes an error here, or is an implicit group.
        hierarchy.node(&path).map_err(|error| hints::of_node(error, &hierarchy))?;
        return Err(Failure::fault(format!("{path} does not have a document of its own")));
    }
    let mut out = Printer::new(io::stdout().lock());
    for (key, value) in &documents {
        if documents.len() > 1 {
            writeln!(out, "{key}:")?;
        }
        out.write_all(value)?;
        if !value.ends_with(b"\n") {
            writeln!(out)?;
        }
    }
    Ok(out.flush()?)
}

/// Returns the documents of a node as they are stored, with their keys.
pub(crate) fn documents(hierarchy: &Hierarchy, path: &NodePath) -> Result<Vec<(Key, Bytes)>, Failure> {
    let mut documents = Vec::new();
    for key in keys(hierarchy, path)? {
        let value = get_value(&**hierarchy.store(), &key, LARGEST_DOCUMENT);
        documents.extend(value.map_err(|error| Failure::Fault(error.into()))?.map(|value| (key, value)));
    }
    Ok(documents)
}

/// Returns the keys of the documents that a node may have.
fn keys(hierarchy: &Hierarchy, path: &NodePath) -> Result<Vec<Key>, Failure> {
    let keys = match (hierarchy.format(), hierarchy.entry_point()) {
        (Format::V2, _) => vec![v2::array_key(path), v2::group_key(path), v2::attributes_key(path)],
        (Format::V3Draft, Some(entry_point)) => {
            let keys = draft::Keys::new(entry_point);
            vec![keys.array(path), keys.group(path)]
        }
        _ => vec![v3::node_key(path)],
    };
    keys.into_iter().collect::<Result<_, _>>().map_err(|error| Failure::fault(error.to_string()))
}

/// The stored values of a node and all nodes below it.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    size: u64,
    chunks: u64,
}

/// Prints the size of the stored chunks of each node.
pub(crate) fn du(arguments: &Du) -> Result<(), Failure> {
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let root = hierarchy.path(&arguments.at.path)?;
    let nodes = hierarchy.walk(&root).map_err(|error| hints::of_node(error, &hierarchy))?;
    let mut usages: BTreeMap<NodePath, Usage> = BTreeMap::new();
    let progress = Progress::unknown("sizes of chunks");
    for entry in &nodes {
        let usage = usage(&hierarchy, entry)?;
        let mut path = Some(entry.path.clone());
        while let Some(node) = path.filter(|node| node.names().len() >= root.names().len()) {
            let sum = usages.entry(node.clone()).or_default();
            sum.size = sum.size.saturating_add(usage.size);
            sum.chunks = sum.chunks.saturating_add(usage.chunks);
            path = node.parent();
        }
    }
    drop(progress);
    let mut out = BufWriter::new(stdout());
    for (path, Usage { size: bytes, chunks }) in usages {
        let depth = path.names().len() - root.names().len();
        if arguments.depth.is_some_and(|most| depth > most) {
            continue;
        }
        let bytes = if arguments.bytes { bytes.to_string() } else { size(bytes) };
        writeln!(out, "{bytes:>12}  {chunks:>9}  {}", printable(path))?;
    }
    Ok(out.flush()?)
}

/// Returns the size of the chunks of one array; nothing for other nodes.
fn usage(hierarchy: &Hierarchy, entry: &NodeEntry) -> Result<Usage, Failure> {
    if let Node::Array(array) = hierarchy.node(&entry.path)? {
        let stored = Stored::of(&array, |_, _| {})?;
        return Ok(Usage { size: stored.size, chunks: stored.chunks });
    }
    Ok(Usage::default())
}
