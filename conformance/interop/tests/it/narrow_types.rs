//! Integers smaller than a byte and `bfloat16` with the whole engine: stored bytes, ignored bits, and readers
//! without these types.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_interop::{created, raw};
use zarr_kit::spec::Value;
use zarr_kit::spec::host::registry::Registered;
use zarr_kit::spec::plugin::Plugin;
use zarr_kit::{
    Array, ArrayBuilder, Context, Error, FallbackPolicy, Format, Hierarchy, Registry, Selection, json,
};

fn one_chunk(data_type: &str, length: u64) -> ArrayBuilder {
    ArrayBuilder::new([length], data_type).chunks([length]).uncompressed()
}

fn bytes(array: &Array) -> Vec<u8> {
    raw::of(&array.read(&Selection::All).unwrap())
}

/// A type, stored bytes, the elements that they decode to, and values out of range.
type Integers = (&'static str, [u8; 4], [u8; 4], [i64; 2]);

/// Tests EX-NUM-01, EX-NUM-02, EX-NUM-03, EX-NUM-04.
#[test]
fn upper_bits_of_stored_integers_are_ignored() {
    let cases: [Integers; 4] = [
        ("int2", [0xfe, 0x02, 0xfd, 0x7c], [0xfe, 0xfe, 0x01, 0x00], [-3, 2]),
        ("uint2", [0x03, 0xff, 0x06, 0x80], [0x03, 0x03, 0x02, 0x00], [-1, 4]),
        ("int4", [0xf8, 0x08, 0x17, 0x7f], [0xf8, 0xf8, 0x07, 0xff], [-9, 8]),
        ("uint4", [0x0f, 0xff, 0x18, 0xa0], [0x0f, 0x0f, 0x08, 0x00], [-1, 16]),
    ];
    for format in [Format::V3, Format::V3Draft] {
        for (data_type, stored, elements, outside) in cases {
            let array = created(format, &one_chunk(data_type, 4));
            array.write_encoded_chunk(&[0], &stored).unwrap();
            assert_eq!(bytes(&array), elements, "{data_type}");
            assert_eq!(raw::of(&array.read_chunk(&[0]).unwrap()), elements);
            // A partial write encodes the remaining elements with the ignored bits normalized.
            array.write(Selection::parse("0", array.shape()).unwrap(), &[1]).unwrap();
            let encoded = array.read_encoded_chunk(&[0]).unwrap().unwrap();
            assert_eq!(*encoded, [&[1], &elements[1..]].concat());
            let wrong = [0x10];
            let refused = array.write(Selection::parse("0", array.shape()).unwrap(), &wrong);
            assert!(matches!(refused, Err(Error::Elements(_))), "{data_type}: {refused:?}");
            for fill in outside {
                let builder = one_chunk(data_type, 4).fill_value(fill);
                let metadata = builder.metadata(format, &Registry::linked().unwrap());
                assert!(metadata.is_err(), "{data_type} {fill}");
            }
        }
    }
}

/// Tests EX-NUM-05.
#[test]
fn bfloat16_is_stored_in_the_byte_order_of_the_codec() {
    for (endian, wanted) in [("little", [0x80, 0x3f]), ("big", [0x3f, 0x80])] {
        let builder = one_chunk("bfloat16", 1).codec(("bytes", json!({"endian": (endian)})));
        let array = created(Format::V3, &builder);
        array.write(&Selection::All, &0x3f80u16.to_ne_bytes()).unwrap();
        assert_eq!(*array.read_encoded_chunk(&[0]).unwrap().unwrap(), wanted);
        assert_eq!(bytes(&array), 0x3f80u16.to_le_bytes());
    }
    let nan = created(Format::V3, &one_chunk("bfloat16", 1).fill_value("NaN"));
    assert_eq!(nan.fill_value().bytes(), 0x7fc0u16.to_ne_bytes());
    assert_eq!(nan.metadata().fill_value, Value::from("NaN"));
}

/// Returns a registry with the plugins of this build, except the plugins of the two crates for narrow types.
fn without_narrow_types() -> Registry {
    fn add<'p, K: Registered + ?Sized>(
        registry: &mut Registry,
        plugins: impl Iterator<Item = &'p Plugin<K>>,
    ) {
        for plugin in plugins {
            if !["zarr-dtype-bfloat16", "zarr-dtype-sub-byte"].contains(&plugin.origin.package) {
                registry.register(*plugin).unwrap();
            }
        }
    }
    let linked = Registry::linked().unwrap();
    let mut registry = Registry::empty();
    add(&mut registry, linked.data_types().iter());
    add(&mut registry, linked.codecs().iter());
    add(&mut registry, linked.chunk_grids().iter());
    add(&mut registry, linked.chunk_key_encodings().iter());
    add(&mut registry, linked.memory_layouts().iter());
    add(&mut registry, linked.metadata_encodings().iter());
    registry
}

#[test]
fn a_fallback_reads_the_stored_bytes_and_the_same_fill_value() {
    let endian = "https://purl.org/zarr/spec/codecs/endian/1.0";
    let cases: [(&str, Value, Option<&str>, Vec<u8>); 4] = [
        ("int4", Value::from(-8), None, vec![0xf8]),
        ("uint2", Value::from(3), None, vec![3]),
        ("bfloat16", Value::from(1), None, vec![0x80, 0x3f]),
        ("bfloat16", Value::from(1), Some("big"), vec![0x3f, 0x80]),
    ];
    for (data_type, fill, order, wanted) in cases {
        let mut builder = ArrayBuilder::new([4], data_type).chunks([2]).uncompressed().fill_value(fill);
        if let Some(order) = order {
            builder = builder.codec((endian, json!({"endian": (order)})));
        }
        let array = created(Format::V3Draft, &builder);
        let zeros = vec![0; wanted.len()];
        array.write(Selection::parse("0", array.shape()).unwrap(), &zeros).unwrap();
        let store = array.hierarchy().store();
        let open = |policy| {
            let context = Context::new(without_narrow_types()).with_fallback(policy);
            Hierarchy::open(Arc::clone(store), &context).unwrap().array("/a")
        };
        assert!(matches!(open(FallbackPolicy::Deny), Err(Error::NotUnderstood { .. })), "{data_type}");
        let fallback = open(FallbackPolicy::Allow).unwrap();
        assert_eq!(fallback.fallback().unwrap().used, format!("r{}", wanted.len() * 8));
        assert!(!fallback.fill_is_undefined());
        let elements = [zeros, wanted.repeat(3)].concat();
        assert_eq!(bytes(&fallback), elements, "{data_type}");
        assert!(fallback.write(&Selection::All, &elements).is_err());
    }
}
