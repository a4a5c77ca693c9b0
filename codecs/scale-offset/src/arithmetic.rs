//! Arithmetic that must not leave the data type.

use std::fmt::Display;
use std::ops::RangeInclusive;

use zarr_plugin_kit::numbers::{bf16, f16};

/// A number that can be shifted and scaled. `None` means that the type, or an integer of `bits` bits, cannot
/// represent a result.
pub(crate) trait Arithmetic: Copy + Display {
    /// Returns `(self - offset) * scale`.
    fn scaled(self, offset: Self, scale: Self, bits: u32) -> Option<Self>;

    /// Returns `self / scale + offset`.
    fn unscaled(self, offset: Self, scale: Self, bits: u32) -> Option<Self>;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Arithmetic for $type {
            fn scaled(self, offset: Self, scale: Self, bits: u32) -> Option<Self> {
                let range = range(Self::MIN..=Self::MAX, Self::BITS - bits);
                let shifted = self.checked_sub(offset).filter(|shifted| range.contains(shifted))?;
                shifted.checked_mul(scale).filter(|scaled| range.contains(scaled))
            }

            fn unscaled(self, offset: Self, scale: Self, bits: u32) -> Option<Self> {
                let range = range(Self::MIN..=Self::MAX, Self::BITS - bits);
                let quotient = self.checked_div(scale).filter(|quotient| range.contains(quotient))?;
                let is_whole = self.checked_rem(scale) == Some(0);
                quotient.checked_add(offset).filter(|unscaled| is_whole && range.contains(unscaled))
            }
        }
    )*};
}

/// Returns the range of integers with `unused` bits less than the type of `all`.
fn range<T: Copy + std::ops::Shr<u32, Output = T>>(all: RangeInclusive<T>, unused: u32) -> RangeInclusive<T> {
    (*all.start() >> unused)..=(*all.end() >> unused)
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Arithmetic for $type {
            fn scaled(self, offset: Self, scale: Self, _bits: u32) -> Option<Self> {
                let scaled = (self - offset) * scale;
                (scaled.is_finite() || !self.is_finite()).then_some(scaled)
            }

            fn unscaled(self, offset: Self, scale: Self, _bits: u32) -> Option<Self> {
                let unscaled = self / scale + offset;
                (unscaled.is_finite() || !self.is_finite()).then_some(unscaled)
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);
floats!(f16 bf16 f32 f64);
