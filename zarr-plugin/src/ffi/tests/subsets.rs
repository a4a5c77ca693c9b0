//! Codecs that decode subsets.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::codec::{ArrayToBytesCodec, DecodeSubset, EncodedRanges};
use zarr_spec::{
    ArrayRepresentation, ArraySubset, ByteRange, Codec, CodecError, CodecPlugin, Identifiers, Output,
    Representation, Size, Value,
};

use super::{codec, words};

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.subset"), &|_, _| {
    Ok(Codec::ArrayToBytes(Arc::new(Keyed { decodes_subsets: true })))
}));

zarr_spec::register!(CodecPlugin::new(Identifiers::name("test.whole"), &|_, _| {
    Ok(Codec::ArrayToBytes(Arc::new(Keyed { decodes_subsets: false })))
}));

/// Stores a key in the first byte. Decoding combines all other bytes with the key by exclusive or; encoding writes the
/// key 0.
#[derive(Debug)]
struct Keyed {
    decodes_subsets: bool,
}

const ELEMENT: u64 = 2;

impl ArrayToBytesCodec for Keyed {
    fn encoded_size(&self, _array: &ArrayRepresentation) -> Result<Size, CodecError> {
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        _array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        encoded.put(&[0])?;
        Ok(encoded.put(decoded)?)
    }

    fn decode(
        &self,
        _array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let Some((key, bytes)) = encoded.split_first() else { return Err(CodecError::corrupt("no key")) };
        bytes.iter().try_for_each(|byte| Ok(decoded.put(&[byte ^ key])?))
    }

    fn subsets(&self) -> Option<&dyn DecodeSubset> {
        self.decodes_subsets.then_some(self)
    }
}

impl DecodeSubset for Keyed {
    fn index_range(&self, _array: &ArrayRepresentation) -> Result<Option<ByteRange>, CodecError> {
        Ok(Some(ByteRange::Range { offset: 0, size: 1 }))
    }

    fn ranges(
        &self,
        _array: &ArrayRepresentation,
        subset: &ArraySubset,
        index: &[u8],
    ) -> Result<Vec<Range<u64>>, CodecError> {
        if index.len() != 1 {
            return Err(CodecError::corrupt("the key is missing"));
        }
        Ok(subset.ranges().iter().map(|range| 1 + range.start * ELEMENT..1 + range.end * ELEMENT).collect())
    }

    fn decode_subset(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        encoded: &EncodedRanges<'_>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        for range in self.ranges(array, subset, encoded.index())? {
            let key = encoded.index()[0];
            encoded.get(range)?.iter().try_for_each(|byte| decoded.put(&[byte ^ key]))?;
        }
        Ok(())
    }
}

#[test]
fn a_subset_is_decoded_from_the_index_and_the_requested_bytes() {
    let array = words(4);
    let made = codec("test.subset", &Value::Null, &Representation::Array(array.clone())).unwrap();
    let Codec::ArrayToBytes(codec) = made else { panic!("unexpected kind of codec") };
    let codec = codec.subsets().unwrap();
    assert_eq!(codec.index_range(&array).unwrap(), Some(ByteRange::Range { offset: 0, size: 1 }));
    let subset = ArraySubset::new(vec![1..3; 1]);
    assert_eq!(codec.ranges(&array, &subset, &[3]).unwrap(), [3..7; 1]);
    let error = codec.ranges(&array, &subset, &[]).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");

    let encoded = EncodedRanges::new(&[3], vec![(2, &[0, 1, 2, 4, 8, 0])]);
    let mut decoded = Output::exactly(4);
    codec.decode_subset(&array, &subset, &encoded, &mut decoded).unwrap();
    assert_eq!(decoded.written(), [2, 1, 7, 11]);
    let error = codec.decode_subset(&array, &subset, &encoded, &mut Output::at_most(3)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(limit) if limit.limit == 3), "{error}");
    let missing = EncodedRanges::new(&[3], vec![(2, &[0, 1, 2])]);
    let error = codec.decode_subset(&array, &subset, &missing, &mut Output::exactly(4)).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
}

#[test]
fn codecs_that_decode_whole_arrays_declare_no_subsets() {
    let array = words(2);
    let made = codec("test.whole", &Value::Null, &Representation::Array(array)).unwrap();
    let Codec::ArrayToBytes(codec) = made else { panic!("unexpected kind of codec") };
    assert!(codec.subsets().is_none());
}
