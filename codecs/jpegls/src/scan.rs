//! Decoding the lines of a scan.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::bits::Bits;
use crate::parameters::Parameters;

/// Maximum number of components whose samples alternate.
pub(crate) const MAX_TOGETHER: usize = 4;

/// The number of contexts. Contexts that differ only in the sign of their gradients count as one.
const CONTEXTS: usize = 365;

/// The number of bits that encode the length of a run, for each run index.
const RUN_BITS: [u32; 32] =
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Maximum of the correction of a prediction.
const MAX_CORRECTION: i32 = 127;

/// A line of a component and the line above it. The first and the last sample of each line are outside of the image.
#[derive(Debug)]
pub(crate) struct Lines {
    above: Vec<i32>,
    current: Vec<i32>,
    run: usize,
}

impl Lines {
    /// Creates the lines before the first line of the image. Their samples are 0.
    pub(crate) fn new(width: usize) -> Self {
        Self { above: vec![0; width + 2], current: vec![0; width + 2], run: 0 }
    }

    /// Returns the samples of the line.
    pub(crate) fn samples(&self) -> &[i32] {
        &self.current[1..self.current.len() - 1]
    }

    fn start_line(&mut self) {
        std::mem::swap(&mut self.above, &mut self.current);
        let width = self.above.len() - 2;
        self.above[width + 1] = self.above[width];
        self.current[0] = self.above[1];
    }

