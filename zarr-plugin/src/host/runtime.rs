//! Libraries that are no code of this machine, and what runs them.

use zarr_spec::CodecPlugin;

use super::manifest::platform;
use super::refusal::Refusal;

/// Runs libraries of a platform that is none of this machine's. A crate that has one submits it to `inventory`, and
/// every [`super::Loader`] of a program that links the crate knows it.
#[derive(Debug)]
pub struct Runtime {
    /// What manifests call the platform: `wasm32`.
    pub platform: &'static str,
    /// Whether a library is one for it.
    pub recognises: fn(library: &[u8]) -> bool,
    /// Opens a library. Its code runs.
    pub open: fn(library: &[u8]) -> Result<Opened, Refusal>,
}

zarr_spec::inventory::collect!(Runtime);

/// What a library has that a [`Runtime`] has opened. It stays as long as the program.
#[derive(Debug)]
pub struct Opened {
    /// Major and minor version of the ABI that it speaks.
    pub abi: (u16, u16),
    /// Its name, as the library says itself.
    pub name: &'static str,
    /// MAJOR.MINOR.PATCH.
    pub version: &'static str,
    /// As SPDX has it.
    pub license: &'static str,
    /// What it was built with.
    pub build: &'static str,
    /// Its codecs. Their origin is not looked at.
    pub codecs: Vec<CodecPlugin>,
}

/// The runtime of a platform, if one is linked.
pub(super) fn runtime(platform: &str) -> Option<&'static Runtime> {
    runtimes().find(|runtime| runtime.platform == platform)
}

/// The platforms whose libraries this program can open, the best one first.
pub(super) fn platforms() -> Vec<String> {
    let mut others: Vec<_> = runtimes().map(|runtime| runtime.platform.to_owned()).collect();
    others.sort();
    others.insert(0, platform());
    others
}

/// The platform that a library is for.
pub(super) fn platform_of(library: &[u8]) -> String {
    let runtime = runtimes().find(|runtime| (runtime.recognises)(library));
    runtime.map_or_else(platform, |runtime| runtime.platform.to_owned())
}

fn runtimes() -> impl Iterator<Item = &'static Runtime> {
    zarr_spec::inventory::iter::<Runtime>.into_iter()
}
