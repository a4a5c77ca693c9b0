//! Floats of up to 16 bits: what their codes stand for.

use std::cmp::Ordering;

use zarr_spec::Number;

/// The parts of a float, from the highest bit down: sign, exponent, mantissa.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Float {
    /// Bits of the exponent.
    pub(crate) exponent: u16,
    /// Bits of the mantissa.
    pub(crate) mantissa: u16,
    /// What the exponent is stored with.
    pub(crate) bias: i16,
    /// Which codes are no finite numbers.
    pub(crate) special: Special,
}

/// Codes that are no finite numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// As in IEEE 754: with all bits of the exponent, infinity or NaN.
    Ieee,
    /// None: finite, no NaN (`fn`).
    Nothing,
    /// The code of -0, which is NaN and the only one (`fnuz`).
    NegativeZero,
    /// There is an exponent alone, no sign and no zero; all ones are NaN (`fnu`).
    ExponentAlone,
}

impl Float {
    /// Bytes of an element.
    pub(crate) const fn bytes(&self) -> usize {
        if self.bits() > 8 { 2 } else { 1 }
    }

    /// Bits that count.
    pub(crate) const fn bits(&self) -> u16 {
        self.sign_bits() + self.exponent + self.mantissa
    }

    /// All bits that count.
    pub(crate) const fn mask(&self) -> u16 {
        u16::MAX >> (16 - self.bits())
    }

    const fn sign_bits(&self) -> u16 {
        if matches!(self.special, Special::ExponentAlone) { 0 } else { 1 }
    }

    /// The sign bit; 0 where there is none.
    const fn sign(&self) -> u16 {
        self.mask() & !(self.mask() >> self.sign_bits())
    }

    /// All bits of the exponent.
    const fn exponent_mask(&self) -> u16 {
        self.mask() & !self.sign() & !self.mantissa_mask()
    }

    const fn mantissa_mask(&self) -> u16 {
        (1 << self.mantissa) - 1
    }

    /// What `"NaN"` stands for.
    pub(crate) const fn nan(&self) -> Option<u16> {
        match self.special {
            Special::Ieee => Some(self.exponent_mask() | (1 << (self.mantissa - 1))),
            Special::Nothing => None,
            Special::NegativeZero => Some(self.sign()),
            Special::ExponentAlone => Some(self.mask()),
        }
    }

    /// What `"Infinity"` stands for, or with a sign its negative.
    pub(crate) fn infinity(&self, is_negative: bool) -> Option<u16> {
        let sign = if is_negative { self.sign() } else { 0 };
        (self.special == Special::Ieee).then(|| self.exponent_mask() | sign)
    }

    /// The largest code of a finite number, without a sign.
    fn largest(&self) -> u16 {
        match self.special {
            Special::Ieee => self.exponent_mask() - 1,
            Special::Nothing | Special::NegativeZero => self.mask() & !self.sign(),
            Special::ExponentAlone => self.mask() - 1,
        }
    }

    /// The exponent of the numbers that are closest to zero.
    fn least_exponent(&self) -> i16 {
        if self.special == Special::ExponentAlone { -self.bias } else { 1 - self.bias }
    }

    /// The number that `code` stands for: exact, since every one of them is a double.
    pub(crate) fn value(&self, code: u16) -> f64 {
        let sign = code & self.sign();
        let magnitude = code & !self.sign();
        let exponent = magnitude >> self.mantissa;
        let mantissa = magnitude & self.mantissa_mask();
        let unsigned = match self.special {
            Special::ExponentAlone if code == self.mask() => f64::NAN,
            Special::ExponentAlone => power_of_two(exponent.cast_signed() - self.bias),
            Special::NegativeZero if code == self.sign() => f64::NAN,
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

    /// The nearest element, rounded once from the decimal text; ties to even. What is too large becomes infinite.
    ///
    /// # Errors
    ///
    /// A clause on the number: too large for a float without infinity; zero or negative, where no element is.
    pub(crate) fn nearest(&self, number: &Number) -> Result<u16, String> {
        let double = number.as_f64().ok_or_else(|| format!("{number} has too many digits"))?;
        if self.special == Special::ExponentAlone && double.is_sign_negative() {
            return Err(format!("{number} is negative, and no element is"));
        }
        let too_large = || {
            let infinity = self.infinity(double.is_sign_negative());
            infinity.ok_or_else(|| format!("{number} is beyond the largest, {}", self.value(self.largest())))
        };
        let magnitude = double.abs();
        if magnitude.is_infinite() {
            return too_large();
        }
        let exponent = exponent_of(magnitude).max(self.least_exponent());
        let quotient = magnitude / power_of_two(exponent - self.mantissa.cast_signed());
        // The double is as good as the text, unless it lies in the middle between two elements.
        let middle = quotient.fract() == 0.5;
        let side = if middle { number.compare_magnitude(magnitude) } else { Some(Ordering::Equal) };
        let rounded = match side.ok_or_else(|| format!("{number} has too many digits"))? {
            Ordering::Less => quotient.floor(),
            Ordering::Equal => quotient.round_ties_even(),
            Ordering::Greater => quotient.ceil(),
        };
        // A mantissa that became one bit longer carries into the exponent, which lies above it.
        let binade = i32::from(exponent - self.least_exponent()) << self.mantissa;
        let steps = binade + as_integer(rounded);
        let code = match self.special {
            Special::ExponentAlone if steps == 0 => {
                return Err(format!("{number} is nearer to 0 than to any element"));
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

/// 2 to a power between -1022 and 1023.
fn power_of_two(exponent: i16) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).cast_unsigned()) << 52)
}

/// The exponent of a double, and -1023 of what is too small to have one.
fn exponent_of(magnitude: f64) -> i16 {
    let [.., low, high] = magnitude.to_bits().to_le_bytes();
    (u16::from_le_bytes([low, high]) >> 4).cast_signed() - 1023
}

/// Of an integer below 2^12: no quotient is larger.
#[expect(clippy::cast_possible_truncation, reason = "it is an integer and small")]
fn as_integer(rounded: f64) -> i32 {
    rounded as i32
}
