//! `put`: elements from a file to an array.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use zarr_kit::spec::data_type::Kind;
use zarr_kit::spec::{ByteOrder, Elements};
use zarr_kit::{Array, ArrayOptions, FallbackPolicy, Selection};

use crate::arguments::{InputForm, Put};
use crate::failure::Failure;
use crate::forms::npy::{Header, MAGIC, to_c_order};
use crate::forms::{raw, reorder};
use crate::opening::open_to_change;
use crate::slabs;
use crate::terminal::Progress;

/// The name of a file that stands for standard input.
const STANDARD: &str = "-";

/// Bytes whose number is known.
struct Input {
    reader: Box<dyn Read>,
    size: u64,
}

pub(crate) fn run(arguments: &Put) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.store, &arguments.reading)?;
    let mut options = ArrayOptions::new();
    if arguments.write_fallback {
        options = options.fallback(FallbackPolicy::Warn).write_fallback(true);
    }
    let array = hierarchy.array_with(&hierarchy.path(&arguments.path)?, options)?;
    let along = slabs::parse(arguments.select.as_deref(), &array)?;
    let shape = Selection::Dimensions(along.clone()).shape(array.shape())?;
    let place = |error: Failure| error.while_doing(&format!("`{}`", arguments.file.display()));
    let (mut input, form) = open_input(&arguments.file, arguments.format).map_err(place)?;
    let mut order = ByteOrder::Little;
    if form == InputForm::Npy {
        let (header, before) =
            Header::read(&mut *input.reader, hierarchy.context().registry()).map_err(place)?;
        header.check_type(&**array.data_type()).map_err(place)?;
        if header.shape != shape {
            return Err(place(Failure::fault(format!(
                "the file has shape {:?}, and what is to be written {shape:?}",
                header.shape
            ))));
        }
        input.size = input.size.saturating_sub(before);
        if header.fortran_order && shape.len() > 1 {
            input = in_c_order(input, &array, &shape).map_err(place)?;
        }
        order = header.order;
    }
    let put = match array.data_type().elements() {
        Elements::Fixed { size, .. } => put_fixed(&array, &along, input, size, &order),
        Elements::Variable => put_variable(&array, &along, input),
    };
    put.map_err(|failure| match failure {
        // The store says for itself what it writes.
        Failure::Fault(error) if error.is::<zarr_kit::Error>() => Failure::Fault(error),
        failure => place(failure),
    })
}

/// The file and its form: the one that is asked for, or the one that its name or its first bytes tell.
fn open_input(path: &Path, asked: Option<InputForm>) -> Result<(Input, InputForm), Failure> {
    let mut input = if path.as_os_str() == STANDARD {
        in_memory(&mut io::stdin().lock())?
    } else {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() {
            Input { size: metadata.len(), reader: Box::new(BufReader::with_capacity(1 << 16, file)) }
        } else {
            in_memory(&mut file)?
        }
    };
    let mut start = Vec::new();
    (&mut input.reader).take(MAGIC.len() as u64).read_to_end(&mut start)?;
    let form = asked.map_or_else(|| default_form(path, start == MAGIC), Ok)?;
    input.reader = Box::new(Cursor::new(start).chain(input.reader));
    Ok((input, form))
}

/// Any bytes can be raw elements, so a file of another format would be written as if it were elements. Only standard
/// input is raw without being asked for.
fn default_form(path: &Path, begins_like_npy: bool) -> Result<InputForm, Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if begins_like_npy || ending.as_deref() == Some("npy") {
        return Ok(InputForm::Npy);
    }
    if path.as_os_str() == STANDARD {
        return Ok(InputForm::Raw);
    }
    let found = match ending.as_deref().and_then(format_of) {
        Some(format) => format!("`put` does not read {format}; convert it to a NumPy file (.npy) first"),
        None => "this is not a NumPy file (.npy)".to_owned(),
    };
    Err(Failure::fault(format!("{found}; --format raw takes the bytes of the file as elements")))
}

