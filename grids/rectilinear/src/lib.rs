//! The rectilinear chunk grid of Zarr: each dimension is divided into chunks of individual lengths.
//!
//! A dimension has chunks of one length, or a list of lengths with repetitions as `[length, count]`. Every
//! chunk is stored at its full length, even if it extends past the array. The list may contain more chunks than
//! the array needs: these become part of the grid when the array grows.
//!
//! `rectangular`, an older form, has the lists in `chunk_shape`, without repetitions. In the draft, the grid is
//! an extension of this project.
//!
//! Source: `chunk-grids/rectilinear` in the Zarr extension registry; ZEP 3 for `rectangular`;
//! `docs/spec/grids-rectilinear.md` for the draft.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Creation, Example, Format, Identifiers, Invalid, Value};

zarr_spec::register!(
    ChunkGridPlugin::new(
        Identifiers::name("rectilinear")
            .with_uri("https://zarr-kit.example/spec/grids/rectilinear/1.0")
            .with_aliases(&[RECTANGULAR]),
        &create,
    )
    .configuration::<RectilinearConfiguration>()
    .about("Divides each dimension of an array into chunks of individual lengths.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[5, 5, 15, 10], 4]}}"#,
    )
    .with_shape(&[35, 10]),
    Example::v3(
        r#"{"name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[[5, 7]], [1, [3, 3]]]}}"#,
    )
    .with_shape(&[35, 10]),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/grids/rectilinear/1.0", "type": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[5, 5, 15, 10], 4]}}"#,
    )
    .with_shape(&[35, 10]),
];

/// The name of the older form.
const RECTANGULAR: &str = "rectangular";

/// The lengths of the chunks along one dimension, in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lengths {
    /// All chunks have this length, and the array determines their number.
    Every(u64),
    /// Runs of chunks: a length and the number of chunks that have it.
    Listed(Vec<(u64, u64)>),
}

/// A chunk grid with individual chunk lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RectilinearGrid {
    array_shape: Vec<u64>,
    grid_shape: Vec<u64>,
    /// Runs of chunks per dimension, only those that contain elements of the array.
    runs: Vec<Vec<Run>>,
    largest: Vec<u64>,
    is_even: bool,
}

/// Consecutive chunks of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// The number of the first chunk.
    chunk: u64,
    /// The index of the first element of the first chunk.
    start: u64,
    length: u64,
}

impl RectilinearGrid {
    /// Divides an array of `array_shape`, in elements per dimension.
    ///
    /// # Errors
    ///
    /// [`GridError::InvalidConfiguration`] for a wrong number of dimensions, a length or a count of 0, and
    /// lengths that do not reach the end of the array.
    pub fn new(array_shape: &[u64], lengths: &[Lengths]) -> Result<Self, GridError> {
        if array_shape.len() != lengths.len() {
            let chunks = lengths.len();
            let array = array_shape.len();
            let what = format!("lengths for {chunks} dimensions are given, but the array has {array}");
            return Err(Invalid::new(what).into());
        }
        let axes = array_shape.iter().zip(lengths).enumerate();
        let axes: Result<Vec<Axis>, Invalid> = axes
            .map(|(dimension, (&array, lengths))| {
                Axis::new(array, lengths)
                    .map_err(|what| Invalid::new(format!("dimension {dimension}: {what}")))
            })
            .collect();
        let axes = axes?;
        Ok(Self {
            array_shape: array_shape.to_vec(),
            grid_shape: axes.iter().map(|axis| axis.count).collect(),
            largest: axes.iter().map(|axis| axis.largest).collect(),
            is_even: axes.iter().all(|axis| axis.runs.len() <= 1),
            runs: axes.into_iter().map(|axis| axis.runs).collect(),
        })
    }

    fn no_chunk(&self, dimension: usize, chunk: u64) -> GridError {
        GridError::OutOfBounds(format!(
            "no chunk {chunk} along dimension {dimension}: the grid has shape {:?}",
            self.grid_shape
        ))
    }
}

/// One dimension of the grid.
struct Axis {
    runs: Vec<Run>,
    count: u64,
    largest: u64,
}

