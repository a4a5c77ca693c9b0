//! `copy`: copies a hierarchy or a part of it, and converts it.

use std::io::Write;
use std::path::{Path, PathBuf};

use zarr_kit::metadata::draft::EntryPoint;
use zarr_kit::metadata::{ArrayMetadata, v2};
use zarr_kit::spec::extension::ExtensionDocument;
use zarr_kit::spec::store::Store;
use zarr_kit::spec::{Object, format, printable};
use zarr_kit::{
    Array, Context, FallbackPolicy, Format, Group, Hierarchy, Kind, Mode, Node, NodeEntry, NodePath,
    open_store, readable_location,
};

use crate::arguments::{Copy, Reading};
use crate::chosen::Chosen;
use crate::chunking::Choices;
use crate::describe::{problems, shape};
use crate::failure::{Failure, chain};
use crate::interrupt::{self, Left};
use crate::losses::Losses;
use crate::lossless::check_a_chunk;
use crate::opening::{self, Opened, existing, open_documents};
use crate::others::Others;
use crate::printer::{note_lines, stdout};
use crate::slabs;
use crate::taken::Taken;
use crate::target::{self, Asked};
use crate::terminal::{self, Progress};
use crate::transfer::{self, have_one_form, transfer};

/// The most nodes in a message.
const SHOWN: usize = 20;

/// A node of the copy. Parents precede their children.
#[derive(Debug)]
pub(crate) enum Planned {
    Group { path: NodePath, attributes: Object },
    Array { path: NodePath, source: Array, metadata: Box<ArrayMetadata> },
}

