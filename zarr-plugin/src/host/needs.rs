//! The other libraries that a library needs.
//!
//! The dynamic loader opens them by name, from folders that are not part of the plugin. So a library with its
//! own search folders (RPATH, RUNPATH) is refused. Needed libraries, except those of the C and C++ compilers of
//! the system, are searched in the folders of the system only, hashed, and opened from a sealed copy before the
//! library itself. The loader then uses the open copy, because it identifies open libraries by their SONAME.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::elf::Links;
use super::files::{read_library, sha256, writable_by_others};
use super::refusal::Refusal;
use super::runtime::{platform_of, runtime};
use crate::ffi::system::{is_sealed, loaded, open_sealed};

/// The libraries of the C and C++ compilers of the system. They are not pinned, because almost every program on the
/// system uses them.
const SYSTEM: [&str; 7] = [
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
];

/// The largest number of libraries that a plugin may need.
const MAX_NEEDED: usize = 64;

/// The libraries that a library needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// The minimum version of the C library, such as `2.34`.
    pub glibc: Option<String>,
    /// The needed libraries of the compilers of the system.
    pub system: Vec<String>,
    /// All other needed libraries, including those that needed libraries need. In this list, a library follows the
    /// libraries that it needs.
    pub others: Vec<Needed>,
}

/// A library that a plugin needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needed {
    /// Its SONAME.
    pub name: String,
    /// The path with links resolved.
    pub path: PathBuf,
    /// SHA-256 of the file.
    pub sha256: String,
}

impl Needs {
    /// Finds the libraries that a library needs. No code runs.
    ///
    /// # Errors
    ///
    /// [`Refusal::Needs`] if the library has its own search folders, or a needed library cannot be found or pinned.
    pub fn of_library(library: &[u8]) -> Result<Self, Refusal> {
        if runtime(&platform_of(library)).is_some() {
            return Ok(Self::default());
        }
        Ok(Resolver::resolve(library, None)?.needs)
    }
}

/// Opens the libraries that a library needs, so that the dynamic loader uses exactly these. If there are
/// `pins`, only these files may be used.
pub(super) fn open_needed(library: &[u8], pins: Option<&[Needed]>) -> Result<(), Refusal> {
    for (needed, bytes) in Resolver::resolve(library, pins)?.files {
        let is_open = |path: &Path| pins.is_none() || is_copy(path, &needed.sha256);
        match loaded(&needed.name) {
            Some(path) if is_open(&path) => continue,
            Some(path) => return Err(in_use(&needed.name, &path)),
            None => {}
        }
        let opened = open_sealed(&bytes).map_err(|error| {
            Refusal::Needs(format!("it needs {}, which cannot be opened: {error}", needed.path.display()))
        })?;
        // Like the library of a plugin, a needed library is never closed.
        std::mem::forget((opened.library, opened.file));
        let now = loaded(&needed.name).unwrap_or_default();
        if !is_copy(&now, &needed.sha256) {
            return Err(in_use(&needed.name, &now));
        }
    }
    Ok(())
}

/// Returns whether a loaded library is the sealed copy of the file with this hash.
fn is_copy(path: &Path, hash: &str) -> bool {
    is_sealed(path) && read_library(path).is_ok_and(|bytes| sha256(&bytes) == hash)
}

fn in_use(name: &str, path: &Path) -> Refusal {
    Refusal::Needs(format!(
        "it needs {name}, but this program has already loaded another file: {}",
        path.display()
    ))
}

/// Finds the libraries that a library needs, including indirect ones.
#[derive(Debug)]
struct Resolver<'p> {
    pins: Option<&'p [Needed]>,
    needs: Needs,
    /// The bytes of `needs.others`.
    files: Vec<(Needed, Vec<u8>)>,
    /// The libraries whose needs are being resolved.
    pending: Vec<String>,
}

impl<'p> Resolver<'p> {
    fn resolve(library: &[u8], pins: Option<&'p [Needed]>) -> Result<Self, Refusal> {
        let mut resolver = Self { pins, needs: Needs::default(), files: Vec::new(), pending: Vec::new() };
        let links = Links::read(library).map_err(Refusal::Open)?;
        resolver.needs.glibc.clone_from(&links.glibc);
        resolver.add(&links, "its library")?;
        resolver.needs.others = resolver.files.iter().map(|(needed, _)| needed.clone()).collect();
        resolver.needs.system.sort();
        Ok(resolver)
    }

