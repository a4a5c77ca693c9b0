//! Rust types for reading and writing elements.

use zarr_spec::{CodecError, DataType, Elements};

use super::ElementArray;
use crate::element::{Element, as_bytes, bools_as_bytes, cast_slice, is_bool, type_matches};
use crate::error::Error;
use crate::values::Values;
use crate::variable::with_offsets;

/// A Rust type from which elements can be written: numbers and other types that implement [`Element`], [`bool`],
/// strings, bytes, and an [`Option`] of any of these if elements may be missing.
pub trait WriteElement: Sized {
    /// Checks that values of this type are elements of `data_type`.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if they are not.
    fn check(data_type: &dyn DataType) -> Result<(), Error>;

    /// Returns the size of the element in bytes.
    fn size(&self) -> usize;

    /// Appends the bytes of the element.
    fn append_to(&self, bytes: &mut Vec<u8>);

    /// Returns the bytes of all values, if they are contiguous elements of a fixed size.
    fn as_bytes(values: &[Self]) -> Option<&[u8]> {
        let _have_their_own_sizes = values;
        None
    }
}

/// A Rust type that elements can be read as: numbers and other types that implement [`Element`], [`bool`], [`String`],
/// `Vec<u8>`, and an [`Option`] of any of these if elements may be missing.
pub trait ReadElement: WriteElement {
    /// The result of a read: [`Values`] for an [`Element`], a `Vec` for any other type.
    type Values;

    /// Converts the bytes of one element.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] for bytes that are not a value of this type.
    fn from_bytes(element: &[u8]) -> Result<Self, Error>;

    /// Converts elements whose data type [`WriteElement::check`] accepts, in C order.
    ///
    /// # Errors
    ///
    /// Same as [`ReadElement::from_bytes`].
    fn collect(elements: ElementArray) -> Result<Self::Values, Error>;
}

impl<T: Element> WriteElement for T {
    fn check(data_type: &dyn DataType) -> Result<(), Error> {
        type_matches::<T>(data_type)
    }

    fn size(&self) -> usize {
        size_of::<T>()
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(as_bytes(std::slice::from_ref(self)));
    }

    fn as_bytes(values: &[Self]) -> Option<&[u8]> {
        Some(as_bytes(values))
    }
}

impl<T: Element> ReadElement for T {
    type Values = Values<T>;

    fn from_bytes(element: &[u8]) -> Result<Self, Error> {
        cast_slice(element).first().copied().ok_or_else(|| {
            let name = std::any::type_name::<T>();
            Error::Elements(format!("{} bytes are not a value of type `{name}`", element.len()))
        })
    }

    fn collect(elements: ElementArray) -> Result<Values<T>, Error> {
        elements.into_typed()
    }
}

impl WriteElement for bool {
    fn check(data_type: &dyn DataType) -> Result<(), Error> {
        is_bool(data_type)
    }

    fn size(&self) -> usize {
        1
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn as_bytes(values: &[Self]) -> Option<&[u8]> {
        Some(bools_as_bytes(values))
    }
}

/// Every stored byte other than 0 is `true`.
impl ReadElement for bool {
    type Values = Vec<Self>;

    fn from_bytes(element: &[u8]) -> Result<Self, Error> {
        Ok(element.iter().any(|&byte| byte != 0))
    }

    fn collect(elements: ElementArray) -> Result<Vec<Self>, Error> {
        Ok(elements.bytes().iter().map(|&byte| byte != 0).collect())
    }
}

macro_rules! variable {
    ($($type:ty $(, $length:ident)?: $check:ident;)*) => {$(
        impl$(<const $length: usize>)? WriteElement for $type {
            fn check(data_type: &dyn DataType) -> Result<(), Error> {
                $check(data_type)
            }

            fn size(&self) -> usize {
                self.len()
            }

            fn append_to(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(self.as_ref());
            }
        }
    )*};
}

variable! {
    String: is_text;
    &str: is_text;
    Vec<u8>: is_variable;
    &[u8]: is_variable;
    &[u8; N], N: is_variable;
}

impl ReadElement for String {
    type Values = Vec<Self>;

    fn from_bytes(element: &[u8]) -> Result<Self, Error> {
        let text = std::str::from_utf8(element).map_err(|error| Error::Elements(error.to_string()))?;
        Ok(text.to_owned())
    }

    fn collect(elements: ElementArray) -> Result<Vec<Self>, Error> {
        Ok(elements.strings()?.into_iter().map(str::to_owned).collect())
    }
}

impl ReadElement for Vec<u8> {
    type Values = Vec<Self>;

    fn from_bytes(element: &[u8]) -> Result<Self, Error> {
        Ok(element.to_vec())
    }

    fn collect(elements: ElementArray) -> Result<Vec<Self>, Error> {
        Ok(elements.iter().map(<[u8]>::to_vec).collect())
    }
}

impl<T: WriteElement> WriteElement for Option<T> {
    fn check(data_type: &dyn DataType) -> Result<(), Error> {
        let Some(present) = data_type.optional() else {
            let name = data_type.name();
            return Err(Error::Elements(format!("elements of type {name} are never missing")));
        };
        T::check(&**present)
    }

    fn size(&self) -> usize {
        self.as_ref().map_or(0, |value| 1 + value.size())
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        if let Some(value) = self {
            bytes.push(1);
            value.append_to(bytes);
        }
    }
}

impl<T: ReadElement> ReadElement for Option<T> {
    type Values = Vec<Self>;

    fn from_bytes(element: &[u8]) -> Result<Self, Error> {
        element.split_first().map(|(_present, value)| T::from_bytes(value)).transpose()
    }

    fn collect(elements: ElementArray) -> Result<Vec<Self>, Error> {
        elements.iter().map(Self::from_bytes).collect()
    }
}

fn is_variable(data_type: &dyn DataType) -> Result<(), Error> {
    if data_type.elements() == Elements::Variable {
        return Ok(());
    }
    Err(Error::Elements(format!("elements of type {} have a fixed size", data_type.name())))
}

fn is_text(data_type: &dyn DataType) -> Result<(), Error> {
    is_variable(data_type)?;
    if data_type.optional().is_none() {
        return Ok(());
    }
    let name = data_type.name();
    Err(Error::Elements(format!("elements of type {name} may be missing: use options of strings")))
}

/// Concatenates elements of variable size: the offsets, followed by the payload.
pub(crate) fn joined<T: WriteElement>(elements: &[T]) -> Result<Vec<u8>, CodecError> {
    let mut bytes = with_offsets(elements.len(), elements.iter().map(T::size))?;
    elements.iter().for_each(|element| element.append_to(&mut bytes));
    Ok(bytes)
}
