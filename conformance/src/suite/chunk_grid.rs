//! The rules for chunk grids.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use zarr_spec::extension::ExtensionDocument;
use zarr_spec::grid::{ChunkGrid, GridError};
use zarr_spec::{Example, Mode, Reading, Registry, Value};

use super::tried::{Makes, RuleOf, Tried, shape_of, suite, text};
use super::{Cases, Level, Rule, Suite};

type GridOnTrial = Tried<dyn ChunkGrid>;

const RULES: &[RuleOf<GridOnTrial>] = &[
    (
        Rule {
            id: "grid-partition",
            level: Level::L1,
            sentence: "Every element lies in exactly one chunk: the ranges cover the array from the first element to the \
                       last, without gaps, overlaps or empty ranges.",
            source: "`ChunkGrid::chunk_range`; \"Chunk grids\" in the Zarr v3 core specification",
            since: "0.1",
        },
        partition,
    ),
    (
        Rule {
            id: "grid-chunk-of",
            level: Level::L1,
            sentence: "The chunk that `chunk_of` returns for an element contains that element.",
            source: "`ChunkGrid::chunk_of`",
            since: "0.1",
        },
        chunk_of,
    ),
    (
        Rule {
            id: "grid-keys",
            level: Level::L1,
            sentence: "Each chunk has a unique key index that maps back to it, and no other key index maps to a chunk.",
            source: "`ChunkGrid::key_index`, `ChunkGrid::chunk_of_key`",
            since: "0.1",
        },
        keys,
    ),
    (
        Rule {
            id: "grid-moved",
            level: Level::L1,
            sentence: "A grid that supports a shift of the array's origin describes the shifted grid, in which every \
                       element has the same key and the same place in its chunk.",
            source: "`ChunkGrid::moved`",
            since: "0.1",
        },
        moved,
    ),
    (
        Rule {
            id: "grid-out-of-bounds",
            level: Level::L2,
            sentence: "Chunks and elements that do not exist are reported as out of bounds, never with a panic.",
            source: "`GridError::OutOfBounds`",
            since: "0.1",
        },
        out_of_bounds,
    ),
    (
        Rule {
            id: "grid-huge",
            level: Level::L2,
            sentence: "Arrays of up to 2^64 - 1 elements per dimension are refused or divided up to the last element; a \
                       chunk that would end past 2^64 is out of bounds.",
            source: "`zarr_spec::grid::CreateChunkGrid`",
            since: "0.1",
        },
        huge,
    ),
    (
        Rule {
            id: "grid-lengths",
            level: Level::L4,
            sentence: "No chunk exceeds the largest chunk, and if the grid declares a common chunk shape, all chunks have it.",
            source: "`ChunkGrid::largest_chunk`, `ChunkGrid::chunk_shape`",
            since: "0.1",
        },
        lengths,
    ),
    (
        Rule {
            id: "grid-padding",
            level: Level::L4,
            sentence: "A chunk with its padding does not exceed the largest chunk, and a grid that declares a common chunk \
                       shape does not have padding.",
            source: "`ChunkGrid::padding`",
            since: "0.1",
        },
        padding,
    ),
];

/// The number of chunks to check at either end of a dimension.
const ENDS: u64 = 50;

/// Array lengths near the limits. An array of `u64::MAX` elements ends at the highest possible position.
const LENGTHS: [u64; 5] = [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32];

/// An example, for one array shape.
struct Use {
    label: String,
    shape: Vec<u64>,
    grid: Arc<dyn ChunkGrid>,
}

pub(super) fn add(registry: &Arc<Registry>, suites: &mut Vec<Suite>) {
    for &plugin in registry.chunk_grids().iter() {
        suites.push(suite(Tried { plugin, registry: Arc::clone(registry) }, &[RULES]));
    }
}

impl Makes for dyn ChunkGrid {
    fn make(
        tried: &GridOnTrial,
        example: &Example,
        entry: &Value,
        reading: &Reading,
        _cases: &mut Cases,
    ) -> Result<(), String> {
        let document = tried.parse(example, entry, reading)?;
        tried.create(example, &document, shape_of(example), reading).map(drop).map_err(text)
    }
}

impl GridOnTrial {
    fn create(
        &self,
        example: &Example,
        document: &ExtensionDocument,
        shape: &[u64],
        reading: &Reading,
    ) -> Result<Arc<dyn ChunkGrid>, GridError> {
        (self.plugin.create)(&self.creation(example.format, document, reading), shape)
    }

