//! The `n5.lz4` codec: the compression `lz4` of N5 containers, a stream of blocks in the form of lz4-java.
//!
//! Bytes to bytes. The encoded size depends on the data. The sizes in each header are checked before memory is allocated.
//!
//! | bytes | content of a block, little endian |
//! |---|---|
//! | 8 | `LZ4Block` |
//! | 1 | 16 for stored bytes or 32 for LZ4, plus the binary logarithm of the size of the largest block, less 10 |
//! | 4 | the compressed size |
//! | 4 | the decompressed size |
//! | 4 | the lower 28 bits of the XXH32 of the decompressed bytes, with a fixed seed |
//! | … | the compressed bytes |
//!
//! An empty block ends the stream. Each block is decompressed without the ones before it. `blockSize` is the largest number
//! of decompressed bytes in a block, 65,536 by default.
//!
//! The store for N5 containers gives this name to their compression; Zarr hierarchies of other programs do not have it.
//!
//! Source: `Lz4Compression` in the N5 specification 4.0; `LZ4BlockOutputStream` in lz4-java.

use std::sync::Arc;

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("n5.lz4"), &create)
        .configuration::<Lz4Configuration>()
        .about("Compresses to blocks of LZ4, as N5 does.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"name": "n5.lz4", "configuration": {"blockSize": 65536}}"#)];

const MAGIC: &[u8; 8] = b"LZ4Block";

/// The size of a header in bytes.
const HEADER: usize = 21;

const STORED: u8 = 0x10;
const COMPRESSED: u8 = 0x20;

/// The number that is subtracted from the logarithm of the largest block.
const BASE: u8 = 10;

/// The sizes in bytes of the smallest and the largest block that lz4-java reads.
const SMALLEST: usize = 64;
const LARGEST: usize = 1 << 25;

const DEFAULT_BLOCK: usize = 1 << 16;

/// The seed of the checksums, and a mask of their stored bits.
const SEED: u32 = 0x9747_b28c;
const MASK: u32 = 0x0fff_ffff;

/// Compresses to blocks of LZ4, as N5 does.
#[derive(Debug)]
pub struct N5Lz4 {
    block_size: usize,
}

impl N5Lz4 {
    /// Creates the codec for blocks of at most `block_size` decompressed bytes.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for less than 64 bytes and for more than 32 MiB.
    pub fn new(block_size: usize) -> CodecResult<Self> {
        match block_size {
            SMALLEST..=LARGEST => Ok(Self { block_size }),
            _ => Err(CodecError::configuration(format!(
                "`blockSize` is {block_size}; expected {SMALLEST} to {LARGEST}"
            ))),
        }
    }
}

impl From<N5Lz4> for CodecEntry {
    fn from(codec: N5Lz4) -> Self {
        Self::new("n5.lz4", json!({"blockSize": (codec.block_size)}))
    }
}

#[derive(Deserialize)]
struct Lz4Configuration {
    /// The largest number of decompressed bytes in a block.
    #[serde(rename = "blockSize")]
    block_size: Option<u64>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let Lz4Configuration { block_size } = creation.parse()?;
    let block_size = block_size.map_or(Ok(DEFAULT_BLOCK), usize::try_from).unwrap_or(usize::MAX);
    Ok(Codec::BytesToBytes(Arc::new(N5Lz4::new(block_size)?)))
}

impl BytesToBytesCodec for N5Lz4 {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let logarithm = self.block_size.next_power_of_two().trailing_zeros();
        let level = u8::try_from(logarithm).unwrap_or(u8::MAX).saturating_sub(BASE);
        let mut compressed = vec![0; get_maximum_output_size(self.block_size.min(decoded.len()))];
        for block in decoded.chunks(self.block_size) {
            let size = compress_into(block, &mut compressed).map_err(CodecError::encode)?;
            let (method, bytes) = match compressed.get(..size) {
                Some(compressed) if size < block.len() => (COMPRESSED, compressed),
                _ => (STORED, block),
            };
            encoded.put(&header(method | level, bytes.len(), block)?)?;
            encoded.put(bytes)?;
        }
        Ok(encoded.put(&header(STORED | level, 0, &[])?)?)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let mut rest = encoded;
        loop {
            let (header, following) = rest.split_at_checked(HEADER).ok_or_else(cut_off)?;
            let number = |at: usize| {
                let bytes = header.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
                bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
            };
            let token = header[MAGIC.len()];
            let size = number(9) as usize;
            let decoded_size = number(13) as usize;
            let checksum = number(17);
            let method = token & 0xf0;
            let is_known = header.starts_with(MAGIC) && [STORED, COMPRESSED].contains(&method);
            let largest = 1_usize << (BASE + (token & 0x0f));
            if !is_known || decoded_size > largest || (method == STORED && size != decoded_size) {
                return Err(CodecError::corrupt("the header of a block of LZ4 is damaged"));
            }
            if decoded_size == 0 {
                return match size == 0 && checksum == 0 {
                    true => Ok(()),
                    false => Err(CodecError::corrupt("the last block of LZ4 is not empty")),
                };
            }
            let (bytes, following) = following.split_at_checked(size).ok_or_else(cut_off)?;
            let block = &mut decoded.spare(decoded_size)?[..decoded_size];
            match method {
                STORED => block.copy_from_slice(bytes),
                _ => {
                    let written = decompress_into(bytes, block).map_err(CodecError::corrupt)?;
                    if written != decoded_size {
                        return Err(CodecError::corrupt("a block of LZ4 is shorter than it declares"));
                    }
                }
            }
            if checksum_of(block) != checksum {
                return Err(CodecError::corrupt("the checksum of a block of LZ4 differs from its bytes"));
            }
            decoded.advance(decoded_size);
            rest = following;
        }
    }
}

