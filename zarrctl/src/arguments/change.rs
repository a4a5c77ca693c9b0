//! Arguments of verbs that change a store.

use std::time::Duration;

use clap::Args;

use super::Reading;
use crate::values::{self, Member};

#[derive(Debug, Args)]
pub(crate) struct Attributes {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the node
    pub(crate) path: String,
    /// Set an attribute; repeatable. In a shell, strings need two kinds of quotes: 'title="text"'
    #[arg(long, value_name = "K=JSON", value_parser = values::member)]
    pub(crate) set: Vec<Member>,
    /// Remove an attribute; repeatable
    #[arg(long, value_name = "K")]
    pub(crate) unset: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Consolidate {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the group
    #[arg(default_value = "/")]
    pub(crate) path: String,
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
