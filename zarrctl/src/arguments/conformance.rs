//! The verbs of `conformance`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use zarr_conformance::formats::FormatName;
use zarr_conformance::suite::Level;

use super::examples;
use crate::values;

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceVerb {
    /// Check plugins against the rules of their kind. The exit status is 1 if a rule is violated.
    #[command(after_long_help = examples::CONFORMANCE_PLUGIN)]
    Plugin(ConformancePlugin),
    /// Check a store against the rules for stores. The exit status is 1 if a rule is violated.
    ///
    /// The store must be empty unless `--inside` is given. Everything that the check writes is removed
    /// afterwards.
    #[command(after_long_help = examples::CONFORMANCE_STORE)]
    Store(ConformanceStore),
    /// Check any program that reads Zarr with valid and invalid stored hierarchies. The exit status is 1 if a
    /// result is wrong.
    ///
    /// The program is started once for each hierarchy, with limits. It must write all elements of an array to
    /// a file in C order, little endian, as `get --format raw` writes them, and exit with status 0; or print
    /// the reason for a failure and exit with another status.
    #[command(after_long_help = examples::CONFORMANCE_FORMAT)]
    Format(ConformanceFormat),
}

#[derive(Debug, Args)]
pub(crate) struct ConformancePlugin {
    /// Names of plugins in any format, crates or features. Default: all plugins. Or one file: a library,
    /// trusted or not, or its manifest
    pub(crate) ids: Vec<String>,
    /// Folder of chunks from other programs that codecs must decode: `.tsv` tables, as docs/plugins.md
    /// describes. Default for a library: the folder `fixtures` next to it
    #[arg(long, value_name = "FOLDER")]
    pub(crate) fixtures: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ConformanceStore {
    /// Folder, URL or JSON description of an empty store. Values are written and removed
    pub(crate) store: String,
    /// Work below a new prefix, which is removed afterwards, so that the store need not be empty
    #[arg(long)]
    pub(crate) inside: bool,
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

/// The rules to check, and the reports to write.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Check rules up to this level: L0 to L4
    #[arg(long, default_value = "L4")]
    pub(crate) level: Level,
    /// File of rules that are known to be violated: on each line the name of a plugin or store and the id of
    /// a rule
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the JSON of a shields.io badge, for a single plugin
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConformanceFormat {
    /// Command line of the program, run by `sh`: `{store}` is the folder of a hierarchy, `{array}` the path
    /// of an array, `{out}` the file to write. Example: "zarrctl get {store} {array} --output {out} --format
    /// raw"
    #[arg(long, value_name = "COMMAND", required_unless_present = "list")]
    pub(crate) reader: Option<String>,
    /// Name of the program in reports
    #[arg(long, default_value = "reader")]
    pub(crate) name: String,
    /// Read only examples of this format: v2, draft or v3; repeatable
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Vec<FormatName>,
    /// Read only this example, or all whose names begin like this; repeatable
    #[arg(long, value_name = "EXAMPLE")]
    pub(crate) only: Vec<String>,
    /// List the examples; read none
    #[arg(long)]
    pub(crate) list: bool,
    /// Read this number of generated hierarchies of each format instead of the stored ones: valid
    /// combinations of data types, fill values, codecs, shapes, chunks and shards, with missing chunks. A
    /// reader may refuse optional features
    #[arg(long, value_name = "NUMBER")]
    pub(crate) generated: Option<u64>,
    /// Seed of the generated hierarchies: the same number generates the same hierarchies
    #[arg(long, value_name = "NUMBER", default_value = "1", requires = "generated")]
    pub(crate) seed: u64,
    /// File of examples with known wrong results: on each line the name of an example and its outcome
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,
    /// Write the hierarchies to this folder and keep them; default: a temporary folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Time limit for each example, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = values::seconds)]
    pub(crate) time_limit: Duration,
    /// Limit of the address space of the program, in MiB
    #[arg(long, value_name = "MIB", default_value = "4096")]
    pub(crate) memory_limit: u64,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the JSON of a shields.io badge
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
}
