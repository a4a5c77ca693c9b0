//! Checks the chunks of an array.

use std::collections::BTreeSet;

use zarr_engine::{Array, ElementArray, Error, ErrorKind};
use zarr_spec::{ArraySubset, Codec, CodecChain, Size};

use super::census::ChunkState;
use super::manifest::compare_values;
use super::report::chain;
use super::{ArrayReport, Census, Checks, Finding, FindingKind, Level};
use crate::boxes::{Boxes, divided};
use crate::digest::{below, hash};
use crate::elements::Stream;
use crate::settings::Settings;
use crate::sums::ValueSum;

/// The number of chunks whose sizes are requested together.
const TOGETHER: usize = 4096;

/// The size in bytes of the elements that are compared with the fill value together.
const PORTION: usize = 4 << 10;

/// The most missing chunks that are listed.
const MAX_MISSING: usize = 1000;

/// Checks the chunks of an array.
pub(super) fn check(array: &Array, checks: &Checks, settings: &Settings) -> Result<ArrayReport, Error> {
    let array = array.with_progress(&settings.progress);
    let census = Census::new(array.chunk_grid().grid_shape(), array.chunk_count());
    let report = ArrayReport {
        path: array.path().to_string(),
        format: array.metadata().format.to_string(),
        census,
        findings: Vec::new(),
    };
    let mut check = Check { array: &array, checks, settings, report, damaged: BTreeSet::new() };
    if checks.level >= Level::Present {
        check.run()?;
    }
    Ok(check.report)
}

/// A check of one array.
struct Check<'a> {
    array: &'a Array,
    checks: &'a Checks,
    settings: &'a Settings,
    report: ArrayReport,
    damaged: BTreeSet<Vec<u64>>,
}

