//! Arguments of verbs that change a store.

use std::time::Duration;

use clap::Args;
use zarr_kit::Format;

use super::{ArrayAt, NodeAt, OneNode, Reading};
use crate::values::{self, Counts, Member, Shape};

#[derive(Debug, Args)]
pub(crate) struct Attributes {
    #[command(flatten)]
    pub(crate) at: OneNode,
    /// Print only this attribute, a text without quotes
    #[arg(value_name = "NAME", conflicts_with_all = ["set", "set_text", "unset"])]
    pub(crate) name: Option<String>,
    /// Set an attribute to JSON; repeatable. In a shell, strings need two kinds of quotes: 'title="text"'
    #[arg(long, value_name = "K=JSON", value_parser = values::member)]
    pub(crate) set: Vec<Member>,
    /// Set an attribute to a text, without quotes around it; repeatable
    #[arg(long, value_name = "K=TEXT", value_parser = values::text_member)]
    pub(crate) set_text: Vec<Member>,
    /// Remove an attribute; repeatable
    #[arg(long, value_name = "K")]
    pub(crate) unset: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Consolidate {
    #[command(flatten)]
    pub(crate) at: NodeAt,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Clean {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Keep files modified within this period, such as 90s, 10m, 2h or 7d: another program may be writing
    /// them
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = values::duration)]
    pub(crate) older_than: Duration,
    /// List the files; remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Erase {
    #[command(flatten)]
    pub(crate) at: OneNode,
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
    #[command(flatten)]
    pub(crate) at: ArrayAt,
    /// The new number of elements per dimension. Default: the shape that results from --at-start
    #[arg(long, value_parser = values::shape, allow_hyphen_values = true, required_unless_present = "at_start")]
    pub(crate) shape: Option<Shape>,
    /// Elements to add before the first one, per dimension: "3,0"; negative numbers remove elements. Only for
    /// arrays whose chunk grid has an origin. Existing chunks are not rewritten
    #[arg(long, value_name = "COUNTS", value_parser = values::counts, allow_hyphen_values = true)]
    pub(crate) at_start: Option<Counts>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
