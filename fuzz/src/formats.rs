//! The hierarchies of the format suite, as seeds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum size of a file in bytes. Larger files add nothing to the seeds.
const MOST: u64 = 4096;

/// Keys and values.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// Returns the small files of each hierarchy.
pub(crate) fn hierarchies() -> io::Result<Vec<Files>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/formats");
    let mut all = Vec::new();
    for format in ["v2", "draft", "v3"] {
        for folder in sorted(&root.join(format))?.into_iter().filter(|path| path.is_dir()) {
            let mut files = Files::new();
            add_files(&folder, "", &mut files)?;
            if !files.is_empty() {
                all.push(files);
            }
        }
    }
    Ok(all)
}

fn add_files(folder: &Path, prefix: &str, files: &mut Files) -> io::Result<()> {
    for path in sorted(folder)? {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() {
            add_files(&path, &format!("{prefix}{name}/"), files)?;
        } else if path.metadata()?.len() <= MOST {
            files.push((format!("{prefix}{name}"), fs::read(&path)?));
        }
    }
    Ok(())
}

pub(crate) fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}
