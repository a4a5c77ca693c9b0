//! The arguments of `ls`, `cat`, `du` and `show`.

use std::path::PathBuf;

use clap::Args;

use super::Reading;

#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the group
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// Also print the data types and shapes of arrays
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Cat {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the node
    #[arg(default_value = "/")]
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Du {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the first node
    #[arg(default_value = "/")]
    pub(crate) path: String,
    /// Print at most this number of levels below the first node
    #[arg(long, value_name = "LEVELS")]
    pub(crate) depth: Option<usize>,
    /// Print sizes in bytes, without a unit
    #[arg(long)]
    pub(crate) bytes: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
    /// Show this part only: "0:10,5" in NumPy notation, or "time=2001-02,lat=0:45,lon=[0:10]" by dimension name,
    /// with values of coordinates, or positions in brackets. Both ends of a range of values belong to it
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Read all selected elements for the statistics
    #[arg(long)]
    pub(crate) exact: bool,
    /// Draw the picture also if the output is not a terminal, in plain characters
    #[arg(long)]
    pub(crate) picture: bool,
    /// Write the picture to this file, with a colour map, instead of the preview; at most 2048 pixels wide
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "picture"])]
    pub(crate) png: Option<PathBuf>,
    /// Print the statistics as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
