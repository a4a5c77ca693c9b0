//! `copy`: between formats, stores and chunkings.

use crate::support::{Place, bytes, refused, run, text};

/// A hierarchy of two groups with attributes and arrays.
fn source(place: &Place, format: &str) -> String {
    let store = place.at("source");
    let more = ["--format", format, "--attr", "n=1", "--fill", "-1", "--codec", r#"gzip:{"level":1}"#];
    bytes(
        &[&["create", &store, "/g/a", "--shape", "7,10", "--chunks", "3,4", "--dtype", "int16"], &more[..]]
            .concat(),
    );
    let raw: Vec<u8> = (0..140).collect();
    bytes(&["put", &store, "/g/a", &place.file("a", &raw)]);
    bytes(&["attrs", &store, "/g", "--set", "title=\"t\""]);
    bytes(&["create", &store, "/h/scalar", "--shape", "", "--dtype", "float64", "--fill", "NaN"]);
    bytes(&[
        "create",
        &store,
        "/h/sparse",
        "--shape",
        "1000000,1000000",
        "--chunks",
        "1000,1000",
        "--dtype",
        "uint8",
    ]);
    bytes(&["put", &store, "/h/sparse", &place.file("five", &[5]), "--select", "999999,500000"]);
    store
}

fn same_elements(place: &Place, copy: &str) {
    let raw: Vec<u8> = (0..140).collect();
    assert_eq!(bytes(&["get", copy, "/g/a", "--format", "raw"]), raw);
    assert_eq!(text(&["attrs", copy, "/g/a"]), "{\n  \"n\": 1\n}\n");
    assert_eq!(text(&["attrs", copy, "/g"]), "{\n  \"title\": \"t\"\n}\n");
    assert_eq!(text(&["get", copy, "h/scalar", "--format", "csv"]), "NaN\r\n");
    let corner = text(&["get", copy, "h/sparse", "--select", "-2:,500000", "--format", "json"]);
    assert_eq!(corner, "[0, 5]\n");
    let info = text(&["info", copy, "h/sparse", "--json"]);
    assert!(info.contains(r#""chunks_stored": 1"#), "{info} in {:?}", place.path(""));
}

#[test]
fn hierarchies_go_from_every_format_to_every_format() {
    for from in ["v2", "v3", "v3-draft"] {
        for to in ["v2", "v3", "v3-draft"] {
            let place = Place::new();
            let store = source(&place, from);
            let copy = place.at("copy");
            bytes(&["copy", &store, &copy, "--format", to]);
            assert!(text(&["info", &copy, "--json"]).contains(&format!(r#""format": "{to}""#)));
            same_elements(&place, &copy);
        }
    }
}

#[test]
fn chunks_are_copied_as_they_are_where_nothing_changes() {
    let place = Place::new();
    let store = source(&place, "v3");
    // No gzip stream: nobody decodes it on the way.
    place.file("source/g/a/c/0/0", b"not gzip");
    bytes(&["copy", &store, &place.at("copy")]);
    assert_eq!(place.files("copy"), place.files("source"));
    assert_eq!(std::fs::read(place.path("copy/g/a/c/0/0")).unwrap(), b"not gzip");
    let message = refused(&["copy", &store, &place.at("other"), "--chunks", "7,10", "--path", "/g"], 1);
    assert!(message.contains("c/0/0"), "{message}");
    // What came to nothing has no documents.
    assert!(
        place.files("other").iter().all(|file| !file.ends_with("zarr.json")),
        "{:?}",
        place.files("other")
    );
    assert!(refused(&["tree", &place.at("other")], 1).contains("no Zarr hierarchy"));
}

#[test]
fn chunks_shards_and_codecs_can_change() {
    let place = Place::new();
    let store = source(&place, "v2");
    let raw: Vec<u8> = (0..140).collect();
    for (number, (more, part)) in [
        (
            &["--chunks", "2,2", "--shards", "4,6", "--format", "v3"][..],
            "2 × 2 shards of 4 × 6, inner chunks of 2 × 2",
        ),
        (&["--shards", "6,8", "--format", "v3"], "2 × 2 shards of 6 × 8, inner chunks of 3 × 4"),
        (&["--chunks", "100,1"], "1 × 10 chunks of 100 × 1"),
        (&["--codec", "zstd", "--codec", "crc32c", "--format", "v3"], "crc32c"),
        (&["--codec", "none", "--format", "v3"], "codecs            bytes {\"endian\":\"little\"}"),
        (&["--codec", r#"blosc:{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#], "blosc"),
    ]
    .into_iter()
    .enumerate()
    {
        let copy = place.at(&format!("copy{number}"));
        bytes(&[&["copy", &store, &copy, "--path", "/g/a"], more].concat());
        assert_eq!(bytes(&["get", &copy, "/g/a", "--format", "raw"]), raw, "{more:?}");
        let info = text(&["info", &copy, "/g/a"]);
        assert!(info.contains(part), "{part} in {info}");
        assert!(info.contains("fill value        -1"), "{info}");
    }
    // From shards to a format without, and to other shards.
    bytes(&["copy", &place.at("copy0"), &place.at("flat"), "--format", "v2"]);
    assert!(text(&["info", &place.at("flat"), "/g/a"]).contains("4 × 5 chunks of 2 × 2"));
    bytes(&["copy", &place.at("copy0"), &place.at("gzip"), "--codec", r#"gzip:{"level":9}"#]);
    let info = text(&["info", &place.at("gzip"), "/g/a"]);
    assert!(info.contains("shards of 4 × 6, inner chunks of 2 × 2") && info.contains("gzip"), "{info}");
    for copy in ["flat", "gzip"] {
        assert_eq!(bytes(&["get", &place.at(copy), "/g/a", "--format", "raw"]), raw);
    }
}

#[test]
fn a_subtree_keeps_its_path_and_joins_what_is_there() {
    let place = Place::new();
    let store = source(&place, "v3");
    let copy = place.at("copy");
    bytes(&["copy", &store, &copy, "--path", "h"]);
    assert_eq!(text(&["tree", &copy]).lines().count(), 4);
    bytes(&["copy", &store, &copy, "--path", "/g"]);
    same_elements(&place, &copy);
    let before = place.files("copy");
    let message = refused(&["copy", &store, &copy, "--path", "/g"], 1);
    assert!(message.contains("/g/a"), "{message}");
    assert_eq!(place.files("copy"), before);
}

#[test]
fn what_the_target_cannot_say_is_refused_before_anything_is_written() {
    let place = Place::new();
    let store = source(&place, "v3");
    run(&["create", &store, "/größe", "--shape", "1", "--dtype", "int8"]);
    let copy = place.at("copy");
    let message = refused(&["copy", &store, &copy, "--format", "v3-draft"], 1);
    assert!(message.contains("größe"), "{message}");
    let message = refused(&["copy", &store, &copy, "--chunks", "2,2"], 1);
    assert!(message.contains("/größe") && message.contains("/h/scalar"), "{message}");
    assert!(
        refused(&["copy", &store, &copy, "--shards", "6,8", "--format", "v2", "--path", "/g"], 1)
            .contains("shards")
    );
    assert!(refused(&["copy", &store, &copy, "--path", "/nothing"], 1).contains("/nothing"));
    assert!(place.files("copy").is_empty());
}

#[test]
fn chunks_that_an_attempt_left_behind_do_not_show() {
    let place = Place::new();
    let store = source(&place, "v3");
    place.file("copy/h/sparse/c/0/0", b"from another time");
    bytes(&["copy", &store, &place.at("copy")]);
    same_elements(&place, &place.at("copy"));
}

#[test]
fn a_copy_onto_or_into_itself_is_refused() {
    let place = Place::new();
    let store = source(&place, "v3");
    let before = place.files("source");
    assert!(refused(&["copy", &store, &store], 1).contains("SRC and DST are both"));
    let inside = place.at("source/deeper/copy");
    assert!(refused(&["copy", &store, &inside], 1).contains("is inside of SRC"));
    assert!(refused(&["copy", &store, &place.at("source/g/../copy")], 1).contains("is inside of SRC"));
    assert_eq!(place.files("source"), before);
    // A name that begins with the same letters is another place.
    bytes(&["copy", &store, &place.at("source2")]);
    bytes(&["copy", &inside.replace("/deeper/copy", "/g"), &place.at("part")]);
}

#[test]
fn names_of_v2_in_any_script_are_copied_unless_strictly() {
    let place = Place::new();
    place.file("source/.zgroup", br#"{"zarr_format":2}"#);
    let zarray =
        br#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|i1","compressor":null,"fill_value":7,
        "order":"C","filters":null}"#;
    place.file("source/größe/.zarray", zarray);
    let (store, copy) = (place.at("source"), place.at("copy"));
    let message = refused(&["copy", &store, &copy, "--strict"], 1);
    assert!(message.contains("`größe`") && message.contains("ASCII"), "{message}");
    assert!(place.files("copy").is_empty());
    let output = run(&["copy", &store, &copy]);
    assert_eq!(output.status.code(), Some(0));
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(warnings.contains("`größe`") && warnings.lines().count() == 1, "{warnings}");
    assert_eq!(text(&["get", &copy, "größe", "--format", "json"]), "[7, 7]\n");
    let message = refused(&["copy", &store, &place.at("draft"), "--format", "v3-draft"], 1);
    assert!(message.contains("has the character 'ö'; there are letters, digits and `-_.`"), "{message}");
}

#[test]
fn differences_of_times_become_those_of_integers() {
    let place = Place::new();
    let store = place.at("source");
    let create = ["create", &store, "/t", "--shape", "3", "--dtype", "<M8[s]", "--format"];
    bytes(&[&create[..], &["v2", "--codec", r#"delta:{"dtype":"<i8"}"#]].concat());
    let raw: Vec<u8> = [5i64, 7, 9].into_iter().flat_map(i64::to_le_bytes).collect();
    bytes(&["put", &store, "/t", &place.file("raw", &raw)]);
    let zarray = std::fs::read_to_string(place.path("source/t/.zarray")).unwrap();
    place.file("source/t/.zarray", zarray.replace(r#""dtype": "<i8""#, r#""dtype": "<M8[s]""#).as_bytes());
    let copy = place.at("copy");
    bytes(&["copy", &store, &copy, "--format", "v3"]);
    let document = std::fs::read_to_string(place.path("copy/t/zarr.json")).unwrap();
    assert!(document.contains(r#""dtype": "<i8""#), "{document}");
    assert_eq!(bytes(&["get", &copy, "/t", "--format", "raw"]), raw);
}

#[test]
fn chunk_keys_that_the_target_does_not_have_become_its_own() {
    let place = Place::new();
    let store = place.at("source");
    let encoding = r#"{"name":"zarrs.default_suffix","configuration":{"separator":"/","suffix":".bin"}}"#;
    let create =
        ["create", &store, "/a", "--shape", "4", "--chunks", "2", "--dtype", "uint8", "--key-encoding"];
    bytes(&[&create[..], &[encoding]].concat());
    bytes(&["put", &store, "/a", &place.file("raw", &[1, 2, 3, 4])]);
    assert!(place.files("source").contains(&"a/c/0.bin".to_owned()));
    for (format, key) in [("v2", "a/0"), ("v3-draft", "data/a/c0")] {
        let copy = place.at(format);
        bytes(&["copy", &store, &copy, "--format", format]);
        assert!(place.files(format).contains(&key.to_owned()), "{:?}", place.files(format));
        assert_eq!(bytes(&["get", &copy, "/a"]), [1, 2, 3, 4]);
    }
}
