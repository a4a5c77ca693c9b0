//! Manifests: the name and the contents of a plugin.

use std::collections::BTreeMap;

use semver::Version;
use serde::{Deserialize, Serialize, Serializer};
use zarr_json::printable::is_printable;
use zarr_spec::host::registry::ExtensionPoint;

use super::files::sha256;
use super::library::contents;
use super::refusal::{Refusal, toml_problem};
use super::runtime::platform_of;
use crate::ffi::library::Contents;

/// A manifest: `NAME.toml`. Unknown members are an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Manifest {
    /// The version of the manifest format: 1.
    pub manifest_version: u32,
    /// The name of the plugin: lower case letters, digits, `-` and `_`.
    pub name: String,
    /// The version of the plugin.
    pub version: Version,
    /// The SPDX expression of its license.
    pub license: String,
    /// The version of the ABI that the library uses.
    pub abi: Abi,
    /// The library, by [`platform`].
    pub library: BTreeMap<String, LibraryFile>,
    /// The extensions of the library.
    pub provides: Vec<Provides>,
    /// The conformance suite that the plugin passes, as its author declares.
    pub conformance: Option<Conformance>,
}

/// A version of the ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Abi {
    /// The major version, which must be the major version of the program.
    pub major: u16,
    /// The minor version. Features that are newer than the program are not used.
    pub minor: u16,
}

/// A library for one platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LibraryFile {
    /// The path relative to the folder of the manifest. It does not leave the folder.
    pub path: String,
    /// SHA-256 of the file: 64 lower case hexadecimal digits.
    pub sha256: String,
}

/// One extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Provides {
    /// `codec`, `data_type`, `chunk_grid`, `chunk_key_encoding`, `memory_layout`, `metadata_encoding`,
    /// `storage_transformer`, `extension` or `store`.
    #[serde(deserialize_with = "point", serialize_with = "kind")]
    pub kind: ExtensionPoint,
    /// The URI in the v3 draft.
    pub uri: Option<String>,
    /// The name in final v3.
    pub name: Option<String>,
    /// The id in v2.
    pub id: Option<String>,
    /// Further names and URIs that are read. For a store, the schemes of its URLs, each followed by `:`; the
    /// alias `:` stands for paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The purpose of the extension, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Whether the extension is a codec that only decodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decodes_only: bool,
}

/// The tests that a plugin passes, as its author declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Conformance {
    /// The version of the suite.
    pub suite: String,
    /// The level of the suite that the plugin passes.
    pub level: String,
}

const KINDS: [(&str, ExtensionPoint); 9] = [
    ("codec", ExtensionPoint::Codec),
    ("data_type", ExtensionPoint::DataType),
    ("chunk_grid", ExtensionPoint::ChunkGrid),
    ("chunk_key_encoding", ExtensionPoint::ChunkKeyEncoding),
    ("memory_layout", ExtensionPoint::MemoryLayout),
    ("metadata_encoding", ExtensionPoint::MetadataEncoding),
    ("storage_transformer", ExtensionPoint::StorageTransformer),
    ("extension", ExtensionPoint::GenericExtension),
    ("store", ExtensionPoint::Store),
];

fn point<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ExtensionPoint, D::Error> {
    let kind = String::deserialize(deserializer)?;
    let found = KINDS.into_iter().find(|(name, _)| *name == kind);
    found.map(|(_, point)| point).ok_or_else(|| {
        let names = KINDS.map(|(name, _)| name).join(", ");
        serde::de::Error::custom(format!("unknown kind `{kind}` (expected {names})"))
    })
}

fn kind<S: Serializer>(point: &ExtensionPoint, serializer: S) -> Result<S::Ok, S::Error> {
    let found = KINDS.into_iter().find(|(_, known)| known == point);
    let (kind, _) = found.ok_or_else(|| serde::ser::Error::custom(format!("{point} cannot be loaded")))?;
    serializer.serialize_str(kind)
}