impl Planned {
    fn path(&self) -> &NodePath {
        match self {
            Self::Group { path, .. } | Self::Array { path, .. } => path,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: &Copy) -> Result<(), Failure> {
    let chunks = zarr_kit::Progress::new();
    let watch = || interrupt::watch(Left::values(left_text(&arguments.destination)));
    run_with(arguments, &opening::context()?, &chunks, watch)
}

/// Copies in clones of `context`. The chunks are counted in `chunks`, which can also cancel the copy. `before_writing` is called
/// when the copy will succeed unless a store or a codec fails.
pub(crate) fn run_with(
    arguments: &Copy,
    context: &Context,
    chunks: &zarr_kit::Progress,
    before_writing: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let context = context.clone().with_progress(chunks);
    let source = open_documents(&arguments.source, &arguments.reading, context.clone())?;
    let context = writing_context(&arguments.reading, context);
    refuse_itself(&source, &*opening::open_to_write(&arguments.destination, &context)?)?;
    let existing = existing(&arguments.destination, &context)?;
    let there = existing.as_ref().map(|hierarchy| hierarchy.format());
    let format = arguments.format.or(there).unwrap_or_else(|| source.format());
    if arguments.consolidate && format == Format::V3Draft {
        return Err(Failure::fault(format!(
            "{format} has no consolidated metadata; leave out --consolidate"
        )));
    }
    let roots = arguments.paths.iter().map(|path| source.path(path)).collect::<Result<Vec<_>, _>>()?;
    let reading = Progress::unknown("reading metadata");
    let there = existing.as_ref().and_then(|hierarchy| hierarchy.entry_point()).cloned();
    let (entry_point, mut losses) = entry_point(&source, &roots[0], format, there);
    let chosen = Chosen::find(&source, &roots, arguments)?;
    for root in &roots {
        opening::warn_of_missing_documents(&source, root, &chosen.all);
    }
    let (mut planned, mut refused) = plan(&source, &chosen.nodes, format, arguments, &mut losses)?;
    let others = Others::find(&source, &chosen, format, &mut losses)?;
    refused.extend(rehearse(&planned, &context, format, entry_point.as_ref(), arguments.lossy)?);
    let existing = existing.filter(|hierarchy| hierarchy.format() == format);
    if let Some(existing) = &existing {
        let taken = Taken::find(&planned, existing)?;
        refused.extend(taken.refused);
        planned.retain(|node| !taken.complete.contains(node.path()));
    }
    drop(reading);
    refuse(&refused)?;
    if arguments.dry_run {
        return print_losses(&losses);
    }
    if !losses.is_empty() {
        note_lines(&format!("warning: the copy loses some metadata:\n{losses}"));
    }
    if arguments.plan {
        return print_plans(&planned, &context, format, entry_point.as_ref(), arguments);
    }
    before_writing()?;
    let destination = match existing {
        Some(existing) => opening::opened(existing),
        None => begin(&arguments.destination, &context, format, entry_point.as_ref())?,
    };
    let from = &**source.store();
    write(&planned, &destination, arguments, || others.copy(from, &**destination.store()))
}

/// Writes the nodes, and other files with `copy_others`. Documents of arrays are written last.
fn write(
    planned: &[Planned],
    destination: &Hierarchy,
    arguments: &Copy,
    copy_others: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut arrays = Vec::new();
    let written = write_chunks(planned, destination, arguments, &mut arrays);
    written.map_err(|failure| with_left_chunks(failure, &arrays, &arguments.destination))?;
    // `clean` removes chunks without arrays only next to groups or in a folder without other files, so groups
    // come first.
    write_groups(planned, destination)?;
    copy_others()?;
    destination.publish_arrays(&arrays)?;
    if arguments.consolidate {
        destination.consolidate("/")?;
    }
    Ok(())
}

/// Returns the message about the files that an interrupted copy leaves.
fn left_text(destination: &str) -> String {
    format!(
        "copied chunks remain in `{destination}` without metadata; run the same copy again to replace them"
    )
}

/// Adds a hint about remaining chunks to the failure of a copy.
fn with_left_chunks(failure: Failure, arrays: &[Array], destination: &str) -> Failure {
    // The original failure is more important than a failure to list.
    let has_chunks = |array: &Array| array.stored_chunks().is_ok_and(|chunks| !chunks.is_empty());
    if !arrays.iter().any(has_chunks) {
        return failure;
    }
    failure.with_hint(&format!(
        "copied chunks remain in `{destination}` without metadata; `zarrctl clean` removes them"
    ))
}

/// Creates the context for writing. Documents are always written strictly; the mode only affects names that
/// other programs wrote.
fn writing_context(reading: &Reading, context: Context) -> Context {
    let context = context.with_mode(match reading.mode() {
        Mode::Strict => Mode::Strict,
        _ => Mode::default(),
    });
    // The context must accept unknown types, because such arrays may be copied unchanged.
    match reading.use_fallback {
        true => context.with_fallback(FallbackPolicy::Allow).with_fallback_writing(),
        false => context,
    }
}

/// Prints what a copy would lose.
fn print_losses(losses: &Losses) -> Result<(), Failure> {
    let text = if losses.is_empty() { "  nothing".to_owned() } else { losses.to_string() };
    Ok(writeln!(stdout(), "the copy would lose:\n{text}")?)
}

/// Prints how each array will be copied.
fn print_plans(
    planned: &[Planned],
    context: &Context,
    format: Format,
    entry_point: Option<&EntryPoint>,
    arguments: &Copy,
) -> Result<(), Failure> {
    let hierarchy = in_memory(context, format, entry_point)?;
    let mut out = stdout();
    for node in planned {
        if let Planned::Array { path, source, metadata } = node {
            let copy = hierarchy.prepare_array(path.to_string(), (**metadata).clone())?;
            let shapes = transfer::shapes(source, &copy);
            let size = terminal::size(shapes.size());
            writeln!(out, "{}  {}, {size}", printable(path), shape(&shapes.array))?;
            if have_one_form(source, &copy) {
                writeln!(out, "  copies the encoded chunks")?;
                continue;
            }
            let plan = transfer::plan(source, &copy, arguments.max_reads);
            writeln!(out, "  chunks  {} to {}", shape(&shapes.source), shape(&shapes.target))?;
            writeln!(out, "  passes  {plan}")?;
            writeln!(out, "  memory  {} of elements at a time, and their chunks", shapes.memory())?;
            if plan.passes() > 1 {
                writeln!(out, "  space   {size} in the destination, until the array is complete")?;
            }
        }
    }
    Ok(())
}

/// Creates a hierarchy in memory that is like the destination.
fn in_memory(
    context: &Context,
    format: Format,
    entry_point: Option<&EntryPoint>,
) -> Result<Hierarchy, Failure> {
    let memory = open_store(context.registry(), "memory:")?;
    Ok(match entry_point {
        Some(entry_point) => Hierarchy::create_draft(memory, context, entry_point)?,
        None => Hierarchy::create(memory, context, format)?,
    })
}

/// Returns the entry point of a copy in the v3 draft, and the losses from the entry point of the source.
fn entry_point(
    source: &Hierarchy,
    root: &NodePath,
    format: Format,
    there: Option<EntryPoint>,
) -> (Option<EntryPoint>, Losses) {
    let mut losses = Losses::default();
    let Some(before) = source.entry_point() else {
        let new = there.or_else(|| (format == Format::V3Draft).then(EntryPoint::new));
        return (new, losses);
    };
    let registry = source.context().registry();
    let is_known = |document: &&ExtensionDocument| {
        let reading = format::Reading::new(Mode::default());
        registry.extensions().find(Format::V3Draft, &document.identifier, &reading).is_ok()
    };
    let copy = match (format, there) {
        (Format::V3Draft, Some(there)) => Some(there),
        (Format::V3Draft, None) => Some(
            EntryPoint::new()
                .with_metadata_encoding(before.metadata_encoding.clone(), before.key_suffix.clone())
                .with_extensions(before.extensions.iter().filter(is_known).cloned().collect()),
        ),
        (Format::V2 | Format::V3, _) => None,
    };
    let new = EntryPoint::new();
    let encoding = &before.metadata_encoding.identifier;
    let after = copy.as_ref().unwrap_or(&new);
    if *encoding != after.metadata_encoding.identifier {
        let reason = &after.metadata_encoding.identifier;
        losses.add(root, format!("`metadata_encoding`: encoding `{encoding}`; the copy uses `{reason}`"));
    }
    for (position, document) in before.extensions.iter().enumerate() {
        if !after.extensions.contains(document) {
            let name = &document.identifier;
            let what = format!("extension `{name}` of the entry point is not copied");
            losses.add(root, format!("`extensions[{position}]`: {what}"));
        }
    }
    (copy, losses)
}

fn begin(
    location: &str,
    context: &Context,
    format: Format,
    entry_point: Option<&EntryPoint>,
) -> Result<Opened, Failure> {
    match entry_point {
        Some(entry_point) => opening::create_draft(location, context, entry_point),
        None => opening::create(location, context, Some(format), format),
    }
}

/// Refuses to copy a hierarchy onto or into itself.
fn refuse_itself(source: &Hierarchy, destination: &dyn Store) -> Result<(), Failure> {
    let from = source.store().location();
    let to = destination.location();
    let (Some(from), Some(to)) = (folder(&from), folder(&to)) else { return Ok(()) };
    if from == to {
        return Err(Failure::fault(format!("SRC and DST are the same folder `{}`", from.display())));
    }
    match to.starts_with(&from) {
        true => Err(Failure::fault(format!(
            "DST `{}` is inside SRC `{}`; choose a folder outside of SRC",
            to.display(),
            from.display()
        ))),
        false => Ok(()),
    }
}

/// Returns the folder of a store, with symbolic links resolved.
pub(crate) fn folder(location: &str) -> Option<PathBuf> {
    if !location.starts_with("file://") {
        return None;
    }
    let readable = readable_location(location);
    let path = Path::new(readable.strip_prefix("file://").unwrap_or(&readable));
    path.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        Some(
            path.strip_prefix(above)
                .map_or(real.clone(), |rest| real.components().chain(rest.components()).collect()),
        )
    })
}

