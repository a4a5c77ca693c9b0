//! The arguments of `copy`.

use clap::Args;
use zarr_kit::Format;
use zarr_kit::archive::{self, CodecFor, Lengths, Part, Pattern};

use super::Reading;
use crate::values;

#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// Stores to copy from
    #[arg(value_name = "SRC", required = true)]
    pub(crate) sources: Vec<String>,
    /// Store to copy to
    #[arg(value_name = "DST", required = true)]
    pub(crate) destination: String,
    /// The format of the copy. Default: the format of the hierarchy in DST, else that of the first SRC
    #[arg(long, value_parser = values::format())]
    pub(crate) format: Option<Format>,
    /// Elements of a chunk: "10,90,90" for arrays of three dimensions, "time=10,lat=90" for dimensions
    /// with these names, "/t2m=10,90,90" or "/ocean=time=10" for an array or a group; -1 is the whole dimension;
    /// repeatable. Everything else stays as it is
    #[arg(long, value_name = "[PATH=]LENGTHS", value_parser = Lengths::chunks, allow_hyphen_values = true)]
    pub(crate) chunks: Vec<Lengths>,
    /// Elements of a shard, in the same form as --chunks, or "none" for chunks without shards (v3); repeatable
    #[arg(long, value_name = "[PATH=]LENGTHS", value_parser = Lengths::shards, allow_hyphen_values = true)]
    pub(crate) shards: Vec<Lengths>,
    /// Replace the codecs of all arrays, or of those at and below PATH, as in `create --codec`; repeatable
    #[arg(long = "codec", value_name = "[PATH=]NAME[:JSON]", value_parser = codec)]
    pub(crate) codecs: Vec<CodecFor>,
    /// Copy an array in two passes, through uncompressed chunks in the destination, if one pass would read its
    /// chunks more often than this on average, and two passes read and write less
    #[arg(long, value_name = "TIMES", default_value = "2", value_parser = values::times, allow_negative_numbers = true)]
    pub(crate) max_reads: f64,
    /// Copy only this part of the arrays with these dimensions, as in `show --select`: "time=2001-02,lat=0:45", or
    /// "/ocean=time=2001" for a group or an array, or "/t2m=0:10,5" by position. Coordinates are cut too, and a single
    /// value keeps its dimension. A selection of whole chunks is copied without decoding, unless chunks or codecs change;
    /// repeatable
    #[arg(long, value_name = "[PATH=]SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Vec<String>,
    /// Print what is read and written, the passes, memory and temporary space of each array; write nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) plan: bool,
    /// Continue an interrupted copy with the same options. Chunks that it has written are not copied again. The
    /// sources must not have changed
    #[arg(long)]
    pub(crate) resume: bool,
    /// Erase existing arrays before they are copied, and replace the attributes of existing groups
    #[arg(long, conflicts_with = "part")]
    pub(crate) overwrite: bool,
    /// Leave out nodes and chunks that cannot be read, print them, and exit with status 3. Elements of such chunks
    /// become the fill value. Chunks that are copied unchanged are not decoded, and not checked
    #[arg(long)]
    pub(crate) skip_unreadable: bool,
    /// Compare the copy with the source before completing it. With --partition, the last part compares the whole copy
    #[arg(long, conflicts_with_all = ["skip_unreadable", "lossy"])]
    pub(crate) verify: bool,
    /// Copy part i of n, in an array of jobs. Parts may run at the same time, and an interrupted part can be run again.
    /// The first part creates the metadata, and the others refuse to run if it has changed since. The last part to
    /// finish completes the copy. All parts need the same --memory if arrays are recoded
    #[arg(long = "partition", value_name = "i/n", id = "part")]
    pub(crate) part: Option<Part>,
    /// The pass to run, 1 or 2, if --plan prints two passes for an array: first all parts with --pass 1, then all
    /// with --pass 2
    #[arg(long, value_name = "NUMBER", requires = "part", value_parser = clap::value_parser!(u64).range(1..=2))]
    pub(crate) pass: Option<u64>,
    /// Threads that decode and encode chunks. Default: the number of processors
    #[arg(long, value_name = "NUMBER", value_parser = values::jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<usize>,
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
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<Pattern>,
    /// Leave out nodes that match, and those below them; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<Pattern>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Parses a value of `--codec`.
fn codec(text: &str) -> Result<CodecFor, String> {
    let (path, rest) = archive::split_path(text);
    let codec = values::codec(rest)?;
    Ok(CodecFor::new(path, &codec.name, codec.configuration))
}
