//! The store that contains the hierarchy of a dataset, if it is not the folder of the dataset.

use serde::Serialize;

use super::programs::Program;

/// A kind of store, in a file or a folder inside of the folder of the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Container {
    /// An Icechunk repository.
    Icechunk,
    /// A zip archive of the files in the folder.
    Zip,
    /// References to the files in the folder, in the JSON of kerchunk.
    Reference,
    Lmdb,
    Redb,
}

impl Container {
    /// Returns whether a program opens such a store. zarr-python opens archives and references on servers through fsspec;
    /// only it has a package for Icechunk. Databases are compared with the files of this engine.
    pub(crate) fn is_opened_by(self, program: Program) -> bool {
        use Program::{Baseline, Tensorstore, ZarrKit, ZarrPython, ZarrPythonFused};
        let others: &[Program] = match self {
            Self::Icechunk => &[ZarrPython],
            Self::Zip => &[Tensorstore, ZarrPython, ZarrPythonFused],
            Self::Reference => &[ZarrPython, ZarrPythonFused],
            Self::Lmdb | Self::Redb => &[],
        };
        matches!(program, ZarrKit | Baseline) || others.contains(&program)
    }

    /// Returns whether the store is made from files that were written before. Otherwise programs write to the store.
    pub(crate) fn is_made_from_files(self) -> bool {
        matches!(self, Self::Zip | Self::Reference)
    }
}
