//! The rectilinear chunk grid of Zarr: each dimension is divided into chunks of individual lengths.
//!
//! A dimension has chunks of one length, or a list of lengths with repetitions as `[length, count]`. Every
//! chunk is stored at its full length, even if it extends past the array. The list may contain more chunks than
//! the array needs: these become part of the grid when the array grows.
//!
//! `rectangular`, an older form, has the lists in `chunk_shape`, without repetitions. In the draft, the grid is
//! an extension of this project.
//!
//! With the feature `encoded-chunk-shapes`, chunks of v3 may be stored at larger lengths than they have in the array.
//! `encoded_chunk_shapes` has these lengths, in the form of `chunk_shapes` and for the same number of chunks. The
//! elements after those of the array are padding: readers ignore them. The member is an open proposal, which may still
//! change.
//!
//! The proposal leaves three questions open. This crate answers them as follows:
//!
//! - Codecs encode the encoded shape. Inner chunks of shards divide it.
//! - In a chunk that is written as a whole, padding has the fill value. Otherwise it does not change.
//! - A list in `encoded_chunk_shapes` fixes the number of chunks, also if `chunk_shapes` has one length. The array then
//!   only grows or shrinks within its last chunk.
//!
//! Source: `chunk-grids/rectilinear` in the Zarr extension registry; its pull request 75 for `encoded_chunk_shapes`;
//! ZEP 3 for `rectangular`; `docs/spec/grids-rectilinear.md` for the draft.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod axis;

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Creation, Example, Format, Identifiers, Invalid, Value};

use axis::{Axis, Run};

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
    #[cfg(feature = "encoded-chunk-shapes")]
    Example::v3(
        r#"{"name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[[5, 2], 3, 6], 4],
                "encoded_chunk_shapes": [[5, [8, 3]], 6]}}"#,
    )
    .with_shape(&[18, 10]),
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

impl RectilinearGrid {
    /// Divides an array of `array_shape`, in elements per dimension.
    ///
    /// # Errors
    ///
    /// [`GridError::InvalidConfiguration`] for a wrong number of dimensions, a length or a count of 0, and
    /// lengths that do not reach the end of the array.
    pub fn new(array_shape: &[u64], lengths: &[Lengths]) -> Result<Self, GridError> {
        Ok(Self::divided(array_shape, lengths, None)?)
    }

    /// Divides an array like [`RectilinearGrid::new`], into chunks that are stored at the lengths `encoded`.
    ///
    /// # Errors
    ///
    /// Same as [`RectilinearGrid::new`]; also for another number of encoded lengths, and an encoded length that is
    /// smaller than the length of its chunk.
    #[cfg(feature = "encoded-chunk-shapes")]
    pub fn with_encoded(
        array_shape: &[u64],
        lengths: &[Lengths],
        encoded: &[Lengths],
    ) -> Result<Self, GridError> {
        Ok(Self::divided(array_shape, lengths, Some(encoded))?)
    }

    fn divided(
        array_shape: &[u64],
        lengths: &[Lengths],
        encoded: Option<&[Lengths]>,
    ) -> Result<Self, Invalid> {
        let rank = array_shape.len();
        for (what, given) in [("lengths", Some(lengths)), ("encoded lengths", encoded)] {
            if let Some(given) = given.map(<[Lengths]>::len).filter(|given| *given != rank) {
                let what = format!("{what} for {given} dimensions are given, but the array has {rank}");
                return Err(Invalid::new(what));
            }
        }
        let mut grid_shape = Vec::with_capacity(rank);
        let mut largest = Vec::with_capacity(rank);
        let mut runs = Vec::with_capacity(rank);
        for (dimension, (&array, lengths)) in array_shape.iter().zip(lengths).enumerate() {
            let axis = Axis::new(array, lengths, encoded.map(|encoded| &encoded[dimension]));
            let axis = axis.map_err(|what| Invalid::new(format!("dimension {dimension}: {what}")))?;
            grid_shape.push(axis.count);
            largest.push(axis.largest);
            runs.push(axis.runs);
        }
        let is_even = runs.iter().all(|runs| matches!(&runs[..], [] | [Run { padding: 0, .. }]));
        Ok(Self { array_shape: array_shape.to_vec(), grid_shape, runs, largest, is_even })
    }

