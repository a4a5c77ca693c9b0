//! Numbers in the bytes of a message, most significant bit first.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// Returns a number of 1, 2 or 4 bytes.
pub(crate) fn number<const SIZE: usize>(section: &[u8], offset: usize) -> CodecResult<u32> {
    let bytes = section.get(offset..).and_then(<[u8]>::first_chunk::<SIZE>);
    let bytes = bytes.ok_or_else(|| CodecError::corrupt("a section of the GRIB message ends early"))?;
    Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
}

/// Returns a number of 1, 2 or 4 bytes that counts something.
pub(crate) fn count<const SIZE: usize>(section: &[u8], offset: usize) -> CodecResult<usize> {
    Ok(usize::try_from(number::<SIZE>(section, offset)?).unwrap_or(usize::MAX))
}

/// Returns a number of at most 32 bits that begins at a bit; `None` if the bytes end before.
pub(crate) fn at(bytes: &[u8], first: usize, width: usize) -> Option<u32> {
    let mut number = 0;
    for bit in first..first.checked_add(width)? {
        let byte = *bytes.get(bit / 8)?;
        number = number << 1 | u32::from(byte >> (7 - bit % 8) & 1);
    }
    Some(number)
}
