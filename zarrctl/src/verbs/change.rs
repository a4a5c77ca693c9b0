//! `erase`, `resize`, `attrs` and `consolidate`: changes to existing nodes.

use std::io::Write;

use zarr_kit::json::counted;
use zarr_kit::spec::{Object, Value};
use zarr_kit::{Erasure, Hierarchy, Node};

use crate::arguments::{Attributes, Consolidate, Erase, Resize};
use crate::describe;
use crate::failure::Failure;
use crate::hints;
use crate::opening::{open, open_to_change};
use crate::printer::{note, stdout, write_json};
use crate::similar::similar;
use crate::terminal::{self, Progress, files, first_of};
use crate::values::Counts;

pub(crate) fn erase(arguments: &Erase) -> Result<(), Failure> {
    let mut reading = arguments.reading;
    reading.as_format = arguments.format.or(reading.as_format);
    let hierarchy = open_to_change(&arguments.at.store, &reading)?;
    let progress = Progress::unknown("erasing");
    let erased = match (arguments.format, arguments.all) {
        (Some(_), _) => hierarchy.erase_keeping_other_formats(&arguments.at.path)?,
        (None, false) => {
            hierarchy.erase_own(&arguments.at.path).map_err(|error| advised(error, &hierarchy))?
        }
        (None, true) => {
            hierarchy.erase(&arguments.at.path).map_err(|error| advised(error, &hierarchy))?;
            drop(progress);
            note(&format!("erased {} with all files below it", arguments.at.path));
            return Ok(());
        }
    };
    drop(progress);
    note(&erased_text(&arguments.at.path, &erased));
    Ok(())
}

/// Adds to the failure the option that makes erasing possible.
fn advised(error: zarr_kit::Error, hierarchy: &Hierarchy) -> Failure {
    match error {
        error @ zarr_kit::Error::OtherFormat { .. } => Failure::fault(format!(
            "{error}; `--format {format}` removes only the {format} files",
            format = hierarchy.format()
        )),
        error @ zarr_kit::Error::NotSupported(_) => {
            Failure::fault(format!("{error}; `--all` removes every file at and below it"))
        }
        error => hints::of_node(error, hierarchy),
    }
}

/// The most files in a message.
const SHOWN: usize = 5;

fn erased_text(path: &str, erased: &Erasure) -> String {
    let removed = format!("erased {path}: {} removed", files(erased.removed.len()));
    if erased.left.is_empty() {
        return removed;
    }
    let remain = match erased.left.len() {
        1 => "1 other file remains".to_owned(),
        count => format!("{count} other files remain"),
    };
    format!("{removed}, {remain}: {}", first_of(&erased.left, SHOWN))
}

pub(crate) fn resize(arguments: &Resize) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.at.store, &arguments.reading)?;
    let progress = Progress::unknown("resizing");
    let array = hierarchy.array(&arguments.at.path);
    let mut array = array.map_err(|error| hints::of_node(error, &hierarchy))?;
    match (&arguments.at_start, &arguments.shape) {
        (None, shape) => array.resize(shape.as_ref().map_or(&[], |shape| &shape.0))?,
        (Some(Counts(counts)), shape) => {
            let grown = || grown(array.shape(), counts);
            let shape = shape.as_ref().map_or_else(grown, |shape| Ok(shape.0.clone()))?;
            // Elements added at the beginning move the start of the array to smaller indices.
            let start: Option<Vec<i64>> = counts.iter().map(|count| count.checked_neg()).collect();
            let start = start.ok_or_else(|| Failure::fault("--at-start: the number is too large"))?;
            array.resize_at(&start, &shape)?;
        }
    }
    drop(progress);
    let shape = describe::shape(array.shape());
    terminal::summary(&format!("{} has {shape} elements now", array.path()));
    Ok(())
}

/// Adds counts to the lengths of a shape.
fn grown(shape: &[u64], counts: &[i64]) -> Result<Vec<u64>, Failure> {
    if shape.len() != counts.len() {
        let given = counted(counts.len(), "entry", "entries");
        let rank = counted(shape.len(), "dimension", "dimensions");
        return Err(Failure::fault(format!("--at-start has {given}, but the array has {rank}")));
    }
    let lengths = shape.iter().zip(counts).map(|(&length, &count)| {
        length.checked_add_signed(count).ok_or_else(|| {
            Failure::fault(format!("--at-start: cannot add {count} elements to a dimension of {length}"))
        })
    });
    lengths.collect()
}

pub(crate) fn consolidate(arguments: &Consolidate) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.at.store, &arguments.reading)?;
    let progress = Progress::unknown("reading metadata");
    hierarchy.consolidate(&arguments.at.path).map_err(|error| hints::of_node(error, &hierarchy))?;
    drop(progress);
    terminal::summary(&format!("consolidated the metadata of {}", hierarchy.path(&arguments.at.path)?));
    Ok(())
}

pub(crate) fn attributes(arguments: &Attributes) -> Result<(), Failure> {
    let changes = arguments.set.len() + arguments.set_text.len() + arguments.unset.len();
    if changes > 0 {
        let hierarchy = open_to_change(&arguments.at.store, &arguments.reading)?;
        hierarchy.try_update_attributes(&arguments.at.path, |attributes| change(attributes, arguments))?;
        let changes = counted(changes, "attribute", "attributes");
        terminal::summary(&format!("changed {changes} of {}", hierarchy.path(&arguments.at.path)?));
        return Ok(());
    }
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let attributes =
        match hierarchy.node(&arguments.at.path).map_err(|error| hints::of_node(error, &hierarchy))? {
            Node::Array(array) => array.attributes().clone(),
            Node::Group(group) => group.attributes().clone(),
            Node::Unreadable(unreadable) => match &unreadable.metadata {
                Some(metadata) => metadata.attributes.clone(),
                None => return Err(Failure::fault(crate::failure::chain(&*unreadable.error))),
            },
        };
    let Some(name) = &arguments.name else { return write_json(&Value::Object(attributes), &mut stdout()) };
    match attributes.get(name) {
        Some(Value::String(text)) => Ok(writeln!(stdout(), "{text}")?),
        Some(value) => write_json(value, &mut stdout()),
        None => Err(without_attribute(name, &attributes, &arguments.at.path)),
    }
}

fn without_attribute(name: &str, attributes: &Object, path: &str) -> Failure {
    let hint = similar(name, attributes.keys());
    let hint = hint.map_or_else(String::new, |similar| format!("; did you mean `{similar}`?"));
    Failure::fault(format!("{path} has no attribute `{name}`{hint}"))
}

fn change(attributes: &mut Object, arguments: &Attributes) -> Result<(), Failure> {
    for name in &arguments.unset {
        if attributes.remove(name).is_none() {
            return Err(without_attribute(name, attributes, &arguments.at.path));
        }
    }
    for member in arguments.set.iter().chain(&arguments.set_text) {
        attributes.insert(member.name.as_str(), member.value.clone());
    }
    Ok(())
}
