//! Casts between numbers, like NumPy.

use crate::numbers::{Bit, Complex, bf16, f16};

/// Casts a number to another type like NumPy on most machines: integers wrap around, floats are truncated
/// towards zero, every number except 0 is true, and a complex number loses its imaginary part.
///
/// NaN and infinities become 0 or the integer with only its highest bit set, depending on its type.
pub trait Cast<T> {
    /// Returns the number as a `T`.
    fn cast(self) -> T;
}

macro_rules! casts {
    ($from:ty => $($to:ty)*: |$value:ident| $cast:expr) => {$(
        impl Cast<$to> for $from {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "casts wrap and round like NumPy; not every pair of types does both"
            )]
            #[inline]
            fn cast(self) -> $to {
                let $value = self;
                $cast as $to
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        casts!($type => i8 i16 i32 i64 u8 u16 u32 u64 f32 f64: |value| value);
        impl Cast<f16> for $type {
            #[inline]
            fn cast(self) -> f16 {
                f16::from_f32(rounded_to_odd(self as f64))
            }
        }
        impl Cast<Bit> for $type {
            #[inline]
            fn cast(self) -> Bit {
                Bit(u8::from(self != 0))
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty, |$value:ident| $as_f64:expr;)*) => {$(
        casts!($type => i8 i16 i64 u8 u16 u32: |$value| truncated($as_f64));
        casts!($type => f32 f64: |$value| $as_f64);
        impl Cast<i32> for $type {
            #[inline]
            fn cast(self) -> i32 {
                let $value = self;
                i32::try_from(truncated($as_f64)).unwrap_or(i32::MIN)
            }
        }
        impl Cast<u64> for $type {
            #[inline]
            fn cast(self) -> u64 {
                let $value = self;
                truncated_unsigned($as_f64)
            }
        }
        impl Cast<f16> for $type {
            #[inline]
            fn cast(self) -> f16 {
                let $value = self;
                f16::from_f32(rounded_to_odd($as_f64))
            }
        }
        impl Cast<Bit> for $type {
            #[inline]
            fn cast(self) -> Bit {
                let $value = self;
                Bit(u8::from($as_f64 != 0.0))
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);
floats! {
    f16, |value| value.to_f64();
    f32, |value| f64::from(value);
    f64, |value| value;
}

/// Defines casts of types that NumPy does not have, but only those that codecs need.
macro_rules! bfloats {
    ($($type:ty)*) => {$(
        impl Cast<bf16> for $type {
            #[inline]
            fn cast(self) -> bf16 {
                bf16::from_f32(rounded_to_odd(self.into()))
            }
        }
    )*};
}

bfloats!(u8 f64);

impl Cast<f64> for bf16 {
    #[inline]
    fn cast(self) -> f64 {
        self.to_f64()
    }
}

/// Truncates towards zero. A number out of range becomes the smallest `int64`, like NumPy on most machines.
#[expect(clippy::cast_possible_truncation, reason = "the value was checked to fit")]
fn truncated(value: f64) -> i64 {
    if value >= i64::MIN as f64 && value < -(i64::MIN as f64) { value as i64 } else { i64::MIN }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative values wrap around")]
fn truncated_unsigned(value: f64) -> u64 {
    let above_signed = -(i64::MIN as f64);
    if value >= 2.0 * above_signed {
        return 0;
    }
    if value >= above_signed { value as u64 } else { truncated(value) as u64 }
}

/// Rounds to `float32` such that rounding the result to a smaller float is the same as rounding `value` directly.
///
/// A number between two `float32` becomes the neighbour with an odd last bit, which is never half way between two
/// smaller floats. [`f16::from_f64`] is not used, because it reads only the upper half of the bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the last bit preserves the truncated part")]
fn rounded_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) == value || value.is_nan() {
        return nearest;
    }
    let is_too_large = f64::from(nearest).abs() > value.abs();
    f32::from_bits((nearest.to_bits() - u32::from(is_too_large)) | 1)
}

/// Defines the casts between a real type and booleans or complex numbers.
macro_rules! others {
    ($($real:ty)*) => {$(
        impl Cast<$real> for Bit {
            #[inline]
            fn cast(self) -> $real {
                u8::from(self.0 != 0).cast()
            }
        }
        impl<T: Cast<$real>> Cast<$real> for Complex<T> {
            #[inline]
            fn cast(self) -> $real {
                self.0.cast()
            }
        }
        impl<T> Cast<Complex<T>> for $real
        where
            $real: Cast<T>,
            u8: Cast<T>,
        {
            #[inline]
            fn cast(self) -> Complex<T> {
                Complex(self.cast(), 0u8.cast())
            }
        }
    )*};
}

others!(i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64);

impl Cast<Bit> for Bit {
    #[inline]
    fn cast(self) -> Bit {
        self
    }
}

impl<T> Cast<Complex<T>> for Bit
where
    u8: Cast<T>,
{
    #[inline]
    fn cast(self) -> Complex<T> {
        Complex(u8::from(self.0 != 0).cast(), 0u8.cast())
    }
}

impl<T: Cast<Bit>> Cast<Bit> for Complex<T> {
    #[inline]
    fn cast(self) -> Bit {
        let Bit(real) = self.0.cast();
        let Bit(imaginary) = self.1.cast();
        Bit(real | imaginary)
    }
}

impl<T: Cast<U>, U> Cast<Complex<U>> for Complex<T> {
    #[inline]
    fn cast(self) -> Complex<U> {
        Complex(self.0.cast(), self.1.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::{Element, Number, cast_each};

    /// The results of NumPy 2.5.5: `numpy.array([…], "f8").astype(…)`.
    #[test]
    fn float64_is_rounded_to_float16_once() {
        let cases: [(f64, u16); 9] = [
            (1.000_488_281_250_9, 0x3c01),
            (1.000_488_281_25, 0x3c00),
            (1.000_488_281_249_9, 0x3c00),
            (65_519.999_999_999, 0x7bff),
            (65_520.0, 0x7c00),
            (f64::MAX, 0x7c00),
            (f64::MIN_POSITIVE, 0),
            (2.980_232_238_769_531e-8, 0),
            (2.980_232_238_769_532e-8, 1),
        ];
        for (from, to) in cases {
            let positive: f16 = from.cast();
            let negative: f16 = (-from).cast();
            assert_eq!((positive.to_bits(), negative.to_bits()), (to, to | 0x8000), "{from}");
        }
        let not_a_number: f16 = f64::NAN.cast();
        assert!(not_a_number.is_nan());
    }

    #[test]
    fn float64_is_rounded_to_bfloat16_once() {
        let half_way: bf16 = 1.003_906_25.cast();
        let above: bf16 = 1.003_906_250_000_001.cast();
        assert_eq!((half_way.to_bits(), above.to_bits()), (0x3f80, 0x3f81));
    }

    #[test]
    fn floats_are_truncated_and_wrap_around() {
        let values: [f64; 5] = [-1.7, 300.5, f64::NAN, f64::INFINITY, 3e9];
        let to_u8: [u8; 5] = values.map(Cast::cast);
        assert_eq!(to_u8, [255, 44, 0, 0, 0]);
        let to_i32: [i32; 5] = values.map(Cast::cast);
        assert_eq!(to_i32, [-1, 300, i32::MIN, i32::MIN, i32::MIN]);
        let to_u64: [u64; 5] = values.map(Cast::cast);
        assert_eq!(to_u64, [u64::MAX, 300, 1 << 63, 0, 3_000_000_000]);
        let half: f16 = 1e6f64.cast();
        assert_eq!(half, f16::INFINITY);
    }

    #[test]
    fn booleans_and_complex_numbers_are_cast_too() {
        let mut to = [0; 16];
        cast_each((Number::Bool, &[2]), (Number::C128, &mut to));
        assert_eq!((f64::read(&to[..8]), f64::read(&to[8..])), (1.0, 0.0));
        let from = [0.0f32, 0.5].map(f32::to_ne_bytes).concat();
        let mut to = [9];
        cast_each((Number::C64, &from), (Number::Bool, &mut to));
        assert_eq!(to, [1]);
        cast_each((Number::C64, &from), (Number::U8, &mut to));
        assert_eq!(to, [0]);
        cast_each((Number::F64, &f64::NAN.to_ne_bytes()), (Number::Bool, &mut to));
        assert_eq!(to, [1]);
    }
}
