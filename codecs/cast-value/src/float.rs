//! Casts to floats.

use zarr_plugin_kit::Cast;
use zarr_plugin_kit::numbers::{bf16, f16};

use crate::rules::{Rounding, Rules, Scalar, Target};

/// The values that a float type can represent.
#[derive(Clone, Copy)]
struct Layout {
    /// Significant bits of a normal number.
    precision: i32,
    /// The smallest positive number is 2 to the power of this.
    smallest: i32,
    /// All finite numbers are smaller than 2 to the power of this.
    end: i32,
}

/// A finite number other than 0: `magnitude` times 2 to the power of `exponent`.
struct Parts {
    is_negative: bool,
    magnitude: u128,
    exponent: i32,
}

impl Parts {
    fn of(scalar: Scalar) -> Self {
        const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
        match scalar {
            Scalar::Whole(value) => {
                Self { is_negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 }
            }
            Scalar::Real(value) => {
                let bits = value.to_bits();
                let field = (bits >> MANTISSA) & 0x7ff;
                let mantissa = bits & ((1 << MANTISSA) - 1);
                let (magnitude, field) =
                    if field == 0 { (mantissa, 1) } else { (mantissa | 1 << MANTISSA, field) };
                // The exponent field has eleven bits.
                let exponent = i32::try_from(field).unwrap_or(0x7ff) - 1075;
                Self { is_negative: value.is_sign_negative(), magnitude: magnitude.into(), exponent }
            }
        }
    }

    /// Rounds to a number of `layout`; to infinity if the number is too large.
    fn rounded(&self, layout: Layout, rounding: Rounding) -> f64 {
        let unit = (bits(self.magnitude) + self.exponent - layout.precision).max(layout.smallest);
        let (kept, unit) = match u32::try_from(unit - self.exponent) {
            Ok(cut @ 1..) => (self.cut(cut, rounding), unit),
            _ => (self.magnitude, self.exponent),
        };
        let sign = if self.is_negative { -1.0 } else { 1.0 };
        if bits(kept) + unit > layout.end {
            return f64::INFINITY * sign;
        }
        kept as f64 * f64::from(unit).exp2() * sign
    }

    /// Removes the lowest `cut` bits of the magnitude and rounds.
    fn cut(&self, cut: u32, rounding: Rounding) -> u128 {
        // Magnitudes have fewer than 127 bits, so removing more bits makes no difference.
        let cut = cut.min(127);
        let kept = self.magnitude >> cut;
        let rest = self.magnitude - (kept << cut);
        let half = 1 << (cut - 1);
        let is_up = match rounding {
            Rounding::NearestEven => rest > half || (rest == half && kept & 1 == 1),
            Rounding::NearestAway => rest >= half,
            Rounding::TowardsZero => false,
            Rounding::TowardsPositive => rest > 0 && !self.is_negative,
            Rounding::TowardsNegative => rest > 0 && self.is_negative,
        };
        kept + u128::from(is_up)
    }
}

/// Returns the number of significant bits.
fn bits(value: u128) -> i32 {
    i32::try_from(u128::BITS - value.leading_zeros()).unwrap_or(128)
}

fn converted(scalar: Scalar, layout: Layout, rounding: Rounding, is_clamped: bool) -> Option<f64> {
    let value = match scalar {
        Scalar::Real(value) if value == 0.0 || !value.is_finite() => return Some(value),
        Scalar::Whole(0) => return Some(0.0),
        _ => Parts::of(scalar).rounded(layout, rounding),
    };
    (is_clamped || value.is_finite()).then_some(value)
}

macro_rules! floats {
    ($($type:ty: $precision:literal, $smallest:literal, $end:literal;)*) => {$(
        impl Target for $type {
            fn exactly(scalar: Scalar) -> Self {
                match scalar {
                    Scalar::Whole(value) => (value as f64).cast(),
                    Scalar::Real(value) => value.cast(),
                }
            }

            fn converted(scalar: Scalar, rules: &Rules) -> Option<Self> {
                let layout = Layout { precision: $precision, smallest: $smallest, end: $end };
                // The rounded value fits exactly, so the cast does not round again.
                let value = converted(scalar, layout, rules.rounding, rules.out_of_range.is_some())?;
                Some(value.cast())
            }
        }
    )*};
}

floats! {
    f16: 11, -24, 16;
    bf16: 8, -133, 128;
    f32: 24, -149, 128;
    f64: 53, -1074, 1024;
}
