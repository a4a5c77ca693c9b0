//! `put` and `get`: the file formats that they read and write.

use crate::numpy;
use crate::support::{Place, bytes, program, refused, run_with_input, text, unhex};

fn created(place: &Place, format: &str, shape: &str, dtype: &str) -> String {
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", shape, "--dtype", dtype, "--format", format]);
    store
}

/// Writes a NumPy file to an array, and reads it back.
fn round_trip(format: &str, shape: &str, dtype: &str, file: &str) -> Vec<u8> {
    let place = Place::new();
    let store = created(&place, format, shape, dtype);
    let file = place.file("in.npy", &unhex(file));
    bytes(&["put", &store, "/a", &file]);
    bytes(&["get", &store, "/a", "--format", "npy"])
}

#[test]
fn numpy_files_are_reproduced_byte_for_byte() {
    for format in ["v2", "v3"] {
        for (shape, dtype, file) in [
            ("2,3", "int16", numpy::INT16_C),
            ("2", "complex64", numpy::COMPLEX64),
            ("2,2", "bool", numpy::BOOL),
            ("2", "<M8[s]", numpy::DATETIME),
            ("2", "<U2", numpy::UNICODE),
            ("", "|S4", numpy::BYTES_0D),
        ] {
            assert_eq!(round_trip(format, shape, dtype, file), unhex(file), "{dtype} in {format}");
        }
    }
    assert_eq!(round_trip("v3-draft", "2,3", "int16", numpy::INT16_C), unhex(numpy::INT16_C));
    // v3 does not support array fields.
    let dtype = r#"[["a","<u2"],["b","|S3"],["c","<f4",[2]]]"#;
    assert_eq!(round_trip("v2", "2", dtype, numpy::STRUCT), unhex(numpy::STRUCT));
    assert_eq!(round_trip("v3", "1", r#"[["温","<i2"]]"#, numpy::VERSION_THREE), unhex(numpy::VERSION_THREE));
}

#[test]
fn fortran_order_and_big_endian_are_converted() {
    let elements: Vec<u8> = (0..6).flat_map(|number| (f64::from(number) / 4.0).to_le_bytes()).collect();
    let file = round_trip("v3", "2,3", "float64", numpy::FLOAT64_BIG_FORTRAN);
    assert!(
        file.starts_with(b"\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }")
    );
    assert_eq!(file[128..], elements);
    let place = Place::new();
    let store = created(&place, "v2", "1", r#"[["a",">u2"],["b","<f4"]]"#);
    let file = place.file("in.npy", &unhex(numpy::STRUCT_MIXED));
    bytes(&["put", &store, "/a", &file]);
    assert_eq!(bytes(&["get", &store, "/a", "--format", "raw"]), b"\x02\x01\0\0\xc0\x3f");
}

#[test]
fn all_versions_of_the_npy_format_are_read() {
    let file = round_trip("v3", "1", "int16", numpy::VERSION_TWO);
    assert_eq!(file[128..], [7, 0]);
    assert_eq!(round_trip("v2", "1", r#"[["温","<i2"]]"#, numpy::VERSION_THREE), unhex(numpy::VERSION_THREE));
}

#[test]
fn a_type_that_numpy_does_not_have_is_refused_in_one_sentence() {
    let place = Place::new();
    let store = created(&place, "v3", "2", "bfloat16");
    let message = refused(&["get", &store, "/a", "-o", &place.at("out.npy")], 1);
    let wanted = "NumPy does not have the type bfloat16; `float32` can represent all of its values; \
                  use --format raw, json or csv";
    assert!(message.contains(wanted) && message.matches("bfloat16").count() == 1, "{message}");
}

#[test]
fn unsuitable_files_are_refused_before_anything_is_written() {
    let place = Place::new();
    let store = created(&place, "v3", "2,3", "int16");
    let whole = unhex(numpy::INT16_C);
    let wrong = [
        ("type.npy", unhex(numpy::BOOL), "'|b1'"),
        ("shape.npy", unhex(numpy::VERSION_TWO), "shape"),
        ("short.npy", whole[..whole.len() - 1].to_vec(), "11 bytes"),
        ("long.npy", [whole.clone(), vec![0]].concat(), "13 bytes"),
        ("header.npy", whole[..60].to_vec(), "cut short"),
        ("magic.npy", vec![0; 200], "not an npy file"),
        ("none.npy", Vec::new(), "too short"),
        ("raw", vec![0; 12], "--format raw"),
    ];
    for (name, contents, part) in wrong {
        let file = place.file(name, &contents);
        let message = refused(&["put", &store, "/a", &file], 1);
        assert!(message.contains(part) && message.contains(name), "{message}");
    }
    let mut code = b"\x93NUMPY\x01\0\x76\0".to_vec();
    code.extend(
        format!("{:117}\n", "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }").into_bytes(),
    );
    let file = place.file("objects.npy", &code);
    assert!(refused(&["put", &store, "/a", &file], 1).contains("Python objects"));
    assert!(refused(&["put", &store, "/a", &place.at("no such file")], 1).contains("no such file"));
    let short = ["put", &store, "/a", &place.file("short", &[0; 11]), "--format", "raw"];
    assert!(refused(&short, 1).contains("11 bytes"));
    assert!(place.files("store").iter().all(|file| file.ends_with("zarr.json")));
}

#[test]
fn raw_output_is_always_little_endian_in_c_order() {
    for (format, dtype) in [("v2", ">i4"), ("v2", "<i4"), ("v3", "int32"), ("v3-draft", "int32")] {
        let place = Place::new();
        let store = place.at("store");
        let create = [
            "create", &store, "a", "--shape", "3,4", "--chunks", "2,3", "--dtype", dtype, "--format", format,
        ];
        bytes(&[&create[..], &["--layout", "F"]].concat());
        let raw: Vec<u8> = (0..12i32).flat_map(|number| (number * 1000).to_le_bytes()).collect();
        let file = place.file("raw", &raw);
        bytes(&["put", "--format", "raw", &store, "a", &file]);
        assert_eq!(bytes(&["get", &store, "a", "--format", "raw"]), raw, "{dtype} in {format}");
        let wanted: Vec<u8> = [5000i32, 7000].into_iter().flat_map(i32::to_le_bytes).collect();
        assert_eq!(bytes(&["get", &store, "/a", "--select", "1,1::2", "--format", "raw"]), wanted);
    }
}

#[test]
fn items_of_variable_length_follow_their_size() {
    for format in ["v2", "v3"] {
        let place = Place::new();
        let store = created(&place, format, "3", "string");
        let raw = "\x05\0\0\0größ".as_bytes();
        let raw = [&raw[..4], b"\xc3\xb6", &raw[4..6], b"\n", b"\0\0\0\0", b"\x02\0\0\0a\""].concat();
        // Sizes count bytes: ö, g, r and a newline are five bytes.
        let output = run_with_input(&["put", &store, "/a", "-"], &raw);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(bytes(&["get", &store, "/a", "--format", "raw"]), raw, "{format}");
        assert_eq!(text(&["get", &store, "/a", "--format", "json"]), "[\"ögr\\n\", \"\", \"a\\\"\"]\n");
        assert_eq!(text(&["get", &store, "/a", "--format", "csv"]), "\"ögr\n\"\r\n\"\"\r\n\"a\"\"\"\r\n");
        assert!(refused(&["get", &store, "/a", "--format", "npy"], 1).contains("variable size"));
        let short = place.file("short", b"\x05\0\0\0abc");
        assert!(refused(&["put", "--format", "raw", &store, "/a", &short], 1).contains("item 0 of 3"));
    }
}

#[test]
fn json_elements_look_like_fill_values_nested_by_shape() {
    let place = Place::new();
    let store = created(&place, "v3", "2,3", "float32");
    let values = [0.0f32, -0.0, f32::NAN, f32::INFINITY, 1.5, -2.0e20];
    let raw: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", &raw)]);
    let json = text(&["get", &store, "/a", "--format", "json"]);
    assert_eq!(json.lines().count(), 2, "{json}");
    assert!(json.starts_with("[[0.0, -0.0, \"NaN\"],\n [\"Infinity\", 1.5, -"), "{json}");
    assert!(json.ends_with("]]\n"), "{json}");
    assert_eq!(text(&["get", &store, "/a", "--select", "1,1", "--format", "json"]), "1.5\n");
    assert_eq!(text(&["get", &store, "/a", "--select", "0:0", "--format", "json"]), "[]\n");
}

/// Returns one element of this data type as JSON and as CSV.
fn element(format: &str, dtype: &str, raw: &[u8]) -> [String; 2] {
    let place = Place::new();
    let store = created(&place, format, "1", dtype);
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", raw)]);
    ["json", "csv"].map(|form| text(&["get", &store, "/a", "--format", form]))
}

#[test]
fn json_elements_do_not_depend_on_the_format_of_the_store() {
    let float = 15.536_119_f32.to_le_bytes();
    let time = 978_307_205_i64.to_le_bytes();
    let none = i64::MIN.to_le_bytes();
    for format in ["v2", "v3", "v3-draft"] {
        let shown = |dtype: &str, raw: &[u8]| element(format, dtype, raw);
        assert_eq!(shown("float32", &float), ["[15.536119]\n", "15.536119\r\n"]);
        assert_eq!(shown("<M8[s]", &time), ["[\"2001-01-01T00:00:05\"]\n", "2001-01-01T00:00:05\r\n"]);
        assert_eq!(shown("<M8[s]", &none), ["[\"NaT\"]\n", "NaT\r\n"]);
        assert_eq!(shown("<m8[s]", &[5, 0, 0, 0, 0, 0, 0, 0]), ["[5]\n", "5 s\r\n"]);
        assert_eq!(shown("<m8[s]", &none), ["[\"NaT\"]\n", "NaT\r\n"]);
        assert_eq!(shown("|S3", b"\xc3\xa9\0"), ["[\"é\"]\n", "é\r\n"]);
        assert_eq!(shown("|S2", b"a\xff")[0], "[{\"base64\":\"Yf8=\"}]\n");
    }
}

#[test]
fn structures_are_objects_in_json_and_columns_in_csv() {
    let dtype = r#"[["n","<i2"],["when","<M8[s]"],["what, where","|S3"]]"#;
    let raw = [&7_i16.to_le_bytes()[..], &978_307_205_i64.to_le_bytes(), b"a,b"].concat();
    for format in ["v2", "v3", "v3-draft"] {
        let [json, csv] = element(format, dtype, &raw);
        assert_eq!(
            json, "[{\"n\":7,\"when\":\"2001-01-01T00:00:05\",\"what, where\":\"a,b\"}]\n",
            "{format}"
        );
        assert_eq!(csv, "n,when,\"what, where\"\r\n7,2001-01-01T00:00:05,\"a,b\"\r\n", "{format}");
    }
    // v3 does not support array fields.
    let [json, csv] = element("v2", r#"[["a","|i1",[2,2]],["b","|i1"]]"#, &[1, 2, 3, 4, 5]);
    assert_eq!(json, "[{\"a\":[[1,2],[3,4]],\"b\":5}]\n");
    assert_eq!(csv, "a,b\r\n\"[1, 2, 3, 4]\",5\r\n");
}

#[test]
fn text_that_looks_like_a_formula_is_unchanged_in_csv() {
    let place = Place::new();
    let store = created(&place, "v3", "1", "string");
    let output = run_with_input(&["put", &store, "/a", "-"], b"\x05\0\0\0=A1+1");
    assert!(output.status.success());
    assert_eq!(text(&["get", &store, "/a", "--format", "csv"]), "=A1+1\r\n");
}

#[test]
fn csv_has_a_line_for_each_row() {
    let place = Place::new();
    let store = created(&place, "v3", "2,2,2", "int8");
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", &[1, 2, 3, 4, 251, 6, 7, 8])]);
    assert!(refused(&["get", &store, "/a", "--format", "csv"], 1).contains("limited to 2 dimensions"));
    assert_eq!(text(&["get", &store, "/a", "--select", "1", "--format", "csv"]), "-5,6\r\n7,8\r\n");
    assert_eq!(text(&["get", &store, "/a", "--select", "...,0,0", "--format", "csv"]), "1\r\n-5\r\n");
    assert_eq!(text(&["get", &store, "/a", "--select", "0,0,1", "--format", "csv"]), "2\r\n");
}

#[test]
fn the_file_extension_selects_the_format() {
    let place = Place::new();
    let store = created(&place, "v3", "2", "uint8");
    for (name, contents) in [("a.json", &b"[0, 0]\n"[..]), ("a.csv", b"0\r\n0\r\n"), ("a.bin", &[0, 0])] {
        bytes(&["get", &store, "/a", "-o", &place.at(name)]);
        assert_eq!(std::fs::read(place.path(name)).unwrap(), contents, "{name}");
    }
    bytes(&["get", &store, "/a", "-o", &place.at("a.npy")]);
    assert!(std::fs::read(place.path("a.npy")).unwrap().starts_with(b"\x93NUMPY"));
    assert!(place.files("").iter().all(|file| !file.ends_with(".part")));
    let message = refused(&["get", &store, "/a", "-o", &place.at("no/such/folder")], 1);
    assert!(message.contains("no/such/folder"), "{message}");
}

#[test]
fn a_dash_means_standard_output() {
    let place = Place::new();
    let store = created(&place, "v3", "2", "uint8");
    let mut command = program();
    command.current_dir(place.path("store")).args(["get", ".", "/a", "-o", "-"]);
    assert_eq!(command.output().unwrap().stdout, [0, 0]);
    assert!(!place.path("store/-").exists());
    assert_eq!(text(&["get", &store, "/a", "-o", "-", "--format", "json"]), "[0, 0]\n");
}

#[test]
fn unknown_file_extensions_need_a_format() {
    let place = Place::new();
    let store = created(&place, "v3", "2", "uint8");
    for (name, part) in [
        ("a.nc", "unknown extension `.nc`; use --format"),
        ("a.parquet", "unknown extension `.parquet`; use --format"),
        ("a.txt", "unknown extension `.txt`; use --format"),
        ("a", "does not have an extension"),
    ] {
        let file = place.at(name);
        let message = refused(&["get", &store, "/a", "-o", &file], 1);
        assert!(message.contains(part), "{message}");
        assert!(!place.path(name).exists());
        bytes(&["get", &store, "/a", "-o", &file, "--format", "raw"]);
        assert_eq!(std::fs::read(&file).unwrap(), [0, 0], "{name}");
    }
}

#[test]
fn files_of_other_formats_are_not_read_as_raw_bytes() {
    let place = Place::new();
    let store = created(&place, "v3", "4", "uint8");
    for (name, part) in [
        ("a.txt", "`put` does not read text other than CSV"),
        ("a.json", "`put` does not read JSON"),
        ("a.npz", "`put` does not read NumPy archives"),
        ("a.tif", "`put` does not read TIFF"),
        ("a.raw", "not a NumPy file (.npy)"),
        ("a", "not a NumPy file (.npy)"),
    ] {
        let file = place.file(name, b"1,2\n");
        let message = refused(&["put", &store, "/a", &file], 1);
        assert!(message.contains(part) && message.contains("--format raw"), "{message}");
        assert_eq!(bytes(&["get", &store, "/a", "--format", "raw"]), [0; 4], "{name}");
    }
    // A table has one value in each line.
    let message = refused(&["put", &store, "/a", &place.file("a.csv", b"1,2\n")], 1);
    assert!(message.contains("line 1: found 2 values, expected 1"), "{message}");
    bytes(&["put", &store, "/a", &place.at("a.csv"), "--format", "raw"]);
    assert_eq!(bytes(&["get", &store, "/a", "--format", "raw"]), b"1,2\n");
}

#[test]
fn messages_recommend_only_formats_that_the_command_supports() {
    let place = Place::new();
    let store = created(&place, "v3", "2", "string");
    let message = refused(&["put", &store, "/a", &place.file("a.npy", &unhex(numpy::COMPLEX64))], 1);
    assert!(message.contains("--format raw") && !message.contains("json"), "{message}");
    let message = refused(&["get", &store, "/a", "--format", "npy"], 1);
    assert!(message.contains("--format raw, json or csv"), "{message}");
}

#[test]
fn selections_work_as_in_numpy() {
    let place = Place::new();
    let store = created(&place, "v3", "5,4", "uint8");
    let raw: Vec<u8> = (0..20).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", &raw)]);
    let get = |select: &str| bytes(&["get", &store, "/a", "--format", "raw", "--select", select]);
    assert_eq!(get("-1"), [16, 17, 18, 19]);
    assert_eq!(get("::2,0"), [0, 8, 16]);
    assert_eq!(get("1:3, -2:"), [6, 7, 10, 11]);
    assert_eq!(get("[4,0],[1]"), [17, 1]);
    assert_eq!(get("3:99,1"), [13, 17]);
    for (wrong, part) in [("::-1", "positive"), ("5", "outside"), ("0,0,0", "dimensions"), ("a", "integer")] {
        let message = refused(&["get", &store, "/a", "--select", wrong], 1);
        assert!(message.contains(part), "{message}");
    }
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("part", &[90, 91]), "--select", "2,1:3"]);
    assert_eq!(get("2"), [8, 90, 91, 11]);
}

#[test]
fn bytes_that_are_not_booleans_are_refused() {
    let place = Place::new();
    let store = created(&place, "v3", "3", "bool");
    let message = refused(&["put", "--format", "raw", &store, "/a", &place.file("raw", &[0, 1, 2])], 1);
    assert!(message.contains("element 2"), "{message}");
}

#[test]
fn a_failure_is_reported_once() {
    let place = Place::new();
    let store = created(&place, "v3", "4", "int8");
    let file = place.file("raw", &[1, 2, 3, 4]);
    bytes(&["put", "--format", "raw", &store, "/a", &file]);
    place.file("store/a/c/0", b"");
    let message = refused(&["get", &store, "/a", "-o", &place.at("out.npy")], 1);
    assert!(message.starts_with("error: chunk [0] of /a (key `a/c/0`)"), "{message}");
    assert!(!place.path("out.npy").exists());
    let message = refused(&["put", "--format", "raw", &store, "/a", &file, "--select", "0:2"], 1);
    assert!(message.contains("found 4 bytes of elements, expected 2 (2 elements of 1 byte)"), "{message}");
    let message =
        refused(&["put", "--format", "raw", &store, "/a", &place.file("one", &[1]), "--select", "0:1"], 1);
    assert!(message.starts_with("error: chunk [0] of /a (key `a/c/0`)"), "{message}");
}

#[test]
fn more_than_a_tebibyte_is_read_only_with_a_selection() {
    let place = Place::new();
    let store = place.at("store");
    let create = |path: &str, shape: &str| {
        bytes(&["create", &store, path, "--shape", shape, "--dtype", "uint8"]);
    };
    create("/large", "1099511627777");
    create("/huge", "4611686018427387904,2");
    let file = place.at("file");
    for output in [&[][..], &["-o", &file]] {
        let refusal = |more: &[&str]| refused(&[&["get", &store], more, output].concat(), 1);
        assert!(refusal(&["/large"]).contains("--select"));
        for more in [&["/huge"][..], &["/huge", "--select", "..."]] {
            assert!(refusal(more).contains("8 EiB"));
        }
    }
    assert!(!place.path("file").exists());
    assert_eq!(bytes(&["get", &store, "/huge", "--select", "-1"]), [0, 0]);
}
