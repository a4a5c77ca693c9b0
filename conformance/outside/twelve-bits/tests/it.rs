//! Integers of 12 bits and their packed form, with handwritten bytes and with invalid input.

use outside_twelve_bits as _;
use zarr_conformance::codecs::{decode, encode};
use zarr_conformance::linked::create;
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, Format, Mode, Reading, Registry, Representation, Value,
};

/// Returns an array of one dimension.
fn array(name: &str, length: u64) -> ArrayRepresentation {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let document = DataTypeDocument::named(name);
    let (data_type, byte_order) = registry.data_type(Format::V3, &document, &reading).unwrap();
    let fill_value = data_type.default_fill_value();
    ArrayRepresentation::new(vec![length], data_type, fill_value).with_byte_order(byte_order)
}

fn packed(array: &ArrayRepresentation) -> Codec {
    let array = Representation::Array(array.clone());
    create(Format::V3, "outside.packed12", "", Mode::Strict, &array).unwrap().codec
}

#[test]
fn two_elements_are_three_bytes_with_the_least_significant_bit_first() {
    let bytes = |elements: &[i16]| -> Vec<u8> { elements.iter().flat_map(|it| it.to_ne_bytes()).collect() };
    for (name, elements, expected) in [
        ("outside.uint12", &[0x123, 0xabc][..], &[0x23, 0xc1, 0xab][..]),
        ("outside.uint12", &[0xfff, 0, 0x801], &[0xff, 0x0f, 0x00, 0x01, 0x08]),
        ("outside.int12", &[-1, 0x7ff, -2048], &[0xff, 0xff, 0x7f, 0x00, 0x08]),
        ("outside.int12", &[], &[]),
    ] {
        let array = array(name, elements.len() as u64);
        let codec = packed(&array);
        assert_eq!(encode(&codec, &array, &bytes(elements)).unwrap(), expected, "{elements:?}");
        assert_eq!(decode(&codec, &array, expected, 6).unwrap(), bytes(elements), "{elements:?}");
    }
}

#[test]
fn refuses_values_and_types_with_more_bits() {
    let array = array("outside.uint12", 1);
    let refused = encode(&packed(&array), &array, &4096_u16.to_ne_bytes());
    assert!(matches!(refused, Err(CodecError::Encode(_))), "{refused:?}");
    let wide = Representation::Array(zarr_conformance::array(&[1], zarr_conformance::types::UINT16));
    let refused = create(Format::V3, "outside.packed12", "", Mode::Strict, &wide);
    assert!(matches!(refused, Err(CodecError::Unsupported(_))));
}

#[test]
fn fill_values_are_the_integers_of_the_type() {
    let reading = Reading::new(Mode::Strict);
    let context = FillContext::new(Format::V3, &reading);
    for (name, least, most) in [("outside.int12", -2048_i64, 2047), ("outside.uint12", 0, 4095)] {
        let data_type = array(name, 0).data_type;
        for value in [least, 0, most] {
            let fill = data_type.fill_value(&Value::from(value), &context).unwrap();
            let mut printed = String::new();
            data_type.print(fill.bytes(), &mut printed).unwrap();
            assert_eq!(printed, value.to_string());
            let json = data_type.fill_value_json(fill.bytes(), Format::V3, &ByteOrder::Little).unwrap();
            assert_eq!(json, Value::from(value));
        }
        for wrong in [Value::from(least - 1), Value::from(most + 1), Value::from("1"), Value::Null] {
            assert!(data_type.fill_value(&wrong, &context).is_err(), "{wrong}");
        }
    }
}

#[test]
fn the_upper_bits_are_ignored_and_replaced() {
    let stored = [0x0801_u16, 0xf801].map(u16::to_ne_bytes).concat();
    for (name, expected) in [("outside.int12", 0xf801_u16), ("outside.uint12", 0x0801)] {
        let data_type = array(name, 0).data_type;
        assert!(data_type.check(&stored).is_err());
        let mut elements = stored.clone();
        data_type.settle(&mut elements, Mode::Strict).unwrap();
        assert_eq!(elements, [expected; 2].map(u16::to_ne_bytes).concat());
        data_type.check(&elements).unwrap();
    }
}
