//! Reads parts of an array repeatedly, each time with more of the work replayed from memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zarr_kit::Array;
use zarr_kit::spec::ArraySubset;

use super::advice::{Measured, Times};
use super::boxes::{Access, Budget, Geometry, Random};
use super::tape::{Decoded, Mode, Tape};
use crate::failure::Failure;
use crate::opening::Opened;
use crate::slabs;

/// The most decoded bytes in memory, unless a single chunk has more.
const BYTES: u64 = 64 << 20;
/// The most chunks per read.
const CHUNKS: u64 = 4096;
/// The most reads per access pattern.
const READS: usize = 256;
/// The maximum number of repetitions of the reads of one access pattern.
const ROUNDS: usize = 50;
/// The time limit for choosing parts is the time per access pattern divided by this number, because each round reads
/// the parts about four times.
const CHOOSING: u32 = 8;

#[derive(Debug)]
pub(super) struct Bench {
    pub(super) hierarchy: Opened,
    /// The store of the hierarchy.
    pub(super) tape: Arc<Tape>,
    pub(super) path: String,
    pub(super) geometry: Geometry,
    pub(super) has_shards: bool,
    /// Whether elements are stored without encoding.
    pub(super) is_raw: bool,
    /// The stored chunks, if the store can list; never empty.
    pub(super) stored: Option<Vec<Vec<u64>>>,
    /// The approximate time per access pattern.
    pub(super) seconds: Duration,
}

#[derive(Debug, Default)]
struct Chosen {
    parts: Vec<ArraySubset>,
    elements: u64,
    bytes: u64,
    /// Time of reading while responses were recorded.
    time: Duration,
}

impl Bench {
    /// Measures one access pattern, in at least one round. Returns `None` if no suitable chunk was found.
    pub(super) fn measure(&self, access: Access) -> Result<Option<Measured>, Failure> {
        let start = Instant::now();
        let chosen = self.choose(access)?;
        let Some(last) = chosen.parts.last() else { return Ok(None) };
        let asked = self.tape.asked();
        let (counting, decoded) = match self.is_raw {
            true => (Duration::ZERO, Decoded::default()),
            false => (self.read(&chosen.parts, Mode::Counting)?, self.tape.decoded()),
        };
        let elements_decoded = match (self.is_raw, slabs::fixed_size(&self.array()?)) {
            (true, _) => asked.bytes / self.geometry.element.max(1),
            (false, Some(size)) => decoded.bytes / size.max(1),
            // For elements of variable size, only the number of elements per chunk is known.
            (false, None) => decoded.chunks.saturating_mul(self.geometry.chunk.iter().product()),
        };
        // The element of a 0-dimensional array is never cached, so no decoded chunk is counted.
        let is_scalar = self.geometry.shape.is_empty() && !self.is_raw;
        let measured = Measured {
            access,
            shape: last.shape(),
            reads: chosen.parts.len() as u64,
            elements: chosen.elements,
            bytes: chosen.bytes,
            chunks: if is_scalar { chosen.parts.len() as u64 } else { decoded.chunks },
            elements_decoded: if is_scalar { chosen.elements } else { elements_decoded },
            calls: asked.values,
            stored: asked.bytes,
            times: self.times(&chosen.parts, (chosen.time, counting), start)?,
        };
        self.tape.clear();
        Ok(Some(measured))
    }

    /// Returns the shortest times of all rounds, because other load can only increase times.
    ///
    /// `before` contains the times of the recording passes. They are upper bounds, and the only times if
    /// reading exceeds the time limit.
    fn times(
        &self,
        parts: &[ArraySubset],
        before: (Duration, Duration),
        start: Instant,
    ) -> Result<Times, Failure> {
        let mut least = [before.0, Duration::MAX, before.1, Duration::MAX];
        for _ in 0..ROUNDS {
            let is_late = start.elapsed() >= self.seconds;
            let all = if is_late { before.0 } else { self.read(parts, Mode::Passing)? };
            let store = self.fetch()?;
            let from_memory = if is_late { before.1 } else { self.read(parts, Mode::Replaying)? };
            let decoded = if self.is_raw { from_memory } else { self.read(parts, Mode::Copying)? };
            for (least, time) in least.iter_mut().zip([all, store, from_memory, decoded]) {
                *least = time.min(*least);
            }
            if start.elapsed() >= self.seconds {
                break;
            }
        }
        let [all, store, from_memory, decoded] = least;
        let codec = from_memory.saturating_sub(decoded);
        Ok(Times { all: all.as_secs_f64(), store: store.as_secs_f64(), codec: codec.as_secs_f64() })
    }

