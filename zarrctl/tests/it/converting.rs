//! `copy` to other formats: losses, and copies that are refused.

use crate::copying::{said, source};
use crate::support::{Place, bytes, refused, run, text};

#[test]
fn names_that_the_target_does_not_support_are_refused_before_writing() {
    let place = Place::new();
    let store = source(&place, "v3");
    run(&["create", &store, "/größe", "--shape", "1", "--dtype", "int8"]);
    let copy = place.at("copy");
    let message = refused(&["copy", &store, &copy, "--format", "v3-draft"], 1);
    assert!(message.contains("größe"), "{message}");
    let message = refused(&["copy", &store, &copy, "--chunks", "2,2,2"], 1);
    assert!(message.contains("no array to copy has 3 dimensions"), "{message}");
    assert!(
        refused(&["copy", &store, &copy, "--shards", "6,8", "--format", "v2", "--path", "/g"], 1)
            .contains("shards")
    );
    assert!(refused(&["copy", &store, &copy, "--path", "/nothing"], 1).contains("/nothing"));
    assert!(place.files("copy").is_empty());
}

#[test]
fn v2_names_in_any_script_are_copied_except_in_strict_mode() {
    let place = Place::new();
    place.file("source/.zgroup", br#"{"zarr_format":2}"#);
    let zarray =
        br#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|i1","compressor":null,"fill_value":7,
        "order":"C","filters":null}"#;
    place.file("source/größe/.zarray", zarray);
    let store = place.at("source");
    let copy = place.at("copy");
    let message = refused(&["copy", &store, &copy, "--strict"], 1);
    assert!(message.contains("`größe`") && message.contains("ASCII"), "{message}");
    assert!(place.files("copy").is_empty());
    let output = run(&["copy", &store, &copy]);
    assert_eq!(output.status.code(), Some(0));
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(warnings.contains("`größe`") && warnings.lines().count() == 1, "{warnings}");
    assert_eq!(text(&["get", &copy, "größe", "--format", "json"]), "[7, 7]\n");
    let message = refused(&["copy", &store, &place.at("draft"), "--format", "v3-draft"], 1);
    assert!(
        message.contains("contains the character 'ö'; letters, digits and `-_.` are allowed"),
        "{message}"
    );
}

