//! Opens stores and hierarchies according to the command line.

use std::collections::HashSet;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use zarr_kit::metadata::NodeMetadata;
use zarr_kit::metadata::draft::EntryPoint;
use zarr_kit::spec::store::Store;
use zarr_kit::{
    Array, Context, FallbackPolicy, Format, Hierarchy, Limits, NodeEntry, NodePath, OpenOptions, Registry,
    ThreadPool, UndefinedFill, open_store, readable_location,
};

use crate::arguments::Reading;
use crate::durable::{self, STEP};
use crate::failure::{Failure, chain};
use crate::hints;
use crate::interrupt::Interruptible;
use crate::slabs;
use crate::terminal::{first_of, warn};
use crate::values;

/// The advice for writing to an archive in a store that is read only.
const NEVER_CHANGED: &str = "the archive cannot be changed, because the store that contains it is read only: change a \
                             local copy of the archive";

/// A hierarchy whose warnings are printed when it is dropped.
#[derive(Debug)]
pub(crate) struct Opened(Hierarchy);

impl Deref for Opened {
    type Target = Hierarchy;

    fn deref(&self) -> &Hierarchy {
        &self.0
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.warnings().iter().for_each(|warning| warn(&warning.to_string()));
    }
}

/// The variable with the default of `--memory`.
const MEMORY_VARIABLE: &str = "ZARR_KIT_MEMORY";

/// The memory limit of `--memory` or the variable, in bytes.
static MEMORY: OnceLock<u64> = OnceLock::new();

/// Sets the memory limit: `option`, or else the variable.
pub(crate) fn set_memory(option: Option<u64>) -> Result<(), Failure> {
    let memory = match option {
        Some(memory) => Some(memory),
        None => memory_of_environment()?,
    };
    if let Some(memory) = memory {
        MEMORY.get_or_init(|| memory);
    }
    Ok(())
}

