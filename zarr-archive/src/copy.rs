//! Copies of hierarchies, in bounded memory: the plan, which can be inspected, and the run, which can be resumed.

mod array_plan;
mod below;
mod between;
mod chosen;
mod chunking;
mod documents;
mod entry_point;
mod error;
mod existing;
mod incomplete;
mod lengths;
mod losses;
mod lossless;
mod nodes;
mod options;
mod others;
mod passes;
mod plan;
mod progress;
mod reads;
mod regions;
mod run;
mod share;
mod source;
mod state;
mod target;
mod text;
mod transfer;
mod unreadable;

use zarr_spec::Format;

pub use array_plan::{ArrayPlan, Method};
pub use chosen::Pattern;
pub use error::{CopyError, DifferentCopy};
pub(crate) use incomplete::incomplete;
pub use incomplete::{IncompleteCopy, incomplete_copies};
pub use lengths::{CodecFor, Lengths, split_path};
pub use losses::Losses;
pub use options::{Caller, CopyOption};
pub use passes::{Pass, Passes, TwoPasses};
pub use plan::{CopyPlan, plan_copy};
pub use progress::CopyProgress;
pub use run::CopySummary;
pub use share::Part;
pub use source::Selector;
pub use state::Skipped;
pub use target::builder_like;

/// The request for a copy: the nodes, and how they are copied.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CopyRequest {
    /// The nodes to copy, with all nodes below them, in each source. The default is the root.
    pub paths: Vec<String>,
    /// Only nodes that match one of these patterns are copied, with the nodes below them and the groups above them. If
    /// there are no patterns, all nodes are copied.
    pub include: Vec<Pattern>,
    /// Nodes that match one of these patterns are left out, with the nodes below them.
    pub exclude: Vec<Pattern>,
    /// The part of each array that is copied; everything if it is `None`.
    pub selector: Option<Selector>,
    /// The format of the copy. The default is the format of the hierarchy in the destination. In a new hierarchy it is
    /// the format of the first source, or v3 for stores that adapt documents.
    pub format: Option<Format>,
    /// The chunks of the copy; inner chunks if there are shards.
    pub chunks: Vec<Lengths>,
    /// The shards of the copy.
    pub shards: Vec<Lengths>,
    /// The codecs of the copy.
    pub codecs: Vec<CodecFor>,
    /// An array is copied in two passes only if one pass would read each of its chunks more than this number of times
    /// on average.
    pub max_reads: f64,
    /// Whether elements may change.
    pub lossy: bool,
    /// Whether existing arrays are erased first, and attributes of existing groups replaced.
    pub overwrite: bool,
    /// Whether nodes and chunks that cannot be read are left out, and listed. Elements of such chunks become the fill
    /// value.
    pub skip_unreadable: bool,
    /// Whether an interrupted run of the same plan is continued.
    pub resume: bool,
    /// The part of the copy that is run.
    pub part: Part,
    /// The pass that is run, 1 or 2, if the copy has several parts and an array takes two passes.
    pub pass: Option<u64>,
    /// Whether the metadata of the copy is consolidated at the end.
    pub consolidate: bool,
    /// Whether the copy is read back and compared with the source before it is complete.
    pub verify: bool,
    /// The caller, in whose notation messages name options.
    pub caller: Caller,
}

impl CopyRequest {
    /// Returns the request for a copy of everything, without changes.
    #[must_use]
    pub fn new() -> Self {
        Self {
            paths: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            selector: None,
            format: None,
            chunks: Vec::new(),
            shards: Vec::new(),
            codecs: Vec::new(),
            max_reads: 2.0,
            lossy: false,
            overwrite: false,
            skip_unreadable: false,
            resume: false,
            part: Part::WHOLE,
            pass: None,
            consolidate: false,
            verify: false,
            caller: Caller::Program,
        }
    }
}

impl Default for CopyRequest {
    fn default() -> Self {
        Self::new()
    }
}
