//! `get`: reads elements of an array.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use zarr_kit::json::counted;
use zarr_kit::spec::{printable, printable_path};
use zarr_kit::{Array, DimensionSelection, ElementArray, Hierarchy, Selection};

use crate::arguments::{Form, Get};
use crate::blocks::{Blocks, Layout};
use crate::cf::{self, Decoding};
use crate::decoded::{Decoder, decoded_texts};
use crate::describe::{self, stored_order};
use crate::failure::Failure;
use crate::files::to_file;
use crate::forms::Writer;
use crate::forms::csv::CsvWriter;
use crate::forms::json::JsonWriter;
use crate::forms::npy::NpyWriter;
use crate::forms::raw::{RawWriter, little_endian};
use crate::forms::summary::{summarise, summarise_as};
use crate::hints;
use crate::interrupt::{self, Left};
use crate::labels;
use crate::opening::{open, warn_of_old_copy};
use crate::printer::{note, stdout};
use crate::selecting;
use crate::slabs;
use crate::terminal::{self, Progress, size, warn};

/// The file name for standard output.
const STANDARD: &str = "-";

pub(crate) fn run(arguments: &Get) -> Result<(), Failure> {
    let hierarchy = open(&arguments.at.store, &arguments.reading)?;
    let array = hierarchy.array(&arguments.at.path).map_err(|error| hints::of_node(error, &hierarchy))?;
    warn_of_old_copy(&hierarchy, &array);
    for problem in if arguments.cf { cf::unusable(&array) } else { Vec::new() } {
        warn(&format!("{}: {problem}", array.path()));
    }
    let along = selecting::parse(arguments.select.as_deref(), &array, &hierarchy)?;
    let shape = Selection::Orthogonal(along.clone()).shape(array.shape())?;
    if is_looked_at(arguments) {
        print_labels(&array, &hierarchy, &along)?;
        return show(&array, &along, &shape, arguments.cf);
    }
    check_size(&array, &along, arguments.select.is_some())?;
    let file = arguments.output.as_deref().filter(|file| file.as_os_str() != STANDARD);
    let form = arguments.format.map_or_else(|| default_form(file), Ok)?;
    let decoder = if arguments.cf { decoder(&array, form)? } else { None };
    let mut writer = writer(form, &array, &shape, decoder)?;
    let Some(file) = file else {
        return write(&array, &along, &mut *writer, &mut standard_output());
    };
    let place = |error: Failure| error.while_at(&format!("writing `{}`", file.display()));
    interrupt::watch(Left::file(file))?;
    if is_special(file) {
        let mut output = File::options().write(true).open(file).map_err(|error| place(error.into()))?;
        return write(&array, &along, &mut *writer, &mut output).map_err(place);
    }
    let start = Instant::now();
    write_to_file(&array, &along, form, &mut *writer, file).map_err(place)?;
    let count = counted(slabs::count(&along), "element", "elements");
    let seconds = start.elapsed().as_secs_f64();
    terminal::summary(&format!("wrote {count} to {} in {seconds:.1} s", printable_path(file)));
    Ok(())
}

/// Returns the decoder of the CF conventions, if the array declares them.
fn decoder(array: &Array, form: Form) -> Result<Option<Decoder>, Failure> {
    match form {
        Form::Json | Form::Csv => Ok(Decoder::of(array)),
        Form::Raw | Form::Npy => Err(Failure::fault(
            "--cf writes decoded values as text: use --format json or csv, or leave out --cf for the stored numbers",
        )),
    }
}

fn write_to_file(
    array: &Array,
    along: &[DimensionSelection],
    form: Form,
    writer: &mut dyn Writer,
    file: &Path,
) -> Result<(), Failure> {
    to_file(file, |mut part| match (slabs::fixed_size(array), form) {
        (Some(size), Form::Raw) => write_blocks(array, along, size, &[], part),
        (Some(size), Form::Npy) => {
            let shape = Selection::Orthogonal(along.to_vec()).shape(array.shape())?;
            let header = NpyWriter::new(&**array.data_type(), &shape)?.into_header();
            write_blocks(array, along, size, &header, part)
        }
        _ => write(array, along, writer, &mut BufWriter::with_capacity(1 << 16, &mut part)),
    })
}

/// Returns whether the output is a terminal and the options do not request all elements.
fn is_looked_at(arguments: &Get) -> bool {
    let is_plain = arguments.output.is_none() && arguments.format.is_none() && !arguments.all;
    is_plain && io::stdout().is_terminal()
}

/// Prints the coordinates of the selected part. If they cannot be read, the elements may be readable all the same.
fn print_labels(array: &Array, hierarchy: &Hierarchy, along: &[DimensionSelection]) -> Result<(), Failure> {
    match labels::lines(array, hierarchy, along) {
        Ok(labels) => Ok(stdout().write_all(labels.as_bytes())?),
        Err(error) => {
            let reason = error.message().unwrap_or_default();
            warn(&format!("the coordinates of {} are not printed: {reason}", array.path()));
            Ok(())
        }
    }
}

