//! Memory that buffers take which claim more than they hold.

use zarr_conformance::hex;
use zarr_conformance::suite::{CountingAllocator, highest};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{CodecError, Output};

use super::{Blosc, Compressor, Shuffle};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The limit of a chunk whose size nothing declares.
const LIMIT: usize = 4 << 30;

/// The most bytes that were allocated to decode `encoded`, which is corrupt.
fn taken(encoded: &[u8]) -> usize {
    let blosc = Blosc::new(Compressor::Lz4, 5, Shuffle::Byte, 4, 0).unwrap();
    let mut result = Ok(());
    let taken = highest(|| result = blosc.decode(encoded, &mut Output::at_most(LIMIT))).unwrap();
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    taken
}

/// A header of that inner format for `blocks` blocks of 512 MiB, and the table of their starts.
fn claim(inner_format: u8, blocks: u32, shuffle: u8) -> Vec<u8> {
    let starts = 16 + 4 * blocks;
    let encoded_size = starts + 8;
    let mut encoded = vec![2, 1, inner_format << 5 | 16 | shuffle, 4];
    for number in [blocks << 29, 1 << 29, encoded_size] {
        encoded.extend_from_slice(&number.to_le_bytes());
    }
    (0..blocks).for_each(|_| encoded.extend_from_slice(&starts.to_le_bytes()));
    // A stream of four bytes, which all blocks share.
    encoded.extend_from_slice(&[4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    encoded
}

#[test]
fn seventeen_bytes_that_claim_two_gibibytes_take_no_memory_for_them() {
    for flags in ["11", "13", "31", "33", "51", "53", "71", "73", "91", "93"] {
        let encoded = hex(&format!("0201{flags}04 efffff7f efffff3f 11000000 00"));
        assert!(taken(&encoded) < 1 << 16, "{flags}");
    }
}

#[test]
fn blocks_that_claim_more_than_their_streams_can_hold_take_no_memory_for_them() {
    for inner_format in 0..5 {
        for shuffle in [0, 1, 4] {
            let taken = taken(&claim(inner_format, 3, shuffle));
            assert!(taken < 1 << 20, "{inner_format} {shuffle}: {taken}");
        }
    }
}

/// A valid block, and 65535 blocks more that start where it ends.
#[test]
fn memory_grows_with_the_blocks_that_were_decoded() {
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
