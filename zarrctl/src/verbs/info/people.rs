//! A description of a node for people.

use std::io::{self, Write};

use zarr_kit::archive::dimension_names;
use zarr_kit::json::counted;
use zarr_kit::spec::{Object, Value, printable};
use zarr_kit::{Array, EntryKind, Format, Hierarchy, Node, NodeEntry, readable_location};

use super::{Known, coordinates, fill_value, stored_text};
use crate::cf::Decoding;
use crate::describe::{Part, chunk_shape, product, shape, type_name};
use crate::failure::{Failure, chain};
use crate::forms::element::to_text;
use crate::selecting::coordinate_of;
use crate::terminal::{self, size, wrapped};

/// Width of the first column.
const INDENT: usize = 18;

/// The fewest columns of a terminal for two columns of text.
const TWO_COLUMNS: usize = 50;

/// The configuration of the codec `bytes` for the byte order of most processors.
const USUAL_BYTES: &str = r#"{"endian":"little"}"#;

/// The most children that are listed.
const CHILDREN: usize = 20;

/// The most characters of the value of an attribute.
const LONGEST: usize = 160;

/// The attributes that describe a node, with their labels.
const DESCRIPTIONS: [(&str, &str); 3] =
    [("long_name", "name"), ("standard_name", "standard name"), ("units", "units")];

/// The attributes that other lines show, so that they are not listed again.
const SHOWN: [&str; 4] = ["_ARRAY_DIMENSIONS", "long_name", "standard_name", "units"];

/// Lines with labels.
#[derive(Default)]
struct Page {
    lines: Vec<(String, String)>,
}

impl Page {
    fn add(&mut self, label: &str, text: impl ToString) {
        self.lines.push((label.to_owned(), text.to_string()));
    }

    /// Adds lines. The first line has the label.
    fn add_all(&mut self, label: &str, texts: impl IntoIterator<Item = String>) {
        for (number, text) in texts.into_iter().enumerate() {
            self.add(if number == 0 { label } else { "" }, text);
        }
    }

    /// Writes the page. On a terminal, long lines are wrapped.
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let width = terminal::width();
        let is_narrow = width.is_some_and(|width| width < TWO_COLUMNS);
        for (label, text) in &self.lines {
            let [label, text] = [label, text].map(|text| printable(text).to_string());
            if is_narrow {
                if !label.is_empty() {
                    writeln!(to, "{label}")?;
                }
                let lines = wrapped(&text, width.unwrap_or(TWO_COLUMNS).saturating_sub(2));
                lines.iter().try_for_each(|line| writeln!(to, "  {line}"))?;
                continue;
            }
            let lines = wrapped(&text, width.map_or(usize::MAX, |width| width - INDENT - 2));
            for (number, line) in lines.iter().enumerate() {
                let label = if number == 0 { &*label } else { "" };
                writeln!(to, "  {label:INDENT$}{line}")?;
            }
        }
        Ok(())
    }
}

/// Writes what an array contains.
pub(super) fn write_array(
    hierarchy: &Hierarchy,
    array: &Array,
    known: &Known,
    to: &mut dyn Write,
) -> Result<(), Failure> {
    let mut page = Page::default();
    page.add("kind", known.kind);
    for (attribute, label) in DESCRIPTIONS {
        if let Some(text) = array.attributes().get(attribute).and_then(Value::as_str) {
            page.add(label, text);
        }
    }
    page.add("shape", shape_text(array));
    page.add("data type", data_type(array));
    page.add_all("values", values(array));
    page.add_all("coordinates", ranges(hierarchy, array));
    if let Some(facts) = &known.array {
        if let Some(chunks) = &facts.chunks {
            let kind = if chunks.inner_chunk_shape.is_some() { "shard" } else { "chunk" };
            let size = chunk_bytes(array).map(|bytes| format!("; {} per {kind}", size(bytes)));
            page.add("chunks", chunks.text() + &size.unwrap_or_default());
        }
        page.add_all("memory layout", layout(&facts.parts));
        page.add("codecs", codecs(&facts.parts));
        page.add("fill value", fill_text(array, fill_value(&facts.metadata)));
        page.add_all("fallback", facts.fallback.clone());
        match facts.chunks.as_ref().map(|chunks| &chunks.stored) {
            Some(Ok(stored)) => {
                let [chunks, sizes] = stored_text(stored);
                page.add("chunks stored", chunks);
                page.add("stored size", sizes);
            }
            Some(Err(reason)) => page.add("chunks stored", format!("unknown: {reason}")),
            None => {}
        }
    }
    add_rest(&mut page, hierarchy, known);
    writeln!(to, "{}", printable(&known.path))?;
    Ok(page.write(to)?)
}

