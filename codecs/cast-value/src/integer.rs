//! Casts to integers.

use crate::rules::{OutOfRange, Rounding, Rules, Scalar, Target};

/// Rounds to an integral float.
fn rounded(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::TowardsZero => value.trunc(),
        Rounding::TowardsPositive => value.ceil(),
        Rounding::TowardsNegative => value.floor(),
        Rounding::NearestAway => value.round(),
    }
}

/// Returns an integer that is congruent to the rounded value modulo 2^64, and that lies in the range of a type if
/// and only if the rounded value does. Returns `None` for NaN and infinities.
fn whole(scalar: Scalar, rounding: Rounding) -> Option<i128> {
    /// Far outside the range of all types, and far below an overflow.
    const LARGE: f64 = (1u128 << 100) as f64;
    const PERIOD: f64 = (1u128 << 64) as f64;
    match scalar {
        Scalar::Whole(value) => Some(value),
        Scalar::Real(value) if !value.is_finite() => None,
        Scalar::Real(value) => {
            let value = rounded(value, rounding);
            // The remainder of floats is exact.
            let near = if value.abs() < LARGE { value } else { value % PERIOD + LARGE.copysign(value) };
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the value is an integer of at most 101 bits"
            )]
            Some(near as i128)
        }
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "integers wrap around or are known to fit, and some types are signed"
        )]
        impl Target for $type {
            fn exactly(scalar: Scalar) -> Self {
                match scalar {
                    Scalar::Whole(value) => value as Self,
                    Scalar::Real(value) => value as Self,
                }
            }

            fn converted(scalar: Scalar, rules: &Rules) -> Option<Self> {
                let whole = whole(scalar, rules.rounding)?;
                let unused = Self::BITS - rules.bits;
                let (least, most) = (Self::MIN >> unused, Self::MAX >> unused);
                let exact = Self::try_from(whole).ok().filter(|whole| (least..=most).contains(whole));
                exact.or_else(|| match rules.out_of_range? {
                    OutOfRange::Clamp => Some(if whole < 0 { least } else { most }),
                    OutOfRange::Wrap => Some((whole as Self) << unused >> unused),
                })
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);
