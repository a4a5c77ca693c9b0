//! Support code that the tests of this crate share: Python environments and the data they wrote, the raw form
//! of elements, random selections and a reference implementation of selections, stores and arrays in memory,
//! a store that counts calls, a store with latency, a browser.
//!
//! None of this is for programs: every failure panics with a message, so that the calling test fails.
#![expect(clippy::exhaustive_enums, reason = "the crate is not published")]

pub mod book;
pub mod browser;
pub mod cases;
pub mod counting;
pub mod documents;
pub mod environment;
pub mod far;
pub mod forks;
pub mod icechunk;
pub mod in_memory;
pub mod nginx;
pub mod program;
pub mod random;
pub mod raw;
pub mod reading;
pub mod reference;
pub mod samples;
pub mod stopping;
pub mod v3;
pub mod wild;

pub use browser::Browser;
pub use cases::Case;
pub use counting::{Calls, CountingStore};
pub use environment::{Azurite, Packages, Writer, azurite, python, skip, written};
pub use far::{FarStore, Trips};
pub use forks::Forks;
pub use icechunk::{icechunk, with_icechunk};
pub use in_memory::{created, memory};
pub use program::zarrctl;
pub use random::Random;
pub use stopping::StoppingStore;

/// Returns the key with this text.
///
/// # Panics
///
/// If the text is not a valid key.
#[must_use]
#[expect(clippy::expect_used, reason = "the text is part of a test")]
pub fn key(text: &str) -> zarr_kit::spec::Key {
    zarr_kit::spec::Key::new(text.to_owned()).expect("a key")
}

/// Returns the texts of the warnings of a hierarchy.
#[must_use]
pub fn warnings(hierarchy: &zarr_kit::Hierarchy) -> Vec<String> {
    hierarchy.warnings().iter().map(ToString::to_string).collect()
}
