//! The headers of codestreams, which are checked before memory is allocated.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::Expected;

/// Start of a tile-part, and of its data.
const TILE_PART: u8 = 0x90;
const DATA: u8 = 0x93;
/// End of the image.
const END: u8 = 0xd9;

/// The coding style of all components, and of one component.
const STYLE: u8 = 0x52;
const COMPONENT_STYLE: u8 = 0x53;

/// The markers of segments that headers may have. Other segments are refused, because OpenJPEG looks for markers inside
/// of them.
const KNOWN: &[u8] = &[
    0x50,
    STYLE,
    COMPONENT_STYLE,
    0x55,
    0x57,
    0x58,
    0x59,
    0x5c,
    0x5d,
    0x5e,
    0x5f,
    0x60,
    0x61,
    0x63,
    0x64,
    0x74,
    0x75,
    0x77,
    0x78,
];

/// The number of tiles and precincts that every image may have.
const FREE_PARTS: u64 = 4096;

/// The number of samples that permit one more tile or precinct.
const SAMPLES_OF_PART: u64 = 64;

/// The size of precincts if an image does not state it: the maximum. The logarithms of width and height have four bits
/// each.
const LARGEST_PRECINCT: u8 = 0xff;

/// The size of the image and its tiles.
#[derive(Debug)]
struct Sizes {
    /// The columns and rows of a tile.
    tile: [u64; 2],
    tiles: u64,
    components: u64,
    samples: u64,
}

/// The number of tile-parts of a tile.
#[derive(Debug, Clone, Copy, Default)]
struct TileParts {
    found: u8,
    /// The largest number of tile-parts that one of the headers declares; 0 if none of them does.
    declared: u8,
}

/// Compares the headers of a codestream with the chunk.
///
/// # Errors
///
/// [`CodecError::Corrupt`] if they differ, if the image has too many tiles or precincts for its size, or if tiles are
/// missing.
pub(crate) fn check(codestream: &[u8], expected: &Expected) -> CodecResult {
    let after_start = codestream.get(4..).unwrap_or_default();
    let (size, mut rest) = segment(after_start)?;
    let sizes = Sizes::of(size, expected)?;
    sizes.check(&[])?;
    let mut tiles = vec![TileParts::default(); usize::try_from(sizes.tiles).unwrap_or_default()];
    // The headers of tile-parts may also state precincts, so they are checked like the main header. The end marker may
    // be missing.
    while !rest.is_empty() {
        let [0xff, marker, after @ ..] = rest else { return Err(ends_early()) };
        rest = match *marker {
            END => break,
            TILE_PART => tile_part(rest, &sizes, &mut tiles)?,
            marker => {
                let (content, next) = segment(after)?;
                sizes.check_segment(marker, content)?;
                next
            }
        };
    }
    let is_complete = |tile: &TileParts| tile.found >= tile.declared.max(1);
    if tiles.iter().all(is_complete) { Ok(()) } else { Err(ends_early()) }
}

fn ends_early() -> CodecError {
    CodecError::corrupt("the image ends early")
}

/// Splits off a segment, which begins with its size.
fn segment(bytes: &[u8]) -> CodecResult<(&[u8], &[u8])> {
    let size = bytes.first_chunk::<2>().map(|size| usize::from(u16::from_be_bytes(*size)));
    let (segment, rest) = size.and_then(|size| bytes.split_at_checked(size)).ok_or_else(ends_early)?;
    let content =
        segment.get(2..).ok_or_else(|| CodecError::corrupt("a segment of the image is too short"))?;
    Ok((content, rest))
}

/// Checks the header of a tile-part, adds it to its tile, and returns the bytes after it.
fn tile_part<'s>(bytes: &'s [u8], sizes: &Sizes, tiles: &mut [TileParts]) -> CodecResult<&'s [u8]> {
    let wrong = || CodecError::corrupt("the header of a tile is wrong");
    let (content, mut rest) = segment(&bytes[2..])?;
    let &[i1, i0, s3, s2, s1, s0, _, count] = content else { return Err(wrong()) };
    let tile = tiles.get_mut(usize::from(u16::from_be_bytes([i1, i0]))).ok_or_else(wrong)?;
    tile.found = tile.found.saturating_add(1);
    tile.declared = tile.declared.max(count);
    loop {
        let [0xff, marker, after @ ..] = rest else { return Err(ends_early()) };
        if *marker == DATA {
            break;
        }
        let (content, next) = segment(after)?;
        sizes.check_segment(*marker, content)?;
        rest = next;
    }
    let header_size = bytes.len() - rest.len();
    match u32::from_be_bytes([s3, s2, s1, s0]) as usize {
        // The last tile-part extends to the end.
        0 => Ok(&[]),
        size if size < header_size => Err(wrong()),
        size => bytes.get(size..).ok_or_else(ends_early),
    }
}

