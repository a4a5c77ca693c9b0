//! What can be said on the command line.

mod conformance;
mod plugins;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use zarr_kit::spec::Value;
use zarr_kit::{Format, Mode};

use crate::values::{self, Codec, Counts, Member, Shape};

pub(crate) use conformance::{ConformanceFormat, ConformancePlugin, ConformanceStore, ConformanceVerb, Told};
#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(crate) use plugins::LoadedVerb;
pub(crate) use plugins::{Plugins, PluginsVerb, Source};

/// Reads, writes and converts Zarr hierarchies: v2, the v3 draft of 2022 and v3.
///
/// STORE is a folder, a zip archive, a `file:` URL, or a JSON description of a store. PATH is the path of a node in it;
/// `/` or an empty text is the root, and the `/` at the beginning may be left out.
///
/// Exit status: 0; 1 when the data or the request is at fault; 2 for wrong usage. Messages go to standard error, and
/// nothing but data goes to standard output.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Memory for the chunks that are read or written at the same time, such as 512MiB or 2GB. The default is that of the
    /// variable ZARR_KIT_MEMORY, or a quarter of the memory that the process may use
    #[arg(long, global = true, value_name = "SIZE", value_parser = values::bytes)]
    pub(crate) memory: Option<u64>,
    /// Wait for the disk on every write to a local folder or file, so that a power cut undoes nothing that is done. The
    /// default is that of the variable ZARR_KIT_DURABLE: 1 or true, 0 or false. A JSON description of a store with
    /// "durable": false keeps it
    #[arg(long, global = true)]
    pub(crate) durable: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Shows what this program does: writes a small hierarchy in each format, reads it back and compares.
    ///
    /// Ends with status 1 when anything that was read differs from what was written.
    Demo {
        /// Where to write; a new temporary folder if left out. It is kept.
        folder: Option<PathBuf>,
    },
    /// Lists the nodes of a hierarchy.
    Tree(Tree),
    /// Says everything about a node: type, grid, codecs, plugins, sizes, and why it cannot be read if so.
    Info(Info),
    /// Reads elements of an array.
    ///
    /// More than 1 TiB must be asked for with --select (`...` is everything); 2⁶³ bytes or more are refused.
    Get(Get),
    /// Measures how fast an array reads in several ways, what limits that, and which chunks would be better.
    ///
    /// Planes along each dimension, slabs of whole chunks, chunks one by one, and boxes anywhere are read where chunks
    /// are stored. Nothing is written, and large arrays are read in part.
    Bench(Bench),
    /// Creates an array, and the groups above it. No chunk is written.
    Create(Box<Create>),
    /// Writes elements to an array, from a NumPy file or raw bytes.
    Put(Put),
    /// Copies a hierarchy or a part of it to another store, format or chunking.
    ///
    /// Chunks are copied one group after another in bounded memory; metadata is written last, so that nothing half
    /// done is mistaken for whole. Encoded chunks are copied as they are where neither format nor chunking change.
    ///
    /// Other files in the folders of groups, such as `OME/METADATA.ome.xml`, are copied too, except from and to the v3
    /// draft; folders that are not nodes are named and left out.
    ///
    /// Between v2 and v3, xarray finds the same missing elements in the copy: fill values and the attribute `_FillValue`
    /// of arrays with names of dimensions are translated.
    ///
    /// What the copy cannot say is told before anything is written. Elements and attributes are the same: where they
    /// would not be, nothing is copied, unless --lossy is given. Codecs that may change elements are tried on a chunk of
    /// each array before anything is written, and all their chunks are compared while they are copied.
    Copy(Copy),
    /// Writes all of a hierarchy, or of a part of it, to one zip archive.
    ///
    /// Values are stored as they are, and documents come first, as OME-Zarr recommends it (RFC-9; such archives are called
    /// `.ozx`). The archive gets its name when it is whole. Archives are read wherever a STORE is, and are never changed:
    /// copy one to a folder, change that, and pack it again.
    Pack(Pack),
    /// Removes a node and all nodes below it, without asking.
    ///
    /// Documents and chunks are removed. Other files in these folders are left, unless --all is given. Prints to
    /// standard error how many files were removed, and which were left.
    Erase(Erase),
    /// Changes the shape of an array, at its end or also at its beginning. Chunks that end up outside are removed.
    Resize(Resize),
    /// Prints the attributes of a node as JSON, or changes them.
    Attrs(Attributes),
    /// Copies the metadata of all nodes below a group to one place, which readers find with one request.
    Consolidate(Consolidate),
    /// Removes what interrupted writes left behind in a folder, and lists it.
    ///
    /// These are files whose names begin with `.zarr-tmp-`, which take space and are never read; `NAME.NUMBER.part` files
    /// of `get -o` directly in the folder; chunks that no array has, such as those of an interrupted copy or erasure;
    /// chunks outside of the shape of their array; and attributes of v2 without an array or a group. Other files are left
    /// alone.
    ///
    /// Below a group, every file with a name such as `c/0/1` or `0.1` counts as a chunk unless it is in the folder of an
    /// array; names such as `7` and `0/1` do not count. In a folder without metadata, chunks are found only if all its files are named like `c/0/1` or `0.1`.
    Clean(Clean),
    /// Lists everything this build knows, by extension point, and says and does what there is to plugins.
    Plugins(Plugins),
    /// Holds plugins of this build, or any program that reads Zarr, to the conformance suite.
    #[command(subcommand)]
    Conformance(ConformanceVerb),
    /// Prints a completion script for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
}

