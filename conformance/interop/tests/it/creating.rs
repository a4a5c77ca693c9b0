//! Descriptions of nodes, and nodes that are opened or created.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::thread;

use zarr_interop::{created, memory};
use zarr_kit::codecs::*;
use zarr_kit::data_types::CoreType;
use zarr_kit::spec::codec::CodecEntry;
use zarr_kit::stores::RemoteStore;
use zarr_kit::stores::object_store::memory::InMemory;
use zarr_kit::{ArrayBuilder, Context, EntryKind, Error, Format, Hierarchy, json};

fn hierarchy(format: Format) -> Hierarchy {
    Hierarchy::create(memory(), &Context::linked().unwrap(), format).unwrap()
}

#[test]
fn attributes_are_json_or_pairs() {
    let hierarchy = hierarchy(Format::V3);
    let group = hierarchy.create_group("/g", json!({"level": 1 + 1})).unwrap();
    assert_eq!(group.attributes()["level"].as_u64(), Some(2));
    let builder = ArrayBuilder::new([4], "uint8").attributes([("units", "K")]);
    let mut array = group.create_array("a", &builder).unwrap();
    assert_eq!(array.attributes()["units"].as_str(), Some("K"));
    array.set_attributes(json!({"units": "m"})).unwrap();
    assert_eq!(hierarchy.array("/g/a").unwrap().attributes()["units"].as_str(), Some("m"));
    let wrong = ArrayBuilder::new([4], "uint8").attributes(5);
    for error in [
        hierarchy.create_array("/b", &wrong).unwrap_err(),
        hierarchy.create_group("/b", 5).unwrap_err(),
        array.set_attributes(5).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "`attributes`: is a number, not an object");
    }
    assert!(hierarchy.array("/b").is_err());
}

#[test]
fn dimension_names_are_text_or_options() {
    let named = |builder: ArrayBuilder| {
        created(Format::V3, &builder).dimension_names().map(<[Option<String>]>::to_vec)
    };
    let builder = || ArrayBuilder::new([4, 4], "uint8");
    let both = Some(vec![Some("y".to_owned()), Some("x".to_owned())]);
    assert_eq!(named(builder().dimension_names(["y", "x"])), both);
    assert_eq!(named(builder().dimension_names(vec!["y".to_owned(), "x".to_owned()])), both);
    assert_eq!(named(builder().dimension_names([None, Some("x")])), Some(vec![None, Some("x".to_owned())]));
}

#[test]
fn a_fill_value_is_an_element_in_every_format() {
    for format in Format::ALL {
        for data_type in ["<i4", ">i4"] {
            let builder = ArrayBuilder::new([2], data_type).fill_value(5).fill_element(258_i32.to_ne_bytes());
            assert_eq!(created(format, &builder).fill_value().bytes(), 258_i32.to_ne_bytes());
        }
    }
    let builder = ArrayBuilder::new([2], "int32").fill_element([1, 2]);
    let error = hierarchy(Format::V3).create_array("/a", &builder).unwrap_err();
    assert_eq!(error.to_string(), "`fill_value`: it has 2 bytes, but an element of type int32 has 4");
    let builder = ArrayBuilder::new([2], "bool").fill_element([2]);
    assert!(matches!(hierarchy(Format::V3).create_array("/a", &builder), Err(Error::Invalid(_))));
}

#[test]
fn elements_that_were_read_are_changed_in_place() {
    let array = created(Format::V3, &ArrayBuilder::new([2], "uint16"));
    let mut elements = array.read(..).unwrap();
    elements.bytes_mut().copy_from_slice(&[1, 1, 2, 2]);
    assert_eq!(*elements.into_values::<u16>().unwrap(), [257, 514]);
}

#[test]
fn kinds_of_nodes_print_their_names() {
    let kinds = [EntryKind::Array, EntryKind::Group, EntryKind::ImplicitGroup, EntryKind::Unreadable];
    assert_eq!(kinds.map(|kind| kind.to_string()), ["array", "group", "implicit group", "unreadable"]);
}

#[test]
fn a_required_group_is_created_once() {
    for format in Format::ALL {
        let hierarchy = hierarchy(format);
        hierarchy.require_group("/a").unwrap().set_attribute("units", "K").unwrap();
        let group = hierarchy.require_group("a").unwrap();
        assert_eq!(group.attributes()["units"].as_str(), Some("K"), "{format}");
        assert_eq!(group.require_group("b").unwrap().path().to_string(), "/a/b");
        group.create_array("c", &ArrayBuilder::new([4], "uint8")).unwrap();
        assert!(matches!(group.require_group("c"), Err(Error::WrongKind { .. })), "{format}");
        assert!(matches!(group.require_group("c/d"), Err(Error::InTheWay { .. })), "{format}");
    }
}

