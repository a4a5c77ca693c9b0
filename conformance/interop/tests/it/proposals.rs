//! Extensions that are proposed for final v3: arrays with them are created, written, read and resized.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_interop::{memory, raw};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Value};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, json};

fn hierarchy(format: Format) -> Hierarchy {
    Hierarchy::create(memory(), &Context::linked().unwrap(), format).unwrap()
}

fn stored(store: &Arc<dyn Store>, key: &str) -> Option<Vec<u8>> {
    get_value(&**store, &Key::new(key).unwrap(), 1 << 20).unwrap().map(|bytes| bytes.to_vec())
}

#[test]
fn proposed_keys_are_written_listed_and_erased() {
    let suffix = json!({"name": "suffix", "configuration": {
        "suffix": ".tiff", "base_encoding": {"name": "v2", "configuration": {"separator": "/"}}}});
    let fanout = json!({"name": "fanout", "configuration": {"max_children": 100}});
    let template = json!({"name": "template", "configuration": {"template": "images/{1}_{0:04}.raw"}});
    for (encoding, keys) in [
        (suffix, ["a/0/0.tiff", "a/1/0.tiff"]),
        (fanout, ["a/c/0/00/0/00", "a/c/0/01/0/00"]),
        (template, ["a/images/0_0000.raw", "a/images/0_0001.raw"]),
    ] {
        let hierarchy = hierarchy(Format::V3);
        let builder = ArrayBuilder::new([4, 2], "uint8")
            .chunks([2, 2])
            .chunk_key_encoding(encoding.clone())
            .uncompressed();
        let mut array = hierarchy.create_array("/a", &builder).unwrap();
        array.write_values(&Selection::All, &[1, 2, 3, 4, 5, 6, 7, 8u8]).unwrap();
        assert_eq!(stored(hierarchy.store(), keys[0]).unwrap(), [1, 2, 3, 4], "{encoding}");
        assert_eq!(stored(hierarchy.store(), keys[1]).unwrap(), [5, 6, 7, 8]);
        assert_eq!(array.stored_chunks().unwrap(), [[0, 0], [1, 0]]);
        let again = hierarchy.array("/a").unwrap();
        assert_eq!(again.read_values::<u8>(&Selection::All).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
        array.resize(&[2, 2]).unwrap();
        assert_eq!(stored(hierarchy.store(), keys[1]), None);
        assert_eq!(stored(hierarchy.store(), keys[0]).unwrap(), [1, 2, 3, 4]);
    }
}

#[test]
fn a_template_for_another_number_of_dimensions_is_refused() {
    for (template, shape) in [("{0}/{1}", &[4u64][..]), ("{0}", &[4, 2]), ("{0}{1}", &[4, 2]), ("{*}", &[])] {
        let encoding = json!({"name": "template", "configuration": {"template": template, "separator": "/"}});
        let builder = ArrayBuilder::new(shape, "uint8").chunk_key_encoding(encoding);
        let error = hierarchy(Format::V3).create_array("/a", &builder).unwrap_err().to_string();
        assert!(error.contains("chunk_key_encoding"), "{template}: {error}");
    }
}

/// Writes lists of numbers, and reads them again from another handle.
fn lists_of(hierarchy: &Hierarchy, builder: &ArrayBuilder, numbers: &[&[i32]]) -> Array {
    let array = hierarchy.create_array("/a", builder).unwrap();
    let items: Vec<Vec<u8>> =
        numbers.iter().map(|list| list.iter().flat_map(|number| number.to_le_bytes()).collect()).collect();
    let raw: Vec<Vec<u8>> = items
        .iter()
        .map(|item| [&u32::try_from(item.len()).unwrap().to_le_bytes()[..], item].concat())
        .collect();
    array.write(&Selection::All, &raw::to_write(&**array.data_type(), &raw)).unwrap();
    let again = hierarchy.array("/a").unwrap();
    assert_eq!(raw::items(&again.read(&Selection::All).unwrap()), raw);
    again
}

#[test]
fn arrays_of_arrays_are_stored_in_v2_and_v3() {
    let data_type =
        |shape: Value| json!({"name": "ndarray", "configuration": {"dtype": "int32", "shape": shape}});
    let v3 = hierarchy(Format::V3);
    let builder = ArrayBuilder::new([4], data_type(json!([null]))).chunks([3]).uncompressed();
    let array = lists_of(&v3, &builder, &[&[1, 2], &[], &[3], &[4, 5, 6]]);
    assert_eq!(array.metadata().codecs[0].identifier, "vlen-ndarray");
    assert_eq!(stored(v3.store(), "a/c/1").unwrap().len(), 4 + 4 + 12 + 4 + 4);
    let pairs =
        ArrayBuilder::new([2], data_type(json!([null, 2]))).chunks([2]).fill_value(json!("BwAAAAgAAAA="));
    let array = lists_of(&hierarchy(Format::V3), &pairs, &[&[1, 2], &[3, 4, 5, 6]]);
    assert_eq!(array.data_type().name(), "vlen-ndarray[int32, 2]");
    let v2 = hierarchy(Format::V2);
    let array = lists_of(&v2, &builder, &[&[1, 2], &[], &[3], &[4, 5, 6]]);
    assert_eq!(array.metadata().codecs[0].configuration, json!({"dtype": "<i4"}));
    let document = String::from_utf8(stored(v2.store(), "a/.zarray").unwrap()).unwrap();
    assert!(document.contains("vlen-array") && document.contains("|O"), "{document}");
    assert!(hierarchy(Format::V2).create_array("/a", &pairs).is_err());
}

/// Tests EX-TYPE-15.
#[test]
fn the_proposed_name_of_optional_elements_is_kept() {
    let codecs = json!({
        "mask_codecs": [{"name": "packbits"}],
        "data_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]});
    let data_type = json!({"name": "optional", "configuration": {"name": "uint8"}});
    let builder =
        ArrayBuilder::new([4], data_type).chunks([4]).codec(("optional", codecs)).fill_value(Value::Null);
    let hierarchy = hierarchy(Format::V3);
    hierarchy.create_array("/a", &builder).unwrap();
    let document = String::from_utf8(stored(hierarchy.store(), "a/zarr.json").unwrap()).unwrap();
    assert!(!document.contains("zarrs.optional") && document.contains("\"optional\""), "{document}");
    assert!(hierarchy.array("/a").unwrap().data_type().optional().is_some());
}
