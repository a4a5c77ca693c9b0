//! The files of the chunks, read and written by plain calls.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use zarr_kit::Memory;
use zarr_peers::{Case, Failure, Ran, Task, timed};

use crate::on_threads;

/// The files of an array that are chunks, with their sizes.
fn chunk_files(case: &Case) -> Result<Vec<(PathBuf, usize)>, Failure> {
    let mut files = Vec::new();
    let mut open = vec![case.array_folder()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() {
                open.push(path);
            } else if !is_document(&path) {
                let size = usize::try_from(fs::metadata(&path)?.len())?;
                files.push((path, size));
            }
        }
    }
    files.sort();
    if files.is_empty() {
        return Err("the array has no chunks".into());
    }
    Ok(files)
}

fn is_document(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "zarr.json" || name.to_string_lossy().starts_with(".z"))
}

fn total(files: &[(PathBuf, usize)]) -> usize {
    files.iter().map(|(_, size)| size).sum()
}

pub(crate) fn read(case: &Case, threads: usize) -> Result<Box<dyn Task>, Failure> {
    let files = chunk_files(case)?;
    Ok(Box::new(move || {
        let (_memory, seconds) = timed(|| {
            let mut memory = Memory::zeroed(total(&files))?;
            fill(&files, &mut memory, threads)?;
            Ok::<_, Failure>(memory)
        })?;
        Ok(Ran { seconds, checksum: 0 })
    }))
}

pub(crate) fn read_kept(case: &Case, threads: usize) -> Result<Box<dyn Task>, Failure> {
    let files = chunk_files(case)?;
    let mut kept = Memory::zeroed(total(&files))?;
    kept.fill(1);
    Ok(Box::new(move || {
        let ((), seconds) = timed(|| fill(&files, &mut kept, threads))?;
        Ok(Ran { seconds, checksum: 0 })
    }))
}

fn fill(files: &[(PathBuf, usize)], mut memory: &mut [u8], threads: usize) -> Result<(), Failure> {
    let mut parts = Vec::with_capacity(files.len());
    for (path, size) in files {
        let (part, rest) = memory.split_at_mut(*size);
        parts.push((path, part));
        memory = rest;
    }
    on_threads(parts, threads, |(), (path, part)| Ok(File::open(path)?.read_exact(part)?))
}

pub(crate) fn write(case: &Case, threads: usize) -> Result<Box<dyn Task>, Failure> {
    let files = chunk_files(case)?;
    let mut source = Memory::zeroed(total(&files))?;
    fill(&files, &mut source, threads)?;
    let folder = case.folder.join("floor");
    let named: Vec<(PathBuf, usize)> = files
        .iter()
        .enumerate()
        .map(|(number, (_, size))| (folder.join(number.to_string()), *size))
        .collect();
    Ok(Box::new(move || {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let mut rest = &source[..];
        let mut parts = Vec::with_capacity(named.len());
        for (path, size) in &named {
            let (part, behind) = rest.split_at(*size);
            parts.push((path, part));
            rest = behind;
        }
        let ((), seconds) = timed(|| {
            on_threads(parts, threads, |(), (path, part)| Ok(File::create(path)?.write_all(part)?))
        })?;
        fs::remove_dir_all(&folder)?;
        Ok(Ran { seconds, checksum: 0 })
    }))
}
