//! The same layout with an inner format that C-Blosc knows too: each reads what the other wrote.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use zarr_spec::Output;
use zarr_spec::codec::BytesToBytesCodec as _;

use super::*;
use crate::{Compressor, MAX_TYPESIZE};

struct Zlib(Vec<u8>);

impl InnerFormat for Zlib {
    const NUMBER: u8 = 3;
    const VERSION: u8 = 1;

    fn compress(&mut self, decoded: &[u8]) -> Option<&[u8]> {
        let mut encoder = ZlibEncoder::new(std::mem::take(&mut self.0), Compression::fast());
        encoder.get_mut().clear();
        encoder.write_all(decoded).unwrap();
        self.0 = encoder.finish().unwrap();
        Some(&self.0)
    }

    fn decompress(&mut self, encoded: &[u8], decoded: &mut [u8]) -> bool {
        ZlibDecoder::new(encoded).read_exact(decoded).is_ok()
    }
}

/// Bytes of which the even ones do not compress.
fn half_noise(size: usize) -> Vec<u8> {
    let number = |place: usize| u32::try_from(place).unwrap();
    let noise = |place| (number(place).wrapping_mul(2_654_435_761) >> 11).to_le_bytes()[0];
    (0..size)
        .map(|place| if place % 2 == 0 { noise(place) } else { number(place / 700).to_le_bytes()[0] })
        .collect()
}

/// What to encode with, and how much: streams that are whole, split, stored, in a shorter last block, and buffers
/// that are stored; elements in eights and not, and bytes after the last one.
fn cases() -> impl Iterator<Item = (Blosc, Vec<u8>)> {
    let sizes = [1, 7, 127, 128, 250, 1024, 4103, 65_545, 150_007];
    let typesizes = [1, 2, 3, 4, 5, 8, 16, 17, 40, MAX_TYPESIZE];
    let shuffles = [Shuffle::None, Shuffle::Byte, Shuffle::Bit];
    sizes.into_iter().flat_map(move |size| {
        typesizes.into_iter().flat_map(move |typesize| {
            shuffles.into_iter().flat_map(move |shuffle| {
                let levels = [(0, 0), (1, 0), (5, 0), (9, 128), (4, 1000), (2, 70_001)];
                levels.into_iter().map(move |(level, blocksize)| {
                    let blosc = Blosc::new(Compressor::Zlib, level, shuffle, typesize, blocksize).unwrap();
                    (blosc, half_noise(size))
                })
            })
        })
    })
}

#[test]
fn reads_what_c_blosc_wrote() {
    for (blosc, decoded) in cases() {
        let mut encoded = Output::at_most(usize::MAX);
        blosc.encode(&decoded, &mut encoded).unwrap();
        let header = Header::parse(encoded.written()).unwrap();
        let mut again = vec![0; decoded.len()];
        super::decode(&header, encoded.written(), &mut again, &mut Zlib(Vec::new())).unwrap();
        assert!(again == decoded, "{blosc:?}, {} bytes", decoded.len());
    }
}

#[test]
fn writes_what_c_blosc_reads() {
    for (blosc, decoded) in cases() {
        let mut encoded = vec![0; decoded.len() + OVERHEAD];
        let size = super::encode(&blosc, &decoded, &mut encoded, &mut Zlib(Vec::new())).unwrap();
        let mut again = Output::exactly(decoded.len());
        blosc.decode(&encoded[..size], &mut again).unwrap();
        assert!(again.written() == decoded, "{blosc:?}, {} bytes", decoded.len());
    }
}

/// The sizes that a header has, and its flags, for a compressor of the same kind.
#[test]
fn chooses_blocks_as_c_blosc_does() {
    for (blosc, decoded) in cases() {
        let lz = Blosc { compressor: Compressor::BloscLz, ..blosc };
        let mut theirs = Output::at_most(usize::MAX);
        lz.encode(&decoded, &mut theirs).unwrap();
        let theirs = Header::parse(theirs.written()).unwrap();
        let mut ours = vec![0; decoded.len() + OVERHEAD];
        let size = super::encode(&blosc, &decoded, &mut ours, &mut Zlib(Vec::new())).unwrap();
        let ours = Header::parse(&ours[..size]).unwrap();
        assert_eq!((ours.size, ours.blocksize), (theirs.size, theirs.blocksize), "{blosc:?}");
        let layout = flag::BYTE_SHUFFLE | flag::BIT_SHUFFLE | flag::NOT_SPLIT;
        assert_eq!(ours.flags & layout, theirs.flags & layout, "{blosc:?}");
    }
}
