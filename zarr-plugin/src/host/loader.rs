//! Which plugins there are, which of them may be opened, and opening them.

use std::fmt;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sha2::{Digest as _, Sha256};
use zarr_spec::registry::{ExtensionPoint, stands_for};
use zarr_spec::{About, CodecPlugin, Identifiers, Invalid};

use super::lock::{Lock, Pin};
use super::manifest::{LibraryFile, Manifest, Provides};
use super::refusal::Refusal;
use super::runtime::{platform_of, platforms, runtime};
use super::search::{Place, Search, Source};
use crate::abi;
use crate::ffi::library::{Functions, OpenError, open, user};

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

/// A library that was opened, and stays open.
#[derive(Debug)]
pub struct Library {
    contents: Contents,
    /// For each entry of the manifest, which item it is.
    provided: Vec<usize>,
}

impl Library {
    /// Major and minor version of the ABI that it speaks.
    #[must_use]
    pub fn abi(&self) -> (u16, u16) {
        self.contents.abi
    }

    /// Its license, as it says itself.
    #[must_use]
    pub fn license(&self) -> &str {
        self.contents.license
    }

    /// What it was built with, as it says itself.
    #[must_use]
    pub fn build(&self) -> &str {
        self.contents.build
    }

    /// Kind, identifiers, and sentence and examples of everything that its manifest names.
    pub fn items(&self) -> impl Iterator<Item = (ExtensionPoint, &Identifiers, &About)> {
        self.provided.iter().map(|&item| {
            let (identifiers, about, item) = &self.contents.items[item];
            (item.point(), identifiers, about)
        })
    }

    pub(super) fn functions(&self, entry: usize) -> Option<&Functions> {
        match self.item(entry)? {
            Item::Native(functions) => Some(functions),
            Item::Run(_) => None,
        }
    }

    /// The codec of a library that a runtime has opened.
    pub(super) fn run(&self, entry: usize) -> Option<&CodecPlugin> {
        match self.item(entry)? {
            Item::Native(_) => None,
            Item::Run(codec) => Some(codec),
        }
    }

    fn item(&self, entry: usize) -> Option<&Item> {
        Some(&self.contents.items.get(*self.provided.get(entry)?)?.2)
    }
}

/// What an open library says it has, whatever runs it.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) abi: (u16, u16),
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) license: &'static str,
    pub(super) build: &'static str,
    pub(super) items: Vec<(Identifiers, About, Item)>,
}

/// One extension of an open library.
#[derive(Debug)]
pub(super) enum Item {
    /// Over the C ABI.
    Native(Functions),
    /// By a runtime.
    Run(CodecPlugin),
}

impl Item {
    pub(super) fn point(&self) -> ExtensionPoint {
        match self {
            Self::Native(functions) => point_of(functions),
            Self::Run(_) => ExtensionPoint::Codec,
        }
    }
}

/// What the library for `platform` has that these bytes are. Its code runs.
pub(super) fn contents(platform: &str, library: &[u8]) -> Result<Contents, Refusal> {
    if let Some(runtime) = runtime(platform) {
        let opened = (runtime.open)(library)?;
        let item = |codec: CodecPlugin| (codec.identifiers, codec.about, Item::Run(codec));
        return Ok(Contents {
            abi: opened.abi,
            name: opened.name,
            version: opened.version,
            license: opened.license,
            build: opened.build,
            items: opened.codecs.into_iter().map(item).collect(),
        });
    }
    if let Some(what) = super::elf::missing(library) {
        return Err(Refusal::Open(what));
    }
    let opened = open(library).map_err(|error| match error {
        OpenError::Loader(message) => Refusal::Open(message),
        OpenError::NoSymbol => Refusal::NoSymbol,
        OpenError::Major(major) => Refusal::AbiMajor(major),
        OpenError::Failed(failure) => Refusal::Failed(failure.message),
    })?;
    let items = opened.items.into_iter();
    Ok(Contents {
        abi: opened.abi,
        name: opened.name,
        version: opened.version,
        license: opened.license,
        build: opened.build,
        items: items.map(|(names, about, functions)| (names, about, Item::Native(functions))).collect(),
    })
}

