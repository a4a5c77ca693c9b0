//! Numbers in native byte order, and their casts as NumPy has them.

use half::f16;
use zarr_spec::DataType;
use zarr_spec::data_type::Kind;

/// What the codec calculates with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
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
}

impl Number {
    pub(crate) fn of(data_type: &dyn DataType) -> Option<Self> {
        Some(match (data_type.kind()?, data_type.elements().size()?) {
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
            _ => return None,
        })
    }

    /// Bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// Evaluates `$whole` or `$real`, or the one expression for both, with the type that `$number` stands for.
macro_rules! with_type {
    ($number:expr, $T:ident => $body:expr) => {
        with_type!($number, $T => $body, $body)
    };
    ($number:expr, $T:ident => $whole:expr, $real:expr) => {
        match $number {
            $crate::number::Number::I8 => with_type!(@ i8, $T, $whole),
            $crate::number::Number::I16 => with_type!(@ i16, $T, $whole),
            $crate::number::Number::I32 => with_type!(@ i32, $T, $whole),
            $crate::number::Number::I64 => with_type!(@ i64, $T, $whole),
            $crate::number::Number::U8 => with_type!(@ u8, $T, $whole),
            $crate::number::Number::U16 => with_type!(@ u16, $T, $whole),
            $crate::number::Number::U32 => with_type!(@ u32, $T, $whole),
            $crate::number::Number::U64 => with_type!(@ u64, $T, $whole),
            $crate::number::Number::F16 => with_type!(@ half::f16, $T, $real),
            $crate::number::Number::F32 => with_type!(@ f32, $T, $real),
            $crate::number::Number::F64 => with_type!(@ f64, $T, $real),
        }
    };
    (@ $type:ty, $T:ident, $body:expr) => {{
        type $T = $type;
        $body
    }};
}
pub(crate) use with_type;

/// A number in memory.
pub(crate) trait Element: Copy {
    /// What NumPy divides it in: integers in `float64`, others in their own type.
    type Real: Real;
    /// From its bytes, as many as it has.
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn real(self) -> Self::Real;
}

/// An integer, which wraps around.
pub(crate) trait Whole: Element<Real = f64> {
    fn minus(self, other: i64) -> Self;
    fn times(self, other: i64) -> Self;
}

/// A float, which is rounded after each step.
pub(crate) trait Real: Copy {
    fn from_parameter(parameter: f64) -> Self;
    /// `(self - offset) * scale`, to the nearest integer; of two, the even one.
    fn scaled(self, offset: Self, scale: Self) -> Self;
    /// `self / scale + offset`.
    fn unscaled(self, offset: Self, scale: Self) -> Self;
}

/// A number as another type, as NumPy casts it.
pub(crate) trait Cast<T> {
    fn cast(self) -> T;
}

macro_rules! element {
    ($type:ty, $real:ty, |$value:ident| $as_real:expr) => {
        impl Element for $type {
            type Real = $real;

            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_ne_bytes(own)
            }

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }

            fn real(self) -> $real {
                let $value = self;
                $as_real
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
        element!($type, f64, |value| value as f64);
        casts!($type => i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |value| value);
        impl Cast<f16> for $type {
            fn cast(self) -> f16 {
                f16::from_f64(self as f64)
            }
        }
        impl Whole for $type {
            fn minus(self, other: i64) -> Self {
                self.wrapping_sub(other.cast())
            }

            fn times(self, other: i64) -> Self {
                self.wrapping_mul(other.cast())
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty, |$value:ident| $as_f64:expr, $round:expr;)*) => {$(
        element!($type, $type, |value| value);
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
        impl Real for $type {
            fn from_parameter(parameter: f64) -> Self {
                parameter.cast()
            }

            fn scaled(self, offset: Self, scale: Self) -> Self {
                let $value = (self - offset) * scale;
                $round
            }

            fn unscaled(self, offset: Self, scale: Self) -> Self {
                self / scale + offset
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);
floats! {
    f16, |value| value.to_f64(), Self::from_f32(value.to_f32().round_ties_even());
    f32, |value| f64::from(value), value.round_ties_even();
    f64, |value| value, value.round_ties_even();
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
