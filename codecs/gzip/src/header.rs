//! The header of a gzip member, before the deflate stream (RFC 1952, section 2.3).

use flate2::Crc;

/// Size in bytes of the written header. It does not have optional fields.
const SIZE: usize = 10;

const HEADER_CHECKSUM: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Returns a header without name, time and system, so that equal chunks are encoded equally.
pub(crate) fn header(level: u32) -> [u8; SIZE] {
    let speed = match level {
        1 => 4,
        9 => 2,
        _ => 0,
    };
    let unknown_system = 255;
    [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, speed, unknown_system]
}

/// Skips the header of `member` and returns the bytes after it.
pub(crate) fn skip(member: &[u8]) -> Result<&[u8], &'static str> {
    let (fixed, mut rest) = member.split_first_chunk::<SIZE>().ok_or("a gzip header is truncated")?;
    let [0x1f, 0x8b, method, flags, ..] = *fixed else {
        return Err("expected a gzip header");
    };
    if method != 8 || flags & RESERVED != 0 {
        return Err("a gzip header declares a compression method other than deflate");
    }
    if flags & EXTRA != 0 {
        let (length, after) = rest.split_first_chunk().ok_or("a gzip header is truncated")?;
        let length = usize::from(u16::from_le_bytes(*length));
        rest = after.get(length..).ok_or("a gzip header is truncated")?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|&byte| byte == 0).ok_or("a gzip header is truncated")?;
            rest = &rest[end + 1..];
        }
    }
    if flags & HEADER_CHECKSUM != 0 {
        let mut checksum = Crc::new();
        checksum.update(&member[..member.len() - rest.len()]);
        let (stored, after) = rest.split_first_chunk().ok_or("a gzip header is truncated")?;
        if checksum.sum() & 0xffff != u32::from(u16::from_le_bytes(*stored)) {
            return Err("the checksum of a gzip header does not match");
        }
        rest = after;
    }
    Ok(rest)
}
