//! Elements that were read, with what they are.

mod typed;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_spec::{DataType, Elements};

use crate::context::Threads;
use crate::element::{Element, cast_slice, type_matches};
use crate::error::Error;
use crate::memory::Memory;
use crate::values::Values;
#[cfg(feature = "ndarray")]
use crate::values::{copy_of, into_ndarray};

pub(crate) use typed::joined;
pub use typed::{ReadElement, WriteElement};

/// Elements of one array, in C order and native byte order.
#[derive(Debug)]
pub struct ElementArray {
    shape: Vec<u64>,
    /// The product of `shape`, which was checked when memory was found for the elements.
    count: usize,
    data_type: Arc<dyn DataType>,
    bytes: Bytes,
    threads: Threads,
}

#[derive(Debug)]
enum Bytes {
    Fixed(Memory),
    /// `n + 1` native `u64` offsets, then the payload.
    Variable(Vec<u8>),
}

impl ElementArray {
    pub(crate) fn fixed(
        (shape, count): (Vec<u64>, usize),
        data_type: Arc<dyn DataType>,
        memory: Memory,
        threads: Threads,
    ) -> Self {
        Self { shape, count, data_type, bytes: Bytes::Fixed(memory), threads }
    }

    pub(crate) fn variable(
        (shape, count): (Vec<u64>, usize),
        data_type: Arc<dyn DataType>,
        bytes: Vec<u8>,
        threads: Threads,
    ) -> Self {
        Self { shape, count, data_type, bytes: Bytes::Variable(bytes), threads }
    }

    /// Elements per dimension.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The type of the elements.
    #[must_use]
    pub fn data_type(&self) -> &dyn DataType {
        &*self.data_type
    }

    /// Number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes of all elements: one after another, or, for elements of variable size, `n + 1` native `u64`
    /// offsets into the payload and then the payload.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Fixed(memory) => memory,
            Bytes::Variable(bytes) => bytes,
        }
    }

    /// The bytes of all elements, as [`ElementArray::bytes`] returns them, to be changed in place.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.bytes {
            Bytes::Fixed(memory) => memory,
            Bytes::Variable(bytes) => bytes,
        }
    }

    /// The bytes of one element, by its position in C order.
    ///
    /// # Panics
    ///
    /// If there is no such element.
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

    /// All elements, in C order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.count).map(|position| self.element(position))
    }

    /// The elements as values of a Rust type.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the array holds another type.
    pub fn as_slice<T: Element>(&self) -> Result<Cow<'_, [T]>, Error> {
        type_matches::<T>(&*self.data_type)?;
        Ok(cast_slice(self.bytes()))
    }

    /// The elements as values of a Rust type. [`Values`] of an [`Element`] own the same memory: nothing is copied.
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

    /// The elements as text, if they have a variable size: those of a fixed size are text in other ways, which
    /// [`ElementArray::print`] knows.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] for a fixed size, for elements that may be missing, and if one of them is no UTF-8.
    pub fn strings(&self) -> Result<Vec<&str>, Error> {
        if self.data_type.elements() != Elements::Variable {
            let name = self.data_type.name();
            return Err(Error::Elements(format!(
                "elements of type {name} have a fixed size, and are no UTF-8"
            )));
        }
        if self.data_type.optional().is_some() {
            let name = self.data_type.name();
            return Err(Error::Elements(format!(
                "elements of type {name} may be missing, and are no UTF-8 then"
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

    /// The element at a position in C order, as people read it.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the data type cannot print it.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn print(&self, position: usize) -> Result<String, Error> {
        let mut text = String::new();
        match self.data_type.print(self.element(position), &mut text) {
            Ok(()) => Ok(text),
            // Writing to a string does not fail: the text says why.
            Err(fmt::Error) => {
                let name = self.data_type.name();
                Err(Error::Elements(format!("element {position} of type {name} cannot be printed: {text}")))
            }
        }
    }
}

#[cfg(feature = "ndarray")]
impl ElementArray {
    /// The elements as an `ndarray`: copied, on all threads of the context that they were read with.
    /// [`Array::read_ndarray`](crate::Array::read_ndarray) reads without that copy, and [`Values::view`] needs none.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the array holds another type; [`Error::Memory`] if there is no memory for the copy.
    pub fn to_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>, Error> {
        let copy = copy_of(&self.as_slice::<T>()?, &self.threads)?;
        into_ndarray(&self.shape, copy)
    }
}
