//! The store and the node that a verb is for, and how they are opened.

#[cfg(not(all(feature = "conformance", feature = "dynamic", feature = "serve", target_os = "linux")))]
use std::ffi::OsString;

use clap::Args;
use zarr_kit::archive::Caller;
use zarr_kit::{Format, Mode};

use crate::values;

/// A store, and the path of a node in it, by default of the root.
#[derive(Debug, Args)]
pub(crate) struct NodeAt {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the node
    #[arg(default_value = "/")]
    pub(crate) path: String,
}

/// A store, and the path of a node that is changed.
#[derive(Debug, Args)]
pub(crate) struct OneNode {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the node
    pub(crate) path: String,
}

/// A store, and the path of an array in it.
#[derive(Debug, Args)]
pub(crate) struct ArrayAt {
    /// Folder, archive, URL or JSON description of a store
    pub(crate) store: String,
    /// Path of the array
    pub(crate) path: String,
}

/// How hierarchies are opened.
#[derive(Debug, Clone, Copy, Default, Args)]
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
    // The caller, in whose notation messages name options. Not an argument.
    #[arg(skip)]
    pub(crate) caller: Caller,
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
