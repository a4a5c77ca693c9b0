//! The two directions, over all elements of a chunk.

use crate::Parameter;
use crate::number::{Cast, Element, Number, Real, Whole, with_type};

/// What the codec does to an element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scaling {
    pub(crate) decoded: Number,
    pub(crate) encoded: Number,
    pub(crate) offset: Parameter,
    pub(crate) scale: Parameter,
}

impl Scaling {
    /// Writes as many elements as there are to `encoded`.
    pub(crate) fn encode(self, decoded: &[u8], encoded: &mut [u8]) {
        with_type!(self.decoded, D => {
            with_type!(self.encoded, E => self.encode_whole::<D, E>(decoded, encoded))
        }, {
            with_type!(self.encoded, E => self.encode_real::<D, E>(decoded, encoded))
        });
    }

    /// Writes as many elements as there are to `decoded`.
    pub(crate) fn decode(self, encoded: &[u8], decoded: &mut [u8]) {
        with_type!(self.decoded, D => {
            with_type!(self.encoded, E => self.decode_to::<D, E>(encoded, decoded))
        });
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
        D: Element<Real: Cast<E>>,
        E: Element,
    {
        let (offset, scale) = self.parameters::<D::Real>();
        each(decoded, encoded, |element: D| -> E { element.real().scaled(offset, scale).cast() });
    }

    fn decode_to<D, E>(self, encoded: &[u8], decoded: &mut [u8])
    where
        D: Element,
        E: Element<Real: Cast<D>>,
    {
        let (offset, scale) = self.parameters::<E::Real>();
        each(encoded, decoded, |element: E| -> D { element.real().unscaled(offset, scale).cast() });
    }

    fn parameters<R: Real>(self) -> (R, R) {
        (R::from_parameter(self.offset.as_f64()), R::from_parameter(self.scale.as_f64()))
    }
}

fn each<A: Element, B: Element>(from: &[u8], to: &mut [u8], convert: impl Fn(A) -> B) {
    for (from, to) in from.chunks_exact(size_of::<A>()).zip(to.chunks_exact_mut(size_of::<B>())) {
        convert(A::read(from)).write(to);
    }
}
