//! Selection of the fastest kernels for this machine.

use super::level::Level;
use super::rows::{self, Kernel, LINE, Purpose, Rows, Transpose};
use super::swap::ByteSwap;

/// Returns the kernel for rows of `bytes` bytes. `swap` was checked against the element. With `streaming`, rows are
/// written with non-temporal stores.
pub(super) fn rows(
    level: Level,
    element_size: usize,
    swap: ByteSwap<'_>,
    bytes: usize,
    streaming: bool,
) -> Rows<'_> {
    let streaming = streaming && bytes >= LINE;
    let pattern = swap.pattern(element_size);
    let purpose = match (swap, pattern) {
        (ByteSwap::None, _) => streaming.then_some(Purpose::Stream),
        (_, Some(_)) if streaming => Some(Purpose::ShuffleAndStream),
        (_, pattern) => pattern.map(|_| Purpose::Shuffle),
    };
    let kernel = purpose.and_then(|purpose| vector_rows(level, purpose));
    let kernel = kernel.unwrap_or_else(|| rows::portable(swap, bytes));
    Rows { bytes, pattern, element_size, swap, kernel }
}

#[cfg(target_arch = "x86_64")]
fn vector_rows(level: Level, purpose: Purpose) -> Option<Kernel> {
    super::x86::rows(level, purpose)
}

#[cfg(not(target_arch = "x86_64"))]
fn vector_rows(_: Level, _: Purpose) -> Option<Kernel> {
    None
}

/// Returns the kernel that transposes a whole tile of elements of `element_size` bytes; `None` to use portable code.
#[cfg(target_arch = "x86_64")]
pub(super) fn transpose(level: Level, element_size: usize) -> Option<Transpose> {
    super::x86::transpose(level, element_size)
}

/// Returns the kernel that transposes a whole tile; `None` to use portable code.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn transpose(_: Level, _: usize) -> Option<Transpose> {
    None
}

/// Orders non-temporal stores before everything that follows.
#[cfg(target_arch = "x86_64")]
pub(super) fn fence(level: Level) {
    if level != Level::Portable {
        super::x86::fence();
    }
}

/// Orders non-temporal stores before everything that follows. Portable code does not use such stores.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn fence(_: Level) {}
