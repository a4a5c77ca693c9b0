//! Which plugins there are, which of them may be opened, and opening them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use zarr_spec::registry::stands_for;
use zarr_spec::{About, Invalid};

use super::files::{checked_bytes, manifests, read_library, read_manifest, sha256, stays_inside, unreadable};
use super::library::{Library, contents};
use super::lock::{Lock, Pin};
use super::manifest::{LibraryFile, Manifest};
use super::refusal::Refusal;
use super::runtime::{platform_of, platforms};
use super::search::{Place, Search, Source};
use crate::abi;

/// Which libraries may be opened. Each lets in less than the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Policy {
    /// None.
    #[default]
    Off,
    /// Those whose bytes are pinned in the lock file.
    Pinned,
    /// Also all in folders that were named as trusted.
    TrustDirs,
    /// All.
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
            _ => {
                Err(Invalid::new(format!("`{text}` is no policy; there are off, pinned, trust-dirs and any")))
            }
        }
    }
}

/// A manifest that was found.
#[derive(Debug)]
pub struct Candidate {
    /// Why it was looked for there.
    pub source: Source,
    /// The file.
    pub path: PathBuf,
    manifest: Result<Manifest, Refusal>,
    shadowed_by: Option<PathBuf>,
    opened: OnceLock<Result<Library, Refusal>>,
}

impl Candidate {
    fn at(source: Source, path: PathBuf) -> Self {
        Self { source, manifest: read_manifest(&path), path, shadowed_by: None, opened: OnceLock::new() }
    }

    /// What it says, if it can be read.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn manifest(&self) -> Result<&Manifest, Refusal> {
        self.manifest.as_ref().map_err(Clone::clone)
    }

    /// What an entry of the manifest says of itself, with its examples once the library is open.
    pub(super) fn about(&self, entry: usize) -> Option<About> {
        let library = self.opened.get()?.as_ref().ok()?;
        Some(*library.items().nth(entry)?.2)
    }

    fn provides(&self, identifier: &str) -> bool {
        let provides = self.manifest.as_ref().map_or(&[][..], |manifest| &manifest.provides);
        provides.iter().any(|provides| provides.identifiers().any(|known| stands_for(known, identifier)))
    }
}

/// Finds plugins and opens them. Clones share what is open, and the policy.
#[derive(Debug, Clone)]
pub struct Loader(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    places: Vec<Place>,
    candidates: Vec<Candidate>,
    trusted: Vec<PathBuf>,
    lock: Lock,
    policy: Mutex<Policy>,
}

impl Loader {
    /// Reads the manifests that `search` leads to. No library is touched.
    #[must_use]
    pub fn new(search: &Search, policy: Policy, lock: Lock) -> Self {
        Self::trusting(search, policy, lock, &[])
    }

