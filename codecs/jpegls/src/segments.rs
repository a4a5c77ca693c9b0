//! The segments of an image: markers, and the bytes that belong to them.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// The byte before each marker.
const PREFIX: u8 = 0xff;

/// Start and end of the image.
pub(crate) const START: u8 = 0xd8;
pub(crate) const END: u8 = 0xd9;

/// The header of the image.
pub(crate) const FRAME: u8 = 0xf7;

/// Parameters of the following scans.
pub(crate) const PRESET: u8 = 0xf8;

/// The header of a scan.
pub(crate) const SCAN: u8 = 0xda;

/// The segment that declares a color transform in some images.
pub(crate) const TRANSFORM: u8 = 0xe8;

/// Returns whether the segment of a marker has no effect: parameters of applications, and comments.
pub(crate) fn has_no_effect(marker: u8) -> bool {
    matches!(marker, 0xe0..=0xef | 0xfe)
}

/// Removes the next marker from `rest`. Any number of bytes `0xff` may precede it.
pub(crate) fn next_marker(rest: &mut &[u8]) -> CodecResult<u8> {
    let [PREFIX, after @ ..] = *rest else {
        return Err(CodecError::corrupt("a marker is missing in the image"));
    };
    let ones = after.iter().take_while(|&&byte| byte == PREFIX).count();
    let (&marker, after) = after[ones..].split_first().ok_or_else(ends_early)?;
    *rest = after;
    Ok(marker)
}

/// Removes the bytes of a segment from `rest`.
pub(crate) fn next_segment<'s>(rest: &mut &'s [u8]) -> CodecResult<&'s [u8]> {
    let size = rest.first_chunk::<2>().map(|size| usize::from(u16::from_be_bytes(*size)));
    let (segment, after) = size.and_then(|size| rest.split_at_checked(size)).ok_or_else(ends_early)?;
    *rest = after;
    segment.get(2..).ok_or_else(|| CodecError::corrupt("a segment of the image is too short"))
}

/// Removes the bits of a scan from `rest`. They end at the next marker: a byte `0xff` followed by a byte whose first
/// bit is 1.
pub(crate) fn next_scan<'s>(rest: &mut &'s [u8]) -> &'s [u8] {
    let end = rest.windows(2).position(|pair| pair[0] == PREFIX && pair[1] >= 0x80);
    let (scan, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    scan
}

pub(crate) fn ends_early() -> CodecError {
    CodecError::corrupt("the image ends early")
}
