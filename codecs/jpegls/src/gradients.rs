//! The numbers of gradients: differences of neighbours in some classes of size.

use std::sync::{Arc, OnceLock};

use crate::parameters::Parameters;

/// The tables of usual images, by the number of bits of a sample. Making a table takes as long as decoding thousands of
/// samples, so images share them.
static USUAL: [OnceLock<Arc<[i8]>>; 17] = [const { OnceLock::new() }; 17];

/// The numbers of all gradients, in a table.
#[derive(Debug)]
pub(crate) struct Gradients {
    /// The largest sample.
    largest: i32,
    /// Begins with the number of the most negative gradient.
    numbers: Arc<[i8]>,
}

impl Gradients {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let largest = parameters.largest;
        let all = || {
            let numbers = (-largest..=largest).map(|gradient| number(gradient, parameters));
            numbers.map(|number| i8::try_from(number).unwrap_or_default()).collect()
        };
        let shared = if parameters.is_usual() && parameters.has_default_thresholds() {
            USUAL.get(parameters.error_bits as usize)
        } else {
            None
        };
        let numbers = shared.map_or_else(all, |table| table.get_or_init(all).clone());
        Self { largest, numbers }
    }

    /// Returns the number of the gradient from a sample to another one.
    #[inline]
    pub(crate) fn between(&self, from: i32, to: i32) -> i32 {
        self.numbers[(to - from + self.largest).cast_unsigned() as usize].into()
    }
}

/// Returns the number of a gradient, from -4 to 4.
#[inline]
pub(crate) fn number(gradient: i32, parameters: &Parameters) -> i32 {
    let [first, second, third] = parameters.thresholds;
    let smallest = parameters.near + 1;
    let size = gradient.abs();
    let number = i32::from(size >= smallest)
        + i32::from(size >= first)
        + i32::from(size >= second)
        + i32::from(size >= third);
    let sign = gradient >> 31;
    (number ^ sign) - sign
}
