//! The plugins of one kind, by identifier.

use std::collections::HashMap;

use zarr_json::similar;

use super::known::known_elsewhere;
use super::names::{split_version, stands_for};
use super::{CatalogueEntry, DuplicateIdentifier, ExtensionPoint, Feature, Unknown};
use crate::format::{Format, Reading};
use crate::plugin::{Plugin, PluginKind};

/// The codec of v2's pickled objects, whose error gives the reason for the refusal (V2-OBJ-10).
const PICKLE: &str = "pickle";
const REFUSED: &str = "refused for safety: reading a pickle can run arbitrary code";

/// All plugins of one kind.
#[derive(Debug)]
pub struct Table<K: PluginKind + ?Sized> {
    pub(super) plugins: Vec<Plugin<K>>,
    /// Names in v3, and plain names of the draft.
    names: HashMap<&'static str, usize>,
    uris: HashMap<&'static str, usize>,
    pub(super) ids: HashMap<&'static str, usize>,
    pub(super) missing: Missing,
}

/// Information about missing plugins of one kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Missing {
    pub(super) catalogue: Vec<CatalogueEntry>,
    /// The reasons why identifiers cannot be used.
    pub(super) hints: HashMap<String, String>,
}

impl Missing {
    /// Returns the hint or the feature for `identifier`.
    pub(super) fn clause(&self, identifier: &str) -> Option<String> {
        let of_feature = |Feature { name, package }: Feature| {
            format!("not in this build; feature `{name}` of crate `{package}` has it")
        };
        self.hint(identifier).or_else(|| self.feature(identifier).map(of_feature))
    }

    fn hint(&self, identifier: &str) -> Option<String> {
        let of_a_pattern =
            || self.hints.iter().find(|(known, _)| stands_for(known, identifier)).map(|(_, clause)| clause);
        self.hints.get(identifier).or_else(of_a_pattern).cloned()
    }

    /// Returns the feature that provides `identifier`.
    pub(super) fn feature(&self, identifier: &str) -> Option<Feature> {
        let has_it = |pattern: &&str| stands_for(pattern, identifier);
        let entry = self.catalogue.iter().find(|entry| entry.identifiers.iter().any(has_it))?;
        Some(Feature { name: entry.feature, package: entry.package })
    }
}

impl<K: PluginKind + ?Sized> Default for Table<K> {
    fn default() -> Self {
        Self {
            plugins: Vec::new(),
            names: HashMap::new(),
            uris: HashMap::new(),
            ids: HashMap::new(),
            missing: Missing::default(),
        }
    }
}

impl<K: PluginKind + ?Sized> Clone for Table<K> {
    fn clone(&self) -> Self {
        Self {
            plugins: self.plugins.clone(),
            names: self.names.clone(),
            uris: self.uris.clone(),
            ids: self.ids.clone(),
            missing: self.missing.clone(),
        }
    }
}

