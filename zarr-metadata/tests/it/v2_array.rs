//! Documents `.zarray` of v2.

use zarr_metadata::{ArrayMetadata, v2};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::{Format, Mode, Value};

use crate::support::{
    Outcome, ZA, accepted, json, read, refused, tolerated, v2_array, warned, with, without,
};

fn regular(chunk_shape: &str) -> ExtensionDocument {
    ExtensionDocument::new("regular", json(&format!(r#"{{"chunk_shape":{chunk_shape}}}"#)))
}

#[track_caller]
fn round_trip(array: &ArrayMetadata) {
    let document = v2::array_document(array).unwrap();
    assert_eq!(&accepted(v2_array, &document), array);
}

#[test]
fn a_document_becomes_the_common_form() {
    let document = with(
        ZA,
        &[
            ("shape", "[4,6]"),
            ("chunks", "[2,3]"),
            ("order", "\"F\""),
            ("dimension_separator", "\"/\""),
            ("filters", r#"[{"id":"delta","dtype":"<i4"}]"#),
            ("compressor", r#"{"id":"zlib","level":1}"#),
        ],
    );
    let array = accepted(v2_array, &document);
    assert_eq!(array.format, Format::V2);
    assert_eq!(array.shape, [4, 6]);
    assert_eq!(array.chunk_grid, regular("[2,3]"));
    assert_eq!(array.chunk_key_encoding, ExtensionDocument::new("v2", json(r#"{"separator":"/"}"#)));
    assert_eq!(array.memory_layout.as_ref().unwrap().identifier, "F");
    assert_eq!(array.data_type.identifier, "i4");
    assert_eq!(
        array.codecs,
        [
            ExtensionDocument::new("delta", json(r#"{"dtype":"<i4"}"#)),
            ExtensionDocument::new("zlib", json(r#"{"level":1}"#)),
        ]
    );
    assert!(array.has_compressor);
    assert_eq!(v2::array_document(&array).unwrap(), document);
}

/// Tests V2-ARR-02, V2-ARR-03, V2-ARR-04.
#[test]
fn a_document_is_an_object_of_version_2() {
    accepted(v2_array, &json(ZA));
    refused(v2_array, &json("[]"), "not an object");
    refused(v2_array, &json("\"\""), "not an object");
    refused(v2_array, &without(ZA, "zarr_format"), "`zarr_format`: is missing");
    for version in ["1", "3", "\"2\""] {
        refused(v2_array, &with(ZA, &[("zarr_format", version)]), "not the integer 2");
    }
    tolerated(v2_array, &with(ZA, &[("zarr_format", "2.0")]), "`zarr_format`: is 2.0");
}

/// Tests V2-ARR-05.
#[test]
fn a_shape_is_a_list_of_lengths() {
    let shapes = [("[]", "[]"), ("[0]", "[1]"), ("[10,20]", "[5,5]")];
    for (shape, chunks) in shapes {
        round_trip(&accepted(v2_array, &with(ZA, &[("shape", shape), ("chunks", chunks)])));
    }
    refused(v2_array, &without(ZA, "shape"), "`shape`: is missing");
    for shape in ["[-1]", "[1.5]", "4", "null"] {
        refused(v2_array, &with(ZA, &[("shape", shape)]), "`shape");
    }
}

/// Tests V2-ARR-06, V2-ARR-07.
#[test]
fn chunks_have_the_rank_of_the_array_and_nonzero_lengths() {
    assert_eq!(accepted(v2_array, &json(ZA)).chunk_grid, regular("[2]"));
    assert_eq!(accepted(v2_array, &with(ZA, &[("chunks", "[10]")])).chunk_grid, regular("[10]"));
    refused(v2_array, &without(ZA, "chunks"), "`chunks`: is missing");
    refused(v2_array, &with(ZA, &[("chunks", "null")]), "`chunks`: is null, not an array");
    refused(v2_array, &with(ZA, &[("chunks", "[2,2]")]), "`chunks`: has 2 entries for 1 dimension");
    refused(v2_array, &with(ZA, &[("chunks", "[0]")]), "`chunks[0]`: is 0");
}

/// zarr-python 2 writes such documents with `chunks=False`.
#[test]
fn a_chunk_length_of_zero_is_accepted_without_elements() {
    let document = with(ZA, &[("shape", "[0]"), ("chunks", "[0]")]);
    assert_eq!(tolerated(v2_array, &document, "`chunks[0]`").chunk_grid, regular("[1]"));
}

#[test]
fn shorthands_for_chunks_are_errors() {
    for chunks in ["true", "null", "3", "[2]"] {
        refused(v2_array, &with(ZA, &[("shape", "[4,4]"), ("chunks", chunks)]), "`chunks`");
    }
    let array = accepted(v2_array, &with(ZA, &[("shape", "[4,4]"), ("chunks", "[2,4]")]));
    assert_eq!(array.chunk_grid, regular("[2,4]"));
}

/// Tests V2-ARR-08.
#[test]
fn a_dtype_is_a_string_or_a_list() {
    round_trip(&accepted(v2_array, &with(ZA, &[("dtype", "\"<i4\"")])));
    let structured = with(ZA, &[("dtype", r#"[["a","<i4"]]"#), ("fill_value", "\"AAAAAA==\"")]);
    assert_eq!(accepted(v2_array, &structured).data_type.identifier, "struct");
    refused(v2_array, &without(ZA, "dtype"), "`dtype`: is missing");
    for dtype in ["{}", "5"] {
        refused(v2_array, &with(ZA, &[("dtype", dtype)]), "not a string or a list of fields");
    }
}

/// Tests V2-ARR-09, V2-PIPE-03.
#[test]
fn a_compressor_is_a_codec_or_null() {
    assert!(!accepted(v2_array, &json(ZA)).has_compressor);
    let array = accepted(v2_array, &with(ZA, &[("compressor", r#"{"id":"zlib","level":1}"#)]));
    assert_eq!(array.codecs, [ExtensionDocument::new("zlib", json(r#"{"level":1}"#))]);
    assert!(array.has_compressor);
    round_trip(&array);
    refused(v2_array, &without(ZA, "compressor"), "`compressor`: is missing");
    refused(v2_array, &with(ZA, &[("compressor", "{}")]), "`compressor.id`: is missing");
    refused(v2_array, &with(ZA, &[("compressor", r#"{"level":1}"#)]), "`compressor.id`: is missing");
    refused(v2_array, &with(ZA, &[("compressor", "\"zlib\"")]), "`compressor`: is \"zlib\"");
}

/// Tests V2-ARR-10.
#[test]
fn a_fill_value_is_mandatory() {
    for fill_value in ["0", "null"] {
        let array = accepted(v2_array, &with(ZA, &[("fill_value", fill_value)]));
        assert_eq!(array.fill_value, json(fill_value));
        round_trip(&array);
    }
    refused(v2_array, &without(ZA, "fill_value"), "`fill_value`: is missing");
}

/// Tests V2-ARR-11, V2-ARR-12.
#[test]
fn an_order_is_c_or_f() {
    for (order, letter) in [("\"C\"", "C"), ("\"F\"", "F")] {
        let array = accepted(v2_array, &with(ZA, &[("order", order)]));
        assert_eq!(array.memory_layout.as_ref().unwrap().identifier, letter);
        round_trip(&array);
    }
    refused(v2_array, &without(ZA, "order"), "`order`: is missing");
    for order in ["\"X\"", "\"A\""] {
        refused(v2_array, &with(ZA, &[("order", order)]), "`order`");
    }
    for (order, letter) in [("\"c\"", "C"), ("\"f\"", "F")] {
        let array = tolerated(v2_array, &with(ZA, &[("order", order)]), "`order`");
        assert_eq!(array.memory_layout.as_ref().unwrap().identifier, letter);
    }
}

/// Tests V2-ARR-13, V2-ARR-14.
#[test]
fn filters_are_codecs_and_an_empty_list_is_written_as_null() {
    for filters in ["null", "[]"] {
        let array = accepted(v2_array, &with(ZA, &[("filters", filters)]));
        assert_eq!(array, accepted(v2_array, &json(ZA)));
        let document = v2::array_document(&array).unwrap();
        assert_eq!(document.as_object().unwrap().get("filters"), Some(&json("null")));
    }
    let array = accepted(v2_array, &with(ZA, &[("filters", r#"[{"id":"delta","dtype":"<i4"}]"#)]));
    assert_eq!(array.codecs[0].identifier, "delta");
    assert!(!array.has_compressor);
    round_trip(&array);
    refused(v2_array, &without(ZA, "filters"), "`filters`: is missing");
    refused(v2_array, &with(ZA, &[("filters", "[{}]")]), "`filters[0].id`: is missing");
    refused(v2_array, &with(ZA, &[("filters", "[\"delta\"]")]), "`filters[0]`: is \"delta\"");
}

/// Reads an array that `attributes` mark as one of netCDF-C 4.10.1.
fn marked_array(mode: Mode, document: &Value) -> Outcome<ArrayMetadata> {
    let attributes = json(r#"{"_ARRAY_DIMENSIONS":["x"],"_nczarr_array":{"dimension_references":["/x"]}}"#);
    read(mode, |reading| v2::parse_array(document, Some(&attributes), reading))
}

/// Tests V2-CODEC-11.
#[test]
fn netcdf_c_shuffles_by_the_size_of_the_data_type() {
    let shuffled = |dtype: &str, size: &str| {
        let filters = format!(r#"[{{"id":"shuffle","elementsize":{size}}}]"#);
        with(ZA, &[("dtype", &format!("\"{dtype}\"")), ("filters", &filters)])
    };
    for (dtype, size) in [("<i2", 2), ("<f8", 8), ("|u1", 1), (">S1", 1)] {
        let array = tolerated(marked_array, &shuffled(dtype, "0"), "`shuffle.elementsize`: is 0");
        assert_eq!(array.codecs[0].configuration, json(&format!(r#"{{"elementsize":{size}}}"#)));
        let (_, warnings) = marked_array(Mode::Lenient, &shuffled(dtype, "0")).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
    let stated = accepted(marked_array, &shuffled("<i2", "4"));
    assert_eq!(stated.codecs[0].configuration, json(r#"{"elementsize":4}"#));
    let of_numcodecs = accepted(v2_array, &shuffled("<i2", "0"));
    assert_eq!(of_numcodecs.codecs[0].configuration, json(r#"{"elementsize":0}"#));
}

/// netCDF-C 4.9.0 adds its member to `.zarray`.
#[test]
fn arrays_of_older_versions_of_netcdf_c_are_recognized() {
    let document = with(
        ZA,
        &[
            ("filters", r#"[{"id":"shuffle","elementsize":0}]"#),
            ("_NCZARR_ARRAY", r#"{"dimrefs":["/x"],"storage":"chunked"}"#),
        ],
    );
    for mode in [Mode::Lenient, Mode::Compatibility] {
        let (array, warnings) = v2_array(mode, &document).unwrap();
        assert_eq!(array.codecs[0].configuration, json(r#"{"elementsize":4}"#), "{warnings:?}");
    }
    assert!(v2_array(Mode::Strict, &document).is_err());
}

/// Tests V2-ARR-15, V2-ARR-16, V2-ARR-17, V2-CONTRA-06.
#[test]
fn a_separator_is_a_period_unless_it_is_a_slash() {
    let encoding =
        |separator: &str| ExtensionDocument::new("v2", json(&format!(r#"{{"separator":"{separator}"}}"#)));
    assert_eq!(accepted(v2_array, &json(ZA)).chunk_key_encoding, encoding("."));
    for separator in [".", "/"] {
        let document = with(ZA, &[("dimension_separator", &format!("\"{separator}\""))]);
        let array = accepted(v2_array, &document);
        assert_eq!(array.chunk_key_encoding, encoding(separator));
        round_trip(&array);
    }
    let null = with(ZA, &[("dimension_separator", "null")]);
    assert_eq!(
        tolerated(v2_array, &null, "`dimension_separator`: is null").chunk_key_encoding,
        encoding(".")
    );
    for separator in ["\"_\"", "\"\"", "5"] {
        refused(v2_array, &with(ZA, &[("dimension_separator", separator)]), "`dimension_separator`");
    }
}

/// Tests V2-ARR-18, V2-ARR-19.
#[test]
fn additional_members_are_ignored_and_not_written() {
    let array = warned(v2_array, &with(ZA, &[("foo", "1")]), "`foo`");
    assert_eq!(array, accepted(v2_array, &json(ZA)));
    let document = v2::array_document(&array).unwrap();
    let listed = "zarr_format shape chunks dtype compressor fill_value order filters dimension_separator";
    assert_eq!(document.as_object().unwrap().keys().collect::<Vec<_>>().join(" "), listed);
    let mut array = array;
    array.ignored.insert("foo", 1);
    assert_eq!(v2::array_document(&array).unwrap_err().member.as_deref(), Some("foo"));
}

/// Tests V2-OBJ-01.
#[test]
fn the_first_filter_determines_the_type_of_objects() {
    let objects = |filters| with(ZA, &[("dtype", "\"|O\""), ("filters", filters)]);
    let array = accepted(v2_array, &objects(r#"[{"id":"vlen-utf8"}]"#));
    assert_eq!(array.data_type.identifier, "O/vlen-utf8");
    round_trip(&array);
    refused(v2_array, &objects("null"), "`dtype`");
    let compressed = with(ZA, &[("dtype", "\"|O\""), ("compressor", r#"{"id":"vlen-utf8"}"#)]);
    refused(v2_array, &compressed, "`dtype`");
    let second = accepted(v2_array, &objects(r#"[{"id":"delta"},{"id":"vlen-utf8"}]"#));
    assert_eq!(second.data_type.identifier, "O/delta", "not the second codec");
}

#[test]
fn all_missing_members_are_named_in_one_error() {
    let error = v2_array(zarr_spec::Mode::Lenient, &json(r#"{"zarr_format":2}"#)).unwrap_err();
    for member in ["shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters"] {
        assert!(error.reason.contains(&format!("`{member}`")), "{error}");
    }
}

#[test]
fn more_than_32_dimensions_are_unsupported() {
    let ones = |rank: usize| format!("[{}]", vec!["1"; rank].join(","));
    accepted(v2_array, &with(ZA, &[("shape", &ones(32)), ("chunks", &ones(32))]));
    refused(v2_array, &with(ZA, &[("shape", &ones(33)), ("chunks", &ones(33))]), "unsupported");
}

#[test]
fn metadata_that_v2_cannot_express_is_not_written() {
    let array = accepted(v2_array, &json(ZA));
    let refused = |change: &dyn Fn(&mut ArrayMetadata), word: &str| {
        let mut array = array.clone();
        change(&mut array);
        let error = v2::array_document(&array).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(&|array| array.format = Format::V3, "convert it first");
    refused(&|array| array.dimension_names = Some(vec![None]), "`dimension_names`");
    refused(&|array| array.chunk_grid.identifier = "rectangular".into(), "`rectangular`");
    refused(&|array| array.chunk_key_encoding.identifier = "default".into(), "`chunk_key_encoding`");
    refused(&|array| array.has_compressor = true, "`compressor`");
    refused(&|array| array.chunk_grid = regular("[0]"), "`chunks[0]`");
    refused(&|array| array.memory_layout.as_mut().unwrap().identifier = "f".into(), "`order`");
}