/// Returns the nodes to copy, and the reasons why others cannot be copied.
fn plan(
    source: &Hierarchy,
    nodes: &[NodeEntry],
    format: Format,
    arguments: &Copy,
    losses: &mut Losses,
) -> Result<(Vec<Planned>, Vec<String>), Failure> {
    let mut planned = Vec::new();
    let mut refused = Vec::new();
    let choices = Choices::new(arguments);
    let target = Target { format, choices: &choices, is_lossy: arguments.lossy };
    for child in nodes {
        match plan_node(source, child, &target, losses) {
            Ok(node) => planned.extend(node),
            Err(Failure::Fault(error)) => refused.push(format!("{}: {}", child.path, chain(&*error))),
            Err(other) => return Err(other),
        }
    }
    // If a node cannot be read, it may be the one that an option is for.
    if refused.is_empty() {
        refused = choices.without_effect();
    }
    Ok((planned, refused))
}

/// The request for the copies of all nodes.
struct Target<'a> {
    format: Format,
    choices: &'a Choices<'a>,
    is_lossy: bool,
}

/// Fails with a list of nodes that cannot be copied, if there are any.
fn refuse(refused: &[String]) -> Result<(), Failure> {
    if refused.is_empty() {
        return Ok(());
    }
    let mut reasons: Vec<_> = refused.iter().take(SHOWN).cloned().collect();
    if refused.len() > SHOWN {
        reasons.push(format!("and {} more", refused.len() - SHOWN));
    }
    Err(Failure::Listed { head: "nothing is copied".to_owned(), reasons })
}

fn plan_node(
    source: &Hierarchy,
    child: &NodeEntry,
    target: &Target<'_>,
    losses: &mut Losses,
) -> Result<Option<Planned>, Failure> {
    let path = child.path.in_format(target.format).map_err(|error| Failure::Fault(error.into()))?;
    Ok(match source.node(&child.path)? {
        // An implicit group exists as soon as it has children.
        Node::Group(_) if child.kind == Kind::ImplicitGroup => None,
        Node::Group(group) => {
            lost_of_group(&group)?.iter().for_each(|what| losses.add(&child.path, what));
            Some(Planned::Group { path, attributes: group.attributes().clone() })
        }
        Node::Array(array) => {
            let chunking = target.choices.of(&array, target.format)?;
            let asked = Asked { chunking, is_lossy: target.is_lossy };
            let (metadata, lost) = target::metadata(&array, target.format, &asked)?;
            lost.iter().for_each(|loss| losses.add(&child.path, loss));
            Some(Planned::Array { path, source: *array, metadata: Box::new(metadata) })
        }
        Node::Unreadable(unreadable) => return Err(Failure::fault(problems(&unreadable.error).join("; "))),
    })
}