fn point_of(functions: &Functions) -> ExtensionPoint {
    match functions {
        Functions::Codec(_) => ExtensionPoint::Codec,
        Functions::MemoryLayout(_) => ExtensionPoint::MemoryLayout,
        Functions::DataType(_) => ExtensionPoint::DataType,
        Functions::ChunkGrid(_) => ExtensionPoint::ChunkGrid,
        Functions::ChunkKeyEncoding(_) => ExtensionPoint::ChunkKeyEncoding,
        Functions::MetadataEncoding(_) => ExtensionPoint::MetadataEncoding,
        Functions::StorageTransformer(_) => ExtensionPoint::StorageTransformer,
        Functions::GenericExtension(_) => ExtensionPoint::GenericExtension,
        Functions::Store(_) => ExtensionPoint::Store,
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
        let unreadable = |error: &std::io::Error| Refusal::Unreadable {
            path: file.to_owned(),
            message: error.to_string(),
        };
        fs::metadata(file).map_err(|error| unreadable(&error))?;
        let candidate = if file.extension().is_some_and(|extension| extension == "toml") {
            Candidate::at(Source::Given, file.to_owned())
        } else {
            let bytes = read_at_most(file, MAX_LIBRARY).map_err(|error| unreadable(&error))?;
            let platform = platform_of(&bytes);
            let contents = contents(&platform, &bytes)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let manifest = Manifest::of_contents(&contents, platform, &bytes, &name)?;
            let provided = agree(&manifest, &contents)?;
            Candidate {
                source: Source::Given,
                path: file.to_owned(),
                manifest: Ok(manifest),
                shadowed_by: None,
                opened: OnceLock::from(Ok(Library { contents, provided })),
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
            let contents = contents(&platform, &checked_bytes(&candidate.path, file)?)?;
            let provided = agree(manifest, &contents)?;
            Ok(Library { contents, provided })
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
        found.next().ok_or_else(|| Refusal::Platform(platforms.join(" or ")))
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

/// The manifests at a place, sorted: itself, or the files `*.toml` in it.
fn manifests(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    paths.sort();
    paths
}

/// The longest manifest, in bytes.
const MAX_MANIFEST: u64 = 1 << 20;

/// The longest library, in bytes.
const MAX_LIBRARY: u64 = 1 << 30;

fn read_manifest(path: &Path) -> Result<Manifest, Refusal> {
    if let Some(path) = writable_by_others(path) {
        return Err(Refusal::WritableByOthers(path));
    }
    let bytes = read_at_most(path, MAX_MANIFEST).map_err(|error| Refusal::Manifest(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::Manifest("it is not UTF-8".to_owned()))?;
    Manifest::parse(&text).map_err(Refusal::Manifest)
}

fn read_at_most(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(std::io::Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

/// The file, its folder or a folder above that others than the user and root may write, so that they could change what is read. A
/// folder above may be open to all if it is sticky, as `/tmp` is: nobody can move what is in it then.
pub(super) fn writable_by_others(path: &Path) -> Option<PathBuf> {
    open_to_others(path, 2)
}

/// As [`writable_by_others`]; the `closed` lowest parts of the path may be written by nobody else at all.
fn open_to_others(path: &Path, closed: usize) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    for (height, part) in path.ancestors().enumerate() {
        let metadata = fs::metadata(part).ok()?;
        let (mode, owner) = (metadata.mode(), metadata.uid());
        let is_foreign = owner != 0 && owner != user();
        let (by_others, by_all, is_sticky) = (mode & 0o022 != 0, mode & 0o002 != 0, mode & 0o1000 != 0);
        let is_open = if height < closed { by_others || is_foreign } else { by_all && !is_sticky };
        if is_open {
            return Some(part.to_owned());
        }
    }
    None
}

/// Why no plugin of a folder is used, whatever is in it.
pub(super) fn refused_folder(folder: &Path) -> Option<Refusal> {
    open_to_others(folder, 1).map(Refusal::WritableByOthers)
}

/// The bytes of the library that a manifest names, which have the hash that the manifest has.
fn checked_bytes(manifest: &Path, file: &LibraryFile) -> Result<Vec<u8>, Refusal> {
    let leads_out = || Refusal::LeadsOut(file.path.clone());
    let relative = Path::new(&file.path);
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    if !relative.components().all(is_plain) || relative.as_os_str().is_empty() {
        return Err(leads_out());
    }
    let unreadable = |path: &Path, error: &std::io::Error| Refusal::Unreadable {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let folder = manifest.parent().unwrap_or(manifest);
    let folder = folder.canonicalize().map_err(|error| unreadable(folder, &error))?;
    let joined = folder.join(relative);
    let path = joined.canonicalize().map_err(|error| unreadable(&joined, &error))?;
    if !path.starts_with(&folder) {
        return Err(leads_out());
    }
    if let Some(path) = writable_by_others(&path) {
        return Err(Refusal::WritableByOthers(path));
    }
    let bytes = read_at_most(&path, MAX_LIBRARY).map_err(|error| unreadable(&path, &error))?;
    let found = sha256(&bytes);
    if found != file.sha256 {
        return Err(Refusal::OtherBytes { named: file.sha256.clone(), found });
    }
    Ok(bytes)
}

/// SHA-256 as manifests and lock files have it.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Finds the item of each entry of the manifest, and refuses a library that is another plugin or has something else.
fn agree(manifest: &Manifest, contents: &Contents) -> Result<Vec<usize>, Refusal> {
    let version = manifest.version.to_string();
    if (contents.name, contents.version) != (manifest.name.as_str(), version.as_str()) {
        return Err(Refusal::Disagree(format!(
            "the library is {} {}, and the manifest {} {version}",
            contents.name, contents.version, manifest.name
        )));
    }
    let is_same = |provides: &Provides, identifiers: &Identifiers| {
        (provides.uri.as_deref(), provides.name.as_deref().unwrap_or(""), provides.id.as_deref())
            == (identifiers.uri, identifiers.name, identifiers.id)
            && provides.aliases.iter().eq(identifiers.aliases.iter())
    };
    let item = |provides: &Provides| {
        let found = contents.items.iter().position(|(identifiers, _, item)| {
            item.point() == provides.kind && is_same(provides, identifiers)
        });
        found.ok_or_else(|| {
            let names: Vec<_> = provides.identifiers().collect();
            Refusal::Disagree(format!(
                "the library has no {} with just the identifiers {}",
                provides.kind,
                names.join(", ")
            ))
        })
    };
    manifest.provides.iter().map(item).collect()
}