impl<K: PluginKind + ?Sized> Table<K> {
    /// Iterates over all plugins, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Plugin<K>> {
        self.plugins.iter()
    }

    /// Returns the plugin for `identifier` in documents of `format`.
    ///
    /// An exact match takes precedence. A URI also matches if path and major version agree; a newer minor
    /// version causes a warning. In the draft, identifiers that are not URIs are plain names, or ids of v2 for
    /// codecs, which documents of its first generation contain.
    ///
    /// # Errors
    ///
    /// [`Unknown`], with the feature or crate that provides the plugin, if that is known.
    pub fn find(&self, format: Format, identifier: &str, reading: &Reading) -> Result<&Plugin<K>, Unknown> {
        let is_uri = identifier.contains(':');
        let exact = match format {
            Format::V2 => self.ids.get(identifier),
            Format::V3 if is_uri => self.uris.get(identifier),
            Format::V3 => self.names.get(identifier),
            Format::V3Draft if is_uri => self.uris.get(identifier),
            Format::V3Draft if K::POINT == ExtensionPoint::Codec => self.ids.get(identifier),
            Format::V3Draft => self.names.get(identifier),
        };
        let found = match exact {
            Some(&index) => Some(index),
            None if is_uri && format != Format::V2 => self.find_by_version(identifier, reading),
            None => None,
        };
        found.map(|index| &self.plugins[index]).ok_or_else(|| self.unknown(identifier))
    }

    /// Returns the error for an unknown identifier.
    #[must_use]
    pub fn unknown(&self, identifier: &str) -> Unknown {
        let tables = [&self.names, &self.uris, &self.ids];
        let of_another_format = tables.iter().find_map(|table| table.get(identifier));
        let known_elsewhere = if let Some(&index) = of_another_format {
            Some(self.names_by_format(index))
        } else if identifier == PICKLE && self.missing.hint(identifier).is_none() {
            let reads = self.missing.feature(identifier).map(|Feature { name, package }| {
                format!("; feature `{name}` of crate `{package}` reads it without running code")
            });
            Some(REFUSED.to_owned() + &reads.unwrap_or_default())
        } else {
            self.missing.clause(identifier).or_else(|| known_elsewhere(K::POINT, identifier))
        };
        let feature = self.missing.feature(identifier).filter(|_| of_another_format.is_none());
        let similar = if known_elsewhere.is_none() { self.similar(identifier) } else { Vec::new() };
        Unknown { point: K::POINT, identifier: identifier.to_owned(), known_elsewhere, feature, similar }
    }

    /// Returns the names of a plugin in each format, for an identifier that belongs to another format.
    fn names_by_format(&self, index: usize) -> String {
        let identifiers = self.plugins[index].identifiers;
        let name = |format: Format| Some(format!("{format}: `{}`", identifiers.in_format(format)?));
        let names: Vec<_> = Format::ALL.into_iter().filter_map(name).collect();
        format!("not a name in this format ({})", names.join(", "))
    }

    /// Returns the identifiers of plugins that are similar to `identifier`, sorted, as suggestions for typing errors.
    #[must_use]
    pub fn similar(&self, identifier: &str) -> Vec<&'static str> {
        if identifier.contains(':') {
            // Another version is not a misspelling.
            let path = |uri: &str| uri.rsplit_once('/').map(|(path, _version)| path.to_owned());
            let others = self.uris.keys().copied().filter(|uri| path(uri) != path(identifier));
            return similar(identifier, others);
        }
        similar(identifier, self.names.keys().chain(self.ids.keys()).copied())
    }

    fn find_by_version(&self, uri: &str, reading: &Reading) -> Option<usize> {
        let (path, version) = split_version(uri)?;
        let (known, index, known_version) = self.uris.iter().find_map(|(known, &index)| {
            let (known_path, known_version) = split_version(known)?;
            (known_path == path && known_version.major == version.major).then_some((
                known,
                index,
                known_version,
            ))
        })?;
        if version > known_version {
            reading.warn(format!("`{uri}` is newer than `{known}`, the version that this program knows"));
        }
        Some(index)
    }

    pub(super) fn add(&mut self, plugin: Plugin<K>) -> Result<(), DuplicateIdentifier> {
        let identifiers = plugin.identifiers;
        let (uris, names): (Vec<_>, Vec<_>) =
            identifiers.aliases.iter().partition(|alias| alias.contains(':'));
        let index = self.plugins.len();
        let taken =
            |table: &HashMap<&'static str, usize>, identifier: &'static str| match table.get(identifier) {
                Some(&first) => Err(DuplicateIdentifier {
                    point: K::POINT,
                    identifier: identifier.to_owned(),
                    first: self.plugins[first].origin,
                    second: plugin.origin,
                }),
                None => Ok(()),
            };
        let names: Vec<_> = names.into_iter().copied().chain(identifiers.name).collect();
        let uris: Vec<_> = uris.into_iter().copied().chain(identifiers.uri).collect();
        names.iter().try_for_each(|name| taken(&self.names, name))?;
        uris.iter().try_for_each(|uri| taken(&self.uris, uri))?;
        identifiers.id.iter().try_for_each(|id| taken(&self.ids, id))?;
        self.names.extend(names.into_iter().map(|name| (name, index)));
        self.uris.extend(uris.into_iter().map(|uri| (uri, index)));
        self.ids.extend(identifiers.id.map(|id| (id, index)));
        self.plugins.push(plugin);
        Ok(())
    }
}
