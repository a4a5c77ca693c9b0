//! Memory that the values of a document take.

use super::object::Object;
use super::text::Text;
use super::{Number, Value};

/// Memory that a document may take for each byte of the largest one that is read.
const RATIO: usize = 4;
/// Memory that values may take, however small a document may be.
const SMALLEST: usize = 1 << 20;
/// What an allocator needs for itself and to round up, for each allocation.
const OVERHEAD: usize = 16;

/// Counts the memory that the values of one document take while it is read, and refuses more than a limit.
///
/// Values take more memory than their text: an element of an array 32 bytes, where `0,` has two. Whatever reads documents
/// builds arrays and objects by these methods, so that their memory is bounded by a size that is not the sender's.
#[derive(Debug)]
pub struct ValueMemory {
    left: usize,
    limit: usize,
}

/// The values of a document take more memory than they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its values take more than {limit} bytes of memory: the limit is four times the limit of a document's size"
)]
pub struct TooMuchMemory {
    /// The limit in bytes.
    pub limit: usize,
}

impl ValueMemory {
    /// Of documents that may have `size` bytes: four times as much, and 1 MiB.
    #[must_use]
    pub fn of_documents(size: usize) -> Self {
        let limit = size.saturating_mul(RATIO).saturating_add(SMALLEST);
        Self { left: limit, limit }
    }

    /// The value of a string.
    ///
    /// # Errors
    ///
    /// Past the limit.
    pub fn string(&mut self, text: impl Into<String>) -> Result<Value, TooMuchMemory> {
        let text = text.into();
        self.take(allocated(text.capacity()))?;
        Ok(Value::String(text))
    }

    /// The value of a number.
    ///
    /// # Errors
    ///
    /// Past the limit.
    pub fn number(&mut self, number: Number) -> Result<Value, TooMuchMemory> {
        self.take(allocated(number.heap_size()))?;
        Ok(Value::Number(number))
    }

    /// Appends an element to those of an array.
    ///
    /// # Errors
    ///
    /// Past the limit.
    pub fn push(&mut self, elements: &mut Vec<Value>, element: Value) -> Result<(), TooMuchMemory> {
        let before = elements.capacity();
        if elements.len() == before {
            let more = before.max(1);
            self.take(more.saturating_mul(size_of::<Value>()))?;
            elements.reserve_exact(more);
        }
        elements.push(element);
        Ok(())
    }

    /// The value of an array whose elements were appended by [`ValueMemory::push`].
    ///
    /// # Errors
    ///
    /// Past the limit.
    pub fn array(&mut self, mut elements: Vec<Value>) -> Result<Value, TooMuchMemory> {
        let spare = elements.capacity() - elements.len();
        elements.shrink_to_fit();
        self.give(spare.saturating_mul(size_of::<Value>()));
        self.take(if elements.is_empty() { 0 } else { OVERHEAD })?;
        Ok(Value::Array(elements))
    }

    /// Adds a member whose name `object` does not have yet.
    ///
    /// # Errors
    ///
    /// Past the limit.
    pub fn append(&mut self, object: &mut Object, name: &str, value: Value) -> Result<(), TooMuchMemory> {
        let before = object.heap_size();
        object.append(name, value);
        let more = object.heap_size().saturating_sub(before);
        self.take(more.saturating_add(name.len()).saturating_add(allocated(Text::heap_size_of(name))))
    }

    /// The value of an object whose members were added by [`ValueMemory::append`].
    ///
    /// # Errors
    ///
    /// Past the limit.
    pub fn object(&mut self, mut object: Object) -> Result<Value, TooMuchMemory> {
        let before = object.heap_size();
        object.shrink_to_fit();
        self.give(before.saturating_sub(object.heap_size()));
        self.take(if object.is_empty() { 0 } else { OVERHEAD })?;
        Ok(Value::Object(object))
    }

    /// Counts `size` bytes.
    ///
    /// # Errors
    ///
    /// Past the limit.
    pub(super) fn take(&mut self, size: usize) -> Result<(), TooMuchMemory> {
        self.left = self.left.checked_sub(size).ok_or(TooMuchMemory { limit: self.limit })?;
        Ok(())
    }

    /// Counts `size` bytes less.
    pub(super) fn give(&mut self, size: usize) {
        self.left = self.left.saturating_add(size).min(self.limit);
    }
}

/// What an allocation of `size` bytes takes.
fn allocated(size: usize) -> usize {
    if size == 0 { 0 } else { size.saturating_add(OVERHEAD) }
}
