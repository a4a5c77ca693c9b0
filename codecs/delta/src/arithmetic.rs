//! Differences and sums of elements in native byte order.

use zarr_plugin_kit::numbers::{Bit, Complex, Element, Number, f16};
use zarr_plugin_kit::{Cast, with_number};

/// Writes the first element of `decoded` and then the difference of each element from the previous one, as
/// elements of `encoded`. Both have the same number of elements.
pub(crate) fn encode(from: Number, to: Number, decoded: &[u8], encoded: &mut [u8]) {
    with_number!(from, D => with_number!(to, E => differences::<D, E>(decoded, encoded)));
}

/// Writes the running sums of `encoded` as elements of `decoded`.
pub(crate) fn decode(from: Number, to: Number, encoded: &[u8], decoded: &mut [u8]) {
    with_number!(from, D => with_number!(to, E => sums::<D, E>(encoded, decoded)));
}

fn differences<D: Arithmetic + Cast<E>, E: Element>(decoded: &[u8], encoded: &mut [u8]) {
    let mut elements = decoded.chunks_exact(size_of::<D>());
    let mut encoded = encoded.chunks_exact_mut(size_of::<E>());
    let (Some(first), Some(to)) = (elements.next(), encoded.next()) else { return };
    D::read(first).cast().write(to);
    for ((now, before), to) in elements.zip(decoded.chunks_exact(size_of::<D>())).zip(encoded) {
        D::read(now).minus(D::read(before)).cast().write(to);
    }
}

fn sums<D: Arithmetic, E: Element + Cast<D>>(encoded: &[u8], decoded: &mut [u8]) {
    let mut encoded = encoded.chunks_exact(size_of::<E>());
    let mut decoded = decoded.chunks_exact_mut(size_of::<D>());
    // The first element is not added to zero, because the sum would lose the sign of -0.0.
    let (Some(first), Some(to)) = (encoded.next(), decoded.next()) else { return };
    let mut sum = E::read(first).cast();
    sum.write(to);
    for (difference, to) in encoded.zip(decoded) {
        sum = sum.plus(E::read(difference).cast());
        sum.write(to);
    }
}

/// Wrapping addition and subtraction.
trait Arithmetic: Element {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

/// Both the sum and the difference of booleans are their exclusive or.
impl Arithmetic for Bit {
    fn plus(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    fn minus(self, other: Self) -> Self {
        self.plus(other)
    }
}

impl<T: Arithmetic> Arithmetic for Complex<T> {
    fn plus(self, other: Self) -> Self {
        Self(self.0.plus(other.0), self.1.plus(other.1))
    }

    fn minus(self, other: Self) -> Self {
        Self(self.0.minus(other.0), self.1.minus(other.1))
    }
}

macro_rules! arithmetic {
    ($($type:ty)*: |$a:ident, $b:ident| $plus:expr, $minus:expr) => {$(
        impl Arithmetic for $type {
            fn plus(self, $b: Self) -> Self {
                let $a = self;
                $plus
            }

            fn minus(self, $b: Self) -> Self {
                let $a = self;
                $minus
            }
        }
    )*};
}

arithmetic!(f16 f32 f64: |a, b| a + b, a - b);
arithmetic!(i8 i16 i32 i64 u8 u16 u32 u64: |a, b| a.wrapping_add(b), a.wrapping_sub(b));
