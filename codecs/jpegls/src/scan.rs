//! Decoding the lines of a scan.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::bits::Bits;
use crate::context::{Context, RunContext, code_bits};
use crate::gradients::Gradients;
use crate::lines::{Around, Lines};
use crate::parameters::Parameters;

/// Maximum number of components whose samples alternate.
pub(crate) const MAX_TOGETHER: usize = 4;

/// The number of contexts. Contexts that differ only in the sign of their gradients count as one.
const CONTEXTS: usize = 365;

/// The number of bits that encode the length of a run, for each run index.
const RUN_BITS: [u32; 32] =
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// A scan: lines of one component, or of several whose lines or samples alternate.
#[derive(Debug)]
pub(crate) struct Scan<'s> {
    parameters: Parameters,
    bits: Bits<'s>,
    contexts: Vec<Context>,
    gradients: Gradients,
    /// The statistics of runs that end between different neighbours, and of runs that end between equal neighbours.
    run_contexts: [RunContext; 2],
}

impl<'s> Scan<'s> {
    pub(crate) fn new(parameters: Parameters, stream: &'s [u8]) -> Self {
        let errors = ((parameters.range + 32) / 64).max(2);
        Self {
            parameters,
            bits: Bits::new(stream),
            contexts: vec![Context::new(errors); CONTEXTS],
            gradients: Gradients::new(&parameters),
            run_contexts: [RunContext::new(errors); 2],
        }
    }

    /// Decodes the next line of components whose samples alternate, or of a single component.
    pub(crate) fn line(&mut self, components: &mut [Lines]) -> CodecResult {
        components.iter_mut().for_each(|lines| lines.start_line(&self.parameters));
        match (components, self.parameters.is_usual()) {
            ([lines], true) => self.single_line::<true>(lines),
            ([lines], false) => self.single_line::<false>(lines),
            (components, true) => self.alternating_line::<true>(components),
            (components, false) => self.alternating_line::<false>(components),
        }
    }

    fn single_line<const USUAL: bool>(&mut self, lines: &mut Lines) -> CodecResult {
        let width = lines.samples().len();
        let mut at = 1;
        while at <= width {
            at = self.samples::<USUAL>(lines, at)?;
            if at <= width {
                at = self.run(std::slice::from_mut(lines), at, width)?;
            }
        }
        Ok(())
    }

    /// Decodes the samples of a line from `at` to the next run, and returns the position of the run; a position after
    /// the line if no run follows.
    fn samples<const USUAL: bool>(&mut self, lines: &mut Lines, at: usize) -> CodecResult<usize> {
        let Around { mut left, mut left_above, .. } = lines.around(at);
        let end = lines.current.len() - 1;
        let currents = lines.current[at..end].iter_mut();
        let above = lines.above[at..end].iter().zip(&lines.contexts[at..end]);
        let Self { parameters, contexts, gradients, .. } = self;
        // A copy, so that the bits are in registers.
        let mut bits = self.bits;
        for (place, (current, (&above, &context))) in currents.zip(above).enumerate() {
            let around = Around { left, above, left_above };
            let context = context + gradients.between(left, left_above);
            if context == 0 {
                self.bits = bits;
                return Ok(at + place);
            }
            left = sample::<USUAL>(&mut bits, contexts, parameters, context, around)?;
            left_above = above;
            *current = left;
        }
        self.bits = bits;
        Ok(end)
    }

    fn alternating_line<const USUAL: bool>(&mut self, components: &mut [Lines]) -> CodecResult {
        let width = components.first().map_or(0, |lines| lines.samples().len());
        let mut bits = self.bits;
        let mut at = 1;
        while at <= width {
            let mut contexts = [0; MAX_TOGETHER];
            for (context, lines) in contexts.iter_mut().zip(&*components) {
                *context = lines.context(at, &self.gradients);
            }
            if contexts == [0; MAX_TOGETHER] {
                self.bits = bits;
                at = self.run(components, at, width)?;
                bits = self.bits;
                continue;
            }
            for (lines, context) in components.iter_mut().zip(contexts) {
                let around = lines.around(at);
                let Self { parameters, contexts, .. } = &mut *self;
                lines.current[at] = sample::<USUAL>(&mut bits, contexts, parameters, context, around)?;
            }
            at += 1;
        }
        self.bits = bits;
        Ok(())
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
        let mapped = code(&mut self.bits, bits, limit, &self.parameters)?;
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
        let (prediction, error) = match is_equal {
            true => (left, error),
            false if above < left => (above, -error),
            false => (above, error),
        };
        Ok(reconstructed::<false>(prediction, error, &self.parameters))
    }
}

/// Decodes a sample that is not part of a run. The sign of `context` is the sign of the first gradient that is not
/// flat. `USUAL` is [`Parameters::is_usual`].
// A call would hold the bits in memory instead of registers.
#[inline(always)]
fn sample<const USUAL: bool>(
    bits: &mut Bits<'_>,
    contexts: &mut [Context],
    parameters: &Parameters,
    context: i32,
    around: Around,
) -> CodecResult<i32> {
    let sign = context >> 31;
    let context = &mut contexts[context.unsigned_abs() as usize];
    let correction = (i32::from(context.correction) ^ sign) - sign;
    let prediction = (around.median() + correction).min(parameters.largest).max(0);
    let mapped = code(bits, context.code_bits, parameters.limit, parameters)?;
    let error = context.error::<USUAL>(mapped, parameters);
    context.update::<USUAL>(error, parameters);
    Ok(reconstructed::<USUAL>(prediction, (error ^ sign) - sign, parameters))
}

/// Reads a number in the Golomb code with parameter `code_bits`. The code of a number has at most `limit` bits.
#[inline(always)]
fn code(bits: &mut Bits<'_>, code_bits: u32, limit: u32, parameters: &Parameters) -> CodecResult<i32> {
    let escape = limit.saturating_sub(parameters.error_bits + 1);
    let number = match bits.short_code(code_bits, escape) {
        Some(number) => number,
        None => long_code(bits, code_bits, escape, parameters.error_bits)?,
    };
    // Each error has two numbers, one for each sign.
    match i32::try_from(number) {
        Ok(number) if number <= 2 * parameters.range => Ok(number),
        _ => Err(too_large()),
    }
}

/// Reads a number whose code may be an escape, after which the number has `error_bits` bits.
#[cold]
#[inline(never)]
fn long_code(bits: &mut Bits<'_>, code_bits: u32, escape: u32, error_bits: u32) -> CodecResult<u64> {
    let zeros = bits.zeros(escape)?;
    Ok(match zeros == escape {
        true => u64::from(bits.number(error_bits)?) + 1,
        false => u64::from(zeros) << code_bits | u64::from(bits.number(code_bits)?),
    })
}

#[cold]
fn too_large() -> CodecError {
    CodecError::corrupt("an error of the image is too large")
}

/// Adds an error to a prediction, modulo the number of errors.
#[inline]
fn reconstructed<const USUAL: bool>(prediction: i32, error: i32, parameters: &Parameters) -> i32 {
    let Parameters { near, range, largest, .. } = *parameters;
    if USUAL {
        return (prediction + error) & largest;
    }
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
