//! Numbers in memory, for codecs that compute with elements.
//!
//! Elements are in native byte order. [`with_number!`](crate::with_number) maps a [`Number`] to its Rust type;
//! [`Cast`] converts like NumPy.

pub use half::{bf16, f16};

use crate::casts::Cast;
use zarr_spec::data_type::{DataType, Kind};

/// The type of the numbers that codecs compute with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "codecs calculate with every type")]
pub enum Number {
    /// [`Bit`].
    Bool,
    /// [`i8`].
    I8,
    /// [`i16`].
    I16,
    /// [`i32`].
    I32,
    /// [`i64`].
    I64,
    /// [`u8`].
    U8,
    /// [`u16`].
    U16,
    /// [`u32`].
    U32,
    /// [`u64`].
    U64,
    /// [`struct@f16`].
    F16,
    /// [`f32`].
    F32,
    /// [`f64`].
    F64,
    /// [`Complex`] of [`f32`].
    C64,
    /// [`Complex`] of [`f64`].
    C128,
}

/// Returns whether the elements are points in time or durations.
#[must_use]
pub fn is_time(data_type: &dyn DataType) -> bool {
    let name = data_type.name();
    ["numpy.datetime64", "numpy.timedelta64"].iter().any(|time| name.starts_with(time))
}

impl Number {
    /// Returns the numbers of `data_type`; `None` if the elements are not numbers. It is also `None` for
    /// integers that do not use all bits of their byte, such as `int4`: the result of a computation might not
    /// fit.
    #[must_use]
    pub fn of(data_type: &dyn DataType) -> Option<Self> {
        Some(match (data_type.kind()?, data_type.elements().size()?) {
            (Kind::Bool, 1) => Self::Bool,
            (Kind::Int | Kind::UInt, 1) if data_type.check(&[0x40]).is_err() => return None,
            (Kind::Int, 1) => Self::I8,
            (Kind::Int, 2) => Self::I16,
            (Kind::Int, 4) => Self::I32,
            (Kind::Int, 8) => Self::I64,
            (Kind::UInt, 1) => Self::U8,
            (Kind::UInt, 2) => Self::U16,
            (Kind::UInt, 4) => Self::U32,
            (Kind::UInt, 8) => Self::U64,
            (Kind::Float, 2) => Self::F16,
            (Kind::Float, 4) => Self::F32,
            (Kind::Float, 8) => Self::F64,
            (Kind::Complex, 8) => Self::C64,
            (Kind::Complex, 16) => Self::C128,
            _ => return None,
        })
    }

    /// Like [`Number::of`], but times are `int64` counts, which include "not a time".
    #[must_use]
    pub fn or_time(data_type: &dyn DataType) -> Option<Self> {
        let time = || (data_type.elements().size() == Some(8) && is_time(data_type)).then_some(Self::I64);
        Self::of(data_type).or_else(time)
    }

    /// Returns the size of an element in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// Returns the typestring of NumPy, in little endian.
    #[must_use]
    pub fn typestring(self) -> &'static str {
        match self {
            Self::Bool => "|b1",
            Self::I8 => "|i1",
            Self::I16 => "<i2",
            Self::I32 => "<i4",
            Self::I64 => "<i8",
            Self::U8 => "|u1",
            Self::U16 => "<u2",
            Self::U32 => "<u4",
            Self::U64 => "<u8",
            Self::F16 => "<f2",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::C64 => "<c8",
            Self::C128 => "<c16",
        }
    }

    /// Returns whether this type is a signed or unsigned integer. A boolean is not an integer.
    #[must_use]
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::Bool) && !self.is_float() && !self.is_complex()
    }

    /// Returns whether this type is a real number with a fraction.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Returns whether this type is a complex number.
    #[must_use]
    pub fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }
}

/// A number of the codecs of Zarr, including types that NumPy does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "codecs calculate with every type")]
pub enum AnyNumber {
    /// A type that NumPy has.
    Number(Number),
    /// An integer with this number of bits in a byte. The other bits repeat its sign or are 0.
    Narrow(Number, u32),
    /// [`struct@bf16`].
    BF16,
}

impl AnyNumber {
    /// Returns the number of significant bits of an integer or float.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Narrow(_, bits) => bits,
            // An element has at most 16 bytes.
            _ => u32::try_from(8 * self.size()).unwrap_or(u32::MAX),
        }
    }

    /// Returns whether this type is a signed or unsigned integer. A boolean is not an integer.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Number(number) | Self::Narrow(number, _) if number.is_integer())
    }

    /// Returns whether this type is a real number with a fraction.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::BF16) || matches!(self, Self::Number(number) if number.is_float())
    }
}

