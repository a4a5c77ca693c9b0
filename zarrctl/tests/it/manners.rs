//! `create --group` and `create --like`, single attributes, summaries and man pages.

use std::fs;
use std::process::Command;

use crate::showing::data_set;
use crate::support::{Place, bytes, refused, run, text};

#[test]
fn groups_are_created_with_attributes() {
    for format in ["v2", "v3", "v3-draft"] {
        let place = Place::new();
        let store = place.at("store");
        let create = ["create", &store, "/a/b", "--group", "--format", format];
        bytes(&[&create[..], &["--attr", r#"title="x""#]].concat());
        assert_eq!(text(&["attrs", &store, "/a/b", "title"]), "x\n");
        assert!(text(&["info", &store, "/a/b"]).contains("kind              group\n"));
        assert!(refused(&create, 1).contains("already exists"), "{}", refused(&create, 1));
    }
    let place = Place::new();
    assert_eq!(run(&["create", &place.at("store"), "/a", "--group", "--shape", "2"]).status.code(), Some(2));
    assert_eq!(run(&["create", &place.at("store"), "/a"]).status.code(), Some(2));
}

#[test]
fn arrays_are_created_like_others() {
    for (format, to) in [("v2", "v2"), ("v3", "v3"), ("v2", "v3"), ("v3", "v2")] {
        let place = Place::new();
        let store = place.at("store");
        let create = [
            "create", &store, "/g/a", "--shape", "6,8", "--chunks", "3,4", "--dtype", "int16", "--fill", "-9",
        ];
        let more =
            ["--codec", "zstd", "--dimension-names", "y,x", "--attr", r#"units="K""#, "--format", format];
        bytes(&[&create[..], &more].concat());
        let other = place.at("other");
        let like = ["create", &other, "/b", "--like", "/g/a", "--like-store", &store, "--format", to];
        bytes(&[&like[..], &["--shape", "60,8", "--attr", r#"title="b""#]].concat());
        let info = text(&["info", &other, "/b"]);
        for part in [
            "60 × 8 (y, x)",
            "int16",
            "20 × 2 chunks of 3 × 4",
            "zstd",
            "fill value        -9",
            "title: \"b\"",
        ] {
            assert!(info.contains(part), "{format} {to}: {part} in {info}");
        }
        assert_eq!(text(&["attrs", &other, "/b", "units"]), "K\n");
        bytes(&["create", &store, "/c", "--like", "/g/a", "--codec", "gzip", "--chunks", "6,8"]);
        let info = text(&["info", &store, "/c"]);
        assert!(
            info.contains("gzip") && !info.contains("zstd") && info.contains("chunks of 6 × 8"),
            "{info}"
        );
        assert!(refused(&["create", &store, "/d", "--like", "/none"], 1).contains("/none"));
    }
}

#[test]
fn one_attribute_is_printed_and_texts_need_no_quotes() {
    let place = Place::new();
    let store = data_set(&place, "v3");
    bytes(&["attrs", &store, "/t2m", "--set-text", "title=My \"title\"", "--set", "levels=[1,2]"]);
    assert_eq!(text(&["attrs", &store, "/t2m", "title"]), "My \"title\"\n");
    assert_eq!(text(&["attrs", &store, "/t2m", "levels"]), "[1, 2]\n");
    assert_eq!(text(&["attrs", &store, "/t2m", "scale_factor"]), "0.5\n");
    let message = refused(&["attrs", &store, "/t2m", "unit"], 1);
    assert!(message.contains("/t2m has no attribute `unit`; did you mean `units`?"), "{message}");
    assert_eq!(run(&["attrs", &store, "/t2m", "units", "--unset", "units"]).status.code(), Some(2));
    let wrong = run(&["attrs", &store, "/t2m", "--set", "title=My title"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("--set-text"), "{wrong:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn verbs_that_write_end_with_one_line_on_a_terminal_and_none_in_a_pipe() {
    use crate::messages::in_a_terminal;
    let place = Place::new();
    let store = data_set(&place, "v3");
    let file = place.at("t2m.npy");
    let copy = place.at("copy");
    for (command, part) in [
        (format!("create {store} /new --shape 4 --dtype int8"), "created the array /new"),
        (format!("create {store} /group --group"), "created the group /group"),
        (format!("put {store} /new --value 3"), "wrote 4 elements to /new"),
        (format!("get {store} /t2m -o {file}"), "wrote 12 elements to "),
        (format!("attrs {store} /new --set a=1 --set-text b=c"), "changed 2 attributes of /new"),
        (format!("resize {store} /new --shape 6"), "/new has 6 elements now"),
        (format!("consolidate {store}"), "consolidated the metadata of /"),
        (format!("copy {store} {copy}"), "copied 4 arrays"),
        (format!("pack {store} {copy}.zip"), "packed "),
        (format!("man {copy}.man"), "man pages to "),
    ] {
        let Some(shown) = in_a_terminal(&command) else { return };
        let lines: Vec<&str> = shown.lines().filter(|line| line.contains(part)).collect();
        assert_eq!(lines.len(), 1, "{command}: {shown}");
    }
}

#[test]
fn a_man_page_is_written_for_each_command() {
    let place = Place::new();
    bytes(&["man", &place.at("man1")]);
    let files = place.files("man1");
    for file in ["zarrctl.1", "zarrctl-copy.1", "zarrctl-plugins-show.1"] {
        assert!(files.contains(&file.to_owned()), "{file} in {files:?}");
    }
    assert!(!files.iter().any(|file| file.contains("complete-node") || file.contains("help")), "{files:?}");
    let page = fs::read_to_string(place.path("man1/zarrctl-copy.1")).unwrap();
    for part in
        [".SH SYNOPSIS\n", "\\fB\\-\\-select\\fR", ".SH EXAMPLES\n", "\n.SH NAME\nzarrctl\\-copy \\- Copy"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
    // groff reports unknown requests and unbalanced fonts, if it is installed.
    for file in &files {
        let Ok(output) =
            Command::new("groff").args(["-man", "-Tutf8", "-ww"]).arg(place.path("man1").join(file)).output()
        else {
            return;
        };
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{file}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
