//! Counts the memory of the values of a document.

use super::object::Object;
use super::text::Text;
use super::{Number, Value};

/// The memory limit of a document is this number times the maximum size of a document, plus [`SMALLEST`].
const RATIO: usize = 4;
/// The minimum memory limit of a document.
const SMALLEST: usize = 1 << 20;
/// The overhead of an allocation: metadata of the allocator, and rounding.
const OVERHEAD: usize = 16;

/// Counts the memory of the values of one document while it is read, and fails at a limit.
///
/// Values need more memory than their text: an array element has 32 bytes, but `0,` has two. Readers build arrays and
/// objects with these methods, so the sender of a document cannot cause unlimited memory use.
#[derive(Debug)]
pub struct ValueMemory {
    left: usize,
    limit: usize,
}

/// The error for values that need more memory than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its values need more than {limit} bytes of memory: the limit is four times the limit of a document's size"
)]
#[non_exhaustive]
pub struct TooMuchMemory {
    /// The limit in bytes.
    pub limit: usize,
}

impl ValueMemory {
    /// Creates a counter for documents of at most `size` bytes, with a limit of four times the size plus 1 MiB.
    #[must_use]
    pub fn of_documents(size: usize) -> Self {
        let limit = size.saturating_mul(RATIO).saturating_add(SMALLEST);
        Self { left: limit, limit }
    }

    /// Returns the value of a string.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded.
    pub fn string(&mut self, text: impl Into<String>) -> Result<Value, TooMuchMemory> {
        let text = text.into();
        self.take(allocated(text.capacity()))?;
        Ok(Value::String(text))
    }

    /// Returns the value of a number.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded.
    pub fn number(&mut self, number: Number) -> Result<Value, TooMuchMemory> {
        self.take(allocated(number.heap_size()))?;
        Ok(Value::Number(number))
    }

    /// Appends an element to an array.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded.
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

    /// Returns the value of an array with elements that [`ValueMemory::push`] appended.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded.
    pub fn array(&mut self, mut elements: Vec<Value>) -> Result<Value, TooMuchMemory> {
        let spare = elements.capacity() - elements.len();
        elements.shrink_to_fit();
        self.give(spare.saturating_mul(size_of::<Value>()));
        self.take(if elements.is_empty() { 0 } else { OVERHEAD })?;
        Ok(Value::Array(elements))
    }

    /// Adds a member with a new name.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded.
    pub fn append(&mut self, object: &mut Object, name: &str, value: Value) -> Result<(), TooMuchMemory> {
        let before = object.heap_size();
        object.append(name, value);
        let more = object.heap_size().saturating_sub(before);
        self.take(more.saturating_add(name.len()).saturating_add(allocated(Text::heap_size_of(name))))
    }

    /// Returns the value of an object with members that [`ValueMemory::append`] added.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded.
    pub fn object(&mut self, mut object: Object) -> Result<Value, TooMuchMemory> {
        let before = object.heap_size();
        object.shrink_to_fit();
        self.give(before.saturating_sub(object.heap_size()));
        self.take(if object.is_empty() { 0 } else { OVERHEAD })?;
        Ok(Value::Object(object))
    }

    /// Counts `size` more bytes. Fails if the limit is exceeded.
    pub(super) fn take(&mut self, size: usize) -> Result<(), TooMuchMemory> {
        self.left = self.left.checked_sub(size).ok_or(TooMuchMemory { limit: self.limit })?;
        Ok(())
    }

    pub(super) fn give(&mut self, size: usize) {
        self.left = self.left.saturating_add(size).min(self.limit);
    }
}

/// Returns the memory of an allocation of `size` bytes.
fn allocated(size: usize) -> usize {
    if size == 0 { 0 } else { size.saturating_add(OVERHEAD) }
}