    /// Returns the run that contains a chunk.
    fn run_of(&self, dimension: usize, chunk: u64) -> Result<Run, GridError> {
        let count = self.grid_shape.get(dimension).copied().unwrap_or(0);
        if chunk >= count {
            return Err(self.no_chunk(dimension, chunk));
        }
        let runs = &self.runs[dimension];
        // The first run starts with chunk 0, so the index is at least 1.
        Ok(runs[runs.partition_point(|run| run.chunk <= chunk) - 1])
    }

    fn no_chunk(&self, dimension: usize, chunk: u64) -> GridError {
        GridError::OutOfBounds(format!(
            "no chunk {chunk} along dimension {dimension}: the grid has shape {:?}",
            self.grid_shape
        ))
    }
}

impl ChunkGrid for RectilinearGrid {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        let run = self.run_of(dimension, chunk)?;
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

    fn padding(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        Ok(self.run_of(dimension, chunk)?.padding)
    }
}

#[derive(Deserialize)]
struct RectilinearConfiguration {
    kind: String,
    chunk_shapes: Vec<Value>,
    #[cfg(feature = "encoded-chunk-shapes")]
    encoded_chunk_shapes: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct RectangularConfiguration {
    chunk_shape: Vec<Value>,
}

fn create(creation: &Creation<'_>, array_shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    check_type(creation)?;
    if creation.identifier == RECTANGULAR {
        creation.reading.tolerate("chunk grid `rectangular` is an older form; use `rectilinear`")?;
        let RectangularConfiguration { chunk_shape } = creation.parse()?;
        let lengths = lengths("chunk_shape", &chunk_shape, false)?;
        return Ok(Arc::new(RectilinearGrid::new(array_shape, &lengths)?));
    }
    check_encoded(creation)?;
    let configuration: RectilinearConfiguration = creation.parse()?;
    let kind = &configuration.kind;
    if kind != "inline" {
        return Err(Invalid::new(format!("`kind` is `{kind}`; expected `inline`")).into());
    }
    let chunks = lengths("chunk_shapes", &configuration.chunk_shapes, true)?;
    #[cfg(feature = "encoded-chunk-shapes")]
    if let Some(encoded) = &configuration.encoded_chunk_shapes {
        let encoded = lengths(ENCODED, encoded, true)?;
        return Ok(Arc::new(RectilinearGrid::with_encoded(array_shape, &chunks, &encoded)?));
    }
    Ok(Arc::new(RectilinearGrid::new(array_shape, &chunks)?))
}

/// The member of a proposal.
const ENCODED: &str = "encoded_chunk_shapes";

/// Refuses the member of the proposal where it is not supported.
fn check_encoded(creation: &Creation<'_>) -> Result<(), Invalid> {
    let members = creation.configuration.as_object();
    if members.is_none_or(|members| members.get(ENCODED).is_none()) {
        return Ok(());
    }
    if creation.format == Format::V3Draft {
        return Err(Invalid::new(format!("the draft does not have `{ENCODED}`, only final v3 does")));
    }
    if cfg!(feature = "encoded-chunk-shapes") {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "`{ENCODED}` is not in this build; feature `proposals` of crate `zarr-kit` has it"
    )))
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

/// Parses the entries of all dimensions.
fn lengths(member: &str, entries: &[Value], with_counts: bool) -> Result<Vec<Lengths>, Invalid> {
    entries.iter().map(|entry| lengths_along(member, entry, with_counts)).collect()
}

/// Parses the entry of one dimension.
fn lengths_along(member: &str, entry: &Value, with_counts: bool) -> Result<Lengths, Invalid> {
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
