//! `erase`, `resize`, `attrs` and `consolidate`.

use std::io::Write;

use zarr_kit::json;
use zarr_kit::spec::{Object, Value};
use zarr_kit::{Erasure, Hierarchy, Node};

use crate::arguments::{Attributes, Consolidate, Erase, Resize};
use crate::failure::Failure;
use crate::opening::{open, open_to_change};
use crate::printer::{note, stdout};
use crate::terminal::{Progress, files};
use crate::values::Counts;

pub(crate) fn erase(arguments: &Erase) -> Result<(), Failure> {
    let mut reading = arguments.reading;
    reading.as_format = arguments.format.or(reading.as_format);
    let hierarchy = open_to_change(&arguments.store, &reading)?;
    let progress = Progress::unknown("erasing");
    let erased = match (arguments.format, arguments.all) {
        (Some(_), _) => hierarchy.erase_keeping_other_formats(&arguments.path)?,
        (None, false) => hierarchy.erase_own(&arguments.path).map_err(|error| advised(error, &hierarchy))?,
        (None, true) => {
            hierarchy.erase(&arguments.path).map_err(|error| advised(error, &hierarchy))?;
            return Ok(());
        }
    };
    drop(progress);
    note(&erased_text(&arguments.path, &erased));
    Ok(())
}

/// Why nothing was erased, and which option erases.
fn advised(error: zarr_kit::Error, hierarchy: &Hierarchy) -> Failure {
    match error {
        error @ zarr_kit::Error::OtherFormat { .. } => Failure::fault(format!(
            "{error}; `--format {format}` removes what {format} has there and nothing else",
            format = hierarchy.format()
        )),
        error @ zarr_kit::Error::NotSupported(_) => {
            Failure::fault(format!("{error}; `--all` removes every file at and below the node"))
        }
        error => error.into(),
    }
}

/// Files that a message names.
const SHOWN: usize = 5;

/// One line: how many files were removed, and which other files were left.
fn erased_text(path: &str, erased: &Erasure) -> String {
    let removed = format!("erased {path}: {} removed", files(erased.removed.len()));
    if erased.left.is_empty() {
        return removed;
    }
    let shown: Vec<_> = erased.left.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = match erased.left.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{removed}; {} left: {}{more}", other_files(erased.left.len()), shown.join(", "))
}

fn other_files(count: usize) -> String {
    if count == 1 { "1 other file".to_owned() } else { format!("{count} other files") }
}

pub(crate) fn resize(arguments: &Resize) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.store, &arguments.reading)?;
    let _progress = Progress::unknown("resizing");
    let mut array = hierarchy.array(&arguments.path)?;
    match (&arguments.at_start, &arguments.shape) {
        (None, shape) => Ok(array.resize(shape.as_ref().map_or(&[], |shape| &shape.0))?),
        (Some(Counts(counts)), shape) => {
            let grown = || grown(array.shape(), counts);
            let shape = shape.as_ref().map_or_else(grown, |shape| Ok(shape.0.clone()))?;
            // An array that gets more elements at its beginning begins earlier.
            let start: Option<Vec<i64>> = counts.iter().map(|count| count.checked_neg()).collect();
            let start =
                start.ok_or_else(|| Failure::fault("--at-start: so many elements cannot be taken away"))?;
            Ok(array.resize_at(&start, &shape)?)
        }
    }
}

/// A shape with so many elements more per dimension.
fn grown(shape: &[u64], counts: &[i64]) -> Result<Vec<u64>, Failure> {
    if shape.len() != counts.len() {
        let given = counts.len();
        let rank = shape.len();
        return Err(Failure::fault(format!(
            "--at-start has {given} entries, and the array {rank} dimensions"
        )));
    }
    let lengths = shape.iter().zip(counts).map(|(&length, &count)| {
        length.checked_add_signed(count).ok_or_else(|| {
            Failure::fault(format!("--at-start: a dimension of {length} elements cannot have {count} more"))
        })
    });
    lengths.collect()
}

pub(crate) fn consolidate(arguments: &Consolidate) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.store, &arguments.reading)?;
    let _progress = Progress::unknown("reading metadata");
    Ok(hierarchy.consolidate(&arguments.path)?)
}

pub(crate) fn attributes(arguments: &Attributes) -> Result<(), Failure> {
    if !arguments.set.is_empty() || !arguments.unset.is_empty() {
        let hierarchy = open_to_change(&arguments.store, &arguments.reading)?;
        return hierarchy.try_update_attributes(&arguments.path, |attributes| change(attributes, arguments));
    }
    let hierarchy = open(&arguments.store, &arguments.reading)?;
    let attributes = match hierarchy.node(&arguments.path)? {
        Node::Array(array) => array.attributes().clone(),
        Node::Group(group) => group.attributes().clone(),
        Node::Unreadable(unreadable) => match &unreadable.metadata {
            Some(metadata) => metadata.attributes.clone(),
            None => return Err(Failure::fault(crate::failure::chain(&*unreadable.error))),
        },
    };
    let text = json::to_printable_pretty(&Value::Object(attributes));
    Ok(writeln!(stdout(), "{}", text.map_err(|error| Failure::fault(error.to_string()))?)?)
}

fn change(attributes: &mut Object, arguments: &Attributes) -> Result<(), Failure> {
    for name in &arguments.unset {
        if attributes.remove(name).is_none() {
            return Err(Failure::fault(format!("{} has no attribute `{name}`", arguments.path)));
        }
    }
    for member in &arguments.set {
        attributes.insert(member.name.as_str(), member.value.clone());
    }
    Ok(())
}
