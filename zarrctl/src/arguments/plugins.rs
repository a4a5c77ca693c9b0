//! The verbs of `plugins`.

use std::path::PathBuf;
use std::str::FromStr;
#[cfg(all(feature = "conformance", feature = "dynamic", target_os = "linux"))]
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
#[cfg(all(feature = "conformance", feature = "dynamic", target_os = "linux"))]
use zarr_conformance::suite::Level;

#[cfg(not(all(feature = "conformance", feature = "dynamic", target_os = "linux")))]
use super::Missing;
use super::examples;
use crate::templates::Kind;
#[cfg(all(feature = "conformance", feature = "dynamic", target_os = "linux"))]
use crate::values;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Plugins {
    #[command(subcommand)]
    pub(crate) verb: Option<PluginsVerb>,
    /// Also print the names in each format and the crates
    #[arg(long)]
    pub(crate) long: bool,
    /// Print a JSON array
    #[arg(long, conflicts_with = "long")]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginsVerb {
    /// List plugins; the default.
    #[command(after_long_help = examples::PLUGINS_LIST)]
    List {
        /// Also print the names in each format and the crates
        #[arg(long)]
        long: bool,
        /// Print a JSON array
        #[arg(long, conflicts_with = "long")]
        json: bool,
    },
    /// Show a plugin's description, names, configuration and examples.
    ///
    /// Several plugins may share a name, such as the codec and the data type `bytes`: all of them are shown.
    #[command(after_long_help = examples::PLUGINS_SHOW)]
    Show {
        /// Name in any format, crate or feature
        id: String,
        /// Show the JSON Schemas of configurations instead of a list of members
        #[arg(long, conflicts_with = "json")]
        schema: bool,
        /// Print a JSON array, which has the schemas as well
        #[arg(long)]
        json: bool,
    },
    /// Create a crate for a new plugin, with tests, a library, a fuzz target and a small example to change.
    #[command(after_long_help = examples::PLUGINS_NEW)]
    New {
        /// Kind of the plugin
        #[arg(value_parser = PossibleValuesParser::new(Kind::names()).try_map(|name| name.parse::<Kind>()))]
        kind: Kind,
        /// Name in metadata documents, such as `example.xor`; the crate has the same name, with `-` instead
        /// of `.`
        name: String,
        /// URI of the plugin in the v3 draft; must end in a version such as `/1.0`
        #[arg(long)]
        uri: Option<String>,
        /// Source of the crates of this framework: `path:FOLDER`, `git:URL`, `git:URL#REVISION`, or
        /// `registry` once they are published. Default: the source tree that contains this program or the
        /// current folder
        #[arg(long, value_name = "SOURCE")]
        deps: Option<Source>,
        /// Folder to create. Default: the name of the crate, in the current folder
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    #[command(flatten)]
    Loaded(LoadedVerb),
}

/// The source of the framework's crates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Registry,
    Path(PathBuf),
    Git { url: String, rev: Option<String> },
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "registry" => Ok(Self::Registry),
            Some(("path", folder)) if !folder.is_empty() => Ok(Self::Path(folder.into())),
            Some(("git", source)) if !source.is_empty() && !source.starts_with('#') => {
                let (url, rev) = source.split_once('#').map_or((source, None), |(url, rev)| (url, Some(rev)));
                if rev == Some("") {
                    return Err("expected a revision after the `#`".to_owned());
                }
                Ok(Self::Git { url: url.to_owned(), rev: rev.map(ToOwned::to_owned) })
            }
            _ => Err("expected `registry`, `path:FOLDER`, `git:URL` or `git:URL#REVISION`".to_owned()),
        }
    }
}

/// The verbs for plugins that are loaded at run time, which this build does not have.
#[cfg(not(all(feature = "dynamic", target_os = "linux")))]
#[derive(Debug, Subcommand)]
pub(crate) enum LoadedVerb {
    /// Show where a plugin was searched for (not in this build).
    #[command(after_long_help = examples::FULL)]
    Why(Missing),
    /// Trust a plugin (not in this build).
    #[command(after_long_help = examples::FULL)]
    Trust(Missing),
    /// Copy a plugin to your plugin folder (not in this build).
    #[command(after_long_help = examples::FULL)]
    Install(Missing),
    /// Remove a plugin from your plugin folder (not in this build).
    #[command(aliases = ["uninstall", "untrust"], after_long_help = examples::FULL)]
    Remove(Missing),
    /// Package a library for installation (not in this build).
    #[command(after_long_help = examples::FULL)]
    Pack(Missing),
    /// Check a plugin with the conformance suite (not in this build).
    #[command(after_long_help = examples::FULL)]
    Probe(Missing),
    /// List the folders that are searched for plugins (not in this build).
    #[command(after_long_help = examples::FULL)]
    Dirs(Missing),
}

