//! The statistics from which errors of predictions are decoded.

use crate::parameters::Parameters;

/// The statistics of samples with similar neighbours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    /// The sum of the absolute errors.
    errors: i32,
    /// The sum of the errors.
    bias: i32,
    /// The parameter of the Golomb code of the next error. It is computed in advance: the next sample of this context
    /// waits for it, and the samples in between usually do not.
    pub(crate) code_bits: u32,
    pub(crate) correction: i8,
    count: i16,
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
        Self { errors, bias: 0, code_bits: code_bits(errors, 1), correction: 0, count: 1 }
    }

    /// Returns the error that is stored as `mapped`: even numbers are errors from 0, and odd numbers negative errors.
    /// If most errors are negative, the numbers of lossless samples are reversed.
    #[inline]
    pub(crate) fn error<const USUAL: bool>(&self, mapped: i32, parameters: &Parameters) -> i32 {
        let is_lossless = USUAL || parameters.near == 0;
        let is_reversed = is_lossless && self.code_bits == 0 && 2 * self.bias <= -i32::from(self.count);
        (mapped >> 1) ^ -(mapped & 1) ^ -i32::from(is_reversed)
    }

    /// Adds an error. Whether the correction changes is hard to predict, so the processor calculates both cases.
    #[inline]
    pub(crate) fn update<const USUAL: bool>(&mut self, error: i32, parameters: &Parameters) {
        self.bias += if USUAL { error } else { error * (2 * parameters.near + 1) };
        self.errors += error.abs();
        if i32::from(self.count) == parameters.reset {
            self.halve();
        }
        self.count += 1;
        let count = i32::from(self.count);
        let change = i8::from(self.bias > 0) - i8::from(self.bias <= -count);
        self.correction = self.correction.saturating_add(change);
        self.bias = (self.bias - i32::from(change) * count).min(0).max(1 - count);
        self.code_bits = code_bits(self.errors, count);
    }

    #[cold]
    #[inline(never)]
    fn halve(&mut self) {
        self.errors /= 2;
        // The shift rounds down, also if the bias is negative.
        self.bias >>= 1;
        self.count /= 2;
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
