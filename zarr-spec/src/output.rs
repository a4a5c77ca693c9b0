//! Memory of the caller that a codec or a store writes to.

use std::collections::TryReserveError;
use std::io;
use std::ops::Range;

/// The output exceeds its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the result has more than {limit} bytes")]
pub struct LimitExceeded {
    /// The limit in bytes.
    pub limit: usize,
}

/// The target of a codec or a store: a destination of fixed size, or a reused buffer that grows up to a limit.
///
/// Its memory is always initialised, so implementers do not need `unsafe`.
#[derive(Debug)]
pub struct Output<'a> {
    memory: Memory<'a>,
    len: usize,
    limit: usize,
    out_of_memory: Option<usize>,
}

#[derive(Debug)]
enum Memory<'a> {
    Destination(&'a mut [u8]),
    Buffer(&'a mut AlignedBytes),
    Owned(Vec<u8>),
    Lent(&'a mut dyn LentMemory),
}

/// Memory that only its owner can grow, such as memory of the program that loaded a plugin.
pub trait LentMemory: std::fmt::Debug {
    /// Returns all bytes, initialised.
    fn bytes(&self) -> &[u8];

    /// Returns all bytes as [`LentMemory::bytes`] does, but mutable.
    fn bytes_mut(&mut self) -> &mut [u8];

    /// Grows the memory to at least `size` bytes and preserves the existing ones. Returns false if that is impossible.
    fn grow(&mut self, size: usize) -> bool;
}

impl<'a> Output<'a> {
    /// Creates an output to `destination`, whose size is the limit.
    pub fn to(destination: &'a mut [u8]) -> Self {
        Self {
            limit: destination.len(),
            memory: Memory::Destination(destination),
            len: 0,
            out_of_memory: None,
        }
    }

    /// Creates an output of at most `limit` bytes to lent memory.
    pub fn lent(memory: &'a mut dyn LentMemory, limit: usize) -> Self {
        Self { memory: Memory::Lent(memory), len: 0, limit, out_of_memory: None }
    }

    /// Creates an output with its own memory of at most `limit` bytes, without allocating it; see
    /// [`Output::into_written`].
    #[must_use]
    pub fn at_most(limit: usize) -> Output<'static> {
        Output { memory: Memory::Owned(Vec::new()), len: 0, limit, out_of_memory: None }
    }

    /// Creates an output with its own memory of `size` bytes.
    #[must_use]
    pub fn exactly(size: usize) -> Output<'static> {
        Output { memory: Memory::Owned(vec![0; size]), len: 0, limit: size, out_of_memory: None }
    }

    /// Returns at least `size` bytes to write to. They do not count as written.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded, or the machine does not have enough memory.
    pub fn spare(&mut self, size: usize) -> Result<&mut [u8], LimitExceeded> {
        let end = self.len.checked_add(size).filter(|&end| end <= self.limit);
        let end = end.ok_or(LimitExceeded { limit: self.limit })?;
        let memory = match &mut self.memory {
            Memory::Destination(destination) => &mut **destination,
            Memory::Buffer(buffer) => {
                let len = buffer.bytes().len();
                if len < end {
                    let size = grown_size(len, end, self.limit);
                    buffer.grow(size).map_err(|_| no_memory(size, len, &mut self.out_of_memory))?;
                }
                buffer.bytes_mut()
            }
            Memory::Owned(buffer) => grow(buffer, end, self.limit, &mut self.out_of_memory)?,
            Memory::Lent(memory) => {
                if memory.bytes().len() < end && !memory.grow(end) {
                    return Err(LimitExceeded { limit: self.limit });
                }
                memory.bytes_mut()
            }
        };
        let bytes = memory.len().min(self.limit);
        Ok(&mut memory[self.len..bytes])
    }

    /// Returns the number of bytes that the system could not provide when [`Output::spare`] or [`Output::put`]
    /// last failed; `None` if the limit was the cause.
    #[must_use]
    pub fn out_of_memory(&self) -> Option<usize> {
        self.out_of_memory
    }

    /// Counts `size` bytes of [`Output::spare`] as written.
    ///
    /// # Panics
    ///
    /// If fewer bytes are available.
    pub fn advance(&mut self, size: usize) {
        let there = match &self.memory {
            Memory::Destination(destination) => destination.len(),
            Memory::Buffer(buffer) => buffer.bytes().len(),
            Memory::Owned(buffer) => buffer.len(),
            Memory::Lent(memory) => memory.bytes().len(),
        };
        assert!(size <= there.min(self.limit) - self.len, "advanced past the bytes of `spare`");
        self.len += size;
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded. Nothing is written in this case.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), LimitExceeded> {
        self.spare(bytes.len())?[..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    /// Returns the number of bytes that can be written before the limit is reached. If the chain knows the size of the
    /// output, the limit is that size.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.limit - self.len
    }

    /// Returns the bytes that were written.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        match &self.memory {
            Memory::Destination(destination) => &destination[..self.len],
            Memory::Buffer(buffer) => &buffer.bytes()[..self.len],
            Memory::Owned(buffer) => &buffer[..self.len],
            Memory::Lent(memory) => &memory.bytes()[..self.len],
        }
    }

    /// Returns the bytes that were written, mutable.
    #[must_use]
    pub fn written_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Destination(destination) => &mut destination[..self.len],
            Memory::Buffer(buffer) => &mut buffer.bytes_mut()[..self.len],
            Memory::Owned(buffer) => &mut buffer[..self.len],
            Memory::Lent(memory) => &mut memory.bytes_mut()[..self.len],
        }
    }
}

