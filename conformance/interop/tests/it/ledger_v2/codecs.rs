//! Codecs of section 11 that are tested through stored arrays, and the object codecs of section 9.

use serde_json::{Value, json};
use zarr_interop::warnings;
use zarr_kit::{Array, Selection};

use super::support::{Stored, all, hex, reading_fails, to_hex};
use super::{stored, za};

/// Creates an array of nine bytes with this codec.
fn nine(codec: Value) -> Stored {
    stored(&json!({"dtype": "|u1", "shape": [9], "chunks": [9], "filters": [codec]}))
}

const DIGITS: &str = "31 32 33 34 35 36 37 38 39";

/// Checks the stored form of `123456789`; a changed byte and a value shorter than the checksum must be
/// errors.
fn check_sum(codec: Value, checksum: &str, at_start: bool) {
    let stored = nine(codec.clone());
    stored.array().write_values::<u8>(&Selection::All, b"123456789").unwrap();
    let wanted = if at_start { format!("{checksum} {DIGITS}") } else { format!("{DIGITS} {checksum}") };
    assert_eq!(stored.value("0"), wanted, "{codec}");
    assert_eq!(all(&stored.array()), DIGITS);
    let name = codec["id"].as_str().unwrap();
    for position in [0, 5, 12] {
        let mut value = hex(&wanted);
        value[position] ^= 1;
        stored.set("0", value);
        let error = reading_fails(&stored.array());
        assert!(error.contains(&format!("codec `{name}`")), "{error}");
    }
    stored.set("0", [0; 3]);
    assert!(reading_fails(&stored.array()).contains(name));
}

/// Tests V2-CODEC-20, V2-CODEC-21.
#[test]
fn checksums_of_crc32_and_adler32_are_at_the_start_by_default() {
    for (id, checksum) in [("crc32", "26 39 f4 cb"), ("adler32", "de 01 1e 09")] {
        check_sum(json!({"id": id}), checksum, true);
        check_sum(json!({"id": id, "location": "start"}), checksum, true);
        check_sum(json!({"id": id, "location": "end"}), checksum, false);
        assert!(nine(json!({"id": id, "location": "middle"})).error().contains("location"));
    }
}

/// Tests V2-CODEC-23.
#[test]
fn fletcher32_equals_the_checksum_of_hdf5() {
    check_sum(json!({"id": "fletcher32"}), "d5 09 df 09", false);
    let eight = stored(&json!({
        "dtype": "|u1", "shape": [8], "chunks": [8], "filters": [{"id": "fletcher32"}],
    }));
    eight.array().write_values::<u8>(&Selection::All, b"12345678").unwrap();
    assert_eq!(eight.value("0"), "31 32 33 34 35 36 37 38 d4 d0 0a 00");
}

/// Documents never contain a prefix; the test `a_prefix_is_hashed_before_the_bytes` of the codec's crate covers
/// prefixes.
///
/// Tests V2-CODEC-24.
#[test]
fn jenkins_lookup3_starts_from_the_initial_value() {
    check_sum(json!({"id": "jenkins_lookup3"}), "96 9a 5d 84", false);
    check_sum(json!({"id": "jenkins_lookup3", "initval": 0, "prefix": null}), "96 9a 5d 84", false);
    check_sum(json!({"id": "jenkins_lookup3", "initval": 51966}), "0d af 8a ba", false);
    assert!(nine(json!({"id": "jenkins_lookup3", "prefix": "ab"})).error().contains("prefix"));
}

/// Creates an array of objects with the chunk `encoded`; returns the array and the payload of each element.
fn objects(shape: &Value, codec: Value, key: &str, encoded: &[u8]) -> (Stored, Vec<String>) {
    let stored = stored(&json!({
        "dtype": "|O", "shape": shape, "chunks": shape, "filters": [codec], "fill_value": null,
    }))
    .with(key, encoded);
    let elements = stored.array().read(&Selection::All).unwrap();
    let texts = (0..elements.count()).map(|at| String::from_utf8(elements.element(at).to_vec()).unwrap());
    let texts = texts.collect();
    (stored, texts)
}

