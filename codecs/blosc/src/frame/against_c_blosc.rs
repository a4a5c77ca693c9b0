//! Buffers of this crate and of C-Blosc: each decodes those of the other, and both encode identically.

use super::*;
use crate::library;

/// Returns bytes; those at even positions cannot be compressed.
fn half_noise(size: usize) -> Vec<u8> {
    let number = |place: usize| u32::try_from(place).unwrap();
    let noise = |place| (number(place).wrapping_mul(2_654_435_761) >> 11).to_le_bytes()[0];
    (0..size)
        .map(|place| if place % 2 == 0 { noise(place) } else { number(place / 700).to_le_bytes()[0] })
        .collect()
}

/// Returns settings and bytes to encode. They cover whole, split and stored streams, a shorter last block,
/// stored buffers, element counts that are not multiples of eight, and bytes after the last element.
fn cases(compressor: Compressor) -> impl Iterator<Item = (Settings, Vec<u8>)> {
    let sizes = [0, 1, 7, 127, 128, 250, 1024, 4103, 80_007];
    let typesizes = [1, 2, 3, 4, 5, 8, 16, 17, 40, MAX_TYPESIZE];
    let shuffles = [Shuffle::None, Shuffle::Byte, Shuffle::Bit];
    sizes.into_iter().flat_map(move |size| {
        typesizes.into_iter().flat_map(move |typesize| {
            shuffles.into_iter().flat_map(move |shuffle| {
                let levels = [(0, 0), (1, 0), (5, 0), (3, 128), (4, 1000), (2, 70_001)];
                levels.into_iter().map(move |(level, blocksize)| {
                    (Settings { compressor, level, shuffle, typesize, blocksize }, half_noise(size))
                })
            })
        })
    })
}

fn c_blosc(settings: &Settings, decoded: &[u8]) -> Vec<u8> {
    let name = match settings.compressor {
        Compressor::BloscLz | Compressor::Snappy => c"blosclz",
        Compressor::Lz4 => c"lz4",
        Compressor::Lz4Hc => c"lz4hc",
        Compressor::Zlib => c"zlib",
        Compressor::Zstd => c"zstd",
    };
    let mut encoded = vec![0; decoded.len() + OVERHEAD];
    let size = library::compress(name, settings, decoded, &mut encoded).unwrap();
    encoded.truncate(size);
    encoded
}

fn encoded(encoder: &mut Encoder, settings: &Settings, decoded: &[u8]) -> Vec<u8> {
    let mut encoded = vec![0; decoded.len() + OVERHEAD];
    let size = encoder.encode(settings, decoded, &mut encoded).unwrap();
    encoded.truncate(size);
    encoded
}

fn decoded(decoder: &mut Decoder, encoded: &[u8]) -> Result<Vec<u8>, String> {
    let header = Header::parse(encoded).unwrap();
    let mut decoded = vec![0; header.size as usize];
    if !decoded.is_empty() {
        let range = 0..decoded.len();
        match decoder.decode(&header, encoded, range, &mut Output::to(&mut decoded)) {
            Ok(()) => {}
            Err(DecodeFailure::Wrong(why)) => return Err(why),
            Err(DecodeFailure::Target(error)) => return Err(error.to_string()),
        }
    }
    Ok(decoded)
}

#[test]
fn decodes_buffers_of_c_blosc() {
    let mut decoder = Decoder::new();
    for compressor in [Compressor::Lz4, Compressor::Lz4Hc, Compressor::Zstd, Compressor::Zlib] {
        for (settings, wanted) in cases(compressor) {
            let again = decoded(&mut decoder, &c_blosc(&settings, &wanted)).unwrap();
            assert!(again == wanted, "{settings:?}, {} bytes", wanted.len());
        }
    }
}

