//! The plan of a copy.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use zarr_engine::{Array, Context, Error, Hierarchy, NodeEntry, OpenOptions};
use zarr_metadata::draft::EntryPoint;
use zarr_spec::store::{Store, get_value};
use zarr_spec::{Format, NodePath, Prefix};

use super::CopyRequest;
use super::array_plan::{ArrayPlan, Method};
use super::between;
use super::chosen::Chosen;
use super::chunking::Choices;
use super::entry_point::entry_point;
use super::error::CopyError;
use super::existing::{Copied, Existing, Rule};
use super::losses::Losses;
use super::lossless::check_a_chunk;
use super::nodes::{NewArray, NewGroup, Nodes};
use super::options::CopyOption;
use super::others::Others;
use super::passes::{Passes, Shapes, Sizes};
use super::source::Source;
use super::state::{Skipped, State};
use crate::boxes::element_size;
use crate::manifest::hex;
use crate::settings::Settings;
use crate::shelf::Shelf;

/// The largest document of a rehearsal, in bytes.
const LARGEST_DOCUMENT: usize = 64 << 20;

/// A copy that can be run. Nothing has been written yet.
#[derive(Debug)]
pub struct CopyPlan {
    pub(crate) arrays: Vec<ArrayPlan>,
    pub(crate) groups: Vec<NewGroup>,
    /// The files of each source that are not part of Zarr.
    pub(crate) others: Vec<(Arc<dyn Store>, Others)>,
    pub(crate) losses: Losses,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) warnings: Vec<String>,
    pub(crate) replaced: Vec<NodePath>,
    pub(crate) sources: Vec<String>,
    /// The nodes at and below the paths of each source.
    listed: Vec<Vec<NodeEntry>>,
    pub(crate) digest: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) existing: Option<Hierarchy>,
    pub(crate) target: Target,
    pub(crate) request: CopyRequest,
    pub(crate) settings: Settings,
}

/// The hierarchy that is written.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) context: Context,
    pub(crate) format: Format,
    pub(crate) entry_point: Option<EntryPoint>,
}

impl CopyPlan {
    /// Returns the plan of each array.
    #[must_use]
    pub fn arrays(&self) -> &[ArrayPlan] {
        &self.arrays
    }

    /// Returns the number of groups with documents.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Returns the metadata that the copy loses.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Returns the nodes that are left out because they cannot be read.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Returns warnings.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns all nodes at and below the paths of source number `source`, including those that are not copied.
    #[must_use]
    pub fn listed(&self, source: usize) -> &[NodeEntry] {
        self.listed.get(source).map_or(&[], |listed| listed)
    }

    /// Returns the hash of the plan: sources, nodes, their documents in the copy, and how elements are copied. All
    /// parts of one copy have the same hash.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns whether the destination has no hierarchy in the format of the copy.
    #[must_use]
    pub fn creates_hierarchy(&self) -> bool {
        self.existing.is_none()
    }

    /// Returns the existing arrays that are erased first.
    #[must_use]
    pub fn replaced(&self) -> &[NodePath] {
        &self.replaced
    }

    /// Returns the memory for elements in bytes. Chunks take the memory of the context in addition.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.settings.memory
    }
}

