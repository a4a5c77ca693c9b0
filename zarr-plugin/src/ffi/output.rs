//! Memory for output that one side lends and the other writes.

use zarr_spec::output::LentMemory;
use zarr_spec::{LimitExceeded, Output};

use super::Failure;
use crate::abi;

/// An [`Output`] that is lent to the other side.
#[repr(C)]
struct Lent<'o, 'm> {
    /// The first member, so that a pointer to it is a pointer to the whole struct.
    shown: abi::Output,
    output: &'o mut Output<'m>,
    /// The number of bytes at `start`. The other side cannot change it.
    capacity: usize,
    refused: bool,
}

/// Lends the memory of `output` for a call, and adds the bytes that the call wrote.
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
    // A pointer to the whole struct, so that `reserve` can access it through its first member.
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
            "it reports {len} written bytes, but the capacity is {capacity}"
        )));
    }
    lent.output.advance(len);
    Ok(())
}

/// Implements `reserve` of the struct that [`lend_output`] lends.
unsafe extern "C" fn reserve(this: *mut abi::Output, more: usize) -> i32 {
    // SAFETY: the other side calls `reserve` during the call, with the lent struct. This struct is the first member of
    // a `Lent` that no other code uses at the same time.
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
    /// Returns the address and the size of the lent memory.
    fn lent(&self) -> (*mut u8, usize) {
        // SAFETY: the other side lends the struct to `write_output`, for longer than this value lives.
        unsafe { ((*self.0).start, (*self.0).capacity) }
    }
}

impl LentMemory for Borrowed {
    fn bytes(&self) -> &[u8] {
        match self.lent() {
            (start, _) if start.is_null() => &[],
            // SAFETY: the host lends this number of initialized bytes to this call only.
            (start, capacity) => unsafe { std::slice::from_raw_parts(start, capacity) },
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self.lent() {
            (start, _) if start.is_null() => &mut [],
            // SAFETY: the host lends this number of initialized bytes to this call only, and `self` is borrowed
            // mutably.
            (start, capacity) => unsafe { std::slice::from_raw_parts_mut(start, capacity) },
        }
    }

    fn grow(&mut self, size: usize) -> bool {
        // SAFETY: the other side lends the struct to `write_output`, for longer than this value lives.
        let Some(reserve) = (unsafe { (*self.0).reserve }) else { return false };
        // `reserve` makes the capacity `len + size`. `len` is 0 until `write_output` ends, so this is `size`.
        // SAFETY: a function of the host, called with the struct that it lent.
        (unsafe { reserve(self.0, size) }) == abi::OK && self.lent().1 >= size
    }
}

/// Writes to memory that the other side lends.
///
/// # Safety
///
/// The other side lends `to` for this call.
pub(crate) unsafe fn write_output(
    to: *mut abi::Output,
    write: impl FnOnce(&mut Output<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // SAFETY: as this function requires.
    let shown = unsafe { super::read(to) }?;
    let mut memory = Borrowed(to);
    let mut output = Output::lent(&mut memory, shown.limit);
    write(&mut output)?;
    let len = output.written().len();
    // SAFETY: as this function requires.
    unsafe { (*to).len = len };
    Ok(())
}

/// Returns the default options of a call that may write at most `limit` bytes.
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
