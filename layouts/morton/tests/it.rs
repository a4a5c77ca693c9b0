//! The Morton layout: a naive reference, and elements of every size.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::types::{self, Number};
use zarr_conformance::{array, creation};
use zarr_layout_morton::{Morton, positions};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, DataType, DataTypeError, Elements, FillValue, Format,
    Mode, Output, Registry, Units, Value,
};

const URI: &str = "https://zarr-kit.example/spec/layouts/morton/1.0";

/// Sorts all positions by their codes, which are computed bit by bit like in the specification.
fn reference(shape: &[u64]) -> Vec<usize> {
    let count: u64 = shape.iter().product();
    let point = |mut position: u64| {
        let mut point: Vec<u64> =
            shape.iter().rev().map(|length| (position % length, position /= length).0).collect();
        point.reverse();
        point
    };
    let code = |position: u64| {
        let point = point(position);
        let bits = (0..16).rev().flat_map(|bit| point.iter().map(move |index| index >> bit & 1));
        bits.collect::<Vec<u64>>()
    };
    let mut all: Vec<u64> = (0..count).collect();
    all.sort_by_key(|&position| code(position));
    all.into_iter().map(|position| usize::try_from(position).unwrap()).collect()
}

fn shapes() -> impl Iterator<Item = Vec<u64>> {
    let two = (0..=9).flat_map(|rows| (0..=9).map(move |columns| vec![rows, columns]));
    let three = [[2, 3, 5], [1, 7, 4], [4, 4, 4], [5, 1, 1], [3, 0, 2], [8, 2, 3]].map(Vec::from);
    let others = [vec![], vec![1], vec![11], vec![300, 3], vec![2, 3, 2, 1, 5], vec![2; 10]];
    two.chain(three).chain(others)
}

#[test]
fn the_order_follows_the_codes_for_every_shape() {
    for shape in shapes() {
        let order = positions(&shape).unwrap();
        assert_eq!(order, reference(&shape), "{shape:?}");
        let mut all = order;
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..all.len()), "{shape:?}: each element once");
    }
}

#[test]
fn the_example_of_the_specification_is_ordered_as_printed() {
    assert_eq!(positions(&[2, 2]).unwrap(), [0, 1, 2, 3]);
    assert_eq!(positions(&[3, 5]).unwrap(), [0, 1, 5, 6, 2, 3, 7, 8, 10, 11, 12, 13, 4, 9, 14]);
    let array = array(&[3, 5], types::UINT8);
    let decoded: Vec<u8> = (0..15).collect();
    let mut encoded = Output::exactly(15);
    Morton::new().encode(&array, &decoded, &mut encoded).unwrap();
    assert_eq!(encoded.written(), [0, 1, 5, 6, 2, 3, 7, 8, 10, 11, 12, 13, 4, 9, 14]);
}

#[test]
fn chunks_that_cannot_be_addressed_are_refused() {
    for shape in [vec![u64::MAX, 2], vec![1 << 62, 1], vec![u64::MAX; 3]] {
        assert!(matches!(positions(&shape), Err(CodecError::Unsupported(_))), "{shape:?}");
    }
    assert_eq!(positions(&[u64::MAX, u64::MAX, 0]).unwrap(), [0; 0]);
}

/// A data type of raw bytes.
#[derive(Debug)]
struct Sized(usize);

impl DataType for Sized {
    fn name(&self) -> std::borrow::Cow<'_, str> {
        format!("r{}", self.0 * 8).into()
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: self.0, units: Units::Uniform(1) }
    }

    fn kind(&self) -> Option<zarr_spec::data_type::Kind> {
        None
    }

    fn document(
        &self,
        _format: Format,
        _order: &ByteOrder,
    ) -> Result<zarr_spec::data_type::DataTypeDocument, DataTypeError> {
        Err(DataTypeError::Unknown(String::new()))
    }

    fn fill_value(
        &self,
        json: &Value,
        _context: &zarr_spec::data_type::FillContext<'_>,
    ) -> Result<FillValue, DataTypeError> {
        Err(DataTypeError::FillValue(json.to_string()))
    }

    fn fill_value_json(
        &self,
        _element: &[u8],
        _format: Format,
        _order: &ByteOrder,
    ) -> Result<Value, DataTypeError> {
        Err(DataTypeError::FillValue(String::new()))
    }

    fn print(&self, _element: &[u8], _to: &mut dyn std::fmt::Write) -> std::fmt::Result {
        Ok(())
    }
}

/// Returns elements that differ as far as their size permits.
fn elements(count: usize, size: usize) -> Vec<u8> {
    (0..count * size).map(|byte| u8::try_from((byte * 31 + byte / 251) % 256).unwrap()).collect()
}

#[test]
fn elements_of_every_size_round_trip() {
    let codec = Morton::new();
    for size in (0..=17).chain([24, 32, 100]) {
        for shape in [vec![3, 5], vec![1, 1], vec![0, 4], vec![4, 2, 3], vec![7, 7]] {
            let array = ArrayRepresentation::new(shape.clone(), Arc::new(Sized(size)), FillValue::zero(size));
            assert_eq!(codec.encoded(&array).unwrap().shape, shape);
            let order = reference(&shape);
            let decoded = elements(order.len(), size);
            let mut encoded = Output::at_most(decoded.len());
            codec.encode(&array, &decoded, &mut encoded).unwrap();
            let wanted: Vec<u8> =
                order.iter().flat_map(|position| decoded[position * size..][..size].to_vec()).collect();
            assert_eq!(encoded.written(), wanted, "{shape:?}, {size}");
            let mut back = Output::exactly(decoded.len());
            codec.decode(&array, encoded.written(), &mut back).unwrap();
            assert_eq!(back.written(), decoded);
        }
    }
}