    /// Adds the needs of a library. `whose` names the library in messages.
    fn add(&mut self, links: &Links, whose: &str) -> Result<(), Refusal> {
        if let Some((tag, folders)) = links.search_paths.first() {
            return Err(Refusal::Needs(format!(
                "{whose} has {tag} `{folders}`, a list of search folders: a file in them could run without having been hashed; \
                 `patchelf --remove-rpath` removes it"
            )));
        }
        links.needed.iter().try_for_each(|name| self.add_needed(name))
    }

    fn add_needed(&mut self, name: &str) -> Result<(), Refusal> {
        if is_of_system(name) {
            if !self.needs.system.iter().any(|known| known == name) {
                self.needs.system.push(name.to_owned());
            }
            return Ok(());
        }
        if self.files.iter().any(|(known, _)| known.name == name) {
            return Ok(());
        }
        if self.pending.iter().any(|known| known == name) {
            return Err(Refusal::Needs(format!("it needs {name}, which depends on itself")));
        }
        if self.files.len() + self.pending.len() >= MAX_NEEDED {
            return Err(Refusal::Needs(format!("it needs more than {MAX_NEEDED} libraries")));
        }
        let Some((needed, bytes)) = self.found(name)? else { return Ok(()) };
        let links = Links::read(&bytes).map_err(Refusal::Open)?;
        if links.soname.as_deref() != Some(name) {
            return Err(Refusal::Needs(format!(
                "it needs {name}, but the SONAME of {} is {}",
                needed.path.display(),
                links.soname.as_deref().unwrap_or("missing")
            )));
        }
        self.pending.push(name.to_owned());
        self.add(&links, name)?;
        self.pending.pop();
        self.files.push((needed, bytes));
        Ok(())
    }

    /// Returns the file of a needed library: the pinned file, or without pins, the file in the folders of the system.
    /// Returns `None` if these folders do not have it, but the program has already loaded the library.
    fn found(&self, name: &str) -> Result<Option<(Needed, Vec<u8>)>, Refusal> {
        let Some(pins) = self.pins else { return in_system_folders(name) };
        let pin = pins.iter().find(|pin| pin.name == name);
        let pin = pin.ok_or_else(|| {
            Refusal::Needs(format!(
                "it needs {name}, which was not trusted with it; `zarrctl plugins trust` trusts both"
            ))
        })?;
        let (needed, bytes) = read(name, &pin.path)?;
        if needed.sha256 != pin.sha256 {
            return Err(Refusal::Needs(format!(
                "it needs {}, which is not the file that was trusted with it: SHA-256 is {}, and plugins.lock has {}; \
                 `zarrctl plugins trust` trusts the new one",
                pin.path.display(),
                needed.sha256,
                pin.sha256
            )));
        }
        Ok(Some((needed, bytes)))
    }
}

fn is_of_system(name: &str) -> bool {
    SYSTEM.contains(&name)
        || (name.starts_with("ld-linux") || name.starts_with("ld64.so")) && !name.contains('/')
}

/// Returns the folders of the libraries of the system, in the order of the search.
fn system_folders() -> [String; 8] {
    let of_machine = |folder: &str| format!("{folder}/{}-linux-gnu", std::env::consts::ARCH);
    let folder = |folder: &str| folder.to_owned();
    [
        of_machine("/usr/local/lib"),
        folder("/usr/local/lib"),
        of_machine("/lib"),
        of_machine("/usr/lib"),
        folder("/lib64"),
        folder("/usr/lib64"),
        folder("/lib"),
        folder("/usr/lib"),
    ]
}

fn in_system_folders(name: &str) -> Result<Option<(Needed, Vec<u8>)>, Refusal> {
    let is_name = !name.is_empty() && !name.contains('/');
    let folders = system_folders();
    let mut paths = folders.iter().map(|folder| Path::new(folder).join(name));
    match paths.find(|path| is_name && path.is_file()) {
        Some(path) => read(name, &path).map(Some),
        None if is_name && loaded(name).is_some() => Ok(None),
        None => Err(Refusal::Needs(format!(
            "it needs {name}, which is not in a folder of the system ({}); link it statically or install it there",
            folders.join(", ")
        ))),
    }
}

fn read(name: &str, path: &Path) -> Result<(Needed, Vec<u8>), Refusal> {
    let unreadable = |message: String| {
        Refusal::Needs(format!("it needs {}, which cannot be read: {message}", path.display()))
    };
    let path = path.canonicalize().map_err(|error| unreadable(error.to_string()))?;
    if let Some(path) = writable_by_others(&path) {
        return Err(Refusal::WritableByOthers(path));
    }
    let bytes = read_library(&path).map_err(|refusal| unreadable(refusal.to_string()))?;
    Ok((Needed { name: name.to_owned(), sha256: sha256(&bytes), path }, bytes))
}
