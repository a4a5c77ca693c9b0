//! The places where manifests are searched. They never include the working directory or the library folders of
//! the system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::files::refused_folder;
use super::refusal::Refusal;
use crate::ffi::system::variable;

/// Why a place is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "programs explain every source")]
pub enum Source {
    /// The user of the program named the place.
    Given,
    /// The variable `ZARR_PLUGIN_PATH`.
    Variable,
    /// The data folder of the user.
    User,
    /// A folder of the system.
    System,
}

/// A folder with manifests, or one manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchPlace {
    /// Why the place is searched.
    pub source: Source,
    /// The path.
    pub path: PathBuf,
}

/// Places in the order of the search. If several places have a plugin of the same name, the plugin in the first of
/// these places is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    places: Vec<SearchPlace>,
    given: usize,
    left_out: Vec<PathBuf>,
}

impl SearchPlace {
    /// Returns the reason why no plugin in this place is used, if other users may write to the folder.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        refused_folder(&self.path)
    }
}

impl Search {
    /// Creates a search without places.
    #[must_use]
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// Returns a search of `ZARR_PLUGIN_PATH`, the folder of the user and the folders of the system, in this order.
    ///
    /// A program with more rights than the user who started it, such as a set-uid program, does not read
    /// variables: it searches only the folders of the system.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(variable)
    }

    /// Returns a search like [`Search::from_environment`]. `variable` returns the values of environment variables.
    /// Skips paths that are not absolute, because they are relative to the working directory.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut search = Self::nowhere();
        let mut add = |source, path: PathBuf| match path.is_absolute() {
            true => search.places.push(SearchPlace { source, path }),
            false => search.left_out.push(path),
        };
        for path in variable("ZARR_PLUGIN_PATH").iter().flat_map(std::env::split_paths) {
            add(Source::Variable, path);
        }
        let home = || Some(PathBuf::from(variable("HOME")?).join(".local/share"));
        let user =
            variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or_else(home);
        if let Some(user) = user {
            add(Source::User, user.join("zarr/plugins"));
        }
        add(Source::System, "/usr/local/lib/zarr/plugins".into());
        add(Source::System, "/usr/lib/zarr/plugins".into());
        search
    }

    /// Adds `path`, a folder or a manifest that the user named. It is searched after the places that the user named
    /// before, and before all other places.
    #[must_use]
    pub fn given(mut self, path: impl AsRef<Path>) -> Self {
        let place = SearchPlace { source: Source::Given, path: path.as_ref().to_owned() };
        self.places.insert(self.given, place);
        self.given += 1;
        self
    }

    /// Returns the paths of `ZARR_PLUGIN_PATH` that are not absolute. They are not searched.
    #[must_use]
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// Returns the plugin folder of the user, if the environment defines it.
    #[must_use]
    pub fn user_folder(&self) -> Option<&Path> {
        let user = self.places.iter().find(|place| place.source == Source::User);
        user.map(|place| place.path.as_path())
    }

    /// Returns the places in order.
    #[must_use]
    pub fn places(&self) -> &[SearchPlace] {
        &self.places
    }
}
