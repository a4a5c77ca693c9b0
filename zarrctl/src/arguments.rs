//! Definitions of the command line.

mod archive;
mod change;
#[cfg(feature = "conformance")]
mod conformance;
mod copy;
mod examples;
mod listing;
mod plugins;
#[cfg(feature = "serve")]
mod serve;

#[cfg(not(all(feature = "conformance", feature = "dynamic", feature = "serve", target_os = "linux")))]
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use zarr_kit::spec::Value;
use zarr_kit::{Format, Mode};

use crate::values::{self, Codec, Counts, Member, Shape};

pub(crate) use archive::{Diff, Digest, Repair, Verify, VerifyLevel};
pub(crate) use change::{Attributes, Clean, Consolidate};
#[cfg(feature = "conformance")]
pub(crate) use conformance::{
    ConformanceFormat, ConformancePlugin, ConformanceStore, ConformanceVerb, ReportArguments,
};
pub(crate) use copy::Copy;
pub(crate) use listing::{Cat, Du, Ls, Show};
pub(crate) use plugins::{LoadedVerb, Plugins, PluginsVerb, Source};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;

///  Read, write and convert Zarr hierarchies: v2, the v3 draft of 2022 and v3.
///
/// STORE is a folder, a zip archive, a URL (`file:`, and in builds with network stores `s3:`, `gs:`, `az:`,
/// `http:` and `https:`), a URL pipeline such as `LOCATION|zip:` or a JSON description of a store. PATH is the path of a node in the hierarchy: `/`
/// or an empty string is the root, and the leading `/` is optional.
///
/// Exit status: 0 for success, 1 for an error in the data or the request, 2 for wrong usage, 3 for
/// differences or damage that `diff`, `verify` and `repair` found, or what `copy --skip-unreadable` left out. Messages go to standard error; standard
/// output holds only data.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100, after_long_help = examples::ALL)]
pub(crate) struct Arguments {
    /// Limit the memory for encoded and decoded data, such as 512MiB or 2GB; the program takes up to 64 MiB more.
    /// Default: the variable ZARR_KIT_MEMORY, or a quarter of the memory that the process may use
    #[arg(long, global = true, value_name = "SIZE", value_parser = values::bytes)]
    pub(crate) memory: Option<u64>,
    /// Wait for the disk after every write to a local folder or file, so that completed writes survive a
    /// power failure. Default: the variable ZARR_KIT_DURABLE (1, true, 0 or false). `"durable": "none"` in a
    /// JSON description of a store takes precedence
    #[arg(long, global = true)]
    pub(crate) durable: bool,
    /// Refuse to change stored values in stores without conditional writes, in which other programs that write
    /// at the same time may lose changes. By default, such a change is a warning
    #[arg(long, global = true)]
    pub(crate) require_conditional: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Write a small hierarchy in each format, read it back and compare.
    ///
    /// The exit status is 1 if any element differs from what was written.
    #[command(after_long_help = examples::DEMO)]
    Demo {
        /// Folder to write to; default: a new temporary folder. The folder is not removed.
        folder: Option<PathBuf>,
    },
    /// List the nodes of a hierarchy.
    #[command(after_long_help = examples::TREE)]
    Tree(Tree),
    /// List the children of a group.
    #[command(after_long_help = examples::LS)]
    Ls(Ls),
    /// Print the metadata documents of a node as they are stored.
    #[command(after_long_help = examples::CAT)]
    Cat(Cat),
    /// Print the stored size and the number of chunks of each node.
    ///
    /// The columns are the size of the stored chunks, their number, and the path. Groups include the nodes below them.
    #[command(after_long_help = examples::DU)]
    Du(Du),
    /// Show a node's metadata, codecs, plugins and sizes, and why it cannot be read.
    #[command(after_long_help = examples::INFO)]
    Info(Info),
    /// Show a preview of an array: its coordinates, corners, statistics and a picture.
    ///
    /// Times, scale factors, offsets and missing values of the CF conventions are decoded. Statistics are exact, or of
    /// a sample of chunks if more than 256 MiB are selected; the output says which. On a terminal, a picture of the
    /// last two dimensions follows.
    #[command(after_long_help = examples::SHOW)]
    Show(Show),
    /// Read elements of an array.
    ///
    /// Without --select, at most 1 TiB is read; `--select ...` reads everything. The limit with --select is 8
    /// EiB.
    #[command(after_long_help = examples::GET)]
    Get(Get),
    /// Measure how fast an array can be read, and suggest better chunks and codecs.
    ///
    /// Reads planes along each dimension, slabs of whole chunks, single chunks, and boxes at random
    /// positions, all from stored chunks. Writes nothing, and reads only parts of large arrays.
    #[command(after_long_help = examples::BENCH)]
    Bench(Bench),
    /// Create an array and its parent groups. No chunks are written.
    #[command(after_long_help = examples::CREATE)]
    Create(Box<Create>),
    /// Write elements to an array, from a NumPy file or raw bytes.
    #[command(after_long_help = examples::PUT)]
    Put(Put),
    /// Copy hierarchies or parts of them, and convert their format, chunks or codecs.
    ///
    /// Memory use is bounded. Metadata is written last, so an interrupted copy is never mistaken for a
    /// complete one, and --resume continues it. Encoded chunks are copied unchanged if neither the format nor the
    /// chunking changes. Nodes of several sources are copied into one hierarchy.
    ///
    /// With --partition i/n, n jobs copy one part each. Until the copy is complete, markers are in the folder
    /// `__zarrctl/` of DST.
    ///
    /// Other files in group folders, such as `OME/METADATA.ome.xml`, are copied too, except from and to the
    /// v3 draft. Folders that are not nodes are skipped with a warning.
    ///
    /// Between v2 and v3, the fill value and the attribute `_FillValue` of arrays with dimension names are
    /// translated, so that xarray finds the same missing elements in the copy.
    ///
    /// Before anything is written, a warning lists the metadata that the copy loses. Elements and attributes
    /// never change unless --lossy is given: codecs that may change elements are tried on one chunk of each
    /// array first, and every chunk is compared after it is written.
    #[command(after_long_help = examples::COPY)]
    Copy(Copy),
    /// Pack a hierarchy or a part of it into one zip archive.
    ///
    /// Values are stored without further compression, metadata documents first, as OME-Zarr recommends
    /// (RFC-9; such archives end in `.ozx`). The archive appears under its name only when it is complete.
    /// Archives can be read wherever a STORE is expected, but not changed: copy the archive to a folder,
    /// change that, and pack it again.
    #[command(after_long_help = examples::PACK)]
    Pack(Pack),
    /// Write references to the stored values of a hierarchy, as kerchunk does.
    ///
    /// The reference file is JSON of version 1. Metadata documents are in it; other values are named by their file or
    /// URL. Values in a zip archive are byte ranges of the archive. Programs that use fsspec read the result, and so
    /// does `reference:FILE`.
    #[command(after_long_help = examples::REFERENCES)]
    References(References),
    /// Serve the values of a store over HTTP, read-only, until the program is interrupted.
    ///
    /// Prints the URL. Each value is at its key: `zarrctl tree URL`, zarr-python, web pages and curl read it. Clients
    /// can ask for a byte range, and for a value only if it changed. Nothing is listed, so readers need paths or
    /// consolidated metadata. Everybody who reaches the address can read: by default, programs on this machine, and
    /// pages in its browsers.
    #[cfg(feature = "serve")]
    #[command(after_long_help = examples::SERVE)]
    Serve(Serve),
    /// Serve the values of a store over HTTP (not in this build).
    #[cfg(not(feature = "serve"))]
    #[command(after_long_help = examples::FULL)]
    Serve(Missing),
    /// Remove a node and all nodes below it, without asking for confirmation.
    ///
    /// Removes metadata documents and chunks. Other files in these folders remain unless --all is given.
    /// Prints the number of removed files and the names of remaining files to standard error.
    #[command(after_long_help = examples::ERASE)]
    Erase(Erase),
    /// Change the shape of an array, at its end or at its beginning. Chunks outside of the new shape are
    /// removed.
    #[command(after_long_help = examples::RESIZE)]
    Resize(Resize),
    /// Print the attributes of a node as JSON, or change them.
    #[command(after_long_help = examples::ATTRS)]
    Attrs(Attributes),
    /// Store the metadata of all nodes below a group in one document, so that one request reads it.
    #[command(after_long_help = examples::CONSOLIDATE)]
    Consolidate(Consolidate),
    /// Remove and list files that interrupted writes left in a folder.
    ///
    /// Removes temporary files (`.zarr-tmp-*`), which are never read; files `NAME.NUMBER.part` of `get -o`
    /// directly in the folder; chunks that do not belong to an array, such as those of an interrupted copy or
    /// erase; chunks outside of the shape of their array; and v2 attributes without an array or a group.
    /// Other files remain.
    ///
    /// Below a group, every file with a name such as `c/0/1` or `0.1` counts as a chunk unless it is in the
    /// folder of an array; names such as `7` and `0/1` do not count. In a folder without metadata, chunks are
    /// removed only if every file in it has a name such as `c/0/1` or `0.1`.
    #[command(after_long_help = examples::CLEAN)]
    Clean(Clean),
    /// Hash the content of a hierarchy: metadata and elements, independent of how they are stored.
    ///
    /// The digest covers paths, shapes, data types, elements, fill values, dimension names and attributes. It is
    /// the same for every format, chunking, codec and store. `docs/digest.md` defines it. It finds accidental
    /// changes; it does not resist changes that are made to have the same digest.
    #[command(after_long_help = examples::DIGEST)]
    Digest(Digest),
    /// Compare two hierarchies: structure, metadata, attributes and elements.
    ///
    /// Formats, chunks, codecs and stores may differ. All NaNs are equal. Without a tolerance, elements are equal
    /// if their bits are, so that -0.0 differs from 0.0. The exit status is 0 if the hierarchies are equal, and 3
    /// if they differ.
    #[command(after_long_help = examples::DIFF)]
    Diff(Diff),
    /// Check a store for damage: documents, chunks, consolidated metadata and leftovers.
    ///
    /// Finds documents that are unreadable or contradict one another; empty, truncated, undecodable and
    /// wrong-sized chunks; nodes without a parent group; values that belong to no node; and differences from a
    /// manifest of `digest`. Prints the findings and counts the chunks of each array. In pictures, `.` is
    /// missing, `#` stored, `+` partly stored, `o` all fill value and `X` damaged.
    ///
    /// Damage that no codec detects is found only with a manifest. The exit status is 3 for damage.
    #[command(after_long_help = examples::VERIFY)]
    Verify(Verify),
    /// Repair damage that `verify` finds; print the plan unless --run is given.
    ///
    /// Moves leftovers to the quarantine, `__zarrctl/quarantine/`; writes outdated consolidated metadata again;
    /// creates missing groups above nodes; and rebuilds the index of a shard if its chunks prove it. Values that
    /// are replaced are copied to the quarantine first. Data is never invented: other damage is listed.
    ///
    /// The exit status is 3 if damage remains.
    #[command(after_long_help = examples::REPAIR)]
    Repair(Repair),
    /// List, show, create, install and check plugins.
    #[command(after_long_help = examples::PLUGINS)]
    Plugins(Plugins),
    /// Run the conformance suite against plugins, a store, or any program that reads Zarr.
    #[cfg(feature = "conformance")]
    #[command(subcommand, after_long_help = examples::CONFORMANCE)]
    Conformance(ConformanceVerb),
    /// Run the conformance suite (not in this build).
    #[cfg(not(feature = "conformance"))]
    #[command(after_long_help = examples::FULL)]
    Conformance(Missing),
    /// Print a completion script for a shell.
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions {
        /// The shell to complete for.
        shell: Shell,
    },
}