fn show(array: &Array, along: &[DimensionSelection], shape: &[u64], is_decoded: bool) -> Result<(), Failure> {
    let decoding = Decoding::of_xarray(array);
    let decoded = |elements: &ElementArray| {
        let texts = decoded_texts(array, &decoding, elements)?;
        Ok(texts.iter().map(|text| printable(text).to_string()).collect())
    };
    let summary = if is_decoded { summarise_as(array, along, &decoded)? } else { summarise(array, along)? };
    let mut output = stdout();
    output.write_all(summary.text.as_bytes())?;
    output.flush()?;
    if !is_decoded && Decoder::of(array).is_some() {
        note("these are the stored numbers; --cf decodes them");
    }
    if summary.is_cut {
        let shape = describe::shape(shape);
        note(&format!("{shape} elements; use --all to print all, -o FILE to write them to a file"));
    }
    Ok(())
}

/// Returns standard output. Unprintable characters are escaped only on terminals.
fn standard_output() -> Box<dyn Write> {
    match io::stdout().is_terminal() {
        true => Box::new(BufWriter::with_capacity(1 << 16, stdout())),
        false => Box::new(BufWriter::with_capacity(1 << 16, io::stdout().lock())),
    }
}

/// The size of the output in bytes above which `--select` is required.
const MOST_UNASKED: u64 = 1 << 40;
/// The maximum size of the output in bytes, because file sizes are signed 64-bit numbers.
const MOST: u64 = 1 << 63;

/// Refuses huge outputs: sparse arrays can be large without taking space.
fn check_size(array: &Array, along: &[DimensionSelection], is_selected: bool) -> Result<(), Failure> {
    let elements = slabs::count(along).saturating_mul(slabs::element_size(array));
    if elements >= MOST {
        return Err(Failure::fault(
            "the output would exceed 8 EiB; use --select to read a part of the array",
        ));
    }
    if elements > MOST_UNASKED && !is_selected {
        return Err(Failure::fault(format!(
            "the output would have {}; use --select to read a part, or `--select ...` to read all of it",
            size(elements)
        )));
    }
    Ok(())
}

/// Chooses the default format, by the extension of the file.
fn default_form(file: Option<&Path>) -> Result<Form, Failure> {
    let Some(file) = file else {
        return Ok(if io::stdout().is_terminal() { Form::Json } else { Form::Raw });
    };
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("npy") => Ok(Form::Npy),
        Some("json") => Ok(Form::Json),
        Some("csv") => Ok(Form::Csv),
        Some("raw" | "bin") => Ok(Form::Raw),
        _ if is_special(file) => Ok(Form::Raw),
        Some(extension) => Err(Failure::fault(format!(
            "`{}`: unknown extension `.{extension}`; use --format raw, npy, json or csv",
            file.display()
        ))),
        None => Err(Failure::fault(format!(
            "`{}` does not have an extension such as .npy; use --format raw, npy, json or csv",
            file.display()
        ))),
    }
}

fn is_special(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| !metadata.is_file())
}

fn writer(
    form: Form,
    array: &Array,
    shape: &[u64],
    decoder: Option<Decoder>,
) -> Result<Box<dyn Writer>, Failure> {
    Ok(match form {
        Form::Raw => Box::new(RawWriter),
        Form::Npy => Box::new(NpyWriter::new(&**array.data_type(), shape)?),
        Form::Json => Box::new(JsonWriter::new(shape, stored_order(array.codecs())).with_decoder(decoder)),
        Form::Csv => Box::new(CsvWriter::new(&**array.data_type(), shape)?.with_decoder(decoder)),
    })
}

/// Writes a header, then the elements at their positions in the file. Reads each chunk once.
fn write_blocks(
    array: &Array,
    along: &[DimensionSelection],
    element_size: u64,
    header: &[u8],
    mut file: File,
) -> Result<(), Failure> {
    let progress = Progress::of_bytes(slabs::count(along).saturating_mul(element_size), "reading");
    let start = header.len() as u64;
    let layout =
        Layout { shape: along.iter().map(slabs::length).collect(), element_size, start, is_fortran: false };
    file.write_all(header)?;
    let mut position = start;
    Blocks::to_read(array, along, slabs::budget(array))?.for_each(&mut |block| {
        let elements = array.read(block.selection(along))?;
        let bytes = little_endian(&elements);
        let mut rest = &bytes[..];
        layout.for_each_run(block, &mut |run| {
            if run.position != position {
                file.seek(SeekFrom::Start(run.position))?;
            }
            let (now, later) = rest.split_at(usize::try_from(run.size).unwrap_or(rest.len()));
            file.write_all(now)?;
            (rest, position) = (later, run.position + run.size);
            Ok(())
        })?;
        progress.add(bytes.len() as u64);
        Ok(())
    })
}

fn write(
    array: &Array,
    along: &[DimensionSelection],
    writer: &mut dyn Writer,
    to: &mut dyn Write,
) -> Result<(), Failure> {
    let size = slabs::element_size(array);
    let progress = Progress::of_bytes(slabs::count(along).saturating_mul(size), "reading");
    if slabs::cuts_chunks(array, along) {
        warn(
            "chunks are decoded several times, because a row of chunks exceeds the memory for elements; raise \
                 --memory, or write to a .npy or .raw file with -o",
        );
    }
    slabs::for_each(array, along, 1, &mut |selection| {
        let elements = array.read(selection)?;
        writer.write(&elements, to)?;
        progress.add((elements.count() as u64).saturating_mul(size));
        Ok(())
    })?;
    writer.finish(to)?;
    Ok(to.flush()?)
}
