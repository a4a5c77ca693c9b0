//! Encoding and decoding all elements of a chunk.

use zarr_plugin_kit::numbers::{Element, Number, each, f16};
use zarr_plugin_kit::{Cast, with_number};
use zarr_spec::codec::{CodecError, CodecResult};

use crate::Parameter;

/// The parameters and data types of the codec.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scaling {
    pub(crate) decoded: Number,
    pub(crate) encoded: Number,
    pub(crate) offset: Parameter,
    pub(crate) scale: Parameter,
}

pub(crate) fn not_scaled(name: &str) -> CodecError {
    CodecError::Unsupported(format!("elements of data type `{name}` cannot be scaled"))
}

impl Scaling {
    /// Encodes all elements to `encoded`, which has the same number of elements.
    pub(crate) fn encode(self, decoded: &[u8], encoded: &mut [u8]) -> CodecResult {
        with_number!(self.decoded, D => {
            integer: with_number!(self.encoded, E => self.encode_whole::<D, E>(decoded, encoded)),
            float: with_number!(self.encoded, E => self.encode_real::<D, E>(decoded, encoded)),
            other: return Err(not_scaled("bool or complex")),
        });
        Ok(())
    }

    /// Decodes all elements to `decoded`, which has the same number of elements.
    pub(crate) fn decode(self, encoded: &[u8], decoded: &mut [u8]) -> CodecResult {
        with_number!(self.encoded, E => {
            integer: with_number!(self.decoded, D => self.decode_to::<D, E>(encoded, decoded)),
            float: with_number!(self.decoded, D => self.decode_to::<D, E>(encoded, decoded)),
            other: return Err(not_scaled("bool or complex")),
        });
        Ok(())
    }

    /// Calculates with integers as long as the parameters are integers.
    fn encode_whole<D, E>(self, decoded: &[u8], encoded: &mut [u8])
    where
        D: Whole + Cast<E>,
        E: Element,
        f64: Cast<E>,
    {
        match (self.offset, self.scale) {
            (Parameter::Whole(offset), Parameter::Whole(scale)) => {
                each(decoded, encoded, |element: D| -> E { element.minus(offset).times(scale).cast() });
            }
            (Parameter::Whole(offset), Parameter::Real(scale)) => {
                each(decoded, encoded, |element: D| -> E {
                    element.minus(offset).real().scaled(0.0, scale).cast()
                });
            }
            (Parameter::Real(_), _) => self.encode_real::<D, E>(decoded, encoded),
        }
    }

    fn encode_real<D, E>(self, decoded: &[u8], encoded: &mut [u8])
    where
        D: Scaled<Real: Cast<E>>,
        E: Element,
    {
        let (offset, scale) = self.parameters::<D::Real>();
        each(decoded, encoded, |element: D| -> E { element.real().scaled(offset, scale).cast() });
    }

    fn decode_to<D, E>(self, encoded: &[u8], decoded: &mut [u8])
    where
        D: Element,
        E: Scaled<Real: Cast<D>>,
    {
        let (offset, scale) = self.parameters::<E::Real>();
        each(encoded, decoded, |element: E| -> D { element.real().unscaled(offset, scale).cast() });
    }

    fn parameters<R: Real>(self) -> (R, R) {
        (R::from_parameter(self.offset.as_f64()), R::from_parameter(self.scale.as_f64()))
    }
}

/// A number that can be scaled.
trait Scaled: Element {
    /// The type in which NumPy divides: `float64` for integers, otherwise the type itself.
    type Real: Real;
    fn real(self) -> Self::Real;
}

/// An integer with wrapping arithmetic.
trait Whole: Scaled<Real = f64> {
    fn minus(self, other: i64) -> Self;
    fn times(self, other: i64) -> Self;
}

/// A float, rounded after each step.
trait Real: Copy {
    fn from_parameter(parameter: f64) -> Self;
    /// Returns `(self - offset) * scale`, rounded to the nearest integer, ties to even.
    fn scaled(self, offset: Self, scale: Self) -> Self;
    /// Returns `self / scale + offset`.
    fn unscaled(self, offset: Self, scale: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Scaled for $type {
            type Real = f64;

            fn real(self) -> f64 {
                self as f64
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
    ($($type:ty, |$value:ident| $round:expr;)*) => {$(
        impl Scaled for $type {
            type Real = Self;

            fn real(self) -> Self {
                self
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
    f16, |value| Self::from_f32(value.to_f32().round_ties_even());
    f32, |value| value.round_ties_even();
    f64, |value| value.round_ties_even();
}
