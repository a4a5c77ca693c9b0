//! Decoding the content of a chunk.

use zarr_spec::{CodecError, CodecResult, Output};

use crate::header::{Content, Header};
use crate::streams::{Stream, Streams, largest_decoded_size, next_stream};

/// The size of an entry in the table of block positions, in bytes.
const WORD: usize = 4;

/// The maximum decoded size of a chunk that repeats one value, if the array does not determine the size: a few bytes
/// could declare any size.
const MAX_REPEATED: usize = 16 << 20;

/// Decodes the content of a chunk.
pub(crate) fn decode(header: &Header, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
    let content = encoded.get(header.content_at..).unwrap_or_default();
    let wrong_size = || CodecError::corrupt("the content of the chunk is shorter than its header declares");
    let repeated = match header.content {
        Content::Blocks => Blocks::new(header, encoded)?.check()?,
        Content::Stored if content.len() < header.size => return Err(wrong_size()),
        Content::Stored => 0,
        Content::Zeros | Content::NotANumber | Content::Repeated => header.size,
    };
    if repeated > MAX_REPEATED && header.size != decoded.remaining() {
        return Err(CodecError::corrupt(format!("{repeated} repeated bytes are too many for a chunk")));
    }
    let room = &mut decoded.spare(header.size)?[..header.size];
    match header.content {
        Content::Blocks => Blocks::new(header, encoded)?.decode(room)?,
        Content::Stored => room.copy_from_slice(&content[..header.size]),
        Content::Zeros => room.fill(0),
        Content::NotANumber => match header.type_size {
            4 => repeat(&f32::NAN.to_le_bytes(), room)?,
            8 => repeat(&f64::NAN.to_le_bytes(), room)?,
            size => return Err(CodecError::corrupt(format!("elements of {size} bytes cannot be NaN"))),
        },
        Content::Repeated => repeat(content.get(..header.type_size).ok_or_else(wrong_size)?, room)?,
    }
    decoded.advance(header.size);
    Ok(())
}

fn repeat(element: &[u8], decoded: &mut [u8]) -> CodecResult {
    if !decoded.len().is_multiple_of(element.len()) {
        return Err(CodecError::corrupt("the chunk does not consist of whole elements"));
    }
    decoded.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element));
    Ok(())
}

/// The blocks of a chunk.
struct Blocks<'e> {
    header: &'e Header,
    encoded: &'e [u8],
    /// The position of each block.
    starts: &'e [[u8; WORD]],
}

impl<'e> Blocks<'e> {
    fn new(header: &'e Header, encoded: &'e [u8]) -> CodecResult<Self> {
        let count = header.size.div_ceil(header.block_size.max(1));
        let table = count.checked_mul(WORD).and_then(|size| encoded.get(header.content_at..)?.get(..size));
        let table =
            table.ok_or_else(|| CodecError::corrupt("the chunk ends in the positions of its blocks"))?;
        Ok(Self { header, encoded, starts: table.as_chunks::<WORD>().0 })
    }

    /// Returns the streams of a block, and the decoded size of each.
    fn streams(&self, number: usize, block_size: usize) -> CodecResult<(&'e [u8], usize)> {
        let start = usize::try_from(u32::from_le_bytes(self.starts[number])).unwrap_or(usize::MAX);
        let streams = self.encoded.get(start..);
        let streams =
            streams.ok_or_else(|| CodecError::corrupt("a block begins after the end of the chunk"))?;
        // A shorter last block is one stream.
        let is_split = self.header.is_split && block_size == self.header.block_size;
        let stream_size = if is_split { block_size / self.header.type_size } else { block_size };
        if stream_size == 0 || !block_size.is_multiple_of(stream_size) {
            return Err(CodecError::corrupt("a block of the chunk cannot be divided into streams"));
        }
        Ok((streams, stream_size))
    }

    /// Returns the decoded size of a block.
    fn size(&self, number: usize) -> usize {
        self.header.block_size.min(self.header.size - number * self.header.block_size)
    }

    /// Checks that all streams can decode to the size that the header declares, and that blocks do not overlap. Returns
    /// the total decoded size of the streams that repeat one byte.
    fn check(&self) -> CodecResult<usize> {
        let mut stored = self.header.content_at + self.starts.len() * WORD;
        let mut repeated = 0;
        for number in 0..self.starts.len() {
            let block_size = self.size(number);
            let (streams, stream_size) = self.streams(number, block_size)?;
            let mut rest = streams;
            for _ in 0..block_size / stream_size {
                match next_stream(&mut rest)? {
                    Stream::Run(_) => repeated += stream_size,
                    Stream::Bytes(stream) => {
                        let largest = largest_decoded_size(self.header.compressor, stream.len());
                        if stream_size > largest {
                            return Err(CodecError::corrupt(format!(
                                "a stream of {} bytes cannot decode to {stream_size}",
                                stream.len()
                            )));
                        }
                    }
                }
            }
            stored += streams.len() - rest.len();
        }
        match stored <= self.encoded.len() {
            true => Ok(repeated),
            false => Err(CodecError::corrupt("blocks of the chunk overlap")),
        }
    }

    fn decode(&self, decoded: &mut [u8]) -> CodecResult {
        let mut streams = Streams::new(self.header.compressor);
        let mut planes = Vec::new();
        let mut scratch = Vec::new();
        for (number, block) in decoded.chunks_mut(self.header.block_size.max(1)).enumerate() {
            let (mut rest, stream_size) = self.streams(number, block.len())?;
            for stream in block.chunks_exact_mut(stream_size) {
                streams.next(&mut rest, stream)?;
            }
            for filter in &self.header.filters {
                planes.clear();
                planes.extend_from_slice(block);
                let has_partial_groups = self.header.has_partial_groups;
                filter.invert(self.header.type_size, has_partial_groups, &planes, block, &mut scratch);
            }
        }
        Ok(())
    }
}