impl Check<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let Some(stored) = self.stored()? else { return Ok(()) };
        self.report.census.stored = stored.len() as u64;
        if self.checks.complete {
            self.find_missing(&stored);
        }
        if self.checks.level >= Level::Sizes {
            self.check_sizes(&stored)?;
        }
        if self.checks.level >= Level::Decode {
            self.decode(&stored)?;
        } else {
            stored.iter().for_each(|index| self.draw(index, ChunkState::Stored));
        }
        for index in std::mem::take(&mut self.damaged) {
            self.report.census.damaged += 1;
            self.draw(&index, ChunkState::Damaged);
        }
        if self.checks.level >= Level::Checksums && !has_checksum(self.array.codecs()) {
            let text = "no codec has a checksum; damaged elements may not be found";
            self.add(Finding::new(FindingKind::NoChecksum, text));
        }
        Ok(())
    }

    fn add(&mut self, finding: Finding) {
        let finding = finding.at(&self.report.path);
        let is_damaged = finding.kind.is_damage() && finding.kind != FindingKind::MissingChunk;
        if let Some(index) = finding.chunk.as_ref().filter(|_| is_damaged) {
            self.damaged.insert(index.clone());
        }
        if !self.report.findings.contains(&finding) {
            self.report.findings.push(finding);
        }
    }

    fn draw(&mut self, index: &[u64], state: ChunkState) {
        self.report.census.picture.add(self.array.chunk_grid().grid_shape(), index, state);
    }

    /// Returns the chunks that are stored. If the store cannot list, it is asked for each chunk.
    fn stored(&mut self) -> Result<Option<Vec<Vec<u64>>>, Error> {
        if !self.array.hierarchy().store().capabilities().listable {
            return self.stored_by_asking().map(Some);
        }
        match self.array.stored_chunks() {
            Ok(stored) => Ok(Some(stored)),
            Err(error @ Error::ChunkKey(_)) => {
                self.add(Finding::new(FindingKind::NotChecked, chain(&error)));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Asks the store for each chunk of the grid.
    fn stored_by_asking(&self) -> Result<Vec<Vec<u64>>, Error> {
        let array = self.array;
        let mut stored = Vec::new();
        let mut indices = array.chunk_indices();
        loop {
            self.settings.progress.check()?;
            let part: Vec<_> = indices.by_ref().take(TOGETHER).collect();
            if part.is_empty() {
                return Ok(stored);
            }
            let found = array.hierarchy().context().map_each(part, |index| {
                let is_stored = array.chunk_exists(&index)?;
                Ok::<_, Error>(is_stored.then_some(index))
            });
            for index in found {
                stored.extend(index?);
            }
        }
    }

    fn find_missing(&mut self, stored: &[Vec<u64>]) {
        let missing = self.array.chunk_indices().filter(|index| stored.binary_search(index).is_err());
        let missing: Vec<_> = missing.take(MAX_MISSING).collect();
        for index in missing {
            let mut finding = Finding::new(FindingKind::MissingChunk, "the chunk is missing");
            finding.key = self.array.chunk_key(&index).ok().map(|key| key.to_string());
            finding.chunk = Some(index);
            self.add(finding);
        }
    }

    fn check_sizes(&mut self, stored: &[Vec<u64>]) -> Result<(), Error> {
        let has_one_shape = self.array.chunk_grid().chunk_shape().is_some();
        let expected = if has_one_shape { self.array.codecs().encoded_size() } else { Size::Unknown };
        let is_sharded = self.array.codecs().shard().is_some();
        let context = self.array.hierarchy().context();
        // Shards are decoded from parts of their values. A store with its own checksums, such as a zip archive,
        // compares them only if a value is read as a whole.
        let is_local = self.array.hierarchy().store().read_hints().max_concurrency == 0;
        let has_own = !is_sharded || has_checksum(self.array.codecs());
        let reads_whole = self.checks.level >= Level::Decode && is_local && !has_own;
        let most = self.settings.memory / context.thread_count().max(1) as u64;
        for part in stored.chunks(TOGETHER) {
            self.settings.progress.check()?;
            let array = self.array;
            let sizes = context.map_each(part.iter().collect(), |index: &Vec<u64>| {
                let size = array.chunk_size(index)?;
                let is_readable = size != Some(0) && is_sharded && self.checks.level == Level::Sizes;
                let error = if is_readable {
                    array.stored_inner_chunks(index).err()
                } else if reads_whole && size.is_some_and(|size| size <= most) {
                    array.read_encoded_chunk(index).err()
                } else {
                    None
                };
                Ok::<_, Error>((size, error))
            });
            for (index, checked) in part.iter().zip(sizes) {
                let (size, error) = checked?;
                let Some(size) = size else { continue };
                self.report.census.add_size(size);
                if let Some(finding) = wrong_size(size, expected) {
                    self.add_to_chunk(finding, index);
                }
                if let Some(error) = error {
                    self.add_error(error, index)?;
                }
            }
        }
        Ok(())
    }

    fn add_to_chunk(&mut self, mut finding: Finding, index: &[u64]) {
        finding.key = self.array.chunk_key(index).ok().map(|key| key.to_string());
        finding.chunk = Some(index.to_vec());
        self.add(finding);
    }

    /// Adds the finding of an error of a chunk.
    ///
    /// # Errors
    ///
    /// If the operation was cancelled or the store failed.
    fn add_error(&mut self, error: Error, index: &[u64]) -> Result<(), Error> {
        let kind = match (&error, error.kind()) {
            _ if ends_check(&error) => return Err(error),
            (Error::Chunk(_) | Error::Elements(_), _) | (_, ErrorKind::Damaged) => FindingKind::Chunk,
            _ => FindingKind::NotChecked,
        };
        self.add_to_chunk(Finding::of_error(kind, &error), index);
        Ok(())
    }

    fn decode(&mut self, stored: &[Vec<u64>]) -> Result<(), Error> {
        let stream = Stream::of(self.array);
        let empty: BTreeSet<Vec<u64>> = self.damaged.clone();
        let chunks: Vec<_> = stored.iter().filter(|index| !empty.contains(*index)).cloned().collect();
        empty.iter().for_each(|index| self.draw(index, ChunkState::Stored));
        let mut fill = Fill::default();
        let mut sum = ValueSum::default();
        let mut boxes = Boxes::of(self.array, Box::new(chunks.into_iter()), self.settings)?;
        loop {
            self.settings.progress.check()?;
            let group = boxes.next_group()?;
            if group.is_empty() {
                break;
            }
            match boxes.read(&group) {
                Ok(mut read) => {
                    let found = self.examine(&stream, &group, &mut read);
                    for (subset, (is_fill, part)) in group.iter().zip(found) {
                        sum += part;
                        self.add_decoded(subset, is_fill, &mut fill)?;
                    }
                }
                Err(error) if ends_check(&error) => return Err(error),
                Err(_) => self.decode_each(&boxes, &group, &mut fill)?,
            }
        }
        self.end_chunk(&mut fill);
        self.report.census.fill = Some(fill.chunks);
        if self.report.findings.iter().any(|finding| finding.kind != FindingKind::MissingChunk) {
            return Ok(());
        }
        if let Some(manifest) = &self.checks.manifest {
            let values = sum.to_hex();
            let path = below(self.array.path(), &zarr_spec::NodePath::root());
            let found = compare_values(manifest, &path, &values);
            found.into_iter().for_each(|finding| self.add(finding));
            self.report.census.values = Some(values);
        }
        Ok(())
    }

    /// Returns whether all elements of each box are the fill value, and their hash if it is compared with a manifest.
    fn examine(
        &self,
        stream: &Stream,
        group: &[ArraySubset],
        read: &mut [ElementArray],
    ) -> Vec<(bool, ValueSum)> {
        let pairs: Vec<_> = group.iter().zip(read).collect();
        let needs_hash = self.checks.manifest.is_some();
        self.array.hierarchy().context().map_each(pairs, |(subset, elements)| {
            if !needs_hash {
                return (is_fill(stream, elements), ValueSum::default());
            }
            let part = std::slice::from_ref(subset);
            let sum = hash(self.array, stream, part, std::slice::from_mut(elements));
            // `hash` has combined the elements with the fill value by exclusive or, so equal elements are zero now.
            let is_fill = match elements.data_type().elements().size() {
                Some(_) => elements.bytes().iter().all(|&byte| byte == 0),
                None => is_fill(stream, elements),
            };
            (is_fill, sum)
        })
    }

    /// Reads boxes one by one, and adds the error of each box that cannot be read. Shards are read by inner chunk.
    fn decode_each(&mut self, boxes: &Boxes, group: &[ArraySubset], fill: &mut Fill) -> Result<(), Error> {
        for subset in group {
            self.settings.progress.check()?;
            let Err(error) = boxes.read(std::slice::from_ref(subset)) else {
                self.add_decoded(subset, false, fill)?;
                continue;
            };
            let index = self.index_of(subset)?;
            self.add_error(error, &index)?;
            self.add_decoded(subset, false, fill)?;
            if let Some(inner) = self.array.inner_chunk_shape()? {
                for part in divided(subset.clone(), &inner, 1) {
                    if let Err(error) = boxes.read(&[part]) {
                        self.add_error(error, &index)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn index_of(&self, subset: &ArraySubset) -> Result<Vec<u64>, Error> {
        let grid = self.array.chunk_grid();
        let first = subset.ranges().iter().enumerate();
        let index: Result<Vec<u64>, _> =
            first.map(|(dimension, range)| grid.chunk_of(dimension, range.start)).collect();
        Ok(index?)
    }

    /// Counts a box. A chunk of several boxes is all fill value if each of its boxes is.
    fn add_decoded(&mut self, subset: &ArraySubset, is_fill: bool, fill: &mut Fill) -> Result<(), Error> {
        let index = self.index_of(subset)?;
        match &mut fill.current {
            Some((current, all)) if *current == index => *all &= is_fill,
            _ => {
                self.end_chunk(fill);
                fill.current = Some((index, is_fill));
            }
        }
        Ok(())
    }

    fn end_chunk(&mut self, fill: &mut Fill) {
        let Some((index, is_fill)) = fill.current.take() else { return };
        fill.chunks += u64::from(is_fill);
        self.draw(&index, if is_fill { ChunkState::Fill } else { ChunkState::Stored });
    }
}

/// Returns whether an error concerns more than one chunk: the check was cancelled, or the store failed. Some stores
/// find damage themselves.
fn ends_check(error: &Error) -> bool {
    match error {
        Error::Cancelled => true,
        Error::Store(_) => error.kind() != ErrorKind::Damaged,
        _ => false,
    }
}

/// Counts the chunks whose elements are all the fill value.
#[derive(Debug, Default)]
struct Fill {
    chunks: u64,
    /// The chunk of the last box, and whether all of its boxes so far have the fill value.
    current: Option<(Vec<u64>, bool)>,
}

/// Returns whether all elements are the fill value. Overwrites the elements up to the first portion with another value.
fn is_fill(stream: &Stream, elements: &mut ElementArray) -> bool {
    let Some(size) = elements.data_type().elements().size() else {
        return elements.iter().all(|element| stream.of_variable(element).iter().all(|&byte| byte == 0));
    };
    let portion = (PORTION / size.max(1)).max(1) * size.max(1);
    elements.bytes_mut().chunks_mut(portion).all(|bytes| {
        stream.convert(bytes);
        bytes.iter().all(|&byte| byte == 0)
    })
}

/// Compares the size of a stored value with the size that its codecs produce.
fn wrong_size(size: u64, expected: Size) -> Option<Finding> {
    match expected {
        _ if size == 0 && expected != Size::Exact(0) => {
            Some(Finding::new(FindingKind::EmptyChunk, "the value is empty"))
        }
        Size::Exact(exact) if size != exact => Some(Finding::new(
            FindingKind::ChunkSize,
            format!("the value has {size} bytes, expected {exact}"),
        )),
        Size::AtMost(limit) if size > limit => Some(Finding::new(
            FindingKind::ChunkSize,
            format!("the value has {size} bytes, expected at most {limit}"),
        )),
        _ => None,
    }
}

/// Returns whether a chain has a checksum, or every inner chunk of its shards has one.
fn has_checksum(chain: &CodecChain) -> bool {
    chain.links().iter().any(|link| match &link.codec {
        Codec::Shard(shard) => has_checksum(&shard.inner_codecs),
        Codec::Checksum(_) => true,
        _ => false,
    })
}