    /// Returns the samples left of a position, above it, above left and above right.
    fn around(&self, at: usize) -> Around {
        Around {
            left: self.current[at - 1],
            above: self.above[at],
            left_above: self.above[at - 1],
            right_above: self.above[at + 1],
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Around {
    left: i32,
    above: i32,
    left_above: i32,
    right_above: i32,
}

impl Around {
    /// Returns the prediction: the median of the neighbours and of the plane through them.
    fn median(self) -> i32 {
        let smaller = self.left.min(self.above);
        let larger = self.left.max(self.above);
        if self.left_above >= larger {
            smaller
        } else if self.left_above <= smaller {
            larger
        } else {
            self.left + self.above - self.left_above
        }
    }
}

/// The statistics of samples with similar neighbours.
#[derive(Debug, Clone, Copy)]
struct Context {
    /// The sum of the absolute errors.
    errors: i32,
    /// The sum of the errors.
    bias: i32,
    correction: i32,
    count: i32,
}

/// The statistics of samples that end runs.
#[derive(Debug, Clone, Copy)]
struct RunContext {
    errors: i32,
    negative: i32,
    count: i32,
}

/// A scan: lines of one component, or of several whose lines or samples alternate.
#[derive(Debug)]
pub(crate) struct Scan<'s> {
    parameters: Parameters,
    bits: Bits<'s>,
    contexts: Vec<Context>,
    /// The statistics of runs that end between different neighbours, and of runs that end between equal neighbours.
    run_contexts: [RunContext; 2],
}

impl<'s> Scan<'s> {
    pub(crate) fn new(parameters: Parameters, stream: &'s [u8]) -> Self {
        let errors = ((parameters.range + 32) / 64).max(2);
        Self {
            parameters,
            bits: Bits::new(stream),
            contexts: vec![Context { errors, bias: 0, correction: 0, count: 1 }; CONTEXTS],
            run_contexts: [RunContext { errors, negative: 0, count: 1 }; 2],
        }
    }

    /// Decodes the next line of components whose samples alternate, or of a single component.
    pub(crate) fn line(&mut self, components: &mut [Lines]) -> CodecResult {
        let width = components.first().map_or(0, |lines| lines.samples().len());
        components.iter_mut().for_each(Lines::start_line);
        let mut at = 1;
        while at <= width {
            let mut similar = [(0, Around::default()); MAX_TOGETHER];
            for (similar, lines) in similar.iter_mut().zip(&*components) {
                let around = lines.around(at);
                *similar = (self.context(around), around);
            }
            if similar.iter().all(|(context, _)| *context == 0) {
                at = self.run(components, at, width)?;
                continue;
            }
            for (lines, (context, around)) in components.iter_mut().zip(similar) {
                lines.current[at] = self.sample(context, around)?;
            }
            at += 1;
        }
        Ok(())
    }

    /// Returns the context of a sample. Its sign is the sign of the first gradient that is not flat; the context is 0
    /// if all gradients are flat.
    fn context(&self, around: Around) -> i32 {
        let Around { left, above, left_above, right_above } = around;
        let gradients = [right_above - above, above - left_above, left_above - left];
        gradients.into_iter().fold(0, |context, gradient| 9 * context + self.quantized(gradient))
    }

    fn quantized(&self, gradient: i32) -> i32 {
        let size = gradient.abs();
        if size <= self.parameters.near {
            return 0;
        }
        let above = self.parameters.thresholds.iter().filter(|&&threshold| size >= threshold).count();
        gradient.signum() * [1, 2, 3, 4][above.min(3)]
    }

    /// Decodes a sample that is not part of a run.
    fn sample(&mut self, context: i32, around: Around) -> CodecResult<i32> {
        let sign = if context < 0 { -1 } else { 1 };
        let place = usize::try_from(context.abs()).unwrap_or_default().min(CONTEXTS - 1);
        let Context { errors, bias, correction, count } = self.contexts[place];
        let prediction = (around.median() + sign * correction).clamp(0, self.parameters.largest);
        let bits = code_bits(errors, count);
        let mapped = self.code(bits, self.parameters.limit)?;
        let error = match mapped {
            _ if self.parameters.near == 0 && bits == 0 && 2 * bias <= -count => {
                if mapped % 2 == 1 {
                    mapped / 2
                } else {
                    -(mapped / 2) - 1
                }
            }
            _ if mapped % 2 == 0 => mapped / 2,
            _ => -(mapped + 1) / 2,
        };
        self.contexts[place].update(error, &self.parameters);
        Ok(self.reconstructed(prediction, sign * error))
    }

    /// Decodes a run and, unless the run reaches the end of the line, the samples that follow it. Returns the position
    /// after these.
    fn run(&mut self, components: &mut [Lines], at: usize, width: usize) -> CodecResult<usize> {
        let [first, ..] = components else { return Ok(width + 1) };
        let mut run = first.run;
        let end = self.run_end(&mut run, at, width)?;
        for lines in components.iter_mut() {
            let value = lines.current[at - 1];
            lines.current[at..end].fill(value);
        }
        if end <= width {
            let limit = self.parameters.limit - RUN_BITS[run] - 1;
            let is_single = components.len() == 1;
            for lines in components.iter_mut() {
                let around = lines.around(end);
                lines.current[end] = self.run_sample(around, is_single, limit)?;
            }
            run = run.saturating_sub(1);
        }
        components[0].run = run;
        Ok(end + 1)
    }

    /// Returns the position after a run that starts at `at`.
    fn run_end(&mut self, run: &mut usize, at: usize, width: usize) -> CodecResult<usize> {
        let mut end = at;
        while self.bits.bit()? {
            let length = 1 << RUN_BITS[*run];
            let left = width + 1 - end;
            end += length.min(left);
            if length <= left {
                *run = (*run + 1).min(RUN_BITS.len() - 1);
            }
            if end > width {
                return Ok(end);
            }
        }
        let length = self.bits.number(RUN_BITS[*run])?;
        end = end.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        match end <= width {
            true => Ok(end),
            false => Err(CodecError::corrupt("a run of the image reaches past its line")),
        }
    }

    /// Decodes the sample after a run. In a scan of one component, equal neighbours have separate statistics.
    fn run_sample(&mut self, around: Around, is_single: bool, limit: u32) -> CodecResult<i32> {
        let Around { left, above, .. } = around;
        let is_equal = is_single && (left - above).abs() <= self.parameters.near;
        let equal = i32::from(is_equal);
        let RunContext { errors, negative, count } = self.run_contexts[usize::from(is_equal)];
        let bits = code_bits(if is_equal { errors + count / 2 } else { errors }, count);
        let mapped = self.code(bits, limit)?;
        let doubled = mapped + equal;
        let is_odd = doubled % 2 == 1;
        let size = (doubled + 1) / 2;
        let error = if (bits != 0 || 2 * negative >= count) == is_odd { -size } else { size };
        let context = &mut self.run_contexts[usize::from(is_equal)];
        context.errors += (mapped + 1 - equal) / 2;
        context.negative += i32::from(error < 0);
        if context.count == self.parameters.reset {
            context.errors /= 2;
            context.negative /= 2;
            context.count /= 2;
        }
        context.count += 1;
        Ok(match is_equal {
            true => self.reconstructed(left, error),
            false if above < left => self.reconstructed(above, -error),
            false => self.reconstructed(above, error),
        })
    }

    /// Reads a number in the Golomb code with parameter `bits`. The code of a number has at most `limit` bits.
    fn code(&mut self, bits: u32, limit: u32) -> CodecResult<i32> {
        let Parameters { error_bits, range, .. } = self.parameters;
        let escape = limit.saturating_sub(error_bits + 1);
        let zeros = self.bits.zeros(escape)?;
        let number = match zeros == escape {
            true => u64::from(self.bits.number(error_bits)?) + 1,
            false => u64::from(zeros) << bits | u64::from(self.bits.number(bits)?),
        };
        // Each error has two numbers, one for each sign.
        let number = i32::try_from(number).ok().filter(|&number| number <= 2 * range);
        number.ok_or_else(|| CodecError::corrupt("an error of the image is too large"))
    }

    /// Adds an error to a prediction, modulo the number of errors.
    fn reconstructed(&self, prediction: i32, error: i32) -> i32 {
        let Parameters { near, range, largest, .. } = self.parameters;
        let step = 2 * near + 1;
        let sample = prediction + error * step;
        let wrapped = if sample < -near {
            sample + range * step
        } else if sample > largest + near {
            sample - range * step
        } else {
            sample
        };
        wrapped.clamp(0, largest)
    }
}

impl Context {
    fn update(&mut self, error: i32, parameters: &Parameters) {
        self.bias += error * (2 * parameters.near + 1);
        self.errors += error.abs();
        if self.count == parameters.reset {
            self.errors /= 2;
            // The shift rounds down, also if the bias is negative.
            self.bias >>= 1;
            self.count /= 2;
        }
        self.count += 1;
        if self.bias <= -self.count {
            self.correction = (self.correction - 1).max(-MAX_CORRECTION - 1);
            self.bias = (self.bias + self.count).max(1 - self.count);
        } else if self.bias > 0 {
            self.correction = (self.correction + 1).min(MAX_CORRECTION);
            self.bias = (self.bias - self.count).min(0);
        }
    }
}

/// Returns the parameter of the Golomb code for `count` errors, whose absolute values have the sum `errors`.
fn code_bits(errors: i32, count: i32) -> u32 {
    (0..u32::BITS - 1).find(|bits| i64::from(count) << bits >= i64::from(errors)).unwrap_or(u32::BITS - 1)
}