    /// Returns the grids of all examples, for their own arrays and for arrays that are slightly shorter or longer, or
    /// empty along a dimension. Shapes that the plugin refuses are omitted.
    fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for example in self.examples() {
            let Ok(document) = self.document(example) else { continue };
            let own = shape_of(example).to_vec();
            let others = (0..own.len()).flat_map(|dimension| {
                let lengths = [0, 1, own[dimension].saturating_sub(1), own[dimension] + 1];
                let own = own.clone();
                lengths.into_iter().map(move |length| {
                    let mut shape = own.clone();
                    shape[dimension] = length;
                    shape
                })
            });
            for shape in [own.clone()].into_iter().chain(others) {
                let reading = Reading::new(Mode::Strict);
                if let Ok(grid) = self.create(example, &document, &shape, &reading) {
                    uses.push(Use { label: format!("{} for {shape:?}", example.document), shape, grid });
                }
            }
        }
        uses
    }
}

impl Use {
    /// Iterates over the dimensions with their numbers of elements and chunks.
    fn dimensions(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let dimensions = self.shape.iter().zip(self.grid.grid_shape()).enumerate();
        dimensions.map(|(dimension, (&length, &chunks))| (dimension, length, chunks))
    }

    fn range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, String> {
        self.grid.chunk_range(dimension, chunk).map_err(|error| format!("chunk {chunk}: {error}"))
    }

    /// Checks that the chunks in `numbers` are contiguous, that the first chunk begins at 0, and that the last chunk
    /// reaches the end of the array.
    fn follow(&self, dimension: usize, length: u64, numbers: Range<u64>, chunks: u64) -> Result<(), String> {
        let mut end = match numbers.start {
            0 => 0,
            first => self.range(dimension, first - 1)?.end,
        };
        for chunk in numbers {
            let range = self.range(dimension, chunk)?;
            if range.start != end || range.is_empty() || range.start >= length {
                return Err(format!(
                    "chunk {chunk} of dimension {dimension} is {range:?}, but the previous one ends at {end} and the array at {length}"
                ));
            }
            end = range.end;
            if chunk + 1 == chunks && end < length {
                return Err(format!(
                    "the last chunk of dimension {dimension} ends at {end}, before the array ends at {length}"
                ));
            }
        }
        Ok(())
    }
}

impl Use {
    /// Checks whether the chunk would end past 2^64 if it had the maximum length.
    fn ends_too_far(&self, dimension: usize, chunk: u64) -> bool {
        let length = self.grid.largest_chunk().get(dimension).copied().unwrap_or_default();
        chunk.checked_add(1).and_then(|chunks| chunks.checked_mul(length)).is_none()
    }
}

/// Returns the indices of the chunks to check at both ends; all chunks if there are few.
fn both_ends(chunks: u64) -> [Range<u64>; 2] {
    let middle = chunks.min(ENDS);
    [0..middle, middle.max(chunks.saturating_sub(ENDS))..chunks]
}

fn partition(trial: &GridOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let rank = used.grid.grid_shape().len();
        cases.holds(&used.label, rank == used.shape.len(), || format!("the grid has {rank} dimensions"));
        for (dimension, length, chunks) in used.dimensions() {
            cases.holds(&used.label, (chunks == 0) == (length == 0), || {
                format!("dimension {dimension} of {length} elements has {chunks} chunks")
            });
            for numbers in both_ends(chunks) {
                cases.check(&used.label, used.follow(dimension, length, numbers, chunks));
            }
        }
    }
}

fn chunk_of(trial: &GridOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        for (dimension, length, chunks) in used.dimensions() {
            for chunk in both_ends(chunks).into_iter().flatten() {
                let Ok(range) = used.grid.chunk_range(dimension, chunk) else { continue };
                let last = range.end.min(length).saturating_sub(1);
                // An invalid range breaks another rule.
                if last < range.start {
                    continue;
                }
                for element in [range.start, range.start.midpoint(last), last] {
                    let result = match used.grid.chunk_of(dimension, element) {
                        Ok(found)
                            if used
                                .grid
                                .chunk_range(dimension, found)
                                .is_ok_and(|range| range.contains(&element)) =>
                        {
                            Ok(())
                        }
                        Ok(found) => {
                            Err(format!("`chunk_of` returns chunk {found}, which does not contain it"))
                        }
                        Err(error) => Err(error.to_string()),
                    };
                    cases
                        .check(format!("{}, element {element} of dimension {dimension}", used.label), result);
                }
            }
        }
    }
}

