//! Fuzz targets: functions that take any bytes, and panic if the framework misbehaves.
//!
//! `README.md` describes how to run them and where findings are stored. The targets for plugins are in
//! [`zarr_conformance::fuzz`].

use std::path::{Path, PathBuf};
use std::{fs, io};

mod archives;
mod damage;
mod documents;
mod far;
mod formats;
mod hierarchies;
mod n5;
mod peers;
mod plugins;
mod program;
mod references;
mod selections;
mod shards;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name in commands and of the folder of its inputs.
    pub name: &'static str,
    /// Runs an input. Panics if the framework misbehaves.
    pub run: fn(&[u8]),
    /// Returns the seeds.
    pub seeds: fn() -> io::Result<Vec<Vec<u8>>>,
}

/// All targets, sorted by name.
pub const TARGETS: &[Target] = &[
    Target { name: "archives", run: archives::run, seeds: archives::seeds },
    Target { name: "chunk-keys", run: plugins::chunk_keys, seeds: plugins::chunk_key_seeds },
    Target { name: "codec-decode", run: plugins::decode, seeds: plugins::decode_seeds },
    Target { name: "codec-round-trip", run: plugins::round_trip, seeds: plugins::round_trip_seeds },
    Target { name: "configurations", run: plugins::configurations, seeds: plugins::configuration_seeds },
    Target { name: "data-types", run: plugins::data_types, seeds: plugins::data_type_seeds },
    Target { name: "documents", run: documents::documents, seeds: documents::seeds },
    Target { name: "hierarchies", run: hierarchies::run, seeds: hierarchies::seeds },
    Target { name: "json", run: documents::json, seeds: documents::json_seeds },
    Target { name: "manifests", run: plugins::manifests, seeds: plugins::manifest_seeds },
    Target { name: "metadata-encodings", run: plugins::metadata, seeds: plugins::metadata_seeds },
    Target { name: "n5", run: n5::run, seeds: n5::seeds },
    Target { name: "program", run: program::run, seeds: program::seeds },
    Target { name: "references", run: references::run, seeds: references::seeds },
    Target { name: "selections", run: selections::run, seeds: selections::seeds },
    Target { name: "shards", run: shards::run, seeds: shards::seeds },
];

impl Target {
    /// Returns the target with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Returns the folder of its inputs.
    #[must_use]
    pub fn corpus(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }

    /// Creates `folder` and writes the seeds to it.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub fn write_seeds(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let seeds = (self.seeds)()?;
        let mut files = seeds.iter().enumerate();
        files.try_for_each(|(number, seed)| fs::write(folder.join(format!("seed-{number:05}")), seed))
    }
}
