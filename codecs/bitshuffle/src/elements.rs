//! `imagecodecs_bitshuffle` of final v3, from elements to bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_plugin_kit::array;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, DataType, Elements, Example, Format,
    Identifiers, Output, Representation, Size, Units, json,
};

use crate::bits::Blocks;

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("imagecodecs_bitshuffle"), &create)
        .translated_by(&all_members::<ElementsConfiguration>)
        .configuration::<ElementsConfiguration>()
        .about("Groups the first bits of all elements, then the second bits, and so on.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_bitshuffle", "configuration": {"blocksize": 0}}"#)
        .with_data_types(&["uint8", "int16", "int32", "float64"]),
    Example::v3(r#"{"name": "imagecodecs_bitshuffle", "configuration": {"blocksize": 8}}"#)
        .with_data_types(&["uint8", "int16", "int32", "float64"]),
];

/// Groups the bits of the elements of an array by their position in the element.
#[derive(Debug, Clone, Copy)]
pub struct BitshuffleElements {
    blocks: Blocks,
    item_size: usize,
    /// The size in bytes of the numbers in an element. The numbers are stored in little endian.
    unit_size: usize,
}

impl BitshuffleElements {
    /// Creates the codec for elements of `data_type` in blocks of `block_size` elements; 0 is the default.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] for elements of variable size and structures,
    /// [`CodecError::InvalidConfiguration`] if `block_size` is not a multiple of 8.
    pub fn new(data_type: &dyn DataType, block_size: usize) -> Result<Self, CodecError> {
        let Elements::Fixed { size: item_size @ 1.., units: Units::Uniform(unit_size) } =
            data_type.elements()
        else {
            return Err(CodecError::Unsupported(format!(
                "elements of data type `{}` do not have bits at fixed positions",
                data_type.name()
            )));
        };
        Ok(Self { blocks: Blocks::new(item_size, block_size)?, item_size, unit_size })
    }

    /// Returns the size of the chunk in bytes.
    fn size(&self, array: &ArrayRepresentation) -> Result<usize, CodecError> {
        if array.data_type.elements().size() != Some(self.item_size) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!(
                "the codec was created for a data type other than `{name}`"
            )));
        }
        array.element_count().and_then(|count| count.checked_mul(self.item_size)).ok_or_else(|| {
            CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape))
        })
    }

    /// Converts between native bytes and little endian.
    fn swap(&self, elements: &mut [u8]) {
        if cfg!(target_endian = "big") && self.unit_size > 1 {
            elements.chunks_exact_mut(self.unit_size).for_each(<[u8]>::reverse);
        }
    }
}

impl From<BitshuffleElements> for CodecEntry {
    fn from(codec: BitshuffleElements) -> Self {
        let mut entry = Self::new("imagecodecs_bitshuffle", json!({"blocksize": codec.blocks.declared()}));
        // In v2, this name is the identifier of `Bitshuffle`.
        entry.format = Some(Format::V3);
        entry
    }
}

impl ArrayToBytesCodec for BitshuffleElements {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(Size::Exact(self.size(array)? as u64))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let size = self.size(array)?;
        if decoded.len() != size {
            let found = decoded.len();
            return Err(CodecError::encode(format!("the chunk has {found} bytes; expected {size}")));
        }
        let room = &mut encoded.spare(size)?[..size];
        if cfg!(target_endian = "big") {
            let mut little = decoded.to_vec();
            self.swap(&mut little);
            self.blocks.split(&little, room);
        } else {
            self.blocks.split(decoded, room);
        }
        encoded.advance(size);
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let size = self.size(array)?;
        if encoded.len() != size {
            let found = encoded.len();
            return Err(CodecError::corrupt(format!("the chunk has {found} bytes; expected {size}")));
        }
        let room = &mut decoded.spare(size)?[..size];
        self.blocks.join(encoded, room);
        self.swap(room);
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
struct ElementsConfiguration {
    #[serde(default)]
    blocksize: u32,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let ElementsConfiguration { blocksize } = creation.parse()?;
    let block_size = usize::try_from(blocksize).unwrap_or(usize::MAX);
    let codec = BitshuffleElements::new(&*array(decoded)?.data_type, block_size)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
