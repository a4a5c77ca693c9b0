//! `copy`: a hierarchy, or a part of it, to another store, format or chunking.

use std::path::{Path, PathBuf};

use zarr_kit::spec::Object;
use zarr_kit::spec::metadata::ArrayMetadata;
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, Child, Context, Format, Hierarchy, Kind, Mode, Node, NodePath, open_store};

use crate::arguments::Copy;
use crate::describe::problems;
use crate::failure::{Failure, chain};
use crate::opening::{self, existing_format, open_to_change};
use crate::target;
use crate::terminal::Progress;
use crate::transfer::{size, transfer};

/// Nodes that a message names.
const SHOWN: usize = 20;

/// What is to be there in the end. Parents stand before their children.
enum Planned {
    Group { path: NodePath, attributes: Object },
    Array { path: NodePath, source: Array, metadata: Box<ArrayMetadata> },
}

pub(crate) fn run(arguments: &Copy) -> Result<(), Failure> {
    let source = open_to_change(&arguments.source, &arguments.reading)?;
    // Documents are always written strictly; the mode decides about names that others write.
    let context = opening::context()?.with_mode(match arguments.reading.mode() {
        Mode::Strict => Mode::Strict,
        _ => Mode::default(),
    });
    refuse_itself(&source, &*open_store(context.registry(), &arguments.destination)?)?;
    let existing = existing_format(&arguments.destination, &context)?;
    let format = arguments.format.or(existing).unwrap_or_else(|| source.format());
    let root = source.path(&arguments.path)?;
    let reading = Progress::unknown("reading metadata");
    let planned = plan(&source, &root, format, arguments)?;
    rehearse(&planned, &context, format)?;
    drop(reading);
    if existing == Some(format) {
        let destination = opening::create(&arguments.destination, &context, Some(format), format)?;
        check_free(&planned, &destination)?;
    }
    let destination = opening::create(&arguments.destination, &context, Some(format), format)?;
    write(&planned, &destination)
}

/// A copy onto or into what is copied would never be one.
fn refuse_itself(source: &Hierarchy, destination: &dyn Store) -> Result<(), Failure> {
    let (from, to) = (source.store().location(), destination.location());
    let (Some(from), Some(to)) = (folder(&from), folder(&to)) else { return Ok(()) };
    if from == to {
        return Err(Failure::fault(format!("SRC and DST are both `{}`", from.display())));
    }
    match to.starts_with(&from) {
        true => Err(Failure::fault(format!(
            "DST `{}` is inside of SRC `{}`; copy to a place beside it",
            to.display(),
            from.display()
        ))),
        false => Ok(()),
    }
}

/// The folder that a store is, without links on the way. A name that is encoded is compared as it is.
fn folder(location: &str) -> Option<PathBuf> {
    let path = Path::new(location.strip_prefix("file://")?);
    path.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        Some(
            path.strip_prefix(above)
                .map_or(real.clone(), |rest| real.components().chain(rest.components()).collect()),
        )
    })
}

/// Everything that is to be copied, or everything that cannot be.
fn plan(
    source: &Hierarchy,
    root: &NodePath,
    format: Format,
    arguments: &Copy,
) -> Result<Vec<Planned>, Failure> {
    let mut planned = Vec::new();
    let mut refused = Vec::new();
    for child in source.walk(root)? {
        match plan_node(source, &child, format, arguments) {
            Ok(node) => planned.extend(node),
            Err(Failure::Fault(error)) => refused.push(format!("{}: {}", child.path, chain(&*error))),
            Err(other) => return Err(other),
        }
    }
    refuse(&refused)?;
    Ok(planned)
}

