//! The codec `outside.packed12`: array to bytes, with two elements in three bytes.

use std::sync::Arc;

use zarr_plugin_kit::array;
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Size,
};

use crate::{NoConfiguration, TwelveBits, integers};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("outside.packed12"), &create)
        .configuration::<NoConfiguration>()
        .about("Packs two integers of 12 bits into three bytes.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"name": "outside.packed12"}"#).with_data_types(&["outside.int12", "outside.uint12"])];

/// Packs elements of one of the two types.
#[derive(Debug)]
struct Packed(TwelveBits);

impl Packed {
    /// Returns the number of elements in `array` and their packed size in bytes.
    fn sizes(&self, array: &ArrayRepresentation) -> Result<(usize, usize), CodecError> {
        let is_ours = array.data_type.name() == self.0.identifier();
        let count = array.element_count().filter(|count| is_ours && count.checked_mul(3).is_some());
        match count {
            Some(count) => Ok((count, (count * 3).div_ceil(2))),
            None => Err(CodecError::Unsupported(format!(
                "cannot pack an array of shape {:?} and data type `{}`",
                array.shape,
                array.data_type.name()
            ))),
        }
    }
}

impl ArrayToBytesCodec for Packed {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        let (_, packed) = self.sizes(array)?;
        Ok(Size::Exact(packed as u64))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (count, packed) = self.sizes(array)?;
        if decoded.len() != 2 * count {
            return Err(CodecError::encode(format!("{} bytes are not {count} elements", decoded.len())));
        }
        array.data_type.check(decoded).map_err(CodecError::encode)?;
        let room = &mut encoded.spare(packed)?[..packed];
        let mut elements = integers(decoded).map(|element| u32::from(element & 0x0fff));
        for bytes in room.chunks_mut(3) {
            let pair = elements.next().unwrap_or(0) | elements.next().unwrap_or(0) << 12;
            bytes.copy_from_slice(&pair.to_le_bytes()[..bytes.len()]);
        }
        encoded.advance(packed);
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (count, packed) = self.sizes(array)?;
        if encoded.len() != packed {
            return Err(CodecError::corrupt(format!(
                "{} bytes are not {count} packed elements",
                encoded.len()
            )));
        }
        let room = &mut decoded.spare(2 * count)?[..2 * count];
        for (elements, bytes) in room.chunks_mut(4).zip(encoded.chunks(3)) {
            let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
            for (element, bits) in elements.as_chunks_mut().0.iter_mut().zip([bits, bits >> 12]) {
                let [low, high, ..] = bits.to_le_bytes();
                *element = self.0.element(u16::from_le_bytes([low, high])).to_ne_bytes();
            }
        }
        decoded.advance(2 * count);
        Ok(())
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    let data_type = &array(decoded)?.data_type;
    let packed = TwelveBits::of(&**data_type).ok_or_else(|| {
        let name = data_type.name();
        CodecError::Unsupported(format!(
            "data type `{name}` is not supported (expected `outside.int12` or `outside.uint12`)"
        ))
    })?;
    Ok(Codec::ArrayToBytes(Arc::new(Packed(packed))))
}