/// Returns the memory limit of the variable, in bytes.
pub(crate) fn memory_of_environment() -> Result<Option<u64>, Failure> {
    let Some(text) = std::env::var_os(MEMORY_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let memory = values::bytes(&text.to_string_lossy());
    memory
        .map(Some)
        .map_err(|error| Failure::fault(format!("environment variable {MEMORY_VARIABLE}: {error}")))
}

/// Returns the limits of a context. The share of memory for elements is reserved outside of the context.
fn limits() -> Limits {
    let limits = Limits::default();
    let memory = MEMORY.get().copied().unwrap_or(limits.memory);
    limits.with_memory(slabs::without_share(memory))
}

pub(crate) fn context() -> Result<Context, Failure> {
    let registry = Registry::linked()?;
    #[cfg(all(feature = "dynamic", target_os = "linux"))]
    let registry = crate::loaded::Installed::find().added_to(registry);
    let context = Context::new(registry).with_limits(limits());
    Ok(match REQUIRES_CONDITIONS.get() {
        Some(true) => context.with_required_conditions(),
        _ => context,
    })
}

/// Sets the number of threads that decode and encode chunks.
pub(crate) fn with_jobs(context: Context, jobs: Option<usize>) -> Result<Context, Failure> {
    let Some(jobs) = jobs else { return Ok(context) };
    if jobs == 1 {
        return Ok(context.with_one_thread());
    }
    let pool = ThreadPool::new(jobs);
    let pool = pool.map_err(|error| Failure::fault(format!("starting {jobs} threads: {error}")))?;
    Ok(context.with_thread_pool(&pool))
}

/// Whether `--require-conditional` is set.
static REQUIRES_CONDITIONS: OnceLock<bool> = OnceLock::new();

/// Sets whether stores without conditional writes are refused.
pub(crate) fn require_conditional(option: bool) {
    REQUIRES_CONDITIONS.get_or_init(|| option);
}

pub(crate) fn reading_context(reading: &Reading) -> Result<Context, Failure> {
    Ok(with_options(context()?, reading))
}

fn with_options(context: Context, reading: &Reading) -> Context {
    let mut context = context.with_mode(reading.mode());
    if reading.use_fallback {
        context = context.with_fallback(FallbackPolicy::Warn);
    }
    if reading.undefined_as_zero {
        context = context.with_undefined_fill(UndefinedFill::Zeros);
    }
    context
}

/// Opens a hierarchy, with its consolidated metadata if it has any.
pub(crate) fn open(location: &str, reading: &Reading) -> Result<Opened, Failure> {
    open_through(location, reading, |store| store)
}

/// Opens a hierarchy as [`open`] does, in a store that wraps the described store.
pub(crate) fn open_through(
    location: &str,
    reading: &Reading,
    around: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
) -> Result<Opened, Failure> {
    let context = reading_context(reading)?;
    check_scheme(location, context.registry())?;
    let store = around(open_store(context.registry(), location)?);
    open_in(store, &context, reading, true)
}

/// Opens a hierarchy without consolidated metadata, which may be outdated, in `context` with the options of `reading`.
pub(crate) fn open_documents(location: &str, reading: &Reading, context: Context) -> Result<Opened, Failure> {
    let context = with_options(context, reading);
    check_scheme(location, context.registry())?;
    open_in(open_store(context.registry(), location)?, &context, reading, false)
}

/// Opens a hierarchy as [`open_documents`] does, to read the nodes at and below `paths`. If the store cannot list its
/// keys, only consolidated metadata finds the nodes below a group.
pub(crate) fn open_nodes(
    location: &str,
    paths: &[&str],
    reading: &Reading,
    context: Context,
) -> Result<Opened, Failure> {
    let documents = open_documents(location, reading, context)?;
    let is_array =
        |path: &&str| documents.metadata(*path).is_ok_and(|node| matches!(node, NodeMetadata::Array(_)));
    if documents.store().capabilities().listable || paths.iter().all(is_array) {
        return Ok(documents);
    }
    let opened = open_in(Arc::clone(documents.store()), documents.context(), reading, true)?;
    if opened.is_consolidated() {
        warn(&format!(
            "the store {} is not listable, so the nodes are those of the consolidated metadata, which may be outdated",
            readable_location(&opened.store().location())
        ));
    }
    Ok(opened)
}

/// The advice for outdated consolidated metadata.
const UPDATE: &str = "use `--no-consolidated` to read the documents instead, or `zarrctl consolidate` to update the consolidated metadata";

/// Warns if the consolidated metadata of `array` differ from its own document.
pub(crate) fn warn_of_old_copy(hierarchy: &Hierarchy, array: &Array) {
    if !hierarchy.is_consolidated() {
        return;
    }
    let what = match hierarchy.stored_metadata(array.path()) {
        Ok(Some(NodeMetadata::Array(own))) if *own == *array.metadata() => return,
        Ok(Some(_)) => "differ from its own document".to_owned(),
        Ok(None) => "list this array, but its own document is missing".to_owned(),
        Err(error) => format!("cannot be compared with its own document: {}", chain(&error)),
    };
    warn(&format!("{}: the consolidated metadata {what}; {UPDATE}", array.path()));
}

/// Warns if the consolidated metadata list other nodes than the store has. Only local stores are listed a
/// second time.
pub(crate) fn warn_of_old_listing(hierarchy: &Hierarchy, path: &NodePath, listed: &[NodeEntry]) {
    let store = hierarchy.store();
    let is_local = store.capabilities().listable && store.read_hints().max_concurrency == 0;
    if !hierarchy.is_consolidated() || !is_local {
        return;
    }
    let options = OpenOptions::new().consolidated(false).format(hierarchy.format());
    let own = Hierarchy::open_with(Arc::clone(store), hierarchy.context(), options);
    let what = match own.and_then(|own| own.walk(path)) {
        Ok(own) => different_nodes(listed, &own),
        Err(error) => Some(format!("cannot be compared with the documents of the nodes: {}", chain(&error))),
    };
    if let Some(what) = what {
        warn(&format!("the consolidated metadata {what}; {UPDATE}"));
    }
}

/// Warns if the consolidated metadata list nodes below `path` without documents. `nodes` are the nodes with documents;
/// only these nodes are copied.
pub(crate) fn warn_of_missing_documents(hierarchy: &Hierarchy, path: &NodePath, nodes: &[NodeEntry]) {
    let options = OpenOptions::new().format(hierarchy.format());
    let consolidated = Hierarchy::open_with(Arc::clone(hierarchy.store()), hierarchy.context(), options);
    let listed = match consolidated {
        Ok(consolidated) if !consolidated.is_consolidated() => return,
        consolidated => consolidated.and_then(|consolidated| consolidated.walk(path)),
    };
    let what = match listed {
        Ok(listed) => {
            let missing = missing_in(&listed, nodes);
            with_paths("list nodes without documents, which are not copied:", &missing)
        }
        Err(error) => Some(format!("cannot be compared with the documents of the nodes: {}", chain(&error))),
    };
    if let Some(what) = what {
        warn(&format!("the consolidated metadata {what}"));
    }
}

/// Describes the difference between listed nodes and nodes with documents.
fn different_nodes(listed: &[NodeEntry], own: &[NodeEntry]) -> Option<String> {
    let parts = [
        with_paths("list nodes without documents:", &missing_in(listed, own)),
        with_paths("do not list", &missing_in(own, listed)),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", and "))
}

fn missing_in<'n>(some: &'n [NodeEntry], others: &[NodeEntry]) -> Vec<&'n NodePath> {
    let others: HashSet<_> = others.iter().map(|node| (&node.path, node.kind.is_group())).collect();
    let missing = some.iter().filter(|node| !others.contains(&(&node.path, node.kind.is_group())));
    missing.map(|node| &node.path).collect()
}

