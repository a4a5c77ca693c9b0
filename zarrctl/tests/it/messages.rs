//! Messages, lists and options.

use std::fs;

use crate::support::{Place, bytes, program, refused, run, text};

fn array(place: &Place, store: &str) -> String {
    let store = place.at(store);
    bytes(&["create", &store, "/a", "--shape", "2", "--dtype", "int8"]);
    store
}

#[cfg(unix)]
#[test]
fn missing_folders_are_shown_as_paths() {
    let place = Place::new();
    for name in ["nosuch", "no such", "Données?", "100%"] {
        let missing = place.at(name);
        let message = refused(&["tree", &missing], 1);
        assert_eq!(message, format!("error: no Zarr hierarchy in {missing}: the folder does not exist\n"));
    }
    let store = array(&place, "été 100%.zarr");
    let info = text(&["info", &store]);
    assert!(info.contains(&format!("store             {store}\n")), "{info}");
    let inside = format!("{store}/a/copy");
    assert!(refused(&["copy", &store, &inside], 1).contains("is inside SRC"));
    fs::create_dir(place.path("empty")).unwrap();
    assert!(refused(&["tree", &place.at("empty")], 1).ends_with("the store is empty\n"));
}

#[test]
fn an_archive_is_written_to_a_local_file() {
    let place = Place::new();
    let store = array(&place, "store");
    let message = refused(&["pack", &store, "s3://bucket/a.zip"], 1);
    assert!(
        message.contains("`s3://bucket/a.zip` is a URL, but archives are written to local files"),
        "{message}"
    );
}

#[test]
fn a_data_type_is_created_by_the_name_that_info_prints() {
    let place = Place::new();
    let store = place.at("store");
    for (number, dtype) in [
        r#"struct{"a": int32, "b": float64}"#,
        r#"struct{"a, b": raw_bytes[3], "in": struct{"x": int8, "t": numpy.datetime64[s]}}"#,
        "numpy.datetime64[10us]",
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/a{number}");
        bytes(&["create", &store, &path, "--shape", "2", "--dtype", dtype]);
        assert!(text(&["tree", &store, &path]).contains(dtype), "{dtype}");
    }
}

#[test]
fn the_shown_range_of_a_level_is_the_enforced_one() {
    let shown = text(&["plugins", "show", "zstd"]);
    assert!(shown.contains("-131072") && shown.contains("22") && !shown.contains("2147483647"), "{shown}");
}

#[test]
fn a_negative_duration_is_refused() {
    let place = Place::new();
    let store = array(&place, "store");
    let message = refused(&["bench", &store, "/a", "--seconds", "-1"], 2);
    assert!(message.contains("invalid duration `-1`"), "{message}");
}

#[test]
fn a_npy_file_of_numbers_for_strings_is_refused_with_the_supported_format() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "2", "--dtype", "string"]);
    let file = place.file("a.npy", &crate::support::unhex(crate::numpy::COMPLEX64));
    let message = refused(&["put", &store, "/a", &file], 1);
    assert!(message.contains("as `get --format raw` writes them"), "{message}");
    assert!(refused(&["get", &store, "/a", "--format", "npy"], 1).contains("use --format raw, json or csv"));
}

#[test]
fn info_shows_consolidated_metadata_and_warns_if_it_is_outdated() {
    let place = Place::new();
    for format in ["v3", "v2"] {
        let store = place.at(format);
        bytes(&["create", &store, "/a", "--shape", "2", "--dtype", "int8", "--format", format]);
        assert!(text(&["info", &store]).contains("metadata          a document for each node\n"));
        bytes(&["consolidate", &store]);
        assert!(text(&["info", &store, "/a"]).contains("metadata          consolidated\n"));
        assert!(text(&["info", &store, "--json"]).contains(r#""consolidated": true"#));
        assert!(text(&["info", &store, "--no-consolidated"]).contains("a document for each node"));
        let document = place.path(format).join(if format == "v3" { "a/zarr.json" } else { "a/.zarray" });
        let text = fs::read_to_string(&document).unwrap();
        fs::write(&document, text.replace("\"shape\": [2]", "\"shape\": [3]")).unwrap();
        warned(&["info", &store, "/a"], "the consolidated metadata differ from its own document");
        fs::remove_file(&document).unwrap();
        let told = "/a: the consolidated metadata list this array, but its own document is missing";
        warned(&["get", &store, "/a", "--format", "json"], told);
        warned(&["bench", &store, "/a", "--seconds", "0.01"], told);
        warned(
            &["tree", &store],
            "the consolidated metadata list nodes without documents: /a; use `--no-consolidated` to read the documents",
        );
        let copied = run(&["copy", &store, &place.at(&format!("copy-{format}"))]);
        let warnings = String::from_utf8(copied.stderr).unwrap();
        let expected = "the consolidated metadata list nodes without documents, which are not copied: /a\n";
        assert!(copied.status.success() && warnings.contains(expected), "{warnings}");
        let more = format!("{store}/b");
        fs::create_dir(&more).unwrap();
        let group = if format == "v3" { "zarr.json" } else { ".zgroup" };
        fs::copy(format!("{store}/{group}"), format!("{more}/{group}")).unwrap();
        warned(
            &["tree", &store],
            "list nodes without documents: /a, and do not list /b; use `--no-consolidated` to read the documents",
        );
        let message = refused(&["get", &store, "/a", "--no-consolidated"], 1);
        assert!(message.contains("there is no node at /a"), "{message}");
    }
}

/// Runs a command, and panics unless it succeeds with one warning that contains `part`.
fn warned(arguments: &[&str], part: &str) {
    let output = run(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.starts_with("warning: ") && told.contains(part), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

/// Runs a command in a new terminal. Returns `None` if the program `script` is not installed.
#[cfg(target_os = "linux")]
pub(crate) fn in_a_terminal(command: &str) -> Option<String> {
    let program = format!("{} {command}", env!("CARGO_BIN_EXE_zarrctl"));
    let script = ["--quiet", "--return", "--command", &program, "/dev/null"];
    let output = std::process::Command::new("script")
        .args(script)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(std::process::Stdio::null())
        .output();
    Some(String::from_utf8(output.ok()?.stdout).unwrap())
}

#[test]
fn errors_are_red_only_where_colours_are_shown() {
    let place = Place::new();
    let missing = place.at("none");
    assert!(refused(&["tree", &missing], 1).starts_with("error: "));
    let told = |arguments: &[&str]| {
        let output = program().args(arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let usage = told(&["tree", "--wrong"]);
    let own = told(&["tree", &missing]);
    let red = usage.split_inclusive("error:").next().unwrap();
    assert!(red.contains("\u{1b}[") && own.starts_with(red), "{usage:?} {own:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_the_corners_of_a_large_array_unless_all_is_requested() {
    let place = Place::new();
    let store = place.at("store");
    bytes(&["create", &store, "/a", "--shape", "1000,2000", "--dtype", "int8", "--fill", "7"]);
    let Some(shown) = in_a_terminal(&format!("get {store} /a")) else { return };
    assert!(shown.contains("[[7 7 7 … 7 7 7]") && shown.lines().count() < 12, "{shown}");
    assert!(shown.contains("1000 × 2000 elements; use --all to print all"), "{shown}");
    let all = in_a_terminal(&format!("get {store} /a --select 0 --all")).unwrap();
    assert_eq!(all.matches('7').count(), 2000);
    assert_eq!(bytes(&["get", &store, "/a"]).len(), 2_000_000);
}
