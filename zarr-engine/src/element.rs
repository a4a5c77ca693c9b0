//! Rust types with the same representation as elements.
#![expect(unsafe_code, reason = "numbers are viewed as bytes and back without a copy")]

use std::borrow::Cow;

use half::{bf16, f16};
use zarr_spec::data_type::Kind;
use zarr_spec::{DataType, Elements};

use crate::error::Error;

/// A Rust type whose values are elements of a data type, byte for byte in native byte order. Arrays are read and
/// written as such types without conversion.
///
/// [`bool`], strings, bytes and options do not implement this trait; [`ReadElement`](crate::ReadElement) and
/// [`WriteElement`](crate::WriteElement) support them. Raw bits are arrays of bytes. Times are [`i64`].
///
/// Programs can implement the trait for their own structures:
///
/// ```
/// use zarr_engine::Element;
/// use zarr_spec::DataType;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// // SAFETY: two floats of four bytes have no padding, and any bytes are floats.
/// unsafe impl Element for Point {
///     fn fits(data_type: &dyn DataType) -> bool {
///         let Some([x, y]) = data_type.fields() else { return false };
///         [x, y].iter().all(|field| field.data_type.name() == "float32" && field.shape.is_empty())
///             && (x.offset, y.offset) == (0, 4)
///     }
/// }
/// ```
///
/// # Safety
///
/// The type has no padding, and any bytes of its size are a value of it.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// Returns whether the elements of `data_type` have the same meaning as this type. The caller compares the sizes.
    fn fits(data_type: &dyn DataType) -> bool;
}

macro_rules! elements {
    ($($type:ty: $($name:literal),+ $(; $($prefix:literal),+)?;)*) => {$(
        // SAFETY: numbers have no padding, and any bytes are a number.
        unsafe impl Element for $type {
            fn fits(data_type: &dyn DataType) -> bool {
                let name = data_type.name();
                [$($name),+].contains(&&*name) $($(|| name.starts_with($prefix))+)?
            }
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
    i64: "int64"; "numpy.datetime64[", "numpy.timedelta64[";
    f16: "float16";
    bf16: "bfloat16";
    f32: "float32";
    f64: "float64";
}

#[cfg(feature = "num-complex")]
elements! {
    num_complex::Complex<f32>: "complex64";
    num_complex::Complex<f64>: "complex128";
}

// SAFETY: an array of bytes has no padding, and any bytes are valid.
unsafe impl<const N: usize> Element for [u8; N] {
    fn fits(data_type: &dyn DataType) -> bool {
        let name = data_type.name();
        let is_bits = |bits: &str| bits.bytes().all(|byte| byte.is_ascii_digit());
        name.starts_with("raw_bytes[") || name.strip_prefix('r').is_some_and(is_bits)
    }
}

/// Checks that elements of `data_type` are values of `T`. The error names both types.
pub(crate) fn type_matches<T: Element>(data_type: &dyn DataType) -> Result<(), Error> {
    let name = data_type.name();
    let fits = matches!(data_type.elements(), Elements::Fixed { size, .. } if size == size_of::<T>());
    if fits && T::fits(data_type) {
        return Ok(());
    }
    let wanted = std::any::type_name::<T>();
    Err(Error::Elements(format!("elements of type {name} cannot be read or written as `{wanted}`")))
}

/// Checks that elements are booleans of one byte. The error names the type.
pub(crate) fn is_bool(data_type: &dyn DataType) -> Result<(), Error> {
    let is_byte = matches!(data_type.elements(), Elements::Fixed { size: 1, .. });
    if is_byte && data_type.kind() == Some(Kind::Bool) {
        return Ok(());
    }
    let name = data_type.name();
    Err(Error::Elements(format!("elements of type {name} cannot be read or written as `bool`")))
}

pub(crate) fn as_bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: types that are elements have no padding, so all of their bytes are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Returns the bytes of booleans: 0 or 1.
pub(crate) fn bools_as_bytes(values: &[bool]) -> &[u8] {
    // SAFETY: a `bool` is one byte, without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

pub(crate) fn as_bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: types that are elements have no padding, and any bytes are a value of them.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Converts bytes to values. The result is borrowed if the bytes are aligned. An incomplete value at the end is left
/// out.
pub(crate) fn cast_slice<T: Element>(bytes: &[u8]) -> Cow<'_, [T]> {
    // SAFETY: any bytes are a value of a type that is an element.
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
