//! The parts of messages.

use zarr_spec::printable;

use super::Problem;

const MEBIBYTE: u64 = 1 << 20;

/// Formats the memory that a chunk needs. The number is rounded up, so that it is larger than the budget, which the
/// same message rounds down.
pub(super) fn more_memory(needed: Option<u64>) -> String {
    match needed {
        Some(needed) if needed < MEBIBYTE => format!("{needed} bytes of memory, more"),
        Some(needed) => {
            let tenths = (u128::from(needed) * 10).div_ceil(u128::from(MEBIBYTE));
            format!("{}.{} MiB of memory, more", tenths / 10, tenths % 10)
        }
        None => "more memory".to_owned(),
    }
}

/// Formats a number of bytes, rounded down.
pub(super) fn in_mebibytes(size: u64) -> String {
    match size / MEBIBYTE {
        0 => format!("{size} bytes"),
        whole => format!("{whole}.{} MiB", size % MEBIBYTE * 10 / MEBIBYTE),
    }
}

pub(super) fn inner_chunk(position: Option<&[u64]>) -> String {
    position.map_or_else(String::new, |position| format!(", inner chunk {position:?}"))
}

pub(super) fn named_codec(codec: Option<&str>) -> String {
    codec.map_or_else(String::new, |codec| format!(", codec `{}`", printable(codec)))
}

pub(super) fn listed(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}
