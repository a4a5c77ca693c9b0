//! Section 6 of `v3-final.md`: the content of chunks, and the value of missing ones.

use serde_json::json;
use zarr_kit::Selection;

use super::support::{all, hex, reading_fails};
use super::{chunks_of, stored};

/// Tests V3-GRID-04, V3-GRID-05.
#[test]
fn edge_chunks_are_stored_whole_and_padded() {
    let members = json!({"shape": [3, 4], "data_type": "int16", "chunk_grid": chunks_of(&[2, 2])});
    let array = stored(&members);
    array.array().write_values::<i16>(&Selection::All, &(0..12).collect::<Vec<_>>()).unwrap();
    assert_eq!(array.value("c/1/0"), "08 00 09 00 00 00 00 00");
    let filled = stored(&super::support::changed(members.clone(), &json!({"fill_value": 7})));
    filled.array().write_values::<i16>(&Selection::All, &(0..12).collect::<Vec<_>>()).unwrap();
    assert_eq!(filled.value("c/1/0"), "08 00 09 00 07 00 07 00");
    // The elements outside the array may have any value.
    array.set("c/1/0", hex("0800 0900 ffff ffff"));
    assert_eq!(array.array().read_values::<i16>(&Selection::All).unwrap(), (0..12).collect::<Vec<_>>());
    array.set("c/1/0", hex("0800 0900"));
    assert!(reading_fails(&array.array()).contains("key `c/1/0`"));
}

/// Tests V3-GRID-13.
#[test]
fn an_array_without_chunks_reads_as_the_fill_value() {
    let stored = stored(&json!({"fill_value": -2})).strictly();
    assert_eq!(stored.array().read_values::<i32>(&Selection::All).unwrap(), [-2; 4]);
    assert_eq!(stored.array().read_chunk(&[1]).unwrap().as_slice::<i32>().unwrap()[..], [-2, -2]);
    assert_eq!(stored.array().read_encoded_chunk(&[1]).unwrap(), None);
    assert_eq!(all(&stored.array()), "fe ff ff ff fe ff ff ff fe ff ff ff fe ff ff ff");
}

/// Tests V3-BYTES-04.
#[test]
fn any_byte_except_zero_reads_as_true_and_only_one_is_written() {
    let members = json!({"data_type": "bool", "fill_value": false, "codecs": [{"name": "bytes"}]});
    let booleans = stored(&members);
    booleans.array().write_values::<u8>(&Selection::All, &[1, 0, 0, 1]).unwrap();
    assert_eq!((booleans.value("c/0"), booleans.value("c/1")), ("01 00".into(), "00 01".into()));
    booleans.set("c/0", [0xff, 0]);
    booleans.set("c/1", [2, 1]);
    let array = booleans.array();
    assert_eq!(array.read_values::<u8>(&Selection::All).unwrap(), [1, 0, 1, 1]);
    assert_eq!(array.read_values::<u8>(&Selection::parse("2", &[4]).unwrap()).unwrap(), [1]);
    assert_eq!(array.read_values::<u8>(&Selection::Coordinates(vec![vec![2, 0]])).unwrap(), [1, 1]);
    let many = array.read_many(&[Selection::All, Selection::parse("2:", &[4]).unwrap()]).unwrap();
    assert_eq!((many[0].bytes(), many[1].bytes()), (&[1, 0, 1, 1][..], &[1, 1][..]));
    assert_eq!(array.read_chunk(&[1]).unwrap().bytes(), [1, 1]);
    let mut kept = [7; 4];
    array.read_into(&Selection::All, &mut kept).unwrap();
    assert_eq!(kept, [1, 0, 1, 1]);
    let error = array.write_values::<u8>(&Selection::All, &[1, 2, 0, 1]).unwrap_err().to_string();
    assert!(error.contains("byte 2 is neither false nor true"), "{error}");
    assert_eq!(booleans.value("c/0"), "ff 00");
    // A partial write also normalizes the remaining bytes of the chunk.
    array.write_values::<u8>(&Selection::parse("1", &[4]).unwrap(), &[1]).unwrap();
    assert_eq!(booleans.value("c/0"), "01 01");
}

/// Tests V3-BYTES-07.
#[test]
fn a_chunk_of_the_wrong_size_is_an_error() {
    let members = json!({"data_type": "uint8", "shape": [2], "codecs": ["bytes"]});
    assert_eq!(all(&stored(&members).with("c/0", [1, 2]).array()), "01 02");
    for wrong in [&[][..], &[1], &[1, 2, 3]] {
        let array = stored(&members).with("c/0", wrong).array();
        assert!(reading_fails(&array).contains("chunk [0] of / (key `c/0`)"), "{}", reading_fails(&array));
        assert!(array.read_chunk(&[0]).is_err());
        assert!(array.read(Selection::parse("1", &[2]).unwrap()).is_err());
    }
}
