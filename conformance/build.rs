//! Lists the stored examples of the format suite, so that the installed library contains them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=formats");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("formats");
    let mut files = Vec::new();
    for format in ["v2", "draft", "v3"] {
        collect(&folder.join(format), &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&folder).map_err(io::Error::other)?;
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        writeln!(list, "({:?}, include_bytes!({file:?})),", parts.join("/")).map_err(io::Error::other)?;
    }
    list.push(']');
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("format_examples.rs"), list)
}

/// Collects every file below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
