//! `put`: writes elements from a file to an array.

mod converted;
mod input;
mod stream;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Instant;

use zarr_kit::json::counted;
use zarr_kit::spec::data_type::Kind;
use zarr_kit::spec::{ByteOrder, Elements};
use zarr_kit::{Array, ArrayOptions, DimensionSelection, FallbackPolicy, Registry, Selection};

use crate::arguments::{InputForm, Put};
use crate::blocks::{Block, Blocks, Layout};
use crate::failure::Failure;
use crate::forms::npy::{Header, to_c_order};
use crate::forms::reorder;
use crate::hints;
use crate::interrupt::{self, Left};
use crate::opening::open_to_change;
use crate::selecting;
use crate::slabs;
use crate::terminal::{self, Progress};
use input::Input;

pub(crate) fn run(arguments: &Put) -> Result<(), Failure> {
    let hierarchy = open_to_change(&arguments.at.store, &arguments.reading)?;
    let mut options = ArrayOptions::new();
    if arguments.write_fallback {
        options = options.fallback(FallbackPolicy::Warn).write_fallback(true);
    }
    let array = hierarchy.array_with(hierarchy.path(&arguments.at.path)?, options);
    let array = array.map_err(|error| hints::of_node(error, &hierarchy))?;
    let along = selecting::parse(arguments.select.as_deref(), &array, &hierarchy)?;
    let left = format!("elements written before remain in {} of `{}`", array.path(), arguments.at.store);
    interrupt::watch(Left::values(left))?;
    let start = Instant::now();
    match (&arguments.value, &arguments.file) {
        (Some(value), _) => converted::put_value(&array, &along, value)?,
        (None, Some(file)) => put(&array, &along, &Given { arguments, file }, hierarchy.context().registry())
            .map_err(|failure| match failure {
                // Errors of the engine name the array and the chunk, so the name of the file would not help.
                Failure::Fault(error) if error.is::<zarr_kit::Error>() => Failure::Fault(error),
                failure => failure.while_doing(&format!("`{}`", file.display())),
            })?,
        (None, None) => return Err(Failure::Usage("give a FILE, or a --value".to_owned())),
    }
    let count = counted(slabs::count(&along), "element", "elements");
    terminal::summary(&format!(
        "wrote {count} to {} in {:.1} s",
        array.path(),
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// The file to read, and how.
struct Given<'a> {
    arguments: &'a Put,
    file: &'a Path,
}

fn put(
    array: &Array,
    along: &[DimensionSelection],
    given: &Given<'_>,
    registry: &Registry,
) -> Result<(), Failure> {
    let (mut input, form) = Input::open(given.file, given.arguments.format)?;
    if form == InputForm::Csv {
        return converted::put_csv(array, along, Box::new(input.reader()), given.arguments.header);
    }
    let shape = Selection::Orthogonal(along.to_vec()).shape(array.shape())?;
    let mut order = ByteOrder::Little;
    let mut start = 0;
    let mut is_fortran = false;
    if form == InputForm::Npy {
        let (header, size) = Header::read(input.reader(), registry)?;
        let cast = header.cast(&**array.data_type(), given.arguments.cast)?;
        if header.shape != shape {
            return Err(Failure::fault(format!(
                "the file has shape {:?}, but the selection has shape {shape:?}",
                header.shape
            )));
        }
        if let Some(cast) = cast {
            return converted::put_cast(array, along, &header, cast, input.reader());
        }
        start = size;
        is_fortran = header.fortran_order && shape.len() > 1;
        order = header.order;
    }
    let Elements::Fixed { size, .. } = array.data_type().elements() else {
        return stream::put_variable(array, along, input.reader());
    };
    let shape = along.iter().map(slabs::length).collect();
    let layout = Layout { shape, element_size: size as u64, start, is_fortran };
    let elements = FixedElements { array, along, layout, order };
    match input {
        Input::File { file, size } => elements.put_file(file, size),
        Input::Stream(mut stream) => stream::put_fixed(&elements, &mut *stream),
    }
}

/// Elements of fixed size: the target, and the layout of the file.
struct FixedElements<'a> {
    array: &'a Array,
    along: &'a [DimensionSelection],
    layout: Layout,
    order: ByteOrder,
}

impl FixedElements<'_> {
    /// Returns the size of all elements in bytes.
    fn size(&self) -> Result<u64, Failure> {
        let count = slabs::count(self.along);
        let size = self.layout.element_size;
        let too_large =
            || Failure::fault(format!("{count} elements of {size} bytes exceed the largest file size"));
        count.checked_mul(size).ok_or_else(too_large)
    }

    fn check_size(&self, found: u64) -> Result<(), Failure> {
        let count = slabs::count(self.along);
        let size = self.layout.element_size;
        let wanted = self.size()?;
        if found == wanted {
            return Ok(());
        }
        let count = counted(count, "element", "elements");
        let size = counted(size, "byte", "bytes");
        Err(Failure::fault(format!("found {found} bytes of elements, expected {wanted} ({count} of {size})")))
    }

    /// Writes each chunk once, from the positions of its elements in the file.
    fn put_file(&self, mut file: File, size: u64) -> Result<(), Failure> {
        self.check_size(size.saturating_sub(self.layout.start))?;
        let progress = Progress::of_bytes(self.size()?, "writing");
        let blocks = Blocks::of_chunks(self.array, self.along, slabs::budget(self.array));
        let mut position = self.layout.start;
        blocks.for_each(&mut |block| {
            let size = block.shape().iter().product::<u64>() * self.layout.element_size;
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
            self.layout.for_each_run(block, &mut |run| {
                if run.position != position {
                    file.seek(SeekFrom::Start(run.position))?;
                }
                let read = (&mut file).take(run.size).read_to_end(&mut bytes)? as u64;
                if read != run.size {
                    return Err(Failure::fault("the file was truncated while it was read"));
                }
                position = run.position + run.size;
                Ok(())
            })?;
            progress.add(bytes.len() as u64);
            self.put_block(block, bytes)
        })
    }

    /// Writes a block. `bytes` contains its elements in the order of the file.
    fn put_block(&self, block: &Block, mut bytes: Vec<u8>) -> Result<(), Failure> {
        let size = usize::try_from(self.layout.element_size).unwrap_or(usize::MAX);
        if self.layout.is_fortran {
            bytes = to_c_order(&bytes, &block.shape(), size);
        }
        reorder(&mut bytes, &self.array.data_type().elements(), &self.order);
        if size > 0 {
            check_elements(self.array, bytes.chunks_exact(size), |number| self.number(block, number))?;
        }
        Ok(self.array.write(block.selection(self.along), &bytes)?)
    }

    /// Converts the number of an element in a block to its number in the selection.
    fn number(&self, block: &Block, mut number: u64) -> u64 {
        let mut position = 0;
        let mut stride = 1u64;
        for (range, length) in block.entries.iter().zip(&self.layout.shape).rev() {
            let entries = (range.end - range.start).max(1);
            position += (range.start + number % entries) * stride;
            number /= entries;
            stride = stride.saturating_mul(*length);
        }
        position
    }
}

/// Refuses bytes that are not valid elements: booleans other than 0 and 1, strings that are not UTF-8.
/// `number` returns the number of an element in messages.
fn check_elements<'e>(
    array: &Array,
    elements: impl Iterator<Item = &'e [u8]>,
    number: impl Fn(u64) -> u64,
) -> Result<(), Failure> {
    let data_type = array.data_type();
    // Every bit pattern is a valid number.
    if data_type.kind().is_some_and(|kind| kind != Kind::Bool) {
        return Ok(());
    }
    for (element, at) in elements.zip(0..) {
        let checked = data_type.check(element);
        checked.map_err(|error| Failure::fault(format!("element {}: {error}", number(at))))?;
    }
    Ok(())
}
