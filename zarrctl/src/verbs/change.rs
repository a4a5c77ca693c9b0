//! `erase`, `resize`, `attrs` and `consolidate`.

use std::io::{self, Write};

use zarr_kit::Node;
use zarr_kit::spec::{Object, Value, json};

use crate::arguments::{Attributes, Consolidate, NodeArguments, Resize};
use crate::failure::Failure;
use crate::opening::{open, open_to_change};
use crate::terminal::Progress;

pub(crate) fn erase(arguments: &NodeArguments) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.store, &arguments.reading)?;
    let _progress = Progress::unknown("erasing");
    Ok(hierarchy.erase(&arguments.path)?)
}

pub(crate) fn resize(arguments: &Resize) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.store, &arguments.reading)?;
    let _progress = Progress::unknown("resizing");
    Ok(hierarchy.array(&arguments.path)?.resize(&arguments.shape.0)?)
}

pub(crate) fn consolidate(arguments: &Consolidate) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.store, &arguments.reading)?;
    let _progress = Progress::unknown("reading metadata");
    Ok(hierarchy.consolidate(&arguments.path)?)
}

pub(crate) fn attributes(arguments: &Attributes) -> Result<(), Failure> {
    let is_change = !arguments.set.is_empty() || !arguments.unset.is_empty();
    let hierarchy = match is_change {
        true => open_to_change(&arguments.store, &arguments.reading)?,
        false => open(&arguments.store, &arguments.reading)?,
    };
    let before = match hierarchy.node(&arguments.path)? {
        Node::Array(array) => array.attributes().clone(),
        Node::Group(group) => group.attributes().clone(),
        Node::Unreadable(unreadable) => match &unreadable.metadata {
            Some(metadata) => metadata.attributes.clone(),
            None => return Err(Failure::fault(crate::failure::chain(&*unreadable.error))),
        },
    };
    if is_change {
        return Ok(hierarchy.set_attributes(&arguments.path, changed(before, arguments)?)?);
    }
    let text =
        json::to_vec_pretty(&Value::Object(before)).map_err(|error| Failure::fault(error.to_string()))?;
    let mut output = io::stdout().lock();
    output.write_all(&text)?;
    Ok(writeln!(output)?)
}

fn changed(mut attributes: Object, arguments: &Attributes) -> Result<Object, Failure> {
    for name in &arguments.unset {
        if attributes.remove(name).is_none() {
            return Err(Failure::fault(format!("{} has no attribute `{name}`", arguments.path)));
        }
    }
    for member in &arguments.set {
        attributes.insert(member.name.as_str(), member.value.clone());
    }
    Ok(attributes)
}
