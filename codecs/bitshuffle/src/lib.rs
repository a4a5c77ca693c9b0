//! The `bitshuffle` codec: stores the first bits of all elements, then all second bits, and so on.
//!
//! The encoded size is the decoded size. Elements are divided into blocks of `blocksize` elements, a multiple of
//! 8. By default, a block has about 8 KiB and at least 128 elements. The last block is shorter; up to 7 elements
//! at the end are stored unchanged. The codec does not compress: bitshuffle of HDF5 with LZ4 or Zstandard is
//! another format.
//!
//! Two codecs have this name:
//!
//! - [`Bitshuffle`], `imagecodecs_bitshuffle` of v2, in final v3 `numcodecs.imagecodecs_bitshuffle`: bytes to
//!   bytes. `itemsize` is the size of an element in bytes, by default 1.
//! - [`BitshuffleElements`], `imagecodecs_bitshuffle` of final v3: array to bytes. The data type determines the size of
//!   an element; bytes are little endian. imagecodecs 2026.10.10 writes these bytes, but when it reads v3, it treats
//!   every byte as an element.
//!
//! Source: `Bitshuffle` in imagecodecs; the bitshuffle library.

mod bits;
mod elements;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output, Representation, Size, json,
};

use bits::Blocks;
pub use elements::BitshuffleElements;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.imagecodecs_bitshuffle").with_id("imagecodecs_bitshuffle"),
        &create,
    )
    .translated_by(&all_members::<BitshuffleConfiguration>)
    .configuration::<BitshuffleConfiguration>()
    .about("Groups the first bits of all elements, then the second bits, and so on.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.imagecodecs_bitshuffle", "configuration": {"itemsize": 4, "blocksize": 0}}"#,
    )
    .with_data_types(&["int32", "uint32", "float32"]),
    Example::v3(
        r#"{"name": "numcodecs.imagecodecs_bitshuffle", "configuration": {"itemsize": 2, "blocksize": 8}}"#,
    )
    .with_data_types(&["int16", "float64"]),
    Example::v2(r#"{"id": "imagecodecs_bitshuffle", "itemsize": 2, "blocksize": 0}"#)
        .with_data_types(&["int16", "uint16"]),
];

/// Groups the bits of elements by their position in the element.
#[derive(Debug, Clone, Copy)]
pub struct Bitshuffle {
    blocks: Blocks,
}

impl Bitshuffle {
    /// Creates the codec for elements of `item_size` bytes in blocks of `block_size` elements; 0 is the default.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if `item_size` is 0 or `block_size` is not a multiple of 8.
    pub fn new(item_size: usize, block_size: usize) -> Result<Self, CodecError> {
        Ok(Self { blocks: Blocks::new(item_size, block_size)? })
    }
}

impl From<Bitshuffle> for CodecEntry {
    fn from(Bitshuffle { blocks }: Bitshuffle) -> Self {
        Self::new(
            "numcodecs.imagecodecs_bitshuffle",
            json!({"itemsize": blocks.item_size, "blocksize": blocks.declared()}),
        )
    }
}

impl BytesToBytesCodec for Bitshuffle {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.blocks.check(decoded.len()).map_err(CodecError::encode)?;
        self.blocks.split(decoded, &mut encoded.spare(decoded.len())?[..decoded.len()]);
        encoded.advance(decoded.len());
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.blocks.check(encoded.len()).map_err(CodecError::corrupt)?;
        self.blocks.join(encoded, &mut decoded.spare(encoded.len())?[..encoded.len()]);
        decoded.advance(encoded.len());
        Ok(())
    }
}

/// The configuration, which is the same in v2 and v3. Written documents contain all members.
#[derive(Serialize, Deserialize)]
struct BitshuffleConfiguration {
    #[serde(default = "one")]
    itemsize: u32,
    #[serde(default)]
    blocksize: u32,
}

fn one() -> u32 {
    1
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    let BitshuffleConfiguration { itemsize, blocksize } = creation.parse()?;
    let bytes = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Codec::BytesToBytes(Arc::new(Bitshuffle::new(bytes(itemsize), bytes(blocksize))?)))
}
