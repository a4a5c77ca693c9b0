//! Finds plugins, checks whether they may be opened, and opens them.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use zarr_spec::host::registry::stands_for;
use zarr_spec::{About, Invalid, printable_path};

use super::explanation::{Explained, Explanation};
use super::files::{
    CheckedFile, checked_file, manifests, read_library, read_manifest, stays_inside, unreadable,
};
use super::library::{Library, contents};
use super::lock::{Lock, Pin};
use super::manifest::{LibraryFile, Manifest};
use super::needs::Needs;
use super::refusal::Refusal;
use super::runtime::{platform_of, platforms};
use super::search::{Search, SearchPlace, Source};
use crate::abi;

/// Which libraries may be opened. Each policy permits less than the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Policy {
    /// No library.
    #[default]
    Off,
    /// Libraries whose bytes are pinned in the lock file.
    Pinned,
    /// Pinned libraries, and all libraries in trusted folders.
    TrustDirs,
    /// All libraries.
    Any,
}

impl FromStr for Policy {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "off" => Ok(Self::Off),
            "pinned" => Ok(Self::Pinned),
            "trust-dirs" => Ok(Self::TrustDirs),
            "any" => Ok(Self::Any),
            _ => Err(Invalid::new(format!(
                "unknown policy `{text}` (expected off, pinned, trust-dirs or any)"
            ))),
        }
    }
}

/// A manifest that was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// Why the place of the manifest is searched.
    pub source: Source,
    /// The path of the manifest.
    pub path: PathBuf,
    manifest: Result<Manifest, Refusal>,
    /// The index of the place of the manifest in the search.
    place: usize,
    opened: OnceLock<Result<Library, Refusal>>,
}

impl Candidate {
    fn at(source: Source, path: PathBuf, place: usize) -> Self {
        Self { source, manifest: read_manifest(&path), path, place, opened: OnceLock::new() }
    }

    /// Returns the manifest.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn manifest(&self) -> Result<&Manifest, Refusal> {
        self.manifest.as_ref().map_err(Clone::clone)
    }

    /// Returns the description of an entry of the manifest, with examples, if the library is open.
    pub(super) fn about(&self, entry: usize) -> Option<About> {
        let library = self.opened.get()?.as_ref().ok()?;
        Some(*library.items().nth(entry)?.2)
    }

    fn provides(&self, identifier: &str) -> bool {
        let provides = self.manifest.as_ref().map_or(&[][..], |manifest| &manifest.provides);
        provides.iter().any(|provides| provides.identifiers().any(|known| stands_for(known, identifier)))
    }
}

/// Finds plugins and opens them. Clones share the open libraries and the policy.
#[derive(Debug, Clone)]
pub struct Loader(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    places: Vec<SearchPlace>,
    candidates: Vec<Candidate>,
    trusted: Vec<PathBuf>,
    lock: Lock,
    policy: Mutex<Policy>,
}

impl Loader {
    /// Reads the manifests of `search`. No library is read.
    #[must_use]
    pub fn new(search: &Search, policy: Policy, lock: Lock) -> Self {
        Self::trusting(search, policy, lock, &[])
    }

    /// Reads the manifests of `search`. Plugins below the folders `trusted` may be opened under [`Policy::TrustDirs`].
    #[must_use]
    pub fn trusting(search: &Search, policy: Policy, lock: Lock, trusted: &[&Path]) -> Self {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (number, place) in search.places().iter().enumerate() {
            for path in manifests(&place.path) {
                let is_seen = candidates.iter().any(|other| other.path == path);
                if !is_seen {
                    candidates.push(Candidate::at(place.source, path, number));
                }
            }
        }
        let trusted = trusted.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        Self(Arc::new(Inner {
            places: search.places().to_vec(),
            candidates,
            trusted,
            lock,
            policy: Mutex::new(policy),
        }))
    }

    /// Opens one library without checking trust, in order to test it. `file` is the library or its manifest.
    ///
    /// # Errors
    ///
    /// If it cannot be loaded.
    pub fn of_one(file: &Path) -> Result<Self, Refusal> {
        fs::metadata(file).map_err(|error| unreadable(file, &error))?;
        let candidate = if file.extension().is_some_and(|extension| extension == "toml") {
            Candidate::at(Source::Given, file.to_owned(), 0)
        } else {
            let bytes = read_library(file)?;
            let platform = platform_of(&bytes);
            let contents = contents(&platform, &bytes, None)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let manifest = Manifest::of_contents(&contents, platform, &bytes, &name)?;
            let library = Library::of(&manifest, contents)?;
            Candidate {
                source: Source::Given,
                path: file.to_owned(),
                manifest: Ok(manifest),
                place: 0,
                opened: OnceLock::from(Ok(library)),
            }
        };
        let loader = Self(Arc::new(Inner {
            places: Vec::new(),
            candidates: vec![candidate],
            trusted: Vec::new(),
            lock: Lock::default(),
            policy: Mutex::new(Policy::Any),
        }));
        loader.candidates().iter().try_for_each(|candidate| loader.open(candidate).map(drop))?;
        Ok(loader)
    }

