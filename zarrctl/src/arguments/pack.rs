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
    #[command(flatten)]
    pub(crate) reading: Reading,
}
