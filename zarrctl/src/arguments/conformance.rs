//! What can be said of the conformance suite.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use zarr_conformance::formats::FormatName;
use zarr_conformance::suite::Level;

use crate::values;

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceVerb {
    /// Holds plugins to the rules of their kind. The status is 1 when a rule is broken.
    Plugin(ConformancePlugin),
    /// Holds a store that is opened as always to the rules for stores. The status is 1 when a rule is broken.
    ///
    /// Where anything is there already, nothing is done, unless it is asked for with `--inside`. What the rules write is gone
    /// afterwards.
    Store(ConformanceStore),
    /// Holds any program that reads Zarr to stored hierarchies, valid ones and others. The status is 1 when one comes out
    /// wrong.
    ///
    /// The program is started once for each hierarchy, with limits. It writes all elements of an array to a file and ends
    /// with status 0, or says why it does not and ends with another: elements in C order, little endian, as `get --format
    /// raw` writes them.
    Format(ConformanceFormat),
}

#[derive(Debug, Args)]
pub(crate) struct ConformancePlugin {
    /// What a document of any format calls it, or its crate or feature; all plugins if there is none. Or one file: a library that
    /// is loaded for this, whoever trusts it, or its manifest
    pub(crate) ids: Vec<String>,
    /// A folder with chunks of other programs that codecs must decode: tables that end in `.tsv`, as docs/plugins.md
    /// describes. For a library, the folder `fixtures` next to it if left out
    #[arg(long, value_name = "FOLDER")]
    pub(crate) fixtures: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) told: Told,
}

#[derive(Debug, Args)]
pub(crate) struct ConformanceStore {
    /// Folder, URL or JSON description. Nothing may be there: values come and go
    pub(crate) store: String,
    /// Works below a prefix of its own that is new and is gone afterwards, whatever else is there
    #[arg(long)]
    pub(crate) inside: bool,
    #[command(flatten)]
    pub(crate) told: Told,
}

/// Which rules are looked at, and how it is told what came of them.
#[derive(Debug, Args)]
pub(crate) struct Told {
    /// The highest level that is looked at: L0 to L4
    #[arg(long, default_value = "L4")]
    pub(crate) level: Level,
    /// A file with rules that are known to be broken: on each line the name of a plugin or store and the id of a rule
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,
    /// Writes the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Writes the report as a page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Writes the report as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Writes what shields.io draws a badge from, for a single plugin
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConformanceFormat {
    /// The command line of the program, for `sh`: `{store}` is the folder of a hierarchy, `{array}` the path of an array,
    /// `{out}` the file to write. Example: "zarrctl get {store} {array} --output {out} --format raw"
    #[arg(long, value_name = "COMMAND", required_unless_present = "list")]
    pub(crate) reader: Option<String>,
    /// The name of the program in reports
    #[arg(long, default_value = "reader")]
    pub(crate) name: String,
    /// Reads examples of this format alone: v2, draft or v3; may be repeated
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Vec<FormatName>,
    /// Reads this example alone, or those whose names begin so; may be repeated
    #[arg(long, value_name = "EXAMPLE")]
    pub(crate) only: Vec<String>,
    /// Lists the examples, and reads none
    #[arg(long)]
    pub(crate) list: bool,
    /// Instead of the stored hierarchies, reads as many of each format that are made up: valid combinations of data types, fill
    /// values, codecs, shapes, chunks and shards, some of which are missing. What of it a reader need not know, it may refuse
    #[arg(long, value_name = "NUMBER")]
    pub(crate) generated: Option<u64>,
    /// What they are made from: the same ones for the same number
    #[arg(long, value_name = "NUMBER", default_value = "1", requires = "generated")]
    pub(crate) seed: u64,
    /// A file with examples that are known to come out wrong: on each line the name of one, and how
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,
    /// Where the hierarchies are written and kept; a temporary folder if left out
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Seconds that the program may take for one example
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = values::seconds)]
    pub(crate) time_limit: Duration,
    /// MiB of address space that the program may have
    #[arg(long, value_name = "MIB", default_value = "4096")]
    pub(crate) memory_limit: u64,
    /// Writes the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Writes the report as a page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Writes the report as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Writes what shields.io draws a badge from
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
}
