//! Digests, comparisons, checks and repairs of hierarchies.
//!
//! - [`digest()`] computes a [`Manifest`]: the content of a hierarchy, and one hash of it. It does not depend on chunks,
//!   codecs, formats or stores. `docs/digest.md` defines it.
//! - [`diff()`] compares two hierarchies and returns a summary for each node that differs.
//! - [`verify()`] finds damaged documents and chunks, leftovers, and differences from a manifest.
//! - [`plan_repair()`] plans the repair of what was found; the plan can be inspected and run.
//!
//! All functions take and return plain values and print nothing. [`Settings`] hold the memory limit, and the
//! [`Progress`](zarr_engine::Progress) that counts chunks and cancels.

mod boxes;
mod canonical_json;
mod diff;
mod digest;
mod elements;
pub mod leftovers;
mod logical;
mod manifest;
mod numbers;
mod repair;
mod settings;
#[cfg(test)]
mod shelf;
mod sums;
mod verify;

pub use canonical_json::canonical_json;
pub use diff::{Compared, Diff, Difference, NodeDifference, Side, Tolerance, ValueDifferences, diff};
pub use digest::digest;
pub use manifest::{Manifest, ManifestNode};
pub use repair::{QUARANTINE, Repair, RepairChoices, RepairPlan, plan_repair};
pub use settings::Settings;
pub use verify::{
    ArrayReport, Census, Checks, Finding, FindingKind, Level, Picture, Report, Verification, verify,
};