    /// Returns the policy for libraries that are not open yet.
    #[must_use]
    pub fn policy(&self) -> Policy {
        *self.0.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the policy by a stricter one. Open libraries stay open.
    ///
    /// # Errors
    ///
    /// If the policy permits more.
    pub fn tighten(&self, policy: Policy) -> Result<(), Invalid> {
        let mut now = self.0.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if policy > *now {
            return Err(Invalid::new(format!(
                "cannot relax the policy from {now:?} to {policy:?}; a loader accepts only a stricter policy"
            )));
        }
        *now = policy;
        Ok(())
    }

    /// Returns all manifests, in the order of the search.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.0.candidates
    }

    /// Checks whether a plugin may be opened, without reading its library.
    ///
    /// # Errors
    ///
    /// If it may not be opened.
    pub fn judge(&self, candidate: &Candidate) -> Result<(), Refusal> {
        self.allowed(candidate).map(drop)
    }

    /// Returns the plugin that is used for this name: the newest version that may be opened, in the first place with
    /// such a version.
    #[must_use]
    pub fn in_use(&self, name: &str) -> Option<&Candidate> {
        self.named(name).into_iter().find(|candidate| self.permitted(candidate).is_ok())
    }

    /// Returns all plugins of this name, by place and then by version, the newest one first.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<&Candidate> {
        let is_named = |it: &Manifest| it.name == name;
        let named = self.candidates().iter().filter(|it| it.manifest.as_ref().is_ok_and(is_named));
        let mut named: Vec<_> = named.collect();
        let version = |it: &Candidate| it.manifest.as_ref().ok().map(|manifest| manifest.version.clone());
        named.sort_by_key(|candidate| (candidate.place, Reverse(version(candidate))));
        named
    }

    fn allowed<'c>(&'c self, candidate: &'c Candidate) -> Result<Permitted<'c>, Refusal> {
        let permitted = self.permitted(candidate)?;
        match self.in_use(&permitted.manifest.name) {
            Some(first) if first.path != candidate.path => Err(Refusal::Shadowed(first.path.clone())),
            _ => Ok(permitted),
        }
    }

    /// Checks a plugin like [`Loader::allowed`], but ignores other plugins of the same name.
    fn permitted<'c>(&'c self, candidate: &'c Candidate) -> Result<Permitted<'c>, Refusal> {
        let policy = self.policy();
        if policy == Policy::Off {
            return Err(Refusal::Off);
        }
        let manifest = candidate.manifest()?;
        let Chosen { platform, file } = Chosen::of(manifest)?;
        let mut quarantined = self.0.lock.quarantined.iter();
        if let Some(found) = quarantined.find(|found| found.sha256 == file.sha256) {
            return Err(Refusal::Quarantined(found.reason.clone()));
        }
        let needs_no_pin =
            policy == Policy::Any || policy == Policy::TrustDirs && self.is_in_trusted_folder(candidate);
        let pin = match self.0.lock.pin(&manifest.name, &manifest.version.to_string(), &platform) {
            _ if needs_no_pin => None,
            None => return Err(Refusal::Untrusted(self.shortest_name(manifest))),
            Some(pin) if pin.sha256 != file.sha256 => {
                return Err(Refusal::Changed { pinned: pin.sha256.clone(), found: file.sha256.clone() });
            }
            pin => pin,
        };
        Ok(Permitted { manifest, platform, file, pin })
    }

    fn is_in_trusted_folder(&self, candidate: &Candidate) -> bool {
        let path = candidate.path.canonicalize().ok();
        path.is_some_and(|path| self.0.trusted.iter().any(|folder| path.starts_with(folder)))
    }

    /// Returns the argument of `zarrctl plugins trust` for a plugin: its name if that selects this version,
    /// `NAME@VERSION` otherwise.
    fn shortest_name(&self, manifest: &Manifest) -> String {
        let first = self.named(&manifest.name).first().and_then(|first| first.manifest().ok());
        match first {
            Some(first) if first.version != manifest.version => {
                format!("{}@{}", manifest.name, manifest.version)
            }
            _ => manifest.name.clone(),
        }
    }

    /// Opens a plugin if it is not open yet. Its code runs.
    ///
    /// # Errors
    ///
    /// The reason why the plugin cannot be used.
    pub fn open<'c>(&self, candidate: &'c Candidate) -> Result<&'c Library, Refusal> {
        let Permitted { manifest, platform, file, pin } = self.allowed(candidate)?;
        let opened = candidate.opened.get_or_init(|| {
            let library = checked_file(&candidate.path, file)?;
            let needs = pin.map(|pin| pin.needs.as_slice());
            Library::of(manifest, contents(&platform, &library.bytes, needs)?)
        });
        opened.as_ref().map_err(Clone::clone)
    }

    /// Reads the library that would be opened. Its code does not run.
    ///
    /// # Errors
    ///
    /// If it cannot be used even if it is trusted.
    pub fn check(&self, candidate: &Candidate) -> Result<Checked, Refusal> {
        let Chosen { platform, file } = Chosen::of(candidate.manifest()?)?;
        let CheckedFile { path, bytes } = checked_file(&candidate.path, file)?;
        let needs = Needs::of_library(&bytes)?;
        Ok(Checked { target: platform, path, sha256: file.sha256.clone(), bytes, needs })
    }

    /// Returns the entry of the lock file that trusts the present library. Its code does not run.
    ///
    /// # Errors
    ///
    /// If it cannot be used even if it is trusted.
    pub fn pin(&self, candidate: &Candidate, date: &str) -> Result<Pin, Refusal> {
        let manifest = candidate.manifest()?;
        let Checked { target, path, sha256, needs, .. } = self.check(candidate)?;
        Ok(Pin {
            name: manifest.name.clone(),
            version: manifest.version.to_string(),
            target,
            path,
            sha256,
            date: date.to_owned(),
            needs: needs.others,
        })
    }

    /// Returns all places that were searched for `identifier`, with the reason why each plugin in them is used or not.
    #[must_use]
    pub fn explain(&self, identifier: &str) -> Explanation {
        let places = self.0.places.iter().enumerate().map(|(number, place)| {
            let here = self.0.candidates.iter().filter(|candidate| candidate.place == number);
            let may_provide = |it: &&Candidate| it.manifest.is_err() || it.provides(identifier);
            let verdicts = here.clone().filter(may_provide);
            let verdicts = verdicts.map(|it| (it.path.clone(), self.verdict(it, identifier)));
            Explained { place: place.clone(), manifests: here.clone().count(), verdicts: verdicts.collect() }
        });
        Explanation { identifier: identifier.to_owned(), places: places.collect() }
    }

    fn verdict(&self, candidate: &Candidate, identifier: &str) -> Result<(), Refusal> {
        self.judge(candidate)?;
        let before = self.0.candidates.iter().take_while(|other| other.path != candidate.path);
        let mut before = before.filter(|other| other.provides(identifier) && self.judge(other).is_ok());
        match before.next() {
            Some(first) => Err(Refusal::Claimed(format!(
                "{} also has `{identifier}` and comes first",
                printable_path(&first.path)
            ))),
            None => Ok(()),
        }
    }
}

