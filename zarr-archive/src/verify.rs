//! Checks a store for damage: documents, chunks and leftovers.

mod anndata;
mod census;
mod cf;
mod chunks;
mod consolidated;
mod conventions;
mod documents;
mod geozarr;
mod manifest;
mod nczarr;
mod nodes;
mod ome;
pub(crate) mod report;

use std::sync::Arc;

use zarr_engine::{Array, Context, Error, ErrorKind, Hierarchy, OpenOptions};
use zarr_spec::store::Store;
use zarr_spec::{Key, Prefix};

use crate::copy::incomplete_copies;
use crate::leftovers;
use crate::manifest::Manifest;
use crate::settings::Settings;
use nodes::Nodes;

pub use census::{Census, Picture};
pub(crate) use report::chain;
pub use report::{ArrayReport, Finding, FindingKind, Report};

/// How thoroughly a store is checked. Each level includes the levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Documents are read and compared with one another.
    Metadata,
    /// Keys are listed, which finds leftovers, chunks outside of arrays, and missing chunks.
    Present,
    /// The sizes of chunks are compared with the sizes that their codecs produce, and the indexes of shards are read.
    Sizes,
    /// Chunks are decoded. This verifies their checksums.
    Decode,
    /// Arrays without checksums are listed too, because damage of their elements may not be found.
    Checksums,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 5] = [Self::Metadata, Self::Present, Self::Sizes, Self::Decode, Self::Checksums];

    /// Returns the name in reports and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Present => "present",
            Self::Sizes => "sizes",
            Self::Decode => "decode",
            Self::Checksums => "checksums",
        }
    }
}

/// The checks of a verification.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Checks {
    /// The level. The default is [`Level::Decode`].
    pub level: Level,
    /// Whether every chunk must be stored. By default, missing chunks are counted, but are not damage, because they
    /// hold the fill value.
    pub complete: bool,
    /// The content to compare with. Elements are compared from [`Level::Decode`] on.
    pub manifest: Option<Manifest>,
}

impl Checks {
    /// Returns the checks of a level.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self { level, complete: false, manifest: None }
    }

    /// Sets whether every chunk must be stored.
    #[must_use]
    pub fn complete(self, complete: bool) -> Self {
        Self { complete, ..self }
    }

    /// Sets the content to compare with.
    #[must_use]
    pub fn manifest(self, manifest: Manifest) -> Self {
        Self { manifest: Some(manifest), ..self }
    }
}

/// A check of a store, one array after the other. The report of an array can be stored, and used instead of checking
/// the array again.
///
/// ```no_run
/// # fn verify(store: std::sync::Arc<dyn zarr_spec::store::Store>, context: &zarr_engine::Context)
/// # -> Result<(), zarr_engine::Error> {
/// use zarr_archive::{Checks, Level, Settings, Verification};
///
/// let mut verification = Verification::begin(store, context, Checks::new(Level::Decode))?;
/// while let Some(array) = verification.next_array() {
///     let report = verification.check(&array, &Settings::new())?;
///     verification.add(report);
/// }
/// assert!(verification.finish().is_whole());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Verification {
    checks: Checks,
    waiting: Vec<Array>,
    report: Report,
}

impl Verification {
    /// Checks the documents of all hierarchies in a store, and finds their arrays. In a store that cannot list its keys,
    /// the root must be an array or have consolidated metadata.
    ///
    /// # Errors
    ///
    /// [`Error::NoHierarchy`] if the store has neither a hierarchy nor documents of nodes; [`Error::NotSupported`] if the
    /// nodes cannot be found; [`Error::Store`].
    pub fn begin(store: Arc<dyn Store>, context: &Context, checks: Checks) -> Result<Self, Error> {
        match Self::of_documents(Arc::clone(&store), context, checks.clone()) {
            // The store itself found that the value of a document is damaged.
            Err(error @ Error::Store(_)) if error.kind() == ErrorKind::Damaged => {
                let mut report = Report::new(&*store, checks.level);
                let text = format!("{}; nothing else was checked", chain(&error));
                report.add(Finding::new(FindingKind::Document, text));
                Ok(Self { checks, waiting: Vec::new(), report })
            }
            begun => begun,
        }
    }