/// How hierarchies are opened.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Reject everything that a specification forbids
    #[arg(long, conflicts_with = "compat")]
    strict: bool,
    /// Also open hierarchies of other generations of the v3 draft
    #[arg(long)]
    compat: bool,
    /// Read each node's own document instead of consolidated metadata
    #[arg(long)]
    pub(crate) no_consolidated: bool,
    /// Open the hierarchy of this format, if the folder has several
    #[arg(long = "as", value_name = "FORMAT", value_parser = values::format())]
    pub(crate) as_format: Option<Format>,
    /// Read an unknown data type as its fallback, if its document names one
    #[arg(long)]
    pub(crate) use_fallback: bool,
    /// Read missing chunks as zeros if the fill value is undefined
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

/// The arguments of a verb that this build does not have.
#[cfg(not(all(feature = "conformance", feature = "dynamic", feature = "serve", target_os = "linux")))]
#[derive(Debug, Args)]
pub(crate) struct Missing {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the first node
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// List at most this number of levels below the first node
    #[arg(long, value_name = "LEVELS")]
    pub(crate) depth: Option<usize>,
    /// Print the sizes of arrays: of the stored chunks, and of all elements
    #[arg(long)]
    pub(crate) sizes: bool,
    /// Print a JSON array with an object for each node
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the node
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Output formats of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Elements in C order, little endian, without a header; each item of variable length follows its size in
    /// bytes as u32
    Raw,
    /// The NumPy file format
    Npy,
    /// Nested arrays, the same for every format of the store: floats with the fewest digits that restore
    /// them, times in ISO 8601 or "NaT", time spans as counts, structures as objects, bytes in Base64.
    /// NumPy's `S` is a string if it is UTF-8, else {"base64": …}
    Json,
    /// One line for each row (RFC 4180), for at most two dimensions. One-dimensional structures have a column
    /// for each field and a header. Text is not escaped: a spreadsheet may interpret cells that begin with
    /// `=`, `+`, `-` or `@` as formulas
    Csv,
}

