//! The rules for casting one number.

use std::fmt;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{AnyNumber, Element, Operand as _, bf16, f16};
use zarr_plugin_kit::with_any_number;
use zarr_spec::Value;

/// How a number is rounded if the target type cannot represent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rounding {
    /// To the nearest value; ties to the value whose last bit is 0.
    #[default]
    NearestEven,
    /// To the nearest value that is not farther from zero.
    TowardsZero,
    /// To the next larger value.
    TowardsPositive,
    /// To the next smaller value.
    TowardsNegative,
    /// To the nearest value; ties away from zero.
    NearestAway,
}

impl Rounding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NearestEven => "nearest-even",
            Self::TowardsZero => "towards-zero",
            Self::TowardsPositive => "towards-positive",
            Self::TowardsNegative => "towards-negative",
            Self::NearestAway => "nearest-away",
        }
    }
}

/// How a number that exceeds the range of the target type is cast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutOfRange {
    /// Use the smallest or largest integer, or an infinity.
    Clamp,
    /// Keep only the lowest bits of an integer: the result is the number modulo `2^bits`.
    Wrap,
}

impl OutOfRange {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clamp => "clamp",
            Self::Wrap => "wrap",
        }
    }
}

/// The rules of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: Option<OutOfRange>,
    pub(crate) map: Vec<(Scalar, Scalar)>,
    /// The number of significant bits of the target type.
    pub(crate) bits: u32,
    /// The name of the target type.
    pub(crate) name: String,
}

impl Rules {
    /// Returns the JSON form of the pairs of the map.
    pub(crate) fn map_json(&self) -> Value {
        self.map.iter().map(|pair| [pair.0, pair.1].into_iter().collect::<Value>()).collect()
    }
}

/// The exact value of an integer or float.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scalar {
    Whole(i128),
    Real(f64),
}

impl Scalar {
    /// Reads the element in `bytes`, which must have its size.
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

    /// Returns whether the values are equal. NaN equals NaN.
    pub(crate) fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one == other,
            (Self::Real(one), Self::Real(other)) => one == other || (one.is_nan() && other.is_nan()),
            _ => false,
        }
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Whole(value) => value.into(),
            Scalar::Real(value) => value.into(),
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

/// A target type of casts.
pub(crate) trait Target: Element {
    /// Converts a value that is known to be of this type.
    fn exactly(scalar: Scalar) -> Self;

    /// Applies the second and third rule; `None` if neither matches.
    fn converted(scalar: Scalar, rules: &Rules) -> Option<Self>;

    /// Applies the first rule that matches.
    fn cast(scalar: Scalar, rules: &Rules) -> Result<Self, String> {
        if let Some((_, value)) = rules.map.iter().find(|(key, _)| key.is(scalar)) {
            return Ok(Self::exactly(*value));
        }
        Self::converted(scalar, rules)
            .ok_or_else(|| format!("{scalar} cannot be represented as {}", rules.name))
    }
}
