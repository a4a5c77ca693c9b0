//! The memory that chunks go to: lent by one side, written to by the other.

use zarr_spec::output::LentMemory;
use zarr_spec::{LimitExceeded, Output};

use super::Failure;
use crate::abi;

/// What the other side sees of an [`Output`], and what this side remembers of it.
#[repr(C)]
struct Lent<'o, 'm> {
    /// First, so that a pointer to it is one to the whole.
    shown: abi::Output,
    output: &'o mut Output<'m>,
    /// Bytes at `start`, whatever the other side writes to `shown`.
    capacity: usize,
    refused: bool,
}

/// Lends the memory of `output` for a call, and counts as written what the call says it wrote.
pub(crate) fn lend_output(
    output: &mut Output<'_>,
    call: impl FnOnce(*mut abi::Output) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let limit = output.remaining();
    let there = output.spare(0)?;
    let start = there.as_mut_ptr();
    let capacity = there.len();
    let mut lent = Lent {
        shown: abi::Output {
            struct_size: size_of::<abi::Output>(),
            start,
            len: 0,
            capacity,
            limit,
            reserve: Some(reserve),
        },
        output,
        capacity,
        refused: false,
    };
    // The pointer is one to the whole struct, so that `reserve` may come back to it from its first member.
    let pointer = &raw mut lent;
    let called = call(pointer.cast());
    if lent.refused && called.is_ok() {
        return Err(LimitExceeded { limit }.into());
    }
    called?;
    let len = lent.shown.len;
    let capacity = lent.capacity;
    if len > capacity {
        return Err(Failure::broken(format!(
            "it says that it wrote {len} bytes, and there is room for {capacity}"
        )));
    }
    lent.output.advance(len);
    Ok(())
}

/// `reserve` of what [`lend_output`] lends.
unsafe extern "C" fn reserve(this: *mut abi::Output, more: usize) -> i32 {
    // SAFETY: the ABI has it called with what was lent, during the call: the first member of a `Lent` that nobody else
    // touches meanwhile.
    let lent = unsafe { &mut *this.cast::<Lent<'_, '_>>() };
    let wanted = lent.shown.len.checked_add(more);
    let Some(there) = wanted.and_then(|wanted| lent.output.spare(wanted).ok()) else {
        lent.refused = true;
        return abi::LIMIT_EXCEEDED;
    };
    lent.shown.start = there.as_mut_ptr();
    lent.shown.capacity = there.len();
    lent.capacity = there.len();
    abi::OK
}

/// Memory that the other side lends.
#[derive(Debug)]
struct Borrowed(*mut abi::Output);

impl Borrowed {
    /// Address and bytes of what is lent now.
    fn lent(&self) -> (*mut u8, usize) {
        // SAFETY: `write_output` has the other side lend it for as long as this value lives.
        unsafe { ((*self.0).start, (*self.0).capacity) }
    }
}

impl LentMemory for Borrowed {
    fn bytes(&self) -> &[u8] {
        match self.lent() {
            (start, _) if start.is_null() => &[],
            // SAFETY: the host lends so many initialised bytes, to this call alone.
            (start, capacity) => unsafe { std::slice::from_raw_parts(start, capacity) },
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self.lent() {
            (start, _) if start.is_null() => &mut [],
            // SAFETY: as `bytes`, and `self` is borrowed mutably.
            (start, capacity) => unsafe { std::slice::from_raw_parts_mut(start, capacity) },
        }
    }

    fn grow(&mut self, size: usize) -> bool {
        // SAFETY: as `lent`.
        let Some(reserve) = (unsafe { (*self.0).reserve }) else { return false };
        // `len` stays 0 until the end, so that what is asked for is all there is to be.
        // SAFETY: the host's function, called with what the host lent.
        (unsafe { reserve(self.0, size) }) == abi::OK && self.lent().1 >= size
    }
}

/// Writes to the memory that the other side lends.
///
/// # Safety
///
/// `to` is what a host lends for this call.
pub(crate) unsafe fn write_output(
    to: *mut abi::Output,
    write: impl FnOnce(&mut Output<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: as this function asks.
    let shown = unsafe { super::read(to) }?;
    let mut memory = Borrowed(to);
    let mut output = Output::lent(&mut memory, shown.limit);
    write(&mut output)?;
    let len = output.written().len();
    // SAFETY: as this function asks.
    unsafe { (*to).len = len };
    Ok(())
}

/// A call without further wishes that may give at most `limit` bytes.
pub(crate) fn plain_call(limit: usize) -> abi::Call {
    abi::Call {
        struct_size: size_of::<abi::Call>(),
        max_out_bytes: limit as u64,
        threads: 1,
        flags: 0,
        cancelled: std::ptr::null(),
        chains: std::ptr::null(),
    }
}
