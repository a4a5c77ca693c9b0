//! `copy`: copies hierarchies or parts of them, and converts them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use zarr_kit::archive::{
    self, ArrayPlan, Caller, CopyError, CopyOption, CopyPlan, CopyProgress, CopyRequest, CopySummary, Losses,
    Method, Part, Passes, Skipped,
};
use zarr_kit::spec::printable;
use zarr_kit::spec::store::Store;
use zarr_kit::{Context, FallbackPolicy, Hierarchy, Mode, readable_location};

use crate::arguments::{Copy, Reading};
use crate::failure::Failure;
use crate::interrupt::{self, Left};
use crate::opening::{self, Opened, open_nodes};
use crate::printer::{note_lines, stdout};
use crate::selecting::ForCopy;
use crate::terminal::{self, Progress, size, warn};
use crate::verbs::digest::settings_of;

/// The message if nodes or options prevent a copy.
const NOTHING: &str = "nothing is copied";

/// The most nodes in a message.
const SHOWN: usize = 20;

/// Runs the verb.
pub(crate) fn run(arguments: &Copy) -> Result<(), Failure> {
    let chunks = zarr_kit::Progress::new();
    let context = opening::with_jobs(opening::context()?, arguments.jobs)?;
    let watch = || interrupt::watch(Left::values(left_text(arguments)));
    let start = Instant::now();
    let Some(summary) = run_with(arguments, &context, &chunks, watch)? else { return Ok(()) };
    terminal::summary(&summary_text(&summary, arguments.part, start));
    print_skipped(&summary.skipped)?;
    if summary.skipped.is_empty() { Ok(()) } else { Err(Failure::Different) }
}

/// Copies in clones of `context`. The chunks are counted in `chunks`, which can also cancel the copy. `before_writing`
/// is called after all checks, before the first write. Returns `None` if the options ask only for the losses or the
/// plan.
pub(crate) fn run_with(
    arguments: &Copy,
    context: &Context,
    chunks: &zarr_kit::Progress,
    before_writing: impl FnOnce() -> Result<(), Failure>,
) -> Result<Option<CopySummary>, Failure> {
    let plan = plan(arguments, context.clone().with_progress(chunks))?;
    if arguments.dry_run {
        print_losses(plan.losses())?;
        return Ok(None);
    }
    if !plan.losses().is_empty() {
        note_lines(&format!("warning: the copy loses some metadata:\n{}", plan.losses()));
    }
    if arguments.plan {
        print_plan(&plan, arguments)?;
        return Ok(None);
    }
    before_writing()?;
    let progress = CopyProgress::new(chunks);
    let bar = Progress::of_copy(&progress);
    let copied = plan.run(&progress);
    drop(bar);
    let summary = copied.map_err(|error| failure(error, arguments))?;
    summary.warnings.iter().for_each(|warning| warn(warning));
    Ok(Some(summary))
}

/// Opens the stores and plans the copy.
fn plan(arguments: &Copy, context: Context) -> Result<CopyPlan, Failure> {
    let paths: Vec<&str> = arguments.paths.iter().map(String::as_str).collect();
    let sources = arguments.sources.iter();
    let sources: Vec<Opened> = sources
        .map(|source| open_nodes(source, &paths, &arguments.reading, context.clone()))
        .collect::<Result<_, _>>()?;
    let context = writing_context(&arguments.reading, context);
    let destination = opening::open_to_write(&arguments.destination, &context)?;
    for source in &sources {
        refuse_itself(source, &*destination, arguments.reading.caller)?;
    }
    let reading = Progress::unknown("reading metadata");
    let plan = plan_from(&sources, &destination, &context, arguments)?;
    drop(reading);
    if plan.creates_hierarchy() {
        opening::warn_of_place(&arguments.destination, &*destination);
    }
    for (number, source) in sources.iter().enumerate() {
        for path in &arguments.paths {
            opening::warn_of_missing_documents(source, &source.path(path)?, plan.listed(number));
        }
    }
    plan.warnings().iter().for_each(|warning| warn(warning));
    Ok(plan)
}

