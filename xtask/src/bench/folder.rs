//! The folder of the comparison and its contents.

use std::fs;
use std::path::{Path, PathBuf};

use super::datasets::Dataset;

/// The prefix of the names of folders of comparisons, before the process id.
const PREFIX: &str = "zarr-peers-";

/// A folder that is removed when the comparison ends.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a folder in `parent`, and removes the folders of interrupted comparisons there.
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

/// Removes the folders of interrupted comparisons, whose processes have ended.
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

/// Creates a folder that contains only a group.
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

/// Returns the size of all files below a folder in bytes.
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
    fn only_folders_of_interrupted_comparisons_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        // No process has the largest possible id.
        let gone = folder.path().join(format!("{PREFIX}{}", u32::MAX));
        let ours = folder.path().join(format!("{PREFIX}{}", std::process::id()));
        let other = folder.path().join("zarr-peers-of-a-user");
        for folder in [&gone, &ours, &other] {
            fs::create_dir(folder).unwrap();
        }
        remove_left_over(folder.path()).unwrap();
        assert_eq!([&gone, &ours, &other].map(|folder| folder.exists()), [false, true, true]);
    }
}
