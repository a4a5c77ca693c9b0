//! The verbs of the program, one module each.

pub(crate) mod bench;
pub(crate) mod change;
pub(crate) mod clean;
pub(crate) mod completions;
#[cfg(feature = "conformance")]
pub(crate) mod conformance;
pub(crate) mod copy;
pub(crate) mod create;
pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod get;
pub(crate) mod info;
pub(crate) mod listing;
pub(crate) mod pack;
pub(crate) mod plugins;
pub(crate) mod put;
pub(crate) mod references;
pub(crate) mod repair;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod tree;
pub(crate) mod verify;