/// The kind of the elements of a data type, for [`Sides`](super::Sides).
pub trait Operand: Copy + PartialEq {
    /// Returns the kind of the elements, or `None` if this Rust type does not describe them.
    fn of(data_type: &dyn DataType) -> Option<Self>;

    /// Returns the size of an element in bytes.
    fn size(self) -> usize;
}

impl Operand for Number {
    /// Times are `int64` counts.
    fn of(data_type: &dyn DataType) -> Option<Self> {
        Self::or_time(data_type)
    }

    fn size(self) -> usize {
        self.size()
    }
}

impl Operand for AnyNumber {
    /// Times are `int64` counts.
    fn of(data_type: &dyn DataType) -> Option<Self> {
        let narrow = |number, is_signed| {
            // Testing each bit with `check` determines the significant bits of a narrow integer. The sign is
            // the last significant bit.
            let counting = (0..8u32).take_while(|bit| data_type.check(&[1 << bit]).is_ok());
            Some(Self::Narrow(number, counting.last()? + 1 + u32::from(is_signed)))
        };
        let number = || Number::or_time(data_type).map(Self::Number);
        match (data_type.kind(), data_type.elements().size()) {
            (Some(Kind::BFloat), Some(2)) => Some(Self::BF16),
            (Some(Kind::Int), Some(1)) => number().or_else(|| narrow(Number::I8, true)),
            (Some(Kind::UInt), Some(1)) => number().or_else(|| narrow(Number::U8, false)),
            _ => number(),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::Number(number) | Self::Narrow(number, _) => number.size(),
            Self::BF16 => size_of::<bf16>(),
        }
    }
}

/// Like [`with_number!`](crate::with_number), for an [`AnyNumber`]. The type of a narrow integer is the whole integer
/// that contains its bits.
#[macro_export]
macro_rules! with_any_number {
    ($number:expr, $T:ident => {
        integer: $integer:expr, float: $float:expr, other: $other:expr $(,)?
    }) => {
        match $number {
            $crate::numbers::AnyNumber::Number(number)
            | $crate::numbers::AnyNumber::Narrow(number, _) => {
                $crate::with_number!(number, $T => { integer: $integer, float: $float, other: $other })
            }
            $crate::numbers::AnyNumber::BF16 => {
                $crate::with_number!(@ $crate::numbers::bf16, $T, $float)
            }
        }
    };
}