    fn fetch(&self) -> Result<Duration, Failure> {
        let start = Instant::now();
        self.tape.fetch_again()?;
        Ok(start.elapsed())
    }

    /// Reads with a new handle, which has not cached shard indexes yet.
    fn read(&self, parts: &[ArraySubset], mode: Mode) -> Result<Duration, Failure> {
        let array = self.array()?;
        self.tape.turn_to(mode);
        let start = Instant::now();
        for part in parts {
            array.read(slabs::selection(part))?;
        }
        Ok(start.elapsed())
    }

    fn array(&self) -> Result<Array, Failure> {
        self.tape.turn_to(Mode::Passing);
        Ok(self.hierarchy.array(&self.path)?)
    }

    /// Chooses parts and reads them while the store records its responses.
    fn choose(&self, access: Access) -> Result<Chosen, Failure> {
        let limit = self.seconds / CHOOSING;
        let mut random = Random::new();
        let finder = self.array()?;
        let array = self.array()?;
        let budget = self.budget(access, &finder, limit, &mut random)?;
        let mut chosen = Chosen::default();
        let mut touched = 0u64;
        let mut misses = 0;
        let start = Instant::now();
        while chosen.parts.len() < READS && misses < READS {
            self.tape.turn_to(Mode::Passing);
            let chunk = self.chunk(&finder, &mut random)?;
            let part = chunk.map(|chunk| self.geometry.part(access, &chunk, budget, &mut random));
            let Some(part) = part.filter(|part| !part.is_empty() && !chosen.parts.contains(part)) else {
                misses += 1;
                continue;
            };
            self.tape.begin_read();
            self.tape.turn_to(Mode::Recording);
            let before = Instant::now();
            let elements = array.read(slabs::selection(&part))?;
            chosen.time += before.elapsed();
            chosen.elements += elements.count() as u64;
            chosen.bytes += elements.bytes().len() as u64;
            touched = touched.saturating_add(self.geometry.touched_size(&part));
            chosen.parts.push(part);
            if start.elapsed() >= limit || touched >= BYTES || self.tape.size() >= BYTES {
                break;
            }
        }
        self.tape.turn_to(Mode::Passing);
        Ok(chosen)
    }

    /// Reads one chunk, and returns the number of chunks that can be read within `limit` at this speed.
    fn budget(
        &self,
        access: Access,
        array: &Array,
        limit: Duration,
        random: &mut Random,
    ) -> Result<Budget, Failure> {
        let one = Budget { chunks: 1, bytes: BYTES };
        if matches!(access, Access::Chunk | Access::Box) || self.geometry.chunk_size() > BYTES / 2 {
            return Ok(one);
        }
        let Some(chunk) = self.chunk(array, random)? else { return Ok(one) };
        let part = self.geometry.part(access, &chunk, one, random);
        let start = Instant::now();
        array.read(slabs::selection(&part))?;
        let time = start.elapsed().as_nanos().max(1);
        let chunks = u64::try_from(limit.as_nanos() / time).unwrap_or(CHUNKS);
        Ok(Budget { chunks: chunks.clamp(1, CHUNKS), bytes: BYTES })
    }

    /// Picks a stored chunk or inner chunk. Returns `None` if it is outside of the array, or if the shard
    /// does not have inner chunks.
    fn chunk(&self, array: &Array, random: &mut Random) -> Result<Option<ArraySubset>, Failure> {
        let index = match &self.stored {
            Some(stored) => one_of(stored, random).cloned().unwrap_or_default(),
            None => array.chunk_grid().grid_shape().iter().map(|&count| random.below(count)).collect(),
        };
        let chunk = array.chunk_subset(&index)?;
        if !self.has_shards {
            return Ok(Some(chunk).filter(|chunk| self.is_in_array(chunk)));
        }
        let stored = array.stored_inner_chunks(&index)?;
        let Some(inner) = one_of(&stored, random) else { return Ok(None) };
        let ranges = chunk.start().into_iter().zip(inner).zip(&self.geometry.chunk).map(
            |((start, &position), &length)| {
                let start = start.saturating_add(position.saturating_mul(length));
                start..start.saturating_add(length)
            },
        );
        Ok(Some(ArraySubset::new(ranges.collect())).filter(|chunk| self.is_in_array(chunk)))
    }

    fn is_in_array(&self, chunk: &ArraySubset) -> bool {
        !chunk.intersection(&ArraySubset::whole(&self.geometry.shape)).is_empty()
    }
}

fn one_of<'a, T>(all: &'a [T], random: &mut Random) -> Option<&'a T> {
    all.get(usize::try_from(random.below(all.len() as u64)).unwrap_or(0))
}
