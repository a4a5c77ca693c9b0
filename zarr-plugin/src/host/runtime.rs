//! Runtimes for libraries that are not native code.

use zarr_spec::CodecPlugin;

use super::manifest::platform;
use super::refusal::Refusal;

/// Runs libraries of another platform. A crate submits it to `inventory`, and every [`super::Loader`] of a
/// program that links the crate uses it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Runtime {
    /// The name of the platform in manifests: `wasm32`.
    pub platform: &'static str,
    /// Whether a library is for this platform.
    pub recognises: fn(library: &[u8]) -> bool,
    /// Opens a library. Its code runs.
    pub open: fn(library: &[u8]) -> Result<Opened, Refusal>,
}

impl Runtime {
    /// Creates a runtime for the libraries of a platform.
    #[must_use]
    pub const fn new(
        platform: &'static str,
        recognises: fn(&[u8]) -> bool,
        open: fn(&[u8]) -> Result<Opened, Refusal>,
    ) -> Self {
        Self { platform, recognises, open }
    }
}

zarr_spec::inventory::collect!(Runtime);

/// The contents of a library that a [`Runtime`] opened. They live as long as the program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The major and the minor version of the ABI that the library uses.
    pub abi: (u16, u16),
    /// The name that the library reports.
    pub name: &'static str,
    /// MAJOR.MINOR.PATCH.
    pub version: &'static str,
    /// The SPDX expression of its license.
    pub license: &'static str,
    /// The compiler or program that built the library.
    pub build: &'static str,
    /// Its codecs. Their origin is ignored.
    pub codecs: Vec<CodecPlugin>,
}

impl Opened {
    /// Creates a library with these codecs. Its license and its compiler are unknown.
    #[must_use]
    pub const fn new(
        abi: (u16, u16),
        name: &'static str,
        version: &'static str,
        codecs: Vec<CodecPlugin>,
    ) -> Self {
        Self { abi, name, version, license: "", build: "", codecs }
    }
}

/// Returns the runtime of a platform, if one is linked.
pub(super) fn runtime(platform: &str) -> Option<&'static Runtime> {
    runtimes().find(|runtime| runtime.platform == platform)
}

/// Returns the platforms whose libraries this program can open, in order of preference.
pub(super) fn platforms() -> Vec<String> {
    let mut others: Vec<_> = runtimes().map(|runtime| runtime.platform.to_owned()).collect();
    others.sort();
    others.insert(0, platform());
    others
}

/// Returns the platform of a library.
pub(super) fn platform_of(library: &[u8]) -> String {
    let runtime = runtimes().find(|runtime| (runtime.recognises)(library));
    runtime.map_or_else(platform, |runtime| runtime.platform.to_owned())
}

fn runtimes() -> impl Iterator<Item = &'static Runtime> {
    zarr_spec::inventory::iter::<Runtime>.into_iter()
}
