//! Numbers as text.

use std::cmp::Ordering;
use std::fmt;

use super::decimal::Decimal;
use super::text::Text;

/// So many digits are always below 2^64.
const MAX_U64_DIGITS: usize = 19;

/// A JSON number kept as its text: 2^64 - 1, `-0.0` and `1e400` survive.
///
/// The text is what RFC 8259 calls a number. Only [`parse`](super::parse()) with
/// [`bare_non_finite`](super::ParseOptions::bare_non_finite) also makes the three tokens `NaN`, `Infinity`
/// and `-Infinity`, which are never written. Equality is equality of the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Text);

impl Number {
    /// The number that `text` is, if all of it is one JSON number.
    ///
    /// `NaN` and the infinities are none.
    pub fn parse(text: &str) -> Option<Self> {
        (scan(text.as_bytes()) == Ok(text.len())).then(|| Self(text.into()))
    }

    /// The shortest text that gives `value` again: `1.0`, `-0.0`, `0.1`, `1e300`. `None` for NaN and
    /// infinities.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self(format!("{value:?}").as_str().into()))
    }

    /// The shortest text that gives `value` again when it is read as an `f32`. `None` for NaN and
    /// infinities.
    pub fn from_f32(value: f32) -> Option<Self> {
        value.is_finite().then(|| Self(format!("{value:?}").as_str().into()))
    }

    /// The number that `text` is, bare tokens included.
    pub(super) fn from_token(text: &str) -> Option<Self> {
        if BARE_TOKENS.contains(&text) { Some(Self(text.into())) } else { Self::parse(text) }
    }

    /// Text that [`scan`] accepted, or one of [`BARE_TOKENS`].
    pub(super) fn from_checked(text: &str) -> Self {
        Self(text.into())
    }

    /// The size of the allocation.
    pub(super) fn heap_size(&self) -> usize {
        self.0.heap_size()
    }

    /// The text, as it stood in the document.
    #[inline]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }

    /// Whether the text has neither a fraction nor an exponent. So `1` is an integer, `1.0` and `1e3` are
    /// not.
    #[inline]
    pub fn is_integer(&self) -> bool {
        self.0.as_bytes().iter().all(|byte| *byte == b'-' || byte.is_ascii_digit())
    }

    /// Whether this is a number of JSON: true for all but the bare `NaN`, `Infinity` and `-Infinity`.
    pub fn is_finite_token(&self) -> bool {
        // Every other number ends in a digit.
        self.0.as_bytes().last().is_some_and(u8::is_ascii_digit)
    }

    /// The value, if the text is an integer that fits. `-0` is 0.
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        let digits = self.0.as_bytes();
        if digits.len() > MAX_U64_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
            return if digits == b"-0" { Some(0) } else { self.text().parse().ok() };
        }
        Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
    }

    /// The value, if the text is an integer that fits. `-0` is 0.
    pub fn as_i64(&self) -> Option<i64> {
        self.text().parse().ok()
    }

    /// The value, if the text is an integer that fits. `-0` is 0.
    pub fn as_i128(&self) -> Option<i128> {
        self.text().parse().ok()
    }

    /// The value, if the text is an integer that fits.
    pub(super) fn as_u128(&self) -> Option<u128> {
        self.text().parse().ok()
    }

    /// The nearest `f64`, correctly rounded from the text: infinite beyond its range, and what a bare token
    /// says.
    pub fn as_f64(&self) -> Option<f64> {
        self.text().parse().ok()
    }

    /// The nearest `f32`, correctly rounded from the text (not by way of `f64`).
    pub fn as_f32(&self) -> Option<f32> {
        self.text().parse().ok()
    }

    /// The integer that the text stands for in any notation, `1.0` and `1e3` too, if it is between -2^127 and 2^127.
    pub fn to_integer(&self) -> Option<i128> {
        let magnitude = Decimal::parse(self.text())?.integer()?;
        Some(if self.text().starts_with('-') { -magnitude } else { magnitude })
    }

    /// Whether the number is less than, equal to or greater than `float`, both without their signs and without rounding:
    /// for whoever rounds to a type that is narrower than [`Number::as_f64`] and meets the middle between two values.
    ///
    /// `float` is not zero and a multiple of 2^-140. `None` for an exponent that does not fit 64 bits.
    pub fn compare_magnitude(&self, float: f64) -> Option<Ordering> {
        Decimal::parse(self.text())?.compare(float)
    }
}

/// The text, bare tokens included.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The conversions of integers, which are their decimal text.
macro_rules! from_integer {
    ($($type:ty),*) => {$(
        impl From<$type> for Number {
            fn from(integer: $type) -> Self {
                Self(integer.to_string().as_str().into())
            }
        }
    )*};
}
from_integer!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// What some Python programs write for values that JSON has no number for.
pub(super) const BARE_TOKENS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Why bytes do not start with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberFault {
    /// The integer part has a zero in front.
    LeadingZero,
    /// Something else stands where a digit must be, at this offset.
    NoDigit(usize),
}

/// The bytes of the number at the start of `bytes`.
pub(super) fn scan(bytes: &[u8]) -> Result<usize, NumberFault> {
    let integer = usize::from(bytes.first() == Some(&b'-'));
    let mut end = digits(bytes, integer)?;
    if bytes[integer] == b'0' && end > integer + 1 {
        return Err(NumberFault::LeadingZero);
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits(bytes, end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = digits(bytes, end + 1 + sign)?;
    }
    Ok(end)
}

/// The end of the digits at `start`, of which there must be one.
fn digits(bytes: &[u8], start: usize) -> Result<usize, NumberFault> {
    let count = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { Err(NumberFault::NoDigit(start)) } else { Ok(start + count) }
}