impl Sizes {
    /// Reads the sizes, and compares them with the chunk.
    fn of(segment: &[u8], expected: &Expected) -> CodecResult<Self> {
        let wrong = || CodecError::corrupt("the header of the image is wrong");
        let (numbers, components) = segment.split_at_checked(36).ok_or_else(wrong)?;
        let (numbers, count) = numbers.split_at(34);
        let (numbers, _) = numbers[2..].as_chunks::<4>();
        let numbers: Vec<u64> = numbers.iter().map(|number| u32::from_be_bytes(*number).into()).collect();
        let [x1, y1, x0, y0, tile_width, tile_height, tile_x, tile_y] = numbers[..] else {
            return Err(wrong());
        };
        let (Some(width), Some(height)) = (x1.checked_sub(x0), y1.checked_sub(y0)) else {
            return Err(wrong());
        };
        let (components, rest) = components.as_chunks::<3>();
        let count = count.first_chunk().map_or(0, |count| usize::from(u16::from_be_bytes(*count)));
        if components.len() != count || !rest.is_empty() {
            return Err(wrong());
        }
        let size = |size: u64| usize::try_from(size).map_err(|_| wrong());
        expected.image.check(size(height)?, size(width)?, count)?;
        components.iter().try_for_each(|component| check_component(*component, expected))?;
        let tiles = |end: u64, start: u64, size: u64| {
            let rest = end.checked_sub(start).filter(|_| size > 0).ok_or_else(wrong)?;
            Ok::<_, CodecError>(rest.div_ceil(size))
        };
        Ok(Self {
            tile: [tile_width.min(width), tile_height.min(height)],
            tiles: tiles(x1, tile_x, tile_width)?.saturating_mul(tiles(y1, tile_y, tile_height)?),
            components: count as u64,
            samples: width * height,
        })
    }

    /// Checks the marker of a segment, and the precincts if the segment is a coding style.
    fn check_segment(&self, marker: u8, content: &[u8]) -> CodecResult {
        // The style of one component begins with the number of the component, in one or two bytes.
        let (style, content) = match (marker, content) {
            (STYLE, [style, _, _, _, _, rest @ ..]) => (style, rest),
            (COMPONENT_STYLE, [_, style, rest @ ..]) if self.components < 257 => (style, rest),
            (COMPONENT_STYLE, [_, _, style, rest @ ..]) => (style, rest),
            (STYLE | COMPONENT_STYLE, _) => return Err(CodecError::corrupt("a style of the image is wrong")),
            _ if KNOWN.contains(&marker) => return Ok(()),
            _ => {
                return Err(CodecError::corrupt(format!("marker {marker:#x} of the image is not supported")));
            }
        };
        let &[levels, _, _, _, _, ref precincts @ ..] = content else {
            return Err(CodecError::corrupt("a style of the image is wrong"));
        };
        if style & 1 == 0 {
            return self.check(&vec![LARGEST_PRECINCT; usize::from(levels) + 1]);
        }
        self.check(precincts)
    }

    /// Checks the number of tiles and precincts. `precincts` has the size of the precincts of each resolution, the
    /// smallest resolution first.
    fn check(&self, precincts: &[u8]) -> CodecResult {
        let resolutions = precincts.iter().rev().enumerate().map(|(level, sides)| {
            let level = u32::try_from(level).unwrap_or(u32::MAX);
            let count = |size: u64, bits: u8| size.checked_shr(level).unwrap_or(0).max(1).div_ceil(1 << bits);
            count(self.tile[0], sides & 0x0f) * count(self.tile[1], sides >> 4)
        });
        let parts = resolutions.fold(1, u64::saturating_add);
        let all = parts.saturating_mul(self.tiles).saturating_mul(self.components);
        let samples = self.samples.saturating_mul(self.components);
        if all > FREE_PARTS + samples / SAMPLES_OF_PART {
            return Err(CodecError::corrupt(format!(
                "the image has {all} tiles and precincts, which is too many for {samples} samples"
            )));
        }
        Ok(())
    }
}

fn check_component([depth, dx, dy]: [u8; 3], expected: &Expected) -> CodecResult {
    if [dx, dy] != [1, 1] {
        return Err(CodecError::corrupt("the image has subsampled components, which are not supported"));
    }
    let bits = (depth & 0x7f) + 1;
    let is_signed = depth & 0x80 != 0;
    let range = match expected.sample_size {
        1 => 1..=8,
        2 => 9..=16,
        _ => 17..=32,
    };
    if !range.contains(&bits) || is_signed != expected.is_signed {
        let sign = |is_signed| if is_signed { "signed" } else { "unsigned" };
        return Err(CodecError::corrupt(format!(
            "samples are {} with {bits} bits; expected {} with {} to {}",
            sign(is_signed),
            sign(expected.is_signed),
            range.start(),
            range.end()
        )));
    }
    Ok(())
}
