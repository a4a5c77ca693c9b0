//! Plugins that are loaded at run time: their folders, and which of them the user trusts.

use std::path::Path;
use std::sync::Once;

use zarr_kit::Registry;
use zarr_kit::loaded::{Candidate, Loader, Lock, LockFiles, Manifest, Policy, Refusal, Search};
use zarr_kit::spec::printable_path;

use crate::failure::{Failure, chain};
use crate::terminal::warn;

/// The installed plugins. Only plugins pinned in the user's lock file are loaded.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) search: Search,
    pub(crate) loader: Loader,
}

impl Installed {
    /// Searches the folders from the environment. If the lock file is unreadable, no plugins are trusted and
    /// a warning is printed.
    pub(crate) fn find() -> Self {
        let search = Search::from_environment();
        let lock = LockFiles::from_environment().map_or_else(|| Ok(Lock::default()), |files| files.read());
        let lock = lock.unwrap_or_else(|error| {
            // The warning is printed once, although some verbs search twice.
            static WARNED: Once = Once::new();
            WARNED.call_once(|| warn(&format!("no plugins are trusted: {}", chain(&error))));
            Lock::default()
        });
        Self { loader: Loader::new(&search, Policy::Pinned, lock), search }
    }

    /// Adds the plugins that may be loaded. Errors about unknown identifiers explain why other plugins are
    /// not used.
    pub(crate) fn added_to(&self, mut registry: Registry) -> Registry {
        let _refused = self.loader.register(&mut registry);
        registry
    }

    /// Opens the plugins that provide this identifier, so that their examples are known when they are added.
    pub(crate) fn open_what_has(&self, identifier: &str) {
        for candidate in self.loader.candidates() {
            let Ok(manifest) = candidate.manifest() else { continue };
            if !has(manifest, identifier) || self.loader.judge(candidate).is_err() {
                continue;
            }
            if let Err(refusal) = self.loader.open(candidate) {
                warn(&format!("plugin {} is not used: {refusal}", printable_path(&candidate.path)));
            }
        }
    }

    /// Finds the plugin `NAME` or `NAME@VERSION`. Without a version, prefers the version in use, then the
    /// newest.
    pub(crate) fn named(&self, id: &str) -> Option<(&Candidate, &Manifest)> {
        let in_use = self.loader.in_use(id).and_then(with_manifest);
        in_use.or_else(|| self.versions(id).next())
    }

    /// Finds all plugins `NAME` or `NAME@VERSION`. The newest version in the first folder comes first.
    pub(crate) fn versions(&self, id: &str) -> impl Iterator<Item = (&Candidate, &Manifest)> {
        let id = PluginId::of(id);
        let named = self.loader.named(id.name).into_iter().filter_map(with_manifest);
        named.filter(move |(_, manifest)| id.is_version(&manifest.version.to_string()))
    }

    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&Candidate, &Manifest)> {
        let candidates = self.loader.candidates().iter();
        candidates.filter_map(with_manifest)
    }

    /// Returns the failure for an unknown plugin name, with a hint.
    pub(crate) fn no_plugin_named(&self, name: &str) -> Failure {
        let has_it = self.manifests().find(|(_, manifest)| has(manifest, name));
        let names: Vec<_> = self.manifests().map(|(_, manifest)| format!("`{}`", manifest.name)).collect();
        let hint = match (has_it, names.as_slice()) {
            (Some((_, manifest)), _) => {
                format!("did you mean plugin `{}`, which provides it?", manifest.name)
            }
            _ if Path::new(name).exists() => {
                "that is a file; first install it with `zarrctl plugins install`, then use the name of the \
                     plugin"
                    .to_owned()
            }
            (None, []) => {
                "no plugins are installed; `zarrctl plugins dirs` shows the searched folders".to_owned()
            }
            (None, names) => format!("installed are {}", names.join(", ")),
        };
        Failure::fault(format!("no installed plugin is named `{name}`; {hint}"))
    }
}

fn with_manifest(candidate: &Candidate) -> Option<(&Candidate, &Manifest)> {
    Some((candidate, candidate.manifest().ok()?))
}

/// A plugin name as users write it: `NAME`, or `NAME@VERSION`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PluginId<'i> {
    pub(crate) name: &'i str,
    pub(crate) version: Option<&'i str>,
}

impl<'i> PluginId<'i> {
    pub(crate) fn of(id: &'i str) -> Self {
        match id.split_once('@') {
            Some((name, version)) => Self { name, version: Some(version) },
            None => Self { name: id, version: None },
        }
    }

    pub(crate) fn is_version(&self, version: &str) -> bool {
        self.version.is_none_or(|wanted| wanted == version)
    }
}

/// Returns the kind, identifiers and summary of everything that a plugin provides.
pub(crate) fn provided(manifest: &Manifest) -> impl Iterator<Item = (String, &str)> {
    manifest.provides.iter().map(|provides| {
        let mut identifiers: Vec<_> = provides.identifiers().collect();
        identifiers.dedup();
        (format!("{} {}", provides.kind, identifiers.join(" ")), provides.summary.as_str())
    })
}

/// Returns whether a plugin, or something that it provides, has this name.
pub(crate) fn has(manifest: &Manifest, id: &str) -> bool {
    manifest.name == id || manifest.provides.iter().any(|it| it.identifiers().any(|known| known == id))
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Fault(refusal.into())
    }
}