/// Plans the copy of nodes of `sources` to the store `destination`, in `context`, whose limits and modes apply to what
/// is written.
///
/// Documents are read, converted and written to memory, so that everything that prevents the copy is found before
/// anything is written. Open the sources without consolidated metadata, which may be out of date.
///
/// # Errors
///
/// [`CopyError::Refused`] with a reason for each node that cannot be copied; [`CopyError::Request`];
/// [`CopyError::Engine`].
pub fn plan_copy(
    sources: &[&Hierarchy],
    destination: &Arc<dyn Store>,
    context: &Context,
    request: &CopyRequest,
    settings: &Settings,
) -> Result<CopyPlan, CopyError> {
    let [first, ..] = sources else { return Err(CopyError::message("there is no source to copy")) };
    let existing = existing(destination, context)?;
    let there = existing.as_ref().map(Hierarchy::format);
    let adapts = destination.capabilities().adapts_documents;
    let usual = || if adapts { Format::V3 } else { first.format() };
    let format = request.format.or(there).unwrap_or_else(usual);
    check_request(request, format, &**destination)?;
    let mut nodes = Nodes::default();
    let mut found = Sources::default();
    let there = existing.as_ref().and_then(Hierarchy::entry_point).cloned();
    let choices = Choices::new(request);
    for source in sources {
        let roots = roots(source, request)?;
        let entry_point = entry_point(source, &roots[0], format, there.clone(), &mut nodes.losses);
        found.entry_point = found.entry_point.or(entry_point);
        let chosen = Chosen::find(source, &roots, request)?;
        nodes.add(source, &chosen.nodes, format, request, &choices)?;
        let others = Others::find(source, &chosen, format, &mut nodes.losses)?;
        found.warnings.extend(others.warning.clone());
        found.others.push((Arc::clone(source.store()), others));
        found.listed.push(chosen.all);
        found.locations.push(source.store().location());
    }
    // An option may be for a node that cannot be read. Then the reason of that node is reported, not the option.
    if nodes.refused.is_empty() {
        nodes.refused = choices.without_effect();
    }
    let existing = existing.filter(|hierarchy| hierarchy.format() == format);
    let target = Target { context: context.clone(), format, entry_point: found.entry_point.take() };
    let planning = Planning { store: destination, existing, target, request, settings };
    planning.finish(nodes, found)
}

/// Returns an error if options of the request contradict each other, the format or the destination.
fn check_request(request: &CopyRequest, format: Format, destination: &dyn Store) -> Result<(), CopyError> {
    let caller = request.caller;
    let is_in_parts = request.part.count() > 1;
    if request.consolidate && format == Format::V3Draft {
        let option = caller.given(CopyOption::Consolidate);
        return Err(CopyError::message(format!("{format} has no consolidated metadata; leave out {option}")));
    }
    if request.overwrite && is_in_parts {
        return Err(CopyError::message(format!(
            "{} cannot be combined with {}: erase the old arrays first",
            caller.given(CopyOption::Overwrite),
            caller.given(CopyOption::Partition)
        )));
    }
    if (request.resume || is_in_parts) && !destination.capabilities().listable {
        let option = if is_in_parts { CopyOption::Partition } else { CopyOption::Resume };
        let option = caller.given(option);
        return Err(CopyError::message(format!("{option} needs a destination that can list its keys")));
    }
    Ok(())
}

/// Findings in the sources, in addition to nodes.
#[derive(Default)]
struct Sources {
    entry_point: Option<EntryPoint>,
    others: Vec<(Arc<dyn Store>, Others)>,
    warnings: Vec<String>,
    listed: Vec<Vec<NodeEntry>>,
    locations: Vec<String>,
}

/// A plan whose documents are not tried yet.
struct Planning<'a> {
    store: &'a Arc<dyn Store>,
    existing: Option<Hierarchy>,
    target: Target,
    request: &'a CopyRequest,
    settings: &'a Settings,
}

