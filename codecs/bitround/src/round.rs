//! Rounding of one number.

use zarr_plugin_kit::numbers::{Complex, bf16, f16};

/// A number that can be rounded to its leading bits.
pub(crate) trait Round: Copy {
    /// Rounds to `keepbits` leading bits, at most the number of bits that exist.
    fn rounded(self, keepbits: u32) -> Self;
}

impl<T: Round> Round for Complex<T> {
    fn rounded(self, keepbits: u32) -> Self {
        Self(self.0.rounded(keepbits), self.1.rounded(keepbits))
    }
}

/// Rounds the bits of a float as an integer. This is possible because the bits of the next float away from zero are the
/// next integer: a carry out of the mantissa increments the exponent, up to infinity.
macro_rules! floats {
    ($($type:ty: $mantissa:literal;)*) => {$(
        impl Round for $type {
            fn rounded(self, keepbits: u32) -> Self {
                let cut = $mantissa - keepbits;
                if cut == 0 || !self.is_finite() {
                    return self;
                }
                let bits = self.to_bits();
                let last_kept = (bits >> cut) & 1;
                let below_half = (1 << (cut - 1)) - 1;
                Self::from_bits((bits + below_half + last_kept) >> cut << cut)
            }
        }
    )*};
}

floats! {
    f16: 10;
    bf16: 7;
    f32: 23;
    f64: 52;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Round for $type {
            fn rounded(self, keepbits: u32) -> Self {
                let largest = if self > 0 { Self::MAX.abs_diff(0) } else { Self::MIN.abs_diff(0) };
                let magnitude = magnitude(self.abs_diff(0).into(), keepbits, largest.into());
                // The value is at most the magnitude of MIN or MAX, so the conversion to fewer bits is exact.
                #[allow(
                    clippy::cast_possible_truncation,
                    reason = "the magnitude is that of a number of this type; not every type has fewer bits"
                )]
                if self > 0 { magnitude as Self } else { (0 as Self).wrapping_sub(magnitude as Self) }
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Keeps the `keepbits` leading bits of `magnitude`. Rounds down if rounding up would exceed `largest`.
fn magnitude(magnitude: u64, keepbits: u32, largest: u64) -> u64 {
    let bits = u64::BITS - magnitude.leading_zeros();
    let Some(cut) = bits.checked_sub(keepbits).filter(|&cut| cut > 0) else { return magnitude };
    let down = magnitude >> cut << cut;
    let rest = magnitude - down;
    let half = 1 << (cut - 1);
    let is_up = rest > half || (rest == half && (down >> cut) & 1 == 1);
    let up = if is_up { down.checked_add(1 << cut) } else { Some(down) };
    up.filter(|&up| up <= largest).unwrap_or(down)
}
