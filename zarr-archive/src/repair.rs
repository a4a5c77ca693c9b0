//! Repairs damage that a check found. A repair never invents data: it leaves a value as it is unless the correct value
//! is certain.

mod quarantine;
mod shard_index;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_engine::{Context, Error, ErrorKind, Hierarchy, OpenOptions, Progress};
use zarr_metadata::{v2, v3};
use zarr_spec::store::{Store, StoreError};
use zarr_spec::{Format, Key, NodePath, Prefix};

use crate::verify::{Finding, FindingKind, Report, chain};

pub use quarantine::QUARANTINE;

/// Choices of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RepairChoices {
    /// Whether damaged chunks are moved to the quarantine. Afterwards they read as the fill value instead of as errors,
    /// so the default is `false`.
    pub quarantine_chunks: bool,
}

impl RepairChoices {
    /// Sets whether damaged chunks are moved to the quarantine.
    #[must_use]
    pub fn quarantine_chunks(self, quarantine_chunks: bool) -> Self {
        Self { quarantine_chunks }
    }
}

/// A step of a repair.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Repair {
    /// Moves a value to the quarantine.
    Quarantine {
        /// The key of the value.
        key: String,
        /// The description of the damage.
        reason: String,
    },
    /// Replaces the index of a shard whose inner chunks are intact. The old value is copied to the quarantine.
    RebuildIndex {
        /// The format of the hierarchy.
        format: String,
        /// The path of the array.
        path: String,
        /// The index of the shard in the chunk grid.
        chunk: Vec<u64>,
        /// The key of the shard.
        key: String,
    },
    /// Creates a group without attributes above existing nodes.
    CreateGroup {
        /// The format of the hierarchy.
        format: String,
        /// The path of the group.
        path: String,
    },
    /// Writes consolidated metadata again. The old document is copied to the quarantine.
    Consolidate {
        /// The format of the hierarchy.
        format: String,
    },
}

/// The steps of a repair, and the damage that remains.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RepairPlan {
    /// The steps in order.
    pub repairs: Vec<Repair>,
    /// The damage that these steps do not repair.
    pub remaining: Vec<Finding>,
}

/// Plans the repair of the damage in a report. Nothing is written. Shards are read, to find out whether their indexes
/// can be rebuilt.
///
/// # Errors
///
/// [`Error::Store`]; the error of a document that is needed.
pub fn plan_repair(
    store: &Arc<dyn Store>,
    context: &Context,
    report: &Report,
    choices: RepairChoices,
) -> Result<RepairPlan, Error> {
    let mut planner = Planner { store, context, choices, repairs: BTreeSet::new(), remaining: Vec::new() };
    for finding in &report.findings {
        planner.add(finding, None)?;
    }
    for array in &report.arrays {
        for finding in &array.findings {
            planner.add(finding, Some(&array.format))?;
        }
    }
    planner.consolidate_new_groups();
    Ok(RepairPlan { repairs: planner.repairs.into_iter().collect(), remaining: planner.remaining })
}

impl RepairPlan {
    /// Runs the steps. If the run is interrupted, verify and plan again.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], [`Error::Cancelled`]; the error of a group that cannot be created or consolidated.
    pub fn run(&self, store: &Arc<dyn Store>, context: &Context, progress: &Progress) -> Result<(), Error> {
        for repair in &self.repairs {
            progress.check()?;
            repair.run(store, context)?;
        }
        Ok(store.commit()?)
    }
}

/// Collects the steps.
struct Planner<'a> {
    store: &'a Arc<dyn Store>,
    context: &'a Context,
    choices: RepairChoices,
    repairs: BTreeSet<Repair>,
    remaining: Vec<Finding>,
}