fn plan_from(
    sources: &[Opened],
    destination: &Arc<dyn Store>,
    context: &Context,
    arguments: &Copy,
) -> Result<CopyPlan, Failure> {
    let sources: Vec<&Hierarchy> = sources.iter().map(|source| &**source).collect();
    let selections = Arc::new(ForCopy::parse(&arguments.select, arguments.reading.caller)?);
    let mut request = request(arguments);
    request.selector = selections.selector();
    let plan = archive::plan_copy(&sources, destination, context, &request, &settings_of(context));
    let plan = plan.map_err(|error| failure(error, arguments))?;
    match selections.without_effect() {
        reasons if reasons.is_empty() => Ok(plan),
        reasons => Err(Failure::Listed { head: NOTHING.to_owned(), reasons }),
    }
}

fn request(arguments: &Copy) -> CopyRequest {
    let mut request = CopyRequest::new();
    request.paths.clone_from(&arguments.paths);
    request.include.clone_from(&arguments.include);
    request.exclude.clone_from(&arguments.exclude);
    request.format = arguments.format;
    request.chunks.clone_from(&arguments.chunks);
    request.shards.clone_from(&arguments.shards);
    request.codecs.clone_from(&arguments.codecs);
    request.max_reads = arguments.max_reads;
    request.lossy = arguments.lossy;
    request.overwrite = arguments.overwrite;
    request.skip_unreadable = arguments.skip_unreadable;
    request.resume = arguments.resume;
    request.part = arguments.part.unwrap_or(Part::WHOLE);
    request.pass = arguments.pass;
    request.consolidate = arguments.consolidate;
    request.verify = arguments.verify;
    request.caller = arguments.reading.caller;
    request
}

/// Converts the error of a copy, with a hint about what remains.
fn failure(error: CopyError, arguments: &Copy) -> Failure {
    match error {
        CopyError::Refused(all) => {
            let mut reasons: Vec<_> = all.iter().take(SHOWN).cloned().collect();
            if all.len() > SHOWN {
                reasons.push(format!("and {} more", all.len() - SHOWN));
            }
            Failure::Listed { head: NOTHING.to_owned(), reasons }
        }
        CopyError::Engine(error) => Failure::from(error),
        CopyError::Incomplete(error) => {
            let destination = &arguments.destination;
            let parts = arguments.part.filter(|part| part.count() > 1);
            let resume = arguments.reading.caller.given(CopyOption::Resume);
            let hint = match parts {
                _ if matches!(*error, CopyError::Different(_)) => format!(
                    "the copy in `{destination}` is not complete; remove the chunk, and run the same copy again{}",
                    if parts.is_some() { ", all parts".to_owned() } else { format!(" with {resume}") }
                ),
                Some(part) => format!("the copy in `{destination}` is not complete; run part {part} again"),
                None => format!(
                    "copied chunks remain in `{destination}` without metadata; `zarrctl clean` removes them, and \
                     {resume} continues the copy"
                ),
            };
            failure(*error, arguments).with_hint(&hint)
        }
        CopyError::Different(different) => Failure::DifferentCopy(different.to_string()),
        error => Failure::fault(error.to_string()),
    }
}

/// Returns the message about the files that an interrupted copy leaves.
fn left_text(arguments: &Copy) -> String {
    let destination = &arguments.destination;
    match arguments.part.filter(|part| part.count() > 1) {
        Some(part) => {
            format!("the copy in `{destination}` is not complete; run part {part} again to continue it")
        }
        None => format!(
            "copied chunks remain in `{destination}` without metadata; run the same copy again with --resume to \
             continue it"
        ),
    }
}

/// Returns the last line of a copy.
fn summary_text(summary: &CopySummary, part: Option<Part>, start: Instant) -> String {
    let seconds = start.elapsed().as_secs_f64();
    let rate = terminal::rate(summary.bytes, seconds);
    let bytes = size(summary.bytes);
    let verb =
        if summary.is_resumed && part.is_none() { "continued and completed the copy of" } else { "copied" };
    let Some(part) = part else {
        let nodes = nodes(summary.arrays, summary.groups);
        return format!("{verb} {nodes}: {bytes} in {seconds:.1} s ({rate})");
    };
    let state = match (summary.is_complete, summary.missing_text()) {
        (true, _) => "the copy is complete".to_owned(),
        (false, None) => "all parts of the first pass are complete: run --pass 2".to_owned(),
        (false, Some(missing)) => missing,
    };
    format!("part {part}: {bytes} in {seconds:.1} s ({rate}); {state}")
}