fn keys(trial: &GridOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        for (dimension, _length, chunks) in used.dimensions() {
            let mut taken = HashSet::new();
            for chunk in both_ends(chunks).into_iter().flatten() {
                let result = (|| {
                    let index = used.grid.key_index(dimension, chunk).map_err(text)?;
                    match used.grid.chunk_of_key(dimension, index).map_err(text)? {
                        _ if !taken.insert(index) => Err(format!("another chunk also has key index {index}")),
                        Some(back) if back == chunk => Ok(()),
                        back => Err(format!("its key index {index} maps back to chunk {back:?}")),
                    }
                })();
                cases.check(format!("{}, chunk {chunk} of dimension {dimension}", used.label), result);
            }
            let near = (0..=2 * ENDS).chain([u64::MAX, u64::MAX - 1, 1 << 63]);
            for index in near {
                let Ok(Some(chunk)) = used.grid.chunk_of_key(dimension, index) else { continue };
                let key_index = used.grid.key_index(dimension, chunk);
                let holds = chunk < chunks && key_index.is_ok_and(|key_index| key_index == index);
                cases.holds(format!("{}, key index {index}", used.label), holds, || {
                    format!("it maps to chunk {chunk} of {chunks}, which has another key index")
                });
            }
        }
    }
}

fn moved(trial: &GridOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let Ok(document) = trial.document(example) else { continue };
        let shape = shape_of(example);
        let reading = Reading::new(Mode::Strict);
        let Ok(grid) = trial.create(example, &document, shape, &reading) else { continue };
        for start in [-9_i64, -1, 0, 1, 3] {
            let case = format!("{}, shifted by {start} elements", example.document);
            let configuration = match grid.moved(&vec![start; shape.len()]) {
                Ok(Some(configuration)) => configuration,
                Ok(None) => {
                    cases.skip("the grid always begins at the array's origin");
                    continue;
                }
                Err(error) => {
                    cases.check(case, Err(text(error)));
                    continue;
                }
            };
            let later: Option<Vec<u64>> =
                shape.iter().map(|length| length.checked_add_signed(-start)).collect();
            let Some(later) = later else { continue };
            let document = document.clone().with_configuration(configuration);
            let result = trial
                .create(example, &document, &later, &reading)
                .map_err(text)
                .and_then(|moved| same_places(&*grid, &*moved, shape, start));
            cases.check(case, result);
        }
    }
}

/// Compares `grid` with `moved`, the grid of an array that begins at index `start` of the first array. Each element
/// that is in both arrays must have the same chunk key and the same place in its chunk.
fn same_places(grid: &dyn ChunkGrid, moved: &dyn ChunkGrid, shape: &[u64], start: i64) -> Result<(), String> {
    let place = |grid: &dyn ChunkGrid, dimension, element: u64| -> Result<(u64, u64), String> {
        let chunk = grid.chunk_of(dimension, element).map_err(text)?;
        let range = grid.chunk_range(dimension, chunk).map_err(text)?;
        let within = grid.before_array(dimension, chunk) + element.wrapping_sub(range.start);
        Ok((grid.key_index(dimension, chunk).map_err(text)?, within))
    };
    for (dimension, &length) in shape.iter().enumerate() {
        for element in 0..length {
            let Some(later) = element.checked_add_signed(-start) else { continue };
            let was = place(grid, dimension, element)?;
            let is = place(moved, dimension, later)?;
            if was != is {
                return Err(format!(
                    "element {element} of dimension {dimension} moved from (key index, place) {was:?} to {is:?}"
                ));
            }
        }
    }
    Ok(())
}

