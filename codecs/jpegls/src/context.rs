//! The statistics from which errors of predictions are decoded.

use crate::parameters::Parameters;

/// Maximum of the correction of a prediction.
const MAX_CORRECTION: i32 = 127;

/// The statistics of samples with similar neighbours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    /// The sum of the absolute errors.
    errors: i32,
    /// The sum of the errors.
    bias: i32,
    pub(crate) correction: i32,
    count: i32,
}

/// The statistics of samples that end runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunContext {
    pub(crate) errors: i32,
    pub(crate) negative: i32,
    pub(crate) count: i32,
}

impl Context {
    pub(crate) fn new(errors: i32) -> Self {
        Self { errors, bias: 0, correction: 0, count: 1 }
    }

    /// Returns the parameter of the Golomb code of the next error.
    #[inline]
    pub(crate) fn code_bits(&self) -> u32 {
        code_bits(self.errors, self.count)
    }

    /// Returns the error that is stored as `mapped`: even numbers are errors from 0, and odd numbers negative errors.
    /// If most errors are negative, the numbers of lossless samples are reversed.
    #[inline]
    pub(crate) fn error<const LOSSLESS: bool>(&self, mapped: i32, bits: u32) -> i32 {
        let is_reversed = LOSSLESS && bits == 0 && 2 * self.bias <= -self.count;
        (mapped >> 1) ^ -(mapped & 1) ^ -i32::from(is_reversed)
    }

    /// Adds an error. Whether the correction changes is hard to predict, so the processor calculates both cases.
    #[inline]
    pub(crate) fn update<const LOSSLESS: bool>(&mut self, error: i32, parameters: &Parameters) {
        self.bias += if LOSSLESS { error } else { error * (2 * parameters.near + 1) };
        self.errors += error.abs();
        if self.count == parameters.reset {
            self.errors /= 2;
            // The shift rounds down, also if the bias is negative.
            self.bias >>= 1;
            self.count /= 2;
        }
        self.count += 1;
        let change = i32::from(self.bias > 0) - i32::from(self.bias <= -self.count);
        self.correction = (self.correction + change).clamp(-MAX_CORRECTION - 1, MAX_CORRECTION);
        self.bias = (self.bias - change * self.count).min(0).max(1 - self.count);
    }
}

impl RunContext {
    pub(crate) fn new(errors: i32) -> Self {
        Self { errors, negative: 0, count: 1 }
    }
}

/// Returns the parameter of the Golomb code for `count` errors, whose absolute values have the sum `errors`: the
/// smallest number of bits by which `count` must be shifted so that it is not less than the sum.
#[inline]
pub(crate) fn code_bits(errors: i32, count: i32) -> u32 {
    let bits = count.leading_zeros().saturating_sub(errors.leading_zeros());
    bits + u32::from(count << bits < errors)
}
