//! Plugins that are loaded at run time: where they are, and which of them the user trusts.

use std::path::Path;
use std::sync::Once;

use zarr_kit::Registry;
use zarr_kit::loaded::{Candidate, Loader, Lock, LockFiles, Manifest, Policy, Refusal, Search};
use zarr_kit::spec::printable_path;

use crate::failure::{Failure, chain};
use crate::terminal::warn;

/// What is installed on this machine. Of that, what is pinned in the user's lock file may be loaded.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) search: Search,
    pub(crate) loader: Loader,
}

impl Installed {
    /// Looks where the environment says. A lock file that cannot be read trusts nothing, which is told.
    pub(crate) fn find() -> Self {
        let search = Search::from_environment();
        let lock = LockFiles::from_environment().map_or_else(|| Ok(Lock::default()), |files| files.read());
        let lock = lock.unwrap_or_else(|error| {
            // Some verbs look twice.
            static TOLD: Once = Once::new();
            TOLD.call_once(|| warn(&format!("no plugin is trusted: {}", chain(&error))));
            Lock::default()
        });
        Self { loader: Loader::new(&search, Policy::Pinned, lock), search }
    }

    /// Adds what may be loaded. Of the rest, whoever asks for one of its identifiers is told why it is not used.
    pub(crate) fn added_to(&self, mut registry: Registry) -> Registry {
        let _told_where_it_is_asked_for = self.loader.register(&mut registry);
        registry
    }

    /// Opens the plugins that have the identifier, so that their examples are known when they are added.
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

    /// The plugin that `id` names, which is `NAME` or `NAME@VERSION`. Without a version it is the one that is used, or else
    /// the newest one.
    pub(crate) fn named(&self, id: &str) -> Option<(&Candidate, &Manifest)> {
        let in_use = self.loader.in_use(id).and_then(with_manifest);
        in_use.or_else(|| self.versions(id).next())
    }

    /// The plugins that `id` names, which is `NAME` or `NAME@VERSION`: the newest version of the first place first.
    pub(crate) fn versions(&self, id: &str) -> impl Iterator<Item = (&Candidate, &Manifest)> {
        let id = PluginId::of(id);
        let named = self.loader.named(id.name).into_iter().filter_map(with_manifest);
        named.filter(move |(_, manifest)| id.is_version(&manifest.version.to_string()))
    }

    /// The manifests that can be read.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&Candidate, &Manifest)> {
        let candidates = self.loader.candidates().iter();
        candidates.filter_map(with_manifest)
    }

    /// Why no plugin is called so: what the name stands for, or what there is.
    pub(crate) fn nobody_called(&self, name: &str) -> Failure {
        let has_it = self.manifests().find(|(_, manifest)| has(manifest, name));
        let names: Vec<_> = self.manifests().map(|(_, manifest)| format!("`{}`", manifest.name)).collect();
        let hint = match (has_it, names.as_slice()) {
            (Some((_, manifest)), _) => format!("plugin `{}` provides it", manifest.name),
            _ if Path::new(name).exists() => {
                "that is a file; what `zarrctl plugins install` installs has a name".to_owned()
            }
            (None, []) => {
                "none is installed, and `zarrctl plugins dirs` says where they are looked for".to_owned()
            }
            (None, names) => format!("there are {}", names.join(", ")),
        };
        Failure::fault(format!("no plugin that is installed is called `{name}`; {hint}"))
    }
}

fn with_manifest(candidate: &Candidate) -> Option<(&Candidate, &Manifest)> {
    Some((candidate, candidate.manifest().ok()?))
}

/// How a person names a plugin: `NAME`, or `NAME@VERSION`.
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

    /// Whether a version is meant.
    pub(crate) fn is_version(&self, version: &str) -> bool {
        self.version.is_none_or(|wanted| wanted == version)
    }
}

/// What a plugin provides: its kind, and what the formats call it.
pub(crate) fn provided(manifest: &Manifest) -> impl Iterator<Item = (String, &str)> {
    manifest.provides.iter().map(|provides| {
        let mut identifiers: Vec<_> = provides.identifiers().collect();
        identifiers.dedup();
        (format!("{} {}", provides.kind, identifiers.join(" ")), provides.summary.as_str())
    })
}

/// Whether a plugin is called so, or provides something that is.
pub(crate) fn has(manifest: &Manifest, id: &str) -> bool {
    manifest.name == id || manifest.provides.iter().any(|it| it.identifiers().any(|known| known == id))
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Fault(refusal.into())
    }
}
