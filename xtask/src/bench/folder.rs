//! The folder that everything is written to, and what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use super::datasets::Dataset;

/// What the names of folders of comparisons begin with; the number of the process follows.
const PREFIX: &str = "zarr-peers-";

/// A folder that goes with this program.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new one in `parent`, from which those of comparisons that were interrupted are removed.
    pub(crate) fn new(parent: &Path) -> Result<Self, String> {
        remove_left_over(parent)?;
        let folder = parent.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.0) {
            eprintln!("xtask: {error}");
        }
    }
}

/// Removes what comparisons that were interrupted have left: of processes that are no more.
fn remove_left_over(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// A folder with nothing but a group in it.
pub(crate) fn write_group(folder: &Path, dataset: &Dataset) -> Result<(), String> {
    remove(folder)?;
    let (name, document) = dataset.group();
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(folder.join(name), document.to_string()))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

pub(crate) fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Bytes of all files below a folder.
pub(crate) fn size_below(folder: &Path) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut size = 0;
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let metadata = entry.metadata().map_err(failed)?;
            if metadata.is_dir() {
                open.push(entry.path());
            } else {
                size += metadata.len();
            }
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interrupted_comparison_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        // No process has the largest number there is.
        let gone = folder.path().join(format!("{PREFIX}{}", u32::MAX));
        let ours = folder.path().join(format!("{PREFIX}{}", std::process::id()));
        let other = folder.path().join("zarr-peers-of-somebody");
        for folder in [&gone, &ours, &other] {
            fs::create_dir(folder).unwrap();
        }
        remove_left_over(folder.path()).unwrap();
        assert_eq!([&gone, &ours, &other].map(|folder| folder.exists()), [false, true, true]);
    }
}
