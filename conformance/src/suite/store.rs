//! The rules for stores, which are opened from their examples.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::store::{Locations, Step, Store, StoreError, StorePlugin, open_described};
use zarr_spec::{About, Example, Format, Identifiers, Invalid, Key, Reading, Registry, Value};

use super::tried::{OnTrial, RuleOf, suite, text, value};
use super::{Cases, Level, Rule, Subject, Suite, Trial};
use crate::stores::{Needs, StoreRule, check_reopened, hold, rules, with_any_keys};

const RULES: &[RuleOf<StoreOnTrial>] = &[
    (
        Rule {
            id: "store-locations",
            level: Level::L2,
            sentence: "Empty and malformed URLs and steps are opened or refused, and never cause a panic.",
            source: "`zarr_spec::store::OpenStore`",
            since: "0.1",
        },
        locations,
    ),
    (
        Rule {
            id: "store-reopened",
            level: Level::L1,
            sentence: "A store that is opened again has all finished changes and commits.",
            source: "`zarr_spec::store::Store::commit`",
            since: "0.1",
        },
        reopened,
    ),
];

/// Files that relative paths in examples can refer to, for read-only stores: an archive without entries, and
/// references.
const THERE: &[(&str, &[u8])] = &[
    ("data.zip", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    ("refs.json", br#"{"a": "text", "b/c": ["refs.json", 1, 3], "b/d": ["refs.json"], "e": "base64:AAA="}"#),
];

/// A store under test, and the folder for the data of its examples.
struct StoreOnTrial {
    plugin: StorePlugin,
    registry: Arc<Registry>,
    folder: Option<TempDir>,
    /// The number of folders created in `folder`.
    count: AtomicU64,
}

pub(super) fn add(registry: &Registry, suites: &mut Vec<Suite>) {
    let registry = Arc::new(registry.clone());
    for &plugin in registry.stores() {
        let on_trial = || StoreOnTrial {
            plugin,
            registry: Arc::clone(&registry),
            folder: TempDir::new().ok(),
            count: AtomicU64::new(0),
        };
        let mut suite = suite(on_trial(), &[RULES]);
        let shared = Arc::new(on_trial());
        suite.trials.extend(rules().map(|rule| {
            let on_trial = Arc::clone(&shared);
            Trial::new(&rule.0, move |cases| on_trial.hold(rule, cases))
        }));
        suites.push(suite);
    }
}

impl OnTrial for StoreOnTrial {
    fn subject(&self) -> Subject {
        let StorePlugin { name, origin, .. } = self.plugin;
        Subject {
            point: ExtensionPoint::Store,
            name: name.to_owned(),
            package: origin.package.to_owned(),
            version: origin.version.to_owned(),
        }
    }

    fn identifiers(&self) -> Identifiers {
        Identifiers::name(self.plugin.name)
    }

    fn about(&self) -> &About {
        &self.plugin.about
    }

    /// Descriptions are the same in all formats; examples use v3.
    fn formats(&self) -> Vec<Format> {
        vec![Format::V3]
    }

    fn make(
        &self,
        _example: &Example,
        entry: &Value,
        _reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        let name = entry.as_object().and_then(|members| members.get("type")).and_then(Value::as_str);
        if name != Some(self.plugin.name) {
            return Err(format!("it describes a store of another type, {name:?}"));
        }
        self.open(entry).map(drop)
    }
}

impl StoreOnTrial {
    /// Opens a described store in a new folder.
    fn open(&self, description: &Value) -> Result<Arc<dyn Store>, String> {
        self.open_in(&self.new_folder()?, description)
    }

    fn new_folder(&self) -> Result<PathBuf, String> {
        let folder = self.folder.as_ref().ok_or("a folder for temporary files could not be created")?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let folder = folder.path().join(number.to_string());
        // A store in one file need not create its parent folder, so the folder is created here.
        fs::create_dir(&folder).map_err(text)?;
        for (name, contents) in THERE {
            fs::write(folder.join(name), contents).map_err(text)?;
        }
        Ok(folder)
    }

    /// Opens a described store in this folder.
    fn open_in(&self, folder: &PathBuf, description: &Value) -> Result<Arc<dyn Store>, String> {
        open_described(&self.registry, &within(folder, description)).map_err(text)
    }

    fn hold(&self, rule: &'static StoreRule, cases: &mut Cases) {
        for example in self.plugin.about.examples {
            let Ok(store) = value(example.document).and_then(|entry| self.open(&entry)) else { continue };
            match rule.1.lacking(&*with_any_keys(Arc::clone(&store))) {
                // The store's own crate tests it with a server.
                _ if is_elsewhere(&store.location()) => cases.skip("a store on another machine"),
                Some(quality) => cases.skip(format!("a store that is not {quality}")),
                None => cases.check(example.document, hold(store, rule)),
            }
        }
    }
}

/// Checks whether a URL names a host or bucket. Examples must not cause requests to other machines.
fn is_elsewhere(location: &str) -> bool {
    location.split_once("://").is_some_and(|(_, rest)| !rest.is_empty() && !rest.starts_with('/'))
}

/// Returns the description with its relative paths moved to `folder`.
fn within(folder: &PathBuf, description: &Value) -> Value {
    match description {
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| {
                let member = match member.as_str() {
                    Some(path) if name == "path" => Value::from(folder.join(path).to_string_lossy().as_ref()),
                    _ => within(folder, member),
                };
                (name.to_owned(), member)
            });
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// Only examples with a path are stored in files.
fn reopened(on_trial: &StoreOnTrial, cases: &mut Cases) {
    for example in on_trial.plugin.about.examples {
        let Ok(entry) = value(example.document) else { continue };
        let Ok(folder) = on_trial.new_folder() else { continue };
        let open = || on_trial.open_in(&folder, &entry).map(with_any_keys);
        let Ok(store) = open() else { continue };
        match Needs::Values.lacking(&*store) {
            _ if is_elsewhere(&store.location()) => cases.skip("a store on another machine"),
            Some(quality) => cases.skip(format!("a store that is not {quality}")),
            None if within(&folder, &entry) == entry => cases.skip("a store that is not in files"),
            None => {
                drop(store);
                cases.check(example.document, check_reopened(&open));
            }
        }
    }
}

fn locations(on_trial: &StoreOnTrial, cases: &mut Cases) {
    let name = on_trial.plugin.name;
    for scheme in on_trial.plugin.schemes.iter().filter(|scheme| !scheme.is_empty()) {
        for rest in ["", "/", "//", "///", "//é/%", "//%zz", "//%00", "?x", "#x", "//[::1"] {
            let _opened_or_refused = (on_trial.plugin.open)(&format!("{scheme}:{rest}"));
            cases.check(format!("{scheme}:{rest}"), Ok(()));
        }
    }
    if let Some(step) = on_trial.plugin.step {
        for input in ["", "a", "é/%", "%zz", "s3://[::1", "a|b", "..", "\0"] {
            let _opened_or_refused = step(&Step::new(input, None, &Nowhere));
            cases.check(format!("{input}|{name}:"), Ok(()));
        }
    }
    if on_trial.plugin.schemes.is_empty() {
        let refused = (on_trial.plugin.open)(&format!("{name}:x")).is_err();
        cases.holds(format!("{name}:x"), refused, || "it has no URL scheme, but a URL was opened".to_owned());
    }
}

/// An implementation of [`Locations`] that opens nothing: every call fails.
struct Nowhere;

impl Locations for Nowhere {
    fn open(&self, location: &str) -> Result<Arc<dyn Store>, StoreError> {
        Err(Invalid::new(format!("`{location}` is nowhere")).into())
    }

    fn open_file(&self, location: &str) -> Result<(Arc<dyn Store>, Key), StoreError> {
        Err(Invalid::new(format!("`{location}` is nowhere")).into())
    }
}
