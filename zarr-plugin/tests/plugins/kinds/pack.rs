//! The codec `kinds.pack12`: packs two elements of `kinds.uint12` into three bytes, lower bits of the first one first.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{ArrayToBytesCodec, Codec, CodecError, CodecPlugin};
use zarr_spec::{ArrayRepresentation, Creation, Example, Identifiers, Output, Representation, Size};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("kinds.pack12"), &create)
        .configuration::<NoConfiguration>()
        .about("Stores two numbers of 12 bits in three bytes.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"name": "kinds.pack12"}"#).with_data_types(&["kinds.uint12"]).with_shape(&[3, 3])];

/// Two numbers in three bytes.
#[derive(Debug)]
struct Pack12;

impl ArrayToBytesCodec for Pack12 {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        let count =
            array.element_count().ok_or_else(|| CodecError::Unsupported("too many elements".into()))?;
        Ok(Size::Exact((count as u64 * 3).div_ceil(2)))
    }

    fn encode(
        &self,
        _: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let mut numbers = decoded.as_chunks().0.iter().map(|&bytes| u16::from_ne_bytes(bytes));
        while let Some(first) = numbers.next() {
            let [low, high] = first.to_le_bytes();
            match numbers.next() {
                Some(second) => {
                    let [second, last] = (second << 4).to_le_bytes();
                    encoded.put(&[low, high | second, last])?;
                }
                None => encoded.put(&[low, high])?,
            }
        }
        Ok(())
    }

    fn decode(
        &self,
        _: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        for bytes in encoded.chunks(3) {
            match *bytes {
                [low, middle, high] => {
                    decoded.put(&u16::from_le_bytes([low, middle & 15]).to_ne_bytes())?;
                    decoded.put(&(u16::from_le_bytes([middle, high]) >> 4).to_ne_bytes())?;
                }
                [low, high] if high < 16 => decoded.put(&u16::from_le_bytes([low, high]).to_ne_bytes())?,
                _ => return Err(CodecError::corrupt("the end is not that of a packed number")),
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    let Representation::Array(array) = decoded else {
        return Err(CodecError::Unsupported("expected an array, but found bytes".into()));
    };
    match &*array.data_type.name() {
        "kinds.uint12" => Ok(Codec::ArrayToBytes(Arc::new(Pack12))),
        other => Err(CodecError::Unsupported(format!("expected data type kinds.uint12, but found {other}"))),
    }
}