/// An error that lists what cannot be copied, if there is anything.
fn refuse(refused: &[String]) -> Result<(), Failure> {
    if refused.is_empty() {
        return Ok(());
    }
    let shown: Vec<_> = refused.iter().take(SHOWN).map(|what| format!("\n  {what}")).collect();
    let more = match refused.len() - shown.len() {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    Err(Failure::fault(format!("nothing is copied:{}{more}", shown.concat())))
}

fn plan_node(
    source: &Hierarchy,
    child: &Child,
    format: Format,
    arguments: &Copy,
) -> Result<Option<Planned>, Failure> {
    let path = child.path.in_format(format).map_err(|error| Failure::Fault(error.into()))?;
    Ok(match source.node_at(&child.path)? {
        // It comes with the nodes below it.
        Node::Group(_) if child.kind == Kind::ImplicitGroup => None,
        Node::Group(group) => Some(Planned::Group { path, attributes: group.attributes().clone() }),
        Node::Array(array) => {
            let metadata = Box::new(target::metadata(&array, format, arguments)?);
            Some(Planned::Array { path, source: *array, metadata })
        }
        Node::Unreadable(unreadable) => return Err(Failure::fault(problems(&unreadable.error).join("; "))),
    })
}

/// Writes all documents to memory: what goes wrong there would go wrong halfway.
fn rehearse(planned: &[Planned], context: &Context, format: Format) -> Result<(), Failure> {
    let memory = open_store(context.registry(), "memory:")?;
    let hierarchy = Hierarchy::create(memory, context, format)?;
    let mut refused = Vec::new();
    for node in planned {
        let (path, result) = match node {
            Planned::Group { path, attributes } => {
                (path, hierarchy.create_group(&path.to_string(), attributes.clone()).map(drop))
            }
            Planned::Array { path, metadata, .. } => {
                let array = hierarchy.prepare_array(&path.to_string(), (**metadata).clone());
                (path, array.and_then(|array| hierarchy.publish_array(&array)))
            }
        };
        refused.extend(result.err().map(|error| format!("{path}: {}", chain(&error))));
    }
    refuse(&refused)
}

/// Refuses to change nodes that are there: groups of the same attributes, or without any, are taken over.
fn check_free(planned: &[Planned], destination: &Hierarchy) -> Result<(), Failure> {
    for node in planned {
        match node {
            Planned::Group { path, attributes } => {
                if !destination.exists(&path.to_string())? {
                    continue;
                }
                let there = destination.group_at(path)?;
                if !attributes.is_empty()
                    && !there.attributes().is_empty()
                    && there.attributes() != attributes
                {
                    return Err(Failure::fault(format!(
                        "group {path} is there already, with other attributes"
                    )));
                }
            }
            Planned::Array { path, metadata, .. } => {
                destination.prepare_array(&path.to_string(), (**metadata).clone())?;
            }
        }
    }
    Ok(())
}

/// Chunks first, documents last.
fn write(planned: &[Planned], destination: &Hierarchy) -> Result<(), Failure> {
    let arrays = planned.iter().filter_map(|node| match node {
        Planned::Array { path, source, metadata } => Some((path, source, metadata)),
        Planned::Group { .. } => None,
    });
    let total = arrays.clone().map(|(_, source, _)| size(source)).fold(0, u64::saturating_add);
    let progress = Progress::of_bytes(total, "copying");
    let mut done = Vec::new();
    for (path, source, metadata) in arrays {
        progress.say(&path.to_string());
        let array = destination.prepare_array(&path.to_string(), (**metadata).clone())?;
        transfer(source, &array, &progress)?;
        done.push(array);
    }
    drop(progress);
    for node in planned {
        if let Planned::Group { path, attributes } = node {
            write_group(destination, path, attributes)?;
        }
    }
    done.iter().try_for_each(|array| Ok(destination.publish_array(array)?))
}

fn write_group(destination: &Hierarchy, path: &NodePath, attributes: &Object) -> Result<(), Failure> {
    let text = path.to_string();
    let is_there = destination.exists(&text)?;
    // The root of a hierarchy of the draft is there without a document.
    let is_implicit = is_there && destination.group_at(path)?.is_implicit();
    match is_there && !is_implicit {
        false => drop(destination.create_group(&text, attributes.clone())?),
        true if attributes.is_empty() => {}
        true => destination.set_attributes(&text, attributes.clone())?,
    }
    Ok(())
}
