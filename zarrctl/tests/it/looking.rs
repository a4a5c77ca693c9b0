//! `tree`, `info` and the reading modes.

use crate::support::{Place, bytes, refused, run, text};

/// Creates a v3 hierarchy with a group, an array and an unreadable array.
fn hierarchy(place: &Place) -> String {
    let store = place.at("store");
    let create = ["create", &store, "/g/image", "--shape", "10,20", "--chunks", "5,10", "--dtype", "uint16"];
    let more = [
        "--codec",
        r#"gzip:{"level":5}"#,
        "--attr",
        r#"unit="m""#,
        "--dimension-names",
        "y,x",
        "--fill",
        "7",
    ];
    bytes(&[&create[..], &more].concat());
    let unknown = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"bytes"},{"name":"example.unheard"}],"attributes":{"a":1}}"#;
    place.file("store/g/odd/zarr.json", unknown.as_bytes());
    store
}

#[test]
fn a_tree_has_a_line_for_each_node() {
    let place = Place::new();
    let store = hierarchy(&place);
    let tree = text(&["tree", &store]);
    let lines: Vec<_> = tree.lines().collect();
    assert_eq!(lines.len(), 4, "{tree}");
    assert!(lines[0].starts_with("/ (v3"), "{tree}");
    assert!(lines[1].starts_with("└─ g"), "{tree}");
    assert!(lines[2].starts_with("   ├─ image uint16 [10 × 20] chunks 5 × 10; bytes, gzip"), "{tree}");
    assert!(lines[3].starts_with("   └─ odd [4] unreadable: "), "{tree}");
    assert!(lines[3].contains("example.unheard"), "{tree}");
    assert_eq!(text(&["tree", &store, "g/image"]).lines().count(), 1);
    let json = text(&["tree", &store, "--json"]);
    for part in [r#""path": "/g/image""#, r#""kind": "unreadable""#, r#""data_type": "uint16""#] {
        assert!(json.contains(part), "{part} in {json}");
    }
}

#[test]
fn the_root_may_be_empty_or_a_slash() {
    let place = Place::new();
    let store = hierarchy(&place);
    let root = text(&["info", &store, "/"]);
    assert_eq!(root, text(&["info", &store, ""]));
    assert_eq!(root, text(&["info", &store]));
    assert_eq!(text(&["info", &store, "g/image"]), text(&["info", &store, "/g/image"]));
    assert_eq!(text(&["tree", &format!("file://{store}")]).lines().count(), 4);
}