/// How hierarchies are opened.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Whatever a specification forbids is an error
    #[arg(long, conflicts_with = "compat")]
    strict: bool,
    /// Also opens hierarchies of neighbouring generations of the draft
    #[arg(long)]
    compat: bool,
    /// Reads the document of each node, not its copy in consolidated metadata
    #[arg(long)]
    pub(crate) no_consolidated: bool,
    /// The format to open, where a folder holds more than one
    #[arg(long = "as", value_name = "FORMAT", value_parser = values::format())]
    pub(crate) as_format: Option<Format>,
    /// Reads an unknown data type as its fallback, where its document names one
    #[arg(long)]
    pub(crate) use_fallback: bool,
    /// Reads chunks that are not stored as zeros, where the fill value is undefined
    #[arg(long)]
    pub(crate) undefined_as_zero: bool,
}

impl Reading {
    pub(crate) fn mode(&self) -> Mode {
        match (self.strict, self.compat) {
            (true, _) => Mode::Strict,
            (_, true) => Mode::Compatibility,
            _ => Mode::Lenient,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// The node to begin at
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// Prints a JSON array with an object for each node
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the node
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// Prints a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How elements are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// C order, little endian, nothing else; items of variable length behind their size in bytes as u32
    Raw,
    /// NumPy's own file format
    Npy,
    /// Nested arrays, the same for every format of the store: floats with the fewest digits that restore them, times in
    /// ISO 8601 ("NaT" for none), spans of time as counts, structures as objects, bytes in Base64. NumPy's `S` is a
    /// string where it is UTF-8, else {"base64": …}
    Json,
    /// One line for each row (RFC 4180); at most two dimensions. Structures in one dimension have a column for each
    /// field, and a header. Text is not changed: a spreadsheet may take cells that begin with `=`, `+`, `-` or `@` for
    /// formulas
    Csv,
}

/// How elements are read from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputForm {
    /// C order, little endian, nothing else; items of variable length after their size in bytes as u32
    Raw,
    /// The NumPy file format
    Npy,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// What to read, as in NumPy: "0:10,:,::2,5". Negative numbers count from the end, an integer drops its
    /// dimension, `[3,1,2]` is a list
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Where to write; `-`, and no FILE at all, is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// How to write. Default: by the ending of FILE (.npy, .json, .csv, .raw or .bin), else raw (on a terminal: the corners of
    /// a large array)
    #[arg(long, value_enum)]
    pub(crate) format: Option<Form>,
    /// Prints all elements on a terminal, as JSON unless --format is given
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// About how long each way of reading is measured; everything is read a few times in any case
    #[arg(long, default_value = "2", value_parser = values::seconds, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Prints a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// A NumPy file (.npy), or with --format raw the bytes that `get --format raw` writes; `-` is standard input
    pub(crate) file: PathBuf,
    /// How to read FILE. Default: npy; raw for standard input that does not begin like a NumPy file
    #[arg(long, value_enum)]
    pub(crate) format: Option<InputForm>,
    /// What to write, as in NumPy: "0:10,:,::2,5". All if left out
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Writes elements of the fallback where the data type is unknown; metadata keeps naming the unknown type
    #[arg(long)]
    pub(crate) write_fallback: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Folder, URL or JSON description; a new hierarchy is begun where there is none
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// Elements per dimension: "100,200"; "" for an array without dimensions
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) shape: Shape,
    /// Elements of a chunk per dimension; about 1 MiB if left out
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) chunks: Option<Shape>,
    /// The data type: a name such as uint16, what the format calls it (<f4), what `info` prints
    /// (`numpy.datetime64[s]`), or its JSON. `zarrctl plugins` lists all
    #[arg(long, value_parser = values::text_or_json)]
    pub(crate) dtype: Value,
    /// The format of a new hierarchy; that of the store if there is one, else v3
    #[arg(long, value_parser = values::format())]
    pub(crate) format: Option<Format>,
    /// Elements of a shard per dimension (v3); chunks are then the inner chunks
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) shards: Option<Shape>,
    /// A codec, in the order of encoding: NAME or NAME:{"member":value}; may be repeated. `none` alone is none;
    /// what turns elements into bytes need not be said. Default: zstd or gzip. `zarrctl plugins` lists all
    #[arg(long = "codec", value_name = "NAME[:JSON]", value_parser = values::codec)]
    pub(crate) codecs: Vec<Codec>,
    /// The fill value, as its format has it: 0, NaN, "text", `[1,2]`
    #[arg(long, value_name = "JSON", value_parser = values::text_or_json, allow_hyphen_values = true)]
    pub(crate) fill: Option<Value>,
    /// An attribute; may be repeated
    #[arg(long = "attr", value_name = "K=JSON", value_parser = values::member)]
    pub(crate) attributes: Vec<Member>,
    /// Names of the dimensions: "y,x"; an empty one is none
    #[arg(long, value_name = "NAMES")]
    pub(crate) dimension_names: Option<String>,
    /// What stands between the indices in keys of chunks
    #[arg(long, value_name = "CHARACTER", value_parser = ["/", "."])]
    pub(crate) separator: Option<String>,
    /// The chunk grid, instead of --chunks
    #[arg(long, value_name = "JSON", value_parser = values::json, conflicts_with_all = ["chunks", "shards"])]
    pub(crate) grid: Option<Value>,
    /// The chunk key encoding
    #[arg(long, value_name = "JSON", value_parser = values::json)]
    pub(crate) key_encoding: Option<Value>,
    /// The chunk memory layout (v2: "C" or "F"; draft: its document)
    #[arg(long, value_name = "JSON", value_parser = values::text_or_json)]
    pub(crate) layout: Option<Value>,
    /// The metadata encoding of a new hierarchy of the draft
    #[arg(long, value_name = "NAME")]
    pub(crate) metadata_encoding: Option<String>,
    /// A generic extension of a new hierarchy of the draft as a whole; may be repeated
    #[arg(long = "hierarchy-extension", value_name = "JSON", value_parser = values::json)]
    pub(crate) hierarchy_extensions: Vec<Value>,
    /// A storage transformer; may be repeated
    #[arg(long = "transformer", value_name = "JSON", value_parser = values::json)]
    pub(crate) transformers: Vec<Value>,
    /// A generic extension of the draft; may be repeated
    #[arg(long = "extension", value_name = "JSON", value_parser = values::json)]
    pub(crate) extensions: Vec<Value>,
    /// What a reader may take for an unknown data type (draft), the first choice first; may be repeated
    #[arg(long = "fallback", value_name = "TYPE", value_parser = values::text_or_json)]
    pub(crate) fallbacks: Vec<Value>,
}

