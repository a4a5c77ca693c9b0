//! Elements that come one after another, such as those of standard input.
//!
//! A chunk whose elements do not lie one after another waits for its last one: a band of chunks is in memory.

use std::io::{BufReader, Read};

use zarr_kit::{Along, Array};

use super::{FixedElements, check_elements};
use crate::blocks::Blocks;
use crate::failure::Failure;
use crate::forms::raw::read_items;
use crate::interrupt;
use crate::slabs;
use crate::terminal::{Progress, size};

/// The largest band that is held in memory, in bytes.
const LARGEST: u64 = 4 << 30;

pub(super) fn put_fixed(elements: &FixedElements<'_>, stream: &mut dyn Read) -> Result<(), Failure> {
    let (all, element_size) = (elements.size()?, elements.layout.element_size);
    let progress = Progress::of_bytes(all, "writing");
    // In Fortran order, no chunk is complete before the last element.
    let budget = if elements.layout.is_fortran { u64::MAX } else { slabs::budget(elements.array) };
    let mut done = 0;
    Blocks::of_one_chunk(elements.array, elements.along).for_each_band(element_size, budget, &mut |band| {
        let wanted = band.shape().iter().product::<u64>() * element_size;
        let bytes = read(stream, wanted)?;
        let mut found = done + bytes.len() as u64;
        done += wanted;
        if done == all {
            found += read(stream, 1)?.len() as u64;
        }
        // A band that is complete is written; the size of the last one is checked before.
        if found != done {
            elements.check_size(found)?;
        }
        progress.add(wanted);
        elements.put_block(band, bytes)
    })
}

/// At most `wanted` bytes.
fn read(stream: &mut dyn Read, wanted: u64) -> Result<Vec<u8>, Failure> {
    check_memory(wanted)?;
    let mut bytes = Vec::new();
    stream.take(wanted).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check_memory(wanted: u64) -> Result<(), Failure> {
    if wanted <= LARGEST {
        return Ok(());
    }
    Err(Failure::fault(format!(
        "{} would have to be in memory, because elements of a chunk do not lie one after another, and {} is the limit; \
         write to an ordinary file and put that, or put a part at a time with --select",
        size(wanted),
        size(LARGEST)
    )))
}

/// Writes items of variable size.
pub(super) fn put_variable(array: &Array, along: &[Along], stream: &mut dyn Read) -> Result<(), Failure> {
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
            let items = read_items(&mut stream, first..done, all, LARGEST)?;
            if done == all && !read(&mut stream, 1)?.is_empty() {
                return Err(Failure::fault(format!("it goes on after {all} items")));
            }
            let items: Vec<&[u8]> = items.iter().collect();
            check_elements(array, items.iter().copied(), |number| first + number)?;
            let _writing = interrupt::writing();
            Ok(array.write_variable(&band.selection(along), &items)?)
        },
    )
}
