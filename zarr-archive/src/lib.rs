//! Copies, digests, comparisons, checks and repairs of hierarchies.
//!
//! - [`plan_copy()`] plans the copy of hierarchies, with other chunks, codecs and formats, in bounded memory; the plan
//!   can be inspected, run, resumed and divided between processes.
//! - [`digest()`] computes a [`Manifest`]: the content of a hierarchy, and one hash of the content. The hash does not
//!   depend on chunks, codecs, formats or stores. `docs/digest.md` defines it.
//! - [`diff()`] compares two hierarchies and returns a summary for each node that differs.
//! - [`verify()`] finds damaged documents and chunks, leftovers, and differences from a manifest.
//! - [`plan_repair()`] plans the repair of what was found; the plan can be inspected and run.
//!
//! All functions take and return plain values and print nothing. [`Settings`] hold the memory limit, and the
//! [`Progress`](zarr_engine::Progress) that counts chunks and cancels.

mod boxes;
mod canonical_json;
mod copy;
mod diff;
mod digest;
mod elements;
pub mod leftovers;
mod logical;
mod manifest;
mod numbers;
mod repair;
mod settings;
mod shelf;
mod sums;
mod verify;

pub use canonical_json::canonical_json;
pub use copy::{
    ArrayPlan, Caller, CodecFor, CopyError, CopyOption, CopyPlan, CopyProgress, CopyRequest, CopySummary,
    DifferentCopy, IncompleteCopy, Lengths, Losses, Method, Part, Pass, Passes, Pattern, Selector, Skipped,
    TwoPasses, builder_like, incomplete_copies, plan_copy, split_path,
};
pub use diff::{Compared, Diff, Difference, NodeDifference, Side, Tolerance, ValueDifferences, diff};
pub use digest::digest;
pub use logical::dimension_names;
pub use manifest::{Manifest, ManifestNode};
pub use numbers::{element_as_number, numbers};
pub use repair::{QUARANTINE, Repair, RepairChoices, RepairPlan, plan_repair};
pub use settings::Settings;
pub use verify::{
    ArrayReport, Census, Checks, Finding, FindingKind, Level, Picture, Report, Verification, verify,
};
