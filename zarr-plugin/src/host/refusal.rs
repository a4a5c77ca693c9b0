//! Reasons why plugins are not used.

use std::path::PathBuf;

use zarr_spec::{printable, printable_path};

use crate::abi;

/// Why a plugin is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The policy does not permit any library.
    #[error("loading plugins is disabled (policy `off`)")]
    Off,
    /// The manifest cannot be read.
    #[error("its manifest is invalid: {}", printable(.0))]
    Manifest(String),
    /// The plugin uses another major version of the ABI.
    #[error(
        "it uses version {0} of the plugin ABI, expected version {expected}; {hint}",
        hint = abi_hint(*.0),
        expected = abi::ABI_MAJOR
    )]
    AbiMajor(u16),
    /// The plugin does not have a library for this machine.
    #[error("it does not have a library for {}", printable(.0))]
    Platform(String),
    /// The manifest names a file outside of its folder.
    #[error("its manifest names `{}`, which is outside of its folder", printable(.0))]
    LeadsOut(String),
    /// The library cannot be read.
    #[error("its library {} cannot be read: {}", printable_path(.path), printable(.message))]
    Unreadable {
        /// The library.
        path: PathBuf,
        /// The error of the system.
        message: String,
    },
    /// Other users can change the manifest, the library, a library that it needs, or one of their folders.
    #[error("{} is writable by users other than you and root; `chmod go-w` fixes it", printable_path(.0))]
    WritableByOthers(PathBuf),
    /// A manifest of the same name was found before.
    #[error("{} has the same name and comes first", printable_path(.0))]
    Shadowed(PathBuf),
    /// Another plugin has one of its identifiers.
    #[error("{}", printable(.0))]
    Claimed(String),
    /// The plugin is not trusted.
    #[error("it is not trusted yet; `zarrctl plugins trust {}` trusts it", printable(.0))]
    Untrusted(String),
    /// The library is not the library that was trusted.
    #[error(
        "its library is not the one that was trusted: SHA-256 is {found}, but plugins.lock has {}; \
         `zarrctl plugins trust` trusts the new one",
        printable(.pinned)
    )]
    Changed {
        /// The hash in the lock file.
        pinned: String,
        /// The hash of the file.
        found: String,
    },
    /// The file is not the library that the manifest describes.
    #[error(
        "its library is not the one in its manifest: SHA-256 is {found}, but the manifest has {}; \
         install it again",
        printable(.named)
    )]
    OtherBytes {
        /// The hash in the manifest.
        named: String,
        /// The hash of the file.
        found: String,
    },
    /// The library failed a probe.
    #[error("it is in quarantine: {}; a `zarrctl plugins probe` that passes releases it", printable(.0))]
    Quarantined(String),
    /// The library has its own search folders, or needs other libraries that cannot be used.
    #[error("{0}")]
    Needs(String),
    /// The system cannot open the library.
    #[error("its library cannot be opened: {}", printable(.0))]
    Open(String),
    /// The library does not export the symbol of a plugin.
    #[error("its library does not have the symbol `{symbol}`", symbol = abi::ENTRY_SYMBOL)]
    NoSymbol,
    /// The library failed when it was opened.
    #[error("its library failed: {}", printable(.0))]
    Failed(String),
    /// The contents of the library differ from the manifest.
    #[error("its library and its manifest do not agree: {}", printable(.0))]
    Disagree(String),
}

fn abi_hint(found: u16) -> &'static str {
    if found < abi::ABI_MAJOR {
        "build it again with the crate `zarr-plugin` or the header `zarr_plugin.h` of this program"
    } else {
        "it needs a newer version of this program"
    }
}

/// Returns the problem of a TOML document on one line, with its line and column.
pub(super) fn toml_problem(text: &str, error: &toml::de::Error) -> String {
    let Some(span) = error.span() else { return error.message().to_owned() };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&character| character != '\n').count() + 1;
    format!("line {line}, column {column}: {}", error.message())
}

/// A plugin that is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin {} is not used: {refusal}", printable_path(.manifest))]
#[non_exhaustive]
pub struct PassedOver {
    /// The path of its manifest.
    pub manifest: PathBuf,
    /// The reason.
    pub refusal: Refusal,
}
