//! Elements from a stream, such as standard input.
//!
//! A chunk is written when its last element has arrived, so memory holds a band of chunks.

use std::io::{BufReader, Read};

use zarr_kit::{Array, DimensionSelection};

use super::{FixedElements, check_elements};
use crate::blocks::Blocks;
use crate::failure::Failure;
use crate::forms::raw::read_items;
use crate::slabs;
use crate::terminal::{Progress, size};

pub(super) fn put_fixed(elements: &FixedElements<'_>, stream: &mut dyn Read) -> Result<(), Failure> {
    let all = elements.size()?;
    let element_size = elements.layout.element_size;
    let progress = Progress::of_bytes(all, "writing");
    // In Fortran order, chunks are complete only at the end.
    let budget = if elements.layout.is_fortran { u64::MAX } else { slabs::budget(elements.array) };
    let mut done = 0;
    Blocks::of_one_chunk(elements.array, elements.along).for_each_band(element_size, budget, &mut |band| {
        let wanted = band.shape().iter().product::<u64>() * element_size;
        let bytes = read_band(stream, wanted, elements.array)?;
        let mut found = done + bytes.len() as u64;
        done += wanted;
        if done == all {
            found += read(stream, 1)?.len() as u64;
        }
        // Complete bands are written immediately. The size is checked before the last band.
        if found != done {
            elements.check_size(found)?;
        }
        progress.add(wanted);
        elements.put_block(band, bytes)
    })
}

/// Reads a band of `wanted` bytes, or less at the end of the stream.
fn read_band(stream: &mut dyn Read, wanted: u64, array: &Array) -> Result<Vec<u8>, Failure> {
    let most = slabs::most(array);
    if wanted > most {
        return Err(Failure::fault(format!(
            "a row of chunks takes {} of memory, but the limit for elements is {}: raise --memory (elements get a \
                 quarter of it), put from a file instead of a stream, or put parts with --select",
            size(wanted),
            size(most)
        )));
    }
    read(stream, wanted)
}

/// Reads at most `wanted` bytes.
fn read(stream: &mut dyn Read, wanted: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    stream.take(wanted).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn put_variable(
    array: &Array,
    along: &[DimensionSelection],
    stream: &mut dyn Read,
) -> Result<(), Failure> {
    let all = slabs::count(along);
    let _progress = Progress::unknown("writing");
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    let mut done = 0;
    Blocks::of_one_chunk(array, along).for_each_band(
        slabs::element_size(array),
        slabs::budget(array),
        &mut |band| {
            let first = done;
            done += band.shape().iter().product::<u64>();
            let items = read_items(&mut stream, first..done, all, slabs::most(array))?;
            if done == all && !read(&mut stream, 1)?.is_empty() {
                return Err(Failure::fault(format!("found data after the last of {all} items")));
            }
            let items: Vec<&[u8]> = items.iter().collect();
            check_elements(array, items.iter().copied(), |number| first + number)?;
            Ok(array.write_values(band.selection(along), &items)?)
        },
    )
}
