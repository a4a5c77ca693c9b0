//! `create`, `erase`, `resize`, `attrs`, `consolidate` and `clean`.

use crate::support::{Place, bytes, refused, run, text};

fn create(store: &str, more: &[&str]) {
    bytes(
        &[&["create", store, "/g/a", "--shape", "4,6", "--chunks", "2,3", "--dtype", "int16"], more].concat(),
    );
}

#[test]
fn arrays_are_created_with_the_names_of_each_format() {
    for (format, document, codec) in [
        ("v2", "g/a/.zarray", r#""id": "gzip""#),
        ("v3", "g/a/zarr.json", r#""name": "gzip""#),
        ("v3-draft", "meta/g/a.array.json", "https://purl.org/zarr/spec/codecs/gzip/1.0"),
    ] {
        let place = Place::new();
        let store = place.at("store");
        create(
            &store,
            &["--format", format, "--codec", r#"gzip:{"level":1}"#, "--fill", "-3", "--attr", "n=[1,2]"],
        );
        let written = std::fs::read_to_string(place.path("store").join(document)).unwrap();
        assert!(written.contains(codec), "{written}");
        assert!(written.contains("-3"), "{written}");
        assert_eq!(text(&["get", &store, "g/a", "--select", "0,0", "--format", "json"]), "-3\n");
        assert_eq!(text(&["attrs", &store, "/g/a"]), "{\n  \"n\": [1, 2]\n}\n");
        // Without `--format`, the format of the store is used; another format is refused.
        bytes(&["create", &store, "b", "--shape", "", "--dtype", "bool"]);
        let other = if format == "v2" { "v3" } else { "v2" };
        let message =
            refused(&["create", &store, "/c", "--shape", "1", "--dtype", "bool", "--format", other], 1);
        assert!(message.contains(format), "{message}");
        assert!(refused(&["create", &store, "/b", "--shape", "1", "--dtype", "bool"], 1).contains("/b"));
    }
}

#[test]
fn unsupported_options_are_refused_before_anything_is_written() {
    let place = Place::new();
    let store = place.at("store");
    let array = ["create", &store, "/a", "--shape", "4", "--chunks", "2", "--dtype", "int16"];
    for (more, part) in [
        (&["--shards", "4", "--format", "v2"][..], "shards"),
        (&["--shards", "3"], "multiples"),
        (&["--codec", "no-such-codec"], "no-such-codec"),
        (&["--codec", r#"gzip:{"level":99}"#], "level"),
        (&["--fill", "40000"], "40000"),
        (&["--extension", r#"{"extension":"https://example.org/a/1.0"}"#], "extensions"),
        (&["--metadata-encoding", "json", "--format", "v3"], "--metadata-encoding"),
        (&["--metadata-encoding", "no-such"], "no-such"),
        (&["--hierarchy-extension", r#"{"extension":"x"}"#], "--hierarchy-extension"),
        (
            &["--hierarchy-extension", r#"{"extension":"https://e.org/x/1.0","must_understand":true}"#],
            "readers must understand it",
        ),
        (&["--hierarchy-extension", "{}"], "`extensions[0].extension`"),
        (&["--dimension-names", "a,b"], "dimension_names"),
    ] {
        let message = refused(&[&array[..], more].concat(), 1);
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(refused(&["create", &store, "/a", "--shape", "4", "--dtype", "int7"], 1).contains("int7"));
    assert!(place.files("store").is_empty());
}

#[test]
fn without_codecs_a_chunk_holds_its_elements_unchanged() {
    for (format, chunk) in [("v2", "g/a/0.0"), ("v3", "g/a/c/0/0"), ("v3-draft", "data/g/a/c0/0")] {
        let place = Place::new();
        let store = place.at("store");
        create(&store, &["--format", format, "--codec", "none"]);
        bytes(&[
            "put",
            "--format",
            "raw",
            &store,
            "/g/a",
            &place.file("raw", &[1, 0, 2, 0]),
            "--select",
            "0,0:2",
        ]);
        let stored = std::fs::read(place.path("store").join(chunk));
        assert_eq!(stored.unwrap(), [1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0], "{:?}", place.files("store"));
    }
}

#[test]
fn shards_hold_inner_chunks() {
    let place = Place::new();
    let store = place.at("store");
    create(&store, &["--shards", "4,6"]);
    let raw: Vec<u8> = (0..48).collect();
    bytes(&["put", "--format", "raw", &store, "/g/a", &place.file("raw", &raw)]);
    assert_eq!(place.files("store/g/a"), ["c/0/0", "zarr.json"]);
    assert_eq!(bytes(&["get", &store, "/g/a", "--format", "raw"]), raw);
    let info = text(&["info", &store, "/g/a"]);
    assert!(info.contains("1 × 1 shards of 4 × 6, inner chunks of 2 × 3"), "{info}");
}

#[test]
fn attributes_are_set_and_removed() {
    for format in ["v2", "v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("store");
        create(&store, &["--format", format, "--attr", "a=1", "--attr", "b=2"]);
        bytes(&["attrs", &store, "/g/a", "--set", r#"c={"d":null}"#, "--set", "a=1.50", "--unset", "b"]);
        assert_eq!(
            text(&["attrs", &store, "g/a"]),
            "{\n  \"a\": 1.50,\n  \"c\": {\n    \"d\": null\n  }\n}\n"
        );
        bytes(&["attrs", &store, "/g", "--set", "title=\"größer\""]);
        assert_eq!(text(&["attrs", &store, "/g"]), "{\n  \"title\": \"größer\"\n}\n");
        let before = text(&["attrs", &store, "/g"]);
        let message = refused(&["attrs", &store, "/g", "--set", "more=1", "--unset", "nothing"], 1);
        assert!(message.contains("/g has no attribute `nothing`"), "{message}");
        assert_eq!(text(&["attrs", &store, "/g"]), before);
        assert!(refused(&["attrs", &store, "/x", "--set", "a=1"], 1).contains("/x"));
    }
}

#[test]
fn arrays_grow_and_shrink() {
    for format in ["v2", "v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("store");
        create(&store, &["--format", format]);
        let raw: Vec<u8> = (0..48).collect();
        bytes(&["put", "--format", "raw", &store, "/g/a", &place.file("raw", &raw)]);
        bytes(&["resize", &store, "/g/a", "--shape", "2,3"]);
        assert_eq!(text(&["get", &store, "/g/a", "--format", "csv"]), "256,770,1284\r\n3340,3854,4368\r\n");
        bytes(&["resize", &store, "/g/a", "--shape", "3,7"]);
        let shown = text(&["get", &store, "/g/a", "--format", "csv"]);
        assert_eq!(shown, "256,770,1284,0,0,0,0\r\n3340,3854,4368,0,0,0,0\r\n0,0,0,0,0,0,0\r\n");
        assert!(refused(&["resize", &store, "/g/a", "--shape", "3"], 1).contains("dimensions"));
        assert!(refused(&["resize", &store, "/g", "--shape", "3"], 1).contains("is a group"));
    }
}

#[test]
fn arrays_grow_and_shrink_at_their_beginning() {
    for format in ["v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("store");
        let uri = "https://zarr-kit.example/spec/grids/origin/1.0";
        let configuration = r#""configuration":{"chunk_shape":[2,3],"origin":[-1,0]}"#;
        let grid = match format {
            "v3" => format!(r#"{{"name":"{uri}",{configuration}}}"#),
            _ => format!(r#"{{"extension":"{uri}","type":"origin",{configuration}}}"#),
        };
        let array =
            ["create", &store, "/a", "--format", format, "--shape", "2,3", "--dtype", "uint8", "--codec"];
        bytes(&[&array[..], &["none", "--fill", "9", "--grid", &grid]].concat());
        bytes(&["put", "--format", "raw", &store, "/a", &place.file("raw", &[1, 2, 3, 4, 5, 6])]);
        let files = place.files("store");
        bytes(&["resize", &store, "/a", "--at-start", "2,0"]);
        let shown = || text(&["get", &store, "/a", "--format", "csv"]);
        assert_eq!(shown(), "9,9,9\r\n9,9,9\r\n1,2,3\r\n4,5,6\r\n");
        assert_eq!(place.files("store"), files, "no chunk moves");
        bytes(&["resize", &store, "/a", "--at-start", "-3,1", "--shape", "2,3"]);
        assert_eq!(shown(), "9,4,5\r\n9,9,9\r\n");
        for (counts, part) in
            [("1", "--at-start has 1 entry"), ("-3,0", "cannot add -3 elements"), ("x,1", "is not a number")]
        {
            let status = if counts == "x,1" { 2 } else { 1 };
            let message = refused(&["resize", &store, "/a", "--at-start", counts], status);
            assert!(message.contains(part), "{message}");
        }
        assert!(refused(&["resize", &store, "/a"], 2).contains("--shape"));
    }
    let place = Place::new();
    let store = place.at("store");
    create(&store, &[]);
    let before = std::fs::read(place.path("store/g/a/zarr.json")).unwrap();
    let message = refused(&["resize", &store, "/g/a", "--at-start", "2,0"], 1);
    assert!(message.contains("chunk grid `regular` has no origin"), "{message}");
    assert!(message.contains("/g/a can only be resized at its end"), "{message}");
    assert_eq!(std::fs::read(place.path("store/g/a/zarr.json")).unwrap(), before);
    // Zero elements at the start only change the shape.
    bytes(&["resize", &store, "/g/a", "--at-start", "0,0", "--shape", "5,6"]);
}

/// Runs `erase` and returns the line that it prints.
fn erased(arguments: &[&str]) -> String {
    let output = run(&[&["erase"], arguments].concat());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {message}");
    assert_eq!((&output.stdout[..], message.lines().count()), (&b""[..], 1), "{message}");
    message.trim_end().to_owned()
}

#[test]
fn erasing_a_node_erases_the_nodes_below_it() {
    for format in ["v2", "v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("store");
        create(&store, &["--format", format]);
        bytes(&["create", &store, "/b", "--shape", "2", "--dtype", "int8"]);
        bytes(&["put", "--format", "raw", &store, "/b", &place.file("raw", &[1, 2])]);
        assert!(erased(&[&store, "/g"]).starts_with("erased /g: "), "{format}");
        assert!(refused(&["info", &store, "/g/a"], 1).contains("/g/a"));
        assert_eq!(bytes(&["get", &store, "/b", "--format", "raw"]), [1, 2]);
        assert!(place.files("store").iter().all(|file| !file.contains("g/a")), "{:?}", place.files("store"));
        // The document of the root is removed, too: `zarr.json` or `.zgroup`. The entry point of the draft stays.
        let count = if format == "v3-draft" { "2 files" } else { "3 files" };
        assert_eq!(erased(&[&store, "/"]), format!("erased /: {count} removed"), "{format}");
        assert!(place.files("store").iter().all(|file| file == "zarr.json"), "{:?}", place.files("store"));
    }
}

#[test]
fn erasing_leaves_files_that_are_not_part_of_the_hierarchy() {
    for format in ["v2", "v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("store");
        create(&store, &["--format", format]);
        bytes(&["create", &store, "/b", "--shape", "2", "--dtype", "int8"]);
        let below = if format == "v3-draft" { "data/" } else { "" };
        let mut others = Vec::new();
        for file in ["thesis.txt", "g/OME/notes.xml", "g/a/chunk.bak"].map(|file| format!("{below}{file}")) {
            place.file(&format!("store/{file}"), b"kept");
            others.push(file);
        }
        let message = erased(&[&store, "/g/a"]);
        assert!(message.ends_with(&format!("1 other file remains: {}", others[2])), "{message}");
        let message = erased(&[&store, "/"]);
        assert!(message.contains("3 other files remain: "), "{message}");
        assert!(others.iter().all(|file| message.contains(file)), "{message}");
        others.extend((format == "v3-draft").then(|| "zarr.json".to_owned()));
        others.sort();
        assert_eq!(place.files("store"), others, "{format}");
    }
}

#[test]
fn erasing_again_finishes_an_interrupted_call_and_leaves_other_files() {
    for (format, document, chunk) in [("v2", "g/b/.zarray", "g/b/0"), ("v3", "g/b/zarr.json", "g/b/c/0")] {
        let place = Place::new();
        let store = place.at("store");
        create(&store, &["--format", format]);
        bytes(&["create", &store, "/g/b", "--shape", "2", "--dtype", "int8"]);
        bytes(&["put", "--format", "raw", &store, "/g/b", &place.file("raw", &[1, 2])]);
        place.file("store/g/b/notes.txt", b"kept");
        std::fs::remove_file(place.path("store").join(document)).unwrap();
        assert!(place.path("store").join(chunk).exists());
        let message = erased(&[&store, "/g/b"]);
        assert!(message.ends_with("1 file removed, 1 other file remains: g/b/notes.txt"), "{message}");
        assert!(!place.path("store").join(chunk).exists());
        assert!(refused(&["erase", &store, "/g/b"], 1).contains("/g/b"));
    }
}

#[test]
fn groups_nested_as_deep_as_a_path_can_be_are_erased() {
    for format in ["v2", "v3", "v3-draft"] {
        for more in [&[][..], &["--all"]] {
            let place = Place::new();
            let store = place.at("store");
            let path = "/abc".repeat(900);
            let array = ["--shape", "1", "--chunks", "1", "--dtype", "int8", "--format", format];
            bytes(&[&["create", &store, &path], &array[..]].concat());
            bytes(&["create", &store, "/kept", "--shape", "1", "--dtype", "int8"]);
            let message = erased(&[&[&*store, "/abc"], more].concat());
            assert!(message.starts_with("erased /abc"), "{format}: {message}");
            let tree = text(&["tree", &store]);
            let nodes: Vec<_> = tree.lines().skip(1).collect();
            assert_eq!(nodes.len(), 1, "{format}: {tree}");
            assert!(nodes[0].starts_with("└─ kept int8"), "{format}: {tree}");
        }
    }
}

#[test]
fn all_files_below_a_node_are_erased_on_request() {
    let place = Place::new();
    let store = place.at("store");
    create(&store, &[]);
    place.file("store/g/notes.txt", b"gone");
    place.file("store/thesis.txt", b"kept");
    assert_eq!(erased(&[&store, "/g", "--all"]), "erased /g with all files below it");
    assert_eq!(place.files("store"), ["thesis.txt", "zarr.json"]);
}

#[test]
fn one_format_is_erased_from_a_folder_that_holds_two() {
    let place = Place::new();
    let store = place.at("store");
    let other = place.at("other");
    for (store, format) in [(&store, "v2"), (&other, "v3")] {
        create(store, &["--format", format]);
        bytes(&["put", "--format", "raw", store, "/g/a", &place.file("raw", &[1; 48])]);
    }
    for file in place.files("other") {
        place.file(&format!("store/{file}"), &std::fs::read(place.path("other").join(&file)).unwrap());
    }
    let before = place.files("store");
    let message = refused(&["erase", &store, "/g", "--as", "v2"], 1);
    assert!(message.contains("document of v3") && message.contains("--format v2"), "{message}");
    assert_eq!(place.files("store"), before);
    let message = erased(&[&store, "/g", "--format", "v2"]);
    assert!(message.contains("6 other files remain: g/a/zarr.json, "), "{message}");
    erased(&[&store, "/", "--format", "v2"]);
    assert_eq!(place.files("store"), place.files("other"));
    assert!(refused(&["erase", &store, "/g", "--format", "v2"], 1).contains("no Zarr hierarchy"));
}

#[test]
fn consolidated_metadata_is_written_if_the_format_supports_it() {
    for (format, part) in [("v2", ".zmetadata"), ("v3", "zarr.json")] {
        let place = Place::new();
        let store = place.at("store");
        create(&store, &["--format", format]);
        bytes(&["consolidate", &store]);
        let written = std::fs::read_to_string(place.path("store").join(part)).unwrap();
        assert!(written.contains("g/a"), "{written}");
        assert_eq!(text(&["tree", &store]).lines().count(), 3);
        bytes(&["attrs", &store, "/g/a", "--set", "late=1"]);
        assert!(text(&["attrs", &store, "/g/a"]).contains("late"));
    }
    let place = Place::new();
    let store = place.at("store");
    create(&store, &["--format", "v3-draft"]);
    assert!(refused(&["consolidate", &store], 1).contains("v3-draft"));
}

#[test]
fn bytes_without_an_order_are_little_endian() {
    for configuration in ["bytes", "bytes:{}", r#"bytes:{"endian":"little"}"#] {
        let place = Place::new();
        let store = place.at("store");
        bytes(&["create", &store, "/a", "--shape", "2", "--dtype", "int16", "--codec", configuration]);
        let document = std::fs::read_to_string(place.path("store/a/zarr.json")).unwrap();
        assert!(document.contains(r#""endian": "little""#), "{document}");
        let create = ["create", &store, "/s", "--shape", "2", "--dtype", "string", "--codec", configuration];
        assert!(refused(&create, 1).contains("have a variable size, which `bytes` cannot store"));
        let create = ["create", &store, "/g", "--shape", "2", "--dtype", "int16", "--codec", "gzip"];
        let message = refused(&[&create[..], &["--codec", configuration]].concat(), 1);
        assert!(message.contains("`codecs[1]`: codec `bytes`") && message.contains("an array"), "{message}");
    }
}

#[test]
fn data_types_are_created_by_the_names_that_info_prints() {
    let place = Place::new();
    for (number, name) in [
        "numpy.datetime64[s]",
        "numpy.timedelta64[10us]",
        "fixed_length_utf32[12]",
        "null_terminated_bytes[10]",
        "raw_bytes[3]",
    ]
    .into_iter()
    .enumerate()
    {
        for format in ["v3", "v2"] {
            let store = place.at(&format!("{format}-{number}"));
            bytes(&["create", &store, "/a", "--shape", "2", "--dtype", name, "--format", format]);
            let tree = text(&["tree", &store, "/a"]);
            assert!(tree.starts_with(&format!("/a {name} [2]")), "{tree}");
        }
    }
    let odd = ["create", &place.at("odd"), "/a", "--shape", "2", "--dtype", "fixed_length_utf32[3]"];
    assert!(refused(&odd, 1).contains("the size of a code point"));
}

/// Creates a partly written file, as left by a program that was killed `hours` hours ago.
fn leave(place: &Place, name: &str, hours: u64) -> String {
    let path = place.file(name, b"half of it");
    let written = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3600);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    path
}

#[test]
fn temporary_files_of_interrupted_writes_are_listed_and_removed() {
    let place = Place::new();
    let store = place.at("store");
    create(&store, &[]);
    bytes(&["put", "--format", "raw", &store, "/g/a", &place.file("raw", &[1; 48])]);
    let files = place.files("store");
    assert_eq!(text(&["clean", &store]), "0 files, 0 B, removed\n");
    let old = leave(&place, "store/g/a/c/0/.zarr-tmp-0123456789abcdef-0-1", 25);
    let recent = leave(&place, "store/.zarr-tmp-0123456789abcdef-0-2", 2);
    // Temporary files are not read as values.
    assert_eq!(bytes(&["get", &store, "/g/a", "--format", "raw"]), [1; 48]);
    assert_eq!(text(&["tree", &store]).lines().count(), 3);

    let left =
        "1 file, 10 B, kept because another program may be writing them; --older-than 0s removes these too\n";
    let shown = text(&["clean", &store, "--dry-run"]);
    assert_eq!(shown, format!("{old}\n1 file, 10 B, would be removed\n{left}"));
    assert_eq!(place.files("store").len(), files.len() + 2);
    let shown = text(&["clean", &store, "--older-than", "2h", "--dry-run"]);
    assert_eq!(shown, format!("{recent}\n{old}\n2 files, 20 B, would be removed\n"));
    assert_eq!(text(&["clean", &store]), format!("{old}\n1 file, 10 B, removed\n{left}"));
    let url = format!("file://{store}");
    assert_eq!(text(&["clean", &url, "--older-than", "0s"]), format!("{recent}\n1 file, 10 B, removed\n"));
    assert_eq!(place.files("store"), files);

    assert!(refused(&["clean", &place.at("nowhere")], 1).contains("does not exist"));
    assert!(refused(&["clean", "memory:"], 1).contains("is not a local folder"));
    assert!(refused(&["clean", &store, "--older-than", "5"], 2).contains("90s, 10m, 2h or 7d"));
}

/// Runs the program where files have at most 2 KiB, which has the effect of a full disk.
#[cfg(unix)]
fn with_full_disk(arguments: &[&str]) -> (Option<i32>, String) {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", r#"trap '' XFSZ; ulimit -f 4; exec "$@""#, "sh", env!("CARGO_BIN_EXE_zarrctl")]);
    let output = shell.args(arguments).env_clear().output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_incomplete_files() {
    let place = Place::new();
    let store = place.at("store");
    let name = "a".repeat(120);
    for number in 0..20 {
        let array = ["create", &store, &format!("/{name}{number}"), "--shape", "100,100", "--dtype", "uint8"];
        bytes(&array);
    }
    bytes(&["put", &store, &format!("/{name}0"), "--value", "1"]);
    std::fs::create_dir(place.path("out")).unwrap();
    let file = |name: &str| place.at(&format!("out/{name}"));
    for existing in [false, true] {
        for (arguments, file) in [
            (["digest", &store, "--manifest", &file("m.json")].as_slice(), file("m.json")),
            (&["show", &store, &format!("/{name}0"), "--png", &file("a.png")], file("a.png")),
            (&["man", &file("")], file("zarrctl.1")),
            (&["pack", &store, &file("a.zip")], file("a.zip")),
        ] {
            let is_replaced = existing && arguments[0] != "pack";
            if is_replaced {
                std::fs::write(&file, "old").unwrap();
            }
            let (status, message) = with_full_disk(arguments);
            assert_eq!(status, Some(1), "{message}");
            assert!(message.starts_with(&format!("error: writing `{file}`: ")), "{message}");
            assert!(message.ends_with("File too large\n"), "{message}");
            match is_replaced {
                true => assert_eq!(std::fs::read(&file).unwrap(), b"old"),
                false => assert_eq!(place.files("out"), [""; 0]),
            }
            let _removed = std::fs::remove_file(&file);
        }
    }
    // The record still has the arrays that were checked, and the next run continues after them.
    let record = file("record");
    let verify = ["verify", &store, "--resume", &record];
    let (status, message) = with_full_disk(&verify);
    assert_eq!((status, &*message), (Some(1), &*format!("error: writing `{record}`: File too large\n")));
    let text_of = || std::fs::read_to_string(&record).unwrap();
    assert!(text_of().ends_with('\n') && text_of().lines().count() > 2, "{}", text_of());
    bytes(&verify);
    assert_eq!(text_of().lines().count(), 21);
}

/// Limits files to about 2 KiB, which has the effect of a full disk.
#[cfg(unix)]
#[test]
fn a_failed_write_leaves_only_the_old_value() {
    let place = Place::new();
    let store = place.at("store");
    let copy = place.at("copy");
    let more = ["--shape", "100,100", "--chunks", "50,100", "--dtype", "uint8", "--codec", "none"];
    bytes(&[&["create", &store, "/a"], &more[..]].concat());
    bytes(&["put", "--format", "raw", &store, "/a", &place.file("old", &[1; 10_000])]);
    let files = place.files("store");
    let new = place.file("new", &[2; 10_000]);
    for arguments in [
        ["put", "--format", "raw", &store, "/a", &new].as_slice(),
        &["copy", &store, &copy],
        &["copy", &store, &copy, "--chunks", "100,100"],
    ] {
        let (status, message) = with_full_disk(arguments);
        assert_eq!(status, Some(1), "{arguments:?}: {message}");
        // Several threads write chunks, and the message names the chunk that fails first.
        let is_named = ["0/0", "1/0"].iter().any(|chunk| {
            message.starts_with("error: writing `")
                && message.ends_with(&format!("/a/c/{chunk}`: File too large\n"))
        });
        assert!(is_named, "{message}");
        assert_eq!(place.files("store"), files);
        assert_eq!(bytes(&["get", &store, "/a", "--format", "raw"]), [1; 10_000]);
        assert_eq!(place.files("copy"), [""; 0]);
    }
}