/// Input formats of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputForm {
    /// Elements in C order, little endian, without a header; each item of variable length follows its size in
    /// bytes as u32
    Raw,
    /// The NumPy file format
    Npy,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// Read this part only, in NumPy notation: "0:10,:,::2,5". Negative numbers count from the end, an
    /// integer drops its dimension, `[3,1,2]` is a list of indices. Or by dimension name:
    /// "time=2001-02,lat=0:45,lon=[0:10]", with values of coordinates, or positions in brackets
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Write to this file; default, and `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write in this format. Default: by the extension of FILE (.npy, .json, .csv, .raw or .bin), else raw;
    /// on a terminal, the corners of a large array are shown
    #[arg(long, value_enum)]
    pub(crate) format: Option<Form>,
    /// Print all elements on a terminal, as JSON unless --format is given
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// Measure each way of reading for about this time; every way is measured at least a few times
    #[arg(long, default_value = "2", value_parser = values::seconds, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// NumPy file (.npy), or with --format raw the bytes that `get --format raw` writes; `-` is standard
    /// input
    pub(crate) file: PathBuf,
    /// Read FILE in this format. Default: npy; for standard input, raw unless it begins like a NumPy file
    #[arg(long, value_enum)]
    pub(crate) format: Option<InputForm>,
    /// Write this part only, in NumPy notation: "0:10,:,::2,5". Default: everything
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Write elements of the fallback if the data type is unknown; the metadata keeps naming the unknown type
    #[arg(long)]
    pub(crate) write_fallback: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Folder, URL or JSON description of a store; a new hierarchy is created if there is none
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// Elements per dimension: "100,200"; "" for an array without dimensions
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) shape: Shape,
    /// Elements of a chunk per dimension. Default: chunks of about 1 MiB
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) chunks: Option<Shape>,
    /// The data type: a name such as uint16, the name in the format (<f4), the name that `info` prints
    /// (`numpy.datetime64[s]`), or its JSON. `zarrctl plugins` lists all
    #[arg(long, value_parser = values::text_or_json)]
    pub(crate) dtype: Value,
    /// The format of a new hierarchy. Default: the format in the store, else v3
    #[arg(long, value_parser = values::format())]
    pub(crate) format: Option<Format>,
    /// Elements of a shard per dimension (v3); chunks are then the inner chunks
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true)]
    pub(crate) shards: Option<Shape>,
    /// Add a codec, in the order of encoding: NAME or NAME:{"member":value}; repeatable. `none` stores chunks
    /// without codecs; the codec that converts elements to bytes may be omitted. Default: zstd or gzip.
    /// `zarrctl plugins` lists all
    #[arg(long = "codec", value_name = "NAME[:JSON]", value_parser = values::codec)]
    pub(crate) codecs: Vec<Codec>,
    /// The fill value, as in metadata documents: 0, NaN, "text", `[1,2]`
    #[arg(long, value_name = "JSON", value_parser = values::text_or_json, allow_hyphen_values = true)]
    pub(crate) fill: Option<Value>,
    /// Set an attribute; repeatable
    #[arg(long = "attr", value_name = "K=JSON", value_parser = values::member)]
    pub(crate) attributes: Vec<Member>,
    /// Names of the dimensions: "y,x"; an empty name leaves a dimension without one
    #[arg(long, value_name = "NAMES")]
    pub(crate) dimension_names: Option<String>,
    /// Separator between the indices in chunk keys
    #[arg(long, value_name = "CHARACTER", value_parser = ["/", "."])]
    pub(crate) separator: Option<String>,
    /// The chunk grid as in metadata documents, instead of --chunks
    #[arg(long, value_name = "JSON", value_parser = values::json, conflicts_with_all = ["chunks", "shards"])]
    pub(crate) grid: Option<Value>,
    /// The chunk key encoding as in metadata documents
    #[arg(long, value_name = "JSON", value_parser = values::json)]
    pub(crate) key_encoding: Option<Value>,
    /// The chunk memory layout: "C" or "F", or in the v3 draft its document
    #[arg(long, value_name = "JSON", value_parser = values::text_or_json)]
    pub(crate) layout: Option<Value>,
    /// The metadata encoding of a new hierarchy of the v3 draft
    #[arg(long, value_name = "NAME")]
    pub(crate) metadata_encoding: Option<String>,
    /// Add a generic extension to a new hierarchy of the v3 draft; repeatable
    #[arg(long = "hierarchy-extension", value_name = "JSON", value_parser = values::json)]
    pub(crate) hierarchy_extensions: Vec<Value>,
    /// Add a storage transformer; repeatable
    #[arg(long = "transformer", value_name = "JSON", value_parser = values::json)]
    pub(crate) transformers: Vec<Value>,
    /// Add a generic extension to the array (v3 draft); repeatable
    #[arg(long = "extension", value_name = "JSON", value_parser = values::json)]
    pub(crate) extensions: Vec<Value>,
    /// Add a data type that readers may use instead of an unknown one (v3 draft), best first; repeatable
    #[arg(long = "fallback", value_name = "TYPE", value_parser = values::text_or_json)]
    pub(crate) fallbacks: Vec<Value>,
}

#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// Store to pack
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Archive to write; must not exist
    pub(crate) file: PathBuf,
    /// Pack only this node, which becomes the root, and the nodes below it
    #[arg(long, default_value = "/")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct References {
    /// Folder, archive or URL of the hierarchy
    pub(crate) store: String,
    /// Write to this file, which must not exist; default, and `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Erase {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the node
    pub(crate) path: String,
    /// Remove the node of this format only; keep other formats in the same folders
    #[arg(long, value_parser = values::format(), conflicts_with = "as_format")]
    pub(crate) format: Option<Format>,
    /// Remove every file at and below the node, whether it is part of Zarr or not
    #[arg(long, conflicts_with = "format")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Resize {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// The new number of elements per dimension. Default: the shape that results from --at-start
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true, required_unless_present = "at_start")]
    pub(crate) shape: Option<Shape>,
    /// Elements to add before the first one, per dimension: "3,0"; negative numbers remove elements. Only for
    /// arrays whose chunk grid has an origin; no chunk moves
    #[arg(long, value_name = "COUNTS", value_parser = values::counts, allow_hyphen_values = true)]
    pub(crate) at_start: Option<Counts>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }
}
