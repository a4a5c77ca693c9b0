//! Differences and sums of elements in native byte order.

use half::f16;
use zarr_spec::DataType;
use zarr_spec::data_type::Kind;

/// How the codec calculates with a data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    C64,
    C128,
}

/// Whether elements are points in time or durations.
pub(crate) fn is_time(data_type: &dyn DataType) -> bool {
    let name = data_type.name();
    ["numpy.datetime64", "numpy.timedelta64"].iter().any(|time| name.starts_with(time))
}

impl Number {
    /// Times count as `int64`, so that "not a time" survives.
    pub(crate) fn of(data_type: &dyn DataType) -> Option<Self> {
        Some(match (data_type.kind(), data_type.elements().size()?) {
            (Some(Kind::Bool), 1) => Self::Bool,
            (Some(Kind::Int), 1) => Self::I8,
            (Some(Kind::Int), 2) => Self::I16,
            (Some(Kind::Int), 4) => Self::I32,
            (Some(Kind::Int), 8) => Self::I64,
            (None, 8) if is_time(data_type) => Self::I64,
            (Some(Kind::UInt), 1) => Self::U8,
            (Some(Kind::UInt), 2) => Self::U16,
            (Some(Kind::UInt), 4) => Self::U32,
            (Some(Kind::UInt), 8) => Self::U64,
            (Some(Kind::Float), 2) => Self::F16,
            (Some(Kind::Float), 4) => Self::F32,
            (Some(Kind::Float), 8) => Self::F64,
            (Some(Kind::Complex), 8) => Self::C64,
            (Some(Kind::Complex), 16) => Self::C128,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    /// Whether differences of these can be written as `other`: booleans and complex numbers only among themselves.
    pub(crate) fn casts_to(self, other: Self) -> bool {
        let class = |number| match number {
            Self::Bool => 0,
            Self::C64 | Self::C128 => 1,
            _ => 2,
        };
        class(self) == class(other)
    }
}

/// Evaluates `$body` with the types that two numbers stand for, between which there is a cast.
macro_rules! with_types {
    ($from:expr, $to:expr, $D:ident, $E:ident => $body:expr) => {
        match ($from, $to) {
            (Number::Bool, _) => with_types!(@ Bit, Bit, $D, $E, $body),
            (Number::C64, Number::C64) => with_types!(@ Complex<f32>, Complex<f32>, $D, $E, $body),
            (Number::C64, _) => with_types!(@ Complex<f32>, Complex<f64>, $D, $E, $body),
            (Number::C128, Number::C64) => with_types!(@ Complex<f64>, Complex<f32>, $D, $E, $body),
            (Number::C128, _) => with_types!(@ Complex<f64>, Complex<f64>, $D, $E, $body),
            (Number::I8, to) => with_types!(to, i8, $D, $E, $body),
            (Number::I16, to) => with_types!(to, i16, $D, $E, $body),
            (Number::I32, to) => with_types!(to, i32, $D, $E, $body),
            (Number::I64, to) => with_types!(to, i64, $D, $E, $body),
            (Number::U8, to) => with_types!(to, u8, $D, $E, $body),
            (Number::U16, to) => with_types!(to, u16, $D, $E, $body),
            (Number::U32, to) => with_types!(to, u32, $D, $E, $body),
            (Number::U64, to) => with_types!(to, u64, $D, $E, $body),
            (Number::F16, to) => with_types!(to, f16, $D, $E, $body),
            (Number::F32, to) => with_types!(to, f32, $D, $E, $body),
            (Number::F64, to) => with_types!(to, f64, $D, $E, $body),
        }
    };
    ($to:expr, $from:ty, $D:ident, $E:ident, $body:expr) => {
        match $to {
            Number::I8 => with_types!(@ $from, i8, $D, $E, $body),
            Number::I16 => with_types!(@ $from, i16, $D, $E, $body),
            Number::I32 => with_types!(@ $from, i32, $D, $E, $body),
            Number::I64 => with_types!(@ $from, i64, $D, $E, $body),
            Number::U8 | Number::Bool => with_types!(@ $from, u8, $D, $E, $body),
            Number::U16 => with_types!(@ $from, u16, $D, $E, $body),
            Number::U32 => with_types!(@ $from, u32, $D, $E, $body),
            Number::U64 => with_types!(@ $from, u64, $D, $E, $body),
            Number::F16 => with_types!(@ $from, f16, $D, $E, $body),
            Number::F32 => with_types!(@ $from, f32, $D, $E, $body),
            Number::F64 | Number::C64 | Number::C128 => with_types!(@ $from, f64, $D, $E, $body),
        }
    };
    (@ $from:ty, $to:ty, $D:ident, $E:ident, $body:expr) => {{
        type $D = $from;
        type $E = $to;
        $body
    }};
}

/// The first element of `decoded`, then the difference of each from the one before, as elements of `encoded`.
/// Both have the same number of elements, and [`Number::casts_to`] holds.
pub(crate) fn encode(from: Number, to: Number, decoded: &[u8], encoded: &mut [u8]) {
    with_types!(from, to, D, E => differences::<D, E>(decoded, encoded));
}

/// The sums of the elements of `encoded` up to each, as elements of `decoded`.
pub(crate) fn decode(from: Number, to: Number, encoded: &[u8], decoded: &mut [u8]) {
    with_types!(from, to, D, E => sums::<D, E>(encoded, decoded));
}

fn differences<D: Element + Cast<E>, E: Element>(decoded: &[u8], encoded: &mut [u8]) {
    let mut elements = decoded.chunks_exact(size_of::<D>());
    let mut encoded = encoded.chunks_exact_mut(size_of::<E>());
    let (Some(first), Some(to)) = (elements.next(), encoded.next()) else { return };
    D::read(first).cast().write(to);
    for ((now, before), to) in elements.zip(decoded.chunks_exact(size_of::<D>())).zip(encoded) {
        D::read(now).minus(D::read(before)).cast().write(to);
    }
}

fn sums<D: Element, E: Element + Cast<D>>(encoded: &[u8], decoded: &mut [u8]) {
    let mut encoded = encoded.chunks_exact(size_of::<E>());
    let mut decoded = decoded.chunks_exact_mut(size_of::<D>());
    // The first one is not added to zero, which would lose the sign of -0.0.
    let (Some(first), Some(to)) = (encoded.next(), decoded.next()) else { return };
    let mut sum = E::read(first).cast();
    sum.write(to);
    for (difference, to) in encoded.zip(decoded) {
        sum = sum.plus(E::read(difference).cast());
        sum.write(to);
    }
}

/// A number. Integers wrap around.
trait Element: Copy {
    /// From its bytes, as many as it has.
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

/// A number as another type, as NumPy casts it.
trait Cast<T> {
    fn cast(self) -> T;
}

/// A boolean: the difference of two is whether they differ, and so is the sum.
#[derive(Clone, Copy)]
struct Bit(u8);

impl Element for Bit {
    fn read(bytes: &[u8]) -> Self {
        Self(bytes[0])
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[0] = self.0;
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    fn minus(self, other: Self) -> Self {
        self.plus(other)
    }
}

impl Cast<Bit> for Bit {
    fn cast(self) -> Bit {
        self
    }
}

/// Real part, imaginary part.
#[derive(Clone, Copy)]
struct Complex<T>(T, T);

impl<T: Element> Element for Complex<T> {
    fn read(bytes: &[u8]) -> Self {
        let (real, imaginary) = bytes.split_at(size_of::<T>());
        Self(T::read(real), T::read(imaginary))
    }

    fn write(self, bytes: &mut [u8]) {
        let (real, imaginary) = bytes.split_at_mut(size_of::<T>());
        self.0.write(real);
        self.1.write(imaginary);
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0.plus(other.0), self.1.plus(other.1))
    }

    fn minus(self, other: Self) -> Self {
        Self(self.0.minus(other.0), self.1.minus(other.1))
    }
}

impl<T: Cast<U>, U> Cast<Complex<U>> for Complex<T> {
    fn cast(self) -> Complex<U> {
        Complex(self.0.cast(), self.1.cast())
    }
}

macro_rules! element {
    ($type:ty, |$a:ident, $b:ident| $plus:expr, $minus:expr) => {
        impl Element for $type {
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_ne_bytes(own)
            }

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }

            fn plus(self, $b: Self) -> Self {
                let $a = self;
                $plus
            }

            fn minus(self, $b: Self) -> Self {
                let $a = self;
                $minus
            }
        }
    };
}

macro_rules! casts {
    ($from:ty => $($to:ty)*: |$value:ident| $cast:expr) => {$(
        impl Cast<$to> for $from {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "casts wrap and round as those of NumPy do; not every pair of types does both"
            )]
            fn cast(self) -> $to {
                let $value = self;
                $cast as $to
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        element!($type, |a, b| a.wrapping_add(b), a.wrapping_sub(b));
        casts!($type => i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |value| value);
        impl Cast<f16> for $type {
            fn cast(self) -> f16 {
                f16::from_f64(self as f64)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty, |$value:ident| $as_f64:expr;)*) => {$(
        casts!($type => i8 i16 i64 u8 u16 u32: |$value| truncated($as_f64));
        casts!($type => f32 f64: |$value| $as_f64);
        impl Cast<i32> for $type {
            fn cast(self) -> i32 {
                let $value = self;
                i32::try_from(truncated($as_f64)).unwrap_or(i32::MIN)
            }
        }
        impl Cast<u64> for $type {
            fn cast(self) -> u64 {
                let $value = self;
                truncated_unsigned($as_f64)
            }
        }
        impl Cast<f16> for $type {
            fn cast(self) -> f16 {
                let $value = self;
                f16::from_f64($as_f64)
            }
        }
    )*};
}

element!(f16, |a, b| a + b, a - b);
element!(f32, |a, b| a + b, a - b);
element!(f64, |a, b| a + b, a - b);
integers!(i8 i16 i32 i64 u8 u16 u32 u64);
floats! {
    f16, |value| value.to_f64();
    f32, |value| f64::from(value);
    f64, |value| value;
}

/// Towards zero. What no `int64` can hold becomes the smallest one, as NumPy has it on most machines.
#[expect(clippy::cast_possible_truncation, reason = "it was checked that the value fits")]
fn truncated(value: f64) -> i64 {
    if value >= i64::MIN as f64 && value < -(i64::MIN as f64) { value as i64 } else { i64::MIN }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative values wrap around")]
fn truncated_unsigned(value: f64) -> u64 {
    if value >= -(i64::MIN as f64) { value as u64 } else { truncated(value) as u64 }
}
