//! Writes numbers as an image in the PNG format, with a colour map.

/// The colours from the smallest to the largest number. Other colours are interpolated between them. The brightness
/// increases evenly, so that the image can be read in grey, too.
const COLOURS: [[u8; 3]; 6] =
    [[24, 20, 68], [52, 58, 140], [36, 110, 146], [44, 158, 120], [140, 200, 70], [250, 230, 60]];

/// The colour of NaN.
const MISSING: [u8; 3] = [200, 200, 200];

/// The largest block of a stream without compression.
const BLOCK: usize = 65_535;

/// Returns an image of values in rows of `columns` values; NaN is grey.
pub(crate) fn image(values: &[f64], columns: usize) -> Vec<u8> {
    let columns = columns.max(1);
    let rows = values.len() / columns;
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    let mut lines = Vec::with_capacity(values.len() + rows);
    for row in values.chunks_exact(columns) {
        // Filter type 0: the line is not filtered.
        lines.push(0);
        lines.extend(row.iter().map(|&value| entry(value, low, high)));
    }
    let mut header = Vec::new();
    for length in [columns, rows] {
        header.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
    // Each pixel is an eight-bit entry of a palette.
    header.extend([8, 3, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    add_section(&mut png, *b"IHDR", &header);
    add_section(&mut png, *b"PLTE", &palette());
    add_section(&mut png, *b"IDAT", &stored(&lines));
    add_section(&mut png, *b"IEND", &[]);
    png
}

/// Returns the entry of the palette for a value. Entry 0 is for NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the result is clamped to the entries of the palette"
)]
fn entry(value: f64, low: f64, high: f64) -> u8 {
    if value.is_nan() {
        return 0;
    }
    let share = if high > low { (value - low) / (high - low) } else { 0.0 };
    1 + (share * 255.0).clamp(0.0, 254.0) as u8
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "colours are between two colours"
)]
fn palette() -> Vec<u8> {
    let mut palette = MISSING.to_vec();
    for number in 0..255_u8 {
        let place = f64::from(number) / 254.0 * 5.0;
        let first = (place as usize).min(COLOURS.len() - 2);
        let share = place - first as f64;
        let [one, other] = [COLOURS[first], COLOURS[first + 1]];
        for (one, other) in one.into_iter().zip(other) {
            palette.push((f64::from(one) * (1.0 - share) + f64::from(other) * share).round() as u8);
        }
    }
    palette
}

fn add_section(png: &mut Vec<u8>, name: [u8; 4], content: &[u8]) {
    png.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes());
    let start = png.len();
    png.extend(name);
    png.extend(content);
    let sum = crc32(&png[start..]);
    png.extend(sum.to_be_bytes());
}

/// Returns a zlib stream without compression.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(BLOCK).peekable();
    while let Some(block) = blocks.next() {
        stream.push(u8::from(blocks.peek().is_none()));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

fn adler32(bytes: &[u8]) -> u32 {
    let mut one = 1_u32;
    let mut two = 0_u32;
    for &byte in bytes {
        one = (one + u32::from(byte)) % 65_521;
        two = (two + one) % 65_521;
    }
    two << 16 | one
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for &byte in bytes {
        sum ^= u32::from(byte);
        for _bit in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standards() {
        // The check values of CRC-32 and Adler-32.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn the_smallest_and_the_largest_number_have_the_colours_at_the_ends() {
        let palette = palette();
        assert_eq!(palette.len(), 3 * 256);
        let colour = |value: f64| {
            let entry = usize::from(entry(value, -1.0, 3.0)) * 3;
            [palette[entry], palette[entry + 1], palette[entry + 2]]
        };
        assert_eq!(colour(-1.0), COLOURS[0]);
        assert_eq!(colour(3.0), COLOURS[5]);
        assert_eq!(colour(f64::NAN), MISSING);
        assert_eq!(entry(7.0, 7.0, 7.0), 1);
    }
}