    fn of_documents(store: Arc<dyn Store>, context: &Context, checks: Checks) -> Result<Self, Error> {
        let mut hierarchies = leftovers::hierarchies(&store, context)?;
        let is_listable = store.capabilities().listable;
        let keys = if is_listable { store.list_sorted(&Prefix::root())? } else { Vec::new() };
        let mut report = Report::new(&*store, checks.level);
        if !is_listable {
            hierarchies = hierarchies.into_iter().map(with_copies).collect::<Result<_, _>>()?;
            report.add(not_listed(&hierarchies));
        }
        let opened = Hierarchy::open(Arc::clone(&store), context);
        if let Err(error) = opened {
            match error {
                Error::NoHierarchy(_) if keys.iter().any(documents::is_document) => {
                    report.add(Finding::new(FindingKind::MissingGroup, "the root has no document").at("/"));
                }
                Error::Document(_) => report.add(Finding::of_error(FindingKind::Document, &error).at("/")),
                error => return Err(error),
            }
        }
        let mut waiting = Vec::new();
        for hierarchy in &hierarchies {
            documents::check(hierarchy, &keys, &mut report)?;
            consolidated::check(hierarchy, &mut report)?;
            let nodes = Nodes::of(hierarchy)?;
            conventions::check(&nodes.arrays, &mut report);
            ome::check(&nodes, &mut report);
            anndata::check(&nodes, &mut report);
            cf::check(&nodes, &mut report);
            geozarr::check(&nodes, &mut report);
            nczarr::check(&nodes, &mut report);
            waiting.extend(nodes.arrays);
        }
        documents::compare_formats(&waiting, &mut report);
        for copy in incomplete_copies(&*store)? {
            report.add(Finding::new(FindingKind::IncompleteCopy, copy.to_string()));
        }
        if checks.level >= Level::Present && is_listable {
            add_leftovers(&*store, &hierarchies, &mut report)?;
        }
        if let (Some(manifest), [hierarchy, ..]) = (&checks.manifest, &hierarchies[..]) {
            manifest::check(hierarchy, manifest, &mut report)?;
        }
        waiting.reverse();
        Ok(Self { checks, waiting, report })
    }

    /// Returns the next array to check.
    pub fn next_array(&mut self) -> Option<Array> {
        self.waiting.pop()
    }

    /// Returns the number of arrays that were not yet returned.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.waiting.len()
    }

    /// Checks the chunks of an array, on all threads of the context.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Cancelled`]. Damage is not an error.
    pub fn check(&self, array: &Array, settings: &Settings) -> Result<ArrayReport, Error> {
        chunks::check(array, &self.checks, settings)
    }

    /// Adds the report of an array.
    pub fn add(&mut self, array: ArrayReport) {
        self.report.arrays.push(array);
    }

    /// Returns the report.
    #[must_use]
    pub fn finish(self) -> Report {
        self.report
    }
}

/// Checks a store: all steps of a [`Verification`].
///
/// # Errors
///
/// Same as [`Verification::begin`] and [`Verification::check`].
pub fn verify(
    store: Arc<dyn Store>,
    context: &Context,
    checks: Checks,
    settings: &Settings,
) -> Result<Report, Error> {
    let mut verification = Verification::begin(store, context, checks)?;
    while let Some(array) = verification.next_array() {
        let report = verification.check(&array, settings)?;
        verification.add(report);
    }
    Ok(verification.finish())
}

/// Opens a hierarchy with its consolidated metadata, which lists the nodes in a store that cannot list keys. Metadata that
/// cannot be used is a finding of another check.
fn with_copies(documents: Hierarchy) -> Result<Hierarchy, Error> {
    let options = OpenOptions::new().format(documents.format());
    match Hierarchy::open_with(Arc::clone(documents.store()), documents.context(), options) {
        Err(error @ Error::Store(_)) => Err(error),
        Err(_) => Ok(documents),
        opened => opened,
    }
}

/// Returns the finding about checks that need a list of the keys.
fn not_listed(hierarchies: &[Hierarchy]) -> Finding {
    let nodes = match hierarchies.iter().any(Hierarchy::is_consolidated) {
        true => ", nor nodes that the consolidated metadata does not list",
        false => "",
    };
    let text = format!("the store is not listable: keys that belong to no node are not looked for{nodes}");
    Finding::new(FindingKind::NotChecked, text)
}

fn add_leftovers(store: &dyn Store, hierarchies: &[Hierarchy], report: &mut Report) -> Result<(), Error> {
    for leftover in leftovers::find(store, hierarchies)? {
        let reason = leftover.reason.text();
        for key in &leftover.keys {
            report.add(Finding::new(FindingKind::Leftover, reason).with_key(key));
        }
    }
    Ok(())
}

impl Finding {
    fn with_key(mut self, key: &Key) -> Self {
        self.key = Some(key.to_string());
        self
    }
}
