//! Output and input formats of elements: raw bytes, NumPy, JSON, CSV.

pub(crate) mod cast;
pub(crate) mod cell;
pub(crate) mod csv;
pub(crate) mod csv_records;
pub(crate) mod element;
pub(crate) mod json;
pub(crate) mod moment;
pub(crate) mod npy;
pub(crate) mod python;
pub(crate) mod raw;
pub(crate) mod summary;

use std::io::Write;

use zarr_kit::ElementArray;
use zarr_kit::spec::representation::Units;
use zarr_kit::spec::{ByteOrder, Elements};

use crate::failure::Failure;

/// A writer of elements that arrive in parts, in C order.
pub(crate) trait Writer {
    fn write(&mut self, elements: &ElementArray, to: &mut dyn Write) -> Result<(), Failure>;

    fn finish(&mut self, to: &mut dyn Write) -> Result<(), Failure>;
}

/// Converts elements of fixed size from native byte order to `order`, or back.
pub(crate) fn reorder(bytes: &mut [u8], elements: &Elements, order: &ByteOrder) {
    let Elements::Fixed { size, units } = elements else { return };
    if *size == 0 {
        return;
    }
    let swaps = |number: usize| match order {
        ByteOrder::Little => cfg!(target_endian = "big"),
        ByteOrder::Big => cfg!(target_endian = "little"),
        ByteOrder::Mixed(big) => big.get(number).is_some_and(|&big| big == cfg!(target_endian = "little")),
    };
    match units {
        Units::Uniform(unit) if *unit > 1 && swaps(0) => {
            bytes.chunks_exact_mut(*unit).for_each(<[u8]>::reverse);
        }
        Units::Uniform(_) => {}
        Units::Fields(fields) => {
            for element in bytes.chunks_exact_mut(*size) {
                for (number, field) in fields.iter().enumerate() {
                    if swaps(number) {
                        element[field.offset..field.offset + field.size].reverse();
                    }
                }
            }
        }
    }
}

/// Returns whether the native byte order differs from `order`.
pub(crate) fn is_reordered(order: &ByteOrder) -> bool {
    match order {
        ByteOrder::Little => cfg!(target_endian = "big"),
        ByteOrder::Big => cfg!(target_endian = "little"),
        ByteOrder::Mixed(_) => true,
    }
}
