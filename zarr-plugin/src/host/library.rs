//! The contents of an open library, compared with its manifest.

use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{About, CodecPlugin, Identifiers};

use super::elf;
use super::manifest::{Manifest, Provides};
use super::needs::{Needed, open_needed};
use super::refusal::Refusal;
use super::runtime::runtime;
use crate::ffi::library::{Contents, Functions, OpenError, open};

/// An open library. It is never closed.
#[derive(Debug)]
pub struct Library {
    contents: Contents,
    /// The index of the item for each entry of the manifest.
    provided: Vec<usize>,
}

impl Library {
    /// Creates a library whose contents match its manifest.
    ///
    /// # Errors
    ///
    /// [`Refusal::Disagree`] if the name, the version or an item differs from the manifest.
    pub(super) fn of(manifest: &Manifest, contents: Contents) -> Result<Self, Refusal> {
        let provided = agree(manifest, &contents)?;
        Ok(Self { contents, provided })
    }

    /// Returns the major and the minor version of the ABI that the library uses.
    #[must_use]
    pub fn abi(&self) -> (u16, u16) {
        self.contents.abi
    }

    /// Returns the license that the library reports.
    #[must_use]
    pub fn license(&self) -> &str {
        self.contents.license
    }

    /// Returns the compiler or program that built the library, as the library reports it.
    #[must_use]
    pub fn build(&self) -> &str {
        self.contents.build
    }

    /// Returns the kind, the identifiers and the description of each item in the manifest.
    pub fn items(&self) -> impl Iterator<Item = (ExtensionPoint, &Identifiers, &About)> {
        self.provided.iter().map(|&item| {
            let (identifiers, about, functions) = &self.contents.items[item];
            (functions.point(), identifiers, about)
        })
    }

    pub(super) fn functions(&self, entry: usize) -> Option<&Functions> {
        Some(&self.contents.items.get(*self.provided.get(entry)?)?.2)
    }
}

/// Opens the library for `platform` and reads its contents. Its code and the code of the libraries that it needs
/// run. If there are `pins`, only these libraries may be used.
pub(super) fn contents(platform: &str, library: &[u8], pins: Option<&[Needed]>) -> Result<Contents, Refusal> {
    if let Some(runtime) = runtime(platform) {
        let opened = (runtime.open)(library)?;
        let item = |codec: CodecPlugin| (codec.identifiers, codec.about, Functions::RunCodec(codec));
        return Ok(Contents {
            abi: opened.abi,
            name: opened.name,
            version: opened.version,
            license: opened.license,
            build: opened.build,
            items: opened.codecs.into_iter().map(item).collect(),
        });
    }
    if let Some(what) = elf::wrong(library) {
        return Err(Refusal::Open(what));
    }
    open_needed(library, pins)?;
    open(library).map_err(|error| match error {
        OpenError::Loader(message) => Refusal::Open(message),
        OpenError::NoSymbol => Refusal::NoSymbol,
        OpenError::Major(major) => Refusal::AbiMajor(major),
        OpenError::Failed(failure) => Refusal::Failed(failure.message),
    })
}

/// Compares a library with its manifest. Returns the index of the item for each entry of the manifest.
fn agree(manifest: &Manifest, contents: &Contents) -> Result<Vec<usize>, Refusal> {
    let version = manifest.version.to_string();
    if (contents.name, contents.version) != (manifest.name.as_str(), version.as_str()) {
        return Err(Refusal::Disagree(format!(
            "the library is {} {}, but the manifest is for {} {version}",
            contents.name, contents.version, manifest.name
        )));
    }
    let is_same = |provides: &Provides, identifiers: &Identifiers| {
        (provides.uri.as_deref(), provides.name.as_deref(), provides.id.as_deref())
            == (identifiers.uri, identifiers.name, identifiers.id)
            && provides.aliases.iter().eq(identifiers.aliases.iter())
    };
    let item = |provides: &Provides| {
        let found = contents.items.iter().position(|(identifiers, _, functions)| {
            functions.point() == provides.kind && is_same(provides, identifiers)
        });
        let names = || provides.identifiers().collect::<Vec<_>>().join(", ");
        let found = found.ok_or_else(|| {
            let kind = provides.kind;
            let what = format!("the library does not have a {kind} with exactly the identifiers {}", names());
            Refusal::Disagree(what)
        })?;
        let actual = contents.items[found].1.decodes_only;
        if provides.decodes_only != actual {
            let declared = provides.decodes_only;
            return Err(Refusal::Disagree(format!(
                "`decodes_only` of {} is {declared}, but {actual} in the library",
                names()
            )));
        }
        Ok(found)
    };
    manifest.provides.iter().map(item).collect()
}