impl Provides {
    /// Returns the identifiers in all formats.
    pub fn identifiers(&self) -> impl Iterator<Item = &str> {
        let own = [&self.uri, &self.name, &self.id].into_iter().flatten();
        own.chain(&self.aliases).map(String::as_str)
    }
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// If it is invalid. The error is a sentence with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        /// The only member that is read before the version is known, because other versions may have other members.
        #[derive(Deserialize)]
        struct AnyVersion {
            manifest_version: u32,
        }
        let toml = |error: toml::de::Error| toml_problem(text, &error);
        let AnyVersion { manifest_version } = toml::from_str(text).map_err(toml)?;
        if manifest_version != 1 {
            return Err(format!("unknown manifest version {manifest_version} (expected 1)"));
        }
        let manifest: Self = toml::from_str(text).map_err(toml)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Creates the manifest of a library for this machine or for a linked runtime. The code of the library runs,
    /// because the manifest is built from the description that the library returns. `path` is the path of the library
    /// relative to the manifest.
    ///
    /// # Errors
    ///
    /// If the library cannot be loaded.
    pub fn of_library(library: &[u8], path: &str) -> Result<Self, Refusal> {
        let platform = platform_of(library);
        Self::of_contents(&contents(&platform, library, None)?, platform, library, path)
    }

    /// Creates the manifest of an open library.
    pub(super) fn of_contents(
        contents: &Contents,
        platform: String,
        library: &[u8],
        path: &str,
    ) -> Result<Self, Refusal> {
        let owned = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(ToOwned::to_owned);
        let provides = contents.items.iter().map(|(identifiers, about, functions)| Provides {
            kind: functions.point(),
            uri: owned(identifiers.uri),
            name: owned(identifiers.name),
            id: owned(identifiers.id),
            aliases: identifiers.aliases.iter().map(|&alias| alias.to_owned()).collect(),
            summary: about.summary.to_owned(),
            decodes_only: about.decodes_only,
        });
        let version = contents.version.parse().map_err(|error| {
            Refusal::Manifest(format!("version `{}`: {error}", contents.version.escape_debug()))
        })?;
        let (major, minor) = contents.abi;
        let file = LibraryFile { path: path.to_owned(), sha256: sha256(library) };
        let manifest = Self {
            manifest_version: 1,
            name: contents.name.to_owned(),
            version,
            license: contents.license.to_owned(),
            abi: Abi { major, minor },
            library: BTreeMap::from([(platform, file)]),
            provides: provides.collect(),
            conformance: None,
        };
        manifest.check().map_err(Refusal::Manifest)?;
        Ok(manifest)
    }

    /// Returns the text that [`Manifest::parse`] reads.
    ///
    /// # Errors
    ///
    /// For a kind that cannot be loaded.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    fn check(&self) -> Result<(), String> {
        let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_".contains(it);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(is_plain) {
            return Err(format!(
                "name `{}` is not 1 to 64 lower case letters, digits, `-` and `_`",
                self.name.escape_debug()
            ));
        }
        if self.provides.is_empty() {
            return Err("it does not provide an extension".to_owned());
        }
        for (number, provides) in self.provides.iter().enumerate() {
            if provides.uri.is_none() && provides.name.is_none() && provides.id.is_none() {
                return Err(format!("provides[{number}] does not have a uri, name or id"));
            }
            if let Some(wrong) =
                provides.identifiers().find(|text| text.is_empty() || !text.chars().all(is_printable))
            {
                return Err(format!("provides[{number}]: `{}` is not an identifier", wrong.escape_debug()));
            }
            if !provides.summary.chars().all(is_printable) {
                return Err(format!("provides[{number}]: its summary has characters that are not printable"));
            }
            let is_scheme = |alias: &String| alias.strip_suffix(':').is_some_and(|name| !name.contains(':'));
            if provides.kind == ExtensionPoint::Store
                && (provides.name.is_none() || !provides.aliases.iter().all(is_scheme))
            {
                return Err(format!(
                    "provides[{number}]: a store must have a name, and aliases that are schemes followed by `:`"
                ));
            }
        }
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        for (platform, file) in &self.library {
            if file.sha256.len() != 64 || !file.sha256.bytes().all(is_digit) {
                return Err(format!("library.{platform}: sha256 is not 64 lower case hexadecimal digits"));
            }
        }
        Ok(())
    }
}

/// Returns the name of this machine in manifests: `linux_amd64`.
#[must_use]
pub fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}_{architecture}", std::env::consts::OS)
}
