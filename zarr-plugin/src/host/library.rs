//! What an open library has, and whether that is what its manifest says.

use zarr_spec::host::registry::ExtensionPoint;
use zarr_spec::{About, CodecPlugin, Identifiers};

use super::elf;
use super::manifest::{Manifest, Provides};
use super::needs::{Needed, open_needed};
use super::refusal::Refusal;
use super::runtime::runtime;
use crate::ffi::library::{Functions, OpenError, open};

/// A library that was opened, and stays open.
#[derive(Debug)]
pub struct Library {
    contents: Contents,
    /// For each entry of the manifest, which item it is.
    provided: Vec<usize>,
}

impl Library {
    /// # Errors
    ///
    /// [`Refusal::Disagree`] for a library that is another plugin than the manifest says, or has something else.
    pub(super) fn of(manifest: &Manifest, contents: Contents) -> Result<Self, Refusal> {
        let provided = agree(manifest, &contents)?;
        Ok(Self { contents, provided })
    }

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

/// What the library for `platform` has that these bytes are. Its code runs, and that of the libraries that it needs: those of
/// `pins`, if there are any.
pub(super) fn contents(platform: &str, library: &[u8], pins: Option<&[Needed]>) -> Result<Contents, Refusal> {
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
    if let Some(what) = elf::wrong(library) {
        return Err(Refusal::Open(what));
    }
    open_needed(library, pins)?;
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
        (provides.uri.as_deref(), provides.name.as_deref(), provides.id.as_deref())
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