#[test]
fn encodes_like_c_blosc() {
    let mut encoder = Encoder::new();
    for compressor in [Compressor::Lz4, Compressor::Lz4Hc, Compressor::Zstd] {
        for (settings, decoded) in cases(compressor) {
            let ours = encoded(&mut encoder, &settings, &decoded);
            let theirs = c_blosc(&settings, &decoded);
            assert!(ours == theirs, "{settings:?}, {} bytes", decoded.len());
        }
    }
    // Chunks of typical sizes.
    for level in [1, 5, 8, 9] {
        for compressor in [Compressor::Lz4, Compressor::Lz4Hc, Compressor::Zstd] {
            for (shuffle, typesize) in [(Shuffle::Byte, 2), (Shuffle::Bit, 8), (Shuffle::None, 4)] {
                let settings = Settings { compressor, level, shuffle, typesize, blocksize: 0 };
                let decoded = half_noise(300_003);
                let ours = encoded(&mut encoder, &settings, &decoded);
                let theirs = c_blosc(&settings, &decoded);
                assert!(ours == theirs, "{settings:?}, {} bytes", decoded.len());
            }
        }
    }
}

/// Compares only sizes and flags in the header, since this C-Blosc is built without Snappy.
#[test]
fn chooses_blocks_for_snappy_like_c_blosc() {
    let mut encoder = Encoder::new();
    for (settings, decoded) in cases(Compressor::Snappy) {
        let theirs = Header::parse(&c_blosc(&settings, &decoded)).unwrap();
        let ours = Header::parse(&encoded(&mut encoder, &settings, &decoded)).unwrap();
        assert_eq!((ours.size, ours.blocksize), (theirs.size, theirs.blocksize), "{settings:?}");
        let layout = flag::BYTE_SHUFFLE | flag::BIT_SHUFFLE | flag::NOT_SPLIT;
        assert_eq!(ours.flags & layout, theirs.flags & layout, "{settings:?}");
    }
}

/// Bytes that are read and written in parts of one size.
struct Divided<'a> {
    bytes: &'a [u8],
    part: usize,
    taken: Vec<u8>,
}

impl Divided<'_> {
    fn check(&self, start: usize, size: usize) {
        let expected = self.part.min(self.bytes.len() - start);
        assert_eq!((start % self.part, size), (0, expected), "{} bytes", self.bytes.len());
    }
}

impl PartSource for Divided<'_> {
    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn read(&mut self, start: usize, part: &mut [u8]) -> Result<(), CodecError> {
        self.check(start, part.len());
        part.copy_from_slice(&self.bytes[start..start + part.len()]);
        Ok(())
    }
}

impl PartTarget for Divided<'_> {
    fn write(&mut self, part: &[u8]) -> Result<(), CodecError> {
        self.check(self.taken.len(), part.len());
        self.taken.extend_from_slice(part);
        Ok(())
    }
}

#[test]
fn encoding_in_parts_gives_the_same_buffer() {
    let mut encoder = Encoder::new();
    let mut decoder = Decoder::new();
    let mut stored = 0;
    for compressor in [Compressor::Lz4, Compressor::Snappy, Compressor::Zstd] {
        for (settings, bytes) in cases(compressor) {
            let whole = encoded(&mut encoder, &settings, &bytes);
            let header = Header::parse(&whole).unwrap();
            let Some(part) = part_size(&settings, bytes.len()) else { continue };
            let mut divided = Divided { bytes: &bytes, part, taken: Vec::new() };
            let mut buffer = vec![0; bytes.len() + OVERHEAD];
            let size = encoder.encode_parts(&settings, &mut divided, &mut buffer).unwrap();
            assert!(buffer[..size] == whole, "{settings:?}, {} bytes", bytes.len());
            assert_eq!(part, header.blocksize as usize);
            decoder.decode_parts(&header, &whole, &mut divided).unwrap();
            assert!(divided.taken == bytes, "{settings:?}, {} bytes", bytes.len());
            stored += u32::from(header.flags & flag::STORED != 0);
        }
    }
    assert!(stored > 0);
}