impl Output<'static> {
    /// Returns the bytes that were written to the output's own memory.
    #[must_use]
    pub fn into_written(self) -> Vec<u8> {
        match self.memory {
            Memory::Owned(mut buffer) => {
                buffer.truncate(self.len);
                buffer
            }
            Memory::Destination(destination) => destination[..self.len].to_vec(),
            Memory::Buffer(buffer) => buffer.bytes()[..self.len].to_vec(),
            Memory::Lent(memory) => memory.bytes()[..self.len].to_vec(),
        }
    }
}

/// Grows `buffer` to at least `end` bytes; new bytes are zero.
fn grow<'b>(
    buffer: &'b mut Vec<u8>,
    end: usize,
    limit: usize,
    out_of_memory: &mut Option<usize>,
) -> Result<&'b mut [u8], LimitExceeded> {
    if buffer.len() < end {
        let len = buffer.len();
        let size = grown_size(len, end, limit);
        buffer.try_reserve_exact(size - len).map_err(|_| no_memory(size, len, out_of_memory))?;
        buffer.resize(size, 0);
    }
    Ok(buffer)
}

/// Returns the new size of a buffer that needs `end` bytes. It at least doubles, so that small writes take linear time.
fn grown_size(size: usize, end: usize, limit: usize) -> usize {
    end.max(size.saturating_mul(2).min(limit))
}

/// Records that the system does not have `size` bytes, which distinguishes this error from the limit.
fn no_memory(size: usize, limit: usize, out_of_memory: &mut Option<usize>) -> LimitExceeded {
    *out_of_memory = Some(size);
    LimitExceeded { limit }
}

/// Bytes at an address that is a multiple of [`AlignedBytes::ALIGNMENT`].
#[derive(Debug, Default)]
struct AlignedBytes {
    memory: Vec<u8>,
    start: usize,
}

impl AlignedBytes {
    /// The size of a cache line. If memory starts inside of a line, as large allocations of the C library do,
    /// the kernel copies files to it about a third slower.
    const ALIGNMENT: usize = 64;

    fn bytes(&self) -> &[u8] {
        &self.memory[self.range()]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let range = self.range();
        &mut self.memory[range]
    }

    /// Returns the range of the bytes. The memory has space for them at any alignment.
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.memory.len().saturating_sub(Self::ALIGNMENT)
    }

    /// Grows to `size` bytes, more than before, and preserves the existing bytes.
    fn grow(&mut self, size: usize) -> Result<(), TryReserveError> {
        let whole = size.saturating_add(Self::ALIGNMENT);
        self.memory.try_reserve_exact(whole.saturating_sub(self.memory.len()))?;
        let used = self.range();
        self.memory.resize(whole, 0);
        // Growing may have moved the memory to an address with another alignment.
        let start = self.memory.as_ptr().align_offset(Self::ALIGNMENT).min(Self::ALIGNMENT);
        if start != used.start {
            self.memory.copy_within(used, start);
            self.start = start;
        }
        Ok(())
    }
}

impl io::Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A buffer for repeated use. It grows, never shrinks, and initialises new memory with zeros. Its address is a
/// multiple of 64.
#[derive(Debug, Default)]
pub struct Buffer(AlignedBytes);

impl Buffer {
    /// Creates a buffer without allocating memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a new output of at most `limit` bytes. Earlier content may be visible in [`Output::spare`].
    pub fn output(&mut self, limit: usize) -> Output<'_> {
        Output { memory: Memory::Buffer(&mut self.0), len: 0, limit, out_of_memory: None }
    }

    /// Returns the size of the memory in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.memory.capacity()
    }

    /// Returns the first `len` bytes: the last output, if `len` is its size.
    ///
    /// # Panics
    ///
    /// If the buffer is shorter.
    #[must_use]
    pub fn bytes(&self, len: usize) -> &[u8] {
        &self.0.bytes()[..len]
    }

    /// Returns the first `len` bytes, mutable.
    ///
    /// # Panics
    ///
    /// If the buffer is shorter.
    #[must_use]
    pub fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        &mut self.0.bytes_mut()[..len]
    }
}
