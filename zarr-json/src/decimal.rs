//! Exact decimal numbers, for comparisons that floats would round.

use std::cmp::Ordering;

/// The magnitude of a finite number, `0.DIGITS` × 10^`exponent`. Zero has no digits and the smallest exponent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// The first and the last digit are not zero.
    digits: String,
    exponent: i128,
}

impl Decimal {
    /// Parses the text of a JSON number and ignores its sign. `None` if the exponent does not fit 64 bits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('-');
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{integer}{fraction}");
        let significant = all.trim_start_matches('0');
        let zeros = all.len() - significant.len();
        let place = i128::try_from(integer.len()).ok()? - i128::try_from(zeros).ok()?;
        let digits = significant.trim_end_matches('0').to_owned();
        let exponent = if digits.is_empty() { i128::MIN } else { i128::from(exponent) + place };
        Some(Self { digits, exponent })
    }

    /// Compares with the magnitude of a float that is not zero and is a multiple of 2^-140.
    pub(super) fn compare(&self, float: f64) -> Option<Ordering> {
        // A multiple of 2^-n has at most n decimal places.
        let other = Self::parse(&format!("{:.140}", float.abs()))?;
        Some(self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)))
    }

    /// Returns the value, if it is an integer below 2^127.
    pub(super) fn integer(&self) -> Option<i128> {
        let Self { digits, exponent } = self;
        if digits.is_empty() {
            return Some(0);
        }
        // 2^127 has 39 digits.
        let length =
            usize::try_from(*exponent).ok().filter(|&length| length <= 39 && digits.len() <= length)?;
        format!("{digits:0<length$}").parse().ok()
    }
}
