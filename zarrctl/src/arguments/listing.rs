//! The arguments of verbs that show what a store contains.

use std::path::PathBuf;

use clap::Args;

use super::{ArrayAt, NodeAt, Reading};

#[derive(Debug, Args)]
pub(crate) struct Tree {
    #[command(flatten)]
    pub(crate) at: NodeAt,
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
    #[command(flatten)]
    pub(crate) at: NodeAt,
    /// Print all members of the metadata with the plugins that serve them, and the documents as they are stored
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Ls {
    #[command(flatten)]
    pub(crate) at: NodeAt,
    /// Also print the data types and shapes of arrays
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Cat {
    #[command(flatten)]
    pub(crate) at: NodeAt,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Du {
    #[command(flatten)]
    pub(crate) at: NodeAt,
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
    #[command(flatten)]
    pub(crate) at: ArrayAt,
    /// Show this part only: "0:10,5" in NumPy notation, or "time=2001-02,lat=0:45,lon=[0:10]" by dimension name,
    /// with values of coordinates, or positions in brackets. A range of values includes both ends. If the coordinate
    /// descends, the larger value may come first
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