impl Planning<'_> {
    fn finish(self, mut nodes: Nodes, found: Sources) -> Result<CopyPlan, CopyError> {
        let rehearsal = Rehearsal::of(&self, &mut nodes)?;
        let Rehearsal { mut arrays, digest } = rehearsal;
        let digest = self.digest(digest, &found.locations, &arrays);
        let mut replaced = Vec::new();
        if let Some(existing) = &self.existing {
            let rule = self.rule(&digest)?;
            let copy = Copied { groups: &nodes.groups, arrays: &arrays, caller: self.request.caller };
            let find = |rule| Existing::find(copy, existing, rule, self.settings);
            let mut taken = find(rule)?;
            // Another part may have created the arrays in the meantime.
            if rule == Rule::CompareForParts && !taken.refused.is_empty() && self.rule(&digest)? == Rule::Join
            {
                taken = find(Rule::Join)?;
            }
            nodes.refused.extend(taken.refused);
            for array in &mut arrays {
                array.is_complete = taken.complete.contains(&array.path);
            }
            replaced = taken.replaced;
        }
        if !nodes.refused.is_empty() {
            return Err(CopyError::Refused(nodes.refused));
        }
        Ok(CopyPlan {
            arrays,
            groups: nodes.groups,
            others: found.others,
            losses: nodes.losses,
            skipped: nodes.skipped,
            warnings: found.warnings,
            replaced,
            sources: found.locations,
            listed: found.listed,
            digest,
            store: Arc::clone(self.store),
            existing: self.existing,
            target: self.target,
            request: self.request.clone(),
            settings: self.settings.clone(),
        })
    }

    /// Returns what is done with existing arrays.
    fn rule(&self, digest: &str) -> Result<Rule, CopyError> {
        let CopyRequest { resume, overwrite, part, .. } = self.request;
        let is_in_parts = part.count() > 1;
        let mut is_begun = false;
        if self.store.capabilities().listable {
            let state = State::new(self.store, digest)?;
            // Checked first, because the arrays of a copy in several parts exist before it is complete.
            state.replaceable_others(part.count(), self.request.caller)?;
            is_begun = (*resume || is_in_parts) && state.is_begun()?;
        }
        Ok(match (is_begun, is_in_parts) {
            (true, true) => Rule::Join,
            (true, false) => Rule::Resume,
            (false, true) => Rule::CompareForParts,
            (false, false) if *overwrite => Rule::Replace,
            (false, false) => Rule::Compare,
        })
    }

    /// Completes the hash of the documents.
    fn digest(&self, mut hash: Sha256, sources: &[String], arrays: &[ArrayPlan]) -> String {
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        sources.iter().for_each(|source| add(source));
        for array in arrays {
            add(&array.path.to_string());
            add(&format!("{:?}", array.method));
            array.source.selection_text().iter().for_each(|selection| add(selection));
        }
        let CopyRequest { lossy, skip_unreadable, part, .. } = self.request;
        add(&format!("{lossy} {skip_unreadable} {}", part.count()));
        hex(&hash.finalize())
    }
}

/// The copies of arrays, and the hash of all documents, after these were written to memory.
struct Rehearsal {
    arrays: Vec<ArrayPlan>,
    digest: Sha256,
}

