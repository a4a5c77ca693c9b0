//! The chunks of a WebP file. They are checked before decoding, because the decoder allocates memory for the sizes in
//! them.

use zarr_plugin_kit::images::ImageShape;
use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// Checks the width and height of all parts of a file, and that it is not an animation.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn check_container(file: &[u8], image: &ImageShape) -> CodecResult {
    let [b'R', b'I', b'F', b'F', a, b, c, d, b'W', b'E', b'B', b'P', chunks @ ..] = file else {
        return Err(CodecError::corrupt("the chunk does not begin like a WebP image"));
    };
    // The declared size includes the four bytes `WEBP` before the chunks.
    if u32::from_le_bytes([*a, *b, *c, *d]) as usize > chunks.len() + 4 {
        return Err(CodecError::corrupt("the image ends early"));
    }
    let mut rest = chunks;
    while let Some((header, after)) = rest.split_first_chunk::<8>() {
        let &[name @ .., a, b, c, d] = header;
        let size = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let (content, _) = after.split_at(size.min(after.len()));
        match &name {
            b"ANIM" | b"ANMF" => return Err(CodecError::corrupt("the image is an animation")),
            b"VP8 " => check(content.get(6..10).map(lossy), image)?,
            b"VP8L" => check(content.get(1..5).map(lossless), image)?,
            _ => {}
        }
        rest = after.get(size.saturating_add(size % 2)..).unwrap_or_default();
    }
    Ok(())
}

fn check(found: Option<(u32, u32)>, image: &ImageShape) -> CodecResult {
    let (width, height) = found.ok_or_else(|| CodecError::corrupt("the image has no width and height"))?;
    image.check(height as usize, width as usize, image.samples as usize)
}

/// Returns the width and height of a lossy image: 14 bits each, and two bits for scaling.
fn lossy(bytes: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]) & 0x3fff);
    (number(0), number(2))
}

/// Returns the width and height of a lossless image: 14 bits each, stored as one less.
fn lossless(bytes: &[u8]) -> (u32, u32) {
    let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
}
