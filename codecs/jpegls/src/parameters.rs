//! The parameters of the code, and the values that follow from them.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// Maximum of the error bound.
const MAX_NEAR: i32 = 255;

/// The number of samples after which statistics are halved: the default and the maximum.
const RESET: i32 = 64;
const MAX_RESET: i32 = 255;

/// The parameters of a preset segment; 0 means the default.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Preset {
    pub(crate) largest: i32,
    pub(crate) thresholds: [i32; 3],
    pub(crate) reset: i32,
}

/// The parameters of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters {
    /// The largest sample.
    pub(crate) largest: i32,
    /// The largest error of a sample.
    pub(crate) near: i32,
    pub(crate) thresholds: [i32; 3],
    pub(crate) reset: i32,
    /// The number of different errors.
    pub(crate) range: i32,
    /// The number of bits of an error.
    pub(crate) error_bits: u32,
    /// The largest number of bits of a code.
    pub(crate) limit: u32,
}

impl Parameters {
    /// Returns the parameters of a scan of samples of `precision` bits, from 2 to 16.
    pub(crate) fn new(precision: u32, near: i32, preset: Preset) -> CodecResult<Self> {
        let wrong = |name: &str, value: i32| {
            CodecError::corrupt(format!("the parameter {name} is {value}, which is out of range"))
        };
        let all_bits = (1 << precision) - 1;
        let largest = if preset.largest == 0 { all_bits } else { preset.largest };
        if !(1..=all_bits).contains(&largest) {
            return Err(wrong("MAXVAL", largest));
        }
        if !(0..=MAX_NEAR.min(largest / 2)).contains(&near) {
            return Err(wrong("NEAR", near));
        }
        let reset = if preset.reset == 0 { RESET } else { preset.reset };
        if !(3..=MAX_RESET).contains(&reset) {
            return Err(wrong("RESET", reset));
        }
        let mut thresholds = defaults(largest, near);
        let mut smallest = near + 1;
        for (threshold, given) in thresholds.iter_mut().zip(preset.thresholds) {
            if given != 0 {
                *threshold = given;
            }
            if !(smallest..=largest).contains(threshold) {
                return Err(wrong("of a threshold", *threshold));
            }
            smallest = *threshold;
        }
        let range = (largest + 2 * near) / (2 * near + 1) + 1;
        let sample_bits = bits(largest + 1).max(2);
        let limit = 2 * (sample_bits + sample_bits.max(8));
        Ok(Self { largest, near, thresholds, reset, range, error_bits: bits(range), limit })
    }

    /// Returns whether the samples are exact and have all values of some number of bits, as in most images. Sums modulo
    /// the number of errors are simple then.
    pub(crate) fn is_usual(&self) -> bool {
        self.near == 0 && (self.largest + 1).count_ones() == 1
    }

    pub(crate) fn has_default_thresholds(&self) -> bool {
        self.thresholds == defaults(self.largest, self.near)
    }
}

/// Returns the number of bits that represent `count` different values.
fn bits(count: i32) -> u32 {
    count.unsigned_abs().next_power_of_two().ilog2()
}

/// Returns the default thresholds of the standard.
fn defaults(largest: i32, near: i32) -> [i32; 3] {
    let within =
        |value: i32, smallest: i32| if (smallest..=largest).contains(&value) { value } else { smallest };
    let basic = |basic: i32, near_factor: i32| {
        if largest >= 128 {
            let factor = (largest.min(4095) + 128) / 256;
            factor * (basic - near_factor / 2 - 1) + near_factor / 2 + 1 + near_factor * near
        } else {
            let factor = 256 / (largest + 1);
            (near_factor / 2 + 1).max(basic / factor + near_factor * near)
        }
    };
    let first = within(basic(3, 3), near + 1);
    let second = within(basic(7, 5), first);
    [first, second, within(basic(21, 7), second)]
}
