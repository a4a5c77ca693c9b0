//! The result of a read as values of a Rust type, without a copy.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice;

use crate::element::{Element, as_bytes, as_bytes_mut};
use crate::error::Error;
use crate::memory::{Memory, OutOfMemory, TypedMemory, zeroed_vec};
use crate::parallel;
use crate::threads::Threads;

/// Values of one array, in C order: a slice that owns the memory to which they were decoded.
///
/// A `Values` dereferences to a slice (`values[3]`, `values.iter()`, `&*values`). Its memory comes from the
/// [`Context`](crate::Context) and is reused for later reads after it is dropped, so that reading is as fast as
/// [`Array::read`](crate::Array::read). [`Values::into_vec`] copies.
pub struct Values<T: Element> {
    shape: Vec<u64>,
    values: TypedMemory<T>,
    threads: Threads,
}

impl<T: Element> Values<T> {
    /// Returns the `count` values in `memory`; `count` is the product of `shape`.
    pub(crate) fn new(
        shape: Vec<u64>,
        count: usize,
        memory: Memory,
        threads: Threads,
    ) -> Result<Self, Error> {
        let size = memory.len();
        let values = TypedMemory::new(memory, count).ok_or_else(|| {
            let name = std::any::type_name::<T>();
            Error::Elements(format!("{size} bytes of memory are not {count} values of type `{name}`"))
        })?;
        Ok(Self { shape, values, threads })
    }

    /// Returns the shape: the number of elements per dimension.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Copies the values to a `Vec`, on all threads of the context of the read. A `Vec` cannot own the memory of a
    /// context.
    ///
    /// Like a growing `Vec`, this aborts the process if there is not enough memory for the copy.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        copy_of(&self, &self.threads).unwrap_or_else(|_| {
            handle_alloc_error(Layout::array::<T>(self.len()).unwrap_or_else(|_| Layout::new::<T>()))
        })
    }

    /// Returns the values as an `ndarray`, without a copy.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the shape is too large for an `ndarray`, which is possible only if there are no elements.
    #[cfg(feature = "ndarray")]
    pub fn view(&self) -> Result<ndarray::ArrayViewD<'_, T>, Error> {
        let shape = ndarray_shape(&self.shape)?;
        ndarray::ArrayViewD::from_shape(shape, self).map_err(|error| Error::Elements(error.to_string()))
    }

    /// Copies the values to an `ndarray`, on all threads of the context of the read.
    ///
    /// # Errors
    ///
    /// Same as [`Values::view`]; [`Error::Memory`] if there is not enough memory for the copy.
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray(&self) -> Result<ndarray::ArrayD<T>, Error> {
        into_ndarray(&self.shape, copy_of(self, &self.threads)?)
    }
}

pub(crate) fn copy_of<T: Element>(values: &[T], threads: &Threads) -> Result<Vec<T>, OutOfMemory> {
    let mut copy = zeroed_vec(values.len())?;
    parallel::copy(threads, as_bytes(values), as_bytes_mut(&mut copy));
    Ok(copy)
}

#[cfg(feature = "ndarray")]
pub(crate) fn into_ndarray<T>(shape: &[u64], values: Vec<T>) -> Result<ndarray::ArrayD<T>, Error> {
    ndarray::ArrayD::from_shape_vec(ndarray_shape(shape)?, values)
        .map_err(|error| Error::Elements(error.to_string()))
}

/// A `Vec` whose used part starts at a cache line, if it is large. A large `Vec` usually starts 16 bytes into a cache
/// line, and the kernel copies files a third slower to such addresses.
#[cfg(feature = "ndarray")]
pub(crate) struct AlignedVec<T> {
    values: Vec<T>,
    used: std::ops::Range<usize>,
}

#[cfg(feature = "ndarray")]
impl<T: Element> AlignedVec<T> {
    /// The size of a cache line in bytes.
    const LINE: usize = 64;

    /// The minimum size in bytes for which alignment matters.
    const LARGE: usize = 1 << 20;

    pub(crate) fn zeroed(count: usize) -> Result<Self, OutOfMemory> {
        let size = size_of::<T>();
        if size == 0 || count.saturating_mul(size) < Self::LARGE {
            return Ok(Self { values: zeroed_vec(count)?, used: 0..count });
        }
        let spare = Self::LINE.div_ceil(size);
        let values: Vec<T> = zeroed_vec(count.saturating_add(spare))?;
        // For some element sizes, no element starts at a cache line. Then the first element is used.
        let start =
            Some(values.as_ptr().align_offset(Self::LINE)).filter(|&start| start <= spare).unwrap_or(0);
        Ok(Self { values, used: start..start + count })
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.values[self.used.clone()]
    }

    pub(crate) fn into_ndarray(self, shape: &[u64]) -> Result<ndarray::ArrayD<T>, Error> {
        let values = ndarray::Array1::from_vec(self.values).slice_move(ndarray::s![self.used]);
        let array = values.into_shape_with_order(ndarray_shape(shape)?);
        array.map_err(|error| Error::Elements(error.to_string()))
    }
}

#[cfg(feature = "ndarray")]
fn ndarray_shape(shape: &[u64]) -> Result<Vec<usize>, Error> {
    let shape: Result<Vec<usize>, _> = shape.iter().map(|&length| usize::try_from(length)).collect();
    shape.map_err(|error| Error::Elements(error.to_string()))
}

impl<T: Element> Deref for Values<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Element> DerefMut for Values<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Element> AsRef<[T]> for Values<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: Element> AsMut<[T]> for Values<T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Values<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl<'a, T: Element> IntoIterator for &'a Values<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Element> IntoIterator for &'a mut Values<T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: Element> From<Values<T>> for Vec<T> {
    fn from(values: Values<T>) -> Self {
        values.into_vec()
    }
}

impl<T: Element + PartialEq<U>, U: Element> PartialEq<Values<U>> for Values<T> {
    fn eq(&self, other: &Values<U>) -> bool {
        self.shape == other.shape && **self == **other
    }
}

macro_rules! compared_with {
    ($($other:ty $(, $length:ident)?;)*) => {$(
        impl<T: Element + PartialEq<U>, U $(, const $length: usize)?> PartialEq<$other> for Values<T> {
            fn eq(&self, other: &$other) -> bool {
                **self == other[..]
            }
        }

        impl<T: Element, U: PartialEq<T> $(, const $length: usize)?> PartialEq<Values<T>> for $other {
            fn eq(&self, other: &Values<T>) -> bool {
                self[..] == **other
            }
        }
    )*};
}

compared_with! {
    [U];
    &[U];
    [U; N], N;
    &[U; N], N;
    Vec<U>;
}
