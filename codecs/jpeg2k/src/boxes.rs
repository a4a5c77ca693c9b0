//! The boxes of JP2 files.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// The first bytes of a codestream: its start, and the marker of its size.
const CODESTREAM: [u8; 4] = [0xff, 0x4f, 0xff, 0x51];

/// The first box of a file.
const SIGNATURE: &[u8] = b"\0\0\0\x0cjP  \r\n\x87\n";

/// The color space sYCC.
const SYCC: u32 = 18;

/// The number of the color in a channel definition, if the channel does not belong to a color.
const NO_COLOR: u16 = u16::MAX;

/// Returns the codestream of an image.
///
/// # Errors
///
/// [`CodecError::Corrupt`] if the image does not have a codestream, or if its boxes change decoded samples, for example
/// by a palette.
pub(crate) fn codestream(image: &[u8]) -> CodecResult<&[u8]> {
    if image.starts_with(&CODESTREAM) {
        return Ok(image);
    }
    let Some(mut rest) = image.strip_prefix(SIGNATURE) else {
        return Err(CodecError::corrupt("the bytes are not a JPEG 2000 image"));
    };
    while let Some((name, content)) = next(&mut rest)? {
        match &name {
            b"jp2h" => check_header(content)?,
            b"jp2c" if content.starts_with(&CODESTREAM) => return Ok(content),
            b"jp2c" => break,
            _ => {}
        }
    }
    Err(CodecError::corrupt("the image does not have a codestream"))
}

/// Removes the next box from `rest`, and returns its name and content.
fn next<'i>(rest: &mut &'i [u8]) -> CodecResult<Option<([u8; 4], &'i [u8])>> {
    let ends_early = || CodecError::corrupt("a box of the image ends early");
    if rest.is_empty() {
        return Ok(None);
    }
    let (size, after) = rest.split_first_chunk::<4>().ok_or_else(ends_early)?;
    let (name, after) = after.split_first_chunk::<4>().ok_or_else(ends_early)?;
    let (size, after) = match u32::from_be_bytes(*size) {
        // The last box extends to the end.
        0 => (after.len(), after),
        1 => {
            let (size, after) = after.split_first_chunk::<8>().ok_or_else(ends_early)?;
            let size = usize::try_from(u64::from_be_bytes(*size)).ok().and_then(|size| size.checked_sub(16));
            (size.ok_or_else(ends_early)?, after)
        }
        size => ((size as usize).checked_sub(8).ok_or_else(ends_early)?, after),
    };
    let (content, after) = after.split_at_checked(size).ok_or_else(ends_early)?;
    *rest = after;
    Ok(Some((*name, content)))
}

/// Refuses boxes that change samples.
fn check_header(mut boxes: &[u8]) -> CodecResult {
    while let Some((name, content)) = next(&mut boxes)? {
        let what = match (&name, content) {
            (b"pclr" | b"cmap", _) => "a palette",
            (b"colr", [1, _, _, space @ ..]) if space.first_chunk() == Some(&SYCC.to_be_bytes()) => {
                "the color space sYCC"
            }
            (b"colr", [2 | 3, ..]) => "a color profile",
            (b"cdef", [_, _, definitions @ ..]) if !are_in_order(definitions) => "reordered channels",
            _ => continue,
        };
        return Err(CodecError::corrupt(format!("the image has {what}, which is not supported")));
    }
    Ok(())
}

/// Returns whether the colors are the channels of the codestream in their order.
fn are_in_order(definitions: &[u8]) -> bool {
    let (definitions, rest) = definitions.as_chunks::<6>();
    rest.is_empty()
        && definitions.iter().all(|&[c1, c0, _, _, a1, a0]| {
            let channel = u16::from_be_bytes([c1, c0]);
            let color = u16::from_be_bytes([a1, a0]);
            color == 0 || color == NO_COLOR || Some(color) == channel.checked_add(1)
        })
}