/// Writes what a group contains.
pub(super) fn write_group(hierarchy: &Hierarchy, known: &Known, to: &mut dyn Write) -> Result<(), Failure> {
    let mut page = Page::default();
    page.add("kind", known.kind);
    match &known.children {
        Some(Ok(children)) => add_children(&mut page, hierarchy, children),
        Some(Err(reason)) => page.add("children", format!("unknown: {reason}")),
        None => {}
    }
    add_rest(&mut page, hierarchy, known);
    writeln!(to, "{}", printable(&known.path))?;
    Ok(page.write(to)?)
}

/// Adds conventions, attributes and the store.
fn add_rest(page: &mut Page, hierarchy: &Hierarchy, known: &Known) {
    page.add_all("conventions", known.conventions.iter().map(ToString::to_string));
    match &known.attributes {
        Some(Value::Object(attributes)) => page.add_all("attributes", attribute_texts(attributes)),
        Some(other) => page.add("attributes", shortened(&other.to_string())),
        None => {}
    }
    page.add("format", hierarchy.description());
    if hierarchy.format() != Format::V3Draft {
        let is_consolidated = hierarchy.is_consolidated();
        page.add("metadata", if is_consolidated { "consolidated" } else { "a document for each node" });
    }
    page.add("store", readable_location(&hierarchy.store().location()));
}

fn attribute_texts(attributes: &Object) -> Vec<String> {
    let others = attributes.iter().filter(|(name, value)| {
        let is_shown = SHOWN.contains(name) && (*name == SHOWN[0] || value.as_str().is_some());
        !is_shown
    });
    others.map(|(name, value)| format!("{name}: {}", shortened(&value.to_string()))).collect()
}

/// Returns the beginning of a long text.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let begin: String = text.chars().take(LONGEST / 2).collect();
    format!("{begin}… ({count} characters; `zarrctl attrs` prints all)")
}

/// Formats a shape with the names of its dimensions: `3 × 4 (time, lat)`.
fn shape_text(array: &Array) -> String {
    let names = dimension_names(array);
    let lengths = shape(array.shape());
    if names.iter().all(Option::is_none) {
        return lengths;
    }
    let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
    format!("{lengths} ({})", names.join(", "))
}

/// Returns the name of the data type, with NumPy's name if that is better known.
fn data_type(array: &Array) -> String {
    let name = type_name(array);
    let length = |prefix: &str| name.strip_prefix(prefix)?.strip_suffix(']')?.parse::<u64>().ok();
    if let Some(bytes) = length("fixed_length_utf32[") {
        return format!("{name}, <U{} in NumPy", bytes / 4);
    }
    match length("null_terminated_bytes[") {
        Some(bytes) => format!("{name}, S{bytes} in NumPy"),
        None => name,
    }
}

/// Returns the fill value: in structures, the values of their fields instead of their bytes.
fn fill_text(array: &Array, document: String) -> String {
    let data_type = &**array.data_type();
    match data_type.fields() {
        Some(_) => to_text(data_type, array.fill_value().bytes()).unwrap_or(document),
        None => document,
    }
}

/// Describes how stored numbers become values.
fn values(array: &Array) -> Option<String> {
    Decoding::of(array).text()
}

