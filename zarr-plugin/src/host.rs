//! Loads plugins: searches for manifests, checks trust, and registers plugins.
//!
//! A [`Loader`] reads only manifests. A library is opened, and its code runs, when an extension is created by
//! one of its identifiers, and only if the [`Policy`] permits it. Metadata never names a library. Libraries are
//! never closed.
//!
//! ```no_run
//! use zarr_plugin::host::{Loader, Lock, Policy, Search};
//! use zarr_spec::Registry;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let lock = Lock::read("plugins.lock".as_ref())?;
//! let loader = Loader::new(&Search::from_environment(), Policy::Pinned, lock);
//! let mut registry = Registry::linked()?;
//! for passed_over in loader.register(&mut registry) {
//!     eprintln!("{passed_over}");
//! }
//! println!("{}", loader.explain("example.xor"));
//! # Ok(())
//! # }
//! ```

mod elf;
mod explanation;
mod files;
mod library;
mod loader;
mod lock;
mod manifest;
mod needs;
mod refusal;
mod registration;
mod runtime;
mod search;

pub use self::explanation::{Explained, Explanation, Verdict};
pub use self::files::sha256;
pub use self::library::Library;
pub use self::loader::{Candidate, Checked, Loader, Policy};
pub use self::lock::{Lock, LockError, LockFiles, Pin, Quarantined};
pub use self::manifest::{Abi, Conformance, LibraryFile, Manifest, Provides, platform};
pub use self::needs::{Needed, Needs};
pub use self::refusal::{PassedOver, Refusal};
pub use self::runtime::{Opened, Runtime};
pub use self::search::{Search, SearchPlace, Source};
