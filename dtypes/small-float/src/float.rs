//! Floats of up to 16 bits, and their values.

use zarr_plugin_kit::decimals;
use zarr_spec::Number;

/// The layout of a float, from the highest bit down: sign, exponent, mantissa.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Float {
    /// Number of exponent bits.
    pub(crate) exponent: u16,
    /// Number of mantissa bits.
    pub(crate) mantissa: u16,
    /// The exponent bias.
    pub(crate) bias: i16,
    /// Which codes are not finite.
    pub(crate) special: Special,
}

/// Which codes are not finite numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// As in IEEE 754: infinity and NaN if all exponent bits are set.
    Ieee,
    /// All codes are finite (the suffix `fn` of types with less than a byte).
    Nothing,
    /// There is no infinity. If all bits but the sign are set, the code is NaN (the suffix `fn` of types with a byte).
    AllBits,
    /// Only the code of -0 is NaN (the suffix `fnuz`).
    NegativeZero,
    /// Only an exponent, without a sign and a zero. If all bits are set, it is NaN (`fnu`).
    ExponentAlone,
}

impl Float {
    /// Returns the size of an element in bytes.
    pub(crate) const fn bytes(&self) -> usize {
        if self.bits() > 8 { 2 } else { 1 }
    }

    /// Returns the number of significant bits.
    pub(crate) const fn bits(&self) -> u16 {
        self.sign_bits() + self.exponent + self.mantissa
    }

    /// Returns a mask of the significant bits.
    pub(crate) const fn mask(&self) -> u16 {
        u16::MAX >> (16 - self.bits())
    }

    const fn sign_bits(&self) -> u16 {
        if matches!(self.special, Special::ExponentAlone) { 0 } else { 1 }
    }

    /// Returns the sign bit; 0 for unsigned floats.
    const fn sign(&self) -> u16 {
        self.mask() & !(self.mask() >> self.sign_bits())
    }

    /// Returns a mask of the exponent bits.
    const fn exponent_mask(&self) -> u16 {
        self.mask() & !self.sign() & !self.mantissa_mask()
    }

    const fn mantissa_mask(&self) -> u16 {
        (1 << self.mantissa) - 1
    }

    /// Returns the code of `"NaN"`.
    pub(crate) const fn nan(&self) -> Option<u16> {
        match self.special {
            Special::Ieee => Some(self.exponent_mask() | (1 << (self.mantissa - 1))),
            Special::Nothing => None,
            Special::AllBits => Some(self.exponent_mask() | self.mantissa_mask()),
            Special::NegativeZero => Some(self.sign()),
            Special::ExponentAlone => Some(self.mask()),
        }
    }

    /// Returns the code of `"Infinity"` or `"-Infinity"`.
    pub(crate) fn infinity(&self, is_negative: bool) -> Option<u16> {
        let sign = if is_negative { self.sign() } else { 0 };
        (self.special == Special::Ieee).then(|| self.exponent_mask() | sign)
    }

    /// Returns the largest code of a finite number, without sign.
    fn largest(&self) -> u16 {
        match self.special {
            Special::Ieee => self.exponent_mask() - 1,
            Special::Nothing | Special::NegativeZero => self.mask() & !self.sign(),
            Special::AllBits => (self.mask() & !self.sign()) - 1,
            Special::ExponentAlone => self.mask() - 1,
        }
    }

    /// Returns the exponent of the numbers closest to zero.
    fn least_exponent(&self) -> i16 {
        if self.special == Special::ExponentAlone { -self.bias } else { 1 - self.bias }
    }

    /// Returns the value of `code`. It is exact, since a double can represent all values.
    pub(crate) fn value(&self, code: u16) -> f64 {
        let sign = code & self.sign();
        let magnitude = code & !self.sign();
        let exponent = magnitude >> self.mantissa;
        let mantissa = magnitude & self.mantissa_mask();
        let unsigned = match self.special {
            Special::ExponentAlone if code == self.mask() => f64::NAN,
            Special::ExponentAlone => power_of_two(exponent.cast_signed() - self.bias),
            Special::NegativeZero if code == self.sign() => f64::NAN,
            Special::AllBits if Some(magnitude) == self.nan() => f64::NAN,
            Special::Ieee if magnitude == self.exponent_mask() => f64::INFINITY,
            Special::Ieee if magnitude > self.exponent_mask() => f64::NAN,
            _ => {
                let (leading, exponent) = if exponent == 0 { (0, 1) } else { (1 << self.mantissa, exponent) };
                let quantum = power_of_two(exponent.cast_signed() - self.bias - self.mantissa.cast_signed());
                f64::from(leading | mantissa) * quantum
            }
        };
        if sign == 0 { unsigned } else { -unsigned }
    }

    /// Returns the nearest element, rounded once from the decimal text; ties to even. A number that is too
    /// large becomes infinite.
    ///
    /// # Errors
    ///
    /// A description of the problem: the number is too large for a float without infinity, or it is zero or
    /// negative and the type does not have such numbers.
    pub(crate) fn nearest(&self, number: &Number) -> Result<u16, String> {
        let double = number.as_f64().ok_or_else(|| format!("{number} has too many digits"))?;
        if self.special == Special::ExponentAlone && double.is_sign_negative() {
            return Err(format!("{number} is negative, but the type is unsigned"));
        }
        let too_large = || {
            let infinity = self.infinity(double.is_sign_negative());
            infinity.ok_or_else(|| {
                format!("{number} is larger than the largest element, {}", self.value(self.largest()))
            })
        };
        let magnitude = double.abs();
        if magnitude.is_infinite() {
            return too_large();
        }
        let exponent = exponent_of(magnitude).max(self.least_exponent());
        let quantum = power_of_two(exponent - self.mantissa.cast_signed());
        let rounded = decimals::quotient(number, magnitude, quantum)
            .ok_or_else(|| format!("{number} has too many digits"))?;
        // A mantissa that becomes one bit longer increments the exponent, which is in the higher bits.
        let binade = i32::from(exponent - self.least_exponent()) << self.mantissa;
        let steps = binade + as_integer(rounded);
        let code = match self.special {
            Special::ExponentAlone if steps == 0 => {
                return Err(format!("{number} is closer to 0 than to any element"));
            }
            Special::ExponentAlone => steps - 1,
            _ => steps,
        };
        match u16::try_from(code) {
            Ok(0) if self.special == Special::NegativeZero => Ok(0),
            Ok(code) if code <= self.largest() => {
                Ok(if double.is_sign_negative() { code | self.sign() } else { code })
            }
            _ => too_large(),
        }
    }
}

/// Returns 2 to the power of `exponent`, from -1022 to 1023.
fn power_of_two(exponent: i16) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).cast_unsigned()) << 52)
}

/// Returns the exponent of a double; -1023 for subnormal numbers.
fn exponent_of(magnitude: f64) -> i16 {
    let [.., low, high] = magnitude.to_bits().to_le_bytes();
    (u16::from_le_bytes([low, high]) >> 4).cast_signed() - 1023
}

/// Converts an integer below 2^12, the upper bound of all quotients.
#[expect(clippy::cast_possible_truncation, reason = "the value is a small integer")]
fn as_integer(rounded: f64) -> i32 {
    rounded as i32
}
