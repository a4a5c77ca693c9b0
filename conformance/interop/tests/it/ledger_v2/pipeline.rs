//! Section 7, and codecs of section 11 that are tested with whole arrays.

use serde_json::json;
use zarr_interop::warnings;
use zarr_kit::spec::{Mode, Reading};
use zarr_kit::{Error, Format, Registry, Selection};

use super::stored;
use super::support::{all, hex, reading_fails, to_hex};

/// Tests V2-PIPE-01, V2-PIPE-02.
#[test]
fn filters_run_before_the_compressor_and_are_reversed_when_decoding() {
    let filters = json!([{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}]);
    let zlib = json!({"id": "zlib", "level": 1});
    let whole = stored(&json!({"chunks": [4], "filters": filters, "compressor": zlib}));
    whole.array().write_values::<i32>(&Selection::All, &[1, 2, 4, 7]).unwrap();
    assert_eq!(whole.array().read_values::<i32>(&Selection::All).unwrap(), [1, 2, 4, 7]);
    // Without the filters, the same value reads as the differences 1, 1, 2, 3: the first byte of each, then all other
    // bytes.
    let value = hex(&whole.value("0"));
    let inflated =
        stored(&json!({"shape": [16], "chunks": [16], "dtype": "|u1", "compressor": zlib})).with("0", value);
    assert_eq!(all(&inflated.array()), format!("01 01 02 03{}", " 00".repeat(12)));
    // An array codec after a bytes codec is not supported: the chain is an error and is never reordered.
    let filters = json!([{"id": "shuffle", "elementsize": 4}, {"id": "delta", "dtype": "|u1"}]);
    let other = stored(&json!({"chunks": [4], "filters": filters}));
    assert!(other.error().contains("`filters[1]`: codec `delta`"), "{}", other.error());
}

/// Tests V2-PIPE-04, V2-CODEC-29.
#[test]
fn the_error_of_an_unknown_codec_names_it_and_the_metadata_can_be_read() {
    let of_imagecodecs = "; Python package imagecodecs 2026.10.10 has it";
    for (id, provider) in [
        ("nope", ""),
        ("imagecodecs_jpegxs", of_imagecodecs),
        ("imagecodecs_pglz", of_imagecodecs),
        ("n5_wrapper", ""),
    ] {
        let stored = stored(&json!({"compressor": {"id": id, "level": 5}, "shape": [6]})).with("0", [0; 3]);
        let Err(Error::NotUnderstood(error)) = stored.try_array() else { panic!("{id}: expected an error") };
        let problems = &error.problems;
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].place, "compressor");
        assert_eq!(problems[0].missing[0].identifier, id);
        let wanted = "array / cannot be read or written: document `.zarray`: `compressor`: ";
        assert_eq!(stored.error(), format!("{wanted}codec `{id}` is unknown{provider}"));
        let zarr_kit::metadata::NodeMetadata::Array(metadata) = stored.open().metadata("").unwrap() else {
            panic!("expected an array");
        };
        assert_eq!(metadata.shape, [6]);
        assert_eq!(metadata.codecs[0].identifier, id);
    }
}

/// Tests V2-PIPE-06, V2-PIPE-07.
#[test]
fn unknown_parameters_are_errors_in_strict_mode_and_warnings_otherwise() {
    let members = json!({"compressor": {"id": "zlib", "level": 1, "x": 2}});
    let lenient = stored(&members);
    let array = lenient.array();
    array.write_values::<i32>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), [1, 2, 3, 4]);
    assert!(warnings(array.hierarchy()).iter().any(|warning| warning.contains('x')));
    let strict = stored(&members).strictly();
    assert!(strict.error().contains("codec `zlib`"), "{}", strict.error());
    let clean = stored(&json!({"compressor": {"id": "zlib", "level": 1}})).strictly().array();
    assert!(warnings(clean.hierarchy()).is_empty());
}

