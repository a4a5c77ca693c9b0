//! The result of a read: elements with their data type.

mod typed;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_spec::{DataType, Elements};

use crate::conversions::conversions;
use crate::element::{Element, cast_slice, type_matches};
use crate::error::Error;
use crate::memory::Memory;
use crate::threads::Threads;
use crate::values::Values;
#[cfg(feature = "ndarray")]
use crate::values::{copy_of, into_ndarray};

pub(crate) use typed::joined;
pub use typed::{ReadElement, WriteElement};

/// Elements of one array, in C order and native byte order.
#[derive(Debug)]
pub struct ElementArray {
    shape: Vec<u64>,
    /// The product of `shape`. It was checked for overflow when the memory was allocated.
    count: usize,
    data_type: Arc<dyn DataType>,
    bytes: Bytes,
    threads: Threads,
}

#[derive(Debug)]
pub(crate) enum Bytes {
    Fixed(Memory),
    /// `n + 1` native `u64` offsets, then the payload.
    Variable(Vec<u8>),
}

conversions! { Bytes:
    memory: Memory => Self::Fixed(memory),
    bytes: Vec<u8> => Self::Variable(bytes),
}

impl ElementArray {
    pub(crate) fn new(
        shape: Vec<u64>,
        count: usize,
        data_type: Arc<dyn DataType>,
        bytes: impl Into<Bytes>,
        threads: Threads,
    ) -> Self {
        Self { shape, count, data_type, bytes: bytes.into(), threads }
    }

    /// Returns the shape: the number of elements per dimension.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the data type of the elements.
    #[must_use]
    pub fn data_type(&self) -> &dyn DataType {
        &*self.data_type
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the bytes of all elements in sequence; for elements of variable size, `n + 1` native `u64` offsets into
    /// the payload, followed by the payload.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Fixed(memory) => memory,
            Bytes::Variable(bytes) => bytes,
        }
    }

    /// Returns the bytes of all elements for changes in place, in the form of [`ElementArray::bytes`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.bytes {
            Bytes::Fixed(memory) => memory,
            Bytes::Variable(bytes) => bytes,
        }
    }

    /// Returns the offsets of elements of variable size and their payload: element `i` is
    /// `payload[offsets[i]..offsets[i + 1]]`. Returns `None` for elements of a fixed size.
    #[must_use]
    pub fn offsets_and_payload(&self) -> Option<(Cow<'_, [u64]>, &[u8])> {
        let Bytes::Variable(bytes) = &self.bytes else { return None };
        let (offsets, payload) = bytes.split_at((self.count + 1) * size_of::<u64>());
        Some((cast_slice(offsets), payload))
    }

    /// Returns the bytes of the element at `position` in C order.
    ///
    /// # Panics
    ///
    /// If `position` is out of bounds.
    #[must_use]
    pub fn element(&self, position: usize) -> &[u8] {
        match (&self.bytes, self.data_type.elements()) {
            (Bytes::Fixed(memory), Elements::Fixed { size, .. }) => {
                &memory[position * size..(position + 1) * size]
            }
            (Bytes::Fixed(memory), Elements::Variable) => memory,
            (Bytes::Variable(bytes), _) => {
                let (offsets, payload) = bytes.split_at((self.count + 1) * size_of::<u64>());
                let (offsets, _) = offsets.as_chunks();
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "offsets lie in `payload`, which is in memory"
                )]
                let offset = |at: usize| u64::from_ne_bytes(offsets[at]) as usize;
                &payload[offset(position)..offset(position + 1)]
            }
        }
    }

    /// Returns an iterator over the bytes of all elements, in C order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.count).map(|position| self.element(position))
    }

    /// Returns the elements as values of a Rust type.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the array holds another type.
    pub fn as_slice<T: Element>(&self) -> Result<Cow<'_, [T]>, Error> {
        type_matches::<T>(&*self.data_type)?;
        Ok(cast_slice(self.bytes()))
    }

    /// Converts the elements to values of a Rust type. The [`Values`] of an [`Element`] take over the memory without a
    /// copy.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the array holds another type.
    pub fn into_values<T: ReadElement>(self) -> Result<T::Values, Error> {
        T::check(&*self.data_type)?;
        T::collect(self)
    }

    fn into_typed<T: Element>(self) -> Result<Values<T>, Error> {
        match self.bytes {
            Bytes::Fixed(memory) => Values::new(self.shape, self.count, memory, self.threads),
            Bytes::Variable(_) => Err(Error::Elements("elements of variable size are not values".to_owned())),
        }
    }

    /// Returns the elements as strings, if they have a variable size. For text elements of fixed size, use
    /// [`ElementArray::print`].
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] for elements of fixed size, for elements that may be missing, and for an element that is not
    /// valid UTF-8.
    pub fn strings(&self) -> Result<Vec<&str>, Error> {
        if self.data_type.elements() != Elements::Variable {
            let name = self.data_type.name();
            return Err(Error::Elements(format!(
                "elements of type {name} have a fixed size and are not strings"
            )));
        }
        if self.data_type.optional().is_some() {
            let name = self.data_type.name();
            return Err(Error::Elements(format!(
                "elements of type {name} may be missing and cannot be returned as strings"
            )));
        }
        self.iter()
            .enumerate()
            .map(|(position, element)| {
                std::str::from_utf8(element)
                    .map_err(|error| Error::Elements(format!("element {position}: {error}")))
            })
            .collect()
    }

    /// Formats the element at `position` in C order for display.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the data type cannot print it.
    ///
    /// # Panics
    ///
    /// If `position` is out of bounds.
    pub fn print(&self, position: usize) -> Result<String, Error> {
        let mut text = String::new();
        match self.data_type.print(self.element(position), &mut text) {
            Ok(()) => Ok(text),
            // Writing to a string does not fail, so `text` contains the reason.
            Err(fmt::Error) => {
                let name = self.data_type.name();
                Err(Error::Elements(format!("element {position} of type {name} cannot be printed: {text}")))
            }
        }
    }
}

impl AsRef<[u8]> for ElementArray {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Takes over the memory without a copy. The memory returns to the context after the last reference is dropped.
impl From<ElementArray> for zarr_spec::Bytes {
    fn from(elements: ElementArray) -> Self {
        Self::from_owner(elements)
    }
}

#[cfg(feature = "ndarray")]
impl ElementArray {
    /// Copies the elements to an `ndarray`, on all threads of the context of the read.
    /// [`Array::read_ndarray`](crate::Array::read_ndarray) and [`Values::view`] avoid this copy.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the array holds another type; [`Error::Memory`] if there is not enough memory for the
    /// copy.
    pub fn to_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>, Error> {
        let copy = copy_of(&self.as_slice::<T>()?, &self.threads)?;
        into_ndarray(&self.shape, copy)
    }
}