/// The verbs for plugins that are loaded at run time.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
#[derive(Debug, Subcommand)]
pub(crate) enum LoadedVerb {
    /// Show where a plugin was searched for, and why each candidate is used or not.
    #[command(after_long_help = examples::PLUGINS_WHY)]
    Why {
        /// Name in any format, or the name of a plugin library
        id: String,
    },
    /// Trust a plugin: record its SHA-256 in your plugins.lock, so that it can be loaded.
    ///
    /// Only this exact file is trusted, not other files with the same name. A plugin runs with your
    /// permissions; the hash identifies the code but does not make it safe.
    #[command(after_long_help = examples::PLUGINS_TRUST)]
    Trust {
        /// Name of the plugin in its manifest and in `zarrctl plugins`, or NAME@VERSION. Default version: the
        /// newest
        name: String,
    },
    /// Copy a plugin to your plugin folder. Its code does not run, and it is not trusted yet.
    ///
    /// Versions are installed side by side: the trusted version remains in use until a newer one is trusted.
    /// The same version with different contents is refused.
    #[command(after_long_help = examples::PLUGINS_INSTALL)]
    Install {
        /// Folder or zip archive with a manifest and its library, or the manifest
        from: PathBuf,
    },
    /// Remove a plugin from your plugin folder, and its SHA-256 from your plugins.lock.
    #[command(aliases = ["uninstall", "untrust"])]
    #[command(after_long_help = examples::PLUGINS_REMOVE)]
    Remove {
        /// Name of the plugin in its manifest and in `zarrctl plugins`, for all its versions, or NAME@VERSION
        name: String,
    },
    /// Package a library for installation: write its manifest and a copy of it to a folder.
    ///
    /// The library is loaded to read what it provides, so its code runs. If the folder has a manifest of the
    /// same version, the libraries for other platforms in it are kept.
    #[command(after_long_help = examples::PLUGINS_PACK)]
    Pack {
        /// Library to package
        library: PathBuf,
        /// Folder to write to
        #[arg(short, long, value_name = "FOLDER", default_value = "dist")]
        output: PathBuf,
    },
    /// Check a plugin with the conformance suite, in a separate process.
    ///
    /// A library that crashes or hangs is quarantined: it is not loaded, trusted or not, until it passes. The
    /// exit status is 1 for any failure.
    #[cfg(feature = "conformance")]
    #[command(after_long_help = examples::PLUGINS_PROBE)]
    Probe {
        /// Library, manifest, folder with one manifest, or installed plugin as NAME or NAME@VERSION
        plugin: PathBuf,
        /// Time limit for the whole check, in seconds
        #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = values::seconds)]
        time_limit: Duration,
        /// Limit of the address space of the process, in MiB; a library built with AddressSanitizer needs
        /// 40000000
        #[arg(long, value_name = "MIB", default_value = "4096")]
        memory_limit: u64,
        /// Check rules up to this level: L0 to L4
        #[arg(long, default_value = "L4")]
        level: Level,
        /// Folder of chunks from other programs that codecs must decode: `.tsv` tables, as docs/plugins.md
        /// describes. Default: the folder `fixtures` next to the library or manifest
        #[arg(long, value_name = "FOLDER")]
        fixtures: Option<PathBuf>,
    },
    /// Check a plugin with the conformance suite (not in this build).
    #[cfg(not(feature = "conformance"))]
    #[command(after_long_help = examples::FULL)]
    Probe(Missing),
    /// Run the checks of `probe` in this process.
    #[cfg(feature = "conformance")]
    #[command(hide = true)]
    ProbeHere {
        /// Folder of the library
        folder: PathBuf,
        /// Folder of chunks from other programs
        #[arg(long)]
        fixtures: Option<PathBuf>,
    },
    /// List the folders that are searched for plugins, and the files that record which plugins you trust.
    ///
    /// The variable ZARR_PLUGIN_PATH adds folders or manifests before them: absolute paths, separated by `:`.
    #[command(after_long_help = examples::PLUGINS_DIRS)]
    Dirs,
}
