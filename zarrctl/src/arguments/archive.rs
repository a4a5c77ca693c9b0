//! Arguments of `digest`, `diff`, `verify` and `repair`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{NodeAt, Reading};

#[derive(Debug, Args)]
pub(crate) struct Digest {
    #[command(flatten)]
    pub(crate) at: NodeAt,
    /// Also write the manifest to this file. `verify --manifest` compares a hierarchy with it
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Print the manifest, a JSON object, instead of the digest
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The first store
    pub(crate) first: String,
    /// The second store
    pub(crate) second: String,
    /// Compare this node and all nodes below it
    #[arg(long, default_value = "/")]
    pub(crate) path: String,
    /// Compare with this node of the second store instead of PATH
    #[arg(long, value_name = "PATH")]
    pub(crate) second_path: Option<String>,
    /// Accept numbers whose difference is at most this
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) absolute: Option<f64>,
    /// Accept numbers whose difference is at most this share of the second number. With both options, the
    /// limits are added
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) relative: Option<f64>,
    /// Compare only structure and metadata
    #[arg(long)]
    pub(crate) no_values: bool,
    /// Ignore attributes
    #[arg(long)]
    pub(crate) no_attributes: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Parses a tolerance.
fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err("expected a number of at least 0, such as 1e-6".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// How thoroughly; each level includes those before it
    #[arg(long, default_value = "decode")]
    pub(crate) level: VerifyLevel,
    /// Compare with a manifest that `digest --manifest` wrote; elements from the level `decode` on
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// Report missing chunks as damage. By default they are only counted, because they hold the fill value
    #[arg(long)]
    pub(crate) complete: bool,
    /// Record each checked array in this file, and skip the arrays that are already in it
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Print a picture of the chunk grid of each array
    #[arg(long, conflicts_with = "json")]
    pub(crate) picture: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Reject everything that a specification forbids
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Levels of `verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyLevel {
    /// Read documents, and compare them with one another
    Metadata,
    /// List keys: leftovers, chunks outside of arrays, missing chunks
    Present,
    /// Compare the sizes of chunks with their codecs, and read the indexes of shards
    Sizes,
    /// Decode all chunks, which verifies their checksums
    Decode,
    /// Also list arrays without checksums, whose damage may not be found
    Checksums,
}

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Run the plan. Without this option, it is only printed
    #[arg(long)]
    pub(crate) run: bool,
    /// Also move damaged chunks to the quarantine. Afterwards they read as the fill value instead of as errors
    #[arg(long)]
    pub(crate) quarantine_chunks: bool,
    /// How thoroughly to look for damage; as for `verify`
    #[arg(long, default_value = "decode")]
    pub(crate) level: VerifyLevel,
    /// Print the plan as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
