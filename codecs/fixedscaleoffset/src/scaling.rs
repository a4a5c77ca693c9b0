//! The two directions, over all elements of a chunk.

use zarr_plugin_kit::numbers::{Element, Number, each, f16};
use zarr_plugin_kit::{Cast, with_number};
use zarr_spec::codec::CodecError;

use crate::Parameter;

/// What the codec does to an element.
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
    /// Writes as many elements as there are to `encoded`.
    pub(crate) fn encode(self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), CodecError> {
        with_number!(self.decoded, D => {
            integer: with_number!(self.encoded, E => self.encode_whole::<D, E>(decoded, encoded)),
            float: with_number!(self.encoded, E => self.encode_real::<D, E>(decoded, encoded)),
            other: return Err(not_scaled("bool or complex")),
        });
        Ok(())
    }

    /// Writes as many elements as there are to `decoded`.
    pub(crate) fn decode(self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), CodecError> {
        with_number!(self.encoded, E => {
            integer: with_number!(self.decoded, D => self.decode_to::<D, E>(encoded, decoded)),
            float: with_number!(self.decoded, D => self.decode_to::<D, E>(encoded, decoded)),
            other: return Err(not_scaled("bool or complex")),
        });
        Ok(())
    }

    /// Integers stay what they are until a parameter is none.
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

/// What can be scaled.
trait Scaled: Element {
    /// What NumPy divides it in: integers in `float64`, others in their own type.
    type Real: Real;
    fn real(self) -> Self::Real;
}

/// An integer, which wraps around.
trait Whole: Scaled<Real = f64> {
    fn minus(self, other: i64) -> Self;
    fn times(self, other: i64) -> Self;
}

/// A float, which is rounded after each step.
trait Real: Copy {
    fn from_parameter(parameter: f64) -> Self;
    /// `(self - offset) * scale`, to the nearest integer; of two, the even one.
    fn scaled(self, offset: Self, scale: Self) -> Self;
    /// `self / scale + offset`.
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