impl Planner<'_> {
    fn add(&mut self, finding: &Finding, format: Option<&str>) -> Result<(), Error> {
        if !finding.kind.is_damage() {
            return Ok(());
        }
        let repair = self.repair_of(finding, format)?;
        let Some(repair) = repair else {
            self.remaining.push(finding.clone());
            return Ok(());
        };
        match self.unreadable(&repair)? {
            None => drop(self.repairs.insert(repair)),
            Some(reason) => {
                let text = format!("{}; the value cannot be moved: {reason}", finding.text);
                self.remaining.push(Finding { text, ..finding.clone() });
            }
        }
        Ok(())
    }

    /// Returns the reason why a value cannot be moved to the quarantine; `None` if it can, or stays.
    fn unreadable(&self, repair: &Repair) -> Result<Option<String>, Error> {
        let Repair::Quarantine { key, .. } = repair else { return Ok(None) };
        let key = Key::new(key.as_str()).map_err(StoreError::from)?;
        let limit = self.context.limits().memory;
        match quarantine::check(&**self.store, &key, limit).map_err(Error::from) {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == ErrorKind::Damaged => Ok(Some(chain(&error))),
            Err(error) => Err(error),
        }
    }

    fn repair_of(&self, finding: &Finding, format: Option<&str>) -> Result<Option<Repair>, Error> {
        let key = finding.key.clone();
        Ok(match finding.kind {
            FindingKind::Leftover => key.map(|key| Repair::Quarantine { key, reason: finding.text.clone() }),
            FindingKind::MissingGroup => {
                let path = finding.path.clone().unwrap_or_else(|| "/".to_owned());
                let format = self.format_of_documents(&path)?;
                format.map(|format| Repair::CreateGroup { format: format.to_string(), path })
            }
            FindingKind::Consolidated => {
                self.consolidated_format()?.map(|format| Repair::Consolidate { format: format.to_string() })
            }
            FindingKind::Chunk | FindingKind::EmptyChunk | FindingKind::ChunkSize => {
                let (Some(key), Some(format)) = (key, format) else { return Ok(None) };
                match self.rebuilt_index(finding, format, &key)? {
                    Some(repair) => Some(repair),
                    None if self.choices.quarantine_chunks => {
                        Some(Repair::Quarantine { key, reason: finding.text.clone() })
                    }
                    None => None,
                }
            }
            _ => None,
        })
    }

    /// Writes consolidated metadata again if groups are created, because it does not list the nodes below these groups.
    fn consolidate_new_groups(&mut self) {
        let created = self.repairs.iter().filter_map(|repair| match repair {
            Repair::CreateGroup { format, .. } => Some(format.clone()),
            _ => None,
        });
        for format in created.collect::<BTreeSet<_>>() {
            let options = parsed(&format).map(|format| OpenOptions::new().format(format));
            let copies = options
                .and_then(|options| Hierarchy::open_with(Arc::clone(self.store), self.context, options));
            // A hierarchy without a root document does not have consolidated metadata of v3.
            if copies.is_ok_and(|copies| copies.is_consolidated()) {
                self.repairs.insert(Repair::Consolidate { format });
            }
        }
    }

    /// Returns the format of the documents below a path.
    fn format_of_documents(&self, path: &str) -> Result<Option<Format>, Error> {
        let folder = path.trim_matches('/');
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let prefix = Prefix::new(folder).map_err(StoreError::from)?;
        for key in self.store.list_prefix(&prefix)? {
            match key?.name() {
                "zarr.json" => return Ok(Some(Format::V3)),
                ".zarray" | ".zgroup" => return Ok(Some(Format::V2)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns the format of the consolidated metadata of the root.
    fn consolidated_format(&self) -> Result<Option<Format>, Error> {
        let v2 = v2::consolidated_key(&NodePath::root()).map_err(StoreError::from)?;
        if self.store.size(&v2)?.is_some() {
            return Ok(Some(Format::V2));
        }
        let v3 = v3::node_key(&NodePath::root()).map_err(StoreError::from)?;
        Ok(self.store.size(&v3)?.map(|_| Format::V3))
    }

    /// Returns the repair of a shard, if its index can be rebuilt.
    fn rebuilt_index(&self, finding: &Finding, format: &str, key: &str) -> Result<Option<Repair>, Error> {
        let (Some(path), Some(chunk)) = (&finding.path, &finding.chunk) else { return Ok(None) };
        let array = opened(self.store, self.context, format)?.array(path)?;
        let rebuilt = match shard_index::rebuilt(&array, chunk) {
            // The store refuses the value: its index is not known.
            Err(error) if error.kind() == ErrorKind::Damaged => None,
            rebuilt => rebuilt?,
        };
        Ok(rebuilt.map(|_| Repair::RebuildIndex {
            format: format.to_owned(),
            path: path.clone(),
            chunk: chunk.clone(),
            key: key.to_owned(),
        }))
    }
}

impl Repair {
    fn run(&self, store: &Arc<dyn Store>, context: &Context) -> Result<(), Error> {
        match self {
            Self::Quarantine { key, .. } => {
                let key = Key::new(key.as_str()).map_err(StoreError::from)?;
                quarantine::copy(&**store, &key, context.limits().memory)?;
                Ok(store.erase(&key)?)
            }
            Self::RebuildIndex { format, path, chunk, key } => {
                let array = opened(store, context, format)?.array(path)?;
                let Some(value) = shard_index::rebuilt(&array, chunk)? else { return Ok(()) };
                let key = Key::new(key.as_str()).map_err(StoreError::from)?;
                quarantine::copy(&**store, &key, context.limits().memory)?;
                array.write_encoded_chunk(chunk, &value)
            }
            Self::CreateGroup { format, path } => {
                // The hierarchy is opened without its consolidated metadata, which may list the group although the
                // group has no document.
                let hierarchy = match opened(store, context, format) {
                    Err(Error::NoHierarchy(_)) => {
                        Hierarchy::create(Arc::clone(store), context, parsed(format)?)?
                    }
                    opened => opened?,
                };
                hierarchy.require_group(path).map(drop)
            }
            Self::Consolidate { format } => {
                let format = parsed(format)?;
                let root = NodePath::root();
                let key = match format {
                    Format::V2 => v2::consolidated_key(&root),
                    _ => v3::node_key(&root),
                };
                quarantine::copy(&**store, &key.map_err(StoreError::from)?, context.limits().memory)?;
                opened(store, context, &format.to_string())?.consolidate(&root)
            }
        }
    }
}

fn parsed(format: &str) -> Result<Format, Error> {
    let found = Format::ALL.into_iter().find(|known| known.to_string() == format);
    found.ok_or_else(|| Error::NotSupported(format!("unknown format `{format}` in the plan of a repair")))
}

fn opened(store: &Arc<dyn Store>, context: &Context, format: &str) -> Result<Hierarchy, Error> {
    let options = OpenOptions::new().format(parsed(format)?).consolidated(false);
    Hierarchy::open_with(Arc::clone(store), context, options)
}
