//! The size of images, from the headers of their formats. numcodecs passes an encoded chunk without its shape.

/// A data type and a shape that the elements of an image may have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) data_type: &'static str,
    pub(crate) shape: Vec<u64>,
}

/// Returns the forms that the elements of an image may have: several if only its decoder knows the number of samples
/// per pixel, and none for bytes that are not an image of a known format.
pub(crate) fn described(image: &[u8]) -> Vec<Described> {
    let formats = [png, webp, jpeg, jpeg_2000];
    formats.into_iter().find_map(|format| format(image)).unwrap_or_default()
}

/// Portable Network Graphics, section 11.2.1: the chunk `IHDR` is the first one.
fn png(image: &[u8]) -> Option<Vec<Described>> {
    let header = image.strip_prefix(b"\x89PNG\r\n\x1a\n")?.get(4..)?.strip_prefix(b"IHDR")?;
    let [width, height] = [big(header, 0)?, big(header, 4)?];
    let samples: &[u64] = match header.get(9)? {
        0 => &[1],
        2 => &[3],
        // A palette may have transparent colors.
        3 => &[3, 4],
        4 => &[2],
        6 => &[4],
        _ => return None,
    };
    Some(forms(unsigned(*header.get(8)?), height, width, samples))
}

/// WebP: a lossy frame, a lossless one (RFC 9649, section 3), or an extended header.
fn webp(image: &[u8]) -> Option<Vec<Described>> {
    let chunk = image.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WEBP")?;
    let little = |at: usize, size: usize| {
        let bytes = chunk.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    let [width, height] = match chunk.get(..4)? {
        b"VP8 " => [little(14, 2)? & 0x3fff, little(16, 2)? & 0x3fff],
        b"VP8L" => {
            let bits = little(9, 4)?;
            [(bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1]
        }
        b"VP8X" => [little(12, 3)? + 1, little(15, 3)? + 1],
        _ => return None,
    };
    Some(forms("uint8", height, width, &[3, 4]))
}

/// JPEG and JPEG-LS: the start of a frame (ITU-T T.81, section B.2.2, and T.87, section C.2.2).
fn jpeg(image: &[u8]) -> Option<Vec<Described>> {
    let mut rest = image.strip_prefix(b"\xff\xd8")?;
    loop {
        let marker = rest.strip_prefix(b"\xff")?;
        let (&code, segment) = marker.split_first()?;
        // Fill bytes precede some markers.
        if code == 0xff {
            rest = marker;
            continue;
        }
        let is_frame = matches!(code, 0xc0..=0xcf | 0xf7) && !matches!(code, 0xc4 | 0xc8 | 0xcc);
        if is_frame {
            let [height, width] = [big_half(segment, 3)?, big_half(segment, 5)?];
            let samples = u64::from(*segment.get(7)?);
            return Some(forms(unsigned(*segment.get(2)?), height, width, &[samples]));
        }
        rest = segment.get(usize::try_from(big_half(segment, 0)?).ok()?..)?;
    }
}

/// JPEG 2000: the segment `SIZ` of a code stream (ITU-T T.800, section A.5.1), which may be in a box of a JP2 file.
fn jpeg_2000(image: &[u8]) -> Option<Vec<Described>> {
    let stream = match image.starts_with(b"\xff\x4f\xff\x51") {
        true => image,
        false => code_stream(image)?,
    };
    let size = stream.strip_prefix(b"\xff\x4f\xff\x51")?;
    let width = big(size, 4)?.checked_sub(big(size, 12)?)?;
    let height = big(size, 8)?.checked_sub(big(size, 16)?)?;
    let samples = big_half(size, 36)?;
    let depth = *size.get(38)?;
    let bits = (depth & 0x7f) + 1;
    let data_type = match (depth & 0x80 == 0, bits) {
        (true, 1..=8) => "uint8",
        (true, 9..=16) => "uint16",
        (true, _) => "uint32",
        (false, 1..=8) => "int8",
        (false, 9..=16) => "int16",
        (false, _) => "int32",
    };
    Some(forms(data_type, height, width, &[samples]))
}

/// Returns the code stream in the boxes of a JP2 file (ITU-T T.800, section I.4).
fn code_stream(mut boxes: &[u8]) -> Option<&[u8]> {
    boxes.get(4..)?.starts_with(b"jP  ").then_some(())?;
    loop {
        let size = usize::try_from(big(boxes, 0)?).ok()?;
        // The size 1 stands for a size of 64 bits after the kind.
        let header = if size == 1 { 16 } else { 8 };
        if boxes.get(4..8)? == b"jp2c" {
            return boxes.get(header..);
        }
        let size =
            if size == 1 { usize::try_from(big(boxes, 8)? << 32 | big(boxes, 12)?).ok()? } else { size };
        boxes = boxes.get(size.max(header)..)?;
    }
}

fn forms(data_type: &'static str, height: u64, width: u64, samples: &[u64]) -> Vec<Described> {
    let shape = |samples: u64| if samples == 1 { vec![height, width] } else { vec![height, width, samples] };
    samples.iter().map(|&samples| Described { data_type, shape: shape(samples) }).collect()
}

fn unsigned(bits: u8) -> &'static str {
    if bits <= 8 { "uint8" } else { "uint16" }
}

fn big(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from(u32::from_be_bytes(*bytes)))
}

fn big_half(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from(u16::from_be_bytes(*bytes)))
}