/// Tests V2-PIPE-08.
#[test]
fn every_bytes_to_bytes_codec_can_be_the_compressor() {
    let checked =
        stored(&json!({"dtype": "|u1", "shape": [9], "chunks": [9], "compressor": {"id": "crc32c"}}));
    checked.array().write_values::<u8>(&Selection::All, b"123456789").unwrap();
    assert_eq!(checked.value("0"), "31 32 33 34 35 36 37 38 39 83 92 06 e3");
    assert_eq!(all(&checked.array()), "31 32 33 34 35 36 37 38 39");
    let shuffled = stored(&json!({"chunks": [4], "compressor": {"id": "shuffle", "elementsize": 4}}));
    shuffled.array().write_values::<i32>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    assert_eq!(shuffled.value("0"), format!("01 02 03 04{}", " 00".repeat(12)));
    let texts = json!({"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "vlen-utf8"}, "fill_value": ""});
    for members in
        [json!({"compressor": {"id": "vlen-utf8"}}), json!({"compressor": {"id": "vlen-bytes"}}), texts]
    {
        let error = stored(&members).error();
        assert!(error.contains("`compressor`: codec `vlen-"), "{error}");
    }
}

/// Tests V2-PIPE-09.
#[test]
fn filters_receive_the_elements_in_the_order_of_the_chunk() {
    let filters = json!([{"id": "delta", "dtype": "<i2"}]);
    let members = json!({"shape": [2, 3], "chunks": [2, 3], "dtype": "<i2", "filters": filters});
    let squares = [0, 1, 4, 9, 16, 25];
    let write = |order: &str| {
        let stored = stored(&super::support::changed(members.clone(), &json!({"order": order})));
        stored.array().write_values::<i16>(&Selection::All, &squares).unwrap();
        assert_eq!(stored.array().read_values::<i16>(&Selection::All).unwrap(), squares);
        stored.value("0.0")
    };
    assert_eq!(write("F"), "00 00 09 00 f8 ff 0f 00 f4 ff 15 00");
    assert_eq!(write("C"), "00 00 01 00 03 00 05 00 07 00 09 00");
}

/// Tests V2-PIPE-10.
#[test]
fn decoded_bytes_are_elements_of_the_type_in_the_given_order() {
    let members = json!({"shape": [2, 2], "chunks": [2, 2], "dtype": ">i2", "order": "F"});
    let raw = stored(&members).with("0.0", hex("0001 0003 0002 0004"));
    assert_eq!(raw.array().read_values::<i16>(&Selection::All).unwrap(), [1, 2, 3, 4]);
    let short = stored(&members).with("0.0", hex("0001 0003 0002"));
    assert!(reading_fails(&short.array()).contains("chunk [0, 0]"));
    // A wrong size is also an error if a compressor produces it: 24 bytes instead of 8.
    let zlib = hex("780163606060600462262066066216206605620000a40010");
    let members = super::support::changed(members, &json!({"compressor": {"id": "zlib", "level": 1}}));
    let long = stored(&members).with("0.0", zlib);
    assert!(reading_fails(&long.array()).contains("chunk [0, 0]"));
}

/// Tests V2-PIPE-11.
#[test]
fn objects_are_encoded_by_the_first_filter() {
    let zlib = json!({"id": "zlib", "level": 1});
    let members =
        json!({"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "compressor": zlib, "fill_value": ""});
    let text = stored(&members);
    text.array().write_values(Selection::parse("0:2", &[4]).unwrap(), &["foo", "hé"]).unwrap();
    assert_eq!(text.array().read(&Selection::All).unwrap().strings().unwrap(), ["foo", "hé", "", ""]);
    let value = hex(&text.value("0"));
    let inflated =
        stored(&json!({"shape": [18], "chunks": [18], "dtype": "|u1", "compressor": zlib})).with("0", value);
    assert_eq!(all(&inflated.array()), "02 00 00 00 03 00 00 00 66 6f 6f 03 00 00 00 68 c3 a9");
    let second = json!([{"id": "shuffle", "elementsize": 4}, {"id": "vlen-utf8"}]);
    let error = stored(&json!({"dtype": "|O", "filters": second, "fill_value": ""})).error();
    assert!(error.contains("shuffle"), "{error}");
}

/// Tests V2-PIPE-12.
#[test]
fn the_default_compressor_of_zarr_python_is_read() {
    let blosc = json!({"blocksize": 0, "clevel": 5, "cname": "lz4", "id": "blosc", "shuffle": 1});
    // int32 0 to 5 as numcodecs 0.15 writes them: a header, followed by the uncompressed bytes.
    let value = "02013304 18000000 18000000 28000000 00000000 01000000 02000000 03000000 04000000 05000000";
    let stored =
        stored(&json!({"shape": [6], "chunks": [6], "compressor": blosc})).strictly().with("0", hex(value));
    assert_eq!(stored.array().read_values::<i32>(&Selection::All).unwrap(), [0, 1, 2, 3, 4, 5]);
    stored.array().write_values::<i32>(&Selection::All, &[0, 1, 2, 3, 4, 5]).unwrap();
    assert!(
        stored.value("0").starts_with("02 01 33 04 18 00 00 00 18 00 00 00 28 00 00 00"),
        "{}",
        stored.value("0")
    );
}

/// Tests V2-CODEC-22.
#[test]
fn the_checksum_of_crc32c_is_at_the_end_by_default() {
    let members = |codec| json!({"dtype": "|u1", "shape": [9], "chunks": [9], "filters": [codec]});
    let end = stored(&members(json!({"id": "crc32c"})));
    end.array().write_values::<u8>(&Selection::All, b"123456789").unwrap();
    assert_eq!(end.value("0"), "31 32 33 34 35 36 37 38 39 83 92 06 e3");
    end.set("0", b"123456788\x83\x92\x06\xe3");
    assert!(reading_fails(&end.array()).contains("codec `crc32c`"), "{}", reading_fails(&end.array()));
    let start = stored(&members(json!({"id": "crc32c", "location": "start"})));
    start.array().write_values::<u8>(&Selection::All, b"123456789").unwrap();
    assert_eq!(start.value("0"), "83 92 06 e3 31 32 33 34 35 36 37 38 39");
    assert_eq!(all(&start.array()), "31 32 33 34 35 36 37 38 39");
}

/// The chunks and the items read from them are from zarr-python 2.18.7 with numcodecs 0.15.2. The items that
/// zarr-python reads differ from the array that it was given to write: `[["s0", {"n": 1}, "s2"], [{"n": 3}, "s4", {"n":
/// 5}]]`.
///
/// Tests V2-OBJ-13.
#[test]
fn items_of_an_array_in_order_f_are_read_in_stored_order() {
    let members = |codec: &str| {
        let filters = json!([{"id": codec}]);
        json!({"dtype": "|O", "shape": [2, 3], "chunks": [2, 3], "order": "F", "filters": filters, "fill_value": 0})
    };
    let wanted = [r#""s0""#, r#""s2""#, r#""s4""#, r#"{"n":1}"#, r#"{"n":3}"#, r#"{"n":5}"#];
    let json2 =
        stored(&members("json2")).with("0.0", r#"[["s0",{"n":1},"s2"],[{"n":3},"s4",{"n":5}],"|O",[2,3]]"#);
    let msgpack2 = stored(&members("msgpack2"))
        .with("0.0", hex("94 93 a27330 81a16e01 a27332 93 81a16e03 a27334 81a16e05 a27c4f 92 02 03"));
    for stored in [json2, msgpack2] {
        let elements = stored.array().read(&Selection::All).unwrap();
        assert_eq!(elements.iter().collect::<Vec<_>>(), wanted.map(str::as_bytes));
    }
    // zarr-python reads this chunk as the array that was written.
    let written = stored(&members("json2"));
    let given = [r#""s0""#, r#"{"n":1}"#, r#""s2""#, r#"{"n":3}"#, r#""s4""#, r#"{"n":5}"#];
    written.array().write_values(&Selection::All, &given).unwrap();
    let value = br#"[["s0",{"n":3}],[{"n":1},"s4"],["s2",{"n":5}],"|O",[3,2]]"#;
    assert_eq!(written.value("0.0"), to_hex(value));
    let elements = written.array().read(&Selection::All).unwrap();
    assert_eq!(elements.iter().collect::<Vec<_>>(), given.map(str::as_bytes));
    let other = stored(&members("json2")).with("0.0", r#"[1,2,3,4,5,6,"|O",[6]]"#);
    assert!(reading_fails(&other.array()).contains("the items have shape [6], expected [3,2]"));
}

/// Tests V2-OBJ-10.
#[test]
fn pickled_objects_are_rejected_for_safety() {
    // A pickle of an empty list, which is not an array.
    let stored = stored(&json!({"dtype": "|O", "filters": [{"id": "pickle"}], "fill_value": null}))
        .with("0", b"]\x94.");
    if Registry::linked().unwrap().codecs().find(Format::V2, "pickle", &Reading::new(Mode::Strict)).is_ok() {
        // Tests with all features have the crate that reads pickles.
        let error = reading_fails(&stored.array());
        assert!(error.contains("the pickle holds a list; expected an array of objects"), "{error}");
        return;
    }
    let error = stored.error();
    let refused = "codec `pickle` is refused for safety: reading a pickle can run arbitrary code; feature \
                   `codec-pickle` of crate `zarr-kit` reads it without running code";
    assert!(error.contains(refused), "{error}");
}
