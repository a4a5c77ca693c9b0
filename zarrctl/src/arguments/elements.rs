//! The arguments of verbs that read and write elements.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use zarr_kit::spec::Value;

use super::{ArrayAt, Reading};
use crate::values;

/// Output formats of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Elements in C order, little endian, without a header; each item of variable length follows its size in
    /// bytes as u32
    Raw,
    /// The NumPy file format
    Npy,
    /// Nested arrays, the same for every format of the store: floats with the fewest digits that restore
    /// them, times in ISO 8601 or "NaT", time spans as counts, structures as objects, bytes in Base64.
    /// NumPy's `S` is a string if it is UTF-8, else {"base64": …}
    Json,
    /// One line for each row (RFC 4180), for at most two dimensions. One-dimensional structures have a column
    /// for each field and a header. Text is not escaped: a spreadsheet may interpret cells that begin with
    /// `=`, `+`, `-` or `@` as formulas
    Csv,
}

/// Input formats of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputForm {
    /// Elements in C order, little endian, without a header; each item of variable length follows its size in
    /// bytes as u32
    Raw,
    /// The NumPy file format
    Npy,
    /// Comma-separated values (RFC 4180), for at most two dimensions: one line for each row. Structures have a header
    /// with the names of the fields
    Csv,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    #[command(flatten)]
    pub(crate) at: ArrayAt,
    /// Read this part only, in NumPy notation: "0:10,:,::2,5". Negative numbers count from the end, an
    /// integer drops its dimension, `[3,1,2]` is a list of indices. Or by dimension name:
    /// "time=2001-02,lat=0:45,lon=[0:10]", with values of coordinates, or positions in brackets
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Write to this file; default, and `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write in this format. Default: by the extension of FILE (.npy, .json, .csv, .raw or .bin), else raw;
    /// on a terminal, the corners of a large array are shown
    #[arg(long, value_enum)]
    pub(crate) format: Option<Form>,
    /// Decode the times, scale factors, offsets, missing values and signs of the CF conventions, on a terminal and for
    /// --format json and csv. As in xarray, elements that equal the fill value of an array of v2 with dimension names are
    /// missing, unless they are booleans; in v3, only the attributes mark missing values. Spans of time stay numbers
    #[arg(long)]
    pub(crate) cf: bool,
    /// Print all elements on a terminal, as JSON unless --format is given
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) at: ArrayAt,
    /// Measure each way of reading for about this time; every way is measured at least a few times
    #[arg(long, default_value = "2", value_parser = values::seconds, allow_hyphen_values = true)]
    pub(crate) seconds: Duration,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    #[command(flatten)]
    pub(crate) at: ArrayAt,
    /// NumPy file (.npy) or table (.csv), or with --format raw the bytes that `get --format raw` writes; `-` is
    /// standard input
    #[arg(required_unless_present = "value")]
    pub(crate) file: Option<PathBuf>,
    /// Write this value to all selected elements, instead of a file: 0, NaN, text, 2001-02-03
    #[arg(
        long,
        value_name = "VALUE",
        value_parser = values::text_or_json,
        allow_hyphen_values = true,
        conflicts_with_all = ["file", "format", "cast", "header"]
    )]
    pub(crate) value: Option<Value>,
    /// Convert the numbers of a NumPy file to the data type of the array, or its texts to other lengths. Floats are
    /// rounded; other elements that the data type cannot hold are an error. Texts such as <U8 are converted to strings
    /// even without this option
    #[arg(long)]
    pub(crate) cast: bool,
    /// Skip the first line of a table
    #[arg(long)]
    pub(crate) header: bool,
    /// Read FILE in this format. Default: by the extension; for standard input, raw unless it begins like a NumPy
    /// file
    #[arg(long, value_enum)]
    pub(crate) format: Option<InputForm>,
    /// Write this part only, in NumPy notation or by dimension name, as in `get --select`. Default: everything
    #[arg(long, value_name = "SELECTION", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Write elements of the fallback if the data type is unknown; the metadata keeps naming the unknown type
    #[arg(long)]
    pub(crate) write_fallback: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
