//! Definitions of the command line.

mod archive;
mod change;
#[cfg(feature = "conformance")]
mod conformance;
mod copy;
mod create;
mod elements;
mod examples;
mod listing;
mod pack;
mod place;
mod plugins;
#[cfg(feature = "serve")]
mod serve;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::values;

pub(crate) use archive::{Diff, Digest, Repair, Verify, VerifyLevel};
pub(crate) use change::{Attributes, Clean, Consolidate, Erase, Resize};
#[cfg(feature = "conformance")]
pub(crate) use conformance::{
    ConformanceFormat, ConformancePlugin, ConformanceStore, ConformanceVerb, ReportArguments,
};
pub(crate) use copy::Copy;
pub(crate) use create::Create;
pub(crate) use elements::{Bench, Form, Get, InputForm, Put};
pub(crate) use listing::{Cat, Du, Info, Ls, Show, Tree};
pub(crate) use pack::{Pack, References};
#[cfg(not(all(feature = "conformance", feature = "dynamic", feature = "serve", target_os = "linux")))]
pub(crate) use place::Missing;
pub(crate) use place::{ArrayAt, NodeAt, OneNode, Reading};
pub(crate) use plugins::{LoadedVerb, Plugins, PluginsVerb, Source};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;

/// The heading of options that every verb has.
const COMMON: &str = "All verbs";

/// Read, write and convert Zarr hierarchies: v2, the v3 draft of 2022 and v3.
///
/// STORE is a folder, a zip archive, a URL (`file:`, and in builds with network stores `s3:`, `gs:`, `az:`, `http:` and
/// `https:`), a URL pipeline such as `LOCATION|zip:` or a JSON description of a store. PATH is the path of a node in
/// the hierarchy: `/` or an empty string is the root, and the leading `/` is optional.
///
/// Exit status: 0 for success, 1 for an error in the data or the request, 2 for wrong usage, 3 for differences or
/// damage that `diff`, `verify` and `repair` found, or what `copy --skip-unreadable` left out. Messages go to standard
/// error; standard output holds only data.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100, after_long_help = examples::ALL)]
pub(crate) struct Arguments {
    /// Limit the memory for encoded and decoded data, such as 512MiB or 2GB; the program takes up to 64 MiB more.
    /// Default: the variable ZARR_KIT_MEMORY, or a quarter of the memory that the process may use
    #[arg(long, global = true, value_name = "SIZE", value_parser = values::bytes, help_heading = COMMON)]
    pub(crate) memory: Option<u64>,
    /// Wait for the disk after every write to a local folder or file, so that completed writes survive a
    /// power failure. Default: the variable ZARR_KIT_DURABLE (1, true, 0 or false). `"durable": "none"` in a
    /// JSON description of a store takes precedence
    #[arg(long, global = true, help_heading = COMMON)]
    pub(crate) durable: bool,
    /// Refuse to change stored values in stores without conditional writes, in which other programs that write
    /// at the same time may lose changes. By default, a warning is printed
    #[arg(long, global = true, help_heading = COMMON)]
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
    /// Show what a node contains: dimensions, coordinates, chunks, sizes, conventions and children.
    ///
    /// The ranges of coordinates are decoded by the CF conventions. For an unreadable node, all metadata and the
    /// reasons are shown.
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
    /// Without --select, an array of more than 1 TiB is refused, because a sparse array may be much larger than its
    /// files. `--select ...` reads all of it.
    #[command(after_long_help = examples::GET)]
    Get(Get),
    /// Measure how fast an array can be read, and suggest better chunks and codecs.
    ///
    /// Reads planes along each dimension, slabs of whole chunks, single chunks, and boxes at random
    /// positions, all from stored chunks. Writes nothing, and reads only parts of large arrays.
    #[command(after_long_help = examples::BENCH)]
    Bench(Bench),
    /// Create an array or a group, and its parent groups. No chunks are written.
    #[command(after_long_help = examples::CREATE)]
    Create(Box<Create>),
    /// Write elements to an array, from a NumPy file, a table, raw bytes or one value.
    #[command(after_long_help = examples::PUT)]
    Put(Put),
    /// Copy hierarchies or parts of them, and convert their format, chunks or codecs.
    ///
    /// Memory use is bounded. Metadata is written last, so an interrupted copy is never mistaken for a
    /// complete one, and --resume continues it. Encoded chunks are copied unchanged if neither the format nor the
    /// chunking changes. Nodes of several sources are copied into one hierarchy.
    ///
    /// With --partition i/n, n jobs copy one part each. The first job creates the metadata. Until the copy is
    /// complete, its markers are in the folder `__zarrctl/` of DST: `zarrctl` warns that the copy is incomplete, but
    /// other programs do not.
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
    /// A verb that changes a STORE can also change an archive, in a local file or in another store.
    #[command(after_long_help = examples::PACK)]
    Pack(Pack),
    /// Write references to the stored values of a hierarchy, as kerchunk does.
    ///
    /// The reference file is JSON of version 1. Metadata documents are in it; other values are named by their file or
    /// URL. Values in a zip archive are byte ranges of the archive. Programs that use fsspec read the result, and so
    /// does `reference:FILE`.
    ///
    /// With --parquet, the references are in several Parquet files, which programs read when they need them. The
    /// folder is complete when it has `.zmetadata`, which is written last.
    #[command(after_long_help = examples::REFERENCES)]
    References(References),
    /// Serve the values of a store over HTTP, read-only, until the program is interrupted.
    ///
    /// Prints the URL. Each value is at its key: `zarrctl tree URL`, zarr-python, web pages and curl read it. Clients
    /// can ask for a byte range, and for a value only if it changed. Nothing is listed, so readers need paths or
    /// consolidated metadata. Every program that can reach the address can read: by default, programs on this machine,
    /// and pages in its browsers.
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
    /// Other files remain, and so do the markers of a copy in several parts while its arrays exist.
    ///
    /// Below a group, every file with a name such as `c/0/1` or `0.1` counts as a chunk unless it is in the
    /// folder of an array; names such as `7` and `0/1` do not count. In a folder without metadata, chunks are
    /// removed only if every file in it has a name such as `c/0/1` or `0.1`.
    #[command(after_long_help = examples::CLEAN)]
    Clean(Clean),
    /// Hash the content of a node and all nodes below it: metadata and elements, independent of how they are stored.
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
    /// wrong-sized chunks; nodes without a parent group; values that belong to no node; coordinates, OME-Zarr and
    /// AnnData metadata that contradict the arrays; and differences from a manifest of `digest`. Prints the
    /// findings and counts the chunks of each array. In pictures, `.` is missing, `#` stored, `+` partly stored,
    /// `o` all fill value and `X` damaged.
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
    /// Print a completion script for a shell. It also completes the paths of nodes in a store.
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions {
        /// The shell to complete for.
        shell: Shell,
    },
    /// Write a man page for each command to a folder.
    #[command(after_long_help = examples::MAN)]
    Man {
        /// Folder to write to, such as ~/.local/share/man/man1
        folder: PathBuf,
    },
    /// Print the nodes that complete a command line. The completion scripts call it.
    #[command(hide = true)]
    CompleteNode {
        /// The words after the name of the program, of which the last is completed
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
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