/// The library of a plugin.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The platform in manifests.
    pub target: String,
    /// The path with links resolved.
    pub path: PathBuf,
    /// The SHA-256 hash of `bytes`.
    pub sha256: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The other libraries that the library needs.
    pub needs: Needs,
}

/// A plugin that may be opened.
#[derive(Debug)]
struct Permitted<'c> {
    manifest: &'c Manifest,
    platform: String,
    file: &'c LibraryFile,
    /// The pin of the plugin; `None` if the policy does not require a pin.
    pin: Option<&'c Pin>,
}

/// The library of a manifest that this program uses: the library for this machine, or for a linked runtime.
#[derive(Debug)]
struct Chosen<'c> {
    platform: String,
    file: &'c LibraryFile,
}

impl<'c> Chosen<'c> {
    fn of(manifest: &'c Manifest) -> Result<Self, Refusal> {
        if manifest.abi.major != abi::ABI_MAJOR {
            return Err(Refusal::AbiMajor(manifest.abi.major));
        }
        let platforms = platforms();
        let mut found = platforms.iter().filter_map(|platform| {
            Some(Self { platform: platform.clone(), file: manifest.library.get(platform)? })
        });
        let chosen = found.next().ok_or_else(|| {
            let here = platforms.join(" or ");
            let there: Vec<&str> = manifest.library.keys().map(String::as_str).collect();
            Refusal::Platform(match there.as_slice() {
                [] => here,
                ["wasm32"] => format!("{here}, but WebAssembly, which this program is not built to run"),
                there => format!("{here}, but for {}", there.join(", ")),
            })
        })?;
        stays_inside(chosen.file)?;
        Ok(chosen)
    }
}
