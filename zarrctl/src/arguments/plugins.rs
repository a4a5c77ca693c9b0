//! What can be said of plugins.

use std::path::PathBuf;
use std::str::FromStr;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use zarr_conformance::suite::Level;

use crate::templates::Kind;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
use crate::values;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Plugins {
    #[command(subcommand)]
    pub(crate) verb: Option<PluginsVerb>,
    /// Also says what each format calls them, and which crates they come from
    #[arg(long)]
    pub(crate) long: bool,
    /// Prints a JSON array
    #[arg(long, conflicts_with = "long")]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginsVerb {
    /// The same as `plugins` alone.
    List {
        /// Also says what each format calls them, and which crates they come from
        #[arg(long)]
        long: bool,
        /// Prints a JSON array
        #[arg(long, conflicts_with = "long")]
        json: bool,
    },
    /// Says what a plugin does and what it is called, and how documents use it.
    ///
    /// Several plugins may have one name, such as the codec and the data type `bytes`: all of them are shown.
    Show {
        /// What a document of any format calls it, or its crate or feature
        id: String,
        /// Shows the JSON Schemas of configurations as they are, not as a list of members
        #[arg(long, conflicts_with = "json")]
        schema: bool,
        /// Prints a JSON array, which has the schemas as well
        #[arg(long)]
        json: bool,
    },
    /// Begins a plugin of your own: a crate with tests, a library of it, a fuzz target, and a small example to change.
    New {
        /// What kind of plugin
        #[arg(value_parser = PossibleValuesParser::new(Kind::names()).try_map(|name| name.parse::<Kind>()))]
        kind: Kind,
        /// What documents call it, such as `example.xor`; the crate is called so too, with `-` for `.`
        name: String,
        /// The URI by which the draft of v3 names it; ends in a version such as `/1.0`
        #[arg(long)]
        uri: Option<String>,
        /// Where the crates of this framework come from: `path:FOLDER`, `git:URL`, `git:URL#REVISION`, or `registry` once they
        /// are published. Default: the source tree that this program or the current folder lies in
        #[arg(long, value_name = "SOURCE")]
        deps: Option<Source>,
        /// The folder to make; that of the crate's name, here, if left out
        #[arg(long, value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    #[cfg(all(feature = "dynamic", target_os = "linux"))]
    #[command(flatten)]
    Loaded(LoadedVerb),
}

/// Where the crates of the framework come from.
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
                    return Err("nothing follows the `#`, which is for a revision".to_owned());
                }
                Ok(Self::Git { url: url.to_owned(), rev: rev.map(ToOwned::to_owned) })
            }
            _ => Err("expected `registry`, `path:FOLDER`, `git:URL` or `git:URL#REVISION`".to_owned()),
        }
    }
}

/// What there is to do with plugins that are loaded at run time.
#[cfg(all(feature = "dynamic", target_os = "linux"))]
#[derive(Debug, Subcommand)]
pub(crate) enum LoadedVerb {
    /// Says where a plugin was looked for, and why each one that was found is used or not.
    Why {
        /// What a document of any format calls it, or the name of a plugin
        id: String,
    },
    /// Lets a plugin be loaded from now on: writes its SHA-256 to your plugins.lock.
    ///
    /// What is trusted is this library, byte by byte: another one of the same name is not. A plugin is code that runs with
    /// your rights; its hash says which code it is, not that it is good.
    Trust {
        /// The name of the plugin, as its manifest and `zarrctl plugins` have it, or NAME@VERSION; without a version the newest
        /// one
        name: String,
    },
    /// Copies a plugin to your folder for plugins. Its code does not run, and it is not trusted yet.
    ///
    /// Versions of a plugin are installed side by side: the one that is trusted remains in use until a newer one is. The same
    /// version with other contents is refused.
    Install {
        /// A folder with a manifest and its library, or the manifest
        from: PathBuf,
    },
    /// Takes a plugin out of your folder for plugins, and its SHA-256 out of your plugins.lock.
    #[command(aliases = ["uninstall", "untrust"])]
    Remove {
        /// The name of the plugin, as its manifest and `zarrctl plugins` have it: all its versions; or NAME@VERSION
        name: String,
    },
    /// Makes what others can install: writes the manifest of a library that you have built, and a copy of it beside.
    ///
    /// The library says what it provides: its code runs. A manifest of the same version that is there already keeps its
    /// libraries for other machines.
    Pack {
        /// The library
        library: PathBuf,
        /// The folder to write to
        #[arg(short, long, value_name = "FOLDER", default_value = "dist")]
        output: PathBuf,
    },
    /// Tries a plugin out in a process of its own: loads it and holds it to the conformance suite.
    ///
    /// A library that crashes or hangs is put into quarantine: it is not loaded any more, trusted or not, until it passes.
    /// The status is 1 when it fails in any way.
    Probe {
        /// A library, its manifest, a folder with one manifest, or an installed plugin as NAME or NAME@VERSION
        plugin: PathBuf,
        /// How long it may take as a whole
        #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = values::seconds)]
        time_limit: Duration,
        /// MiB of address space that the process may have; a library that was built with AddressSanitizer needs 40000000
        #[arg(long, value_name = "MIB", default_value = "4096")]
        memory_limit: u64,
        /// The highest level of rules that it is held to: L0 to L4
        #[arg(long, default_value = "L4")]
        level: Level,
        /// A folder with chunks of other programs that codecs must decode: tables that end in `.tsv`, as
        /// docs/plugins.md describes. The folder `fixtures` next to the library or manifest if left out
        #[arg(long, value_name = "FOLDER")]
        fixtures: Option<PathBuf>,
    },
    /// What `probe` runs in other processes.
    #[command(hide = true)]
    ProbeHere {
        /// Where the library lies
        folder: PathBuf,
        /// Chunks of other programs
        #[arg(long)]
        fixtures: Option<PathBuf>,
    },
    /// Lists the folders that plugins are looked for in, and where it is written which of them you trust.
    ///
    /// The variable ZARR_PLUGIN_PATH adds folders or manifests before them: absolute paths, separated by `:`.
    Dirs,
}
