//! The header of a chunk.

use zarr_spec::{CodecError, CodecResult};

use crate::filters::Filter;

/// The size in bytes of the header of Blosc1, and of the extended header.
const SIZE: usize = 16;
const EXTENDED_SIZE: usize = 32;

/// The newest version of the format that is read.
const LAST_VERSION: u8 = 5;

/// The first version whose bit shuffle accepts any number of elements, and copies those after the last group of eight.
const FIRST_WITH_PARTIAL_GROUPS: u8 = 3;

/// The flags of Blosc1. The three highest bits are the number of the compressor.
const BYTE_SHUFFLE: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLE: u8 = 4;
const DELTA: u8 = 8;
const NOT_SPLIT: u8 = 16;

/// The flags of Blosc2 that change the form of a chunk: a dictionary, a longer header, a compressor for each stream,
/// a chunk without its blocks, and an instrumented chunk.
const UNSUPPORTED: u8 = 0x8f;

/// The number of filters that the header can hold.
const FILTERS: usize = 6;

/// The content after the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Blocks of compressed streams.
    Blocks,
    /// The bytes themselves.
    Stored,
    /// Nothing: all bytes are zero.
    Zeros,
    /// Nothing: all elements are NaN.
    NotANumber,
    /// One element, which is repeated.
    Repeated,
}

/// The fields of the header that decoding needs.
#[derive(Debug)]
pub(crate) struct Header {
    /// The number of decoded bytes in the chunk, and in a full block.
    pub(crate) size: usize,
    pub(crate) block_size: usize,
    /// The size of an element in bytes.
    pub(crate) type_size: usize,
    /// The position of the content in the chunk, in bytes.
    pub(crate) content_at: usize,
    pub(crate) content: Content,
    /// The number of the compressor.
    pub(crate) compressor: u8,
    /// Whether each full block is divided into one stream per byte of an element.
    pub(crate) is_split: bool,
    /// The filters to invert, in this order.
    pub(crate) filters: Vec<Filter>,
    /// Whether a bit shuffle applies to all complete groups of eight elements, even if more elements follow.
    pub(crate) has_partial_groups: bool,
}

impl Header {
    /// Reads the header of a chunk and checks its sizes.
    pub(crate) fn parse(encoded: &[u8]) -> CodecResult<Self> {
        let corrupt = |what: String| Err(CodecError::corrupt(what));
        let Some(&[version, _, flags, type_size, ref sizes @ ..]) = encoded.first_chunk::<SIZE>() else {
            return corrupt(format!("{} bytes are not a chunk of Blosc2", encoded.len()));
        };
        if version > LAST_VERSION {
            return corrupt(format!("version {version} of the Blosc format is not supported"));
        }
        let [size, block_size, encoded_size] = [0, 4, 8]
            .map(|at| u32::from_le_bytes([sizes[at], sizes[at + 1], sizes[at + 2], sizes[at + 3]]) as usize);
        if encoded_size != encoded.len() {
            let found = encoded.len();
            return corrupt(format!("the chunk has {found} bytes, but its header declares {encoded_size}"));
        }
        let is_extended = flags & BYTE_SHUFFLE != 0 && flags & BIT_SHUFFLE != 0;
        let mut header = Self {
            size,
            block_size,
            type_size: type_size.into(),
            content_at: if is_extended { EXTENDED_SIZE } else { SIZE },
            content: if flags & STORED != 0 { Content::Stored } else { Content::Blocks },
            compressor: flags >> 5,
            is_split: flags & NOT_SPLIT == 0,
            filters: Vec::new(),
            has_partial_groups: version >= FIRST_WITH_PARTIAL_GROUPS,
        };
        if is_extended {
            header.extend(encoded)?;
        } else if flags & DELTA != 0 {
            return corrupt("the delta filter of Blosc is not supported".to_owned());
        } else if flags & BYTE_SHUFFLE != 0 {
            header.filters.push(Filter::Bytes);
        } else if flags & BIT_SHUFFLE != 0 {
            header.filters.push(Filter::Bits);
        }
        if header.type_size == 0 || (header.content == Content::Blocks && size > 0 && block_size == 0) {
            return corrupt("the header of the chunk has a size of 0".to_owned());
        }
        Ok(header)
    }

    /// Reads the second half of an extended header.
    fn extend(&mut self, encoded: &[u8]) -> CodecResult {
        let extension = encoded.get(SIZE..EXTENDED_SIZE).and_then(<[u8]>::first_chunk::<SIZE>);
        let Some(extension) = extension else {
            return Err(CodecError::corrupt("the chunk ends in its header"));
        };
        let flags = extension[SIZE - 1];
        if flags & UNSUPPORTED != 0 {
            return Err(CodecError::corrupt(format!(
                "flags {flags:#04x} of a Blosc2 chunk are not supported"
            )));
        }
        self.content = match flags >> 4 {
            0 => self.content,
            // Kind 4 marks elements that were never written. They may have any value, and are read as zeros.
            1 | 4 => Content::Zeros,
            2 => Content::NotANumber,
            3 => Content::Repeated,
            kind => return Err(CodecError::corrupt(format!("special value {kind} of Blosc2 is not known"))),
        };
        let codes = extension[..FILTERS].iter().zip(&extension[FILTERS + 2..]);
        for (code, meta) in codes {
            match (code, meta) {
                // No filter, or a filter that removed bits before compression. The bits cannot be restored.
                (0 | 4, _) => {}
                (1, 0) => self.filters.insert(0, Filter::Bytes),
                (2, 0) => self.filters.insert(0, Filter::Bits),
                _ => {
                    return Err(CodecError::corrupt(format!(
                        "filter {code} of a Blosc2 chunk with parameter {meta} is not supported"
                    )));
                }
            }
        }
        Ok(())
    }
}