/// Evaluates an expression with the Rust type of a [`Number`].
///
/// There is one expression for all types, or one for integers, one for floats, and one without a type for the
/// others.
///
/// ```
/// use zarr_plugin_kit::numbers::Number;
///
/// assert_eq!(zarr_plugin_kit::with_number!(Number::C64, T => size_of::<T>()), 8);
/// let largest = |number| {
///     zarr_plugin_kit::with_number!(number, T => {
///         integer: Some(T::MAX.to_string()),
///         float: Some(T::MAX.to_string()),
///         other: None,
///     })
/// };
/// assert_eq!(largest(Number::U8).as_deref(), Some("255"));
/// assert_eq!(largest(Number::F16).as_deref(), Some("65504"));
/// assert_eq!(largest(Number::Bool), None);
/// ```
#[macro_export]
macro_rules! with_number {
    ($number:expr, $T:ident => {
        integer: $integer:expr, float: $float:expr, other: $other:expr $(,)?
    }) => {
        match $number {
            $crate::numbers::Number::I8 => $crate::with_number!(@ i8, $T, $integer),
            $crate::numbers::Number::I16 => $crate::with_number!(@ i16, $T, $integer),
            $crate::numbers::Number::I32 => $crate::with_number!(@ i32, $T, $integer),
            $crate::numbers::Number::I64 => $crate::with_number!(@ i64, $T, $integer),
            $crate::numbers::Number::U8 => $crate::with_number!(@ u8, $T, $integer),
            $crate::numbers::Number::U16 => $crate::with_number!(@ u16, $T, $integer),
            $crate::numbers::Number::U32 => $crate::with_number!(@ u32, $T, $integer),
            $crate::numbers::Number::U64 => $crate::with_number!(@ u64, $T, $integer),
            $crate::numbers::Number::F16 => {
                $crate::with_number!(@ $crate::numbers::f16, $T, $float)
            }
            $crate::numbers::Number::F32 => $crate::with_number!(@ f32, $T, $float),
            $crate::numbers::Number::F64 => $crate::with_number!(@ f64, $T, $float),
            $crate::numbers::Number::Bool
            | $crate::numbers::Number::C64
            | $crate::numbers::Number::C128 => $other,
        }
    };
    (@ $type:ty, $T:ident, $body:expr) => {{
        type $T = $type;
        $body
    }};
    ($number:expr, $T:ident => $body:expr) => {
        match $number {
            $crate::numbers::Number::Bool => {
                $crate::with_number!(@ $crate::numbers::Bit, $T, $body)
            }
            $crate::numbers::Number::C64 => {
                $crate::with_number!(@ $crate::numbers::Complex<f32>, $T, $body)
            }
            $crate::numbers::Number::C128 => {
                $crate::with_number!(@ $crate::numbers::Complex<f64>, $T, $body)
            }
            $crate::numbers::Number::I8 => $crate::with_number!(@ i8, $T, $body),
            $crate::numbers::Number::I16 => $crate::with_number!(@ i16, $T, $body),
            $crate::numbers::Number::I32 => $crate::with_number!(@ i32, $T, $body),
            $crate::numbers::Number::I64 => $crate::with_number!(@ i64, $T, $body),
            $crate::numbers::Number::U8 => $crate::with_number!(@ u8, $T, $body),
            $crate::numbers::Number::U16 => $crate::with_number!(@ u16, $T, $body),
            $crate::numbers::Number::U32 => $crate::with_number!(@ u32, $T, $body),
            $crate::numbers::Number::U64 => $crate::with_number!(@ u64, $T, $body),
            $crate::numbers::Number::F16 => {
                $crate::with_number!(@ $crate::numbers::f16, $T, $body)
            }
            $crate::numbers::Number::F32 => $crate::with_number!(@ f32, $T, $body),
            $crate::numbers::Number::F64 => $crate::with_number!(@ f64, $T, $body),
        }
    };
}

/// A number in memory.
pub trait Element: Copy {
    /// Reads a number from its bytes. The length of `bytes` must be the size of the number.
    fn read(bytes: &[u8]) -> Self;

    /// Writes the number to `bytes`, whose length must be the size of the number.
    fn write(self, bytes: &mut [u8]);
}

/// Converts each element of `from` to the element of `to` at the same position.
pub fn each<A: Element, B: Element>(from: &[u8], to: &mut [u8], convert: impl Fn(A) -> B) {
    for (from, to) in from.chunks_exact(size_of::<A>()).zip(to.chunks_exact_mut(size_of::<B>())) {
        convert(A::read(from)).write(to);
    }
}

/// Like [`each`], but stops at the first element that cannot be converted.
///
/// # Errors
///
/// The first error of `convert`.
pub fn try_each<A: Element, B: Element, E>(
    from: &[u8],
    to: &mut [u8],
    convert: impl Fn(A) -> Result<B, E>,
) -> Result<(), E> {
    for (from, to) in from.chunks_exact(size_of::<A>()).zip(to.chunks_exact_mut(size_of::<B>())) {
        convert(A::read(from))?.write(to);
    }
    Ok(())
}

/// Casts each element of `from` to `to` like NumPy.
pub fn cast_each(from: (Number, &[u8]), to: (Number, &mut [u8])) {
    with_number!(from.0, A => with_number!(to.0, B => each(from.1, to.1, |element: A| -> B { element.cast() })));
}

/// A boolean: a byte that is 0 for false.
#[derive(Debug, Clone, Copy)]
pub struct Bit(pub u8);

/// Real part, imaginary part.
#[derive(Debug, Clone, Copy)]
pub struct Complex<T>(pub T, pub T);

impl Element for Bit {
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        Self(bytes[0])
    }

    #[inline]
    fn write(self, bytes: &mut [u8]) {
        bytes[0] = self.0;
    }
}

impl<T: Element> Element for Complex<T> {
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        let (real, imaginary) = bytes.split_at(size_of::<T>());
        Self(T::read(real), T::read(imaginary))
    }

    #[inline]
    fn write(self, bytes: &mut [u8]) {
        let (real, imaginary) = bytes.split_at_mut(size_of::<T>());
        self.0.write(real);
        self.1.write(imaginary);
    }
}

macro_rules! elements {
    ($($type:ty)*) => {$(
        impl Element for $type {
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_ne_bytes(own)
            }


            #[inline]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

elements!(i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
