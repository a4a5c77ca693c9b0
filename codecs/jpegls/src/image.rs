//! Decoding an image.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::Expected;
use crate::lines::Lines;
use crate::parameters::{Parameters, Preset};
use crate::scan::{MAX_TOGETHER, Scan};
use crate::segments::{
    END, FRAME, PRESET, SCAN, START, TRANSFORM, has_no_effect, next_marker, next_scan, next_segment,
};

/// The header of an image.
#[derive(Debug)]
struct Frame {
    precision: u32,
    /// The identifiers of components that were not decoded yet.
    components: Vec<Option<u8>>,
}

/// The order of the samples of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Component,
    Lines,
    Samples,
}

/// The header of a scan.
#[derive(Debug)]
struct ScanHeader {
    /// The positions of the components in the image.
    components: Vec<usize>,
    near: i32,
    order: Order,
}

/// Decodes `stream` to `samples`, which have the expected size.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn decode(stream: &[u8], expected: &Expected, samples: &mut [u8]) -> CodecResult {
    let mut rest = stream;
    if next_marker(&mut rest)? != START {
        return Err(CodecError::corrupt("the bytes are not a JPEG-LS image"));
    }
    let mut preset = Preset::default();
    let mut frame = None;
    loop {
        match (next_marker(&mut rest)?, &mut frame) {
            (FRAME, None) => frame = Some(Frame::new(next_segment(&mut rest)?, expected)?),
            (PRESET, _) => preset = self::preset(next_segment(&mut rest)?)?,
            (TRANSFORM, _) => check_transform(next_segment(&mut rest)?)?,
            (SCAN, Some(frame)) => {
                let header = frame.scan(next_segment(&mut rest)?)?;
                let parameters = Parameters::new(frame.precision, header.near, preset)?;
                let scan = Scan::new(parameters, next_scan(&mut rest));
                decode_scan(scan, &header, expected, samples)?;
            }
            (END, Some(frame)) if frame.components.iter().all(Option::is_none) => return Ok(()),
            (END, _) => return Err(CodecError::corrupt("the image does not have all samples")),
            (marker, _) if has_no_effect(marker) => {
                next_segment(&mut rest)?;
            }
            (marker, _) => {
                return Err(CodecError::corrupt(format!("marker {marker:#x} of the image is not supported")));
            }
        }
    }
}

/// Decodes the lines of a scan, and places their samples in the pixels.
fn decode_scan(
    mut scan: Scan<'_>,
    header: &ScanHeader,
    expected: &Expected,
    samples: &mut [u8],
) -> CodecResult {
    let width = expected.image.width as usize;
    let pixel_size = expected.image.samples as usize * expected.sample_size;
    let mut lines: Vec<Lines> = header.components.iter().map(|_| Lines::new(width)).collect();
    for row in samples.chunks_exact_mut(width * pixel_size) {
        match header.order {
            Order::Samples => scan.line(&mut lines)?,
            Order::Component | Order::Lines => {
                lines.chunks_mut(1).try_for_each(|lines| scan.line(lines))?;
            }
        }
        for (lines, component) in lines.iter().zip(&header.components) {
            place(lines.samples(), *component, expected, row);
        }
    }
    Ok(())
}

/// Writes samples of 8 or 16 bits of a component to the pixels of a row, in native byte order.
fn place(samples: &[i32], component: usize, expected: &Expected, row: &mut [u8]) {
    let count = expected.image.samples as usize;
    match expected.sample_size {
        1 => {
            let bytes = row.iter_mut().skip(component).step_by(count);
            bytes.zip(samples).for_each(|(byte, sample)| *byte = low_bits(*sample).to_le_bytes()[0]);
        }
        _ if count == 1 => {
            let pixels = row.as_chunks_mut().0.iter_mut();
            pixels.zip(samples).for_each(|(bytes, sample)| *bytes = low_bits(*sample).to_ne_bytes());
        }
        _ => {
            let pixels = row.as_chunks_mut().0.iter_mut().skip(component).step_by(count);
            pixels.zip(samples).for_each(|(bytes, sample)| *bytes = low_bits(*sample).to_ne_bytes());
        }
    }
}