/// Returns `words` with the first path and the number of other paths; `None` without paths.
fn with_paths(words: &str, paths: &[&NodePath]) -> Option<String> {
    (!paths.is_empty()).then(|| format!("{words} {}", first_of(paths, 1)))
}

/// Opens a store to read its values, whether it has a hierarchy or not.
#[cfg(feature = "serve")]
pub(crate) fn open_plain(location: &str) -> Result<Arc<dyn Store>, Failure> {
    let context = context()?;
    check_scheme(location, context.registry())?;
    Ok(open_store(context.registry(), location)?)
}

/// Opens a hierarchy for changes. Archives in stores that are read only are refused.
pub(crate) fn open_to_change(location: &str, reading: &Reading) -> Result<Opened, Failure> {
    let context = reading_context(reading)?;
    open_in(open_to_write(location, &context)?, &context, reading, false)
}

fn open_in(
    store: Arc<dyn Store>,
    context: &Context,
    reading: &Reading,
    consolidated: bool,
) -> Result<Opened, Failure> {
    let mut options = OpenOptions::new().consolidated(consolidated && !reading.no_consolidated);
    if let Some(format) = reading.as_format {
        options = options.format(format);
    }
    match Hierarchy::open_with(Arc::clone(&store), context, options) {
        Ok(hierarchy) => {
            hints::warn_of_incomplete_copies(&*store, reading.caller);
            Ok(Opened(hierarchy))
        }
        Err(error) => Err(hints::of_hierarchy(error, &*store, reading.caller)),
    }
}

/// Creates a hierarchy, or opens an existing one. The default format is that of the existing hierarchy, or
/// else `default`.
pub(crate) fn create(
    location: &str,
    context: &Context,
    format: Option<Format>,
    default: Format,
) -> Result<Opened, Failure> {
    let store = open_to_write(location, context)?;
    let format = match format {
        Some(format) => format,
        None => existing_format(location, context)?.unwrap_or(default),
    };
    warn_of_place(location, &*store);
    Ok(Opened(Hierarchy::create(store, context, format)?))
}

/// Creates or opens a hierarchy as [`create`] does, in the v3 draft with this entry point.
pub(crate) fn create_draft(
    location: &str,
    context: &Context,
    entry_point: &EntryPoint,
) -> Result<Opened, Failure> {
    let store = open_to_write(location, context)?;
    warn_of_place(location, &*store);
    Ok(Opened(Hierarchy::create_draft(store, context, entry_point)?))
}

/// Refuses the URL of a store that only other builds have.
pub(crate) fn check_scheme(location: &str, registry: &Registry) -> Result<(), Failure> {
    let Some((scheme, rest)) = location.split_once(':') else { return Ok(()) };
    let scheme = scheme.to_ascii_lowercase();
    let is_here = registry.stores().iter().any(|store| store.schemes.contains(&scheme.as_str()));
    let is_elsewhere = || registry.unknown_store(&format!("{scheme}:")).known_elsewhere.is_some();
    match !is_here && rest.starts_with("//") && is_elsewhere() {
        true => Err(Failure::not_in_build(&format!("the store for `{scheme}:`"))),
        false => Ok(()),
    }
}

/// Opens a store for writing. Archives in stores that are read only are refused.
pub(crate) fn open_to_write(location: &str, context: &Context) -> Result<Arc<dyn Store>, Failure> {
    check_scheme(location, context.registry())?;
    let store = durable::open(location, context)?;
    if !store.capabilities().writeable && store.location().contains(STEP) {
        return Err(Failure::fault(format!("`{location}`: {NEVER_CHANGED}")));
    }
    Ok(Arc::new(Interruptible::new(store)))
}

/// Warns of a location in memory, and of a location that looks like a URL but becomes a folder.
pub(crate) fn warn_of_place(location: &str, store: &dyn Store) {
    if location.starts_with("memory:") {
        warn(&format!("`{location}` is in memory: its contents are lost when this program ends"));
    }
    let scheme = location.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_word = scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let opened = store.location();
    // A store that interprets a folder, such as an N5 container, has a `|` in its location.
    let is_folder =
        opened.starts_with("file:") && !opened.contains('|') && !scheme.eq_ignore_ascii_case("file");
    if is_word && is_folder && !Path::new(location).exists() {
        warn(&format!("`{location}` becomes a folder, because this build has no store for `{scheme}:` URLs"));
    }
}

pub(crate) fn existing_format(location: &str, context: &Context) -> Result<Option<Format>, Failure> {
    Ok(existing(location, context)?.map(|hierarchy| hierarchy.format()))
}

/// Opens an existing hierarchy without its consolidated metadata, which may lack nodes.
pub(crate) fn existing(location: &str, context: &Context) -> Result<Option<Hierarchy>, Failure> {
    let options = OpenOptions::new().consolidated(false);
    match Hierarchy::open_with(open_to_write(location, context)?, context, options) {
        Ok(hierarchy) => Ok(Some(hierarchy)),
        Err(zarr_kit::Error::NoHierarchy { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
