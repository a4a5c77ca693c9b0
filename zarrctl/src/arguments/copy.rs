//! The arguments of `copy`.

use clap::Args;
use zarr_kit::Format;

use super::Reading;
use crate::chosen::{self, Pattern};
use crate::chunking::{self, CodecFor, Lengths};
use crate::values;

#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// Store to copy from
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Store to copy to
    #[arg(value_name = "DST")]
    pub(crate) destination: String,
    /// The format of the copy. Default: the format of the hierarchy in DST, else that of SRC
    #[arg(long, value_parser = values::format())]
    pub(crate) format: Option<Format>,
    /// Elements of a chunk: "10,90,90" for arrays of three dimensions, "time=10,lat=90" for dimensions
    /// with these names, "/t2m=10,90,90" or "/ocean=time=10" for an array or a group; -1 is the whole dimension;
    /// repeatable. Everything else stays as it is
    #[arg(long, value_name = "[PATH=]LENGTHS", value_parser = chunking::chunks, allow_hyphen_values = true)]
    pub(crate) chunks: Vec<Lengths>,
    /// Elements of a shard, in the same form as --chunks, or "none" for chunks without shards (v3); repeatable
    #[arg(long, value_name = "[PATH=]LENGTHS", value_parser = chunking::shards, allow_hyphen_values = true)]
    pub(crate) shards: Vec<Lengths>,
    /// Replace the codecs of all arrays, or of those at and below PATH, as in `create --codec`; repeatable
    #[arg(long = "codec", value_name = "[PATH=]NAME[:JSON]", value_parser = chunking::codec)]
    pub(crate) codecs: Vec<CodecFor>,
    /// Copy an array in two passes, through uncompressed chunks in the destination, if one pass would read its
    /// chunks more often than this on average
    #[arg(long, value_name = "TIMES", default_value = "2", value_parser = values::times)]
    pub(crate) max_reads: f64,
    /// Print the passes, memory and temporary space of each array; write nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) plan: bool,
    /// Consolidate the metadata of the copy when it is complete
    #[arg(long)]
    pub(crate) consolidate: bool,
    /// List what the copy would lose; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Allow changes to elements: an unknown data type is copied as its fallback (with --use-fallback), a
    /// fill value that is a non-standard NaN as the standard NaN, and codecs may change elements, such as
    /// bitround
    #[arg(long)]
    pub(crate) lossy: bool,
    /// Copy only this node and the nodes below it, to the same path; repeatable
    #[arg(long = "path", value_name = "PATH", default_value = "/")]
    pub(crate) paths: Vec<String>,
    /// Copy only nodes that match, those below them, and the groups above them; repeatable. `*` stands for any
    /// characters in a name, `**` for any groups; a pattern without a slash at its beginning matches at any depth
    #[arg(long, value_name = "PATTERN", value_parser = chosen::pattern)]
    pub(crate) include: Vec<Pattern>,
    /// Leave out nodes that match, and those below them; repeatable
    #[arg(long, value_name = "PATTERN", value_parser = chosen::pattern)]
    pub(crate) exclude: Vec<Pattern>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