/// Returns a line for each dimension with a coordinate.
fn ranges(hierarchy: &Hierarchy, array: &Array) -> Vec<String> {
    let names = dimension_names(array);
    let width = names.iter().flatten().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (name, &length) in names.iter().zip(array.shape()) {
        let Some(name) = name else { continue };
        let range = match coordinate_of(array, hierarchy, name, length) {
            Ok(Some(coordinate)) => coordinates::range(&coordinate),
            Ok(None) => continue,
            Err(failure) => Err(failure),
        };
        let range =
            range.unwrap_or_else(|failure| format!("unreadable: {}", failure.message().unwrap_or_default()));
        lines.push(format!("{name:width$}  {range}"));
    }
    lines
}

/// Returns the bytes of the elements of a chunk or shard, if elements have a fixed size.
fn chunk_bytes(array: &Array) -> Option<u64> {
    let element = array.data_type().elements().size()? as u64;
    product(&chunk_shape(array))?.checked_mul(element).filter(|_| !array.shape().is_empty())
}

fn layout(parts: &[Part]) -> Option<String> {
    let layout = parts.iter().find(|part| part.member == "chunk_memory_layout")?;
    (layout.identifier != "C").then(|| layout.name.clone())
}

/// Formats the codecs with their configurations: `bytes, zstd {"level":3}`; those of inner chunks in parentheses.
fn codecs(parts: &[Part]) -> String {
    let codecs = parts.iter().filter(|part| part.member == "codecs").map(|part| {
        let members = part.configuration.as_object().filter(|members| !members.is_empty());
        // Little endian is the usual byte order, so it is not shown.
        let is_usual = part.name == "bytes" && part.configuration.to_string() == USUAL_BYTES;
        let configuration = members.filter(|_| !is_usual);
        match (part.inner.as_slice(), configuration) {
            ([], Some(_)) => format!("{} {}", part.name, shortened(&part.configuration.to_string())),
            ([], None) => part.name.clone(),
            (inner, _) => format!("{} ({})", part.name, codecs(inner)),
        }
    });
    let codecs: Vec<String> = codecs.collect();
    if codecs.is_empty() { "none".to_owned() } else { codecs.join(", ") }
}

/// Adds the numbers of children, and a line for each of the first children.
fn add_children(page: &mut Page, hierarchy: &Hierarchy, children: &[NodeEntry]) {
    if children.is_empty() {
        return page.add("children", "none");
    }
    let number = |kind: fn(EntryKind) -> bool| children.iter().filter(|child| kind(child.kind)).count();
    let counts = [
        (number(EntryKind::is_group), ["group", "groups"]),
        (number(|kind| kind == EntryKind::Array), ["array", "arrays"]),
        (number(|kind| kind == EntryKind::Unreadable), ["unreadable node", "unreadable nodes"]),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, [one, many])| counted(count, one, many)).collect::<Vec<_>>();
    page.add("children", counts.join(", "));
    let shown = &children[..children.len().min(CHILDREN)];
    let name = |child: &NodeEntry| {
        let slash = if child.kind.is_group() { "/" } else { "" };
        format!("{}{slash}", printable(child.path.name()))
    };
    let width = shown.iter().map(|child| name(child).chars().count()).max().unwrap_or(0);
    for child in shown {
        let line = format!("{:width$}  {}", name(child), details(hierarchy, child));
        page.add("", line.trim_end());
    }
    if children.len() > CHILDREN {
        page.add("", format!("and {} more; `zarrctl ls` lists all", children.len() - CHILDREN));
    }
}

/// Describes a child in a few words.
fn details(hierarchy: &Hierarchy, child: &NodeEntry) -> String {
    match hierarchy.node(&child.path) {
        Ok(Node::Array(array)) => {
            let text = |name: &str| array.attributes().get(name).and_then(Value::as_str);
            let what = text("long_name").or_else(|| text("standard_name")).map(str::to_owned);
            let unit = text("units").map(|unit| format!("[{unit}]"));
            let more: Vec<String> = [what, unit].into_iter().flatten().collect();
            format!("{} {}  {}", type_name(&array), shape_text(&array), more.join(" "))
        }
        Ok(Node::Group(_)) => String::new(),
        Ok(Node::Unreadable(unreadable)) => format!("unreadable: {}", chain(&*unreadable.error)),
        Err(error) => format!("unreadable: {}", chain(&error)),
    }
}
