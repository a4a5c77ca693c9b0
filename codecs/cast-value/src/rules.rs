//! What becomes of one number.

use std::fmt;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{AnyNumber, Element, Operand as _, bf16, f16};
use zarr_plugin_kit::with_any_number;

/// How a number is rounded that the other type cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the nearest one; of two, the one whose last bit is 0.
    #[default]
    NearestEven,
    /// To the nearest one on the side of zero.
    TowardsZero,
    /// To the next larger one.
    TowardsPositive,
    /// To the next smaller one.
    TowardsNegative,
    /// To the nearest one; of two, the one that is farther from zero.
    NearestAway,
}

/// What becomes of a number past the largest or smallest one of the other type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutOfRange {
    /// The largest or smallest integer, or an infinity.
    Clamp,
    /// An integer modulo 2 to the number of its bits.
    Wrap,
}

/// The rules of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: Option<OutOfRange>,
    pub(crate) map: Vec<(Scalar, Scalar)>,
    /// Bits of the other type that count.
    pub(crate) bits: u32,
    /// Its name.
    pub(crate) name: String,
}

/// The value of an integer or float, exactly.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scalar {
    Whole(i128),
    Real(f64),
}

impl Scalar {
    /// The element that all of `bytes` is.
    pub(crate) fn of(number: AnyNumber, bytes: &[u8]) -> Option<Self> {
        if bytes.len() != number.size() {
            return None;
        }
        Some(with_any_number!(number, T => {
            integer: T::read(bytes).into(),
            float: T::read(bytes).into(),
            other: return None,
        }))
    }

    /// Whether it has the same value as another one of its type. NaN is NaN.
    pub(crate) fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one == other,
            (Self::Real(one), Self::Real(other)) => one == other || (one.is_nan() && other.is_nan()),
            _ => false,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => write!(f, "{value}"),
            Self::Real(value) => write!(f, "{value:?}"),
        }
    }
}

macro_rules! scalars {
    ($($type:ty)*: |$value:ident| $scalar:expr) => {$(
        impl From<$type> for Scalar {
            fn from($value: $type) -> Self {
                $scalar
            }
        }
    )*};
}

scalars!(i8 i16 i32 i64 u8 u16 u32 u64: |value| Self::Whole(value.into()));
scalars!(f16 bf16 f32: |value| Self::Real(value.into()));
scalars!(f64: |value| Self::Real(value));

/// What numbers are cast to.
pub(crate) trait Target: Element {
    /// One that is known to be of this type.
    fn exactly(scalar: Scalar) -> Self;

    /// By the second and third rule; `None` if neither applies.
    fn converted(scalar: Scalar, rules: &Rules) -> Option<Self>;

    /// By the first rule that applies.
    fn cast(scalar: Scalar, rules: &Rules) -> Result<Self, String> {
        if let Some((_, value)) = rules.map.iter().find(|(key, _)| key.is(scalar)) {
            return Ok(Self::exactly(*value));
        }
        Self::converted(scalar, rules).ok_or_else(|| format!("{scalar} is no {}", rules.name))
    }
}