/// Returns the metadata of a group that is not copied.
fn lost_of_group(group: &Group) -> Result<Vec<String>, Failure> {
    let metadata = group.metadata();
    let ignored = metadata.ignored.keys();
    let mut lost: Vec<_> = ignored
        .map(|name| format!("`{name}`: an unknown member that readers may ignore; it is not copied"))
        .collect();
    let has_copies = match metadata.format {
        Format::V2 => {
            let key = v2::consolidated_key(group.path()).map_err(|error| Failure::Fault(error.into()))?;
            let size = group.hierarchy().store().size(&key);
            size.map_err(|error| Failure::Fault(error.into()))?.is_some()
        }
        Format::V3Draft | Format::V3 => metadata.consolidated.is_some(),
    };
    if has_copies {
        lost.push("consolidated metadata; recreate them with `zarrctl consolidate`".to_owned());
    }
    Ok(lost)
}

/// Writes all documents to memory first, to find errors before anything is copied.
fn rehearse(
    planned: &[Planned],
    context: &Context,
    format: Format,
    entry_point: Option<&EntryPoint>,
    is_lossy: bool,
) -> Result<Vec<String>, Failure> {
    let hierarchy = in_memory(context, format, entry_point)?;
    let mut refused = Vec::new();
    for node in planned {
        let (path, result) = match node {
            Planned::Group { path, attributes } => {
                let created = hierarchy.create_group(path.to_string(), attributes.clone());
                (path, created.map(drop).map_err(Failure::from))
            }
            Planned::Array { path, source, metadata } => {
                (path, rehearse_array(&hierarchy, path, source, metadata, is_lossy))
            }
        };
        refused.extend(result.err().and_then(|error| Some(format!("{path}: {}", error.message()?))));
    }
    Ok(refused)
}

fn rehearse_array(
    hierarchy: &Hierarchy,
    path: &NodePath,
    source: &Array,
    metadata: &ArrayMetadata,
    is_lossy: bool,
) -> Result<(), Failure> {
    let array = hierarchy.prepare_array(path.to_string(), metadata.clone())?;
    if !is_lossy && !have_one_form(source, &array) {
        check_a_chunk(source, &array)?;
    }
    Ok(hierarchy.publish_array(&array)?)
}

/// Writes the chunks of all arrays, which do not have documents yet. Adds each array to `begun` before its
/// first chunk is written.
fn write_chunks(
    planned: &[Planned],
    destination: &Hierarchy,
    arguments: &Copy,
    begun: &mut Vec<Array>,
) -> Result<(), Failure> {
    let losses = if arguments.lossy { transfer::Losses::Allowed } else { transfer::Losses::Refused };
    let mut total = 0_u64;
    let mut prepared = Vec::new();
    for node in planned {
        if let Planned::Array { path, source, metadata } = node {
            let array = destination.prepare_array(path.to_string(), (**metadata).clone())?;
            let plan = transfer::plan(source, &array, arguments.max_reads);
            total = total.saturating_add(slabs::size(source).saturating_mul(plan.passes()));
            prepared.push((source, array, plan));
        }
    }
    let progress = Progress::of_bytes(total, "copying");
    for (source, array, plan) in prepared {
        progress.set_message(&array.path().to_string());
        begun.push(array.clone());
        transfer(source, &array, losses, &plan, &progress)?;
    }
    Ok(())
}

fn write_groups(planned: &[Planned], destination: &Hierarchy) -> Result<(), Failure> {
    for node in planned {
        if let Planned::Group { path, attributes } = node {
            write_group(destination, path, attributes)?;
        }
    }
    Ok(())
}

fn write_group(destination: &Hierarchy, path: &NodePath, attributes: &Object) -> Result<(), Failure> {
    let text = path.to_string();
    let exists = destination.exists(&text)?;
    // The root of a hierarchy in the v3 draft exists without a document.
    let is_implicit = exists && destination.group(path)?.is_implicit();
    match exists && !is_implicit {
        false => drop(destination.create_group(&text, attributes.clone())?),
        true if attributes.is_empty() => {}
        true => destination.set_attributes(&text, attributes.clone())?,
    }
    Ok(())
}