/// Formats numbers: `1, 2`.
fn numbers(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Formats numbers of nodes: `1 array and 2 groups`.
fn nodes(arrays: usize, groups: usize) -> String {
    let one =
        |count: usize, name: &str| if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") };
    match groups {
        0 => one(arrays, "array"),
        _ => format!("{} and {}", one(arrays, "array"), one(groups, "group")),
    }
}

/// Prints a line for each node or chunk that was left out.
fn print_skipped(skipped: &[Skipped]) -> Result<(), Failure> {
    let mut out = stdout();
    skipped.iter().try_for_each(|skipped| writeln!(out, "{}", skipped_text(skipped)))?;
    Ok(())
}

/// Describes a node or a chunk that was left out.
pub(crate) fn skipped_text(skipped: &Skipped) -> String {
    let Skipped { path, chunk, reason, .. } = skipped;
    let chunk = chunk.as_ref().map_or_else(String::new, |index| format!(" chunk [{}]", numbers(index)));
    format!("{}{chunk}: {}", printable(path), printable(reason))
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

/// Prints how each array will be copied, and the memory and space that the whole copy takes.
fn print_plan(plan: &CopyPlan, arguments: &Copy) -> Result<(), Failure> {
    let mut out = stdout();
    plan.replaced().iter().try_for_each(|path| writeln!(out, "{}  is erased first", printable(path)))?;
    for array in plan.arrays() {
        write!(out, "{array}")?;
        if is_read_often(array, arguments.max_reads) {
            writeln!(
                out,
                "  note    this exceeds --max-reads, but two passes would not be faster; raise --memory"
            )?;
        }
    }
    let total = |size: fn(&ArrayPlan) -> u64| plan.arrays().iter().map(size).fold(0, u64::saturating_add);
    let [read, written] = [ArrayPlan::read_size, ArrayPlan::written_size].map(total);
    let temporary = plan.arrays().iter().map(ArrayPlan::temporary_size).max().unwrap_or(0);
    print_skipped(plan.skipped())?;
    let nodes = nodes(plan.arrays().len(), plan.group_count());
    writeln!(out, "total  {nodes}")?;
    writeln!(out, "  reads   {} of elements, and writes {}", size(read), size(written))?;
    writeln!(out, "  memory  {} of elements at a time, and their chunks", size(plan.memory()))?;
    if temporary > 0 {
        writeln!(
            out,
            "  space   at most {} in the destination in addition, until the copy is complete",
            size(temporary)
        )?;
    }
    if arguments.part.is_some() && plan.arrays().iter().any(|array| array.passes() > 1) {
        writeln!(out, "  parts   all with --pass 1, and when they are complete, all with --pass 2")?;
    }
    Ok(())
}

/// Returns whether one pass reads chunks more often than requested, because two passes would not help.
fn is_read_often(array: &ArrayPlan, max_reads: f64) -> bool {
    matches!(&array.method, Method::Decoded(Passes::One(pass)) if pass.reads > max_reads)
}

/// Refuses to copy a hierarchy onto or into itself.
fn refuse_itself(source: &Hierarchy, destination: &dyn Store, caller: Caller) -> Result<(), Failure> {
    let [src, dst] = match caller {
        Caller::Python => ["the source", "the destination"],
        _ => ["SRC", "DST"],
    };
    let from = source.store().location();
    let to = destination.location();
    let (Some(from), Some(to)) = (folder(&from), folder(&to)) else { return Ok(()) };
    if from == to {
        return Err(Failure::fault(format!("{src} and {dst} are the same folder `{}`", from.display())));
    }
    match to.starts_with(&from) {
        true => Err(Failure::fault(format!(
            "{dst} `{}` is inside {src} `{}`; choose a folder outside of {src}",
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
