//! The input of `put`.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use crate::arguments::InputForm;
use crate::failure::Failure;
use crate::forms::npy::MAGIC;

/// The file name for standard input.
const STANDARD: &str = "-";

pub(super) enum Input {
    /// A regular file, positioned at its beginning, and its size in bytes.
    File { file: File, size: u64 },
    /// A stream, such as standard input.
    Stream(Box<dyn Read>),
}

impl Input {
    /// Opens a file. The format is `asked`, or follows from the name or the first bytes of the file.
    pub(super) fn open(path: &Path, asked: Option<InputForm>) -> Result<(Self, InputForm), Failure> {
        let mut input = match path.as_os_str() == STANDARD {
            true => Self::Stream(Box::new(io::stdin())),
            false => {
                let file = File::open(path)?;
                let metadata = file.metadata()?;
                match metadata.is_file() {
                    true => Self::File { file, size: metadata.len() },
                    false => Self::Stream(Box::new(file)),
                }
            }
        };
        let mut start = Vec::new();
        input.reader().take(MAGIC.len() as u64).read_to_end(&mut start)?;
        let form = asked.map_or_else(|| default_form(path, start == MAGIC), Ok)?;
        let input = match input {
            Self::File { mut file, size } => {
                file.seek(SeekFrom::Start(0))?;
                Self::File { file, size }
            }
            Self::Stream(rest) => Self::Stream(Box::new(Cursor::new(start).chain(rest))),
        };
        Ok((input, form))
    }

    pub(super) fn reader(&mut self) -> &mut dyn Read {
        match self {
            Self::File { file, .. } => file,
            Self::Stream(stream) => stream,
        }
    }
}

/// Chooses the default format. Only standard input is raw by default, because any file could be read as raw
/// elements.
fn default_form(path: &Path, begins_like_npy: bool) -> Result<InputForm, Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if begins_like_npy || ending.as_deref() == Some("npy") {
        return Ok(InputForm::Npy);
    }
    if ending.as_deref() == Some("csv") {
        return Ok(InputForm::Csv);
    }
    if path.as_os_str() == STANDARD {
        return Ok(InputForm::Raw);
    }
    let found = match ending.as_deref().and_then(format_of) {
        Some(format) => {
            format!("`put` does not read {format}; convert it to a NumPy file (.npy) or CSV first")
        }
        None => "not a NumPy file (.npy)".to_owned(),
    };
    Err(Failure::fault(format!("{found}; use --format raw to write the bytes of the file as elements")))
}

/// Returns the format for a file extension that users often pass to `put`.
fn format_of(ending: &str) -> Option<&'static str> {
    Some(match ending {
        "tsv" | "txt" => "text other than CSV",
        "json" => "JSON",
        "npz" => "NumPy archives",
        "tif" | "tiff" => "TIFF",
        "png" | "jpg" | "jpeg" | "gif" | "bmp" => "pictures",
        "nc" | "nc4" | "cdf" => "NetCDF",
        "h5" | "hdf5" | "hdf" | "h5ad" | "he5" => "HDF5",
        "mat" => "MATLAB files",
        "parquet" | "feather" | "arrow" => "tables",
        "grib" | "grb" | "grib2" | "grb2" => "GRIB",
        "fits" | "fit" => "FITS",
        "nii" | "mha" | "nrrd" | "dcm" => "medical images",
        "zip" | "ozx" | "gz" | "bz2" | "xz" | "zst" | "tar" => "archives and compressed files",
        "pkl" | "pickle" | "pt" | "joblib" => "pickles",
        _ => return None,
    })
}