#[test]
fn open_or_create_opens_an_array_with_the_same_shape_and_data_type() {
    let hierarchy = hierarchy(Format::V2);
    let builder = ArrayBuilder::new([4], "int16");
    hierarchy.open_or_create_array("/a", &builder).unwrap().write_values(.., &[1i16, 2, 3, 4]).unwrap();
    let same = ArrayBuilder::new([4], ">i2").chunks([2]);
    let array = hierarchy.open_or_create_array("/a", &same).unwrap();
    assert_eq!(array.read_values::<i16>(..).unwrap(), [1, 2, 3, 4]);
    let longer = ArrayBuilder::new([5], "int16");
    assert_eq!(
        hierarchy.open_or_create_array("/a", &longer).unwrap_err().to_string(),
        "cannot create /a: an array of shape [4] and data type int16 already exists \
         (expected shape [5] and data type int16)"
    );
    let other = hierarchy.group("/").unwrap().open_or_create_array("a", &ArrayBuilder::new([4], "uint16"));
    assert!(other.unwrap_err().to_string().contains("expected shape [4] and data type uint16"));
    hierarchy.create_group("/g", json!({})).unwrap();
    let group = hierarchy.open_or_create_array("/g", &builder);
    assert!(matches!(group, Err(Error::WrongKind { .. })));
}

#[test]
fn threads_that_require_one_node_share_it() {
    for _round in 0..20 {
        let hierarchy = Arc::new(hierarchy(Format::V3));
        let builder = ArrayBuilder::new([4], "uint8").chunks([1]);
        thread::scope(|scope| {
            for number in 0..4u8 {
                let hierarchy = &hierarchy;
                let builder = &builder;
                scope.spawn(move || {
                    hierarchy.require_group("/g").unwrap();
                    let array = hierarchy.open_or_create_array("/g/a", builder).unwrap();
                    array.write_values((u64::from(number),), &[number + 1]).unwrap();
                });
            }
        });
        let array = hierarchy.array("/g/a").unwrap();
        assert_eq!(array.read_values::<u8>(..).unwrap(), [1, 2, 3, 4]);
    }
}

#[test]
fn chunks_and_elements_are_counted_from_the_shape() {
    let array = created(Format::V3, &ArrayBuilder::new([5, 4], "uint8").chunks([2, 3]));
    assert_eq!((array.ndim(), array.len(), array.is_empty(), array.chunk_count()), (2, 20, false, 6));
    let indices: Vec<_> = array.chunk_indices().collect();
    assert_eq!(indices, [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]);
    let elements: u64 =
        indices.iter().map(|index| array.chunk_subset(index).unwrap().element_count().unwrap()).sum();
    assert_eq!(elements, array.len());
    let empty = created(Format::V3, &ArrayBuilder::new([5, 0], "uint8").chunks([2, 3]));
    assert_eq!((empty.len(), empty.is_empty(), empty.chunk_count()), (0, true, 0));
    assert_eq!(empty.chunk_indices().count(), 0);
    let scalar = created(Format::V3, &ArrayBuilder::new([], "uint8"));
    assert_eq!((scalar.ndim(), scalar.len(), scalar.chunk_count()), (0, 1, 1));
    assert_eq!(scalar.chunk_indices().collect::<Vec<_>>(), [[0u64; 0]]);
}

#[test]
fn codecs_can_be_given_as_typed_values() {
    let blosc = Blosc::new(BloscCompressor::Zstd, 5, BloscShuffle::Bit, 4, 0).unwrap();
    let entries: [CodecEntry; 11] = [
        Zstd::new(3, true).unwrap().into(),
        Gzip::new(2).unwrap().into(),
        Zlib::new(4).unwrap().into(),
        Bz2::new(1).unwrap().into(),
        Lz4::new().into(),
        blosc.into(),
        Shuffle::new(4).unwrap().into(),
        Crc32c::at_end().into(),
        Crc32::at_start().into(),
        Adler32::at_end().into(),
        Fletcher32.into(),
    ];
    let values: Vec<i32> = (0..100).collect();
    for entry in entries {
        for format in [Format::V2, Format::V3] {
            let builder = ArrayBuilder::new([100], "int32").codec(entry.clone());
            let array = created(format, &builder);
            array.write_values(.., &values).unwrap();
            assert_eq!(array.read_values::<i32>(..).unwrap(), values, "{entry:?}");
            let written = array.codecs().links().last().unwrap().name();
            assert!(written.ends_with(&entry.identifier), "{written} for {entry:?} in {format}");
        }
    }
}

