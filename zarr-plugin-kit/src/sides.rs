//! The decoded and the encoded elements of a codec that maps each number to one number.

use std::sync::Arc;

use crate::numbers::{Number, Operand};
use zarr_json::counted;
use zarr_spec::codec::{CodecError, CodecResult};
use zarr_spec::data_type::DataType;
use zarr_spec::output::Output;
use zarr_spec::representation::{ArrayRepresentation, ByteOrder, FillValue, Representation};

/// Returns the array that a codec expects as its input.
///
/// # Errors
///
/// [`CodecError::Unsupported`] if the preceding codec produces bytes.
pub fn array(decoded: &Representation) -> CodecResult<&ArrayRepresentation> {
    match decoded {
        Representation::Array(array) => Ok(array),
        Representation::Bytes(_) => {
            Err(CodecError::Unsupported("expected an array, but the preceding codec produces bytes".into()))
        }
    }
}

/// The decoded and the encoded elements of a codec, which have the same shape.
///
/// The functions write all elements of a chunk, from the first slice to the second.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sides<N = Number> {
    /// The decoded side.
    pub decoded: N,
    /// The encoded side.
    pub encoded: N,
    /// The data type of the encoded side.
    pub encoded_type: Arc<dyn DataType>,
    /// The byte order of the encoded side, if the configuration declares it, as in v2.
    pub encoded_order: Option<ByteOrder>,
}

impl<N> Sides<N> {
    /// Creates both sides. The encoded side has the byte order of the decoded side.
    #[must_use]
    pub const fn new(decoded: N, encoded: N, encoded_type: Arc<dyn DataType>) -> Self {
        Self { decoded, encoded, encoded_type, encoded_order: None }
    }
}

impl<N: Operand> Sides<N> {
    /// Returns the encoded side: the same shape with its data type, fill value and byte order.
    ///
    /// # Errors
    ///
    /// Those of `encode`; [`CodecError::Unsupported`] if `decoded` has another data type.
    pub fn representation(
        &self,
        decoded: &ArrayRepresentation,
        encode: impl FnOnce(&[u8], &mut [u8]) -> CodecResult,
    ) -> CodecResult<ArrayRepresentation> {
        self.count(decoded)?;
        let fill_value = decoded.fill_value.bytes();
        let size = self.decoded.size();
        if fill_value.len() != size {
            let found = fill_value.len();
            return Err(CodecError::Unsupported(format!(
                "the fill value has {found} bytes; expected {size}"
            )));
        }
        let mut encoded_fill_value = vec![0; self.encoded.size()];
        encode(fill_value, &mut encoded_fill_value)?;
        Ok(ArrayRepresentation::new(
            decoded.shape.clone(),
            Arc::clone(&self.encoded_type),
            FillValue::new(encoded_fill_value),
        )
        .with_byte_order(self.encoded_order.clone().unwrap_or_else(|| decoded.byte_order.clone())))
    }

    /// Encodes a chunk.
    ///
    /// # Errors
    ///
    /// Those of `encode`; [`CodecError::Encode`] if `decoded` does not have the number of elements of `array`.
    pub fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        encode: impl FnOnce(&[u8], &mut [u8]) -> CodecResult,
    ) -> CodecResult {
        let count = self.count(array)?;
        if decoded.len() != count * self.decoded.size() {
            return Err(CodecError::encode(other_size(decoded, count, self.decoded.size())));
        }
        let size = count * self.encoded.size();
        encode(decoded, &mut encoded.spare(size)?[..size])?;
        encoded.advance(size);
        Ok(())
    }

    /// Decodes a chunk.
    ///
    /// # Errors
    ///
    /// Those of `decode`; [`CodecError::Corrupt`] if `encoded` does not have the number of elements of `array`.
    pub fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        decode: impl FnOnce(&[u8], &mut [u8]) -> CodecResult,
    ) -> CodecResult {
        let count = self.count(array)?;
        if encoded.len() != count * self.encoded.size() {
            return Err(CodecError::corrupt(other_size(encoded, count, self.encoded.size())));
        }
        let size = count * self.decoded.size();
        decode(encoded, &mut decoded.spare(size)?[..size])?;
        decoded.advance(size);
        Ok(())
    }

    /// Returns the number of elements, if `array` has the data type of the decoded side.
    fn count(&self, array: &ArrayRepresentation) -> CodecResult<usize> {
        if N::of(&*array.data_type) != Some(self.decoded) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!(
                "it was created for a data type other than `{name}`"
            )));
        }
        let largest = usize::MAX / self.decoded.size().max(self.encoded.size());
        let count = array.element_count().filter(|&count| count <= largest);
        count.ok_or_else(|| {
            CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape))
        })
    }
}

fn other_size(bytes: &[u8], count: usize, size: usize) -> String {
    let found = counted(bytes.len(), "byte", "bytes");
    let count = counted(count, "element", "elements");
    format!("found {found}, expected {count} of {}", counted(size, "byte", "bytes"))
}