#[test]
fn info_shows_what_is_stored_and_which_plugins_are_used() {
    let place = Place::new();
    let store = hierarchy(&place);
    let file = place.file("raw", &[1; 100]);
    bytes(&["put", "--format", "raw", &store, "/g/image", &file, "--select", "0:5,0:10"]);
    for (more, parts) in [
        (
            &["--verbose"][..],
            &[
                "uint16  (zarr-dtype-core ",
                r#"gzip {"level":5}  (zarr-codec-gzip "#,
                "dimension names   y, x",
                "2 × 2 chunks of 5 × 10\n",
                "key encoding",
                "\ng/image/zarr.json\n{",
                r#""zarr_format": 3"#,
            ][..],
        ),
        (
            &[],
            &[
                "10 × 20 (y, x)\n",
                "data type         uint16\n",
                "chunks            2 × 2 chunks of 5 × 10; 100 B per chunk\n",
                "codecs            bytes",
                r#", gzip {"level":5}"#,
            ],
        ),
    ] {
        let info = text(&[&["info", &store, "/g/image"], more].concat());
        let both = ["/g/image\n", "fill value        7", r#"unit: "m""#, "1 of 4", "400 B raw, ratio"];
        for part in parts.iter().copied().chain(both) {
            assert!(info.contains(part), "{part} in {info}");
        }
        assert_eq!(info.contains("zarr-codec-gzip"), !more.is_empty(), "{info}");
    }
    let json = text(&["info", &store, "/g/image", "--json"]);
    for part in [
        r#""format": "v3""#,
        r#""chunks_stored": 1"#,
        r#""chunks": 4"#,
        r#""raw_size": 400"#,
        r#""dimension_names": ["y", "x"]"#,
        r#""chunk_shape": [5, 10]"#,
        r#""problems": []"#,
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
}

#[test]
fn info_of_an_unreadable_node_shows_the_reason_and_all_other_metadata() {
    let place = Place::new();
    let store = hierarchy(&place);
    let info = text(&["info", &store, "/g/odd"]);
    for part in
        ["unreadable array", "example.unheard", "int8", "regular", "a: 1", "cannot be read", "codecs[1]"]
    {
        assert!(info.contains(part), "{part} in {info}");
    }
    let json = text(&["info", &store, "/g/odd", "--json"]);
    assert!(json.contains(r#""kind": "unreadable array""#), "{json}");
    let message = refused(&["get", &store, "/g/odd"], 1);
    assert!(message.contains("`codecs[1]`") && message.contains("example.unheard"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    place.file("store/g/broken/zarr.json", b"{\"zarr_format\":3");
    let info = text(&["info", &store, "/g/broken"]);
    assert!(info.contains("unreadable node") && info.contains("g/broken/zarr.json"), "{info}");
}

#[test]
fn info_of_an_array_with_an_unknown_codec_counts_its_chunks() {
    let place = Place::new();
    let store = hierarchy(&place);
    place.file("store/g/odd/c/0", &[1, 2, 3]);
    place.file("store/g/odd/c/7", b"outside");
    let info = text(&["info", &store, "/g/odd"]);
    for part in [" 2 chunks of 2\n", "chunks stored     1 of 2\n", "stored size       3 B of 4 B raw"] {
        assert!(info.contains(part), "{part} in {info}");
    }
    let json = text(&["info", &store, "/g/odd", "--json"]);
    for part in [r#""grid_shape": [2]"#, r#""chunks_stored": 1"#, r#""chunks": 2"#, r#""stored_size": 3"#] {
        assert!(json.contains(part), "{part} in {json}");
    }
    let v2 =
        br#"{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":"<i2","compressor":{"id":"example.unheard"},
        "fill_value":0,"order":"C","filters":null}"#;
    place.file("v2/.zarray", v2);
    place.file("v2/1", &[1; 5]);
    let info = text(&["info", &place.at("v2")]);
    assert!(info.contains("1 of 2\n") && info.contains("5 B of 6 B raw"), "{info}");
    // The draft stores chunks in a separate folder.
    let draft = place.at("draft");
    bytes(&[
        "create", &draft, "/a/b", "--shape", "4", "--chunks", "2", "--dtype", "int8", "--format", "v3-draft",
    ]);
    bytes(&["put", "--format", "raw", &draft, "/a/b", &place.file("raw", &[1, 2, 3, 4])]);
    let document =
        String::from_utf8(std::fs::read(place.path("draft/meta/a/b.array.json")).unwrap()).unwrap();
    let document = document.replacen("https://purl.org/zarr/spec/codecs/", "https://example.org/codecs/", 1);
    place.file("draft/meta/a/b.array.json", document.as_bytes());
    let info = text(&["info", &draft, "/a/b"]);
    assert!(info.contains("unreadable array") && info.contains("2 of 2\n"), "{info}");
}

#[test]
fn info_shows_the_contents_of_an_invalid_document() {
    let place = Place::new();
    let store = hierarchy(&place);
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[4,5],"data_type":"int8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,5]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],
        "attributes":{"unit":"m"},"foo":{"bar":1}}"#;
    place.file("store/g/foo/zarr.json", document.as_bytes());
    let info = text(&["info", &store, "/g/foo"]);
    for part in [
        "kind              unreadable array\n",
        "format            v3\n",
        "shape             [4,5]\n",
        "data type         \"int8\"\n",
        "codecs            [{\"name\":\"bytes\"}]\n",
        "attributes        unit: \"m\"\n",
        "cannot be read    document `g/foo/zarr.json`",
    ] {
        assert!(info.contains(part), "{part} in {info}");
    }
    let json = text(&["info", &store, "/g/foo", "--json"]);
    for part in [
        r#""format": "v3""#,
        r#""shape": [4, 5]"#,
        r#""data_type": "int8""#,
        r#""foo": {"#,
        "\"attributes\": {\n    \"unit\": \"m\"\n  }",
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    let v2 =
        br#"{"zarr_format":2,"shape":"wrong","chunks":[2],"dtype":"<i2","compressor":null,"fill_value":0,
        "order":"C","filters":null}"#;
    place.file("v2/.zarray", v2);
    place.file("v2/.zattrs", br#"{"unit":"m"}"#);
    let info = text(&["info", &place.at("v2")]);
    for part in
        ["shape             \"wrong\"\n", "dtype             \"<i2\"\n", "unit: \"m\"", "cannot be read"]
    {
        assert!(info.contains(part), "{part} in {info}");
    }
}

#[test]
fn chunks_of_several_shapes_are_shown_with_their_maximum() {
    let place = Place::new();
    let store = place.at("store");
    let grid = r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[4,[1,2,3]]}}"#;
    bytes(&["create", &store, "/a", "--shape", "7,6", "--dtype", "int8", "--grid", grid]);
    let info = text(&["info", &store, "/a"]);
    assert!(info.contains(" 2 × 3 chunks of up to 4 × 3; 12 B per chunk\n"), "{info}");
    assert!(text(&["info", &store, "/a", "--json"]).contains(r#""chunk_shape": null"#));
    let tree = text(&["tree", &store, "/a"]);
    assert!(tree.contains("chunks up to 4 × 3;"), "{tree}");
}

#[test]
fn info_in_json_gives_the_reason_why_chunks_are_unknown() {
    let place = Place::new();
    let store = hierarchy(&place);
    let document = std::fs::read(place.path("store/g/image/zarr.json")).unwrap();
    let document = String::from_utf8(document).unwrap();
    let transformed = document.replacen('{', r#"{"storage_transformers":[{"name":"example.unheard"}],"#, 1);
    place.file("store/g/image/zarr.json", transformed.as_bytes());
    let json = text(&["info", &store, "/g/image", "--json"]);
    assert!(json.contains(r#""chunks_unknown": "the storage transformers determine"#), "{json}");
    let info = text(&["info", &store, "/g/image", "--verbose"]);
    assert!(info.contains("chunks            unknown: the storage transformers determine"), "{info}");
}

#[test]
fn tolerated_deviations_cause_a_warning_and_strict_refuses_them() {
    let place = Place::new();
    // The data type does not have a byte order.
    let zarray = br#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"i4","compressor":null,"fill_value":0,
        "order":"C","filters":null}"#;
    place.file("store/.zarray", zarray);
    let store = place.at("store");
    let output = run(&["info", &store]);
    assert_eq!(output.status.code(), Some(0));
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(warnings.starts_with("warning: document `.zarray`: ") && warnings.contains("`i4`"), "{warnings}");
    assert_eq!(warnings.lines().count(), 1, "{warnings}");
    assert!(refused(&["get", &store, "/", "--strict"], 1).contains("`i4`"));
    assert_eq!(run(&["get", &store, "/", "--compat"]).status.code(), Some(0));
}

#[test]
fn parts_are_read_as_strictly_as_their_array() {
    let place = Place::new();
    // The field does not have a byte order.
    let zarray = br#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":[["a","i4"]],"compressor":null,
        "fill_value":null,"order":"C","filters":null}"#;
    place.file("store/.zarray", zarray);
    let store = place.at("store");
    let lenient = run(&["info", &store, "--verbose"]).stdout;
    assert!(String::from_utf8(lenient).unwrap().contains(r#" = struct{"a": int32}  ("#));
    let strict = text(&["info", &store, "--strict"]);
    assert!(!strict.contains("struct{") && strict.contains("cannot be read    `data_type`"), "{strict}");
}

#[test]
fn a_folder_of_two_formats_opens_as_either() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "2", "--dtype", "int8", "--format", "v3"]);
    place.file("store/.zgroup", br#"{"zarr_format":2}"#);
    assert!(text(&["tree", &store, "--as", "v2"]).starts_with("/ (v2"));
    let output = run(&["tree", &store]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("/ (v3"));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("warning: "));
    refused(&["tree", &store, "--as", "v3-draft"], 1);
}

#[test]
fn invalid_json_is_reported_once() {
    let place = Place::new();
    let store = hierarchy(&place);
    place.file("store/g/broken/zarr.json", b"{\"zarr_format\":3");
    let output = run(&["tree", &store]);
    let tree = String::from_utf8(output.stdout).unwrap();
    assert_eq!(tree.matches("g/broken/zarr.json").count(), 1, "{tree}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn counts_above_64_bits_are_shown_as_a_lower_bound() {
    let place = Place::new();
    let store = place.at("store");
    let shape = "4611686018427387904,4611686018427387904";
    bytes(&["create", &store, "/a", "--shape", shape, "--chunks", "10,10", "--dtype", "float64"]);
    let info = text(&["info", &store, "/a"]);
    assert!(info.contains("0 of more than 2⁶⁴") && info.contains("stored size       0 B\n"), "{info}");
    let json = text(&["info", &store, "/a", "--json"]);
    assert!(json.contains(r#""chunks": null"#) && json.contains(r#""raw_size": null"#), "{json}");
    assert_eq!(text(&["get", &store, "/a", "--select", "-1,-1", "--format", "json"]), "0.0\n");
}

#[test]
fn a_single_chunk_is_shown_in_the_singular() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "3", "--dtype", "int8"]);
    bytes(&["create", &store, "/scalar", "--shape", "", "--dtype", "int8"]);
    assert!(text(&["info", &store, "/a"]).contains(" 1 chunk of 3; 3 B per chunk\n"));
    assert!(text(&["info", &store, "/scalar"]).contains(" 1 chunk of one element\n"));
}