impl Rehearsal {
    /// Writes all documents to memory, to find errors before anything is copied.
    fn of(planning: &Planning<'_>, nodes: &mut Nodes) -> Result<Self, CopyError> {
        let store: Arc<dyn Store> = Arc::new(Shelf::for_arrays_in(planning.store));
        let hierarchy = planning.target.create(Arc::clone(&store))?;
        let refused = &mut nodes.refused;
        for NewGroup { path, attributes } in &nodes.groups {
            let created = hierarchy.create_group(path.to_string(), attributes.clone());
            refused.extend(created.err().map(|error| reason(path, &error.into())));
        }
        let mut arrays = Vec::new();
        for array in nodes.arrays.drain(..) {
            let path = array.path.clone();
            match planning.rehearse(&hierarchy, array) {
                Ok(array) => arrays.push(array),
                Err(error) => refused.push(reason(&path, &error)),
            }
        }
        let mut digest = Sha256::new();
        for key in store.list_sorted(&Prefix::root())? {
            let value = get_value(&*store, &key, LARGEST_DOCUMENT)?.unwrap_or_default();
            for part in [key.as_str().as_bytes(), &value] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        Ok(Self { arrays, digest })
    }
}

fn reason(path: &NodePath, error: &CopyError) -> String {
    format!("{path}: {}", error.text())
}

impl Planning<'_> {
    fn rehearse(&self, hierarchy: &Hierarchy, array: NewArray) -> Result<ArrayPlan, CopyError> {
        let NewArray { path, source, metadata } = array;
        let to = hierarchy.prepare_array(path.to_string(), metadata)?;
        let metadata = to.metadata().clone();
        let memory = self.settings.memory;
        let array = &source.array;
        let first_chunk = match have_one_form(&source, &to) {
            true => source.first_chunk(to.chunk_grid())?,
            false => None,
        };
        let is_same = first_chunk.is_some();
        let is_encoded = is_same && array.hierarchy().store().capabilities().listable;
        if let Some(codec) = to.decode_only_codec().filter(|_| !is_encoded) {
            let option = self.request.caller.given(CopyOption::Codecs);
            let what = format!("codec `{codec}` only decodes: choose another one with {option}");
            return Err(CopyError::message(what));
        }
        if !self.request.lossy && !is_same {
            check_a_chunk(&source, &to, memory, self.request.caller)?;
            to.erase_leftovers()?;
        }
        hierarchy.publish_array(&to)?;
        let shapes = Shapes {
            array: source.shape().to_vec(),
            source: source.largest_chunk(),
            selected: source.selected()?,
            target: to.chunk_grid().largest_chunk(),
            sizes: Sizes { element: element_size(array), budget: memory },
        };
        let is_possible = between::is_possible(array, &**self.store);
        let max_reads = if is_possible { self.request.max_reads } else { f64::INFINITY };
        let method = match is_encoded {
            true => Method::Encoded,
            false => Method::Decoded(Passes::new(&shapes, max_reads)),
        };
        Ok(ArrayPlan {
            path,
            source_chunk: array.chunk_grid().largest_chunk(),
            size: source.size(),
            size_of_chunks: shapes.selected.elements_of_chunks().saturating_mul(shapes.sizes.element),
            shape: shapes.array,
            chunk: shapes.target,
            method,
            source,
            first_chunk: first_chunk.unwrap_or_default(),
            metadata,
            is_complete: false,
        })
    }
}

impl Target {
    /// Creates the hierarchy in a store.
    pub(crate) fn create(&self, store: Arc<dyn Store>) -> Result<Hierarchy, Error> {
        match &self.entry_point {
            Some(entry_point) => Hierarchy::create_draft(store, &self.context, entry_point),
            None => Hierarchy::create(store, &self.context, self.format),
        }
    }
}

/// Returns whether an encoded chunk of the source is valid in the copy, if both chunks have the same elements.
fn have_one_form(source: &Source, to: &Array) -> bool {
    let from = source.array.metadata();
    let to = to.metadata();
    // Storage transformers may depend on the positions of chunks, which a selection changes.
    let stay_in_place = source.is_whole() || from.storage_transformers.is_empty();
    stay_in_place
        && from.format == to.format
        && from.data_type == to.data_type
        && from.chunk_grid == to.chunk_grid
        && from.memory_layout == to.memory_layout
        && from.codecs == to.codecs
        && from.fill_value == to.fill_value
        && from.storage_transformers == to.storage_transformers
}

/// Opens the hierarchy in the destination without its consolidated metadata, which may lack nodes.
fn existing(store: &Arc<dyn Store>, context: &Context) -> Result<Option<Hierarchy>, CopyError> {
    let options = OpenOptions::new().consolidated(false);
    match Hierarchy::open_with(Arc::clone(store), context, options) {
        Ok(hierarchy) => Ok(Some(hierarchy)),
        Err(Error::NoHierarchy(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the paths to copy from a source; at least one.
fn roots(source: &Hierarchy, request: &CopyRequest) -> Result<Vec<NodePath>, CopyError> {
    if request.paths.is_empty() {
        return Ok(vec![NodePath::root()]);
    }
    Ok(request.paths.iter().map(|path| source.path(path)).collect::<Result<_, _>>()?)
}