/// Returns a sample, which has at most 16 bits.
fn low_bits(sample: i32) -> u16 {
    let [low, high, ..] = sample.to_le_bytes();
    u16::from_le_bytes([low, high])
}

impl Frame {
    /// Reads the header of the image, and compares it with the chunk.
    fn new(segment: &[u8], expected: &Expected) -> CodecResult<Self> {
        let wrong = || CodecError::corrupt("the header of the image is wrong");
        let ([precision, y1, y0, x1, x0, count], components) =
            segment.split_first_chunk::<6>().ok_or_else(wrong)?;
        let height = u16::from_be_bytes([*y1, *y0]);
        let width = u16::from_be_bytes([*x1, *x0]);
        expected.image.check(height.into(), width.into(), (*count).into())?;
        let precisions = if expected.sample_size == 1 { 2..=8 } else { 9..=16 };
        if !precisions.contains(precision) {
            let wanted = 8 * expected.sample_size;
            return Err(CodecError::corrupt(format!(
                "samples have {precision} bits; expected up to {wanted}"
            )));
        }
        let (components, []) = components.as_chunks::<3>() else { return Err(wrong()) };
        // A component has an identifier, sampling factors, and the number of a table. The factors must be 1 by 1;
        // JPEG-LS does not use the table.
        if components.len() != usize::from(*count)
            || components.iter().any(|[_, sampling, _]| *sampling != 0x11)
        {
            return Err(wrong());
        }
        let components = components.iter().map(|[identifier, _, _]| Some(*identifier)).collect();
        Ok(Self { precision: (*precision).into(), components })
    }

    /// Reads the header of a scan. Its components count as decoded.
    fn scan(&mut self, segment: &[u8]) -> CodecResult<ScanHeader> {
        let wrong = || CodecError::corrupt("the header of a scan is wrong");
        let (count, rest) = segment.split_first().ok_or_else(wrong)?;
        let (components, rest) = rest.split_at_checked(2 * usize::from(*count)).ok_or_else(wrong)?;
        let &[near, order, point_transform] = rest else { return Err(wrong()) };
        let order = match order {
            0 if *count == 1 => Order::Component,
            1 => Order::Lines,
            2 => Order::Samples,
            _ => return Err(wrong()),
        };
        let mut places = Vec::new();
        for &[identifier, table] in components.as_chunks::<2>().0 {
            let place = self.components.iter().position(|component| *component == Some(identifier));
            let place = place.filter(|_| table == 0).ok_or_else(wrong)?;
            self.components[place] = None;
            places.push(place);
        }
        if places.is_empty() || places.len() > MAX_TOGETHER || point_transform != 0 {
            return Err(wrong());
        }
        Ok(ScanHeader { components: places, near: near.into(), order })
    }
}

/// Reads a segment with parameters of the code. Other kinds of presets hold palettes or large dimensions, and are
/// refused.
fn preset(segment: &[u8]) -> CodecResult<Preset> {
    let &[1, m1, m0, a1, a0, b1, b0, c1, c0, r1, r0] = segment else {
        return Err(CodecError::corrupt("a preset of the image is not supported"));
    };
    let number = |high, low| i32::from(u16::from_be_bytes([high, low]));
    Ok(Preset {
        largest: number(m1, m0),
        thresholds: [number(a1, a0), number(b1, b0), number(c1, c0)],
        reset: number(r1, r0),
    })
}

/// Returns an error for a segment that declares a color transform.
fn check_transform(segment: &[u8]) -> CodecResult {
    match segment {
        [b'm', b'r', b'f', b'x', transform, ..] if *transform != 0 => {
            Err(CodecError::corrupt(format!("color transform {transform} of the image is not supported")))
        }
        _ => Ok(()),
    }
}
