//! Blocks at the end of an array. N5 stores them without the elements outside of the array.

use std::sync::Arc;
use zarr_plugin_kit::json::{Object, Value};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{
    BoxError, Codec, Creation, Format, Output, Reading, Registry, Representation, Size, printable,
};

use crate::document::{DATA_TYPES, zarr_of};

/// The size in bytes of the first two fields of a block: the mode, and the number of dimensions.
const PREFIX: usize = 4;

/// The form of the blocks of an array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blocks {
    shape: Vec<u64>,
    block: Vec<u64>,
    /// The size of an element in bytes.
    size: usize,
    compression: Option<ExtensionDocument>,
}

impl Blocks {
    /// Returns the form of the blocks of an array, from its document of N5; `None` for another document.
    pub(crate) fn of(document: &Object) -> Option<Self> {
        let numbers = |value: Option<&Value>| -> Option<Vec<u64>> {
            value?.as_array()?.iter().map(Value::as_u64).collect()
        };
        let data_type = document.get("dataType")?.as_str().filter(|name| DATA_TYPES.contains(name))?;
        let bits: usize = data_type.trim_start_matches(|one: char| !one.is_ascii_digit()).parse().ok()?;
        let zarr = zarr_of(document.clone()).ok()?;
        let n5_default = zarr.get("codecs")?.as_array()?.first()?.as_object()?;
        let chain = n5_default.get("configuration")?.as_object()?.get("codecs")?.as_array()?;
        let compression = chain.get(2).and_then(Value::as_object).map(|codec| {
            let name = codec.get("name").and_then(Value::as_str).unwrap_or_default();
            ExtensionDocument::new(name, codec.get("configuration").cloned().unwrap_or(Value::Null))
        });
        Some(Self {
            shape: numbers(document.get("dimensions"))?,
            block: numbers(document.get("blockSize"))?,
            size: bits / 8,
            compression,
        })
    }

    /// Returns a block without the elements outside of the array; `None` if no element of the block is outside. `name`
    /// is the key of the block in the array, such as `0/1`.
    ///
    /// # Errors
    ///
    /// If the block is damaged, or its compression is not known.
    pub(crate) fn cropped(&self, name: &str, encoded: &[u8]) -> Result<Option<Vec<u8>>, BoxError> {
        let indices: Vec<u64> = name.split('/').map_while(|index| index.parse().ok()).collect();
        let rank = self.shape.len();
        let header_size = PREFIX + 4 * rank;
        let has_ranks = indices.len() == rank && self.block.len() == rank;
        let Some((header, payload)) = encoded.split_at_checked(header_size).filter(|_| has_ranks) else {
            return Ok(None);
        };
        let (sizes, _) = header[PREFIX..].as_chunks::<4>();
        let sizes: Vec<usize> = sizes.iter().map(|size| u32::from_be_bytes(*size) as usize).collect();
        let inside = self.inside(&indices, &sizes);
        if header[..2] != [0, 0] || inside == sizes || inside.contains(&0) {
            return Ok(None);
        }
        let bytes =
            |sizes: &[usize]| sizes.iter().try_fold(self.size, |bytes, size| bytes.checked_mul(*size));
        let whole = bytes(&sizes).ok_or("the block is too large")?;
        let compression = self.compression.as_ref().map(codec).transpose()?;
        let decoded = match &compression {
            None => payload.to_vec(),
            Some(codec) => {
                let mut decoded = Output::at_most(whole);
                codec.decode(payload, &mut decoded)?;
                decoded.into_written()
            }
        };
        if decoded.len() != whole {
            return Err(format!("the block has {} bytes, expected {whole}", decoded.len()).into());
        }
        let mut cropped = header[..PREFIX].to_vec();
        for size in &inside {
            cropped.extend(u32::try_from(*size)?.to_be_bytes());
        }
        let mut elements = Vec::with_capacity(bytes(&inside).unwrap_or(0));
        crop(&decoded, &sizes, &inside, self.size, &mut elements);
        match &compression {
            None => cropped.extend_from_slice(&elements),
            Some(codec) => {
                let mut encoded = Output::at_most(usize::MAX);
                codec.encode(&elements, &mut encoded)?;
                cropped.extend_from_slice(encoded.written());
            }
        }
        Ok(Some(cropped))
    }

    /// Returns the sizes of the part of a block that is inside of the array.
    fn inside(&self, indices: &[u64], sizes: &[usize]) -> Vec<usize> {
        let ends = self.shape.iter().zip(&self.block).zip(indices).zip(sizes);
        let inside = ends.map(|(((length, block), index), size)| {
            let rest = length.saturating_sub(block.saturating_mul(*index));
            usize::try_from(rest).map_or(*size, |rest| rest.min(*size))
        });
        inside.collect()
    }
}

/// Copies the first `to` elements of each dimension. The first dimension changes fastest.
fn crop(elements: &[u8], from: &[usize], to: &[usize], size: usize, cropped: &mut Vec<u8>) {
    let (Some((_, inner)), Some((count, inner_to))) = (from.split_last(), to.split_last()) else { return };
    if inner.is_empty() {
        return cropped.extend_from_slice(&elements[..count * size]);
    }
    let stride = size * inner.iter().product::<usize>();
    for part in elements.chunks_exact(stride).take(*count) {
        crop(part, inner, inner_to, size, cropped);
    }
}

/// Creates the codec of a compression.
fn codec(document: &ExtensionDocument) -> Result<Arc<dyn BytesToBytesCodec>, BoxError> {
    let registry = Registry::linked()?;
    let reading = Reading::default();
    let creation = Creation::of(document, Format::V3, &registry, &reading);
    match registry.codec(&creation, &Representation::Bytes(Size::Unknown))? {
        Codec::BytesToBytes(codec) => Ok(codec),
        _ => Err(format!("codec `{}` does not compress bytes", printable(&document.identifier)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_outside_of_an_array_are_removed() {
        let document = zarr_spec::json!({"dimensions": [5, 3], "blockSize": [3, 2], "dataType": "uint16",
            "compression": {"type": "raw"}});
        let blocks = Blocks::of(document.as_object().unwrap()).unwrap();
        let header =
            |sizes: [u32; 2]| [&[0, 0, 0, 2][..], &sizes[0].to_be_bytes(), &sizes[1].to_be_bytes()].concat();
        let full = [header([3, 2]), (0..12).collect()].concat();
        assert_eq!(blocks.cropped("0/0", &full).unwrap(), None);
        let right = [header([2, 2]), vec![0, 1, 2, 3, 6, 7, 8, 9]].concat();
        assert_eq!(blocks.cropped("1/0", &full).unwrap().unwrap(), right);
        assert_eq!(blocks.cropped("1/0", &right).unwrap(), None);
        let below = [header([3, 1]), (0..6).collect()].concat();
        assert_eq!(blocks.cropped("0/1", &full).unwrap().unwrap(), below);
        let corner = [header([2, 1]), (0..4).collect()].concat();
        assert_eq!(blocks.cropped("1/1", &full).unwrap().unwrap(), corner);
        for outside in ["2/0", "x", "0", "0/0/0"] {
            assert_eq!(blocks.cropped(outside, &full).unwrap(), None, "{outside}");
        }
        assert!(blocks.cropped("1/1", &full[..20]).is_err());
    }
}