#[test]
fn objects_are_read_as_json_items_and_written_like_numcodecs() {
    let items = ["\"foo\"", "1", "null", "{\"b\":1.5}"];
    let json2 = br#"["foo",1,null,{"b":1.5},"|O",[4]]"#;
    let msgpack2 = hex("96a3666f6f01c081a162cb3ff8000000000000a27c4f9104");
    for (id, encoded) in [("json2", &json2[..]), ("msgpack2", &msgpack2)] {
        let (_, texts) = objects(&json!([4]), json!({"id": id}), "0", encoded);
        assert_eq!(texts, items);
        let copy = Stored::new().json(
            ".zarray",
            &za(&json!({"dtype": "|O", "chunks": [4], "filters": [{"id": id}], "fill_value": null})),
        );
        copy.array().write_values(&Selection::All, &items).unwrap();
        assert_eq!(copy.value("0"), to_hex(encoded));
    }
    let square = br#"[["foo","b"],["c",NaN],"|O",[2,2]]"#;
    let (_, texts) = objects(&json!([2, 2]), json!({"id": "json2"}), "0.0", square);
    assert_eq!(texts, ["\"foo\"", "\"b\"", "\"c\"", "NaN"]);
    let (nothing, _) = objects(&json!([4]), json!({"id": "json2"}), "0", json2);
    nothing.set("0", b"[\"|O\",[4]]");
    assert!(reading_fails(&nothing.array()).contains("codec `json2`"));
    // The chunk `0` is missing, so all elements are null.
    let (_, texts) = objects(&json!([2]), json!({"id": "json2"}), "9", b"");
    assert_eq!(texts, ["null", "null"]);
}

/// The chunks are from numcodecs 0.17.1. zarr-python writes them if `filters` has one of these codecs.
///
/// Tests V2-OBJ-14.
#[test]
fn numbers_booleans_and_text_with_codecs_of_objects_are_read_with_a_warning() {
    let array = |dtype: &str, id: &str, encoded: &[u8]| {
        stored(&json!({"dtype": dtype, "shape": [4], "chunks": [4], "filters": [{"id": id}], "fill_value": null}))
            .with("0", encoded)
    };
    for (dtype, json2, msgpack2, elements) in [
        ("<i4", r#"[1,-2,3,4,"<i4",[4]]"#, "96 01 fe 03 04 a33c6934 91 04", "1 -2 3 4"),
        (
            ">f4",
            r#"[0.5,NaN,-Infinity,0.10000000149011612,">f4",[4]]"#,
            "96 cb3fe0000000000000 cb7ff8000000000000 cbfff0000000000000 cb3fb99999a0000000 a33e6634 91 04",
            "0.5 NaN -inf 0.1",
        ),
        (
            "|b1",
            r#"[true,false,true,true,"|b1",[4]]"#,
            "96 c3 c2 c3 c3 a37c6231 91 04",
            "true false true true",
        ),
        ("<U2", r#"["a","\u00e9b","","c","<U2",[4]]"#, "96 a161 a3c3a962 a0 a163 a33c5532 91 04", "a éb  c"),
    ] {
        for (id, encoded) in [("json2", json2.as_bytes().to_vec()), ("msgpack2", hex(msgpack2))] {
            let stored = array(dtype, id, &encoded);
            let hierarchy = stored.open();
            let read = hierarchy.array("").unwrap();
            let values = read.read(&Selection::All).unwrap();
            let texts: Vec<String> = (0..4).map(|at| printed(&read, values.element(at))).collect();
            assert_eq!(texts.join(" "), elements, "{id} {dtype}");
            let warnings = warnings(&hierarchy);
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains("it encodes data type `zarr-kit.json`, not `"), "{warnings:?}");
            // Elements that the engine writes are read back unchanged.
            read.write(&Selection::All, values.bytes()).unwrap();
            assert_eq!(read.read(&Selection::All).unwrap().bytes(), values.bytes(), "{id} {dtype}");
            assert!(stored.strictly().error().contains("it encodes data type `zarr-kit.json`"));
        }
    }
    for wrong in [
        r#"[1,2,3,4,"|O",[4]]"#,
        r#"[1,2,3,4,"<i8",[4]]"#,
        r#"[1,2,3,"4","<i4",[4]]"#,
        r#"[1,2,3,4.5,"<i4",[4]]"#,
        r#"[1,2,3,2147483648,"<i4",[4]]"#,
        r#"[1,2,3,"<i4",[3]]"#,
    ] {
        assert!(
            reading_fails(&array("<i4", "json2", wrong.as_bytes()).array()).contains("codec `json2`"),
            "{wrong}"
        );
    }
    let refused =
        stored(&json!({"dtype": "<M8[s]", "filters": [{"id": "json2"}], "fill_value": null})).error();
    assert!(refused.contains("it encodes data type `zarr-kit.json`"), "{refused}");
}

/// Returns the element as text.
fn printed(array: &Array, element: &[u8]) -> String {
    let mut text = String::new();
    array.data_type().print(element, &mut text).unwrap();
    text
}

#[test]
fn labels_are_read_as_text() {
    let codec = json!({"id": "categorize", "labels": ["female", "male"], "dtype": "|O", "astype": "|u1"});
    let (stored, texts) = objects(&json!([3]), codec, "0", &[2, 1, 0]);
    assert_eq!(texts, ["male", "female", ""]);
    stored.array().write_values(&Selection::All, &["male", "female", "x"]).unwrap();
    assert_eq!(stored.value("0"), "02 01 00");
}