    /// As [`Loader::new`]; plugins below the folders `trusted` may be opened under [`Policy::TrustDirs`].
    #[must_use]
    pub fn trusting(search: &Search, policy: Policy, lock: Lock, trusted: &[&Path]) -> Self {
        let mut candidates: Vec<Candidate> = Vec::new();
        for place in search.places() {
            for path in manifests(&place.path) {
                let manifest = read_manifest(&path);
                let earlier = manifest.as_ref().ok().and_then(|manifest| {
                    let same = |other: &&Candidate| {
                        other.manifest.as_ref().is_ok_and(|other| other.name == manifest.name)
                    };
                    Some(candidates.iter().find(same)?.path.clone())
                });
                let is_seen = candidates.iter().any(|other| other.path == path);
                if !is_seen {
                    candidates.push(Candidate {
                        source: place.source,
                        path,
                        manifest,
                        shadowed_by: earlier,
                        opened: OnceLock::new(),
                    });
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

    /// One library, whoever trusts it, already open: for those who try it out. `file` is the library or its manifest.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded.
    pub fn of_one(file: &Path) -> Result<Self, Refusal> {
        fs::metadata(file).map_err(|error| unreadable(file, &error))?;
        let candidate = if file.extension().is_some_and(|extension| extension == "toml") {
            Candidate::at(Source::Given, file.to_owned())
        } else {
            let bytes = read_library(file)?;
            let platform = platform_of(&bytes);
            let contents = contents(&platform, &bytes)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let manifest = Manifest::of_contents(&contents, platform, &bytes, &name)?;
            let library = Library::of(&manifest, contents)?;
            Candidate {
                source: Source::Given,
                path: file.to_owned(),
                manifest: Ok(manifest),
                shadowed_by: None,
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

    /// Which libraries may be opened from now on.
    #[must_use]
    pub fn policy(&self) -> Policy {
        *self.0.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets in less than before. What is open stays so.
    ///
    /// # Errors
    ///
    /// For a policy that lets in more.
    pub fn tighten(&self, policy: Policy) -> Result<(), Invalid> {
        let mut now = self.0.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if policy > *now {
            return Err(Invalid::new(format!("policy {policy:?} would let in more than {now:?}")));
        }
        *now = policy;
        Ok(())
    }

    /// Every manifest that was found, in the order of the search.
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.0.candidates
    }

    /// Whether a plugin may be opened, as far as that can be said without reading its library.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn judge(&self, candidate: &Candidate) -> Result<(), Refusal> {
        self.allowed(candidate).map(drop)
    }

    fn allowed<'c>(&self, candidate: &'c Candidate) -> Result<(&'c Manifest, Chosen<'c>), Refusal> {
        let policy = self.policy();
        if policy == Policy::Off {
            return Err(Refusal::Off);
        }
        let manifest = candidate.manifest()?;
        if let Some(first) = &candidate.shadowed_by {
            return Err(Refusal::Shadowed(first.clone()));
        }
        if manifest.abi.major != abi::ABI_MAJOR {
            return Err(Refusal::AbiMajor(manifest.abi.major));
        }
        let chosen = Chosen::of(manifest)?;
        let file = chosen.file;
        if let Some(found) = self.0.lock.quarantined.iter().find(|found| found.sha256 == file.sha256) {
            return Err(Refusal::Quarantined(found.reason.clone()));
        }
        let is_trusted_folder = || {
            let path = candidate.path.canonicalize().ok();
            path.is_some_and(|path| self.0.trusted.iter().any(|folder| path.starts_with(folder)))
        };
        match (policy, self.0.lock.pin(&manifest.name)) {
            (Policy::Any, _) => {}
            (Policy::TrustDirs, _) if is_trusted_folder() => {}
            (_, None) => return Err(Refusal::Untrusted(manifest.name.clone())),
            (_, Some(pin)) if pin.sha256 != file.sha256 => {
                return Err(Refusal::Changed { pinned: pin.sha256.clone(), found: file.sha256.clone() });
            }
            (_, Some(_)) => {}
        }
        Ok((manifest, chosen))
    }

    /// Opens a plugin, if it is not open yet: its code runs.
    ///
    /// # Errors
    ///
    /// Why it is not used.
    pub fn open<'c>(&self, candidate: &'c Candidate) -> Result<&'c Library, Refusal> {
        let (manifest, Chosen { platform, file }) = self.allowed(candidate)?;
        let opened = candidate.opened.get_or_init(|| {
            Library::of(manifest, contents(&platform, &checked_bytes(&candidate.path, file)?)?)
        });
        opened.as_ref().map_err(Clone::clone)
    }

    /// What the lock file has to say so that the library is trusted, as it is now. Its code does not run.
    ///
    /// # Errors
    ///
    /// Why it could not be used even then.
    pub fn pin(&self, candidate: &Candidate, date: &str) -> Result<Pin, Refusal> {
        let manifest = candidate.manifest()?;
        let file = Chosen::of(manifest)?.file;
        let bytes = checked_bytes(&candidate.path, file)?;
        Ok(Pin {
            name: manifest.name.clone(),
            version: manifest.version.to_string(),
            path: candidate.path.parent().unwrap_or(&candidate.path).join(&file.path),
            sha256: sha256(&bytes),
            date: date.to_owned(),
        })
    }

    /// Every place that was looked at for `identifier`, and why each plugin there is used or not.
    #[must_use]
    pub fn explain(&self, identifier: &str) -> Explanation {
        let places = self.0.places.iter().map(|place| {
            let here = self.0.candidates.iter().filter(|candidate| belongs(candidate, place));
            let verdicts =
                here.map(|candidate| (candidate.path.clone(), self.verdict(candidate, identifier)));
            (place.clone(), verdicts.collect())
        });
        Explanation { identifier: identifier.to_owned(), places: places.collect() }
    }

    fn verdict(&self, candidate: &Candidate, identifier: &str) -> Result<bool, Refusal> {
        candidate.manifest()?;
        if !candidate.provides(identifier) {
            return Ok(false);
        }
        self.judge(candidate)?;
        let before = self.0.candidates.iter().take_while(|other| other.path != candidate.path);
        let mut before = before.filter(|other| other.provides(identifier) && self.judge(other).is_ok());
        match before.next() {
            Some(first) => Err(Refusal::Claimed(format!(
                "{} has `{identifier}`, too, and comes first",
                first.path.display()
            ))),
            None => Ok(true),
        }
    }
}

/// The library of a manifest that is used here: the one for this machine, or else one that a runtime is linked for.
#[derive(Debug)]
struct Chosen<'c> {
    platform: String,
    file: &'c LibraryFile,
}

impl<'c> Chosen<'c> {
    fn of(manifest: &'c Manifest) -> Result<Self, Refusal> {
        let platforms = platforms();
        let mut found = platforms.iter().filter_map(|platform| {
            Some(Self { platform: platform.clone(), file: manifest.library.get(platform)? })
        });
        let chosen = found.next().ok_or_else(|| {
            let (here, there): (_, Vec<&str>) =
                (platforms.join(" or "), manifest.library.keys().map(String::as_str).collect());
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

/// Whether the place is the one that led to the candidate.
fn belongs(candidate: &Candidate, place: &Place) -> bool {
    candidate.source == place.source
        && (candidate.path == place.path || candidate.path.parent() == Some(&place.path))
}

/// A manifest, and whether it provides an identifier, or why it is not used.
pub type Verdict = (PathBuf, Result<bool, Refusal>);

/// Why an identifier is known, or is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What was asked for.
    pub identifier: String,
    /// Every place, and each manifest there.
    pub places: Vec<(Place, Vec<Verdict>)>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}` was looked for at:", self.identifier)?;
        for (place, candidates) in &self.places {
            let source = match place.source {
                Source::Given => "given",
                Source::Variable => "ZARR_PLUGIN_PATH",
                Source::User => "your plugins",
                Source::System => "the system's plugins",
            };
            let empty = if candidates.is_empty() { ": no manifest" } else { "" };
            writeln!(f, "  {} ({source}){empty}", place.path.display())?;
            for (path, verdict) in candidates {
                let name = path.file_name().unwrap_or(path.as_os_str()).display();
                match verdict {
                    Ok(true) => writeln!(f, "    {name}: provides it")?,
                    Ok(false) => writeln!(f, "    {name}: does not provide it")?,
                    Err(refusal) => writeln!(f, "    {name}: {refusal}")?,
                }
            }
        }
        Ok(())
    }
}
