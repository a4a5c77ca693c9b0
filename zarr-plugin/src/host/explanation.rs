//! Explains why an identifier is known or unknown.

use std::fmt;
use std::path::{Path, PathBuf};

use zarr_spec::{printable, printable_path};

use super::refusal::Refusal;
use super::search::{SearchPlace, Source};

/// The path of a manifest that may provide an identifier. `Err` is the reason why the manifest is not used.
pub type Verdict = (PathBuf, Result<(), Refusal>);

/// Why an identifier is known or unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The identifier.
    pub identifier: String,
    /// All places that were searched, in this order.
    pub places: Vec<Explained>,
}

/// The manifests in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explained {
    /// The folder or file that was searched.
    pub place: SearchPlace,
    /// The number of manifests in the place.
    pub manifests: usize,
    /// The manifests that provide the identifier, and those that cannot be read.
    pub verdicts: Vec<Verdict>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "`{}` was searched for in:", printable(&self.identifier))?;
        for Explained { place, manifests, verdicts } in &self.places {
            let source = match place.source {
                Source::Given => "given",
                Source::Variable => "ZARR_PLUGIN_PATH",
                Source::User => "your plugins",
                Source::System => "system plugins",
            };
            let empty = match (manifests, verdicts.as_slice()) {
                (0, _) => ": no manifest",
                (_, []) => ": no manifest that provides it",
                _ => "",
            };
            writeln!(f, "  {} ({source}){empty}", printable_path(&place.path))?;
            for (path, verdict) in verdicts {
                let name = printable_path(path.file_name().map_or(path.as_path(), Path::new));
                match verdict {
                    Ok(()) => writeln!(f, "    {name}: provides it")?,
                    Err(refusal) => writeln!(f, "    {name}: {refusal}")?,
                }
            }
        }
        Ok(())
    }
}