fn cut_off() -> CodecError {
    CodecError::corrupt("the stream of LZ4 blocks is cut off")
}

fn header(token: u8, size: usize, block: &[u8]) -> CodecResult<Vec<u8>> {
    let number = |size: usize| u32::try_from(size).map_err(CodecError::encode);
    let checksum = if block.is_empty() { 0 } else { checksum_of(block) };
    let numbers = [number(size)?, number(block.len())?, checksum];
    let mut header = [MAGIC, &[token][..]].concat();
    header.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    Ok(header)
}

fn checksum_of(bytes: &[u8]) -> u32 {
    xxh32(bytes, SEED) & MASK
}

const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];

/// XXH32. Source: "xxHash fast digest algorithm", version 0.1.1.
fn xxh32(bytes: &[u8], seed: u32) -> u32 {
    let [p1, p2, p3, p4, p5] = PRIMES;
    let (stripes, rest) = bytes.as_chunks::<16>();
    let mut hash = seed.wrapping_add(p5);
    if !stripes.is_empty() {
        let starts = [p1.wrapping_add(p2), p2, 0, 0_u32.wrapping_sub(p1)];
        let mut lanes = starts.map(|start| seed.wrapping_add(start));
        for stripe in stripes {
            let (words, _) = stripe.as_chunks::<4>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                let added = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(p2));
                *lane = added.rotate_left(13).wrapping_mul(p1);
            }
        }
        let rotations = [1, 7, 12, 18];
        let rotated = lanes.iter().zip(rotations).map(|(lane, by)| lane.rotate_left(by));
        hash = rotated.fold(0, u32::wrapping_add);
    }
    // The algorithm adds the size modulo 2 to the power of 32.
    let size = bytes.len() as u64 & u64::from(u32::MAX);
    hash = hash.wrapping_add(u32::try_from(size).unwrap_or(0));
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        let added = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(p3));
        hash = added.rotate_left(17).wrapping_mul(p4);
    }
    for byte in rest {
        let added = hash.wrapping_add(u32::from(*byte).wrapping_mul(p5));
        hash = added.rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(p2);
    hash = (hash ^ (hash >> 13)).wrapping_mul(p3);
    hash ^ (hash >> 16)
}
