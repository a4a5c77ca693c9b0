//! Reads and writes the files of the chunks with plain system calls.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use zarr_kit::Memory;
use zarr_peers::{Case, Failure, Ran, Task, timed, wanted_of_chunk};

use crate::on_threads;

/// Returns the files of an array that are chunks, with their sizes in bytes.
pub(crate) fn chunk_files(case: &Case) -> Result<Vec<(PathBuf, usize)>, Failure> {
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
        return Err("the array does not have stored chunks".into());
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
    if !case.boxes.is_empty() {
        return read_boxes(case, threads);
    }
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

/// The part of the file of a chunk that a box reads.
struct Part {
    file: PathBuf,
    /// `offset` is the first requested byte, `span` the number of bytes up to the last one, and `wanted` the number of
    /// requested bytes in between.
    offset: usize,
    span: usize,
    wanted: usize,
}

fn parts_of_boxes(case: &Case) -> Result<Vec<Part>, Failure> {
    let count: u64 = case.shape.iter().product();
    let item = fs::metadata(case.elements_file()?)?.len() / count;
    let mut parts = Vec::new();
    for index in case.chunk_indices() {
        let names = index.iter().map(u64::to_string);
        let file = names.fold(case.array_folder().join("c"), |folder, name| folder.join(name));
        for wanted in case.boxes.iter().filter_map(|ranges| wanted_of_chunk(ranges, &case.chunks, &index)) {
            let place = |end: fn(&[u64; 2]) -> u64| {
                let places = wanted.iter().zip(&case.chunks);
                places.fold(0, |place, (range, chunk)| place * chunk + end(range))
            };
            let first = place(|range| range[0]);
            let last = place(|range| range[1] - 1);
            let elements: u64 = wanted.iter().map(|[start, stop]| stop - start).product();
            parts.push(Part {
                file: file.clone(),
                offset: usize::try_from(first * item)?,
                span: usize::try_from((last + 1 - first) * item)?,
                wanted: usize::try_from(elements * item)?,
            });
        }
    }
    Ok(parts)
}

/// The number of bytes of one read call. This number of bytes fits into the second-level cache.
const SLAB: usize = 512 << 10;

/// Reads the bytes of each file from the first to the last that a box requests, through a buffer. Copies as many bytes
/// to new memory as the box requests.
fn read_boxes(case: &Case, threads: usize) -> Result<Box<dyn Task>, Failure> {
    let parts = parts_of_boxes(case)?;
    let total = parts.iter().map(|part| part.wanted).sum();
    Ok(Box::new(move || {
        let (_memory, seconds) = timed(|| {
            let mut memory = Memory::zeroed(total)?;
            let mut rest = &mut memory[..];
            let mut places = Vec::with_capacity(parts.len());
            for part in &parts {
                let (place, behind) = rest.split_at_mut(part.wanted);
                places.push((part, place));
                rest = behind;
            }
            on_threads(places, threads, |buffer: &mut Vec<u8>, (part, mut place)| {
                buffer.resize(SLAB, 0);
                let file = File::open(&part.file)?;
                for start in (0..part.span).step_by(SLAB) {
                    let slab = &mut buffer[..SLAB.min(part.span - start)];
                    file.read_exact_at(slab, (part.offset + start) as u64)?;
                    let (now, behind) = place.split_at_mut(slab.len().min(place.len()));
                    now.copy_from_slice(&slab[..now.len()]);
                    place = behind;
                }
                Ok(())
            })?;
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