fn out_of_bounds(trial: &GridOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let mut refused = |what: String, result: Result<String, GridError>| {
            let result = match result {
                Err(GridError::OutOfBounds(_)) => Ok(()),
                Err(error) => Err(format!("unexpected error {error:?}")),
                Ok(found) => Err(format!("expected an error, got {found}")),
            };
            cases.check(format!("{}, {what}", used.label), result);
        };
        for (dimension, length, chunks) in used.dimensions() {
            for chunk in [chunks, chunks + 1, u64::MAX] {
                let range = used.grid.chunk_range(dimension, chunk).map(|range| format!("{range:?}"));
                refused(format!("chunk {chunk} of dimension {dimension}"), range);
            }
            for element in [length, u64::MAX] {
                let chunk = used.grid.chunk_of(dimension, element).map(|chunk| format!("in chunk {chunk}"));
                refused(format!("element {element} of dimension {dimension}"), chunk);
            }
        }
        let rank = used.shape.len();
        refused(
            format!("chunk 0 of dimension {rank}"),
            used.grid.chunk_range(rank, 0).map(|range| format!("{range:?}")),
        );
        refused(
            format!("element 0 of dimension {rank}"),
            used.grid.chunk_of(rank, 0).map(|chunk| format!("in chunk {chunk}")),
        );
    }
}

fn huge(trial: &GridOnTrial, cases: &mut Cases) {
    for example in trial.examples() {
        let Ok(document) = trial.document(example) else { continue };
        for length in LENGTHS {
            let shape = vec![length; shape_of(example).len()];
            let created = trial.create(example, &document, &shape, &Reading::new(Mode::Strict));
            let Ok(grid) = created else {
                cases.check(example.document, Ok(()));
                continue;
            };
            let used = Use { label: format!("{} for {shape:?}", example.document), shape, grid };
            for (dimension, length, chunks) in used.dimensions() {
                let result = used.grid.chunk_of(dimension, length - 1).map_err(text).and_then(|last| {
                    match chunks.checked_sub(1) {
                        Some(number) if number == last => match used.grid.chunk_range(dimension, last) {
                            // The end of this chunk cannot be represented.
                            Err(GridError::OutOfBounds(_)) if used.ends_too_far(dimension, last) => Ok(()),
                            _ => used.follow(dimension, length, last..chunks, chunks),
                        },
                        _ => Err(format!("the last element is in chunk {last} of {chunks}")),
                    }
                });
                cases.check(&used.label, result);
            }
            let _fits = (used.grid.largest_chunk(), used.grid.chunk_shape());
        }
    }
}

fn lengths(trial: &GridOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let largest = used.grid.largest_chunk();
        for (dimension, _length, chunks) in used.dimensions() {
            let lengths = both_ends(chunks).into_iter().flatten().filter_map(|chunk| {
                let range = used.grid.chunk_range(dimension, chunk).ok()?;
                Some(range.end - range.start + used.grid.before_array(dimension, chunk))
            });
            let lengths: Vec<u64> = lengths.collect();
            let given = largest.get(dimension).copied();
            let holds = given.is_some_and(|given| lengths.iter().all(|&length| length <= given));
            cases.holds(&used.label, holds, || {
                format!("`largest_chunk` returns {given:?} elements along dimension {dimension}, but chunks have {lengths:?}")
            });
            if let Some(shape) = used.grid.chunk_shape() {
                let given = shape.get(dimension).copied();
                let holds = lengths.iter().all(|&length| Some(length) == given);
                cases.holds(&used.label, holds, || {
                    format!("`chunk_shape` returns {given:?} elements along dimension {dimension}, but chunks have {lengths:?}")
                });
            }
        }
    }
}

fn padding(trial: &GridOnTrial, cases: &mut Cases) {
    for used in trial.uses() {
        let largest = used.grid.largest_chunk();
        for (dimension, _length, chunks) in used.dimensions() {
            for chunk in both_ends(chunks).into_iter().flatten() {
                let Ok(range) = used.grid.chunk_range(dimension, chunk) else { continue };
                let case = format!("{}, chunk {chunk} of dimension {dimension}", used.label);
                let padding = match used.grid.padding(dimension, chunk) {
                    Ok(padding) => padding,
                    Err(error) => {
                        cases.check(case, Err(text(error)));
                        continue;
                    }
                };
                let length = range.end.saturating_sub(range.start);
                let length = length.saturating_add(used.grid.before_array(dimension, chunk));
                let most = largest.get(dimension).copied().unwrap_or_default().saturating_sub(length);
                let fits = padding == 0 || (padding <= most && used.grid.chunk_shape().is_none());
                cases.holds(case, fits, || {
                    format!("it has {length} elements and a padding of {padding}; `largest_chunk` returns {largest:?}")
                });
            }
        }
    }
}