#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// The store to copy from
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// The store to copy to
    #[arg(value_name = "DST")]
    pub(crate) destination: String,
    /// The format of the copy; that of DST if there is a hierarchy, else that of SRC
    #[arg(long, value_parser = values::format())]
    pub(crate) format: Option<Format>,
    /// Elements of a chunk per dimension, for every array
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) chunks: Option<Shape>,
    /// Elements of a shard per dimension, for every array (v3)
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) shards: Option<Shape>,
    /// The codecs of every array instead of those that it has, as `create` takes them; may be repeated
    #[arg(long = "codec", value_name = "NAME[:JSON]", value_parser = values::codec)]
    pub(crate) codecs: Vec<Codec>,
    /// Says what the copy would not say any more, and writes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also copies what the copy cannot hold as it is: an unknown data type as its fallback (with --use-fallback), and a
    /// fill value that is a NaN of an unusual kind as the usual NaN. Lets codecs change elements, such as bitround
    #[arg(long)]
    pub(crate) lossy: bool,
    /// Copies this node and what is below it, to the same path
    #[arg(long, default_value = "/")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The store to pack
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// The archive to write; nothing may be there
    pub(crate) file: PathBuf,
    /// Packs this node and what is below it: it becomes the root
    #[arg(long, default_value = "/")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Erase {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the node
    pub(crate) path: String,
    /// Removes what this format has there, and nothing of others that are in the same folders
    #[arg(long, value_parser = values::format(), conflicts_with = "as_format")]
    pub(crate) format: Option<Format>,
    /// Removes every file at and below the node, whether it is part of Zarr or not
    #[arg(long, conflicts_with = "format")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Resize {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// Elements per dimension, in the end; what --at-start leaves if that is given alone
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true, required_unless_present = "at_start")]
    pub(crate) shape: Option<Shape>,
    /// Elements that come before the first, per dimension: "3,0"; negative numbers take some away. For arrays whose chunk
    /// grid has an origin; no chunk moves
    #[arg(long, value_name = "COUNTS", value_parser = values::counts, allow_hyphen_values = true)]
    pub(crate) at_start: Option<Counts>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Attributes {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the node
    pub(crate) path: String,
    /// Sets an attribute; may be repeated
    #[arg(long, value_name = "K=JSON", value_parser = values::member)]
    pub(crate) set: Vec<Member>,
    /// Removes an attribute; may be repeated
    #[arg(long, value_name = "K")]
    pub(crate) unset: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Consolidate {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Path of the group
    #[arg(default_value = "/")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Clean {
    /// Folder, URL or JSON description
    pub(crate) store: String,
    /// Leaves files alone that were written to later than so long ago, such as 90s, 10m, 2h or 7d: others may be writing
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = values::duration)]
    pub(crate) older_than: Duration,
    /// Removes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_do_not_contradict_one_another() {
        Arguments::command().debug_assert();
    }
}