#[test]
fn delta_of_times_becomes_delta_of_integers() {
    let place = Place::new();
    let store = place.at("source");
    let create = ["create", &store, "/t", "--shape", "3", "--dtype", "<M8[s]", "--format"];
    bytes(&[&create[..], &["v2", "--codec", r#"delta:{"dtype":"<i8"}"#]].concat());
    let raw: Vec<u8> = [5i64, 7, 9].into_iter().flat_map(i64::to_le_bytes).collect();
    bytes(&["put", "--format", "raw", &store, "/t", &place.file("raw", &raw)]);
    let zarray = std::fs::read_to_string(place.path("source/t/.zarray")).unwrap();
    place.file("source/t/.zarray", zarray.replace(r#""dtype": "<i8""#, r#""dtype": "<M8[s]""#).as_bytes());
    let copy = place.at("copy");
    bytes(&["copy", &store, &copy, "--format", "v3"]);
    let document = std::fs::read_to_string(place.path("copy/t/zarr.json")).unwrap();
    assert!(document.contains(r#""dtype": "<i8""#), "{document}");
    assert_eq!(bytes(&["get", &copy, "/t", "--format", "raw"]), raw);
}

#[test]
fn unsupported_chunk_key_encodings_are_replaced() {
    let place = Place::new();
    let store = place.at("source");
    let encoding = r#"{"name":"zarrs.default_suffix","configuration":{"separator":"/","suffix":".bin"}}"#;
    let create =
        ["create", &store, "/a", "--shape", "4", "--chunks", "2", "--dtype", "uint8", "--key-encoding"];
    bytes(&[&create[..], &[encoding]].concat());
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", &[1, 2, 3, 4])]);
    assert!(place.files("source").contains(&"a/c/0.bin".to_owned()));
    for (format, key) in [("v2", "a/0"), ("v3-draft", "data/a/c0")] {
        let copy = place.at(format);
        let told = said(&["copy", &store, &copy, "--format", format]);
        assert!(told.contains("/a: `chunk_key_encoding`: encoding `zarrs.default_suffix`"), "{told}");
        assert!(place.files(format).contains(&key.to_owned()), "{:?}", place.files(format));
        assert_eq!(bytes(&["get", &copy, "/a"]), [1, 2, 3, 4]);
    }
}

/// Replaces part of an existing file.
fn edit(place: &Place, file: &str, before: &str, after: &str) {
    let text = std::fs::read_to_string(place.path(file)).unwrap();
    assert!(text.contains(before), "{text}");
    place.file(file, text.replace(before, after).as_bytes());
}

/// Creates a hierarchy in the draft with everything that other formats cannot represent.
fn peculiar(place: &Place) -> String {
    let store = place.at("peculiar");
    let names = r#"{"extension":"https://zarr-kit.example/spec/extensions/dimension-names/1.0","must_understand":false,
        "configuration":{"names":["y",null]}}"#;
    let create = ["create", &store, "/g/a", "--format", "v3-draft", "--metadata-encoding", "json"];
    let array = [
        "--shape",
        "4,6",
        "--dtype",
        "<M8[s]",
        "--fill",
        "0",
        "--grid",
        r#"{"extension":"https://zarr-kit.example/spec/grids/origin/1.0","type":"origin",
            "configuration":{"chunk_shape":[2,3],"origin":[-1,2]}}"#,
        "--layout",
        r#"{"extension":"https://zarr-kit.example/spec/layouts/morton/1.0","type":"morton"}"#,
        "--extension",
        names,
        "--extension",
        r#"{"extension":"https://e.org/x/1.0","must_understand":false}"#,
        "--attr",
        "n=[1,2]",
    ];
    bytes(&[&create[..], &array[..]].concat());
    let raw: Vec<u8> = (0..24i64).flat_map(i64::to_le_bytes).collect();
    bytes(&["put", "--format", "raw", &store, "/g/a", &place.file("times", &raw)]);
    bytes(&["create", &store, "/b", "--shape", "2", "--dtype", "int8"]);
    edit(
        place,
        "peculiar/zarr.json",
        r#""extensions": []"#,
        r#""extensions": [{"extension":"https://e.org/hierarchies/1.0","must_understand":false}]"#,
    );
    store
}

#[test]
fn losses_are_listed_before_they_are_accepted() {
    let place = Place::new();
    let store = peculiar(&place);
    let uri = |path: &str| format!("https://zarr-kit.example/spec/{path}/1.0");
    for (format, more) in [
        (
            "v2",
            vec![
                format!("`chunk_grid`: the origin of grid `{}`", uri("grids/origin")),
                "has them in its attribute `_ARRAY_DIMENSIONS`".to_owned(),
            ],
        ),
        ("v3", vec![]),
    ] {
        let copy = place.at(format);
        let mut wanted = vec![
            "/: `extensions[0]`: extension `https://e.org/hierarchies/1.0` of the entry point".to_owned(),
            format!("/g/a: `data_type`: the fallback \"int64\"; {format} does not support fallbacks"),
            format!("/g/a: `chunk_memory_layout`: layout `{}`", uri("layouts/morton")),
            "/g/a: `extensions[1]`: extension `https://e.org/x/1.0`, which readers may ignore".to_owned(),
        ];
        wanted.extend(more);
        let dry = text(&["copy", &store, &copy, "--format", format, "--dry-run"]);
        assert!(place.files(format).is_empty(), "nothing is written");
        let told = said(&["copy", &store, &copy, "--format", format]);
        for text in [&dry, &told] {
            for what in &wanted {
                assert!(text.contains(what), "{what} in {text}");
            }
            assert_eq!(text.lines().count(), wanted.len() + 1, "{text}");
        }
        assert!(told.starts_with("warning: the copy loses some metadata:\n"), "{told}");
        for form in ["raw", "csv"] {
            let get = |store: &str| bytes(&["get", store, "/g/a", "--format", form]);
            assert_eq!(get(&copy), get(&store), "{format}");
        }
        let attributes = text(&["attrs", &copy, "/g/a"]);
        assert_eq!(attributes.contains("_ARRAY_DIMENSIONS"), format == "v2", "{attributes}");
        let info = text(&["info", &copy, "/g/a", "--verbose"]);
        assert_eq!(info.contains("dimension names   y, -"), format == "v3", "{info}");
        // v3 stores the grid with its URI.
        assert_eq!(info.contains(r#""origin":[-1,2]"#), format == "v3", "{info}");
    }
    // The copy back has the dimension names as an extension and the grid by its type.
    let back = place.at("back");
    bytes(&["copy", &place.at("v3"), &back, "--format", "v3-draft"]);
    let document = std::fs::read_to_string(place.path("back/meta/g/a.array.json")).unwrap();
    for part in [uri("extensions/dimension-names"), uri("grids/origin"), r#""type": "origin""#.to_owned()] {
        assert!(document.contains(&part), "{part} in {document}");
    }
    assert!(!document.contains("_ARRAY_DIMENSIONS"), "{document}");
    let dry = text(&["copy", &place.at("v3"), &place.at("nowhere"), "--dry-run"]);
    assert_eq!(dry, "the copy would lose:\n  nothing\n");
}

#[test]
fn a_copy_of_the_draft_keeps_its_metadata_encoding_and_known_extensions() {
    let place = Place::new();
    let store = place.at("source");
    let create = ["create", &store, "/a", "--shape", "2", "--dtype", "int8", "--format", "v3-draft"];
    bytes(&[&create[..], &["--metadata-encoding", "cbor"]].concat());
    bytes(&["copy", &store, &place.at("same")]);
    assert!(place.files("same").contains(&"meta/a.array.cbor".to_owned()), "{:?}", place.files("same"));
    let told = said(&["copy", &store, &place.at("v3"), "--format", "v3"]);
    assert!(told.contains("`metadata_encoding`: encoding `"), "{told}");
    // An existing hierarchy keeps its metadata encoding.
    bytes(&["create", &place.at("json"), "/b", "--shape", "2", "--dtype", "int8", "--format", "v3-draft"]);
    let told = said(&["copy", &store, &place.at("json")]);
    assert!(told.contains("the copy uses `json`"), "{told}");
    assert!(place.files("json").contains(&"meta/a.array.json".to_owned()));
}

#[test]
fn copies_that_change_values_need_lossy() {
    let place = Place::new();
    let store = place.at("source");
    let create = ["create", &store, "/nan", "--shape", "4", "--chunks", "2", "--dtype", "float32", "--fill"];
    bytes(&[&create[..], &["0x7fc00001"]].concat());
    bytes(&["put", "--format", "raw", &store, "/nan", &place.file("two", &[0; 8]), "--select", ":2"]);
    let message = refused(&["copy", &store, &place.at("v2"), "--format", "v2"], 1);
    assert!(message.contains("/nan: ") && message.contains("--lossy"), "{message}");
    assert!(place.files("v2").is_empty());
    let dry = refused(&["copy", &store, &place.at("v2"), "--format", "v2", "--dry-run"], 1);
    assert_eq!(dry, message);
    let told = said(&["copy", &store, &place.at("v2"), "--format", "v2", "--lossy"]);
    assert!(told.contains(r#"/nan: `fill_value`: v2 does not support "0x7fc00001""#), "{told}");
    // Elements that were never written keep their bits, because the copy stores their chunk.
    let get = |store: &str| bytes(&["get", store, "/nan", "--format", "raw"]);
    assert_eq!(get(&place.at("v2")), get(&store));
    let told = said(&["copy", &store, &place.at("v2b"), "--format", "v2", "--lossy", "--chunks", "4"]);
    assert!(told.contains("the copy has NaN"), "{told}");
    assert_eq!(get(&place.at("v2b")), get(&store));
}

#[test]
fn an_unknown_type_is_copied_unchanged_or_as_its_fallback() {
    let place = Place::new();
    let store = place.at("source");
    let create = ["create", &store, "/a", "--shape", "2", "--dtype", "<M8[s]", "--fill", "0"];
    bytes(&[&create[..], &["--format", "v3-draft"]].concat());
    let raw: Vec<u8> = [5i64, 7].into_iter().flat_map(i64::to_le_bytes).collect();
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", &raw)]);
    let uri = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0";
    edit(&place, "source/meta/a.array.json", uri, "https://e.org/times/1.0");
    let copy = |name: &str, more: &[&str]| run(&[&["copy", &store, &place.at(name)], more].concat());
    let message = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let denied = copy("same", &[]);
    assert!(denied.status.code() == Some(1) && message(&denied).contains("fallback int64"));
    let same = copy("same", &["--use-fallback"]);
    assert_eq!(same.status.code(), Some(0), "{}", message(&same));
    assert!(!message(&same).contains("loses some"), "{}", message(&same));
    for file in ["meta/a.array.json", "data/a/c0"] {
        let read = |folder: &str| std::fs::read(place.path(folder).join(file)).unwrap();
        assert_eq!(read("same"), read("source"), "{file}");
    }
    let other = copy("v3", &["--use-fallback", "--format", "v3"]);
    let said = message(&other);
    assert!(other.status.code() == Some(1) && said.contains("--lossy copies it as int64"), "{said}");
    assert!(place.files("v3").is_empty());
    let other = copy("v3", &["--use-fallback", "--format", "v3", "--lossy"]);
    let said = message(&other);
    assert_eq!(other.status.code(), Some(0), "{said}");
    assert!(said.contains("is unknown; the copy has int64"), "{said}");
    assert_eq!(text(&["get", &place.at("v3"), "/a", "--format", "json"]), "[5, 7]\n");
}

#[test]
fn a_refused_copy_names_every_array_and_every_reason() {
    let place = Place::new();
    let store = place.at("store");
    let scaled = r#"scale_offset:{"scale":2.0,"offset":1.0}"#;
    bytes(&["create", &store, "/a", "--shape", "4", "--dtype", "bfloat16", "--codec", scaled]);
    let reshaped = r#"reshape:{"shape":[4]}"#;
    let more =
        ["--shape", "4", "--chunks", "4", "--dtype", "float32", "--codec", reshaped, "--codec", scaled];
    bytes(&[&["create", &store, "/b"], &more[..]].concat());
    bytes(&["create", &store, "/fine", "--shape", "4", "--dtype", "uint8"]);
    for more in [&["--dry-run"][..], &[], &["--chunks", "4"]] {
        let message = refused(&[&["copy", &store, &place.at("copy"), "--format", "v2"], more].concat(), 1);
        let lines: Vec<_> = message.lines().collect();
        assert_eq!(lines.len(), 3, "{message}");
        assert!(lines[1].starts_with("  /a: ") && lines[2].starts_with("  /b: "), "{message}");
        assert!(lines[1].contains("`scale_offset`") && lines[1].contains("bfloat16"), "{message}");
        assert!(lines[2].contains("`reshape`") && lines[2].contains("`scale_offset`"), "{message}");
    }
    // If the options are invalid as well, the message names all invalid options for each array.
    let asked = ["--chunks", "3", "--shards", "4", "--codec", "nothing"];
    let message = refused(&[&["copy", &store, &place.at("copy")], &asked[..]].concat(), 1);
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines.len(), 4, "{message}");
    let names_both = |line: &&str| line.contains("`shards`: [4]") && line.contains("`nothing`");
    assert!(lines[1..].iter().all(names_both), "{message}");
    assert!(place.files("copy").is_empty());
    // The message also names arrays that already exist in the destination.
    let copy = place.at("copy");
    for path in ["/a", "/fine"] {
        bytes(&["create", &copy, path, "--shape", "5", "--dtype", "uint8"]);
    }
    let message = refused(&["copy", &store, &copy], 1);
    assert!(message.contains("\n  /a: ") && message.contains("\n  /fine: "), "{message}");
}

/// A copy does not reproduce deviations that a lenient reader accepts, not even inside shards.
#[test]
fn a_copy_is_strict_where_its_source_is_not() {
    let place = Place::new();
    let store = place.at("store");
    let raw: Vec<u8> = (0..48).collect();
    let more = ["--shape", "4,6", "--chunks", "2,3", "--dtype", "int16"];
    bytes(&[&["create", &store, "/sharded", "--shards", "4,6", "--codec", "gzip"], &more[..]].concat());
    bytes(&[&["create", &store, "/early", "--codec", "gzip"], &more[..]].concat());
    bytes(&[&["create", &place.at("v2"), "/a", "--codec", "gzip", "--format", "v2"], &more[..]].concat());
    for (store, path, old, new) in [
        ("store", "sharded/zarr.json", r#""name": "gzip","#, r#""name": "gzip", "foo": 1,"#),
        ("store", "sharded/zarr.json", r#""name": "crc32c""#, r#""name": "crc32c", "bar": 1"#),
        ("store", "sharded/zarr.json", r#""fill_value": 0"#, r#""fill_value": 0.0"#),
        (
            "store",
            "early/zarr.json",
            r#""data_type": "int16""#,
            r#""data_type": {"name": "int16", "foo": 1}"#,
        ),
        ("v2", "a/.zarray", r#""id": "gzip","#, r#""id": "gzip", "foo": 1,"#),
    ] {
        let document = std::fs::read_to_string(place.path(store).join(path)).unwrap();
        assert!(document.contains(old), "{old} in {document}");
        place.file(&format!("{store}/{path}"), document.replace(old, new).as_bytes());
    }
    // Documents of early 2023 had no codec `bytes`.
    let document = std::fs::read_to_string(place.path("store/early/zarr.json")).unwrap();
    let start = document.find(r#""codecs": ["#).unwrap() + r#""codecs": ["#.len();
    let end = document[..document.find(r#""name": "gzip""#).unwrap()].rfind('{').unwrap();
    place.file("store/early/zarr.json", [&document[..start], &document[end..]].concat().as_bytes());

    for (store, paths) in [("store", &["/sharded", "/early"][..]), ("v2", &["/a"])] {
        for path in paths {
            run(&["put", "--format", "raw", &place.at(store), path, &place.file("raw", &raw)]);
            let strict = run(&["get", &place.at(store), path, "--format", "raw", "--strict"]);
            assert_eq!(strict.status.code(), Some(1), "{path}");
        }
        let copy = place.at(&format!("copy of {store}"));
        said(&["copy", &place.at(store), &copy]);
        for path in paths {
            assert_eq!(bytes(&["get", &copy, path, "--format", "raw", "--strict"]), raw, "{path}");
        }
    }
}

#[test]
fn codecs_that_change_elements_need_lossy() {
    let place = Place::new();
    let store = place.at("source");
    bytes(&["create", &store, "/p", "--shape", "4", "--dtype", "int16"]);
    let raw: Vec<u8> = [-1000i16, -32768, 1000, 0].into_iter().flat_map(i16::to_le_bytes).collect();
    bytes(&["put", "--format", "raw", &store, "/p", &place.file("raw", &raw)]);
    let narrow = r#"astype:{"encode_dtype":"|i1","decode_dtype":"<i2"}"#;
    let wide = r#"astype:{"encode_dtype":"<i4","decode_dtype":"<i2"}"#;
    for (codec, is_lossy) in [(narrow, true), (r#"bitround:{"keepbits":1}"#, true), (wide, false)] {
        let copy = place.at(if is_lossy { "lossy" } else { "lossless" });
        let arguments = ["copy", &store, &copy, "--codec", codec];
        if is_lossy {
            let message = refused(&arguments, 1);
            assert!(
                message.contains("/p: the codecs of the copy change elements, such as -1000 to "),
                "{message}"
            );
            assert!(message.contains("--lossy"), "{message}");
            assert!(place.files("lossy").is_empty());
        } else {
            said(&arguments);
            assert_eq!(bytes(&["get", &copy, "/p", "--format", "raw"]), raw);
        }
    }
    said(&["copy", &store, &place.at("lossy"), "--codec", narrow, "--lossy"]);
}
