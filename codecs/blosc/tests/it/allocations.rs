//! Memory for buffers that declare more bytes than they contain.

use zarr_conformance::hex;
use zarr_conformance::suite::{CountingAllocator, highest};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{CodecError, Output};

use super::{Blosc, Compressor, Shuffle};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The limit for a chunk of undeclared size.
const LIMIT: usize = 4 << 30;

/// Returns the maximum number of allocated bytes while decoding `encoded`, which is corrupt.
fn taken(encoded: &[u8]) -> usize {
    let blosc = Blosc::new(Compressor::Lz4, 5, Shuffle::Byte, 4, 0).unwrap();
    let mut result = Ok(());
    let taken = highest(|| result = blosc.decode(encoded, &mut Output::at_most(LIMIT))).unwrap();
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    taken
}

/// Returns a header for `blocks` blocks of 512 MiB, and their offsets.
fn claim(inner_format: u8, blocks: u32, shuffle: u8) -> Vec<u8> {
    let starts = 16 + 4 * blocks;
    let encoded_size = starts + 8;
    let mut encoded = vec![2, 1, inner_format << 5 | 16 | shuffle, 4];
    for number in [blocks << 29, 1 << 29, encoded_size] {
        encoded.extend_from_slice(&number.to_le_bytes());
    }
    (0..blocks).for_each(|_| encoded.extend_from_slice(&starts.to_le_bytes()));
    // A stream of four bytes, shared by all blocks.
    encoded.extend_from_slice(&[4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    encoded
}

#[test]
fn a_declared_size_of_two_gibibytes_does_not_allocate_them() {
    for flags in ["11", "13", "31", "33", "51", "53", "71", "73", "91", "93"] {
        let encoded = hex(&format!("0201{flags}04 efffff7f efffff3f 11000000 00"));
        assert!(taken(&encoded) < 1 << 16, "{flags}");
    }
}

#[test]
fn blocks_larger_than_their_streams_can_hold_are_not_allocated() {
    for inner_format in 0..5 {
        for shuffle in [0, 1, 4] {
            let taken = taken(&claim(inner_format, 3, shuffle));
            assert!(taken < 1 << 20, "{inner_format} {shuffle}: {taken}");
        }
    }
}

/// The buffer contains a valid block, followed by 65535 blocks that start at the end of the first one.
#[test]
fn memory_grows_with_the_decoded_blocks() {
    let count: u32 = 1 << 16;
    let blocksize: u32 = 1 << 15;
    for (inner_format, block) in [(1, "1f 00 0100"), (3, "789ced"), (4, "28b52ffd 00")] {
        let block = hex(block);
        let starts = 16 + 4 * count;
        let mut encoded = vec![2, 1, inner_format << 5 | 16, 1];
        let stream = [&block[..], &[0xff; 200]].concat();
        let stream_size = u32::try_from(stream.len()).unwrap();
        for number in [(count * (blocksize - 1)), blocksize - 1, starts + 4 + stream_size] {
            encoded.extend_from_slice(&number.to_le_bytes());
        }
        (0..count).for_each(|_| encoded.extend_from_slice(&starts.to_le_bytes()));
        encoded.extend_from_slice(&stream_size.to_le_bytes());
        encoded.extend_from_slice(&stream);
        let taken = taken(&encoded);
        assert!(taken < 32 * encoded.len(), "{inner_format}: {taken}");
    }
}
