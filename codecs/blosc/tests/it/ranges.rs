//! Decoding ranges of a chunk.

use std::ops::Range;

use zarr_codec_blosc::{Blosc, Compressor, Shuffle};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{CodecError, Output};

/// Decodes a range into a buffer of other bytes and returns the whole buffer.
fn decoded_range(encoded: &[u8], size: usize, range: Range<usize>) -> Result<Vec<u8>, CodecError> {
    let codec = Blosc::new(Compressor::Lz4, 5, Shuffle::Byte, 2, 0)?;
    let mut memory = vec![0xa5; size];
    let mut decoded = Output::to(&mut memory);
    codec.decode_range(encoded, range, &mut decoded)?;
    assert_eq!(decoded.remaining(), 0);
    Ok(memory)
}

#[test]
fn only_blocks_that_overlap_the_range_are_decoded() {
    const BLOCK: usize = 1 << 10;
    let elements: Vec<u8> = (0..2660u16).flat_map(|i| (i / 3).to_le_bytes()).collect();
    for (compressor, shuffle) in [
        (Compressor::Lz4, Shuffle::Byte),
        (Compressor::Lz4, Shuffle::Bit),
        (Compressor::Zstd, Shuffle::None),
        (Compressor::Snappy, Shuffle::Byte),
    ] {
        // Without splitting, blocks have the requested size.
        let codec = Blosc::new(compressor, 5, shuffle, 17, BLOCK).unwrap();
        let mut encoded = Output::at_most(1 << 20);
        codec.encode(&elements, &mut encoded).unwrap();
        let encoded = encoded.into_written();
        let block = u32::from_le_bytes(*encoded[8..].first_chunk().unwrap()) as usize;
        assert!((1 << 10) - 17 < block && block <= 1 << 10);
        for range in [0..0, 0..1, block - 1..block + 1, block..2 * block, 3..elements.len() - 3] {
            let decoded = decoded_range(&encoded, elements.len(), range.clone()).unwrap();
            assert_eq!(decoded[range.clone()], elements[range.clone()]);
            let first = range.start / block * block;
            let last = range.end.next_multiple_of(block);
            let outside = decoded.iter().take(first).chain(decoded.iter().skip(last));
            assert!(outside.copied().all(|byte| byte == 0xa5), "{range:?} with {compressor:?}");
        }

        // The second block gets an invalid offset.
        let mut damaged = encoded;
        damaged[20..24].fill(0xff);
        let decoded = decoded_range(&damaged, elements.len(), 2 * block..3 * block).unwrap();
        assert_eq!(decoded[2 * block..3 * block], elements[2 * block..3 * block]);
        let result = decoded_range(&damaged, elements.len(), 2 * block - 1..3 * block);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    }
}

#[test]
fn only_the_range_of_a_stored_buffer_is_copied() {
    let codec = Blosc::new(Compressor::Lz4, 0, Shuffle::None, 1, 0).unwrap();
    let bytes: Vec<u8> = (0..=255).collect();
    let mut encoded = Output::at_most(1 << 10);
    codec.encode(&bytes, &mut encoded).unwrap();
    let decoded = decoded_range(encoded.written(), 256, 7..9).unwrap();
    assert_eq!(decoded[6..10], [0xa5, 7, 8, 0xa5]);
    for (start, end) in [(0, 257), (256, 300), (9, 7)] {
        let result = decoded_range(encoded.written(), 256, start..end);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    }
}