/// The format that the ending of a file stands for, if `put` is often given such files.
fn format_of(ending: &str) -> Option<&'static str> {
    Some(match ending {
        "csv" | "tsv" | "txt" => "text",
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

/// All of what has no size before it is read.
fn in_memory(reader: &mut dyn Read) -> Result<Input, Failure> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok(Input { size: bytes.len() as u64, reader: Box::new(Cursor::new(bytes)) })
}

/// Elements of a file whose first dimension changes fastest, turned around in memory.
fn in_c_order(mut input: Input, array: &Array, shape: &[u64]) -> Result<Input, Failure> {
    let Some(size) = array.data_type().elements().size() else { return Ok(input) };
    check_size(input.size, shape.iter().copied().fold(1, u64::saturating_mul), size)?;
    let mut bytes = Vec::new();
    input.reader.read_to_end(&mut bytes)?;
    check_size(bytes.len() as u64, shape.iter().copied().fold(1, u64::saturating_mul), size)?;
    let reader = Box::new(Cursor::new(to_c_order(&bytes, shape, size)));
    Ok(Input { reader, size: input.size })
}

fn check_size(found: u64, count: u64, element: usize) -> Result<(), Failure> {
    let wanted = count.checked_mul(element as u64);
    if wanted == Some(found) {
        return Ok(());
    }
    let wanted = wanted.map_or_else(|| "more than fits".to_owned(), |wanted| wanted.to_string());
    Err(Failure::fault(format!(
        "it holds {found} bytes of elements, and {count} elements of {element} bytes take {wanted}"
    )))
}

fn put_fixed(
    array: &Array,
    along: &[zarr_kit::Along],
    mut input: Input,
    size: usize,
    order: &ByteOrder,
) -> Result<(), Failure> {
    check_size(input.size, slabs::count(along), size)?;
    let layout = array.data_type().elements();
    let progress = Progress::of_bytes(input.size, "writing");
    let mut position = 0;
    slabs::for_each(array, along, slabs::budget(array), &mut |selection| {
        let count: u64 = selection.shape(array.shape())?.iter().product();
        let wanted = count.saturating_mul(size as u64);
        let mut bytes = Vec::new();
        (&mut input.reader).take(wanted).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != wanted {
            return Err(Failure::fault("the file became shorter while it was read"));
        }
        reorder(&mut bytes, &layout, order);
        if size > 0 {
            check_elements(array, bytes.chunks_exact(size), position)?;
        }
        array.write(selection, &bytes)?;
        position += count;
        progress.add(wanted);
        Ok(())
    })
}

/// Refuses bytes that are no elements of the type: booleans other than 0 and 1, text that is none.
fn check_elements<'e>(
    array: &Array,
    elements: impl Iterator<Item = &'e [u8]>,
    first: u64,
) -> Result<(), Failure> {
    let data_type = array.data_type();
    // Any bytes are a number.
    if data_type.kind().is_some_and(|kind| kind != Kind::Bool) {
        return Ok(());
    }
    for (number, element) in elements.enumerate() {
        data_type
            .check(element)
            .map_err(|error| Failure::fault(format!("element {}: {error}", first + number as u64)))?;
    }
    Ok(())
}

fn put_variable(array: &Array, along: &[zarr_kit::Along], mut input: Input) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    input.reader.read_to_end(&mut bytes)?;
    let items = raw::parse_variable(&bytes, slabs::count(along))?;
    check_elements(array, items.iter().copied(), 0)?;
    let progress = Progress::of_bytes(input.size, "writing");
    let mut rest = items.as_slice();
    slabs::for_each(array, along, slabs::budget(array), &mut |selection| {
        let count: u64 = selection.shape(array.shape())?.iter().product();
        let (now, behind) = rest.split_at(usize::try_from(count).unwrap_or(rest.len()).min(rest.len()));
        rest = behind;
        array.write_variable(selection, now)?;
        progress.add(now.iter().map(|item| item.len() as u64 + 4).sum());
        Ok(())
    })
}