#[test]
fn numeric_filters_can_be_given_as_typed_values() {
    use CoreType::{Float32, Float64, Int16, Int32};
    let offset = Parameter::Whole(10);
    let scale = Parameter::Real(0.5);
    let entries: [(&str, CodecEntry); 8] = [
        ("int32", Delta::new(&Int32, Arc::new(Int16)).unwrap().into()),
        ("int32", AsType::new(&Int32, Arc::new(Int16)).unwrap().into()),
        ("int32", ImagecodecsDelta::new(&Int32, -1).unwrap().into()),
        ("float64", Quantize::new(3, &Float64, Arc::new(Float32)).unwrap().into()),
        ("float64", BitRound::new(20, Arc::new(Float64)).unwrap().into()),
        ("float64", FixedScaleOffset::new(&Float64, Arc::new(Int16), offset, scale).unwrap().into()),
        ("float64", Floatpred::new(&Float64, -1, 1).unwrap().into()),
        ("int32", Brotli::new(4, 20, BrotliMode::Generic).unwrap().into()),
    ];
    for (data_type, entry) in entries {
        for format in [Format::V2, Format::V3] {
            let array = created(format, &ArrayBuilder::new([100], data_type).codec(entry.clone()));
            // Even numbers are still integers after `FixedScaleOffset` has multiplied them by one half.
            let found: Vec<f64> = if data_type == "int32" {
                array.write_values(.., &(0..200).step_by(2).collect::<Vec<i32>>()).unwrap();
                array.read_values::<i32>(..).unwrap().iter().map(|&value| value.into()).collect()
            } else {
                array.write_values(.., &(0..200).step_by(2).map(f64::from).collect::<Vec<_>>()).unwrap();
                array.read_values::<f64>(..).unwrap().to_vec()
            };
            let expected: Vec<f64> = (0..200).step_by(2).map(f64::from).collect();
            assert_eq!(found, expected, "{entry:?} in {format}");
            let names: Vec<_> = array.codecs().links().iter().map(|link| link.name().to_owned()).collect();
            assert!(names.iter().any(|name| name.ends_with(&entry.identifier)), "{names:?} for {entry:?}");
        }
    }
}

#[test]
fn the_parameters_of_a_typed_codec_are_in_the_document() {
    let configuration = |codec: CodecEntry| {
        let array = created(Format::V3, &ArrayBuilder::new([4], "int32").codec(codec));
        array.metadata().codecs.last().unwrap().configuration.to_string()
    };
    assert_eq!(configuration(Zstd::new(7, true).unwrap().into()), r#"{"level":7,"checksum":true}"#);
    assert_eq!(configuration(Gzip::new(2).unwrap().into()), r#"{"level":2}"#);
    let blosc = Blosc::new(BloscCompressor::Lz4, 3, BloscShuffle::Byte, 4, 256).unwrap();
    assert_eq!(
        configuration(blosc.into()),
        r#"{"cname":"lz4","clevel":3,"shuffle":"shuffle","blocksize":256,"typesize":4}"#
    );
    let start = ArrayBuilder::new([4], "int32").codec(Crc32c::at_start());
    let hierarchy = hierarchy(Format::V3);
    let error = hierarchy.create_array("/a", &start).unwrap_err().to_string();
    assert!(error.contains("cannot have the checksum before the bytes"), "{error}");
}

#[test]
fn a_store_can_wrap_an_object_store_client_of_the_caller() {
    let store = RemoteStore::new(Arc::new(InMemory::new()), "memory of the test", "data").unwrap();
    let hierarchy = Hierarchy::create(Arc::new(store), &Context::linked().unwrap(), Format::V3).unwrap();
    let array = hierarchy.create_array("/a", &ArrayBuilder::new([4], "uint8")).unwrap();
    array.write_values(.., &[1u8, 2, 3, 4]).unwrap();
    assert_eq!(hierarchy.array("/a").unwrap().read_values::<u8>(1..3).unwrap(), [2, 3]);
}