impl Axis {
    fn new(array: u64, lengths: &Lengths) -> Result<Self, String> {
        let every;
        let listed = match lengths {
            Lengths::Every(0) => return Err("a chunk has length 0".to_owned()),
            Lengths::Every(length) => {
                every = [(*length, array.div_ceil(*length).max(1))];
                &every[..]
            }
            Lengths::Listed(listed) => listed,
        };
        let mut runs = Vec::<Run>::new();
        let mut chunk = 0u64;
        let mut end = 0u64;
        for &(length, count) in listed {
            if length == 0 || count == 0 {
                return Err(format!("{count} chunks of {length} elements do not contain elements"));
            }
            if end < array {
                if runs.last().is_none_or(|run| run.length != length) {
                    runs.push(Run { chunk, start: end, length });
                }
                // An array ends at `u64::MAX` at most, so a larger end of the chunks may saturate.
                end = length.checked_mul(count).and_then(|more| end.checked_add(more)).unwrap_or(u64::MAX);
                chunk = chunk.saturating_add(count);
            }
        }
        if end < array {
            return Err(format!("the chunks end at {end}, but the array at {array}"));
        }
        // Without elements there are no chunks, but codecs still need a length.
        let first = listed.first().map_or(1, |&(length, _)| length);
        let largest = runs.iter().map(|run| run.length).max().unwrap_or(first);
        let count = match (runs.last(), array.checked_sub(1)) {
            (Some(run), Some(last)) => run.chunk + (last - run.start) / run.length + 1,
            _ => 0,
        };
        Ok(Self { runs, count, largest })
    }
}

impl ChunkGrid for RectilinearGrid {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        let count = self.grid_shape.get(dimension).copied().unwrap_or(0);
        if chunk >= count {
            return Err(self.no_chunk(dimension, chunk));
        }
        let runs = &self.runs[dimension];
        // The first run starts with chunk 0, so the index is at least 1.
        let run = runs[runs.partition_point(|run| run.chunk <= chunk) - 1];
        // The chunk starts inside of the array, so only its end can overflow.
        let start = run.start + (chunk - run.chunk) * run.length;
        let end = start.checked_add(run.length).ok_or_else(|| {
            GridError::OutOfBounds(format!("chunk {chunk} along dimension {dimension} ends past 2^64"))
        })?;
        Ok(start..end)
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        let length = self.array_shape.get(dimension).copied().unwrap_or(0);
        if element >= length {
            return Err(GridError::OutOfBounds(format!(
                "no element {element} along dimension {dimension}: the array has shape {:?}",
                self.array_shape
            )));
        }
        let runs = &self.runs[dimension];
        let run = runs[runs.partition_point(|run| run.start <= element) - 1];
        Ok(run.chunk + (element - run.start) / run.length)
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        self.is_even.then_some(&self.largest[..])
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.largest.clone()
    }
}

#[derive(Deserialize)]
struct RectilinearConfiguration {
    kind: String,
    chunk_shapes: Vec<Value>,
}

#[derive(Deserialize)]
struct RectangularConfiguration {
    chunk_shape: Vec<Value>,
}

fn create(creation: &Creation<'_>, array_shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    check_type(creation)?;
    let lengths: Result<Vec<Lengths>, Invalid> = if creation.identifier == RECTANGULAR {
        creation.reading.tolerate("chunk grid `rectangular` is an older form; use `rectilinear`")?;
        let RectangularConfiguration { chunk_shape } = creation.parse()?;
        chunk_shape.iter().map(|entry| lengths("chunk_shape", entry, false)).collect()
    } else {
        let RectilinearConfiguration { kind, chunk_shapes } = creation.parse()?;
        if kind != "inline" {
            return Err(Invalid::new(format!("`kind` is `{kind}`; expected `inline`")).into());
        }
        chunk_shapes.iter().map(|entry| lengths("chunk_shapes", entry, true)).collect()
    };
    Ok(Arc::new(RectilinearGrid::new(array_shape, &lengths?)?))
}

/// Checks the member `type` next to `extension`. It names the grid in the draft.
fn check_type(creation: &Creation<'_>) -> Result<(), Invalid> {
    match creation.type_name {
        Some(Value::String(name)) if name == "rectilinear" => Ok(()),
        None if creation.format != Format::V3Draft => Ok(()),
        Some(other) => Err(Invalid::new(format!("`type` is {other}; expected \"rectilinear\""))),
        None => Err(Invalid::new("`type` is missing")),
    }
}

/// Parses the entry of one dimension.
fn lengths(member: &str, entry: &Value, with_counts: bool) -> Result<Lengths, Invalid> {
    let wrong = |what: &Value| {
        let pair = if with_counts { " or a pair of a length and a count" } else { "" };
        Invalid::new(format!("`{member}` contains {what}; expected a positive length{pair}"))
    };
    let positive = |value: &Value| value.as_u64().filter(|&number| number > 0).ok_or_else(|| wrong(value));
    let Value::Array(list) = entry else { return positive(entry).map(Lengths::Every) };
    let one = |value: &Value| match value {
        Value::Array(pair) if with_counts => match pair.as_slice() {
            [length, count] => Ok((positive(length)?, positive(count)?)),
            _ => Err(wrong(value)),
        },
        _ => Ok((positive(value)?, 1)),
    };
    list.iter().map(one).collect::<Result<_, _>>().map(Lengths::Listed)
}
