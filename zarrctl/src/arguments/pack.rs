//! The arguments of `pack` and `references`.

use std::path::PathBuf;

use clap::Args;

use super::Reading;

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
    /// Write Parquet files to this folder, which must not exist, instead of JSON; v2 only
    #[arg(long, value_name = "FOLDER", conflicts_with = "output")]
    pub(crate) parquet: Option<PathBuf>,
    /// Write at most this number of references to a Parquet file
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "100000",
        requires = "parquet",
        value_parser = clap::value_parser!(u64).range(1..=crate::verbs::references::records::MAX_SIZE)
    )]
    pub(crate) record_size: u64,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
