//! Rust types that elements can be read as and written from.
#![expect(unsafe_code, reason = "numbers are seen as bytes and back without a copy")]

use std::borrow::Cow;

use half::f16;
use num_complex::Complex;
use zarr_spec::data_type::Kind;
use zarr_spec::{DataType, Elements};

use crate::error::Error;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type whose values are elements of a data type, byte for byte.
///
/// `bool` is no such type, since not every byte is one; arrays of `bool` are read as [`u8`], or with
/// [`Array::read_bools`](crate::Array::read_bools). Raw bits are read as
/// arrays of bytes. Times are read as [`i64`].
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The names of the data types it fits.
    const NAMES: &'static [&'static str];
    /// The beginning of the names of further data types it fits; empty if there are none.
    const PREFIX: &'static str = "";
}

macro_rules! elements {
    ($($type:ty: $($name:literal),+ $(; $prefix:literal)?;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const NAMES: &'static [&'static str] = &[$($name),+];
            $(const PREFIX: &'static str = $prefix;)?
        }
    )*};
}

elements! {
    u8: "uint8", "bool", "r8";
    u16: "uint16";
    u32: "uint32";
    u64: "uint64";
    i8: "int8";
    i16: "int16";
    i32: "int32";
    i64: "int64"; "numpy.";
    f16: "float16";
    f32: "float32";
    f64: "float64";
    Complex<f32>: "complex64";
    Complex<f64>: "complex128";
}

impl<const N: usize> sealed::Sealed for [u8; N] {}

impl<const N: usize> Element for [u8; N] {
    const NAMES: &'static [&'static str] = &[];
    const PREFIX: &'static str = "r";
}

/// Whether elements of `data_type` are values of `T`.
///
/// # Errors
///
/// [`Error::Elements`], naming both.
pub(crate) fn type_matches<T: Element>(data_type: &dyn DataType) -> Result<(), Error> {
    let name = data_type.name();
    let fits = matches!(data_type.elements(), Elements::Fixed { size, .. } if size == size_of::<T>());
    let named = T::NAMES.contains(&&*name) || (!T::PREFIX.is_empty() && name.starts_with(T::PREFIX));
    if fits && named {
        return Ok(());
    }
    let wanted = std::any::type_name::<T>();
    Err(Error::Elements(format!("elements are {name}, which are not read or written as `{wanted}`")))
}

/// Whether elements are truth values, one byte each.
///
/// # Errors
///
/// [`Error::Elements`], naming the type.
pub(crate) fn is_bool(data_type: &dyn DataType) -> Result<(), Error> {
    let is_byte = matches!(data_type.elements(), Elements::Fixed { size: 1, .. });
    if is_byte && data_type.kind() == Some(Kind::Bool) {
        return Ok(());
    }
    let name = data_type.name();
    Err(Error::Elements(format!("elements are {name}, which are not read or written as `bool`")))
}

/// The bytes of values.
pub(crate) fn as_bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: `Element` is sealed, and none of its types has padding; any initialised memory is bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of values, to be overwritten.
pub(crate) fn as_bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: `Element` is sealed; none of its types has padding, and any bytes are a value of each of them.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Bytes as values: borrowed where they are aligned. A rest that is no whole value is left out.
pub(crate) fn cast_slice<T: Element>(bytes: &[u8]) -> Cow<'_, [T]> {
    // SAFETY: `Element` is sealed, and any bytes are a value of each of its types.
    let (before, values, _) = unsafe { bytes.align_to::<T>() };
    if before.is_empty() {
        return Cow::Borrowed(values);
    }
    let size = size_of::<T>();
    let values = bytes.chunks_exact(size).map(|value| {
        // SAFETY: `value` has the bytes of one `T`, and any bytes are a value.
        unsafe { value.as_ptr().cast::<T>().read_unaligned() }
    });
    Cow::Owned(values.collect())
}