/// Returns offsets and payload.
fn variable(items: &[&[u8]]) -> Vec<u8> {
    let mut end = 0u64;
    let ends = items.iter().map(|item| {
        end += item.len() as u64;
        end
    });
    let offsets: Vec<u64> = std::iter::once(0).chain(ends).collect();
    let offsets = offsets.into_iter().flat_map(u64::to_ne_bytes);
    offsets.chain(items.concat()).collect()
}

fn text(shape: &[u64]) -> ArrayRepresentation {
    let text: Number = types::TEXT;
    array(shape, text)
}

#[test]
fn elements_of_variable_size_round_trip() {
    let codec = Morton::new();
    let items: [&[u8]; 6] = [b"a", b"", b"ccc", b"dd", b"", b"ffffff"];
    let array = text(&[2, 3]);
    let decoded = variable(&items);
    let mut encoded = Output::at_most(1000);
    codec.encode(&array, &decoded, &mut encoded).unwrap();
    let wanted: Vec<&[u8]> = reference(&[2, 3]).into_iter().map(|position| items[position]).collect();
    assert_eq!(encoded.written(), variable(&wanted));
    let mut back = Output::at_most(1000);
    codec.decode(&array, encoded.written(), &mut back).unwrap();
    assert_eq!(back.written(), decoded);
    let mut small = Output::at_most(decoded.len() - 1);
    assert!(matches!(codec.decode(&array, encoded.written(), &mut small), Err(CodecError::TooLarge(_))));
}

#[test]
fn invalid_bytes_are_errors() {
    let codec = Morton::new();
    let array = array(&[3, 5], types::INT16);
    for length in [0, 1, 29, 31, 60] {
        let mut output = Output::at_most(100);
        let result = codec.decode(&array, &vec![0; length], &mut output);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{length}: {result:?}");
        let result = codec.encode(&array, &vec![0; length], &mut output);
        assert!(matches!(result, Err(CodecError::Encode(_))), "{length}: {result:?}");
    }
    let mut small = Output::at_most(29);
    assert!(matches!(codec.decode(&array, &[0; 30], &mut small), Err(CodecError::TooLarge(_))));
    let offsets = |offsets: [u64; 5], payload: &[u8]| {
        [offsets.map(u64::to_ne_bytes).concat(), payload.to_vec()].concat()
    };
    for wrong in [
        vec![],
        vec![0; 39],
        offsets([1, 1, 1, 1, 1], b"a"),
        offsets([0, 2, 1, 2, 3], b"abc"),
        offsets([0, 1, 2, 3, 4], b"abc"),
        offsets([0, 1, 2, 3, 3], b"abcd"),
        offsets([0, u64::MAX, 0, 0, 0], b""),
    ] {
        let result = codec.decode(&text(&[2, 2]), &wrong, &mut Output::at_most(1000));
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{wrong:?}: {result:?}");
    }
}

#[test]
fn alternating_shapes_do_not_interfere() {
    let codec = Morton::new();
    for round in 0..2 {
        for shape in shapes() {
            let array = array(&shape, types::UINT8);
            let count = array.element_count().unwrap();
            let decoded = elements(count, 1);
            let mut encoded = Output::exactly(count);
            let mut back = Output::exactly(count);
            codec.encode(&array, &decoded, &mut encoded).unwrap();
            codec.decode(&array, encoded.written(), &mut back).unwrap();
            assert_eq!(back.written(), decoded, "{shape:?} in round {round}");
        }
    }
}

/// The order of a chunk with more than 2^22 elements is not cached but computed each time.
#[test]
fn a_chunk_of_many_elements_has_the_same_order() {
    let shape = [2100, 2003];
    let array = array(&shape, types::UINT8);
    let decoded = elements(2100 * 2003, 1);
    let mut encoded = Output::exactly(decoded.len());
    let mut back = Output::exactly(decoded.len());
    Morton::new().encode(&array, &decoded, &mut encoded).unwrap();
    let order = positions(&shape).unwrap();
    assert!(order.iter().map(|&position| decoded[position]).eq(encoded.written().iter().copied()));
    Morton::new().decode(&array, encoded.written(), &mut back).unwrap();
    assert!(back.written() == decoded);
}

#[test]
fn the_draft_has_an_extension_of_one_type() {
    let registry = Registry::linked().unwrap();
    let create = |configuration: &str, type_name: Option<Value>, rank| {
        creation(Format::V3Draft, URI, configuration, Mode::Strict, |creation| {
            let plugin = registry.memory_layouts().find(Format::V3Draft, URI, creation.reading).unwrap();
            (plugin.create)(&creation.with_type_name(type_name.as_ref()), rank)
        })
    };
    let morton = || Some(Value::from("morton"));
    assert!(matches!(create("", morton(), 2), Ok(Codec::ArrayToArray(_))));
    assert!(matches!(create("{}", morton(), 1), Ok(Codec::Permutation(order)) if order == [0]));
    assert!(matches!(create("", morton(), 0), Ok(Codec::Permutation(order)) if order.is_empty()));
    for type_name in [None, Some(Value::from("z")), Some(Value::from(1))] {
        assert!(matches!(create("", type_name, 2), Err(CodecError::InvalidConfiguration(_))));
    }
    assert!(matches!(create(r#"{"bits":3}"#, morton(), 2), Err(CodecError::InvalidConfiguration(_))));
    for format in [Format::V2, Format::V3] {
        creation(format, "morton", "", Mode::Strict, |creation| {
            assert!(registry.memory_layouts().find(format, "morton", creation.reading).is_err());
        });
    }
}
