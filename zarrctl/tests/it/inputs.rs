//! `put` with tables, conversions and single values; `get --cf`.

use crate::numpy::{FLOAT64_BIG_FORTRAN, UNICODE};
use crate::showing::data_set;
use crate::support::{Place, bytes, refused, run, text, unhex};

/// Returns a NumPy file in C order.
fn npy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:117}\n");
    let length = u16::try_from(header.len()).unwrap();
    [&b"\x93NUMPY\x01\0"[..], &length.to_le_bytes(), header.as_bytes(), elements].concat()
}

fn create(place: &Place, path: &str, shape: &str, dtype: &str) -> String {
    let store = place.at("store");
    bytes(&[
        "create",
        &store,
        path,
        "--shape",
        shape,
        "--chunks",
        &shape.replace(['4', '5'], "2"),
        "--dtype",
        dtype,
    ]);
    store
}

fn json(store: &str, path: &str) -> String {
    let json = text(&["get", store, path, "--format", "json"]);
    json.lines().map(str::trim_start).collect::<Vec<_>>().join(" ")
}

/// Numbers that a type of floats cannot hold would become infinite, or NaN.
#[test]
fn numbers_that_would_become_infinite_are_refused() {
    let place = Place::new();
    let store = place.at("store");
    let types = [
        ("float16", "70000", "70000"),
        ("float32", "1e40", "1e40"),
        ("float32", "-1e40", "-1e40"),
        ("float64", "1e400", "1e400"),
        ("bfloat16", "1e39", "1e39"),
        ("float8_e4m3", "1000", "1000"),
        ("float8_e4m3fn", "1e6", "1e6"),
        ("float8_e5m2", "1e6", "1e6"),
        ("float8_e4m3fnuz", "1e6", "1e6"),
        ("float4_e2m1fn", "7", "7"),
        ("complex64", "[0,1e40]", "1e40"),
        ("complex64", r#"["1e40","0"]"#, "1e40"),
        ("complex128", "[1e400,0]", "1e400"),
    ];
    for (number, (dtype, value, wrong)) in types.into_iter().enumerate() {
        let path = format!("/a{number}");
        let array = ["--shape", "2", "--chunks", "2", "--dtype", dtype];
        let fill = format!("--fill={value}");
        let message = refused(&[&["create", &store, "/fill", &fill][..], &array].concat(), 1);
        assert!(!place.path("store/fill").exists() && message.contains(wrong), "{message}");
        bytes(&[&["create", &store, &path][..], &array].concat());
        let message = refused(&["put", &store, &path, "--value", value], 1);
        assert!(message.starts_with("error: --value: ") && message.contains(dtype), "{message}");
        assert!(message.contains(wrong), "{message}");
        let table = place.file("table.csv", format!("0\n\"{}\"\n", value.replace('"', "\"\"")).as_bytes());
        let message = refused(&["put", &store, &path, &table], 1);
        assert!(message.contains("line 1") || message.contains("line 2, column 1: "), "{message}");
        assert!(message.contains(dtype), "{message}");
        assert_eq!(place.files(&format!("store{path}")), ["zarr.json"]);
    }
    let array = ["--shape", "2", "--dtype", "float32", "--format", "v2", "--fill", "1e40"];
    let message = refused(&[&["create", &place.at("v2"), "/a"][..], &array].concat(), 1);
    assert_eq!(message, "error: --fill: 1e40 is out of range for float32\n");
    let message = refused(&["put", &store, "/a1", "--value", "1e40"], 1);
    assert_eq!(message, "error: --value: 1e40 is out of range for float32\n");
    for value in ["Infinity", "-inf", "nan", "3.4028235e38"] {
        bytes(&["put", &store, "/a1", "--value", value]);
    }
    let wide = npy("'<f8'", "(2,)", &[0_f64, 1e40].map(f64::to_le_bytes).concat());
    let wide = place.file("wide.npy", &wide);
    let message = refused(&["put", &store, "/a1", &wide, "--cast"], 1);
    assert!(message.contains("is not an element of float32"), "{message}");
}

#[test]
fn one_value_fills_a_selection() {
    let place = Place::new();
    let store = create(&place, "/a", "4,5", "int16");
    bytes(&["put", &store, "/a", "--value", "-7"]);
    bytes(&["put", &store, "/a", "--value", "3", "--select", "1:3,::2"]);
    let row = "[-7, -7, -7, -7, -7]";
    let mixed = "[3, -7, 3, -7, 3]";
    assert_eq!(json(&store, "/a"), format!("[{row}, {mixed}, {mixed}, {row}]"));
    create(&place, "/s", "4", "string");
    bytes(&["put", &store, "/s", "--value", "no quotes", "--select", "1:"]);
    assert_eq!(json(&store, "/s"), r#"["", "no quotes", "no quotes", "no quotes"]"#);
    create(&place, "/t", "2", "<M8[s]");
    bytes(&["put", &store, "/t", "--value", "2001-02-03T04:05"]);
    assert_eq!(json(&store, "/t"), r#"["2001-02-03T04:05:00", "2001-02-03T04:05:00"]"#);
    create(&place, "/f", "2", "float32");
    bytes(&["put", &store, "/f", "--value", "NaN"]);
    assert_eq!(json(&store, "/f"), r#"["NaN", "NaN"]"#);
    for (path, value) in [("/a", "40000"), ("/a", "x"), ("/t", "2001-02-03T04:05:00.5")] {
        let message = refused(&["put", &store, path, "--value", value], 1);
        assert!(message.contains("--value: "), "{message}");
    }
    assert_eq!(run(&["put", &store, "/a"]).status.code(), Some(2));
    assert_eq!(run(&["put", &store, "/a", "file", "--value", "1"]).status.code(), Some(2));
}

#[test]
fn tables_that_get_writes_are_read_back() {
    let place = Place::new();
    let source = place.at("demo");
    bytes(&["demo", &source]);
    let store = format!("{source}/v3");
    let copy = place.at("copy");
    for path in [
        "/image/mask",
        "/image/mandelbrot",
        "/image/interference",
        "/weather/time",
        "/weather/stations",
        "/words",
    ] {
        let file = place.at("table.csv");
        bytes(&["get", &store, path, "-o", &file]);
        bytes(&["create", &copy, path, "--like", path, "--like-store", &store]);
        bytes(&["put", &copy, path, &file]);
        let diff = run(&["diff", &store, &copy, "--path", path]);
        assert_eq!(diff.status.code(), Some(0), "{path}: {}", String::from_utf8_lossy(&diff.stdout));
    }
}

#[test]
fn errors_in_tables_name_the_line_and_the_column() {
    let place = Place::new();
    let store = create(&place, "/a", "2,5", "uint8");
    let put = |table: &str, more: &[&str]| {
        let file = place.file("table.csv", table.as_bytes());
        run(&[&["put", &store, "/a", &file], more].concat())
    };
    for (table, part) in [
        ("1,2,3,4,5\n1,2,x,4,5\n", "line 2, column 3: `x` is not an integer"),
        ("1,2,3,4,5\n1,2,3,4\n", "line 2: found 4 values, expected 5"),
        ("1,2,3,4,5\n", "found 5 elements, expected 10"),
        ("1,2,3,4,5\n1,2,3,4,5\n1,2,3,4,5\n", "found more than 10 elements"),
        ("1,2,3,4,5\n1,2,3,4,256\n", "line 2, column 5"),
        ("", "found 0 elements, expected 10"),
    ] {
        let output = put(table, &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(part) && message.contains("table.csv"), "{table}: {message}");
    }
    let output = put("a,b,c,d,e\n1,2,3,4,5\n\"6\",7,8, 9 ,10\r\n", &["--header"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(json(&store, "/a"), "[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]");
}

#[test]
fn numbers_and_texts_of_numpy_files_are_converted_on_request() {
    let place = Place::new();
    let store = create(&place, "/a", "4", "int16");
    let floats: Vec<u8> = [1.0_f64, -2.0, 300.0, 0.0].iter().flat_map(|value| value.to_be_bytes()).collect();
    let file = place.file("floats.npy", &npy("'>f8'", "(4,)", &floats));
    let message = refused(&["put", &store, "/a", &file], 1);
    assert!(
        message.contains("the file contains '>f8', but the array is int16; --cast converts"),
        "{message}"
    );
    bytes(&["put", &store, "/a", &file, "--cast"]);
    assert_eq!(json(&store, "/a"), "[1, -2, 300, 0]");
    create(&place, "/b", "4", "uint8");
    let message = refused(&["put", &store, "/b", &file, "--cast"], 1);
    assert!(message.contains("element 1: -2 is not an element of uint8"), "{message}");
    create(&place, "/c", "2,3", "float32");
    bytes(&["put", &store, "/c", &place.file("fortran.npy", &unhex(FLOAT64_BIG_FORTRAN)), "--cast"]);
    assert_eq!(json(&store, "/c"), "[[0.0, 0.25, 0.5], [0.75, 1.0, 1.25]]");
}

#[test]
fn numpy_texts_become_strings() {
    let place = Place::new();
    let store = create(&place, "/s", "2", "string");
    let file = place.file("texts.npy", &unhex(UNICODE));
    bytes(&["put", &store, "/s", &file]);
    assert_eq!(json(&store, "/s"), r#"["ab", "温"]"#);
    create(&place, "/u", "2", "<U4");
    bytes(&["put", &store, "/u", &file, "--cast"]);
    assert_eq!(json(&store, "/u"), r#"["ab", "温"]"#);
    create(&place, "/short", "2", "<U1");
    let message = refused(&["put", &store, "/short", &file, "--cast"], 1);
    assert!(message.contains("element 0: `ab` is longer than 1 characters"), "{message}");
    let plain = place.file("plain.npy", &npy("'|S3'", "(2,)", b"ab\0abc"));
    bytes(&["put", &store, "/s", &plain]);
    assert_eq!(json(&store, "/s"), r#"["ab", "abc"]"#);
}

#[test]
fn elements_are_decoded_by_the_cf_conventions_on_request() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    let get = |path: &str, form: &str| text(&["get", &store, path, "--cf", "--format", form]);
    assert_eq!(get("/time", "csv"), "2001-01-01\r\n2001-02-01\r\n2001-03-01\r\n");
    assert_eq!(get("/time", "json"), "[\"2001-01-01\", \"2001-02-01\", \"2001-03-01\"]\n");
    assert_eq!(get("/t2m", "csv").lines().nth(1), Some("12,NaN,13,13.5"));
    assert!(get("/t2m", "json").contains(r#"[12.0, "NaN", 13.0, 13.5]"#), "{}", get("/t2m", "json"));
    // An array whose attributes declare nothing to decode is printed as it is stored.
    assert_eq!(get("/lat", "csv"), text(&["get", &store, "/lat", "--format", "csv"]));
    let message = refused(&["get", &store, "/t2m", "--cf", "--format", "npy"], 1);
    assert!(message.contains("use --format json or csv"), "{message}");
}
